"""Tables of rows, and the stable placement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.ring.placements import Row, Table, stable_placement
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.sizes import Stored, sizes_of
from kit.ring.tokens import MURMUR3, TokenSpace, small
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


ROWS = ((0, 10, 100), (10, 30, 60), (40, 50, 7))


@pytest.mark.parametrize(
    ("left", "right", "size"),
    [
        (0, 10, 100),
        (10, 30, 60),
        (0, 30, 160),
        (5, 20, 80),
        (9, 11, 13),
        (40, 50, 7),
        (45, 50, 4),
        (29, 41, None),
        (30, 40, None),
        (25, 31, None),
        (50, 60, None),
        (0, 60, None),
    ],
)
def test_rows_count_by_their_share(left: int, right: int, size: int | None) -> None:
    """A range takes its share of each row that it touches; one that is not covered is unknown."""
    sizes = sizes_of(Stored(ranges=(("ks", ROWS),)), ring((10, 20)), ())
    assert sizes.of("ks", left, right, ("n0",), each=False) == size
    assert sizes.of("other", left, right, ("n0",), each=False) is None


def ring(tokens: tuple[int, ...], space: TokenSpace | None = None) -> Ring:
    """A node for each token."""
    return Ring.of((Node(f"n{i}", (t,)) for i, t in enumerate(tokens)), space or small(100))


@given(st.sets(st.integers(1, 99), min_size=1, max_size=6), st.integers(1, 3), st.integers(1, 3))
def test_the_bytes_of_a_node_are_spread_over_what_it_replicates(
    tokens: set[int], one: int, other: int
) -> None:
    """Where each node has a byte a token that it replicates, any range has a byte a token."""
    small_ring = ring(tuple(sorted(tokens)))
    keyspaces = [
        Keyspace("own", LocalStrategy()),
        Keyspace("one", SimpleStrategy(one)),
        Keyspace("other", SimpleStrategy(other)),
    ]
    held = dict.fromkeys(small_ring.names, 0)
    order = sorted(tokens)
    for place, token in enumerate(order):
        width = token - order[place - 1] if place else token + 100 - order[-1]
        for factor in (one, other):
            for step in range(min(factor, len(order))):
                held[f"n{(place + step) % len(order)}"] += width
    stored = Stored(nodes=(*held.items(), ("gone", 5)))
    sizes = sizes_of(stored, small_ring, keyspaces)
    assert set(sizes.densities) == set(small_ring.names)
    for name in small_ring.names:
        assert sizes.densities[name] == 1
        assert sizes.of("one", 3, 17, (name,), each=False) == 14
