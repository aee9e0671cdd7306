"""What a command of group 0 changes: its cells say all of it; decisions and what comes of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    NodeEntry,
    RequestEntry,
    difference,
    mutated,
)
from kit.protocols.topology.rules.columns import load, store
from kit.protocols.topology.rules.decide import Decision, DecisionKind, outcome
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, EdgeRow, Edition
from kit.protocols.topology.rules.work import TopologyOperation, under_way
from kit.protocols.topology.rules.work import taken as edge_taken
from kit.protocols.topology.topology import taken_edges
from tests.protocols.topology.matrix import OPERATIONS
from tests.protocols.topology.test_operations import run

NORMAL = NodeEntry(state="normal", tokens=True, rack="dc1/r1")
FIRST = RequestEntry("cleanup", NOBODY)
ALTER = RequestEntry(
    "keyspace_rf_change",
    NOBODY,
    keyspace="ks",
    replication=(("dc1", 2), ("dc2", ("r1", "r2", "7")), ("dc3", 0)),
)
START = ClusterTopology(nodes=(NORMAL, NORMAL), requests=(FIRST,), queue=(1,), members=0b11)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", [*OPERATIONS.values(), "lock", "new_cdc_generation"])
def test_the_cells_of_a_command_make_its_state(edition: Edition, words: str) -> None:
    """From each state of an operation to each later one, and of two equal ones nothing."""
    steps = run(words, edition)
    states = [state.topology for state, _, _ in steps] + [steps[-1][2].topology]
    for at, before in enumerate(states):
        for after in states[at:]:
            cells = difference(before, after)
            assert mutated(before, cells) == after
            assert (cells == difference(before, before)) is (before == after)


@pytest.mark.parametrize("number", [1, 2])
def test_requests_are_changed_and_added(number: int) -> None:
    """A request that there is keeps the cells that are not set; a new one has the usual ones."""
    asked = replace(START, requests=(*START.requests, ALTER, FIRST)[: number + 1])
    assert mutated(START, difference(START, asked)) == asked
    done = replace(START, requests=(replace(FIRST, done=True),))
    cells = difference(START, done)
    assert cells.requests == ((0, (("done", True),)),)
    assert (cells.static, cells.nodes) == ((), ())
    assert mutated(asked, cells).requests == (*done.requests, *asked.requests[1:])


def test_replication_is_stored_as_the_server_does_and_read_back() -> None:
    """A number as it is, a rack list as an option for each rack; other requests have none."""
    topology = replace(START, requests=(FIRST, ALTER), queue=(1, 2))
    table, requests = store(topology, ("A", "B"))
    options = (("dc1", "2"), ("dc2:0", "r1"), ("dc2:1", "r2"), ("dc2:2", "7"), ("dc3", "0"))
    assert requests[1].new_keyspace_rf_change_data == options
    assert table.new_keyspace_rf_change_data == options
    assert requests[0].new_keyspace_rf_change_data == ()
    again, hosts = load(table, requests)
    assert hosts == ("A", "B")
    assert [(each.keyspace, each.replication) for each in again.requests] == [
        ("", ()),
        ("ks", ALTER.replication),
    ]


@pytest.mark.parametrize("mask", range(8))
def test_sets_of_nodes_are_stored_by_host_and_read_back(mask: int) -> None:
    """Who is ignored, by place; features by name."""
    nodes = (NORMAL, NORMAL, replace(NORMAL, supported=mask))
    topology = replace(START, nodes=nodes, members=0b111, ignored=mask, enabled=mask)
    table, requests = store(topology, ("A", "B", "C"))
    assert table.ignore_nodes == tuple(name for at, name in enumerate("ABC") if mask >> at & 1)
    again, _ = load(table, requests)
    assert again.ignored == mask
    assert again.enabled.bit_count() == again.nodes[2].supported.bit_count() == mask.bit_count()


DECIDED: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("wait", {}, {}),
    ("rest", {}, {}),
    ("enable", {"features": 0b101}, {"enabled": 0b111}),
)


@pytest.mark.parametrize(("kind", "given", "sets"), DECIDED)
def test_a_decision_without_an_operation(
    kind: Any, given: dict[str, Any], sets: dict[str, Any]
) -> None:
    """To wait or to rest changes nothing; features are enabled beside those that are."""
    topology = replace(START, enabled=0b010)
    decision = Decision(kind, "", **given)
    assert outcome(topology, decision, None, 9) == replace(topology, **sets)


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_machine_knows_its_states_and_edges(edition: Edition) -> None:
    """By their names; a state that there is not is an error, such an edge is none."""
    for machine in MACHINES[edition].values():
        for row in machine.states:
            assert machine.state(row.name) is row
        with pytest.raises(KeyError, match="no state nowhere"):
            machine.state("nowhere")
        assert machine.edge("nowhere", "happy") is None
        for edge in machine.edges:
            first = machine.edge(edge.source, edge.kind)
            assert first is not None
            assert (first.source, first.kind) == (edge.source, edge.kind)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS.values())
def test_edges_that_are_taken_leave_the_state_that_there_was(edition: Edition, words: str) -> None:
    """Of all edges of the operation those alone; each change of the transition state is one."""
    for before, _, after in run(words, edition):
        old = under_way(before.topology)
        taken = list(taken_edges(before.topology, after.topology, edition))
        if old is not None and before.topology != after.topology:
            same = [edge for machine, edge in taken if machine == old.machine]
            assert all(edge.source in (old.state, BOUNDARY) for edge in same)
        if before.topology.transition != after.topology.transition:
            assert taken


def moment(*, last: str = "normal", error: bool = False, **cells: Any) -> ClusterTopology:
    """Two nodes, of which the last is in this state, and one request."""
    request = RequestEntry(cells.pop("kind", "cleanup"), NOBODY, cells.pop("done", False), error)
    nodes = NORMAL, NodeEntry(state=last, tokens=True)
    return ClusterTopology(**{"nodes": nodes, "requests": (request,), **cells})


MOVES = {"transition": "tablet_migration", "tablets": "moving"}
TRUNCATES = {"kind": "truncate_table", "running": 1}
CLEANUP = [("cleanup", "*", "", "happy"), ("cleanup", "", "*", "happy")]
LEAVES = {"last": "decommissioning", "requests": ()}


@pytest.mark.parametrize(
    ("edition", "before", "after", "edges"),
    [
        # The server lets a join begin while tablets move.
        (
            "server",
            MOVES,
            {"last": "bootstrapping", "transition": "join_group0", "tablets": "moving"},
            [
                ("bootstrapping", "*", "join_group0", "happy"),
                ("tablets", "tablet_migration", "*", "happy"),
            ],
        ),
        ("server", MOVES, MOVES, []),
        # A truncate that fails stays in its state, and closes its session.
        (
            "server",
            {**TRUNCATES, "transition": "truncate_table", "session": 4},
            {**TRUNCATES, "transition": "truncate_table", "session": 0, "error": True},
            [("truncate_table", "truncate_table", "truncate_table", "rollback")],
        ),
        (
            "server",
            {**TRUNCATES, "transition": "truncate_table", "session": 4},
            {**TRUNCATES, "transition": "truncate_table", "session": 0},
            [],
        ),
        ("documents", {}, {"done": True}, CLEANUP),
        ("documents", {"done": True}, {"done": True}, []),
        ("documents", {}, {"done": True, "error": True}, []),
        ("documents", {"kind": "join"}, {"kind": "join", "done": True}, []),
        # A node whose request no table has.
        (
            "server",
            {**LEAVES, "transition": "write_both_read_old"},
            {**LEAVES, "transition": "write_both_read_new"},
            [("decommissioning", "write_both_read_old", "write_both_read_new", "happy")],
        ),
    ],
)
def test_the_edges_of_a_command(
    edition: Edition,
    before: dict[str, Any],
    after: dict[str, Any],
    edges: list[tuple[str, str, str, str]],
) -> None:
    """Of what ends, of what begins, and of requests that are done at once."""
    taken = taken_edges(moment(**before), moment(**after), edition)
    assert [(name, edge.source, edge.target, edge.kind) for name, edge in taken] == edges


@pytest.mark.parametrize("kind", ["wait", "rest", "work"])
def test_who_waits_changes_nothing(kind: DecisionKind) -> None:
    """Though something is under way, as with a lock; nor does work that has no operation."""
    locked = TopologyOperation("lock", NOBODY, "lock")
    operation = locked if kind == "wait" else None
    decision = Decision(kind, "", operation, number=1)
    assert outcome(START, decision, None, 5) is START


@pytest.mark.parametrize("node", range(3))
@pytest.mark.parametrize("becomes", ["left", "normal", ""])
def test_who_has_left_is_ignored_no_more(node: int, becomes: str) -> None:
    """It alone, and as soon as it has; nobody else is heard again for that."""
    nodes = (NORMAL,) * 3
    for ignored in range(8):
        topology = replace(START, nodes=nodes, ignored=ignored)
        after = edge_taken(topology, EdgeRow("*", "*", becomes=becomes), node, 9)
        assert after.ignored == (ignored & ~(1 << node) if becomes == "left" else ignored)
