"""What becomes of group 0's log: who commits it, gets it, leads and votes, and what goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.group0.rules.commands import Command, Indexes
from kit.protocols.group0.rules.schema import Statement
from kit.protocols.group0.state import HeldGuard
from tests.outcomes import why
from tests.protocols.group0.driving import FIRST_SIX, Driven

CHANGE, OTHER = "create table ks.t at A", "create table ks.u at B"


def action(model: Any, state: Any, verb: str) -> Any:
    """What a verb stands for in a state."""
    return model.find(state, verb)[0]


def made(new: int) -> Command:
    """A command on its way, with this state id."""
    return Command(Statement("create", "ks", f"t{new}"), 1, new, "A")


def test_whoever_stores_a_command_commits_it() -> None:
    """A majority of three out of five is named, with the index and the last command alone."""
    driven = Driven(nodes=5, operations=(CHANGE, OTHER)).submitted(CHANGE)
    driven.do("commit 6 by A B C")
    assert driven.scene.say == (
        "A, B and C store “create table ks.t” by A, so it is committed at index 2."
    )
    driven.do("apply A", "replicate B", "apply B").submitted(OTHER).do("commit 7 by A D E")
    assert driven.scene.say == (
        "A, D and E store “create table ks.u” by B, so it is committed at index 3."
    )


@pytest.mark.parametrize("leader", "AB")
def test_nobody_gets_entries_of_a_leader_that_is_down(leader: str) -> None:
    """Once it is back the others get them."""
    driven = Driven(operations=(CHANGE,), elections=1, crashes=1).submitted(CHANGE)
    driven.do(*(["elect B"] if leader == "B" else []), "commit 4 by A B", f"crash {leader}")
    others = [name for name in "ABC" if name != leader]
    for name in others:
        _, refusal = driven.model.find(driven.state, f"replicate {name}")
        assert (refusal.reason, refusal.missing) == (f"{leader}, the leader, is down", (leader,))
    driven.do(f"restart {leader}", *(f"replicate {name}" for name in others))
    assert {at.commit for at in driven.state.indexes} == {2}


@pytest.mark.parametrize("node", range(1, 4))
def test_who_lacks_what_was_dropped_needs_a_snapshot(node: int) -> None:
    """It is named, and gets one of a leader that is up, unless it looks at its state just now."""
    model: Any = build("group0", {"nodes": 5, "kept": 1, "operations": (CHANGE,)})
    log = model.start().log.append(made(6)).append(made(11))
    whole, behind, name = Indexes(3, 3, 3), Indexes(1, 1, 1), model.names[node]
    indexes = tuple(behind if i == node else whole for i in range(5))
    state = model.start().but(log=log, indexes=indexes)
    snapshot = f"snapshot {name}"
    refusal = model.find(state, f"replicate {name}")[1]
    assert refusal.missing == (name,)
    said = "A, the leader, has dropped entries up to 2: the node needs a snapshot first"
    assert refusal.reason == said
    after = model.act(state, action(model, state, snapshot))
    assert after.indexes[node] == Indexes(2, 2, 2)
    down = state.but(up=state.up & ~1)
    assert why(model, down, action(model, down, snapshot)) == "A, the leader, is down"
    builds = state.but(guards=tuple(HeldGuard(0, 3) if i == node else None for i in range(5)))
    said = f"{name} is building a command on the state that it has"
    assert why(model, builds, action(model, builds, snapshot)) == said


def test_who_led_before_hears_of_the_newest_term_alone() -> None:
    """From a leader that is up; others that led before hear of it for themselves."""
    driven = Driven(elections=3, crashes=1).do("elect B", "elect C")
    assert driven.state.deposed == 0b011
    crashed = Driven(elections=3, crashes=1).do("elect B", "elect C", "crash C")
    assert crashed.refused("step-down B") == "the leader, which knows the new term, is down"
    assert crashed.do("restart C", "step-down B").state.deposed == 0b001
    assert driven.do("step-down B").state.deposed == 0b001
    assert driven.do("step-down A").state.deposed == 0
    again = Driven(elections=3).do("elect B", "elect C", "elect B").state
    assert (again.leader, again.deposed) == (1, 0b101)


@pytest.mark.parametrize(
    ("up", "storing", "reason", "missing"),
    [
        (0b11111, 0b00111, "", ""),
        (0b01111, 0b01101, "", ""),
        (0b11111, 0b00011, "a majority of the new voters must be up and store the log", "C D E"),
        (0b11011, 0b00111, "a majority of the new voters must be up and store the log", "C D E"),
        (0b01111, 0b11001, "a majority of the new voters must be up and store the log", "B C E"),
        (0b11110, 0b11110, "A, the leader, is down: another leader must be elected", "A"),
        (0b10011, 0b10011, "no quorum: more than half of the voters must be up", "C D"),
    ],
)
def test_new_voters_have_to_have_a_majority(
    up: int, storing: int, reason: str, missing: str
) -> None:
    """Of those that are up and store the whole log; the leader stands behind the old ones."""
    model: Any = build("group0", {"nodes": 5, "operations": (CHANGE,)})
    stored = (2 if storing >> i & 1 else 1 for i in range(5))
    state = model.start().but(
        log=model.start().log.append(made(6)),
        indexes=tuple(Indexes(index, 1, 1) for index in stored),
        voters=0b01111,
        up=up,
    )
    change, refusal = model.find(state, "reconfigure A B C D E")
    if reason:
        assert (refusal.reason, refusal.missing) == (reason, tuple(missing.split()))
    else:
        assert refusal is None
        assert model.act(state, change) == state.but(voters=0b11111)


@pytest.mark.parametrize(("lost", "left"), [(2, (3, 4)), (3, (2, 4)), (4, (2, 3))])
def test_a_command_that_is_lost_is_the_only_one(lost: int, left: tuple[int, ...]) -> None:
    """The others are still on their way; as many are lost as the budget allows."""
    model: Any = build("group0", {"losses": 1})
    state = model.start().but(in_flight=tuple(map(made, (2, 3, 4))))
    after = model.act(state, action(model, state, f"lose {lost}"))
    assert tuple(command.new for command in after.in_flight) == left
    for new in left:
        said = why(model, after, action(model, after, f"lose {new}"))
        assert said == "the budget of losses is spent"


def test_a_crash_ends_what_a_node_was_doing() -> None:
    """Its client gets no answer, and the others go on; no more crash than the budget allows."""
    driven = Driven(operations=(CHANGE, OTHER), crashes=1).do(CHANGE, OTHER, "crash B")
    assert driven.state.answers == ("running", "no answer")
    assert [guard is None for guard in driven.state.guards] == [False, True, True]
    assert driven.state.up == 0b101
    assert driven.refused("crash A") == "the budget of crashes is spent"
    idle = Driven(operations=(CHANGE, OTHER), crashes=1).do(CHANGE, "crash B")
    assert idle.state.answers == ("running", "waiting")


def test_an_hour_takes_all_state_ids_that_were_made() -> None:
    """Also those of commands on their way; no more hours pass than the budget allows."""
    driven = Driven(operations=(CHANGE,), edition="server", hours=2).do("pass an hour")
    assert driven.state.expired == 1
    driven.do(CHANGE, *(f"{step} A" for step in FIRST_SIX)).do("pass an hour")
    assert driven.state.expired == 4
    once = Driven(operations=(CHANGE,), edition="server", hours=1).do("pass an hour")
    assert once.submitted(CHANGE).refused("pass an hour") == "the budget of hours is spent"
