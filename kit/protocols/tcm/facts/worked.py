"""The one range that a worked example is about, at each epoch."""

from __future__ import annotations

from typing import Any

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import RangeRow, focus, rows


def worked_row(m: TcmCluster, s: Any, at: int) -> RangeRow | None:
    """The row that fills the focus at epoch ``at``; None where no single row does."""
    part = focus(m)
    if part is None:
        return None
    bounds = (part.left, part.right)
    return next((row for row in rows(m, s, at=at) if (row.left, row.right) == bounds), None)
