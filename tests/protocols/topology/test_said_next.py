"""What the coordinator says that it is at, and why it does not go on: by all that it remembers."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.facts import journal
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.outcomes import why

BEGINS = "a new coordinator must first commit a command of its own"
IN_HAND = "a command was decided but is not committed yet"


def until(model: Any, state: Any, work: str) -> Any:
    """The first state in which this piece of work comes next."""
    for _ in range(200):
        task = model.task(state)
        if task.work is not None and task.work.name == work and model.busy(state) is None:
            return state
        state = model.act(state, model.suggest(state))
    raise AssertionError(work)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("work", "action"),
    [
        ("accept", act.DoWork()),
        ("accept", act.FailWork()),
        ("stream", act.DoWork()),
        ("stream", act.FailWork()),
        ("stream", act.TakeDecision()),
    ],
)
def test_a_new_coordinator_has_nothing_in_hand(edition: Edition, work: str, action: Any) -> None:
    """Its start marker comes first; once that is decided, it is what is in hand."""
    model: Any = build("topology", {"edition": edition, "changes": 1, "failures": 1})
    state = model.act(until(model, model.start(), work), act.ElectCoordinator("B"))
    assert why(model, state, action) == ("" if isinstance(action, act.TakeDecision) else BEGINS)
    state = model.act(state, act.TakeDecision())
    assert why(model, state, action) == IN_HAND


# asked for, what fails first (the operation rolls back), and what comes behind shut_down
SHUT_DOWN = (
    ("leave C", ""),
    ("join D", "stream"),
    ("join D", "assign_tokens"),
    ("replace D C", "stream"),
    ("replace D C", "copy_tokens"),
)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("words", "fails"), SHUT_DOWN)
def test_what_has_failed_does_not_come_next(edition: Edition, words: str, fails: str) -> None:
    """The node is dead already: it cannot be told to shut down, and leaves group 0 all the same."""
    given = {"edition": edition, "operations": (words,), "failures": 1, "crashes": 1}
    model: Any = build("topology", given)
    state = model.start()
    if fails:
        state = model.act(until(model, state, fails), act.FailWork())
    state = until(model, state, "shut_down")
    assert why(model, state, act.TakeDecision()) == "shut_down comes next"
    state = model.act(state, act.CrashMember(words.split()[1]))
    state = model.act(state, act.FailWork())
    assert why(model, state, act.TakeDecision()) == "leave_group0 comes next"
    assert model.readable(state)["coordinator"].endswith("work, leave_group0 comes next")


@pytest.mark.parametrize("node", "ABDEF")
def test_who_has_left_is_dropped_whoever_is_down(node: str) -> None:
    """No node is asked for that; whoever coordinates may do it while any other is down."""
    given = {"edition": "documents", "nodes": 5, "operations": ("replace F C",)}
    model: Any = build("topology", {**given, "crashes": 2, "changes": 1})
    state = until(model, model.start(), "drop_left")
    leader = "E" if node == "D" else "D"
    begins = act.ElectCoordinator(leader), act.TakeDecision(), act.CommitDecision()
    for action in (*begins, act.CrashMember(node)):
        state = model.act(state, action)
    assert why(model, state, act.DoWork()) == ""
    assert "C" in model.named(state.topology.members)
    assert "C" not in model.named(model.act(state, act.DoWork()).topology.members)


@pytest.mark.parametrize("words", ["join D", "replace D C", "leave C", "remove C"])
def test_a_pause_follows_a_barrier_that_failed(words: str) -> None:
    """In the server, behind the read switch: drain and plain barrier have failed."""
    model: Any = build("topology", {"operations": (words,), "failures": 2, "edition": "server"})
    state = model.start()
    while state.topology.transition != "write_both_read_new":
        state = model.act(state, model.suggest(state))
    state = model.act(until(model, state, "barrier"), act.FailWork())
    while why(model, state, act.FailWork()):
        state = model.act(state, model.suggest(state))
    state = model.act(state, act.FailWork())
    assert why(model, state, act.TakeDecision()) == "barrier has failed: a pause comes next"


# asked for, beside the excluded node B (of five members), and whether its first barrier waits for B
EXCLUDED = (
    ("join F", True),
    ("leave D", True),
    ("remove D", False),
    ("replace F D", False),
    ("new_cdc_generation", True),
)


@pytest.mark.parametrize(("words", "waits"), EXCLUDED)
def test_whose_barriers_wait_for_an_excluded_node(words: str, waits: bool) -> None:
    """The sentence of an exclusion says it: removals, replaces and tablets do not."""
    given = {"operations": (words,), "edition": "documents", "nodes": 5, "crashes": 1}
    timeline = Timeline(build("topology", {**given, "exclusions": 1}))
    model: Any = timeline.model
    for verb in (words, "crash B", "exclude B"):
        option = model.find(timeline.state, verb)
        timeline.do(option[0])
    said = "Removals, replacements and tablets no longer wait for it; a join still does."
    assert timeline.now.say.endswith(said)
    state = timeline.state
    while not model.unanswered(state):
        state = model.act(state, model.suggest(state))
    assert bool(model.unanswered(state) & 0b10) is waits


@pytest.mark.parametrize("marker", [True, False])
def test_a_new_coordinator_enters_the_state_again(marker: bool) -> None:
    """Once it has begun: with its start marker, or without one where it needs none."""
    model: Any = build("topology", {"changes": 1}, off=() if marker else ("start-marker",))
    before = until(model, model.start(), "accept")
    after = model.act(before, act.ElectCoordinator("B"))
    entered = "entered `join group0` transition state"
    assert (entered in journal(model, before, act.ElectCoordinator("B"), after)) is not marker
    if marker:
        before = model.act(after, act.TakeDecision())
        after = model.act(before, act.CommitDecision())
        assert entered in journal(model, before, act.CommitDecision(), after)


def test_a_new_coordinator_sends_nothing_before_it_has_begun() -> None:
    """Its barrier is sent again with its start marker, not as soon as it is there."""
    model: Any = build("topology", {"changes": 1, "crashes": 1, "lag": False})
    state = until(model, model.start(), "barrier")
    sent = []
    for words in ("crash A", "elect B", "decide", "commit"):
        action, refusal = model.find(state, words)
        assert refusal is None
        after = model.apply(state, action)
        sent.append(
            any("global topology command" in x for x in journal(model, state, action, after))
        )
        state = after
    assert sent == [False, False, False, True]
