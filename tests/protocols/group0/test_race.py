"""The drawing of a race tells what the run tells, in a lane for each who takes part."""

from __future__ import annotations

from kit.protocols.group0.panels import graphs
from tests.views.tabled import drawn_rows


def lanes() -> list[list[str]]:
    """The rows of the drawing, each with what A, the log and B do."""
    [(_, source)] = graphs()
    return [[words for *_, words in row] for row in drawn_rows(source)]


def test_two_nodes_read_one_state_and_one_of_them_loses() -> None:
    """Both build on state 1, the second command is a no-op, its node begins again."""
    assert lanes() == [
        ["A", "log", "B"],
        ["takes its lock", "", "takes its lock"],
        ["read barrier", "", "read barrier"],
        ["newest is 1", "", "newest is 1"],
        ["makes 4", "", "makes 2"],
        ["it makes sense", "", "it makes sense"],
        ["submits 1 → 4", "", "submits 1 → 2"],
        ["", "1 → 4: takes effect", ""],
        ["", "1 → 2: no-op", ""],
        ["finds 4: success", "", ""],
        ["", "", "finds no 2, starts again"],
        ["", "", "read barrier"],
        ["", "", "newest is 4"],
        ["", "", "makes 5"],
        ["", "", "no longer makes sense: error"],
    ]
