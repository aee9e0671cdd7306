"""What the coordinator would do next on a dump: cases, queue, what is not modelled."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.topology.dry_run.report import coordinator
from kit.protocols.topology.rules.machines import Edition
from tests.commands.calling import call
from tests.operators.topology_printing import as_csv, node, table, timeuuid, uuid
from tests.protocols.topology.dry_run.dumps import (
    FIXTURES,
    NORMAL,
    dumped,
    hosts,
    joining,
    leaving,
    said,
)
from tests.saying import like, says

DUMP, REQUESTS = FIXTURES / "topology.csv", FIXTURES / "requests.csv"
BOOT = joining("bootstrapping")
ID, LATER = timeuuid(0x20), timeuuid(0x30)
TABLE = uuid(0x77)
OLD, NEW = {"transition_state": "write both read old"}, {"transition_state": "write both read new"}


def test_without_liveness_each_case_has_its_answer() -> None:
    """All up: barrier and stream. One of those that are asked down: back, out of the ring."""
    answer = coordinator(DUMP, requests=REQUESTS)
    assert not answer.known
    assert (answer.operation, answer.node) == ("bootstrapping", uuid(4))
    all_up, one_down = answer.cases
    assert all_up.work == ("barrier", "stream")
    assert (all_up.leads_to, all_up.waits_for) == ("write_both_read_new", ())
    assert one_down.down == one_down.waits_for == hosts(1, 2, 3, 4)
    assert one_down.otherwise == "rollback: left_token_ring"
    assert answer.indifferent == hosts(5)
    assert answer.goes_on


STATUS = """\
Datacenter: dc1
===============
Status=Up/Down/eXcluded
|/ State=Normal/Leaving/Joining/Moving
-- Address  Load      Tokens Owns Host ID                              Rack
"""


def status(folder: Path, *rows: tuple[str, int]) -> Path:
    """``nodetool status`` of these nodes, each with its health and state."""
    lines = [f"{what} 10.0.0.{n} 1.50 GB 2 ? {uuid(n)} r1" for what, n in rows]
    path = folder / "status.txt"
    path.write_text(STATUS + "\n".join([*lines, ""]), "utf-8")
    return path


def test_who_is_up_comes_from_nodetool(tmp_path: Path) -> None:
    """Down nodes and those that nodetool leaves out count as down; names may be addresses."""
    up = [("UN", 1), ("UN", 2), ("UN", 3), ("UJ", 4)]
    answer = coordinator(DUMP, status=status(tmp_path, *up))
    assert answer.known
    assert answer.goes_on
    assert {line.up for line in answer.nodes} == {True, None}
    down = coordinator(DUMP, status=status(tmp_path, ("UN", 1), ("DN", 2), ("UJ", 4)))
    assert down.cases[0].waits_for == hosts(2, 3)
    assert any("does not list" in line and uuid(3) in line for line in down.warnings)
    assert not down.goes_on
    by_address = coordinator(DUMP, status=status(tmp_path, *up), down="10.0.0.3")
    by_id = coordinator(DUMP, down=["00000003"])
    assert by_address.cases == by_id.cases
    assert [by_id.cases[0].down, down.cases[0].down] == [hosts(3), hosts(2, 3)]


@pytest.mark.parametrize(
    ("asking", "words"),
    [
        ({"down": "x"}, "--down | 'x' | one of"),
        ({"down": "0000"}, "--down | '0000' | only one node has"),
        ({"down": ""}, "--down | '' | one of"),
        ({"down": uuid(9)}, "--down |"),
        ({"status": "nope"}, "--status | 'nope' | readable"),
        ({"requests": "nope"}, "--requests | 'nope' | readable"),
        ({"requests": DUMP}, "topology.csv line 1 | rows of system.topology_requests"),
        ({"edition": "servers"}, "edition | 'servers' | server"),
    ],
)
def test_bad_questions(asking: dict[str, Any], words: str) -> None:
    """A name of no node, or of several, a file that is none: one line."""
    with pytest.raises(BadInput, match=like(words)):
        coordinator(DUMP, **asking)


@pytest.mark.parametrize(
    ("health", "ignored", "said_so"), [("X", (), True), ("X", (2,), False), ("D", (), False)]
)
def test_who_is_excluded_is_ignored_in_both(
    health: str, ignored: tuple[int, ...], said_so: bool, tmp_path: Path
) -> None:
    """What nodetool says and the table does not is a warning."""
    dump = dumped(tmp_path, NORMAL, ignore_nodes=[*hosts(*ignored)] or None)
    rows = ("UN", 1), (f"{health}N", 2), ("UN", 3)
    answer = coordinator(dump, status=status(tmp_path, *rows))
    assert [line.up for line in answer.nodes] == [True, False, True]
    assert any("10.0.0.2 is excluded, but" in line for line in answer.warnings) is said_so


def test_a_status_without_host_ids(tmp_path: Path) -> None:
    """Each node without one is told; who is not named counts as down."""
    path = status(tmp_path, ("UN", 1), ("UN", 2), ("UN", 3))
    path.write_text(path.read_text("utf-8").replace(uuid(2), "?" + " " * 35), "utf-8")
    answer = coordinator(dumped(tmp_path, NORMAL), status=path)
    assert "status.txt does not give the host id of 10.0.0.2" in answer.warnings
    assert [line.up for line in answer.nodes] == [True, False, True]


def test_status_of_another_cluster(tmp_path: Path) -> None:
    """A node that the dump does not have is no node of this cluster."""
    with pytest.raises(BadInput, match=like("host id of 10.0.0.8 | a host id from the dump")):
        coordinator(DUMP, status=status(tmp_path, ("UN", 8)))


def test_a_node_that_joins_is_perhaps_not_in_the_dump_yet(tmp_path: Path) -> None:
    """Whatever nodetool lists as joining has a warning, and the others have their answer."""
    answer = coordinator(DUMP, status=status(tmp_path, ("UN", 1), ("UJ", 8)))
    assert f"status.txt shows {uuid(8)} as joining, but the dump has no row" in answer.warnings


def test_a_request_of_all_nodes_needs_its_id(tmp_path: Path) -> None:
    """A dump without the column is not taken for one of an empty queue."""
    rows = [
        {**row, "global_topology_request": "cleanup"}
        for row in csv.DictReader(DUMP.read_text("utf-8").splitlines())
    ]
    for row in rows:
        del row["global_topology_request_id"]
    path = tmp_path / "topology.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(BadInput, match=like("global_topology_request | 'cleanup' | _id, too")):
        coordinator(path)


def with_cells(folder: Path, id_: int, cells: dict[str, object]) -> Path:
    """The requests, one of them with other cells; None is null."""
    with REQUESTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (row,) = [row for row in rows if row["id"] == timeuuid(id_)]
    row.update({name: "" if value is None else str(value) for name, value in cells.items()})
    path = folder / "requests.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.spec("D-040")
def test_the_type_of_a_pending_request_is_found_by_its_id() -> None:
    """``global_requests`` holds ids alone; what each asks for stands in the other table."""
    (alone,) = [line for line in coordinator(DUMP).queue if line.node is None]
    (joined,) = [line for line in coordinator(DUMP, requests=REQUESTS).queue if line.node is None]
    assert (alone.id, alone.kind) == (timeuuid(0x31), "unknown")
    assert (joined.id, joined.kind) == (timeuuid(0x31), "cleanup")


@pytest.mark.spec("D-040")
@pytest.mark.parametrize(
    ("kind", "cells", "parameters"),
    [
        ("cleanup", ",,", ""),
        ("truncate_table", f"{TABLE},,", TABLE),
        ("keyspace_rf_change", ",shop,\"{'dc1': '3', 'dc2': '2'}\"", "shop dc1=3 dc2=2"),
    ],
)
def test_a_pending_request_has_its_parameters(
    kind: str, cells: str, parameters: str, tmp_path: Path
) -> None:
    """The report and what the command prints have the table, or the keyspace and its replicas."""
    path = tmp_path / "requests.csv"
    old = "cleanup,2026-02-01 10:00:00.000+0000,False,,,,,"
    text = REQUESTS.read_text("utf-8")
    assert old in text
    path.write_text(
        text.replace(old, f"{kind},2026-02-01 10:00:00.000+0000,False,,,{cells}"), "utf-8"
    )
    (line,) = [line for line in coordinator(DUMP, requests=path).queue if line.node is None]
    assert (line.id, line.kind, line.parameters) == (timeuuid(0x31), kind, parameters)
    answer = call("topology", str(DUMP), "--requests", str(path))
    said = " ".join(answer.out.split())
    assert f" {kind} " in said
    assert (f" ({parameters})" in said) is bool(parameters)


@pytest.mark.parametrize("state", ["not_upgraded", "build_coordinator_state"])
def test_nothing_begins_before_the_upgrade_is_done(state: str, tmp_path: Path) -> None:
    """A join waits for it; what the coordinator does meanwhile is in model ``topology_upgrade``."""
    answer = said(tmp_path, joining("none"), upgrade_state=state)
    assert answer.not_modelled == (f"upgrade state {state}",)
    assert {step.decision for step in answer.cases} == {"not modelled"}
    assert [(line.kind, line.standing) for line in answer.queue] == [("join", "waits")]
    assert state in answer.queue[0].reason
    assert said(tmp_path, joining("none"), upgrade_state="done").cases[0].decision == "begin"


def test_the_type_of_a_request_that_runs_is_in_the_table(tmp_path: Path) -> None:
    """Of those that wait no type is known without the other table."""
    statics = {
        "global_requests": [timeuuid(0x41)],
        "global_topology_request": "new_cdc_generation",
        "global_topology_request_id": timeuuid(0x40),
        "transition_state": "commit cdc generation",
    }
    answer = said(tmp_path, **statics)
    assert [(line.id, line.kind, line.standing) for line in answer.queue] == [
        (timeuuid(0x40), "new_cdc_generation", "running"),
        (timeuuid(0x41), "unknown", "waits"),
    ]
    assert answer.not_modelled == ()
    assert any(f"the type of pending request {timeuuid(0x41)}" in line for line in answer.warnings)


def test_requests_that_lack_a_pending_one(tmp_path: Path) -> None:
    """The type of a pending global request is in no other table."""
    path = tmp_path / "requests.csv"
    path.write_text("".join(REQUESTS.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8")
    with pytest.raises(BadInput, match=like(f"requests.csv id | {timeuuid(0x31)} | pending")):
        coordinator(DUMP, requests=path)


@pytest.mark.parametrize(
    ("id_", "cells", "words"),
    [
        (0x20, {"target_host": uuid(9)}, f"target_host | '{uuid(9)}' | {uuid(4)}, which"),
        (0x20, {"request_type": "leave"}, f"request_type | 'leave' | join | {uuid(4)}"),
        (0x20, {"request_type": None}, f"request_type | None | join | {uuid(4)}"),
        (0x31, {"request_type": None}, "request_type | None | type of each pending"),
        (0x31, {"request_type": "leave"}, "target_host | None | system.topology"),
        (
            0x31,
            {"request_type": "leave", "target_host": uuid(99)},
            f"target_host | '{uuid(99)}' | system.topology",
        ),
    ],
)
def test_a_pending_request_that_fits_no_node(
    id_: int, cells: dict[str, object], words: str, tmp_path: Path
) -> None:
    """What a node waits for is in both tables. If only the requests tell, they name the node."""
    with pytest.raises(BadInput) as error:
        coordinator(DUMP, requests=with_cells(tmp_path, id_, cells))
    column, rest = words.split(" | ", 1)
    pinned = f"requests.csv {column} of request {timeuuid(id_)} | {rest}"
    assert says(error.value, pinned), error.value


MAPPED = "the end: the new map is committed"


@pytest.mark.parametrize(
    ("nodes", "statics", "decision", "work", "leads_to"),
    [
        ([], {}, "rest", (), ""),
        ([joining("none")], {}, "begin", (), "join_group0"),
        ([BOOT], NEW, "work", ("barrier",), "the end: the node is normal"),
        ([leaving("decommissioning")], NEW, "work", ("barrier",), "left_token_ring"),
        ([leaving("rebuilding")], {}, "work", ("stream",), "the end: the node is normal"),
        ([], {"transition_state": "lock"}, "wait", (), ""),
        ([], {"transition_state": "truncate table"}, "work", ("barrier",), "the end"),
        ([], {"transition_state": "snapshot tables"}, "not modelled", (), ""),
        *(
            ([], {"transition_state": state}, "work", ("barrier",), MAPPED)
            for state in ("tablet resize finalization", "tablet split finalization")
        ),
    ],
)
def test_what_comes_next(
    nodes: list[Any], statics: dict[str, Any], decision: str, work: tuple[str, ...],
    leads_to: str, tmp_path: Path,
) -> None:  # fmt: skip
    """With all nodes up: the next decision, by the transition tables."""
    first = said(tmp_path, *nodes, **statics).cases[0]
    assert (first.decision, first.work, first.leads_to) == (decision, work, leads_to)


def test_editions_differ(tmp_path: Path) -> None:
    """After a failed barrier the published server goes on, the documents try again."""
    path = dumped(tmp_path, [*NORMAL, BOOT], **NEW)
    otherwise = [
        coordinator(path, down=uuid(1), edition=edition).cases[0].otherwise
        for edition in ("server", "documents")
    ]
    assert otherwise == ["continues anyway", "retries"]


def test_a_queue_that_cannot_begin(tmp_path: Path) -> None:
    """With a node down that all requests need, the whole queue is cancelled."""
    answer = said(tmp_path, joining("none"), asking={"down": uuid(1)})
    assert [(line.kind, line.standing) for line in answer.queue] == [("join", "cancelled")]
    assert answer.queue[0].waits_for == hosts(1)
    assert answer.cases[0].decision == "cancel"
    assert not answer.goes_on


def test_requests_that_are_not_modelled(tmp_path: Path) -> None:
    """A known request that is not played is named, and so is that it comes next."""
    requests = tmp_path / "requests.csv"
    row = {"id": timeuuid(0x40), "request_type": "snapshot_tables", "done": False}
    requests.write_text(as_csv([row]), "utf-8")
    answer = said(
        tmp_path, asking={"requests": requests}, global_requests=[timeuuid(0x40)], fence_version=11
    )
    assert answer.not_modelled == ("request snapshot_tables",)
    assert answer.cases[0].decision == "not modelled"
    assert "snapshot_tables" in answer.cases[0].reason


@pytest.mark.parametrize(
    ("state", "goes_on"), [("lock", False), ("tablet migration", True), (None, True)]
)
def test_an_operator_ends_a_lock(state: str | None, goes_on: bool, tmp_path: Path) -> None:
    """Nothing goes on by itself meanwhile, though nobody is missed."""
    answer = said(tmp_path, transition_state=state)
    assert answer.cases[0].waits_for == ()
    assert answer.goes_on is goes_on


def test_a_leave_may_be_paused(tmp_path: Path) -> None:
    """Whether tablets are left is in a table that the dump does not hold; that is said."""
    answer = said(tmp_path, leaving("normal", topology_request="leave"))
    assert any("tablets" in line and uuid(4) in line for line in answer.warnings)


def test_ignored_nodes_do_not_hold_a_removal(tmp_path: Path) -> None:
    """A dead node in ``ignore_nodes`` is passed over, another one is not."""
    nodes = [leaving("removing")]
    ignored = said(tmp_path, *nodes, **OLD, ignore_nodes=[uuid(1)], asking={"down": uuid(1)})
    assert ignored.cases[0].waits_for == ()
    other = said(tmp_path, *nodes, **OLD, asking={"down": uuid(1)})
    assert other.cases[0].waits_for == hosts(1)


def test_an_ignored_node_without_a_row_is_told(tmp_path: Path) -> None:
    """It is no part of the cluster, and nothing is lost of what the dump says."""
    answer = said(tmp_path, ignore_nodes=[uuid(1), uuid(77)])
    assert [line for line in answer.warnings if "ignore_nodes" in line] == [
        f"ignore_nodes lists {uuid(77)}, which is not in the dump"
    ]
    answer = said(tmp_path, ignore_nodes=[uuid(number) for number in (78, 9, 77, 6)])
    assert [line.split()[2] for line in answer.warnings if "ignore_nodes" in line] == [
        f"{uuid(number)}," for number in (6, 9, 77, 78)
    ]


def test_columns_that_nobody_knows_are_shown(tmp_path: Path) -> None:
    """One value for all is told once, others by host."""
    given = [("x", "0", None, None), ("x", "1", "y", None)]
    names = ("later", "own", "one", "nobody")
    rows = [
        {**row, **dict(zip(names, cells, strict=True))}
        for row, cells in zip(table([node(1), node(2)]), given, strict=True)
    ]
    path = tmp_path / "dump.csv"
    path.write_text(as_csv(rows), "utf-8")
    assert coordinator(path).unknown_columns == {
        "later": "x",
        "own": {uuid(1): "0", uuid(2): "1"},
        "one": {uuid(2): "y"},
        "nobody": None,
    }


def test_racks_are_checked_where_somebody_says_how_many_replicas(tmp_path: Path) -> None:
    """The dump has datacenters and racks, and no keyspaces: with ``rf`` a leave that empties a rack
    is refused, and a join that adds one is told to roll back. Without it a warning says so.
    """
    leaves = dumped(tmp_path, [*NORMAL[1:], node(1, topology_request="leave", request_id=ID)])
    assert coordinator(leaves).cases[0].decision == "begin"
    assert any("--rf" in warning for warning in coordinator(leaves).warnings)
    refused = coordinator(leaves, rf=3)
    assert refused.cases[0].decision == "refuse"
    assert refused.cases[0].reason == "dc1 would have 2 racks for 3 replicas"
    assert not any("--rf" in warning for warning in refused.warnings)
    assert coordinator(leaves, rf=3, edition="documents").cases[0].decision == "begin"
    joins = joining("bootstrapping", rack="r9", tokens=None)
    unsaid = said(tmp_path, joins, transition_state="join group0")
    assert any("before a join" in warning for warning in unsaid.warnings)
    answer = said(tmp_path, joins, transition_state="join group0", asking={"rf": 3})
    assert answer.cases[0].leads_to == "left_token_ring"
    assert "assign_tokens will fail: dc1 would have 4 racks" in answer.cases[0].reason
    for bad in (-1, 1001):
        with pytest.raises(BadInput, match=like(f"rf | {bad} | from 0 to 1000")):
            coordinator(leaves, rf=bad)
    assert coordinator(leaves, rf=1000).cases


@pytest.mark.parametrize(
    ("edition", "down", "voters"),
    [
        ("server", (1, 2), "1 of 3 voters"),
        ("server", (1, 2, 3), "0 of 3 voters"),
        ("documents", (2, 3), "1 of 3 voters"),
    ],
)
def test_without_a_majority_nothing_is_committed(
    edition: Edition, down: tuple[int, ...], voters: str
) -> None:
    """Neither a rollback nor a cancelled request: whoever votes, group 0 has none."""
    answer = coordinator(DUMP, down=hosts(*down), edition=edition)
    [case] = answer.cases
    assert case.decision == "wait"
    assert case.reason == f"group 0 has no majority: {voters} up"
    assert (case.work, case.otherwise, case.waits_for) == ((), "", hosts(*down))
    assert not answer.goes_on
    assert {(entry.standing, entry.reason) for entry in answer.queue} == {("waits", case.reason)}


def test_who_votes_decides_and_nobody_says_who(tmp_path: Path) -> None:
    """Of four nodes in one rack three vote: which ones no dump tells, so that is said."""
    dump = dumped(tmp_path, [node(number) for number in range(1, 7)])
    few = coordinator(dump, down=hosts(1, 2))
    many = coordinator(dump, down=hosts(1, 2, 3))
    assert not any("which nodes vote" in line for line in few.warnings)
    assert many.cases[0].decision != "wait"
    assert any("depends on which nodes vote" in line for line in many.warnings)


def test_a_joining_node_that_is_down_is_missed_by_what_comes_second(tmp_path: Path) -> None:
    """It is added to group 0; it cannot accept that, so the join is turned away."""
    dump = dumped(tmp_path, [*NORMAL, BOOT], transition_state="join group0")
    first, *others = coordinator(dump).cases
    assert first.work[:2] == ("add_to_group0", "accept")
    [case] = [each for each in others if each.down == hosts(4)]
    assert (case.fails, case.waits_for) == ("accept", hosts(4))
    assert case.otherwise == "rejected: the end: the node is left"
    assert says(call("topology", str(dump)).out, "add_to_group0, then accept needs that node")
    known = coordinator(dump, down=hosts(4))
    assert not known.goes_on


@pytest.mark.parametrize(("ignored", "waits"), [((), True), ((3,), False)])
def test_transitions_of_tablets_wait_for_whoever_is_down(
    ignored: tuple[int, ...], waits: bool, tmp_path: Path
) -> None:
    """Unless it is excluded: their barriers ask all others."""
    statics = {"transition_state": "tablet migration", "ignore_nodes": [*hosts(*ignored)] or None}
    answer = coordinator(dumped(tmp_path, NORMAL, **statics), down=hosts(3))
    [case] = answer.cases
    assert (case.fails == "finish_tablets") is waits
    assert answer.goes_on is not waits


def test_whose_death_makes_a_difference(tmp_path: Path) -> None:
    """The members', while a node asks to join; its own would make none."""
    told = said(tmp_path, joining("none"))
    assert [(case.down, case.decision) for case in told.cases] == [
        ((), "begin"),
        (hosts(1, 2, 3), "cancel"),
    ]
    assert told.indifferent == hosts(4)
    asked = said(tmp_path, BOOT, **OLD)
    assert [case.down for case in asked.cases] == [(), hosts(1, 2, 3, 4)]
    assert asked.indifferent == ()
