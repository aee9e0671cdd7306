"""Rules of the topology one by one: who is refused, who must clean up first, what is played."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.errors import BadInput
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.topology.dry_run.report import is_played
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    LocalView,
    NodeEntry,
    RequestEntry,
    Setting,
    TopologySafeguards,
    changed_requests,
    is_drained,
    is_open,
    is_served,
)
from kit.protocols.topology.rules.columns import feature_bits
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import (
    GLOBAL_REQUESTS,
    TRANSITION_STATES,
    USED,
    StateRow,
    WorkRow,
    machine_of_request,
    reason_for,
    transition_state,
)
from kit.protocols.topology.rules.requests import (
    LAST_OWNER,
    OperationRequest,
    refusal,
    replacers,
    request_text,
    requested,
)
from kit.protocols.topology.rules.work import (
    TopologyOperation,
    addressees,
    excluded,
    finished,
    gaining_racks,
    may_tie,
    state_of,
    still_to_do,
    tablets_moved,
    under_way,
)
from kit.protocols.topology.topology import ServeRequest

CODE = Setting(edition="server")
NORMAL = NodeEntry(state="normal", tokens=True)
DIRTY = replace(NORMAL, cleanup="needed")


def cluster(*nodes: NodeEntry) -> ClusterTopology:
    """These nodes, all in group 0, and room for one more."""
    return ClusterTopology(nodes=(*nodes, NodeEntry()), members=(1 << len(nodes)) - 1)


def refused(topology: ClusterTopology, asks: OperationRequest, alive: int) -> str:
    """Why somebody may not ask for it; empty: one may."""
    found = refusal(topology, asks, alive, CODE)
    return "" if found is None else found.reason


def test_who_is_replaced_is_normal_and_down() -> None:
    """A replacing node stands in for a member that is down, and for nobody else."""
    replaces = OperationRequest("replace", 2, replaced=1)
    assert refused(cluster(NORMAL, NORMAL), replaces, 0b101) == ""
    assert refused(cluster(NORMAL, NORMAL), replaces, 0b111) == (
        "the node that it would replace is up"
    )
    left = replace(NORMAL, state="left")
    assert refused(cluster(NORMAL, left), replaces, 0b101) == (
        "the node that it would replace is not normal"
    )


@pytest.mark.parametrize(("second", "alive"), [(DIRTY, 0b101), (replace(DIRTY, state="left"), 7)])
def test_who_is_down_or_gone_holds_up_no_leaving(second: NodeEntry, alive: int) -> None:
    """Cleanup comes before a change that gives ranges back: on nodes that get them, and live."""
    leave = OperationRequest("leave", 0)
    [waits] = queue(requested(cluster(NORMAL, DIRTY), leave), 0b111, CODE)
    assert (waits.reason, waits.waits_for) == ("cleanup comes first", 0b10)
    [entry] = queue(requested(cluster(NORMAL, second), leave), alive, CODE)
    assert entry.reason != "cleanup comes first"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, None, ""),
        (StateRow("a", ()), None, "This change is over, so the next one can begin."),
        (None, StateRow("a", ()), ""),
        (StateRow("a", (), "new", "both"), StateRow("b", (), "new", "both"), ""),
        (None, StateRow("a", (), "old", "both"), USED["old", "both"]),
        (
            None,
            StateRow("a", (WorkRow("barrier", "retry", "global"),)),
            "The next state can begin once every node has reached this one.",
        ),
        (None, StateRow("a", (WorkRow("accept", "rejected"),)), ""),
        (None, StateRow("a", (WorkRow("stream", "rollback"),)), ""),
        (
            StateRow("a", (), "old", "both"),
            StateRow("b", (WorkRow("stream", "rollback"),), "old", "both"),
            "New writes reach the new replicas, so it is time to copy the older data.",
        ),
        (
            StateRow("a", (), "old", "both"),
            StateRow("b", (WorkRow("accept", "rejected"),), "old", "both"),
            "",
        ),
        (
            None,
            StateRow("a", (WorkRow("cleanup_leaving", "retry"), WorkRow("accept", "retry"))),
            "The old replica is no longer asked, so its data can be deleted.",
        ),
    ],
)
def test_what_a_state_is_entered_for(
    before: StateRow | None, after: StateRow | None, said: str
) -> None:
    """Whom requests ask from now on, else its first work, if it has any."""
    assert reason_for(before, after) == said


def test_a_state_is_played_if_a_table_has_it() -> None:
    """Each state that a machine of some edition passes is played, and no other one but the lock."""
    passed = {
        place
        for machines in MACHINES.values()
        for machine in machines.values()
        for edge in machine.edges
        for place in (edge.source, edge.target)
    }
    known = {transition_state(state.stored) for state in TRANSITION_STATES}
    played = {state.name for state in known if state is not None and state.played}
    assert played - {"lock"} == {state.name for state in TRANSITION_STATES} & passed - {"lock"}
    assert "lock" in played


def test_a_request_of_the_cluster_is_played_if_somebody_may_ask_for_it() -> None:
    """An operator's words name just those, and all of the documents' are among them."""
    words = {"keyspace_rf_change": " ks dc1=3", "truncate_table": " ks.t"}
    for request in GLOBAL_REQUESTS:
        told = f"{request.name}{words.get(request.name, '')}"
        assert request.played is is_played(request.name), request
        assert request.played or request.edition == "server", request
        if request.played:
            build("tablets" if words.get(request.name) else "topology", {"operations": (told,)})
        else:
            with pytest.raises(BadInput, match=r"^operations"):
                build("topology", {"operations": (told,)})


def test_each_feature_has_a_bit_of_its_own() -> None:
    """So that a node that lacks one that is enabled is told from one that lacks none."""

    class Row:
        supported_features = ("B", "C")

    class Table:
        rows = (Row,)
        enabled_features = ("A", "B")

    table: Any = Table
    assert feature_bits(table) == {"A": 1, "B": 2, "C": 4}


@pytest.mark.parametrize("cut", ["A", "B"])
def test_a_node_that_is_cut_off_neither_asks_nor_answers(cut: str) -> None:
    """Of A's request B hears nothing when one of the two nodes is cut off; A itself serves it."""
    model: Any = build("topology", {"nodes": 3, "clients": 1, "cuts": 1})
    state = model.start()
    for verb in ("begin A", f"cut {cut}"):
        option = model.find(state, verb)
        assert option is not None
        state = model.act(state, option[0])
    assert model.refusal(state, ServeRequest("B")).reason == "one of the two nodes is cut off"
    assert model.refusal(state, ServeRequest("A")) is None
    assert model.refusal(state, ServeRequest("C")) is None or cut == "A"


def test_who_is_next_waits_for_nobody() -> None:
    """Its request may begin: nothing is missing."""
    [entry] = queue(requested(cluster(NORMAL, NORMAL), OperationRequest("leave", 0)), 0b11, CODE)
    assert (entry.standing, entry.waits_for) == ("next", 0)


def test_tablets_leave_who_is_to_leave_alone() -> None:
    """Others keep theirs."""
    leaving = requested(cluster(NORMAL, NORMAL), OperationRequest("leave", 1))
    moved = tablets_moved(replace(leaving, tablets="moving", tablets_on=0b11))
    assert (moved.tablets, moved.tablets_on) == ("even", 0b01)


def test_the_whole_cluster_waits_for_requests_not_for_nodes() -> None:
    """A request of the whole cluster comes after those of nodes; no node is missing for it."""
    asked_for = requested(cluster(NORMAL, NORMAL), OperationRequest("leave", 0))
    _, entry = queue(requested(asked_for, OperationRequest("cleanup")), 0b11, CODE)
    assert (entry.standing, entry.reason) == ("waits", "requests for single nodes come first")
    assert entry.waits_for == 0


@pytest.mark.parametrize(
    ("edition", "kind", "waits_for"),
    [
        ("documents", "decommissioning", 0b011),
        ("documents", "bootstrapping", 0b011),
        ("server", "decommissioning", 0b111),
        ("server", "bootstrapping", 0b011),
    ],
)
def test_the_node_on_its_way_out_is_asked_by_the_server_alone(
    edition: Any, kind: Any, waits_for: int
) -> None:
    """It may coordinate requests. A joiner that is rolled back serves nobody."""
    nodes = NORMAL, NORMAL, replace(NORMAL, state=kind)
    setting, operation = Setting(edition=edition), TopologyOperation(kind, 2, "left_token_ring")
    topology = replace(cluster(*nodes), transition="left_token_ring")
    [barrier] = [work for work in state_of(operation, setting).work if work.barrier]
    assert addressees(topology, operation, barrier) == waits_for


SAMPLE = ClusterTopology(
    nodes=(
        replace(NORMAL, state="left"), NORMAL, replace(NORMAL, tokens=False), NORMAL,
        NodeEntry(replaced=1),
    ),
    members=0b11111, ignored=0b01000, tablets_on=0b01110,
)  # fmt: skip
"""A has left, B to D are normal, C of them without tokens and D ignored, E is in transition."""


@pytest.mark.parametrize(
    ("kind", "state", "work", "asked_of"),
    [
        ("bootstrapping", "write_both_read_old", WorkRow("stream", "rollback"), 0b10000),
        ("bootstrapping", "join_group0", WorkRow("accept", "rejected"), 0b10000),
        ("bootstrapping", "left_token_ring", WorkRow("shut_down", "proceed"), 0b10000),
        ("bootstrapping", "left_token_ring", WorkRow("leave_group0", "retry"), 0),
        ("removing", "write_both_read_old", WorkRow("stream", "rollback"), 0b00010),
        ("removing", "left_token_ring", WorkRow("leave_group0", "retry"), 0),
        ("", "truncate_table", WorkRow("truncate", "rollback"), 0b00110),
        # Barriers: of all normal nodes; what is only tried again passes over the ignored ones.
        ("", "lock", WorkRow("barrier", "rollback", "global"), 0b01110),
        ("", "lock", WorkRow("barrier", "retry", "global"), 0b00110),
        ("bootstrapping", "write_both_read_old", WorkRow("barrier", "rollback", "global"), 0b11110),
        ("bootstrapping", "write_both_read_old", WorkRow("barrier", "retry", "global"), 0b10110),
        ("bootstrapping", "left_token_ring", WorkRow("barrier", "proceed", "global"), 0b01110),
        ("decommissioning", "left_token_ring", WorkRow("barrier", "proceed", "global"), 0b11110),
        ("decommissioning", "left_token_ring", WorkRow("barrier", "retry", "global"), 0b00110),
        ("removing", "write_both_read_old", WorkRow("barrier", "rollback", "global"), 0b00110),
        ("replacing", "write_both_read_old", WorkRow("barrier", "rollback", "global"), 0b10100),
    ],
)
def test_whom_a_piece_of_work_asks(kind: str, state: str, work: WorkRow, asked_of: int) -> None:
    """Streams: of the node that gets data, and of all owners where one is removed."""
    nodes = (*SAMPLE.nodes[:4], replace(SAMPLE.nodes[4], state=kind or "none"))
    operation = TopologyOperation(kind or state, 4 if kind else NOBODY, state)
    assert addressees(replace(SAMPLE, nodes=nodes), operation, work) == asked_of


@pytest.mark.parametrize(("members", "step"), [(0b0111, 1), (0b1110, 1), (0b1101, 2)])
def test_who_is_replaced_leaves_group_0_once(members: int, step: int) -> None:
    """B is replaced: that work is done where B, and nobody else, is no member."""
    nodes = NORMAL, NORMAL, NORMAL, replace(NORMAL, state="replacing", replaced=1)
    topology = ClusterTopology(nodes=nodes, members=members)
    operation = TopologyOperation("replacing", 3, "write_both_read_new")
    assert still_to_do(topology, operation, CODE, 1) == step


@pytest.mark.parametrize(
    ("kind", "node", "transition", "passed_over"),
    [
        ("normal", NOBODY, "tablet_migration", 0b001),
        ("normal", NOBODY, "tablet_resize_finalization", 0b001),
        ("normal", NOBODY, "truncate_table", 0),
        ("removing", NOBODY, "truncate_table", 0),
        ("removing", 3, "write_both_read_old", 0b1001),
        ("replacing", 3, "write_both_read_old", 0b0011),
        ("bootstrapping", 3, "write_both_read_old", 0),
        ("decommissioning", 3, "write_both_read_old", 0),
    ],
)
def test_whom_an_operation_passes_over(
    kind: Any, node: int, transition: Any, passed_over: int
) -> None:
    """A is ignored: removals, replaces and moves of tablets do so; nobody waits for the subject."""
    subject = replace(NORMAL, state=kind, replaced=1)
    nodes = NORMAL, NORMAL, NORMAL, subject
    topology = ClusterTopology(nodes=nodes, members=0b1111, ignored=1, transition=transition)
    assert excluded(topology, node) == passed_over


@pytest.mark.parametrize(
    ("subject", "replaces"),
    [
        ({"state": "replacing", "replaced": 1}, 0b100),
        ({"state": "none", "request": "replace", "replaced": 1}, 0b100),
        ({"state": "none", "request": "replace", "replaced": 0}, 0),
        # What it did before it was normal, or left, is over.
        ({"state": "normal", "replaced": 1}, 0),
        ({"state": "left", "replaced": 1}, 0),
        ({"state": "normal", "request": "leave", "replaced": 1}, 0),
    ],
)
def test_who_replaces_a_node(subject: dict[str, Any], replaces: int) -> None:
    """Those that do, or ask to: the row of a node names whom it replaced for good."""
    assert replacers(cluster(NORMAL, NORMAL, NodeEntry(**subject)), 1) == replaces


@pytest.mark.parametrize(
    ("kind", "why"),
    [("leave", LAST_OWNER), ("remove", "the node is up, so decommission it"), ("rebuild", "")],
)
def test_the_last_owner_of_tokens_stays(kind: str, why: str) -> None:
    """The other node, which owns none, is no other owner; alone, it has nobody to rebuild from."""
    alone = why or "there is no other node to rebuild it from"
    assert refused(cluster(NORMAL), OperationRequest(kind, 0), 0b1) == alone
    tokenless = replace(NORMAL, tokens=False)
    assert refused(cluster(tokenless, NORMAL), OperationRequest(kind, 1), 0b11) == why
    assert refused(cluster(NORMAL, NORMAL), OperationRequest("leave", 1), 0b11) == ""


@pytest.mark.parametrize(
    ("entry", "machine"),
    [
        (NodeEntry(state="bootstrapping", zero_token=True), "bootstrapping_zero_token"),
        (NodeEntry(state="replacing", zero_token=True), "replacing_zero_token"),
        (NodeEntry(state="bootstrapping"), "bootstrapping"),
        # Who leaves, or is removed, goes one way with tokens or without.
        (NodeEntry(state="decommissioning", zero_token=True), "decommissioning"),
        (NodeEntry(state="removing", zero_token=True), "removing"),
    ],
)
def test_a_node_without_tokens_joins_another_way(entry: NodeEntry, machine: str) -> None:
    """So the state of the node and its tokens say what is under way."""
    operation = under_way(replace(cluster(NORMAL, entry), transition="join_group0"))
    assert operation == TopologyOperation(machine, 1, "join_group0")
    kinds = {"bootstrapping": "join", "replacing": "replace", "removing": "remove"}
    kind = kinds.get(entry.state, "leave")
    assert machine_of_request(kind, zero_token=entry.zero_token) == machine


@pytest.mark.parametrize(
    ("tablets", "on", "step"),
    [
        ("moving", 0b00, 0),
        ("moving", 0b10, 0),
        ("even", 0b10, 0),
        ("even", 0b01, 1),
        ("even", 0, 1),
    ],
)
def test_a_drain_ends_when_no_tablet_is_left(tablets: str, on: int, step: int) -> None:
    """None of those of the node that leaves, and none moves; other nodes' stay."""
    leaver = replace(NORMAL, state="decommissioning")
    topology = replace(cluster(NORMAL, leaver), tablets=tablets, tablets_on=on)
    operation = TopologyOperation("decommissioning", 1, "tablet_draining")
    assert still_to_do(topology, operation, Setting(edition="documents"), 0) == step


def test_a_request_of_the_cluster_ends_no_rebuild() -> None:
    """The last node waits to rebuild from dc1 while a new generation is done."""
    waits = replace(NORMAL, request="rebuild", request_id=2, rebuild_option="dc1")
    requests = RequestEntry("new_cdc_generation", NOBODY), RequestEntry("rebuild", 1)
    topology = ClusterTopology(nodes=(NORMAL, waits), requests=requests, running=1)
    after = finished(topology, NOBODY)
    assert after.nodes == topology.nodes
    assert (after.running, [each.done for each in after.requests]) == (0, [True, False])
    assert finished(after, 1).nodes[1].rebuild_option == ""


@pytest.mark.parametrize(
    "text", ["truncate_table ks.t", "truncate_table ks.t.u", "keyspace_rf_change ks dc1=2"]
)
def test_what_a_request_names_of_tablets(text: str) -> None:
    """A table by its keyspace and its name, or a keyspace."""
    model: Any = build("topology", {"operations": (text,)})
    [request] = model.plan.requests
    assert request_text(request, model.names) == text
    assert (request.table or request.keyspace) == text.split()[1]


@pytest.mark.parametrize(
    "text",
    [
        *("truncate_table", "truncate_table ks", "truncate_table ks.", "truncate_table .t"),
        *("truncate_table .", "truncate_table ks.t ks.u", "truncate_table ks.t u"),
        *("keyspace_rf_change", "keyspace_rf_change ks dc1"),
    ],
)
def test_what_names_no_table_is_refused(text: str) -> None:
    """One table, by its keyspace and its name; a keyspace with what it is to have."""
    with pytest.raises(BadInput, match=r"^operations: got "):
        build("topology", {"operations": (text,)})


@pytest.mark.parametrize(
    ("running", "operation"),
    [(0, None), (1, None), (2, TopologyOperation("truncate_table", NOBODY, ""))],
)
def test_a_truncate_is_under_way_without_a_state(
    running: int, operation: TopologyOperation | None
) -> None:
    """The second request is one; a cleanup is never under way."""
    requests = RequestEntry("cleanup", NOBODY), RequestEntry("truncate_table", NOBODY)
    topology = replace(cluster(NORMAL), requests=requests, running=running)
    assert under_way(topology) == operation


@pytest.mark.parametrize(
    ("edition", "work", "said"),
    [
        ("server", "assign_tokens", "dc1 would have 3 racks for 2 replicas"),
        ("server", "accept", ""),
        ("documents", "assign_tokens", ""),
    ],
)
def test_a_rack_too_many_is_found_by_the_server_before_tokens(
    edition: Any, work: str, said: str
) -> None:
    """C joins in a third rack."""
    racks = ("dc1/r1", "dc1/r2", "dc1/r3")
    states = ("normal", "normal", "bootstrapping")
    nodes = tuple(
        NodeEntry(state=state, tokens=state == "normal", rack=rack)
        for state, rack in zip(states, racks, strict=True)
    )
    topology = ClusterTopology(nodes=nodes, rf=2)
    operation, rows = (
        TopologyOperation("bootstrapping", 2, "join_group0"),
        (WorkRow(work, "retry"),),
    )
    assert gaining_racks(topology, operation, rows, Setting(edition)) == said
    assert gaining_racks(topology, None, rows, Setting(edition)) == ""


@pytest.mark.parametrize(
    ("limit", "leaves", "most"),
    [(1, False, 2), (2, False, 3), (3, False, 4), (5, False, 4), (1, True, 2), (5, True, 2)],
)
def test_so_many_nodes_of_one_rack_never_tie(limit: int, leaves: bool, most: int) -> None:
    """One more may; in two racks any may. A release that limits nothing has no tie."""
    rules = VoterRules(limit=limit)
    assert not may_tie(["dc1/r1"] * most, rules, leaves=leaves)
    assert may_tie(["dc1/r1"] * (most + 1), rules, leaves=leaves)
    assert may_tie(["dc1/r1", "dc1/r2"], rules, leaves=leaves)
    assert not may_tie(["dc1/r1"] * 9, VoterRules("2025.1", limit), leaves=leaves)


@pytest.mark.parametrize(
    ("state", "refuses", "why"),
    [
        ("left", True, "its host id has left the cluster"),
        ("left", False, ""),
        ("normal", False, "the node is already in the cluster"),
        ("", True, ""),
    ],
)
def test_who_has_left_may_not_join_again(state: str, refuses: bool, why: str) -> None:
    """Off, nothing but its own state is in the way of its request (S-56)."""
    setting = Setting(edition="server", safeguards=TopologySafeguards(refuse_left=refuses))
    topology = cluster(NORMAL, NodeEntry(state=state))
    found = refusal(topology, OperationRequest("join", 1), 0b11, setting)
    assert (found.reason if found else "") == why


@pytest.mark.parametrize(
    ("rule", "off", "own"),
    [
        (is_served, "fencing", (False, False, True, True)),
        (is_drained, "barrier_drains", (False, False, False, True)),
        (is_open, "sessions", (False, True, False, False)),
    ],
)
def test_what_a_view_lets_in(rule: Any, off: str, own: tuple[bool, ...]) -> None:
    """Versions and sessions from 1 to 4: fence 3 serves none below it, version 4 drains those
    before it, session 2 is the only one that is open; without the safeguard all are let in.
    """
    view = LocalView(version=4, fence_version=3, session=2)
    without = TopologySafeguards(**{off: False})  # type: ignore[arg-type]  # a switch by its name
    assert tuple(rule(number, view, TopologySafeguards()) for number in range(1, 5)) == own
    assert all(rule(number, view, without) for number in range(1, 5))


def test_requests_that_changed_are_told_by_their_numbers() -> None:
    """From 1; one that is new was nothing before."""
    first, second, third = (RequestEntry("leave", node) for node in range(3))
    done = replace(second, done=True)
    before = replace(cluster(NORMAL), requests=(first, second))
    after = replace(before, requests=(first, done, third))
    assert [*changed_requests(before, after)] == [(2, second, done), (3, None, third)]
    assert [*changed_requests(before, before)] == []
