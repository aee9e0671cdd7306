"""Promises of group 0 on states made by hand: what keeps each of them, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.group0.facts import OUTPUT
from kit.protocols.group0.guards import Places, after_step, linearizability
from kit.protocols.group0.raft import CommitCommand, Elect
from kit.protocols.group0.rules.commands import Command, Indexes
from kit.protocols.group0.state import HeldGuard
from tests.protocols.group0.driving import Driven

ALL, BEHIND = Indexes(stored=1, commit=1, applied=1), Indexes()


@pytest.mark.parametrize(
    ("up", "own", "said"),
    [
        (0b111, ALL, None),
        (0b011, ALL, None),
        (0b001, ALL, "A was elected without a majority"),
        (0b000, ALL, "A was elected without a majority"),
        (0b111, BEHIND, "A leads but lacks index 1"),
    ],
)
def test_who_is_elected(up: int, own: Indexes, said: str | None) -> None:
    """Two of three voters are needed, and a leader that stores the one entry of the log."""
    model: Any = build("group0")
    state = model.start()
    before = state.but(up=up, indexes=(own, *state.indexes[1:]))
    assert model.elected(before, Elect("A"), before) == said


@pytest.mark.parametrize(
    ("answer", "times", "said"),
    [
        ("running", 0, None),
        ("running", 1, None),
        ("running", 2, "took effect twice"),
        ("running", 3, "took effect 3 times"),
        ("success", 0, "took effect never; its client was told: success"),
        ("success", 1, None),
        ("error", 0, None),
        ("error", 1, "took effect once; its client was told: error"),
    ],
)
def test_how_often_a_change_takes_effect(answer: str, times: int, said: str | None) -> None:
    """Without the guard each command takes effect; the client hears of one alone."""
    model: Any = build("group0", {"operations": ("create keyspace ks at A",), "earlier": ()})
    client = model.clients[0]
    state = model.start()
    log = state.log
    for number in range(times):
        log = log.append(Command(client.statement, None, number + 9, "A"))
    found = model.once(state.but(log=log, answers=(answer,)))
    assert found == (None if said is None else f"{client.text} {said}")


def test_each_client_counts_its_own_change() -> None:
    """Two clients of one node: that the first one's took effect is nothing of the second."""
    given = {"operations": ("create keyspace ks at A", "create keyspace other at A"), "earlier": ()}
    model: Any = build("group0", given)
    first, second = model.clients
    log = model.start().log.append(Command(first.statement, None, 9, "A"))
    judged = {
        answers: model.once(model.start().but(log=log, answers=answers))
        for answers in (("success", "error"), ("error", "success"))
    }
    assert judged == {
        ("success", "error"): None,
        ("error", "success"): f"{first.text} took effect once; its client was told: error",
    }
    assert second.text != first.text


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        # What it read is what the command says, or what its guard says, if that is the command's.
        (None, "built on state 1"),
        (HeldGuard(operation=0, observed=3, new=9), "built on state 1"),
        (HeldGuard(operation=0, observed=2, new=7), "built on state 2"),
        (HeldGuard(operation=0, observed=3, new=7), None),
    ],
)
def test_which_state_a_command_was_built_on(guard: HeldGuard | None, said: str | None) -> None:
    """A node that began again holds the guard of another command than the one that comes late."""
    given = {"operations": ("create keyspace ks at A",), "earlier": ()}
    model: Any = build("group0", given, ("state-id-check",))
    client, start = model.clients[0], model.start()
    log = start.log.append(Command(client.statement, None, 3, "B"))
    before = start.but(log=log, guards=(guard, None, None))
    after = before.but(log=log.append(Command(client.statement, 1, 7, "A")))
    found = model.built_on(before, CommitCommand(7, ("A", "B")), after)
    whole = f"“create keyspace ks” by A, {said}, changes state 3"
    assert found == (None if said is None else whole)


def test_no_state_id_is_made_before_the_first_change() -> None:
    """So no hour can pass that would forget one."""
    model: Any = build("group0", {"earlier": (), "hours": 1})
    state = model.start()
    assert model.newest_id(state) == 0
    assert model.find(state, "pass an hour") is None


def test_who_leads_again_was_not_deposed() -> None:
    """B led before C, and leads after it: A and C have not heard of that."""
    model: Any = build("group0", {"elections": 3})
    state = model.start()
    for verb, deposed in (("elect B", 0b001), ("elect C", 0b011), ("elect B", 0b101)):
        option = model.find(state, verb)
        assert option is not None
        state = model.act(state, option[0])
        assert state.deposed == deposed


@pytest.mark.parametrize(
    ("place", "name"), [("op:0", "client"), ("at:B:3", "B"), ("log:3", "log:3"), ("B", "B")]
)
def test_places_are_called_in_texts(place: str, name: str) -> None:
    """A node by its name, wherever at it something is."""
    model: Any = build("group0")
    assert model.called(place) == name


def test_what_scenario_files_show_of_the_start() -> None:
    """Nobody holds a guard, and each client waits."""
    model: Any = build("group0", {"operations": ("create keyspace ks at A",), "earlier": ()})
    shown = {name: text(model, model.start(), "") for name, text in OUTPUT.items()}
    assert shown == {
        "log": "nothing",
        "history": "A: empty\nB: empty\nC: empty",
        "indexes": "\n".join(f"{name}: stored 0, commit 0, applied 0" for name in "ABC"),
        "guards": "nothing",
        "answers": "create keyspace ks at A: waiting",
        "schema": "\n".join(f"{name}: group0_schema_version no row" for name in "ABC"),
        "voters": "A, B, C: 3 of 3 up, 2 needed",
    }


@pytest.mark.parametrize(
    ("steps", "holding"), [((1,), 0), ((2,), 0b001), ((3,), 0b100), ((2, 3), 0b101), ((), 0)]
)
def test_who_did_a_step_last(steps: tuple[int, ...], holding: int) -> None:
    """A did step 2 and C step 3; B holds no guard."""
    model: Any = build("group0")
    state = model.start().but(guards=(HeldGuard(0, step=2), None, HeldGuard(1, step=3)))
    assert after_step(*steps)(model, state) == holding


@pytest.mark.parametrize(("hours", "forgets"), [((), 0), (("pass an hour",), 2)])
def test_what_a_command_forgets(hours: tuple[str, ...], forgets: int) -> None:
    """State 1 is an hour old: rows below 2 go. Before that none does."""
    driven = Driven(edition="server", hours=1).do(*hours).submitted("create table ks.t at A")
    assert [command.forgets for command in driven.state.in_flight] == [forgets]


def test_where_answered_changes_stand_in_the_log() -> None:
    """A succeeds with the second entry; B begins behind it, and is refused there.

    -1 is of whom nothing is under way.
    """
    timeline = played_out(Timeline(build("group0")))
    model: Any = timeline.model
    monitor = linearizability(model)
    memory = monitor.begin()
    memories = [memory]
    for step in timeline.passed():
        memory = monitor.after(memory, step.before, step.action, step.after)
        if memory != memories[-1]:
            memories.append(memory)
    assert memories == [
        Places(0, (-1, -1)),
        Places(0, (0, -1)),
        Places(2, (-1, -1)),
        Places(2, (-1, 2)),
        Places(2, (-1, -1)),
    ]
