"""The board of a bug hunt: each button does what the method does."""

from __future__ import annotations

from kit.lessons import hunt
from kit.lessons.hunt_board import HuntBoard
from kit.lessons.hunting import VARIANTS, drawn
from kit.widgets.player import Player

SEED = 1
SHORT = 7  # a variant of this seed that one step breaks


def test_a_board_plays_searches_and_accuses() -> None:
    """Play opens the variant, Search its shortest run, Accuse the verdict and the score."""
    found = hunt(SEED)
    board = HuntBoard(found)
    assert board.variant.options == tuple(str(number) for number in range(1, VARIANTS + 1))
    board.variant.value = str(SHORT)
    board.play.click()
    [player] = board.place.children
    assert isinstance(player, Player)
    assert player.timeline.path() == [0]
    board.search.click()
    assert "shortest run" in board.reply.value
    [player] = board.place.children
    assert player.timeline.path() == found.search(SHORT).timeline.path()
    board.suspect.value = "S-09"
    board.accuse.click()
    assert "No: S-09" in board.reply.value
    assert "Score: 0 of 8 named, 1 accusation." in board.table.value
    board.suspect.value = drawn(SEED)[SHORT - 1].missing.id
    board.accuse.click()
    assert "Right" in board.reply.value
    assert "Score: 1 of 8 named, 2 accusations." in board.table.value
    assert found.score() == "Score: 1 of 8 named, 2 accusations."


def test_a_hunt_is_shown_as_its_board_and_stored_as_its_table() -> None:
    """A live notebook has the widgets; the text and the table are there without a kernel."""
    bundle = hunt(SEED)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<table" in bundle["text/html"]
    assert "Score: 0 of 8 named" in bundle["text/plain"]
