"""Majorities of millions of ranges at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.tcm.rules.quorums import disjoint_majorities, majorities_meet

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
