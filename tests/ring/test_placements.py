"""Tables of rows, and the stable placement."""

from __future__ import annotations

import pytest
from hypothesis import given

from kit.ring.placements import (
    Placement,
    Row,
    Table,
    same_sets,
    stable_placement,
)
from kit.ring.reference import replicas_reference
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node, Ring
from tests.ring.draws import probes, replications, rings

ABC = Ring.of([Node("A", (100,)), Node("B", (200,)), Node("C", (300,))], small(400))


@pytest.mark.spec("A-006", "A-042")
@given(rings(), replications())
def test_rows_partition_the_line(ring: Ring, replication: Replication) -> None:
    """At rest each token but MIN lies in one row, and this row has the token's natural replicas."""
    placement = stable_placement(ring, replication)
    rows = placement.reads.rows(ring.names)
    assert rows[0].left == ring.space.low
    assert rows[-1].right == ring.space.high
    assert all(row.left < row.right for row in rows)
    assert placement.reads.partitions
    for token in probes(ring):
        (group,) = placement.reads.groups_of(token)
        names = tuple(ring.names[code] for code in group)
        assert names == replicas_reference(ring.nodes, replication, token, ring.space)
    assert placement.reads.groups_of(ring.space.low) == ()


@pytest.mark.spec("A-014")
def test_keyspaces_have_placements_of_their_own() -> None:
    """Several keyspaces with different factors are placed on one ring; equal factors are equal."""
    keyspaces = (
        Keyspace("one", SimpleStrategy(1)),
        Keyspace("two", SimpleStrategy(2)),
        Keyspace("three", NetworkTopologyStrategy((("dc1", 3),))),
        Keyspace("again", SimpleStrategy(2)),
    )
    placed = {one.name: stable_placement(ABC, one.replication) for one in keyspaces}
    shown = {name: p.reads.rows(ABC.names)[1].replicas for name, p in placed.items()}
    assert shown == {
        "one": ("B",), "two": ("B", "C"), "three": ("B", "C", "A"), "again": ("B", "C"),
    }  # fmt: skip
    assert placed["two"] == placed["again"]
    assert len(set(placed.values())) == 3


@pytest.mark.spec("A-011")
def test_worked_ring_at_rest() -> None:
    """A=100, B=200, C=300 with RF 2 give the rows of the worked example and the end's row."""
    rows = stable_placement(ABC, SimpleStrategy(2)).writes.rows(ABC.names)
    assert rows == (
        Row(0, 100, ("A", "B")),
        Row(100, 200, ("B", "C")),
        Row(200, 300, ("C", "A")),
        Row(300, 400, ("A", "B")),
    )


def test_overlapping_rows_are_representable() -> None:
    """A token in two rows has two answers, in the order of the rows."""
    table = Table.of([(100, 200, (1, 2)), (100, 150, (1, 2, 3)), (0, 100, (0,))])
    assert not table.partitions
    assert table.groups_of(120) == ((1, 2, 3), (1, 2))
    assert table.groups_of(160) == ((1, 2),)
    assert table.groups_of(250) == ()


def test_tables_are_equal_by_content() -> None:
    """Padding does not count; bounds, members and their order do."""
    one = Table.of([(0, 5, (1,)), (5, 9, (2, 1))])
    narrow = Table(one.lefts[:1], one.rights[:1], one.groups[:1])
    assert narrow == Table.of([(0, 5, (1,))])
    assert hash(narrow) == hash(Table.of([(0, 5, (1,))]))
    assert one != Table.of([(0, 5, (1,)), (5, 9, (1, 2))])
    for other in ([(1, 5, (1,)), (5, 9, (2, 1))], [(0, 5, (1,)), (5, 8, (2, 1))]):
        assert one != Table.of(other)  # a bound of either side
    assert one != Table.of([(0, 5, (1,))])
    assert one != "table"
    assert Placement(one, one) == Placement(one, Table.of([(0, 5, (1,)), (5, 9, (2, 1))]))
    assert same_sets(one.groups, Table.of([(0, 5, (1,)), (5, 9, (1, 2, 3))]).groups).tolist() == [
        True,
        False,
    ]
    assert repr(one) == "Table(2 rows)"
    assert Table.of([]).groups_of(3) == ()
    assert Table.of([]).groups.shape == (0, 0)
    twice = Table.of([(5, 9, (0,)), (0, 5, (2,)), (0, 5, (1,))])
    assert [twice.codes(at) for at in range(3)] == [(2,), (1,), (0,)]  # in the order given


def test_rows_at_the_ends_of_murmur3() -> None:
    """With MIN owned the last row belongs to its owner; no row ends at MIN."""
    ring = Ring.of([Node("A", (MURMUR3.low,)), Node("B", (0,))])
    rows = stable_placement(ring, SimpleStrategy(1)).reads.rows(ring.names)
    assert rows == (Row(MURMUR3.low, 0, ("B",)), Row(0, MURMUR3.high, ("A",)))


def test_a_table_is_a_value() -> None:
    """None of its columns can be changed, and it equals nothing but a table."""
    table = Table.of([(0, 100, (1,))])
    for column in (table.lefts, table.rights, table.groups):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 7
    assert (table == "a table") is False
    assert table == Table.of([(0, 100, (1,))])
