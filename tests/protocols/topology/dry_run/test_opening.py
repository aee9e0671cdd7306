"""A cluster's own tables, opened: who is up, which requests there are, and what is doubtful."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.topology.dry_run.opening import check_anonymous, open_topology
from tests.operators.topology_printing import as_csv, node, table, uuid
from tests.protocols.topology.dry_run.dumps import FIXTURES

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
