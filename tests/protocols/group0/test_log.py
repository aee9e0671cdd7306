"""What becomes of group 0's log: who commits it, who gets it, and its runs as data."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.group0 import facts
from kit.spark.rows import timeline as timeline_of
from kit.spark.sweeping import sweep
from kit.spark.traces import as_tables, drawn
from tests.protocols.group0.driving import FIRST_SIX, Driven

CHANGE, OTHER = "create table ks.t at A", "create table ks.u at B"


@pytest.mark.parametrize("leader", "AB")
def test_no_node_gets_entries_of_a_leader_that_is_down(leader: str) -> None:
    """Once it is back, the others get them."""
    driven = Driven(operations=(CHANGE,), elections=1, crashes=1).submitted(CHANGE)
    driven.do(*(["elect B"] if leader == "B" else []), "commit 4 by A B", f"crash {leader}")
    others = [name for name in "ABC" if name != leader]
    for name in others:
        _, refusal = driven.model.find(driven.state, f"replicate {name}")
        assert (refusal.reason, refusal.missing) == (f"{leader}, the leader, is down", (leader,))
    driven.do(f"restart {leader}", *(f"replicate {name}" for name in others))
    assert {at.commit for at in driven.state.indexes} == {2}


def test_a_deposed_leader_steps_down_only_by_hearing_of_the_new_term() -> None:
    """From a leader that is up; another former leader stays deposed until it hears, too."""
    driven = Driven(elections=3, crashes=1).do("elect B", "elect C")
    assert driven.state.deposed == 0b011
    crashed = Driven(elections=3, crashes=1).do("elect B", "elect C", "crash C")
    assert crashed.refused("step-down B") == "the leader, which knows the new term, is down"
    assert crashed.do("restart C", "step-down B").state.deposed == 0b001
    assert driven.do("step-down B").state.deposed == 0b001
    assert driven.do("step-down A").state.deposed == 0
    again = Driven(elections=3).do("elect B", "elect C", "elect B").state
    assert (again.leader, again.deposed) == (1, 0b101)


def test_a_crash_ends_the_change_that_a_node_was_making() -> None:
    """The client gets no answer; an idle node's crash ends no change."""
    driven = Driven(operations=(CHANGE, OTHER), crashes=1).do(CHANGE, OTHER, "crash B")
    assert driven.state.answers == ("running", "no answer")
    assert [guard is None for guard in driven.state.guards] == [False, True, True]
    assert driven.state.up == 0b101
    assert driven.refused("crash A") == "the budget of crashes is spent"
    idle = Driven(operations=(CHANGE, OTHER), crashes=1).do(CHANGE, "crash B")
    assert idle.state.answers == ("running", "waiting")


def test_an_hour_expires_all_state_ids_made_so_far() -> None:
    """Those of commands on their way as well; hours are limited by their budget."""
    driven = Driven(operations=(CHANGE,), edition="server", hours=2).do("pass an hour")
    assert driven.state.expired == 1
    driven.do(CHANGE, *(f"{step} A" for step in FIRST_SIX)).do("pass an hour")
    assert driven.state.expired == 4
    once = Driven(operations=(CHANGE,), edition="server", hours=1).do("pass an hour")
    assert once.submitted(CHANGE).refused("pass an hour") == "the budget of hours is spent"


TABLE = "create table ks.t at"


def test_a_client_is_told_unknown_when_the_row_of_its_command_has_expired() -> None:
    """An hour passed and the next command came before B looked its own up."""
    operations = (f"{TABLE} B", "create table ks.u at A")
    driven = Driven(operations=operations, edition="server", hours=1).submitted(operations[0])
    driven.do("commit 2 by A B", "pass an hour", "apply A").submitted(operations[1])
    driven.do("commit 4 by A B", "replicate B", "apply B", "apply B", "look-up B")
    said = "B finds no state 2, and rows that old have expired: the outcome is unknown."
    assert (driven.timeline.now.say, driven.flows()) == (said, ["B → client: unknown"])


def test_a_node_that_holds_its_lock_begins_no_second_change() -> None:
    """A node that is down begins none either."""
    operations = (f"{TABLE} A", "create table ks.u at A", "create table ks.v at B")
    driven = Driven(operations=operations, crashes=1).do(operations[0])
    assert driven.refused(operations[1]) == (
        "A holds the lock for another change: create table ks.t"
    )
    driven.do("crash B")
    assert driven.refused(operations[2]) == "B is down"


@pytest.mark.parametrize(("elected", "deposed"), [("B", "A"), ("BC", "AB"), ("BA", "B")])
def test_a_deposed_leader_ends_no_read_barrier(elected: str, deposed: str) -> None:
    """All other nodes do."""
    operations = [f"{TABLE} {name}" for name in "ABC"]
    driven = Driven(operations=tuple(operations), elections=2)
    driven.do(*operations, *(f"elect {name}" for name in elected))
    for name in deposed:
        said = f"{name} believes that it leads, but no majority answers it"
        assert driven.refused(f"barrier {name}") == said
    driven.do(*(f"barrier {name}" for name in sorted({*"ABC"} - {*deposed})))


@pytest.mark.parametrize("applied", [1, 2])
def test_a_read_barrier_waits_until_all_that_is_committed_is_applied(applied: int) -> None:
    """With one of two committed commands applied, B is refused."""
    driven = Driven(operations=(f"{TABLE} A", "create table ks.u at B")).submitted(f"{TABLE} A")
    driven.do("commit 4 by A B", "create table ks.u at B", "replicate B")
    if applied == 1:
        assert driven.refused("barrier B") == "B has applied 1 of 2 committed commands"
    else:
        driven.do("apply B", "barrier B")


def race() -> Timeline:
    """Two nodes create one table; one command has no effect."""
    return open_file(file_named("group0/race"))


def test_the_tables_of_a_run_have_the_models_facts() -> None:
    """Entries stored, committed and applied by each node, and the clients' answers."""
    timeline = race()
    model: Any = timeline.model
    tables = {name: table.to_pylist() for name, table in as_tables(timeline, "one").items()}
    states = [timeline.moments[moment].state for moment in timeline.path()]
    assert [row["epoch"] for row in tables["events"]] == [len(s.log) for s in states]
    assert [
        (r["step"], r["node"], r["stored"], r["committed"], r["applied"], r["votes"])
        for r in tables["members"]
    ] == [
        (step, row.name, row.stored, row.commit, row.applied, row.votes)
        for step, s in enumerate(states)
        for row in facts.nodes(model, s)
    ]
    assert [r["applied"] for r in tables["members"]] == [r["applied"] for r in tables["epochs"]]
    last = [row["answer"] for row in tables["answers"]][-2:]
    assert sorted(last) == ["error", "success"]


def test_a_command_without_effect_has_a_row_without_a_state_id() -> None:
    """The loser of a race."""
    commands = as_tables(race())["commands"].to_pylist()
    assert [row["creator"] for row in commands] in (["A", "B"], ["B", "A"])
    assert [row["state_id"] is None for row in commands] == [False, True]
    assert {row["description"] for row in commands} == {"create table ks.t"}


def test_a_drawn_run_and_a_row_of_a_sweep_become_tables() -> None:
    """A row for each step, and for each command."""
    assert as_tables(drawn(2, model="group0", most=60))["events"].num_rows > 10
    (row,) = sweep(None, "group0", range(1), steps=60).to_pylist()
    run = timeline_of(row)
    tables = as_tables(run)
    assert tables["events"].num_rows == row["steps"] + 1
    assert tables["commands"].num_rows == len(run.state.log) - len(run.moments[0].state.log)
