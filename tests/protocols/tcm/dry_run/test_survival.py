"""Who must stay up, and what is done about a node that is down, given up, or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kit
from kit.errors import BadInput
from kit.operators.importers.opening import Imported, InFlight
from kit.protocols.tcm.commands import Survival, survival
from kit.protocols.tcm.dry_run.opening import as_it_stands, opened
from kit.protocols.tcm.dry_run.plan import PlanReport, dry_run
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
    total,
)
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.commands.calling import SIMPLE_3, TEN, bad, call
from tests.protocols.tcm.dry_run.samples import hosts, printed
from tests.ring.draws import replications, rings

Members = tuple[str, ...]


def quorums(ring: Ring, replication: Replication) -> Iterator[tuple[Members, int]]:
    """Who is asked, and how many of them must answer: of each range, at each level."""
    where = {node.name: node.dc for node in ring.nodes}
    every = total(replication, ring)
    factors = replication.factors if isinstance(replication, NetworkTopologyStrategy) else ()
    tokens = ring.tokens.tolist()
    if tokens[-1] == ring.space.high:  # then nothing lies between it and the start of the line
        tokens = [token for token in tokens if token != ring.space.low]
    for token in tokens:
        group = replicas_reference(ring.nodes, replication, token, ring.space)
        parts = [(tuple(n for n in group if where[n] == dc), factor) for dc, factor in factors]
        yield from ((part, f // 2 + 1) for part, f in [(group, every), *parts] if f)


def breaks(ring: Ring, replication: Replication, down: set[str]) -> set[str]:
    """The nodes whose death takes a quorum that there is."""
    return {
        name
        for members, needed in quorums(ring, replication)
        for name in members
        if name not in down and len(set(members) - down) == needed
    }


def test_a_node_that_owns_nothing_need_not_stay_up() -> None:
    """Between tokens at both ends of the line lies no key."""
    ring = Ring.of([Node("A", (0,)), Node("B", (400,))], small(400))
    report = survival(Imported(0, ring, (Keyspace("ks", SimpleStrategy(1)),)), set())
    assert report.must_stay_up == ("B",)


@given(rings(), replications(), st.data())
def test_the_nodes_that_must_stay_up_agree_with_a_plain_count_of_quorums(
    ring: Ring, kind: Replication, data: st.DataObject
) -> None:
    """Random rings, replication strategies and nodes that are down are tried."""
    assume(not isinstance(kind, LocalStrategy))
    ring = Ring.of([node for node in ring.nodes if node.tokens], ring.space)
    down = data.draw(st.sets(st.sampled_from(ring.names)))
    report = survival(Imported(0, ring, (Keyspace("ks", kind),)), down)
    assert set(report.must_stay_up) == breaks(ring, kind, down)
    assert set(report.down) == down
    lost = any(len(set(who) - down) < needed for who, needed in quorums(ring, kind))
    assert bool(report.broken) is lost


def test_a_keyspace_of_local_data_requires_no_node_to_stay_up() -> None:
    """A local keyspace has no quorum that could break."""
    ring = Ring.of([Node("A", (0,)), Node("B", (200,))], small(400))
    report = survival(Imported(0, ring, (Keyspace("own", LocalStrategy()),)), ("A",))
    assert report == Survival(("A",), (), ())
    assert report.summary() == "A down: any one node can die next"
    assert (report.broken, report.answer().status) == (0, 0)


def test_survive_refuses_an_operation_in_flight_that_cannot_have_begun() -> None:
    """A join with a token that is owned, and the last node's leave."""
    ring = Ring.of([Node("A", (0,)), Node("B", (200,))], small(400))
    joins = InFlight("bootstrap", "X", "up", (200,), "dc1", "r1")
    given = Imported(0, ring, (Keyspace("ks", SimpleStrategy(1)),), in_flight=(joins,))
    with pytest.raises(BadInput, match="a token that no node owns; this one belongs to B"):
        survival(given, ())
    with pytest.raises(BadInput, match=r"10\.0\.0\.2.*is the last node"):
        kit.survive(ring_text(LEAVES, LEAVES), keyspaces=rf(1))


def file(folder: Path, **changes: object) -> str:
    """Write a ring of ten nodes, each range on three of them."""
    keyspaces = [{"name": "ks", "replication": SIMPLE_3}]
    path = folder / "ring.json"
    path.write_text(json.dumps({"epoch": 0, "nodes": TEN, "keyspaces": keyspaces, **changes}))
    return str(path)


def test_the_survive_command_names_the_nodes_that_must_stay_up(tmp_path: Path) -> None:
    """With n5 down these are its neighbours. With n5 and n6 down two ranges have no quorum."""
    ring = file(tmp_path)
    whole = call("survive", ring)
    assert whole.status == 0
    assert "any one node can die next" in whole.out
    missed = call("survive", ring, "--down", "n5", "--json")
    assert missed.status == 1
    assert missed.json["must_stay_up"] == ["n3", "n4", "n6", "n7"]
    [quorum] = missed.json["quorums"]
    assert quorum["nodes"] == {"n4": 2, "n6": 2, "n3": 1, "n7": 1}
    two = call("survive", ring, "--down", "n5", "--down", "n6")
    assert "2 ranges without a quorum" in two.out
    row = "ks QUORUM 2 ranges, such as (300, 400] n3 (1), n4 (1), n7 (1), n8 (1)"
    assert " ".join(two.out.splitlines()[-1].split()) == row
    row = "ks QUORUM – n4 (2), n6 (2), n3 (1), n7 (1)"
    assert " ".join(call("survive", ring, "--down", "n5").out.splitlines()[-1].split()) == row


def test_survive_in_a_notebook_says_the_same_as_data_text_and_html(tmp_path: Path) -> None:
    """With n5 down n3, n4, n6 and n7 must stay up."""
    report = kit.survive(file(tmp_path), down="n5")
    assert report.must_stay_up == ("n3", "n4", "n6", "n7")
    assert "n3, n4, n6, n7" in repr(report)
    assert "n3, n4, n6, n7" in report._repr_html_()


def ring_text(*nodes: tuple[str, str]) -> str:
    """What ``nodetool ring`` prints for nodes of one rack, by status and state."""
    lines = (
        f"10.0.0.{i}  r1  {status} {state}  1 KiB  ?  {100 * i}\n"
        for i, (status, state) in enumerate(nodes, 1)
    )
    heads = "Address  Rack  Status State   Load  Owns  Token\n"
    return f"Datacenter: dc1\n==========\n{heads}{''.join(lines)}"


UP, LEAVES, JOINS = ("Up", "Normal"), ("Up", "Leaving"), ("Down", "Joining")


def rf(number: int) -> str:
    """A keyspace with so many replicas."""
    return f'ks={{"class": "SimpleStrategy", "replication_factor": {number}}}'


def test_survive_counts_pending_replicas_for_writes_alone() -> None:
    """A joiner that is down leaves writes without a quorum, and reads with one."""
    report = kit.survive(ring_text(UP, UP, UP, JOINS), keyspaces=rf(3))
    assert report.down == ("10.0.0.4",)
    assert {loss.side for loss in report.losses if not loss.ok} == {"writes"}
    assert report.must_stay_up == ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    assert report.broken == 0


@pytest.mark.parametrize("down", ["N5", "nobody", ""])
def test_survive_refuses_the_name_of_an_unknown_node(tmp_path: Path, down: str) -> None:
    """The error names the field and the value."""
    with pytest.raises(BadInput, match="down") as raised:
        kit.survive(file(tmp_path), down=down)
    assert repr(down) in str(raised.value)
    assert "down" in bad("survive", file(tmp_path), "--down", down)


def test_survive_refuses_a_ring_without_keyspaces(tmp_path: Path) -> None:
    """Without replication no quorum can be counted."""
    assert "--keyspace" in bad("survive", file(tmp_path, keyspaces=[]))


@pytest.mark.parametrize(
    ("operation", "edition", "warns"),
    [
        ("removenode 10.0.0.2", "server", True),
        ("removenode 10.0.0.2", "documents", False),
        ("removenode 10.0.0.4", "server", False),
        ("decommission 10.0.0.2", "server", False),
    ],
)
def test_a_rehearsal_warns_of_an_operation_that_the_server_would_refuse_now(
    operation: str, edition: Any, warns: bool
) -> None:
    """It is played nevertheless: a node that is up now may be down later."""
    ring = ring_text(UP, UP, UP, ("Down", "Normal"), UP)
    made = kit.rehearse(ring, operation, keyspaces=rf(3), edition=edition)
    said = [line for line in made.warnings if "cannot begin as things are" in line]
    assert [line.rpartition(": ")[2] for line in said] == ["decommission it"] * warns
    assert made.operations[0].status != "planned"


@pytest.mark.parametrize(
    ("token", "pending"),
    [
        (50, {"10.0.0.4", "10.0.0.5"}),  # the joiner, too, since the one who leaves is thought gone
        (150, {"10.0.0.4", "10.0.0.6"}),
        (250, {"10.0.0.1", "10.0.0.4"}),
        (350, {"10.0.0.4"}),
        (550, set[str]()),
    ],
)
def test_operations_that_share_ranges_are_pending_as_gossip_counts_them(
    token: int, pending: set[str]
) -> None:
    """No log lets a leave and a join of one range both begin."""
    ring = ring_text(UP, UP, LEAVES, ("Up", "Joining"), UP, UP)
    snapshot, shares = as_it_stands(opened(ring, rf(3)))
    [placement] = snapshot.placements
    names = snapshot.metadata.ring.names
    [reads], [writes] = placement.reads.groups_of(token), placement.writes.groups_of(token)
    assert shares
    assert {names[code] for code in {*writes} - {*reads}} == pending
    assert {*reads} <= {*writes}
    assert len({*writes}) == len(writes)  # who has two parts in it still answers once


ROWS = Path(__file__).with_name("nodes_down.txt").read_text(encoding="utf-8").splitlines()

CASES = [
    tuple(cell.strip() for cell in line.split("|")) for line in ROWS if line and line[0].isdigit()
]


def planned(rf: str, operation: str, down: str) -> PlanReport:
    """The dry run of a case."""
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {rf}}}'
    return dry_run(printed(hosts(4), keyspace), parse_operation(operation), down=down.split())


def parts(cell: str) -> Iterator[str]:
    """What a cell lists."""
    yield from (each.strip() for each in cell.split(";") if cell != "-")


@pytest.mark.parametrize("case", CASES, ids=" | ".join)
def test_a_plan_beside_a_node_that_is_down_names_reasons_and_remedies(
    case: tuple[str, ...],
) -> None:
    """Each row of nodes_down.txt has the reason, and what is said and not said."""
    rf, operation, down, reason, says, never = case
    report = planned(rf, operation, down)
    assert report.accepted
    assert (report.reason or "-").endswith(reason)
    said = " ".join((report.reason or "", *report.warnings, *report.remedy))
    assert [each for each in parts(says) if each not in said.replace(HOST, "ID")] == []
    assert [each for each in parts(never) if each in said.replace(HOST, "ID")] == []


HOST = printed(hosts(4)).host_ids["n2"]


@pytest.mark.parametrize("case", CASES, ids=" | ".join)
def test_a_plan_by_the_documents_gives_no_command_to_type(case: tuple[str, ...]) -> None:
    """What it says is lost, or cannot be copied, is the same as by the server."""
    rf, operation, down, *_ = case
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {rf}}}'
    given, parsed = printed(hosts(4), keyspace), parse_operation(operation)
    report = dry_run(given, parsed, down=down.split(), edition="documents")
    assert report.remedy == ()
    of_server = planned(rf, operation, down).warnings
    for word in ("data is lost", "it cannot be copied while"):
        assert any(word in line for line in report.warnings) is any(
            word in line for line in of_server
        )


def test_the_remedy_of_a_plan_has_the_host_id_of_the_status_file() -> None:
    """So the command can be pasted."""
    assert f"nodetool removenode {HOST}" in planned("3", "removenode n2", "n2").remedy[0]
