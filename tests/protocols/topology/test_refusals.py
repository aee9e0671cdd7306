"""What servers and the coordinator refuse, in every state of a run in which it could come up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.masks import nodes_in
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState, settled
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, GLOBAL_REQUESTS, Edition
from kit.protocols.topology.rules.requests import LOCK, OperationRequest, refusal
from kit.protocols.topology.rules.work import ADDS, LEAVES, REMOVES
from kit.protocols.topology.topology import edges_of
from tests.outcomes import outcome, why
from tests.protocols.topology.matrix import OPERATIONS
from tests.protocols.topology.test_operations import Step, run

every_edition = pytest.mark.parametrize("edition", EDITIONS)
every_operation = pytest.mark.parametrize("words", OPERATIONS.values())


def made(words: str, edition: Edition, **given: Any) -> Any:
    """The model of one operation."""
    return build("topology", {"edition": edition, "operations": (words,), **given})


@every_edition
@every_operation
def test_work_waits_for_whoever_it_needs(edition: Edition, words: str) -> None:
    """A node that the coordinator does not hear: any but itself. Who is removed is dead, so that
    with another one away no majority is left.
    """
    model = made(words, edition, release="2025.3")
    works = [
        (s, a) for s, a, _ in run(words, edition, release="2025.3") if isinstance(a, act.DoWork)
    ]
    asked = 0
    for state, action in works:
        task = task_of(state, model.setting)
        assert task.work is not None
        assert why(model, state, action) == ""
        for node in nodes_in(task.needs & ~(1 << state.coordinator)):
            away = replace(state, cut=state.cut | 1 << node)
            few = "group 0 has no majority" if words.startswith("remove") else ""
            assert why(model, away, action) == (few or f"{task.work.name} cannot reach a node")
            asked += 1
    assert asked


@every_edition
def test_who_is_not_heard_reports_nothing(edition: Edition) -> None:
    """A node that cleans up, and that the others do not hear."""
    given: dict[str, Any] = {"operations": ("join D", "cleanup")}
    model = made("", edition, **given)
    steps = run("", edition, **given)
    states = [(state, action) for state, action, _ in steps if isinstance(action, act.ReportClean)]
    assert states
    for state, action in states:
        away = replace(state, cut=1 << model.number(action.node))
        assert why(model, away, action) == "the node is cut off"


@every_edition
@every_operation
def test_nothing_is_locked_while_an_operation_is_under_way(edition: Edition, words: str) -> None:
    """The lock is asked for again; before and after an operation it joins the queue."""
    model = made(words, edition)
    steps = run(words, edition)
    refused = [_locked(model, state) for state, _, _ in steps]
    assert _locked(model, steps[-1][2]) == refused[0] == ""
    assert set(refused) == {"", "an operation is under way"}


def _locked(model: Any, state: ControlState) -> str:
    found = refusal(state.topology, OperationRequest(LOCK), state.reachable, model.setting)
    return found.reason if found else ""


@every_edition
@every_operation
def test_no_tablet_moves_while_a_node_operation_holds_the_machine(
    edition: Edition, words: str
) -> None:
    """But in the states of the tablet track."""
    model = made(words, edition)
    for state, _, _ in run(words, edition):
        s = replace(state, topology=replace(state.topology, tablets="moving"))
        busy = model.busy(s)
        track = s.topology.transition in ("tablet_migration", "tablet_draining")
        held = "" if track else "a node operation holds the state machine"
        assert why(model, s, act.MoveTablets()) == (busy.reason if busy else held)


@every_edition
@every_operation
def test_without_that_safeguard_tablets_move_all_the_same(edition: Edition, words: str) -> None:
    """Nothing but the coordinator's own business holds them up."""
    given = {"edition": edition, "operations": (words,)}
    model: Any = build("topology", given, ("tablet-track-excludes",))
    for state, _, _ in run(words, edition):
        s = replace(state, topology=replace(state.topology, tablets="moving"))
        busy = model.busy(s)
        assert why(model, s, act.MoveTablets()) == (busy.reason if busy else "")


def failed(words: str, edition: Edition) -> Iterator[tuple[Any, ControlState]]:
    """The states of a run in which work failed behind which the coordinator goes on all the same.

    Any nodes may be cut off.
    """
    model = made(words, edition)
    for state, _, _ in run(words, edition):
        for cut in range(1 << len(state.applied)):
            s = replace(state, cut=cut, attempted=replace(state.attempted, failed=True))
            task = task_of(s, model.setting)
            if task.work is not None and task.work.on_failure == "proceed":
                yield model, s


@every_edition
def test_a_pause_lasts_until_all_have_heard(edition: Edition) -> None:
    """Everyone that is heard has applied the newest command, and no older request is at work."""
    said = set()
    for model, s in chain.from_iterable(failed(words, edition) for words in OPERATIONS.values()):
        newest = len(s.views) - 1
        heard = [at for i, at in enumerate(s.applied) if s.reachable >> i & 1]
        behind = any(at < newest for at in heard)
        expected = "a pause lasts until every node has applied everything" if behind else ""
        assert why(model, s, act.PauseWork()) == expected
        said.add(expected)
        for version in (s.topology.version - 1, s.topology.version):
            busy = replace(s, client=0, client_version=version)
            older = version < s.topology.version and not behind
            over = "a pause lasts until older requests are over" if older else expected
            assert why(model, busy, act.PauseWork()) == over
    assert len(said) == 2


@every_edition
def test_who_leaves_has_no_tablets_left(edition: Edition) -> None:
    """Where that is looked at, the work waits while the node has some."""
    model, looked = made("leave C", edition), 0
    for state, action, _ in run("leave C", edition):
        if isinstance(action, act.DoWork):
            task = task_of(state, model.setting)
            assert task.work is not None
            holding = replace(state, topology=replace(state.topology, tablets_on=0b100))
            if task_of(holding, model.setting) == task and task.work.name == "check_drained":
                assert why(model, holding, action) == "the node still has tablets"
                looked += 1
    assert looked == (edition == "server")


@every_edition
def test_a_replaced_node_leaves_group_0(edition: Edition) -> None:
    """Who takes its place is a member in the end, and it is none; it stays so."""
    steps: list[Step] = run("replace D C", edition)
    members = [state.topology.members for state, _, _ in steps] + [steps[-1][2].topology.members]
    assert (members[0], members[-1]) == (0b0111, 0b1011)
    for before, after in pairwise(members):
        assert before & 0b0100 >= after & 0b0100


@every_edition
@every_operation
def test_work_on_group_0_is_done_with_its_step(edition: Edition, words: str) -> None:
    """Who joins is a member, who leaves or is replaced is none, as soon as the work is done."""
    model = made(words, edition)
    for state, action, after in run(words, edition):
        if isinstance(action, act.DoWork):
            task = task_of(state, model.setting)
            operation, members = task.decision.operation, state.topology.members
            assert task.work is not None
            if operation is not None:
                subject, other = operation.node, state.topology.nodes[operation.node].replaced
                expected = {
                    ADDS: members | 1 << subject,
                    LEAVES: members & ~(1 << subject),
                    REMOVES: members & ~(1 << max(other, 0)),
                }.get(task.work.name, members)
                assert after.topology.members == expected


@every_edition
def test_a_place_for_every_tablet_is_no_failure(edition: Edition) -> None:
    """That a tablet has no place to go is open only where tablets are placed one by one."""
    model = made("leave C", edition)
    fails = [
        why(model, state, act.FailWork(placeless=True)) for state, _, _ in run("leave C", edition)
    ]
    assert "there is a place for every tablet" in fails
    assert "" not in fails


def test_what_has_no_place_takes_no_fault() -> None:
    """That no place fits is no failure of a server: none of those that may happen is used up."""
    timeline = Timeline(made("leave C", "server", placing=True, on_tablets=("A", "C")))
    model: Any = timeline.model
    action, seen = act.FailWork(placeless=True), 0
    while timeline.forward() is not None:
        state = timeline.state
        if not why(model, state, action):
            after = outcome(model, state, action)
            assert after.faults.failures == state.faults.failures
            seen += 1
    assert seen


def test_the_requests_that_are_played() -> None:
    """Of the requests of the whole cluster the family plays four, in either edition."""
    names = {request.name for request in GLOBAL_REQUESTS if request.played}
    assert names == {"new_cdc_generation", "cleanup", "keyspace_rf_change", "truncate_table"}


@pytest.mark.parametrize("nonvoters", range(8))
def test_a_coordinator_without_a_vote_steps_down(nonvoters: int) -> None:
    """Whoever coordinates: that is settled at once, and nobody else is touched."""
    start = made("leave C", "server").start()
    for node in range(3):
        topology = replace(start.topology, nonvoters=nonvoters)
        after = settled(replace(start, coordinator=node, topology=topology))
        assert after.coordinator == (NOBODY if nonvoters >> node & 1 else node)


@every_edition
def test_the_transition_states_follow_the_tables(edition: Edition) -> None:
    """Edges from null and back, those between states; in edition server those with tablets."""
    edges = [
        (edge.source, edge.target)
        for name, machine in MACHINES[edition].items()
        if name != "node"
        for edge in machine.edges
    ]
    found = edges_of(edition)
    plain = {tuple("" if end == BOUNDARY else end for end in edge) for edge in edges}
    assert plain <= found
    more = found - plain
    assert not more or edition == "server"
    for source, target in more:
        assert "tablet_migration" in (source, target)
        other = target if source == "tablet_migration" else source
        assert ("", other) in plain if source == "tablet_migration" else (other, "") in plain
