"""What is seen of Paxos, a row for each acceptor, and what the lesson asks of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.lessons import after, before, story
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.paxos.lessons import possible_values, proposal, reply_to

ASKED = [
    ("half-accepted", "deliver A>C prepare 1 1A", "it promises the ballot"),
    ("half-accepted", "deliver A>C accept 1 1A x", "it accepts the value"),
    ("duel", "deliver A>C accept 1 1A x", "it refuses the ballot"),
    ("repair-before-joining", "deliver C>A prepare 1 1C", "it reports the value of the epoch"),
]


@pytest.mark.parametrize(("name", "verb", "reply"), ASKED)
def test_the_lesson_knows_each_answer_of_an_acceptor(name: str, verb: str, reply: str) -> None:
    """Promise, acceptance, refusal, or the value of the epoch."""
    question = reply_to(before(story(f"paxos/{name}"), verb).timeline, verb)
    assert question.question.right == (reply,)


@pytest.mark.parametrize(
    ("name", "verb", "value"),
    [
        ("half-accepted", "deliver C>B promise 1 1B x 1A", "x"),
        ("duel", "deliver C>B promise 1 1B", "y"),
        ("off-accepted-first", "deliver A>B promise 1 1B x 1A", "y"),  # the rule is off
    ],
)
def test_the_lesson_knows_the_value_a_proposer_proposes(name: str, verb: str, value: str) -> None:
    """The value that its majority of promises names, or its own."""
    question = proposal(before(story(f"paxos/{name}"), verb).timeline, verb)
    assert question.question.right == (value,)


def test_the_lesson_knows_which_values_can_still_be_chosen() -> None:
    """Once a majority has x on disk only x; too large a search is refused."""
    crash = after(story("paxos/crash-before-answer"), "crash-written B").timeline
    start = Timeline(build("paxos", {"members": 2, "ballots": 1}))
    assert possible_values(crash).question.right == ("x",)
    assert possible_values(start).question.right == ("x", "y")
    with pytest.raises(BadInput, match="at most 20000 states"):
        possible_values(story("paxos/crash-before-answer").timeline)


@pytest.mark.parametrize("asked", [reply_to, proposal])
def test_the_lesson_refuses_a_message_that_is_not_on_its_way(asked: Any) -> None:
    """The error says which can be received."""
    with pytest.raises(BadInput, match="can be received"):
        asked(story("paxos/duel").timeline, "deliver A>C accept 1 9A x")
