"""A cluster's own tables, opened: who is up, what is doubtful, what no dump can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.topology.dry_run.opening import check_anonymous, open_topology
from tests.operators.samples import one_line
from tests.operators.topology_printing import as_csv, node, table, timeuuid, uuid
from tests.protocols.topology.dry_run.dumps import FIXTURES, joining, leaving, said
from tests.saying import says

SNAPSHOTS = FIXTURES.parent / "snapshots"


ONE, TWO, THREE, FOUR = map(uuid, (1, 2, 3, 4))


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


STATUS = """Datacenter: dc1
===============
Status=Up/Down/eXcluded
|/ State=Normal/Leaving/Joining/Moving
-- Address  Load    Tokens Owns Host ID                              Rack
"""


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


X = uuid(4)


BOOT = joining("bootstrapping")


JOIN = {"transition_state": "join group0"}


@pytest.mark.parametrize(
    ("nodes", "statics", "words"),
    [
        (
            [BOOT, joining("bootstrapping", 5)],
            JOIN,
            f"node_state of node {uuid(5)} | 'bootstrapping' | one node in transition at a time",
        ),
        ([node(9, node_state="left")], {}, f"tokens of node {uuid(9)} | '-9000, 9000' | is left"),
        (
            [node(9, node_state="left", tokens=["1", "2", "3"])],
            {},
            f"tokens of node {uuid(9)} | '1, 2, 3'; | is left",
        ),
        (
            [node(9, node_state="left", tokens=["1", "2", "3", "4"])],
            {},
            f"tokens of node {uuid(9)} | '1, 2, 3 \\u2026'; | is left",
        ),
        (
            [joining("replacing", replaced_id=uuid(1), tokens=["2000"])],
            JOIN,
            f"tokens of node {X} | '2000' | {uuid(2)} already has",
        ),
        (
            [node(4, replaced_id=uuid(1), tokens=["1000"])],
            {},
            f"tokens of node {X} | '1000' | {uuid(1)} already has",
        ),
        ([joining("none", tokens=["5"])], {}, f"tokens of node {X} | '5' | is none"),
        (
            [node(4, tokens=["5", "1000"])],
            {},
            f"tokens of node {X} | '1000' | {uuid(1)} already has",
        ),
        (
            [node(4, node_state="sleeping")],
            {},
            f"node_state of node {X} | 'sleeping' | bootstrapping",
        ),
        ([node(4, node_state=None)], {}, f"node_state of node {X} | None | bootstrapping"),
        ([node(4, topology_request="fly")], {}, f"topology_request of node {X} | 'fly' | join"),
        (
            [node(4, topology_request="join")],
            {},
            f"topology_request of node {X} | 'join' | in state none",
        ),
        (
            [joining("none", topology_request="leave")],
            {},
            f"topology_request of node {X} | 'leave' | in state normal",
        ),
        (
            [joining("bootstrapping", topology_request="leave")],
            JOIN,
            f"topology_request of node {X} | 'leave' | in state normal",
        ),
        (
            [joining("none", 5), joining("none")],
            {},
            f"request_id of node {uuid(5)} | {timeuuid(0x20)} | {X} already has this one",
        ),
        ([node(4, cleanup_status="dirty")], {}, f"cleanup_status of node {X} | 'dirty' | needed"),
        ([], {"transition_state": "sleeping"}, "transition_state | 'sleeping' | join_group0"),
        ([], {"transition_state": "write both read old"}, "no node in transition | or null"),
        ([BOOT], {}, f"transition_state | None | with {uuid(4)} bootstrapping: commit_cdc"),
        ([BOOT], {"transition_state": "rollback to normal"}, "transition_state | join_group0"),
        (
            [leaving("removing")],
            {"transition_state": "tablet draining"},
            "transition_state | 'tablet_draining' | before 2026.1 have it (--release 2025.4)",
        ),
        (
            [leaving("rebuilding")],
            {"transition_state": "write both read old"},
            f"transition_state | with {X} rebuilding: null",
        ),
        ([], {"global_topology_request": "cleanup"}, "global_topology_request | 'cleanup' | null"),
        ([], {"upgrade_state": "half"}, "upgrade_state | 'half' | not_upgraded, build_coord"),
        ([], {"version": 3, "fence_version": 4}, "fence_version | 4 | 0 to the version, 3"),
        ([], {"version": 3, "fence_version": -1}, "fence_version | -1 | 0 to the version, 3"),
        ([], {"version": 3, "fence_version": None}, "fence_version | None | 0 to the version, 3"),
        *(
            ([], {"version": version, "fence_version": 0}, f"version | {version} | from 1 up")
            for version in (None, -1, 0)
        ),
        (
            [joining("replacing", replaced_id=uuid(77))],
            JOIN,
            f"replaced_id of node {X} | another node in this table",
        ),
        ([joining("none", topology_request="replace")], {}, f"replaced_id of node {X} | None"),
    ],
)
def test_what_cannot_be(
    nodes: list[Mapping[str, Any]], statics: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """Each is one line that says which cell, what it holds and what could stand there."""
    with pytest.raises(BadInput) as caught:
        said(tmp_path, *nodes, **statics)
    assert one_line(caught.value).startswith("topology.csv ")
    assert says(one_line(caught.value), words)


@pytest.mark.parametrize(
    ("nodes", "statics"),
    [
        ([], {}),
        ([], {"version": 1, "fence_version": 0}),
        ([], {"version": 1, "fence_version": 1}),
        ([BOOT], {"transition_state": "left token ring"}),
        ([joining("replacing", replaced_id=uuid(3), tokens=["3000", "-3000"])], JOIN),
        # Whichever of the two comes first in the order of host ids.
        ([joining("replacing", replaced_id=uuid(5), tokens=["5000", "-5000"]), node(5)], JOIN),
        ([leaving("rebuilding")], {}),
        # What two nodes asked for before, and is done, may have had one id.
        ([node(4, request_id=timeuuid(0x20)), node(5, request_id=timeuuid(0x20))], {}),
        ([leaving("decommissioning")], {"transition_state": "write_both_read_new"}),
        ([node(4, num_tokens=0, tokens=None)], {}),
        ([node(9, node_state="left", tokens=None)], {"transition_state": "lock"}),
        ([], {"transition_state": "truncate table", "global_requests": [timeuuid(0x40)]}),
    ],
)
def test_what_can_be(
    nodes: list[Mapping[str, Any]], statics: dict[str, Any], tmp_path: Path
) -> None:
    """A replacing node holds the tokens of the one that it replaces; a rebuild has no state."""
    assert said(tmp_path, *nodes, **statics).cases


@pytest.mark.parametrize(
    ("state", "edition", "other"),
    [
        ("truncate table", "documents", "server"),
        ("write both read old", "documents", ""),
        ("write both read old", "server", ""),
    ],
)
def test_a_state_of_the_other_edition_without_a_node(
    state: str, edition: str, other: str, tmp_path: Path
) -> None:
    """The edition that allows it is named, as for a node in transition."""
    with pytest.raises(BadInput) as caught:
        said(tmp_path, transition_state=state, asking={"edition": edition})
    assert says(caught.value, "transition_state | no node in transition: | or null")
    assert ("allows it: --edition" in str(caught.value)) == bool(other)
    assert f"--edition {other}" in f"{caught.value} --edition "
