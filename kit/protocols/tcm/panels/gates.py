"""The progress barrier as gates: one for each range whose replicas must know the last epoch."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tcm.facts.parts import range_key
from kit.protocols.tcm.panels.epochs import barriers
from kit.views.gate import Gate
from kit.views.panel import Scene

MOST_ROWS = 64
"""Barriers that are looked at, those that are not met first: a large ring has thousands."""


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier before the next step of an operation, met or not."""
    for row in barriers(scene)[:MOST_ROWS]:
        yield Gate(
            range_key(row.left, row.right),
            f"{row.label} {row.dc}" if row.dc else row.label,
            f"applied epoch {row.epoch}",
            row.acked,
            row.missing,
            row.needed,
        )
