"""What the coordinator keeps in memory of its tables, and the cells that a command changes."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.topology.rules.cluster import (
    NO_ROW,
    NOBODY,
    ClusterTopology,
    NodeEntry,
    Replication,
    RequestEntry,
)
from kit.protocols.topology.rules.columns import (
    SystemTopology,
    SystemTopologyRequest,
    SystemTopologyRow,
    changed_cells,
    load,
    without_vote,
)

ROW = SystemTopologyRow(host_id="a")


def test_null_cells_are_what_a_cluster_begins_with() -> None:
    """A row, a request and static columns without a value in them."""
    request = SystemTopologyRequest(id="1")
    topology, hosts = load(SystemTopology(rows=(ROW,)), (request,))
    assert hosts == ("a",)
    assert topology == ClusterTopology(
        nodes=(NodeEntry(),),
        version=1,
        fence_version=0,
        requests=(RequestEntry("", NOBODY),),
        generations=0,
    )


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        ({"node_state": "normal"}, {"state": "normal"}),
        ({"num_tokens": 0}, {"zero_token": True}),
        ({"num_tokens": 1}, {"zero_token": False}),
        # Who is given its tokens has some, whatever their number says.
        ({"num_tokens": 0, "tokens_string": "-5"}, {"zero_token": False, "tokens_string": "-5"}),
        ({"rebuild_option": "dc1"}, {"rebuild_option": "dc1"}),
        ({"shard_count": 8}, {"shards": 8}),
        ({"datacenter": "dc1"}, {"rack": "dc1/"}),
        ({"datacenter": "dc1", "rack": "r2"}, {"rack": "dc1/r2"}),
        ({"rack": "r2"}, {"rack": ""}),
        # What a node asked for is under way with its state, and waits no more.
        ({"node_state": "normal", "topology_request": "leave"}, {"request": "leave"}),
        ({"node_state": "removing", "topology_request": "remove"}, {"request": ""}),
    ],
)
def test_a_row_in_memory(cells: dict[str, Any], entry: dict[str, Any]) -> None:
    """Each cell by itself, as the coordinator keeps it."""
    table = SystemTopology(rows=(SystemTopologyRow(host_id="a", **cells),))
    (loaded,) = load(table, ())[0].nodes
    assert {name: getattr(loaded, name) for name in entry} == entry


LEAVES = SystemTopologyRow(host_id="b", node_state="decommissioning")
TRUNCATES = {"global_topology_request": "truncate_table", "global_topology_request_id": "1"}


@pytest.mark.parametrize(
    ("cells", "queue", "running"),
    [
        ({}, (), 0),
        # In edition ``documents`` only its session says that a truncate has begun.
        (TRUNCATES, (1,), 0),
        ({**TRUNCATES, "session": "s"}, (), 1),
        ({**TRUNCATES, "transition_state": "truncate table"}, (), 1),
        ({**TRUNCATES, "global_topology_request": "cleanup", "session": "s"}, (1,), 0),
        # A state is that of the node in transition, if there is one, whoever else is normal.
        ({**TRUNCATES, "transition_state": "tablet draining", "rows": (ROW, LEAVES)}, (1,), 0),
        ({"global_requests": ("2", "1")}, (2, 1), 0),
        ({"global_requests": ("2", "9", "2")}, (2,), 0),
    ],
)
def test_what_waits_and_what_runs(
    cells: dict[str, Any], queue: tuple[int, ...], running: int
) -> None:
    """Requests of the whole cluster by their numbers; an id without a request has none."""
    requests = tuple(SystemTopologyRequest(id=id_) for id_ in ("1", "2"))
    topology, _ = load(SystemTopology(**{"rows": (ROW,), **cells}), requests)
    assert (topology.queue, topology.running) == (queue, running)


@pytest.mark.parametrize(
    ("options", "replication"),
    [
        ((), ()),
        ((("dc1", "3"),), (("dc1", 3),)),
        ((("class", "NetworkTopologyStrategy"), ("dc1", "0")), (("dc1", 0),)),
        ((("dc1:0", "r1"), ("dc1:1", "r2")), (("dc1", ("r1", "r2")),)),
        # ``:`` follows the digits: the options of dc1 stand behind those of dc10.
        ((("dc10", "1"), ("dc1:0", "r1")), (("dc1", ("r1",)), ("dc10", 1))),
        # Names that look like places of a list, or have a colon.
        ((("3", "2"),), (("3", 2),)),
        ((("a:b", "2"),), (("a:b", 2),)),
    ],
)
def test_replicas_of_a_change(
    options: tuple[tuple[str, str], ...], replication: Replication
) -> None:
    """Options of a keyspace: a number for each datacenter, or its racks one by one."""
    request = SystemTopologyRequest(id="1", new_keyspace_rf_change_data=options)
    topology, _ = load(SystemTopology(rows=(ROW,)), (request,))
    assert topology.requests[0].replication == replication


@pytest.mark.parametrize(
    ("cells", "statics", "going"),
    [
        ({"node_state": "normal"}, {}, set()),
        ({"node_state": "normal"}, {"ignore_nodes": ("b",)}, {"b"}),
        ({"node_state": "removing"}, {}, {"a"}),
        ({"node_state": "normal", "topology_request": "remove"}, {}, {"a"}),
        ({"node_state": "replacing", "replaced_id": "b"}, {}, {"b"}),
        ({"topology_request": "replace", "replaced_id": "b"}, {}, {"b"}),
        ({"topology_request": "replace"}, {}, set()),
        ({"topology_request": "join", "replaced_id": "b"}, {}, set()),
        ({"node_state": "decommissioning"}, {}, set()),
        ({"node_state": "decommissioning"}, {"transition_state": "left token ring"}, {"a"}),
        ({"node_state": "bootstrapping"}, {"transition_state": "left token ring"}, set()),
    ],
)
def test_who_has_lost_its_vote(
    cells: dict[str, Any], statics: dict[str, Any], going: set[str]
) -> None:
    """Who others take out loses it when that is asked for, who leaves in its last state."""
    rows = (SystemTopologyRow(host_id="a", **cells),)
    assert without_vote(SystemTopology(rows=rows, **statics)) == going


def asked(**cells: Any) -> RequestEntry:
    """A request with these cells."""
    return RequestEntry("cleanup", NOBODY, **cells)


@pytest.mark.parametrize(
    ("earlier", "entry", "said"),
    [
        (None, asked(), []),
        (None, asked(done=True), ["request 1 is done"]),
        (None, asked(done=True, error=True), ["request 1 ends with an error"]),
        (None, asked(error=True), ["request 1 has an error"]),
        (asked(), asked(done=True), ["request 1 is done"]),
        (asked(), asked(error=True), ["request 1 has an error"]),
        (asked(error=True), asked(done=True, error=True), ["request 1 ends with an error"]),
        (asked(done=True), asked(done=True, table="ks.t"), []),
        (asked(error=True), asked(error=True, table="ks.t"), []),
    ],
)
def test_how_a_request_goes_is_said_once(
    earlier: RequestEntry | None, entry: RequestEntry, said: list[str]
) -> None:
    """That it is done, or has an error, where it was not so before."""
    before = ClusterTopology(nodes=(), requests=() if earlier is None else (earlier,))
    after = ClusterTopology(nodes=(), requests=(entry,))
    assert [*changed_cells(before, after, ())] == said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (NodeEntry(state="none"), NodeEntry(state="none"), set()),
        (NodeEntry(state="none"), NodeEntry(state="left"), {"D.node_state = left"}),
        # Without a row there are no cells.
        (NodeEntry(shards=1), NodeEntry(shards=2), set()),
        (
            NodeEntry(state=NO_ROW),
            NodeEntry(state="none", request="join"),
            {
                "D.node_state = none", "D.topology_request = join", "D.num_tokens = 1",
                "D.shard_count = 1", "D.cleanup_status = clean", "D.ignore_msb = 12",
                "D.release_version = 3.0.8",
            },
        ),
    ],
)  # fmt: skip
def test_cells_of_a_row(old: NodeEntry, new: NodeEntry, said: set[str]) -> None:
    """Of a new row all that it has; its key is no cell that changes."""
    before, after = ClusterTopology(nodes=(old,)), ClusterTopology(nodes=(new,))
    assert {*changed_cells(before, after, ("D",))} == said
