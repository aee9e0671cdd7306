"""Majorities of millions of ranges at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.tcm.rules import quorums
from kit.protocols.tcm.rules.metadata import Metadata, Snapshot
from kit.protocols.tcm.rules.quorums import (
    covered,
    disjoint_majorities,
    levels,
    majorities,
    majorities_meet,
    reads_in_writes,
    sharing,
    sizes,
)
from kit.ring.placements import Placement, Table
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

Groups = tuple[tuple[int, ...], ...]
GROUPS = st.lists(st.integers(0, 6), max_size=5, unique=True).map(tuple)


def columns(groups: Groups) -> np.ndarray:
    """Groups as a matrix, padded with -1."""
    found = np.full((len(groups), max(map(len, groups), default=0)), -1, np.int32)
    for row, group in enumerate(groups):
        found[row, : len(group)] = group
    return found


@given(
    st.lists(st.tuples(GROUPS, GROUPS), min_size=1, max_size=20), st.frozensets(st.integers(0, 6))
)
def test_columns_say_what_single_groups_say(
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]], gone: frozenset[int]
) -> None:
    """Row by row, majorities meet exactly where no two disjoint ones can be picked."""
    reads, writes = zip(*pairs, strict=True)
    found = majorities_meet(columns(reads), columns(writes), gone)
    assert found.tolist() == [disjoint_majorities(r, w, gone) is None for r, w in pairs]


def test_a_surplus_on_one_side_is_no_help_to_the_other() -> None:
    """Where the dead leave one side without a majority there are no two that could miss each
    other, however many the other side has to spare.
    """
    reads, writes = ((0, 1, 2),), ((3,),)
    assert not majorities_meet(columns(reads), columns(writes))[0]
    assert majorities_meet(columns(reads), columns(writes), frozenset({3}))[0]
    assert disjoint_majorities(reads[0], writes[0], frozenset({3})) is None


@given(st.lists(GROUPS, min_size=1, max_size=8), st.frozensets(st.integers(0, 6)))
def test_what_each_level_has_to_spare(groups: list[tuple[int, ...]], down: frozenset[int]) -> None:
    """ONE needs one replica that answers, QUORUM a majority of all, LOCAL_QUORUM one of its own
    datacenter's; of a group without members nobody is needed.
    """
    there = {"dc1": [0, 2, 4, 6], "dc2": [1, 3, 5]}
    local = {dc: np.isin(np.arange(7), codes) for dc, codes in there.items()}
    dead = np.isin(np.arange(7), list(down))
    found = list(levels(columns(tuple(groups)).T, local, dead))
    assert [level.name for level in found] == [
        "ONE", "QUORUM", "LOCAL_QUORUM dc1", "LOCAL_QUORUM dc2",
    ]  # fmt: skip
    asked = [set(range(7)), set(range(7)), set(there["dc1"]), set(there["dc2"])]
    for level, among in zip(found, asked, strict=True):
        for row, group in enumerate(groups):
            voters = among & set(group)
            needed = min(len(voters), 1) if level.name == "ONE" else len(voters) // 2 + 1
            spare = len(voters - down) - (needed if voters else 0)
            assert level.spare[row] == spare, (level.name, group)
            assert {code for code in level.alive[:, row].tolist() if code >= 0} == voters - down


SEVEN = {"dc1": [0, 1, 2], "dc2": [3, 4, 5, 6]}
NEEDED: tuple[tuple[dict[str, int], tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    # factors, read, written to, and of these how many must answer: of all, in dc1, in dc2
    ({"": 3}, (0, 1, 3), (0, 1, 3), (2, 2, 2)),
    ({"": 5}, (0, 1, 2), (0, 1, 2), (3, 3, 3)),
    ({"": 5}, (0, 1, 2), (0, 1, 2, 3), (4, 3, 4)),
    ({"": 1}, (0,), (0, 4), (2, 1, 2)),
    ({"dc1": 3}, (0, 1), (0, 1, 2), (3, 3, 0)),
    ({"dc1": 3, "dc2": 2}, (0, 1, 3), (0, 1, 3, 4), (4, 2, 3)),
    ({"dc1": 3, "dc2": 2}, (0, 1, 2, 3, 4), (0, 1, 2, 3, 5), (4, 2, 3)),
)


@pytest.mark.parametrize(("factors", "reads", "writes", "needed"), NEEDED)
def test_how_many_must_answer_a_write(
    factors: dict[str, int],
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    needed: tuple[int, ...],
) -> None:
    """One, or a majority of the factor, of all or of the datacenter, and whoever is not read from
    yet.
    """
    local = {dc: np.isin(np.arange(7), codes) for dc, codes in SEVEN.items()}
    late = quorums.pending(columns((writes,)), columns((reads,)))
    found = levels(columns((writes,)).T, local, np.zeros(7, bool), factors, late)
    among = [set(writes), *(set(writes) & set(codes) for codes in SEVEN.values())]
    one, *others = found
    assert one.spare[0] == len({*writes} & {*reads}) - 1
    spare = [level.spare[0] for level in others]
    assert tuple(len(ours) - n for ours, n in zip(among, spare, strict=True)) == needed


def test_overlapping_rows_are_compared_token_by_token() -> None:
    """Where a table's rows overlap no columns of it are made: every pair of groups is compared."""
    reads = Table.of([(0, 20, (1,)), (10, 30, (2,))])
    writes = Table.of([(0, 30, (2,))])
    nothing: Any = None
    for placement in (Placement(reads, writes), Placement(writes, reads)):
        snapshot = Snapshot(nothing, (placement,))
        assert quorums.columns(snapshot, snapshot, 0) is None
        sides = [{read, write} for _, read, write in quorums.aligned(snapshot, snapshot, 0)]
        assert sides == [{(1,), (2,)}] * 2  # in (0, 10] and in (10, 20]


def test_rows_of_one_table_that_overlap_differ_from_one_another() -> None:
    """One table to read and to write: who reads by one row and writes by the other one differ."""
    table = Table.of([(0, 20, (1,)), (10, 30, (2,))])
    nothing: Any = None
    snapshot = Snapshot(nothing, (Placement(table, table),))
    told = list(quorums.aligned(snapshot, snapshot, 0))
    assert told == [(20, (1,), (2,)), (20, (2,), (1,))]


TWO_CENTRES = Ring.of(
    [Node(f"n{code}", (10 * code + 10,), f"dc{code // 3 + 1}") for code in range(6)], small(100)
)


NOBODY = frozenset[int]()


@pytest.mark.parametrize(
    ("reads", "writes", "told"),
    [
        ((0, 1, 2, 3, 4), (0, 1, 2, 3), None),
        ((0, 1, 2, 3), (0, 3), ((1, 2), (0,), " (LOCAL_QUORUM in dc1)")),
        ((0, 1, 2, 3), (0, 1, 2, 4), ((3,), (4,), " (LOCAL_QUORUM in dc2)")),
        ((0, 1), (3, 4), ((0, 1), (3, 4), "")),
    ],
)
def test_every_group_of_placements_is_looked_at(
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    told: tuple[tuple[int, ...], tuple[int, ...], str] | None,
) -> None:
    """After one with one table to read and to write, and one that differs and has no such quorums;
    a row that is the same on both sides comes before it, too.
    """
    keyspaces = tuple(
        Keyspace(f"ks{rf}", NetworkTopologyStrategy((("dc1", rf), ("dc2", 2)))) for rf in (1, 2, 3)
    )
    same = Table.of([(0, 100, (0, 3))])
    differ = Placement(Table.of([(0, 100, (0, 1))]), Table.of([(0, 100, (0, 1, 2))]))
    last = Placement(*(Table.of([(0, 50, (0,)), (50, 100, side)]) for side in (reads, writes)))
    metadata = Metadata(1, TWO_CENTRES, keyspaces)
    snapshot = Snapshot(metadata, (Placement(same, same), differ, last))
    found = quorums.quorums_apart([(snapshot, snapshot, NOBODY, NOBODY)])
    assert found == (told and quorums.Apart(2, 100, snapshot, snapshot, *told))


def test_a_factor_of_none_asks_nobody() -> None:
    """Of a datacenter with factor 0 no answer is needed; of one with 3, two."""
    slots = columns(((0, 1), (0,))).T
    local = {"a": np.array([True, False]), "b": np.array([False, True])}
    asked = levels(slots, local, np.zeros(2, bool), {"a": 0, "b": 3})
    assert {level.name: level.spare.tolist() for level in asked} == {
        "ONE": [1, 0],
        "QUORUM": [0, -1],
        "LOCAL_QUORUM a": [1, 1],
        "LOCAL_QUORUM b": [-1, -2],
    }


def test_bounds_of_both_tables_are_looked_at_once() -> None:
    """Those that they share, too; of what is between them only where the two differ."""
    reads = Table.of([(0, 10, (1,)), (10, 20, (2,)), (20, 30, (3,)), (30, 40, (4,))])
    writes = Table.of([(0, 10, (5,)), (10, 30, (2,)), (30, 40, (6,))])
    nothing: Any = None
    for placement, groups in (
        (Placement(reads, writes), [((1,), (5,)), ((3,), (2,)), ((4,), (6,))]),
        (Placement(writes, reads), [((5,), (1,)), ((2,), (3,)), ((6,), (4,))]),
    ):
        snapshot = Snapshot(nothing, (placement,))
        other = Snapshot(nothing, (placement,))
        expected = [(end, *pair) for end, pair in zip((10, 30, 40), groups, strict=True)]
        assert list(quorums.aligned(snapshot, other, 0)) == expected


@pytest.mark.parametrize("wide", [0, 1, 126, 127, 128, 129, 255, 256, 300])
def test_groups_as_wide_as_a_cluster_are_counted(wide: int) -> None:
    """Counts do not overflow, however many slots there are."""
    slots = np.full((wide, 2), 3, np.int32)
    slots[: wide // 2, 1] = -1
    assert sizes(slots).tolist() == [wide, wide - wide // 2]
    assert majorities(sizes(slots)).tolist() == [n // 2 + 1 if n else 0 for n in sizes(slots)]


UNITS = {
    "node": np.arange(7, dtype=np.int32),
    "rack": np.array([0, 0, 1, 1, 2, 2, 2], np.int32),
    "all in one": np.zeros(7, np.int32),
}


@pytest.mark.parametrize("kind", UNITS)
@given(st.lists(GROUPS, min_size=1, max_size=8), st.frozensets(st.integers(0, 6)))
def test_whose_loss_takes_a_quorum(
    kind: str, groups: list[tuple[int, ...]], down: frozenset[int]
) -> None:
    """Every unit with so many of the replicas that answer that the rest are too few; of ranges
    without a quorum nobody's.
    """
    unit_of, dead = UNITS[kind], np.isin(np.arange(7), list(down))
    slots, everywhere = columns(tuple(groups)).T, {"dc1": np.ones(7, bool)}
    for level in levels(slots, everywhere, dead):
        expected = set()
        for row, group in enumerate(groups):
            voters = set(group)
            needed = min(len(voters), 1) if level.name == "ONE" else len(voters) // 2 + 1
            alive = [code for code in voters - down if len(voters - down) >= needed]
            for unit in {int(unit_of[code]) for code in alive}:
                if sum(unit_of[code] != unit for code in alive) < needed:
                    expected.add((unit, row))
        shared = sharing(level.alive, unit_of, alone=kind == "node")
        found = list(zip(*(column.tolist() for column in level.lost(shared)), strict=True))
        assert sorted(found) == sorted(expected)
        if kind == "node":
            own = zip(*(column.tolist() for column in level.lost_with_one()), strict=True)
            assert sorted(own) == sorted(expected)


WHOLE = Table.of([(0, 50, (1,)), (50, 100, (2,))])
FAULTY = {
    "no node owns anything": [],
    "one end of the line is not owned": [(0, 50, (1,))],
    "follows a gap": [(0, 50, (1,)), (60, 100, (2,))],
    "is owned twice": [(0, 50, (1,)), (40, 100, (2,))],
    "has no replica": [(0, 50, (1,)), (50, 100, ())],
}


@pytest.mark.parametrize("said", FAULTY)
@pytest.mark.parametrize("side", ["read", "write"])
def test_a_table_that_does_not_cover_the_line_is_told(side: str, said: str) -> None:
    """What is wrong, in which table of which keyspace."""
    faulty = Table.of(FAULTY[said])
    placement = Placement(faulty, WHOLE) if side == "read" else Placement(WHOLE, faulty)
    ring = SimpleNamespace(space=small(100))
    metadata: Any = SimpleNamespace(ring=ring, keyspaces_of=lambda group: [f"ks{group}"])
    whole = Placement(WHOLE, WHOLE)
    told = covered(Snapshot(metadata, (whole, placement)))
    assert told is not None
    assert told.startswith(f"ks1, {side} table: ")
    assert told.endswith(said)
    first = {"a gap": "(60, 100]", "twice": "(40, 100]", "replica": "(50, 100]"}
    labels = [label for words, label in first.items() if said.endswith(words)]
    assert all(f": {label} " in told for label in labels)
    assert covered(Snapshot(metadata, (whole, whole))) is None


UNSERVED = {
    "no node owns anything": "(0, 50]: B",
    "one end of the line is not owned": "(50, 100]: C",
    "follows a gap": "(50, 100]: C",
    "has no replica": "(50, 100]: C",
}


@pytest.mark.parametrize("said", UNSERVED)
def test_reads_where_nobody_is_written_to_are_told(said: str) -> None:
    """A write table that is empty, ends early or has a gap; one that begins late, too."""
    ring = SimpleNamespace(space=small(100), names=("A", "B", "C"))
    metadata: Any = SimpleNamespace(ring=ring, keyspaces_of=lambda group: [f"ks{group}"])

    def told(reads: Table, writes: Table) -> str | None:
        return reads_in_writes(Snapshot(metadata, (Placement(reads, writes),)))

    faulty = Table.of(FAULTY[said])
    assert told(WHOLE, faulty) == f"ks0 {UNSERVED[said]} serves reads but gets no writes"
    assert told(faulty, WHOLE) is None
    assert told(faulty, faulty) is None
    late = Table.of([(10, 50, (1,)), (50, 100, (2,))])
    assert told(WHOLE, late) == "ks0 (0, 50]: B serves reads but gets no writes"
    assert told(late, WHOLE) is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 50, (1,)), (50, 100, (2,))], None),
        ([(1, 50, (1,)), (50, 100, (2,))], "one end of the line is not owned"),
        ([(0, 50, (1,)), (50, 99, (2,))], "one end of the line is not owned"),
        ([(1, 50, (1,)), (50, 99, (2,))], "one end of the line is not owned"),
        ([(0, 30, (1,)), (30, 60, (1,)), (50, 100, (2,))], "(50, 100] is owned twice"),
        ([(0, 30, (1,)), (30, 60, (1,)), (70, 100, (2,))], "(70, 100] follows a gap"),
    ],
)
def test_both_ends_of_the_line_are_owned(
    rows: list[tuple[int, int, tuple[int, ...]]], said: str | None
) -> None:
    """A row that begins late is as bad as one that ends early."""
    ring = SimpleNamespace(space=small(100), names=("A", "B", "C"))
    metadata: Any = SimpleNamespace(ring=ring, keyspaces_of=lambda group: ["ks"])
    table = Table.of(rows)
    told = covered(Snapshot(metadata, (Placement(table, table),)))
    assert told == (said and f"ks, read table: {said}")


def test_a_witness_names_the_row_that_there_is() -> None:
    """That of reads, else that of writes, else all up to the token."""
    ring = SimpleNamespace(space=small(100), names=("A", "B", "C", "D"))
    metadata: Any = SimpleNamespace(
        ring=ring, keyspaces_of=lambda group: ["ks"], groups=(None,), sequences=(), epoch=1
    )
    reads = Table.of([(0, 50, (0, 1))])
    for last, label in ((100, "(50, 100]"), (80, "(50, 80]")):
        writes = Table.of([(0, 50, (0, 1)), (50, last, (2, 3))])
        told = quorums.settled(Snapshot(metadata, (Placement(reads, writes),)), frozenset())
        assert told is not None
        assert told.startswith(f"ks {label}: reads {{}}, writes {{C, D}}")
