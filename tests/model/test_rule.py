"""A rule, asked alone: which of its actions may happen, and what each comes to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from kit.errors import Refusal, Refused
from kit.model.record import Record, RecordState
from kit.model.rule import Rule

LATER = Refusal("later")
ENDS: dict[str, int | Refusal | None] = {"go": 7, "wait": LATER, "nobody": None, "stay": 0}
"""What each word comes to; ``stay`` is a state that counts as false."""


class Said(Struct, frozen=True):
    """A word."""

    word: str


def given_of(action: Said) -> str:
    """What the outcome is told of an action."""
    if action.word == "mumbled":
        raise Refused("not understood")
    return action.word


RULE: Rule[int, Said] = Rule(
    Said,
    "say",
    choices=lambda s: [(Said(word), word) for word in ENDS],
    outcome=lambda s, word: ENDS[word],
    given=given_of,
)


def test_ready_is_what_leads_to_a_state() -> None:
    """Neither what is refused, nor what nobody would think of."""
    assert RULE.ready(1) == [(Said("go"), 7), (Said("stay"), 0)]


@pytest.mark.parametrize(("word", "end"), [*ENDS.items(), ("mumbled", None), ("never heard", None)])
def test_an_action_comes_to_what_its_choice_does(word: str, end: int | Refusal | None) -> None:
    """To nothing where it is no choice there, or is none at all."""
    assert RULE.end(1, Said(word)) == end


class Diary(Record):
    """What somebody wrote."""

    name, title, ends = "diary", "A diary", "nothing more was written"


@pytest.mark.parametrize("entries", [(), ("a",), ("a", "b", "c")])
def test_a_record_is_read_to_its_end_and_no_further(entries: tuple[str, ...]) -> None:
    """A step for each entry; then it says that there are no more."""
    model: Any = Diary(entries)
    timeline = model.read_through()
    assert timeline.at == 0
    states = [timeline.moments[at].state for at in timeline.path()]
    assert states == [RecordState(read) for read in range(len(entries) + 1)]
    option = model.find(states[-1], "read on")
    assert option is not None
    assert option[1] == Refusal(Diary.ends)
