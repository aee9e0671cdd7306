"""Scenario files: what a header needs, and what commands of a script may say."""

from __future__ import annotations

import pytest

from kit.engine.scenario import _changed, model_for, parse, run, title_of
from kit.errors import BadInput

HEAD = "# Why it is worth seeing.\n"


@pytest.mark.parametrize("line", ["model", "model ", "models twophase", "rms 3"])
def test_a_header_begins_with_the_model(line: str) -> None:
    """Its name is needed, too."""
    with pytest.raises(BadInput, match=r"^mine:2: .*`model NAME` after the comment"):
        model_for(parse(f"{HEAD}{line}\n", "mine"))
    assert model_for(parse(f"{HEAD}model twophase\n")).name == "twophase"


def test_what_takes_no_words_is_told_so() -> None:
    """``verdicts`` and the like stand alone; a table may be asked for by a name."""
    assert run(parse(f"{HEAD}model gossip\n\nversions\n----\n"))[1][0]
    with pytest.raises(BadInput, match=r"^mine:4: .*versions alone, with no words after it"):
        run(parse(f"{HEAD}model gossip\n\nversions A\n----\n", "mine"))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("a-node-dies", "A node dies"),
        ("stories/the-CMS-is-lost.txt", "The CMS is lost"),
        ("x", "X"),
        ("1.5-times.txt", "1.5 times"),
        ("", ""),
    ],
)
def test_the_name_of_a_file_is_its_title(name: str, title: str) -> None:
    """In words, as a sentence begins."""
    assert title_of(name) == title


def test_a_step_is_what_stands_above_its_line_and_all_below_it() -> None:
    """Also nothing; blocks are told apart by empty lines."""
    script = parse(f"{HEAD}model twophase\n\na\nb\n----\n1\n2\n3\n\nc\n----\n")
    texts = [
        ([line.text for line in step.above], [line.text for line in step.below])
        for step in script.steps
    ]
    assert texts == [(["a", "b"], ["1", "2", "3"]), (["c"], [])]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("go A", "walk A", ("go", "walk")),
        ("go A B", "walk C B", ("go A", "walk C")),
        ("go A", "A", ("go A", "A")),
        ("A", "go A", ("A", "go A")),
        ("go", "walk", ("go", "walk")),
    ],
)
def test_a_former_line_is_told_without_the_words_that_stay(
    old: str, new: str, told: tuple[str, str]
) -> None:
    """Those at its end; of either line at least a word is told."""
    assert _changed(old, new) == told
