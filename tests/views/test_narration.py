"""What is said of a step has two lines, and a sheet where there is more; heads of tables."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.views.frame import TWO_LINES, brief_narration, narration
from kit.views.panel import Scene, scene_of
from kit.views.parts import heads
from tests.views.frames import walk


def scene_that_says(words: str, milestone: str | None = None) -> Scene:
    """A scene with these words and this milestone."""
    timeline = walk("twophase/commit")
    return replace(scene_of(timeline, 0), say=words, milestone=milestone)


def test_what_fits_is_said_in_full() -> None:
    """Then nothing is behind anything."""
    scene = scene_that_says("a" * TWO_LINES)
    assert brief_narration(scene) == [narration(scene)]


@pytest.mark.parametrize("milestone", [None, "the vote is over"])
def test_more_is_cut_at_a_word_and_told_in_a_sheet(milestone: str | None) -> None:
    """The milestone counts; the sheet has every word, and the line ends with a sign of more."""
    words = " ".join(f"word{i}" for i in range(60))
    sheet, line = brief_narration(scene_that_says(words, milestone))
    shown = line.text()
    assert shown.endswith(" …")
    assert len(shown) < TWO_LINES
    assert (milestone or "word0") in shown
    assert f"{shown.split()[-2]} " in words
    assert words in sheet.text()
    assert sheet.get("name") == "kp-sheet"


def test_equal_messages_of_a_step_are_told_once() -> None:
    """Who asks many the same says it once, with the names of all."""
    timeline = walk("discovery/twelve")
    while timeline.forward() is not None:
        said = timeline.now.say.split("sends ")[1:]
        asked = [part.rpartition(" to ")[0] for part in said]
        assert len(asked) == len(set(asked))
        if len(timeline.moments) > 60:
            break


def test_every_column_has_a_name() -> None:
    """A table with a column that nobody can name is not drawn."""
    with pytest.raises(ValueError, match="no name"):
        heads("node", "")
