"""What is graded: nearly right answers are refused, and right ones are right whatever follows."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.tasks import task_named
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.protocols.paxos.lessons import possible_values
from kit.protocols.raft.lessons import known_to_commit, voters
from kit.protocols.tablets.lessons.stories import how_it_ends
from kit.protocols.tcm.lessons.questions import busiest
from kit.protocols.topology.lessons.coordinator import next_transition
from kit.protocols.topology.lessons.queueing import next_request

NEARLY = Path(__file__).with_name("nearly_right.txt").read_text("utf-8")
WRONG = {
    exercise: {"name": name, "source": source}
    for exercise, source, name in re.findall(
        r"^# ([a-z-]+)\n(def (\w+).*?)(?=^# |\Z)", NEARLY, re.MULTILINE | re.DOTALL
    )
}
"""Functions that are nearly right, by the exercise that they answer."""


@pytest.mark.parametrize("name", WRONG)
def test_a_nearly_right_function_does_not_pass(name: str) -> None:
    """It has all that is shown right; of all that is drawn it has not."""
    marks: Any = task_named(name).judge(WRONG[name])
    assert all(case.passed for case in marks.public)
    assert not marks.passed


FAILED_WRITE = (
    "crash X, commit write_both_read_old, crash D, write 1 at version 11, write 1 reaches B, "
    "write 1 reaches C, time out write 1"
)
OWN_BALLOT = (
    "submit r2 A, ballot A, prepare A B, propose A, accept A B, submit r1 B, learn A, ballot B, "
    "answer A, prepare B A, ballot B, prepare B A, propose B, accept B A, learn B, answer B"
)
RUNS = {
    "refused-though-alive": (FAILED_WRITE, "apply B"),
    "joined-without": ("ask-seed X A, write A, bootstrap X, stream X B, joined X", "learn B X"),
    "ring-without-a-member": ("post A, bootstrap C, serve C", "build A, build B"),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_has_broken_stays_broken(name: str) -> None:
    """A few steps later nothing shows it any more; it happened all the same."""
    run, more = RUNS[name]
    judge = task_named(name).judge
    assert judge(run.split(", ")).passed
    assert judge(f"{run}, {more}".split(", ")).passed
    assert not judge(run.split(", ")[:-1]).passed


@pytest.mark.parametrize(
    ("name", "run", "passes"),
    [
        ("one-start-is-enough", "alter A, lose dc2, start D, alter A, catch up D", True),
        (
            "one-start-is-enough",
            "alter A, lose dc2, start D, catch up D, alter A",
            True,
        ),
        ("one-start-is-enough", "alter A, alter A", False),
        ("one-start-is-enough", "alter A, stop D, stop E, alter A", False),
        ("one-start-is-enough", "alter A, lose dc2, start D, alter A", False),
        ("one-start-is-enough", "alter A, lose dc2, start D, catch up D", False),
        ("overtaken", OWN_BALLOT, False),
    ],
)
def test_a_run_is_what_its_text_asks_for(name: str, run: str, passes: bool) -> None:
    """Nothing more, and nothing less."""
    assert task_named(name).judge(run.split(", ")).passed is passes


def test_who_moves_house_is_the_one_that_is_asked_for() -> None:
    """The run that is known moves C; with another node it does not pass."""
    task = task_named("moved-house")
    judge: Any = task.judge
    run = judge.solved()
    assert "readdress C" in run
    assert task.judge([*run]).passed
    other = [
        each.replace("readdress C", "readdress D").replace("gossip C", "gossip D") for each in run
    ]
    assert not task.judge(other).passed


def at(model: Any, *verbs: str) -> Timeline:
    """A timeline after these verbs."""
    timeline = Timeline(model)
    for verb in verbs:
        option = model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def test_the_reason_for_what_is_committed_is_true() -> None:
    """Nothing is stored yet; it is known already; an older entry does not count."""
    elected = at(
        build("raft", {"terms": 1}),
        "tick B election",
        "deliver B>A vote 1 0 0 trial",
        "deliver A>B voted 1 granted trial",
        "deliver B>A vote 1 0 0",
        "deliver A>B voted 1 granted",
    )
    question = known_to_commit(elected).question
    assert (question.right, question.because) == (
        ("0",),
        "No entry of B is stored by a majority yet.",
    )
    begins = ("1, commit 1, term 2, leads", "1, commit 1, term 2, follows A")
    question = known_to_commit(Timeline(build("raft", {"begins": (*begins, begins[1])}))).question
    assert question.right == ("1",)
    assert question.because.endswith("up to index 1. A knows already that this is committed.")


def test_who_does_not_vote_begins_no_election() -> None:
    """Those that do are named."""
    model = build("raft", {"nodes": 5, "members": "A B C"})
    with pytest.raises(BadInput, match="server: got 'D'; allowed: one that votes: A, B, C"):
        voters(Timeline(model), "D")


def test_a_question_that_has_no_answer_is_not_posed() -> None:
    """No transition state, no request that waits, a model without requests."""
    queue = open_named("queue-of-requests").timeline
    for _ in range(5):
        queue.forward()
    with pytest.raises(KitError, match="has no transition states"):
        next_transition(queue)
    running = at(build("topology", {"operations": ("join D",)}), "join D", "decide", "commit")
    with pytest.raises(KitError, match="no request waits here"):
        next_request(running)
    for name in ("replica", "twophase"):
        with pytest.raises(KitError, match="no request is made in this model"):
            how_it_ends(Timeline(build(name)))


def test_what_is_decided_is_not_free() -> None:
    """And of the amounts of data nobody knows, streams are counted."""
    timeline = open_named("paxos/one-value").timeline
    while timeline.forward() is not None:
        pass
    assert "or free" not in possible_values(timeline).question.because
    bootstraps = open_named("two-bootstraps").timeline
    bootstraps.forward()
    assert "most streams" in busiest(bootstraps).question.text


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["typed-recovery", "typed-recovery-mode"])
def test_a_typed_procedure_needs_each_of_its_lines(name: str) -> None:
    """Without any of them a step is left out, though the cluster may be whole at the end."""
    judge: Any = task_named(name).judge
    lines = list(judge.solved())
    assert judge(lines).passed
    for at, line in enumerate(lines):
        needed = not line.startswith("on ")  # one may be there already
        assert judge([*lines[:at], *lines[at + 1 :]]).passed is not needed or not needed


def test_what_can_never_be_chosen_is_not_chosen_already() -> None:
    """All messages that could have brought a value are lost."""
    timeline = at(
        build("paxos", {"losses": 5, "ballots": 1}),
        "ballot B",
        "deliver B>A prepare 1 1B",
        "drop B>C prepare 1 1B",
        "deliver A>B promise 1 1B",
        "drop B>A accept 1 1B y",
        "drop B>C accept 1 1B y",
    )
    question = possible_values(timeline).question
    assert question.right == ()
    assert question.because.endswith("that can follow, epoch 1 stays free.")


def test_the_busiest_node_is_told_only_where_all_sizes_are_known() -> None:
    """Else streams are counted; who sends as much is as busy."""
    stored: Any = {"ranges": [["ks", [[100, 200, 1000]]]]}
    operations: Any = ("bootstrap E --tokens 50,150,250",)
    given = {"nodes": 3, "rf": 1, "operations": operations, "edition": "server", "stored": stored}
    question = busiest(copying(build("tcm", given))).question
    assert "most streams" in question.text
    assert "bytes" not in question.because
    stored = {"nodes": [["A", 1000], ["B", 1000], ["C", 1000]]}
    operations = ("decommission A", "decommission C")
    given |= {"nodes": 4, "operations": operations, "stored": stored}
    question = busiest(copying(build("tcm", given))).question
    assert "most of the data" in question.text
    assert question.right


def copying(model: Any) -> Timeline:
    """The first moment at which something is copied."""
    timeline = Timeline(model)
    while timeline.forward() is not None:
        with suppress(KitError):
            busiest(timeline)
            return timeline
    raise AssertionError("nothing is copied")
