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
