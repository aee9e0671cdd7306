"""Promises of the topology on states made by hand: what keeps each of them, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.errors import BadInput
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import is_truncating, settled
from kit.protocols.topology.coordinator import said_of
from kit.protocols.topology.rules.cluster import NOBODY, NodeEntry, RequestEntry, with_node
from kit.protocols.topology.rules.machines import Edition
from tests.outcomes import why
from tests.protocols.topology.test_said_next import until


def cluster(**given: Any) -> tuple[Any, Any]:
    """A model with its first state."""
    model: Any = build("topology", {"operations": (), **given})
    return model, model.start()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((3, 2), None),
        ((3, 3), None),
        ((4, 2), None),
        ((2, 2), "a version decreased"),
        ((3, 1), "a version decreased"),
        ((3, 4), "the fence is above the version"),
    ],
)
def test_versions_only_increase(after: tuple[int, int], said: str | None) -> None:
    """Version 3 and fence 2 are there; the fence is at most the version."""
    model, state = cluster()
    before, later = (
        state.but(topology=replace(state.topology, version=version, fence_version=fence))
        for version, fence in ((3, 2), after)
    )
    assert model.versions(before, None, later) == said


@pytest.mark.parametrize(
    ("tablets", "transition", "where"),
    [
        ("moving", "", "null"),
        ("moving", "write_both_read_old", "write_both_read_old"),
        ("moving", "tablet_migration", ""),
        ("moving", "tablet_draining", ""),
        ("even", "write_both_read_old", ""),
    ],
)
def test_tablets_move_in_their_track(tablets: str, transition: str, where: str) -> None:
    """In edition ``documents``; the state in which they move otherwise is named."""
    model, state = cluster()
    state = state.but(topology=replace(state.topology, tablets=tablets, transition=transition))
    said = f"tablets move while the transition state is {where}" if where else None
    assert model.tablets_apart(state) == said


@pytest.mark.parametrize(
    ("node_state", "transition", "said"),
    [
        ("normal", "", None),
        ("normal", "tablet_migration", None),
        ("decommissioning", "tablet_draining", None),
        ("decommissioning", "write_both_read_old", "tablets advanced during decommissioning"),
    ],
)
def test_tablets_hold_while_a_node_changes(
    node_state: str, transition: str, said: str | None
) -> None:
    """Outside an operation, or in the states of their track, they advance."""
    model, state = cluster()
    topology = replace(with_node(state.topology, 2, state=node_state), transition=transition)
    assert model.tablets_hold(state.but(topology=topology), None, state) == said


@pytest.mark.parametrize(
    ("action", "moved", "said"),
    [
        (act.RestartElsewhere("B"), 0, None),
        (act.RestartElsewhere("B"), 1, "B committed 1 command to group 0"),
        (act.RestartConfigured("B"), 1, None),
        (act.RestartConfigured("B"), 0, "B committed 0 commands to group 0"),
    ],
)
def test_what_a_restart_commits(action: Any, moved: int, said: str | None) -> None:
    """A new number of shards is a command, another address is none."""
    model, before = cluster(addresses=1, configurations=1)
    after = before.but(state_id=before.state_id + moved)
    assert model.identity(before, action, after) == said
    changed = after.but(topology=with_node(after.topology, 1, shards=2))
    assert model.identity(before, action, changed) == said
    other = after.but(topology=with_node(after.topology, 0, shards=2))
    assert model.identity(before, action, other) == "B changed more than its address or its shards"


@pytest.mark.parametrize("cut", ["A", "B", "C"])
def test_who_is_cut_off_stores_no_configuration(cut: str) -> None:
    """It starts, and cannot tell group 0; others can, who are with the majority."""
    model, state = cluster(cuts=1, configurations=1)
    state = model.act(state, act.CutOff(cut))
    for node in "ABC":
        refusal = "the node cannot reach group 0, which stores its configuration"
        said = why(model, state, act.RestartConfigured(node))
        assert said == (refusal if node == cut else "")


@pytest.mark.parametrize(
    ("at", "up", "left"),
    [(2, 0b111, 4), (2, 0b011, 0), (0, 0b110, 0), (NOBODY, 0b011, 4), (NOBODY, 0b111, 4)],
)
def test_late_work_dies_with_its_node(at: int, up: int, left: int) -> None:
    """What is on its way, or runs on a node that is up, stays."""
    _, state = cluster()
    after = settled(state.but(leftover=4, leftover_at=at, up=up, sealed=True))
    assert (after.leftover, after.leftover_at) == (left, at if left else NOBODY)
    assert after.sealed is bool(left)


@pytest.mark.parametrize(
    ("client", "up", "left"), [(1, 0b111, (1, 3)), (1, 0b101, (NOBODY, 0)), (0, 0b101, (0, 3))]
)
def test_a_request_dies_with_its_node(client: int, up: int, left: tuple[int, int]) -> None:
    """It runs at version 3; B is up or down."""
    _, state = cluster()
    after = settled(state.but(client=client, client_version=3, up=up))
    assert (after.client, after.client_version) == left


def test_a_cluster_at_first() -> None:
    """B owns no tokens; C has a feature more, so that it is not enabled; D has no row yet."""
    _, state = cluster(zero_tokens=("B",), newer=("C",), operations=("join D",))
    assert state.topology.nodes == (
        NodeEntry(state="normal", supported=0b01, tokens=True),
        NodeEntry(state="normal", supported=0b01, zero_token=True),
        NodeEntry(state="normal", supported=0b11, tokens=True),
        NodeEntry(),
    )
    assert (state.topology.members, state.topology.enabled) == (0b0111, 0b01)
    assert (state.up, state.applied, state.coordinator) == (0b1111, (0, 0, 0, 0), 0)


@pytest.mark.parametrize("given", [{}, {"edition": "server", "nodes": 5}])
def test_only_nodes_have_a_newer_release(given: dict[str, Any]) -> None:
    """Be the others alike, so that a search may exchange them, or not."""
    with pytest.raises(BadInput, match="newer: got 'Z'"):
        cluster(newer=("Z",), **given)


DONE, FAILED = (RequestEntry("cleanup", NOBODY, done=True, error=fails) for fails in (False, True))


@pytest.mark.parametrize(
    ("planned", "rows", "is_reached"),
    [
        (0, (), True),
        (1, (), False),
        (1, (DONE,), True),
        (1, (FAILED,), False),
        (1, (RequestEntry("cleanup", NOBODY),), False),
        (2, (FAILED, DONE), True),
        (2, (DONE,), False),
    ],
)
def test_when_a_request_was_carried_out(
    planned: int, rows: tuple[RequestEntry, ...], is_reached: bool
) -> None:
    """All were made, and one of them is done without an error; or none is wanted."""
    model, state = cluster(operations=("cleanup",) * planned)
    state = state.but(topology=replace(state.topology, requests=rows), made=len(rows))
    assert model.success(state) is is_reached


def test_cleaning_is_reported_to_a_majority() -> None:
    """A node that is up and has cleaned waits for it."""
    model, state = cluster()
    state = state.but(topology=with_node(state.topology, 0, cleanup="running"))
    assert why(model, state, act.ReportClean("A")) == ""
    assert why(model, state.but(up=0b011), act.ReportClean("A")) == ""
    assert "no majority" in why(model, state.but(up=0b001), act.ReportClean("A"))
    assert "cut off" in why(model, state.but(cut=0b001), act.ReportClean("A"))


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_truncate_is_sent_by_a_coordinator(edition: str) -> None:
    """Part of it can be left behind while it is the next work of one, and by nobody else."""
    given = {"operations": ("truncate_table ks.t",), "on_tablets": ("A",), "late": 1}
    model, start = cluster(edition=edition, **given)
    state = until(model, start, "truncate")
    assert is_truncating(state, model.setting)
    assert not is_truncating(state.but(coordinator=NOBODY), model.setting)
    assert not is_truncating(start, model.setting)
    assert not is_truncating(until(model, state, "close_session"), model.setting)
    assert not state.attempted.streaming
    assert model.find(state, "leave behind") == (act.LeaveBehind(), None)
    assert model.find(start, "leave behind") is None


def test_the_second_barrier_of_a_state_says_whose_answer_is_missing() -> None:
    """Behind a truncate all nodes are asked once more."""
    given = {"operations": ("truncate_table ks.t",), "on_tablets": ("A",)}
    model, start = cluster(**given)
    state = until(model, until(model, start, "close_session"), "barrier")
    assert said_of(state, model.setting) == ("barrier comes next", 0)
    state = model.act(state, act.AnswerBarrier("A"))
    assert said_of(state, model.setting) == ("barrier comes next", 0b110)


def rows(topology: Any, *nodes: dict[str, Any], **cells: Any) -> Any:
    """A topology in which these cells of the nodes, in their order, and these others are set."""
    for node, row in enumerate(nodes):
        topology = with_node(topology, node, **row)
    return replace(topology, **cells)


REPLACING = {"state": "replacing", "replaced": 2}


@pytest.mark.parametrize(
    ("nodes", "members", "said"),
    [
        (({}, {}, {}, REPLACING), 0b1111, None),
        (({}, {}, {}, {"state": "none"}), 0b0111, None),
        (({}, {}, {}, {"state": "none"}), 0b1111, "a node in state none is in group 0"),
        (({}, {}, {}), 0b1111, "a node in state no row is in group 0"),
        (({}, {}, {}), 0b0011, "a normal node is not in group 0"),
        # Who is being replaced is taken out first; who was replaced is not normal any more.
        (({}, {}, {}, REPLACING), 0b1011, None),
        (({}, {}, {}, REPLACING), 0b1101, "a normal node is not in group 0"),
        (({}, {}, {}, {"state": "normal", "replaced": 2}), 0b1011,
         "a normal node is not in group 0"),
    ],
)  # fmt: skip
def test_who_is_in_group_0(
    nodes: tuple[dict[str, Any], ...], members: int, said: str | None
) -> None:
    """Three normal nodes, and D, which may come in."""
    model, state = cluster(operations=("join D",))
    assert model.members(state.but(topology=rows(state.topology, *nodes, members=members))) == said


@pytest.mark.parametrize(
    ("kind", "node", "state", "up", "is_heard"),
    [
        ("remove", 2, "left", 0b111, True),
        ("remove", 2, "left", 0b011, False),
        ("remove", 2, "normal", 0b111, False),
        ("leave", 2, "left", 0b111, False),  # it knows that it has left
        ("replace", 3, "left", 0b111, True),
        ("replace", 3, "left", 0b011, False),
        ("replace", 3, "normal", 0b111, False),
    ],
)
def test_who_was_taken_out_is_silent(
    kind: str, node: int, state: str, up: int, is_heard: bool
) -> None:
    """C was removed, or replaced by D, or left."""
    model, start = cluster(operations=("replace D C",))
    nodes = {}, {}, {"state": state}, {"replaced": 2}
    topology = rows(start.topology, *nodes, requests=(RequestEntry(kind, node, done=True),))
    said = "a node that was removed or replaced is up and reachable" if is_heard else None
    assert model.left_silent(start.but(topology=topology, up=up)) == said


@pytest.mark.parametrize(
    ("dirty", "up", "becomes", "is_early"),
    [
        (1, 0b111, "decommissioning", True),
        (1, 0b111, "removing", True),
        (1, 0b111, "rebuilding", False),
        (1, 0b101, "decommissioning", False),  # it is down, and cleans up when it is back
        (3, 0b1111, "decommissioning", False),  # it has left
    ],
)
def test_ranges_come_back_to_clean_nodes(dirty: int, up: int, becomes: str, is_early: bool) -> None:
    """C is to go while B, or D, has not cleaned up."""
    model, state = cluster(operations=("join D",))
    topology = rows(state.topology, {}, {}, {}, {"state": "left"})
    before = state.but(topology=with_node(topology, dirty, cleanup="needed"), up=up)
    after = before.but(topology=with_node(before.topology, 2, state=becomes))
    said = "ranges come back to a node that did not clean up" if is_early else None
    assert model.clean_first(before, None, after) == said


@pytest.mark.parametrize(
    ("kind", "transition", "at", "sealed", "runs"),
    [
        ("decommissioning", "write_both_read_new", 2, True, True),
        ("decommissioning", "left_token_ring", 2, True, False),  # it is shut down next
        ("decommissioning", "left_token_ring", 1, True, True),
        ("decommissioning", "left_token_ring", 1, False, False),
        ("decommissioning", "left_token_ring", NOBODY, True, False),
        ("normal", "", 2, True, True),
    ],
)
def test_work_ends_with_its_session(
    kind: str, transition: str, at: int, sealed: bool, runs: bool
) -> None:
    """Of session 5, left behind at a node; C is in transition."""
    model, state = cluster()
    topology = rows(state.topology, {}, {}, {"state": kind}, transition=transition)
    found = model.of_its_session(
        state.but(topology=topology, leftover=5, leftover_at=at, sealed=sealed)
    )
    said = "work of session 5 still runs after a barrier that followed the session's end"
    assert found == (said if runs else None)


@pytest.mark.parametrize(
    ("action", "up", "later_up", "leader", "moved", "said"),
    [
        (None, 0b001, 0b001, 0, 0, None),
        (None, 0b011, 0b001, 0, 1, None),
        (None, 0b001, 0b011, 0, 1, "state 2 was committed"),
        (None, 0b001, 0b001, 1, 0, "a coordinator was elected"),
        (None, 0b011, 0b011, 1, 0, None),
        (None, 0b001, 0b001, NOBODY, 0, None),
        # Who restarts is up by the time that it commits its shards.
        (act.RestartConfigured("B"), 0b001, 0b011, 0, 1, None),
        (act.RestartConfigured("B"), 0b011, 0b001, 0, 1, "state 2 was committed"),
    ],
)
def test_a_majority_commits_and_elects(
    action: Any, up: int, later_up: int, leader: int, moved: int, said: str | None
) -> None:
    """Two of three members; A was the coordinator."""
    model, state = cluster()
    before = state.but(up=up, state_id=1)
    after = state.but(up=later_up, coordinator=leader, state_id=1 + moved)
    assert model.majority(before, action, after) == (said and f"{said} without a majority")


@pytest.mark.parametrize(
    ("edition", "node", "later", "is_back"),
    [
        ("server", 2, "left_token_ring", False),  # reads stay with the new replicas
        ("server", 2, "rollback_to_normal", True),
        ("documents", 2, "rollback_to_normal", True),
        ("server", 1, "rollback_to_normal", False),
        ("server", 2, "tablet_draining", False),
        ("server", NOBODY, "", False),
    ],
)
def test_reads_do_not_go_back(edition: Edition, node: int, later: str, is_back: bool) -> None:
    """C leaves, and reads use the new replicas; then it is somewhere else, or B is."""
    model, state = cluster(edition=edition)
    going = {"state": "decommissioning"}
    before = rows(state.topology, {}, {}, going, transition="write_both_read_new")
    nodes = [going if i == node else {} for i in range(3)]
    after = rows(state.topology, *nodes, transition=later)
    found = model.no_way_back(state.but(topology=before), None, state.but(topology=after))
    assert found == ("reads went back to the old replicas" if is_back else None)


@pytest.mark.parametrize("which", ["tablets", "resizes"])
def test_tablets_have_a_machine_of_their_own(which: str) -> None:
    """Where they may move, or be split or merged."""
    model, _ = cluster(**{which: 1})
    assert [machine.name for machine in act.machines(model)] == ["tablets"]
    assert [*act.machines(cluster()[0])] == []
