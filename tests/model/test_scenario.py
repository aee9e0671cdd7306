"""Scenario files: what a header needs, and what commands of a script may say."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.model.scenario import model_for, parse, run

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


def test_a_step_is_what_stands_above_its_line_and_all_below_it() -> None:
    """Also nothing; blocks are told apart by empty lines."""
    script = parse(f"{HEAD}model twophase\n\na\nb\n----\n1\n2\n3\n\nc\n----\n")
    texts = [
        ([line.text for line in step.above], [line.text for line in step.below])
        for step in script.steps
    ]
    assert texts == [(["a", "b"], ["1", "2", "3"]), (["c"], [])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"^mine:1: got ''; allowed: a comment that says why"),
        ("model twophase\n\nnext\n----\n", r"^mine:1: got 'model twophase'; allowed: a comment"),
        ("model twophase\nrms 2\n", r"^mine:1: got 'model twophase'; allowed: a comment that says"),
        (f"{HEAD}# And why else.\n", r"^mine:2: got '# And why else.'; allowed: `model NAME`"),
        (f'{HEAD}model tcm\noperations ["cm"]\n', r"^mine:3 operation: got 'cm'"),
        (
            f'{HEAD}model tcm\noperations ["move A --tokens 300"]\ntokens 300\n',
            r"^mine:4 tokens: got 300",
        ),
    ],
)
def test_a_header_is_refused_by_the_line_that_is_wrong(text: str, said: str) -> None:
    """Its number and what it says; where a value is named, the line that has it."""
    with pytest.raises(BadInput, match=said):
        model_for(parse(text, "mine"))
