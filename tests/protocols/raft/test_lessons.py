"""What the lessons on Raft ask: the answers are worked out by hand from the paper's figures."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.lessons import attempt, electable, known_to_commit, predict, story, voters
from kit.lessons.replays import ReplayJudge, replay
from kit.lessons.tasks import tasks
from kit.model.timeline import Timeline


def answer(timeline: Timeline, *asked: object) -> str:
    """The line with the answer."""
    said = repr(predict(timeline, *asked).with_answer())  # type: ignore[arg-type]  # any question
    return next(line for line in said.splitlines() if line.startswith("Answer: "))


def test_whose_log_is_good_enough() -> None:
    """Figure 7: of seven logs those that end in term 6 or 7 win, but not the shorter ones."""
    assert answer(story("raft/figure-7").timeline, electable) == "Answer: A, B, D, E"


@pytest.mark.parametrize(
    ("server", "votes"), [("A", "B, C, F, G"), ("C", "G"), ("E", "D, G"), ("G", "none of these")]
)
def test_who_votes_for_whom(server: str, votes: str) -> None:
    """Figure 7: a server votes for a log that is at least as new as its own."""
    assert answer(story("raft/figure-7").timeline, voters, server) == f"Answer: {votes}"


def test_an_older_term_on_a_majority_is_not_counted() -> None:
    """Figure 8: index 2 is on three of five and of term 2; the leader's own entry commits it."""
    player = story("raft/figure-8")
    player.goto(5)
    assert answer(player.timeline, known_to_commit) == "Answer: 0"
    attempt(player, "request A x", "deliver A>B append 4 2", "deliver A>C append 4 2")
    assert answer(player.timeline, known_to_commit) == "Answer: 3"


def test_questions_need_a_moment_that_they_fit() -> None:
    """Without a leader, and of a server that there is not."""
    start = story("raft/election").timeline
    with pytest.raises(BadInput, match="a server leads"):
        known_to_commit(start)
    with pytest.raises(BadInput, match="one of A, B, C"):
        voters(start, "X")


@pytest.mark.parametrize("name", ["three-candidates", "figure-8", "stale-read"])
def test_a_known_run_meets_what_is_asked(name: str) -> None:
    """Where no run is looked for, the one that is given passes."""
    judge = tasks()[name].judge
    assert isinstance(judge, ReplayJudge)
    assert judge.known
    assert replay(judge.ground, list(judge.known))[1] is None
    assert all(case.passed for case in judge(list(judge.known)).public)
