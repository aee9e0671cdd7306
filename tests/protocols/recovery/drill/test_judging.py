"""What a drill's grade tells of data and of losses, by either procedure."""

from __future__ import annotations

import pytest

from kit.console.drill import GradeRow
from tests.protocols.recovery.drill.walks import (
    DELETE,
    ISOLATE,
    MODE_WALK,
    READ,
    WHOLE,
    lead,
    walked,
)


def data_row(edition: str, *lines: str) -> str:
    """What the grade tells of data after these lines."""
    [row] = [row for row in walked(edition, *lines).grade().rows if row.name == "data unavailable"]
    assert row.holds is None
    return row.why.removeprefix("more than at the start: ")


@pytest.mark.parametrize(
    ("edition", "lines", "one", "quorum"),
    [
        ("documents", WHOLE["documents"], 2, 2),
        ("server", WHOLE["server"], 4, 4),
        ("mode", MODE_WALK, 2, 4),
    ],
)
def test_only_stops_make_data_unavailable_removals_do_not(
    edition: str, lines: list[str], one: int, quorum: int
) -> None:
    """Fewer nodes have fewer ranges, but no smaller part of them is available. The published
    manual and RECOVERY mode stop both servers twice; the second time in RECOVERY mode both hold all
    data, so that ONE is met by the other.
    """
    states = len(walked(edition, *lines).now.run)
    said = f"at ONE in {one} of {states} states, at QUORUM in {quorum} of {states} states"
    assert data_row(edition, *lines) == said


def test_what_died_with_a_node_is_no_loss_of_the_operator() -> None:
    """B alone knew of entry 11 and died before A joined; had A led, the loss was a choice."""
    begun = [*ISOLATE, *READ, *DELETE]
    [row] = lost_row([*begun, *lead(), "restart B", "happen die B"])
    assert (row.holds, row.why) == (
        True,
        "only these entries are gone, with the last node that knew them: 11",
    )
    [row] = lost_row([*begun, *lead("A"), "restart A", "restart B", "happen die B"])
    assert row.holds is False
    assert "no live node has these entries any more: 11" in row.why


def lost_row(lines: list[str]) -> list[GradeRow]:
    """What the grade says of losses after these lines."""
    return [row for row in walked("documents", *lines).grade().rows if row.name == "nothing lost"]
