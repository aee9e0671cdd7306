"""Each state that a search reaches, stored as the dump of its tables, is loaded again as it was.

The states are the cases: whatever column a dump has is read where reading it makes a difference.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import islice
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import asdict, replace

from kit.edge.paths import HeldFile
from kit.model.registry import build
from kit.operators.importers.system_tables import REQUESTS, TOPOLOGY
from kit.protocols.topology.dry_run.opening import OpenedTopology, open_topology
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, ClusterTopology
from kit.protocols.topology.rules.columns import SystemTopology, SystemTopologyRequest, load, store
from tests.protocols.tcm.exploring import reachable

MOST = 1200  # states of a configuration
CONFIGURATIONS: list[tuple[str, dict[str, Any]]] = [
    ("topology", {"operations": ("join D --initial-token=-150", "leave C")}),
    ("topology", {"operations": ("replace D C",), "ignored": ("C",), "down": ("C",)}),
    ("topology", {"operations": ("rebuild C --source-dc=dc1", "remove B"), "newer": ("A",)}),
    ("topology", {"operations": ("join D --zero-token", "cleanup"), "newer": ("A", "B", "C", "D")}),
    ("topology", {"operations": ("truncate_table ks.t", "new_cdc_generation"), "nodes": 2}),
    ("topology", {"operations": ("keyspace_rf_change ks dc1=r1,r2", "leave C"), "nodes": 3}
     | {"racks": ("dc1/r1", "dc1/r2", "dc1/r2")}),
    ("topology", {"operations": ("balancing off", "join D"), "failures": 1, "tablets": 1}),
    ("topology", {"operations": ("leave C",), "configurations": 1}),
    ("tablets", {"nodes": 3, "tablets": ("A B",)}),
]  # fmt: skip
EDITIONS = "documents", "server"
ELSEWHERE = ("members", "nonvoters", "tablets", "tablets_on", "resizes", "rf", "keyspaces")
"""What other tables hold, and the configuration of group 0."""
TOLD = {
    "start_time": "2026-01-31T10:00:00.000Z",
    "end_time": "2026-01-31T10:00:01.000Z",
    "initiating_host": "00000000-0000-4000-8000-0000000000aa",
}
"""What no state holds of a request; a server tells it."""
TABLE = "00000000-0000-4000-8000-0000000000cc"
"""The id of the table that is emptied."""


def timeuuid(number: str) -> str:
    """An id of a request, or of a generation: later numbers are later times."""
    return f"{int(number):08x}-0000-1000-8000-000000000000"


def host(name: str) -> str:
    """The host id of a node, in the order of their names."""
    return f"{ord(name):08x}-0000-4000-8000-000000000000"


def told(name: str, value: Any) -> Any:
    """A cell of a state as a server has it: ids, and tokens that are numbers."""
    if name in ("host_id", "replaced_id", "target_host"):
        return value and host(value)
    if name == "ignore_nodes":
        return tuple(sorted(map(host, value)))
    if name in ("request_id", "global_topology_request_id", "new_cdc_generation_data_uuid", "id"):
        return value and timeuuid(value)
    if name == "global_requests":
        return tuple(sorted(map(timeuuid, value)))
    if name.endswith("cdc_generations"):
        return tuple((TOLD["start_time"], timeuuid(number)) for _, number in value)
    if name == "truncate_table_id":
        return value and TABLE
    if name == "session":
        return value and "00000000-0000-4000-8000-0000000000bb"
    if name == "tokens":
        return tuple(each if ":" not in each else f"{ord(each[-1])}" for each in value)
    return value


def dump(table: SystemTopology, requests: tuple[SystemTopologyRequest, ...]) -> tuple[str, str]:
    """Both tables as SELECT JSON prints them: static columns in each row."""
    statics = {n: told(n, v) for n, v in asdict(table).items() if n != "rows"}
    rows = [{n: told(n, v) for n, v in asdict(row).items()} for row in table.rows]
    asked = [{n: told(n, v) for n, v in asdict(each).items()} | TOLD for each in requests]
    for row in (statics, *asked):
        row["new_keyspace_rf_change_data"] = dict(row["new_keyspace_rf_change_data"])
    whole = [{"key": "topology", **statics, **row} for row in rows]
    assert {*whole[0]} == {*TOPOLOGY}
    assert all({*each} == {*REQUESTS} for each in asked)
    return json.dumps(to_builtins(whole)), json.dumps(to_builtins(asked))


@cache
def states(model: str, number: int, edition: str) -> dict[ClusterTopology, tuple[str, ...]]:
    """The topologies that a search of a configuration meets, with the names of its nodes."""
    built: Any = build(model, {**CONFIGURATIONS[number][1], "edition": edition})
    met = (getattr(s, "control", s).topology for s in islice(reachable(built), MOST))
    return dict.fromkeys(met, built.names)


def opened(topology: ClusterTopology, names: tuple[str, ...], edition: Any) -> OpenedTopology:
    """A topology that is stored, printed and opened."""
    table, requests = (text.encode() for text in dump(*store(topology, names)))
    asked = HeldFile("requests.json", requests)
    return open_topology(HeldFile("topology.json", table), requests=asked, edition=edition)


def renumbered(topology: ClusterTopology) -> ClusterTopology:
    """The same without nodes that have no row, and without what other tables hold."""
    there = [at for at, node in enumerate(topology.nodes) if node.state != NO_ROW]
    place = {at: number for number, at in enumerate(there)} | {NOBODY: NOBODY}
    nodes = (topology.nodes[at] for at in there)
    if topology.running and not (topology.transition or topology.session):
        # A truncate of edition ``documents`` whose session is closed looks as if it waited.
        queue = (*topology.queue, topology.running)
        topology = replace(topology, queue=queue, running=0)
    return replace(
        topology,
        nodes=tuple(replace(each, replaced=place[each.replaced]) for each in nodes),
        ignored=sum(1 << place[at] for at in there if topology.ignored >> at & 1),
        requests=tuple(
            replace(each, node=place.get(each.node, NOBODY), table=each.table and TABLE)
            for each in topology.requests
        ),
        session=int(topology.session > 0),
    )


PLAYED = [
    (model, number, edition)
    for number, (model, _) in enumerate(CONFIGURATIONS)
    for edition in EDITIONS
]


@pytest.mark.parametrize(("model", "number", "edition"), PLAYED)
def test_a_dump_of_tables_is_loaded_as_stored(model: str, number: int, edition: str) -> None:
    """In every state that a search meets."""
    for topology, names in states(model, number, edition).items():
        there = renumbered(topology)
        found = opened(topology, names, edition)
        loaded, _ = load(found.table, found.requests)
        had, has = (asdict(each) for each in (there, loaded))
        lost = [name for name in had if name not in ELSEWHERE and has[name] != had[name]]
        assert not lost, topology


def filled(struct: Any) -> dict[str, Any]:
    """The columns of a row that are not null."""
    return {n: v for n, v in asdict(struct).items() if v not in (None, ()) and n != "rows"}


@pytest.mark.parametrize(("model", "number", "edition"), PLAYED)
def test_each_cell_of_a_dump_is_read_as_printed(model: str, number: int, edition: str) -> None:
    """All columns of both tables."""
    for topology, names in states(model, number, edition).items():
        table, requests = store(topology, names)
        found = opened(topology, names, edition)
        pairs = [(table, found.table), *zip(table.rows, found.table.rows, strict=True)]
        for stored, read in pairs:
            cells = {name: told(name, value) for name, value in filled(stored).items()}
            if state := cells.get("transition_state"):
                cells["transition_state"] = state.replace(" ", "_")
            assert filled(read) == cells, topology
        for stored, read in zip(requests, found.requests, strict=True):
            cells = {n: told(n, v) for n, v in filled(stored).items()}
            assert filled(read).items() >= cells.items(), topology
            assert {"start_time", "end_time", "initiating_host"} <= {*filled(read)}, topology


def test_every_column_differs_in_some_states() -> None:
    """Else nothing would show a reader that leaves it out."""
    seen: dict[str, set[Any]] = {}
    for each in PLAYED:
        for topology, names in states(*each).items():
            table, requests = store(topology, names)
            for row in (table, *table.rows, *requests):
                for name, value in asdict(row).items():
                    seen.setdefault(name, set()).add(value)
    always = {name for name, values in seen.items() if len(values) < 2}
    assert always == {*TOLD, "ignore_msb", "release_version", "upgrade_state"}
    assert not any(None in seen[name] for name in always - {*TOLD})
