"""Majorities of millions of ranges at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.tcm.rules import quorums
from kit.protocols.tcm.rules.quorums import disjoint_majorities, levels, majorities_meet, sharing

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
def test_majorities_by_columns_meet_where_no_two_disjoint_ones_exist(
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]], gone: frozenset[int]
) -> None:
    """Random groups and dead nodes are compared row by row."""
    reads, writes = zip(*pairs, strict=True)
    found = majorities_meet(columns(reads), columns(writes), gone)
    assert found.tolist() == [disjoint_majorities(r, w, gone) is None for r, w in pairs]


def test_a_side_without_a_live_majority_cannot_miss_the_other_side() -> None:
    """However many replicas the other side has to spare."""
    reads, writes = ((0, 1, 2),), ((3,),)
    assert not majorities_meet(columns(reads), columns(writes))[0]
    assert majorities_meet(columns(reads), columns(writes), frozenset({3}))[0]
    assert disjoint_majorities(reads[0], writes[0], frozenset({3})) is None


@given(st.lists(GROUPS, min_size=1, max_size=8), st.frozensets(st.integers(0, 6)))
def test_spare_replicas_by_columns_agree_with_counting_each_group(
    groups: list[tuple[int, ...]], down: frozenset[int]
) -> None:
    """ONE, QUORUM and LOCAL_QUORUM are compared. An empty group needs none."""
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
def test_a_write_needs_a_majority_of_the_factor_and_each_pending_replica(
    factors: dict[str, int],
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    needed: tuple[int, ...],
) -> None:
    """Over all replicas, in dc1 and in dc2. ONE does not count pending ones."""
    local = {dc: np.isin(np.arange(7), codes) for dc, codes in SEVEN.items()}
    late = quorums.pending(columns((writes,)), columns((reads,)))
    found = levels(columns((writes,)).T, local, np.zeros(7, bool), factors, late)
    among = [set(writes), *(set(writes) & set(codes) for codes in SEVEN.values())]
    one, *others = found
    assert one.spare[0] == len({*writes} & {*reads}) - 1
    spare = [level.spare[0] for level in others]
    assert tuple(len(ours) - n for ours, n in zip(among, spare, strict=True)) == needed


UNITS = {
    "node": np.arange(7, dtype=np.int32),
    "rack": np.array([0, 0, 1, 1, 2, 2, 2], np.int32),
    "all in one": np.zeros(7, np.int32),
}


@pytest.mark.parametrize("kind", UNITS)
@given(st.lists(GROUPS, min_size=1, max_size=8), st.frozensets(st.integers(0, 6)))
def test_units_whose_loss_takes_a_quorum_agree_with_trying_each_loss(
    kind: str, groups: list[tuple[int, ...]], down: frozenset[int]
) -> None:
    """A range without a quorum has none to lose."""
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
