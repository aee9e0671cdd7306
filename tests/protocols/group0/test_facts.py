"""What scenario files show of group 0, and the finer run of a step of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import PassedStep
from kit.protocols.group0.facts import (
    OUTPUT,
    GuardRow,
    MemberRow,
    brought_by_raft,
    guards,
    nodes,
)
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.state import SUBMITTED, VALID, HeldGuard
from kit.search.zoom import FinerRun
from tests.protocols.group0.driving import Driven

AT_FIRST = {
    "log": "1  0 -> 1  create keyspace ks by A",
    "history": "A: 1\nB: 1",
    "indexes": "A: stored 1, commit 1, applied 1\nB: stored 1, commit 1, applied 1",
    "guards": "nothing",
    "answers": "create table ks.t at B: waiting",
    "schema": "A: group0_schema_version 1\nB: group0_schema_version 1",
    "voters": "A, B: 2 of 2 up, 2 needed",
}


@pytest.mark.parametrize("part", OUTPUT)
def test_what_scenario_files_show_at_first(part: str) -> None:
    """Two members with a keyspace, and a client that has to wait."""
    model: Any = build("group0", {"nodes": 2, "operations": ("create table ks.t at B",)})
    assert OUTPUT[part](model, model.start(), "") == AT_FIRST[part]


def test_a_commit_is_a_run_of_raft() -> None:
    """B leads, C does not vote; A asks for the second command. No other step brings one."""
    model: Any = build("group0", {"operations": ("create table ks.t at A",)})
    before = model.start().but(leader=1, voters=0b011)
    command = Command(model.clients[0].statement, 1, 2, "A")
    after = before.but(log=before.log.append(command))
    follows = "1, commit 1, follows B"
    still = PassedStep(before, None, before)
    assert brought_by_raft(model, [still]) is None
    assert brought_by_raft(model, [still, PassedStep(before, None, after)]) == FinerRun(
        "raft",
        {
            "nodes": 3,
            "members": "A B c",
            "edition": "server",
            "begins": (follows, "1, commit 1, leads", follows),
            "requests": ("create-keyspace-ks at A", "create-table-ks.t at A"),
        },
        "append",
        2,
        "request A create-table-ks.t at A",
        "How command 2 gets into the log: the messages of Raft",
    )


@pytest.mark.parametrize(("nodes", "is_told"), [(6, True), (7, True), (8, False)])
def test_a_commit_of_many_is_no_run_of_raft(nodes: int, is_told: bool) -> None:
    """There seven take part at most."""
    model: Any = build("group0", {"nodes": nodes, "operations": ("create table ks.t at A",)})
    before = model.start()
    log = before.log.append(Command(model.clients[0].statement, 1, 2, "A"))
    told = brought_by_raft(model, [PassedStep(before, None, before.but(log=log))])
    assert (told is not None) is is_told


def test_what_scenario_files_show_of_guards() -> None:
    """The steps that are done by their numbers, each with what it found."""
    driven = Driven(operations=("create table ks.t at A", "create table ks.u at B"))
    driven.submitted("create table ks.t at A").do("create table ks.u at B", "barrier B", "read B")
    first, second = OUTPUT["guards"](driven.model, driven.state, "").splitlines()
    assert first.endswith("; 5 validate: makes sense; 6 submit: 1 → 4")
    assert second == (
        "B: create table ks.u: 1 take the local lock: held; 2 read barrier: done; "
        "3 read the newest state id: 1"
    )


@pytest.mark.parametrize(
    ("place", "spot", "called"),
    [("A", "n:A", "A"), ("op:1", "op:1", "client"), ("at:B:3", "at:B:3", "B")],
)
def test_where_a_place_is_and_what_it_is_called(place: str, spot: str, called: str) -> None:
    """A node by its name, a client, a node at one of its steps."""
    model: Any = build("group0")
    assert (model.spot(place), model.called(place)) == (spot, called)


@pytest.mark.parametrize(
    ("index", "reach"), [(1, "applied"), (2, "committed"), (3, "stored"), (4, "")]
)
def test_how_far_a_node_is_with_an_entry(index: int, reach: str) -> None:
    """It stores three, knows that two are committed, and has applied one."""
    row = MemberRow("A", True, True, False, False, stored=3, commit=2, applied=1, shards=())
    assert row.reach(index) == reach


def test_what_members_are() -> None:
    """B leads; A takes itself for the leader and does not vote; C would, but is down; D follows."""
    model: Any = build("group0", {"nodes": 4, "shards": 2})
    state = model.start().but(leader=1, deposed=0b0101, voters=0b1110, up=0b1011)
    assert nodes(model, state) == (
        MemberRow("A", True, False, True, True, 1, 1, 1, (True, False)),
        MemberRow("B", True, True, True, False, 1, 1, 1, (True, False)),
        MemberRow("C", False, True, False, True, 1, 1, 1, (False, False)),
        MemberRow("D", True, True, False, False, 1, 1, 1, (True, False)),
    )


@pytest.mark.parametrize(
    ("step", "behind", "on_its_way", "up", "silent"),
    [
        (SUBMITTED, 0, (2,), 0b111, False),
        (SUBMITTED, 0, (2, 3), 0b111, False),
        (SUBMITTED, 0, (), 0b111, True),
        (SUBMITTED, 0, (3,), 0b111, True),
        (SUBMITTED, 1, (2,), 0b111, True),
        (SUBMITTED, 0, (2,), 0b101, True),
        (VALID, 0, (), 0b111, False),
    ],
)
def test_a_guard_hears_nothing(
    step: int, behind: int, on_its_way: tuple[int, ...], up: int, silent: bool
) -> None:
    """Where its command is nowhere, another leader has not had it, or B, which leads, is down."""
    model: Any = build("group0")
    state, statement = model.start().but(leader=1, up=up), model.clients[0].statement
    held = HeldGuard(0, step=step, observed=1, new=2, term=state.term - behind)
    commands = tuple(Command(statement, 1, new, "A") for new in on_its_way)
    state = state.but(guards=(held, None, None), in_flight=commands)
    results = ("held", "done", "1", "2", "makes sense", "1 → 2")[:step]
    assert guards(model, state) == (GuardRow("A", statement.text, results, silent),)


def test_a_barrier_may_be_left_out() -> None:
    """Without the safeguard a guard says so."""
    model: Any = build("group0", off=("read-barrier",))
    state = model.start().but(guards=(None, HeldGuard(1, step=2), None))
    [row] = guards(model, state)
    assert (row.node, row.results) == ("B", ("held", "left out"))
