"""``decide``: the coordinator's one decision function, and the queue with its reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from kit.model.registry import build
from kit.protocols.topology.control import NOTHING_DONE, ControlState
from kit.protocols.topology.coordinator import decision_of
from kit.protocols.topology.rules.cluster import (
    NO_ROW,
    ClusterTopology,
    NodeEntry,
    Setting,
    TopologySafeguards,
)
from kit.protocols.topology.rules.columns import load, store
from kit.protocols.topology.rules.decide import Decision, decide, outcome, queue
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.rules.requests import OperationRequest, requested

CODE, SEED = Setting(edition="server"), Setting(edition="documents")
ALL = 0b1111


def cluster(*requests: OperationRequest, **cells: Any) -> ClusterTopology:
    """Three normal members, room for a fourth node, and these requests."""
    normal = NodeEntry(state="normal", tokens=True)
    topology = ClusterTopology(nodes=(normal, normal, normal, NodeEntry()), members=0b111)
    for request in requests:
        topology = requested(topology, request)
    return replace(topology, **cells)


def standings(topology: ClusterTopology, alive: int, setting: Setting) -> list[tuple[str, str]]:
    """Each request's kind and standing, in order."""
    return [(entry.kind, entry.standing) for entry in queue(topology, alive, setting)]


JOIN, LEAVE = OperationRequest("join", 3), OperationRequest("leave", 2)
REMOVE, REBUILD = OperationRequest("remove", 2), OperationRequest("rebuild", 0)
CLEANUP = OperationRequest("cleanup")


@pytest.mark.spec("D-034")
def test_requests_are_taken_by_age_or_by_kind() -> None:
    """The documents take the oldest; the server goes by kind, nodes before the cluster."""
    asked_for = cluster(CLEANUP, REBUILD, LEAVE, JOIN)
    assert standings(asked_for, ALL, SEED) == [
        ("cleanup", "next"),
        ("rebuild", "waits"),
        ("leave", "waits"),
        ("join", "waits"),
    ]
    assert [kind for kind, _ in standings(asked_for, ALL, CODE)] == [
        "join",
        "leave",
        "rebuild",
        "cleanup",
    ]
    assert decide(asked_for, ALL, CODE).operation is not None
    assert decide(asked_for, ALL, CODE).number == 4
    assert decide(asked_for, ALL, SEED).number == 1


def test_the_server_pauses_the_leave_of_a_node_with_tablets() -> None:
    """The tablets are moved first; in edition ``documents`` the leave is next."""
    holds = cluster(LEAVE, tablets_on=0b100)
    assert standings(holds, ALL, CODE) == [("leave", "paused")]
    begins = decide(holds, ALL, CODE)
    assert begins.kind == "begin"
    assert begins.operation is not None
    assert begins.operation.machine == "tablets"
    assert standings(holds, ALL, SEED) == [("leave", "next")]


def test_the_server_cancels_requests_when_a_node_is_down() -> None:
    """A request that needs only its own node runs, and the others wait; the documents begin."""
    without_b = ALL & ~0b10
    stuck = cluster(JOIN, LEAVE)
    assert standings(stuck, without_b, CODE) == [("join", "cancelled"), ("leave", "cancelled")]
    assert decide(stuck, without_b, CODE).kind == "cancel"
    waits = cluster(JOIN, REBUILD)
    assert standings(waits, without_b, CODE) == [("join", "waits"), ("rebuild", "next")]
    assert queue(waits, without_b, CODE)[0].waits_for == 0b10
    assert standings(stuck, without_b, SEED)[0] == ("join", "next")


def test_a_removal_begins_beside_an_ignored_node_and_a_join_waits() -> None:
    """The ignored node is down."""
    down = ALL & ~0b110
    ignoring = cluster(JOIN, REMOVE, ignored=0b010)
    assert standings(ignoring, down, CODE) == [("join", "waits"), ("remove", "next")]


@pytest.mark.spec("F-017")
def test_a_leave_waits_for_the_cleanup_of_other_nodes() -> None:
    """Without S-41 it does not."""
    needed = replace(cluster(LEAVE).nodes[0], cleanup="needed")
    dirty = cluster(LEAVE, nodes=(needed, *cluster(LEAVE).nodes[1:]))
    [entry] = queue(dirty, ALL, CODE)
    assert (entry.standing, entry.reason, entry.waits_for) == ("waits", "cleanup comes first", 1)
    decision = decide(dirty, ALL, CODE)
    assert decision.operation is not None
    assert decision.operation.machine == "cleanup"
    off = Setting(edition="server", safeguards=TopologySafeguards(cleanup_first=False))
    assert queue(dirty, ALL, off)[0].standing == "next"


@pytest.mark.spec("F-017", "D-034")
@pytest.mark.parametrize(
    ("edition", "later"), [("documents", JOIN), ("documents", CLEANUP), ("server", REBUILD)]
)
def test_no_request_overtakes_a_waiting_leave(edition: Edition, later: OperationRequest) -> None:
    """The leave waits for cleanup, which is done first."""
    asked_for = cluster(LEAVE, later)
    needed = replace(asked_for.nodes[0], cleanup="needed")
    dirty = replace(asked_for, nodes=(needed, *asked_for.nodes[1:]))
    setting = Setting(edition)
    first, second = queue(dirty, ALL, setting)
    assert (first.kind, first.reason) == ("leave", "cleanup comes first")
    assert (second.standing, second.reason) == ("waits", "another request comes first")
    decision = decide(dirty, ALL, setting)
    assert decision.operation is not None
    assert (decision.operation.machine, decision.number) == ("cleanup", 0)


def test_requests_of_nodes_are_cancelled_before_requests_of_the_cluster_run() -> None:
    """A cleanup that was asked for first is next once the leave is cancelled."""
    stuck = cluster(CLEANUP, LEAVE)
    without_b = ALL & ~0b10
    assert standings(stuck, without_b, CODE) == [("leave", "cancelled"), ("cleanup", "waits")]
    decision = decide(stuck, without_b, CODE)
    assert decision.kind == "cancel"
    after = outcome(stuck, decision, decision.edge, 9)
    assert standings(after, without_b, CODE) == [("cleanup", "next")]


@pytest.mark.spec("D-055")
def test_a_joiner_without_an_enabled_feature_is_rejected() -> None:
    """A feature is enabled once every node supports it; a joiner that has it may begin."""
    has = NodeEntry(state="normal", tokens=True, supported=1)
    every = cluster(nodes=(has, has, has, NodeEntry()))
    assert decide(every, ALL, CODE) == Decision(
        "enable", "every node supports the feature", features=1
    )
    enabled = requested(replace(every, enabled=1), JOIN)
    turned_away = decide(enabled, ALL, CODE)
    assert turned_away.kind == "reject"
    able = requested(replace(every, enabled=1), OperationRequest("join", 3, supported=1))
    assert decide(able, ALL, CODE).kind == "begin"


def reached(parameters: dict[str, Any]) -> Iterator[tuple[Any, ControlState]]:
    """Every control state of a configuration, with its model."""
    model: Any = build("topology", parameters)
    first = model.start()
    seen, rest = {first}, [first]
    while rest:
        state = rest.pop()
        yield model, state
        for _, after in model.successors(state):
            if after not in seen:
                seen.add(after)
                rest.append(after)


ELSEWHERE = ("members", "nonvoters", "tablets", "tablets_on", "keyspaces", "rf")
"""What other tables hold: group 0's configuration, the tablets of each table, the schema."""


@pytest.mark.spec("D-039")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "words", ["join D", "replace D C", "leave C", "remove C", "cleanup", "truncate_table ks.t"]
)
def test_the_tables_give_back_all_that_a_coordinator_knows(edition: Edition, words: str) -> None:
    """In every state: each row, request and static cell is loaded from the two tables."""
    for model, state in reached({"edition": edition, "operations": (words,), "failures": 1}):
        topology = state.topology
        loaded, _ = load(*store(topology, tuple(model.names)))
        had, has = asdict(topology), asdict(loaded)
        had["nodes"] = tuple(entry for entry in topology.nodes if entry.state != NO_ROW)
        for cells in (had, has):
            # The id of a session is no number of the table's; a truncate that runs may wait.
            cells["session"] = bool(cells["session"])
            cells["asked"] = {*cells.pop("queue"), cells.pop("running")} - {0}
        lost = [name for name in had if name not in ELSEWHERE and had[name] != has[name]]
        assert not lost, state


@pytest.mark.spec("D-048")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "replace D C", "leave C", "remove C", "rebuild C"])
def test_a_new_coordinator_decides_as_the_former_would(edition: Edition, words: str) -> None:
    """In every state, with all that is volatile gone."""
    parameters = {"edition": edition, "operations": (words,), "failures": 1}
    count = 0
    for model, state in reached(parameters):
        bare = replace(state, attempted=NOTHING_DONE, deposed=None, coordinator=1)
        assert decision_of(bare, model.setting) == decision_of(state, model.setting), state
        count += 1
    assert count > 30
