"""A cluster's own tables, opened: who is up, which requests there are, and what is doubtful."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.system_tables import RequestsTable
from kit.protocols.topology.dry_run.opening import (
    _check_pending,
    _down,
    _host,
    _in_time,
    _named,
    _not_up,
    _requests,
    _with_ids,
    _without_id,
    check_anonymous,
    open_topology,
    read_status,
)
from kit.protocols.topology.rules.columns import (
    SystemTopology,
    SystemTopologyRequest,
    SystemTopologyRow,
)
from tests.operators.topology_printing import as_csv, node, table, timeuuid, uuid
from tests.protocols.topology.dry_run.dumps import FIXTURES

SNAPSHOTS = FIXTURES.parent / "snapshots"
ONE, TWO, THREE, FOUR = map(uuid, (1, 2, 3, 4))
ID, LATER = timeuuid(0x20), timeuuid(0x30)


def shot(minute: str) -> Path:
    """A snapshot of the bakery."""
    return SNAPSHOTS / f"tablet_snap_260301_10{minute}00"


UNSAID = "does not say whether 5f1c0a4e-8d3b-4c6a-9b1e-0a1f2e3d4c01 is up, so it counts as up"


@pytest.mark.parametrize(
    ("minute", "down", "excluded", "warnings", "held"),
    [
        (
            *("15", "e", ""),
            ("in transition: 1 tablet; `kit tablets` says what they wait for",),
            {"c": 6, "5": 5, "7": 4, "e": 1},
        ),
        (
            *("20", "e", "e"),
            (
                "tablet_snap_260301_102000/system_tablet_sizes.csv has no rows",
                f"tablet_snap_260301_102000/system_load_per_node.csv {UNSAID}",
                "in transition: 1 tablet; `kit tablets` says what they wait for",
            ),
            {"c": 6, "7": 4, "5": 4, "d": 1, "e": 1},
        ),
        ("30", "", "", (), {"c": 7, "7": 6, "5": 5, "d": 2}),
    ],
)
def test_a_snapshot_tells_who_is_up_and_who_has_tablets(
    minute: str, down: str, excluded: str, warnings: tuple[str, ...], held: dict[str, int]
) -> None:
    """Of its loads and tables of tablets; hosts by their first letter."""
    opened = open_topology(shot(minute))
    assert opened.down is not None
    assert opened.tablets is not None
    assert "".join(host[0] for host in opened.down) == down
    assert "".join(host[0] for host in opened.excluded) == excluded
    assert opened.warnings == warnings
    assert {host[0]: count for host, count in opened.tablets.items()} == held


def test_names_are_hidden_in_snapshots_alone(tmp_path: Path) -> None:
    """Of another file beside one nothing is hidden, so it is refused."""
    dump = tmp_path / "topology.csv"
    dump.write_text(as_csv(table([node(1)])), "utf-8")
    allowed = "only snapshots (folders or archives); names in other files are not replaced"
    for given, others in (
        (dump, {}),
        (dump, {"status": tmp_path / "a.txt"}),
        (shot("30"), {"requests": tmp_path / "requests.csv"}),
        (shot("30"), {"status": tmp_path / "status.txt"}),
    ):
        with pytest.raises(BadInput) as refused:
            open_topology(given, anonymize=True, **others)
        assert (refused.value.field, refused.value.allowed) == ("anonymize", allowed)
    check_anonymous(dump, dump, False)
    check_anonymous(shot("30"), None, True)
    with pytest.raises(BadInput):
        check_anonymous(shot("30"), shot("15"), True)
    names = {row.datacenter for row in open_topology(shot("30"), anonymize=True).table.rows}
    assert "oslo" not in names


EXCLUDED = "is excluded, but ignore_nodes does not"
STATUS = """Datacenter: dc1
===============
Status=Up/Down/eXcluded
|/ State=Normal/Leaving/Joining/Moving
-- Address  Load    Tokens Owns Host ID                              Rack
"""


def topology(*states: str | None, **cells: Any) -> SystemTopology:
    """Nodes 1, 2, … in these states."""
    rows = (SystemTopologyRow(host_id=uuid(i), node_state=s) for i, s in enumerate(states, 1))
    return SystemTopology(rows=tuple(rows), **cells)


@pytest.mark.parametrize(
    ("healths", "names", "ignored", "down", "excluded", "warnings"),
    [
        ("UUU", (), (), (), (), ()),
        ("UDU", (), (), (2,), (), ()),
        ("UXU", (), (TWO,), (2,), (2,), ()),
        ("UXD", (), (), (2, 3), (2,), (f"says that 10.0.0.2 {EXCLUDED}",)),
        ("U?U", (), (), (), (), ()),
        ("UU", (), (), (3,), (), (f"does not list {THREE}, which counts as down",)),
        ("UDU", (THREE[:8], "10.0.0.1"), (), (1, 2, 3), (), ()),
    ],
)  # fmt: skip
def test_who_is_down_by_the_status(
    healths: str,
    names: tuple[str, ...],
    ignored: tuple[str, ...],
    down: tuple[int, ...],
    excluded: tuple[int, ...],
    warnings: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """And by name; a node that has left, or is not in the ring yet, is expected in no status."""
    given = topology("normal", "normal", "bootstrapping", "left", "none", ignore_nodes=ignored)
    status = tmp_path / "status.txt"
    lines = (
        f"{health}N 10.0.0.{i} 1.5 GiB 1      ?    {uuid(i)} r1\n"
        for i, health in enumerate(healths, 1)
    )
    status.write_text(STATUS + "".join(lines), "utf-8")
    hosts = frozenset(map(uuid, down)), frozenset(map(uuid, excluded))
    told = _down(given, read_status(status), names)
    assert told[:2] == hosts
    assert isinstance(told[0], frozenset)
    assert [line.split(" ", 1)[1] for line in told[2]] == [*warnings]


DUMPED = """\
host_id,node_state,topology_request,replaced_id,datacenter,rack,tokens,transition_state,version,fence_version
{1},normal,,,dc1,r1,"{{'1'}}",,5,5
{2},{state},{request},,dc1,r2,{tokens},,5,5
{3},normal,,,dc1,r3,"{{'3'}}",,5,5
"""
# node 2 in the dump (its state, its request) and in the status (its letters, datacenter, rack)
DISAGREE = [
    ("normal", "", "UN", "dc1", "r2", ""),
    ("normal", "", "DN", "dc1", "r2", ""),
    ("normal", "", "UN", "dc1", "r9", "in dc1/r9, the dump in dc1/r2"),
    ("normal", "", "UN", "dc9", "r2", "in dc9/r2, the dump in dc1/r2"),
    ("normal", "", "UJ", "dc1", "r2", "as joining, the dump as normal"),
    ("left", "", "UN", "dc1", "r2", "as up, but by the dump it is removed, replaced or ignored"),
    ("left", "", "DN", "dc1", "r2", ""),
    (
        "normal",
        "remove",
        "UN",
        "dc1",
        "r2",
        "as up, but by the dump it is removed, replaced or ignored",
    ),
    ("normal", "remove", "DN", "dc1", "r2", ""),
]


@pytest.mark.parametrize(("state", "request_", "letters", "dc", "rack", "said"), DISAGREE)
def test_a_status_that_contradicts_the_dump_is_warned_of(
    state: str, request_: str, letters: str, dc: str, rack: str, said: str, tmp_path: Path
) -> None:
    """Another place, a node that joins in one of them, a node that is up and removed."""
    tokens = "" if state == "left" else "\"{'2'}\""
    text = DUMPED.format("", ONE, TWO, THREE, state=state, request=request_, tokens=tokens)
    (tmp_path / "topology.csv").write_text(text, "utf-8")
    rows = [("dc1", "r1", "UN", ONE, 1), ("dc1", "r3", "UN", THREE, 3), (dc, rack, letters, TWO, 2)]
    heads = {row[0]: STATUS.replace("dc1", row[0]) for row in rows}
    status = "".join(
        head
        + "".join(
            f"{ud} 10.0.0.{at} 1 KB 1 ? {id_} {r}\n" for d, r, ud, id_, at in rows if d == name
        )
        for name, head in heads.items()
    )
    (tmp_path / "status.txt").write_text(status, "utf-8")
    opened = open_topology(tmp_path / "topology.csv", status=tmp_path / "status.txt")
    told = [line for line in opened.warnings if TWO in line and "the dump" in line]
    assert len(told) == bool(said)
    assert all(said in line for line in told)


def test_who_is_down_by_name_alone() -> None:
    """Without any name nothing tells."""
    given = topology("normal", "left")
    assert _down(given, None, ()) == (None, frozenset(), ())
    assert _down(given, None, (ONE,)) == (frozenset({ONE}), frozenset(), ())


def test_only_members_are_down_by_the_loads(tmp_path: Path) -> None:
    """Of who has left, or has not begun, loads may say anything."""
    shutil.copytree(shot("20"), tmp_path / "snapshot")
    loads = tmp_path / "snapshot" / "system_load_per_node.csv"
    down = "ea504e82-c17f-40ae-9f52-4e5d6c7b8a05"
    for state, dead, lines in (
        ("normal", {ONE, down}, 1),
        ("decommissioning", {ONE, down}, 1),
        ("left", {ONE}, 1),
        ("none", {ONE}, 1),
    ):
        rows = (
            SystemTopologyRow(host_id=down, node_state=state),
            SystemTopologyRow(host_id=TWO, node_state="normal"),
            SystemTopologyRow(host_id=THREE, node_state="left"),
        )
        told = _not_up(SystemTopology(rows=rows), loads, frozenset({ONE}))
        assert told[0] == frozenset(dead)
        unsaid = [line for line in told[1] if "does not say" in line]
        assert [TWO in line for line in unsaid] == [True] * lines


def asked(id_: str, kind: str | None = "join", **cells: Any) -> SystemTopologyRequest:
    """A request that is pending."""
    given = {"done": False, **cells}
    return SystemTopologyRequest(id=id_, request_type=kind, **given)


def test_requests_are_told_by_time() -> None:
    """Which the first letters of an id do not tell; what has none comes last."""
    early, late = "ffffffff-0000-11f0-8000-000000000001", "00000001-0001-11f0-8000-000000000001"
    row = asked("", target_host=ONE)
    assert _in_time([row, asked(late), asked(early)]) == (asked(early), asked(late), row)


@pytest.mark.parametrize(
    ("ids", "lines"),
    [(("",), []), ((ID,), []), ((ID, LATER), []), ((ID, ""), [1]), (("", ""), [0, 1])],
)
def test_a_request_without_an_id_is_the_latest(ids: tuple[str, ...], lines: list[int]) -> None:
    """Which is said where there are others."""
    named = {str(at): asked(id_, target_host=uuid(at)) for at, id_ in enumerate(ids)}
    assert [*_without_id(named)] == [
        f"{uuid(at)} has no request_id: its join counts as the latest request" for at in lines
    ]


def waiting(**cells: Any) -> SystemTopology:
    """Node 1 is normal; node 2 joins, or else."""
    rows = (
        SystemTopologyRow(host_id=ONE, node_state="normal", request_id=LATER),
        SystemTopologyRow(host_id=TWO, **{"node_state": "bootstrapping", **cells}),
    )
    return SystemTopology(rows=rows)


def test_a_table_names_its_requests() -> None:
    """By id, or else by host; those of the whole cluster with their type where it is told."""
    assert [*_named(waiting())] == [(TWO, asked("", target_host=TWO))]
    assert [*_named(waiting(request_id=ID))] == [(ID, asked(ID, target_host=TWO))]
    assert [*_named(topology("normal", global_requests=(ID,)))] == [(ID, asked(ID, "unknown"))]
    current = topology(
        "normal",
        global_requests=(ID,),
        global_topology_request_id=LATER,
        global_topology_request="cleanup",
    )
    assert [*_named(current)] == [(ID, asked(ID, "unknown")), (LATER, asked(LATER, "cleanup"))]


def dumped(rows: Mapping[str, Mapping[str, Any]]) -> RequestsTable:
    """A dump of requests."""
    usual = {"request_type": "join", "done": False}
    return RequestsTable(
        "requests.csv", {id_: {"id": id_, **usual, **c} for id_, c in rows.items()}
    )


def test_an_id_is_that_of_the_pending_request() -> None:
    """Of the node's own type; one that is done is over."""
    for cells, found in (
        ({"target_host": TWO}, ID),
        ({"target_host": TWO, "done": True}, None),
        ({"target_host": ONE}, None),
        ({"target_host": TWO, "request_type": "leave"}, None),
    ):
        assert _with_ids(waiting(), dumped({ID: cells})).rows[1].request_id == found
    assert _with_ids(waiting(), None) == waiting()
    assert _with_ids(waiting(request_id=LATER), dumped({ID: {"target_host": TWO}})).rows == (
        waiting(request_id=LATER).rows
    )


def test_who_waits_for_nothing_does_not_wait_for_a_request() -> None:
    """The id of a normal node is that of its last request; a pending one that bears it is of the
    node that it names.
    """
    _check_pending(waiting(), dumped({LATER: {"request_type": "leave", "target_host": TWO}}))
    _check_pending(waiting(), dumped({LATER: {"request_type": None, "done": True}}))
    with pytest.raises(BadInput, match="target_host of request"):
        _check_pending(waiting(), dumped({LATER: {"target_host": FOUR}}))
    with pytest.raises(BadInput, match="join, for which"):
        _check_pending(waiting(request_id=ID), dumped({ID: {"request_type": "leave"}}))


@pytest.mark.parametrize("done", [False, True])
def test_a_request_that_is_done_is_no_longer_listed(done: bool) -> None:
    """Where it is, this is doubtful."""
    given = topology("normal", global_requests=(ID,))
    rows, warnings = _requests(given, dumped({ID: {"request_type": "cleanup", "done": done}}))
    assert rows == (asked(ID, "cleanup", done=done),)
    said = f"requests.csv says request {ID} is done, global_requests not"
    assert warnings == ((said,) if done else ())


@pytest.mark.parametrize(
    ("name", "host", "allowed"),
    [
        ("ab1", "ab1c", ""),
        ("AB1C", "ab1c", ""),
        ("10.0.0.1", "ab2d", ""),
        ("ab", "", "a name that only one node has"),
        ("", "", one_of("", ["10.0.0.1", "ab1c", "ab2d"])),
        ("b", "", one_of("b", ["10.0.0.1", "ab1c", "ab2d"])),
    ],
)
def test_a_node_is_named_by_the_beginning_of_its_id(name: str, host: str, allowed: str) -> None:
    """Or by an address; not by what several have, or none."""
    given = name, ["ab1c", "ab2d"], {"10.0.0.1": "ab2d"}
    if host:
        assert _host(*given) == host
        return
    with pytest.raises(BadInput) as refused:
        _host(*given)
    assert str(refused.value) == str(BadInput("--down", name, allowed))


def test_a_cluster_of_one_has_no_nameless_node() -> None:
    """Nothing is the beginning of every id, but no name."""
    with pytest.raises(BadInput, match="--down"):
        _host("", ["ab1c"], {})
