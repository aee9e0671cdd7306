"""Who is interchangeable with whom, and where the numbers of nodes count."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.protocols.topology.rules.work import may_tie
from kit.protocols.topology.symmetry import bystanders


@pytest.mark.parametrize(
    ("given", "alike"),
    [
        ({"operations": ("leave D",)}, "ABC"),
        ({"operations": ("leave D",), "ignored": ("C",), "down": ("C",)}, "AB"),
        ({"operations": ("leave D",), "ignored": ("B",)}, "AC"),
        ({"operations": (), "on_tablets": ("A",)}, "BCD"),
    ],
    ids=str,
)
def test_who_stands_out_is_not_interchangeable(given: dict[str, Any], alike: str) -> None:
    """Whom an operation names, who is down or ignored, who holds tablets: each differs."""
    model: Any = build("topology", {"nodes": 4, **given})
    assert "".join(model.names[node] for node in bystanders(model)) == alike


def test_voters_are_chosen_by_number_where_racks_differ() -> None:
    """Of nodes in one rack it does not matter who votes; of two racks it does."""
    assert may_tie(("dc1/r1", "dc1/r2", "dc1/r2")) is True
    assert may_tie(("dc1/r1", "dc2/r1", "dc2/r1")) is True
    assert may_tie(("dc1/r1",) * 3) is False
