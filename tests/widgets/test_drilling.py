"""The board of a drill without a browser: what it says to its page, as text, in stored output."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.widgets import DrillBoard

NAME = "recovery/majority-is-lost"


def heard(board: DrillBoard, *contents: Any) -> list[dict[str, Any]]:
    """What the terminal is told when its page says these things."""
    said: list[dict[str, Any]] = []
    board.terminal.answer = said.append
    for content in contents:
        board.terminal.hear(content)
    return said


def test_a_line_reaches_the_transcript() -> None:
    """As an entry with what is wrong; the list of typed lines is what arrows recall."""
    board = DrillBoard(NAME)
    heard(board, {"enter": "nonsense"}, {"enter": "checklist"})
    assert board.stage.typed == ["nonsense", "checklist"]
    assert [number for number, _ in board.stage.entries] == [0, 1]
    assert "kit-error" in board.stage.entries[0][1]


def test_completion_is_answered() -> None:
    """With the line that was asked about, so that a late answer is known."""
    [answer] = heard(DrillBoard(NAME), {"complete": "check"})
    assert answer == {"complete": "check", "lines": ["checklist"]}


@pytest.mark.parametrize("content", [None, 7, "enter", {"enter": 7}, {"run": "rm"}, [1], {}])
def test_what_no_page_says_is_passed_over(content: Any) -> None:
    """Nothing is entered, nothing is answered."""
    board = DrillBoard(NAME)
    assert heard(board, content) == []
    assert board.drill.transcript == []


def test_the_history_is_the_players() -> None:
    """A step of the Player is one of the drill: the checklist follows."""
    board = DrillBoard(
        "raft_upgrade/into-raft"
    )  # others may begin where nothing more happens by itself
    before = board.stage.side
    step = board.player.step()
    board.player.stage._handle_custom_msg({}, [])
    assert board.drill.timeline.at == step.id
    assert board.stage.side != before


def test_it_can_be_read_without_a_page() -> None:
    """As text and as stored output; the checklist may be hidden."""
    board = DrillBoard(NAME, checklist=False)
    board.enter("help", "<b>")
    text, html = board.text(), board.static()
    assert "error: command: got '<b>'" in text
    assert "Not passed" in text
    assert "[ ]" not in text
    assert "&lt;b&gt;" in html
    assert "<svg" not in html
    assert "2 lines typed" in repr(board)
    assert "isolate" not in board.stage.side.split("Grade")[0]
    assert "○" in DrillBoard(NAME).stage.side


def test_an_unknown_drill_is_told() -> None:
    """With the names that there are."""
    with pytest.raises(BadInput, match=f"drill: got 'none'; allowed: one of .*{NAME}"):
        DrillBoard("none")
