"""Facts of a moment, against what is worked out by hand."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.engine.registry import build
from kit.protocols.tcm.facts.large import DENSITY, first_missed, spread
from kit.protocols.tcm.facts.moment import traffic_of
from kit.ring.topology import Node

NAMES = st.sets(st.sampled_from("ABCDE"), min_size=1).map(lambda names: tuple(sorted(names)))


def copy(target: str, done: bool, size: int | None) -> Any:
    """One range that a node streams to another."""
    return SimpleNamespace(target=target, done=done, bytes=size)


@pytest.mark.parametrize(
    ("copies", "loads"),
    [
        ([], []),
        (["A X 1 5"], ["A 1 1 5, 0 0 0", "X 0 0 0, 1 1 5"]),
        (["A X 0 5", "A Y 1 7", "B X 0 9"],
         ["A 2 1 12, 0 0 0", "B 1 0 9, 0 0 0", "X 0 0 0, 2 0 14", "Y 0 0 0, 1 1 7"]),
        (["A X 0 -", "B X 0 -"], ["A 1 0 -, 0 0 -", "B 1 0 -, 0 0 -", "X 0 0 -, 2 0 -"]),
        (["B Y 0 5", "A X 0 -"], ["B 1 0 5, 0 0 0", "A 1 0 -, 0 0 0", "Y 0 0 0, 1 0 5",
                                  "X 0 0 0, 1 0 -"]),
        (["A X 0 5", "A X 0 -"], ["A 2 0 -, 0 0 0", "X 0 0 0, 2 0 -"]),
        (["A B 0 5", "B A 1 6"], ["B 1 1 6, 1 0 5", "A 1 0 5, 1 1 6"]),
    ],
)  # fmt: skip
def test_what_each_node_sends_and_receives(copies: list[str], loads: list[str]) -> None:
    """How many, how many of them are done, how many bytes; unknown where one of them is."""
    given = []
    for line in copies:
        source, target, done, size = line.split()
        given.append((source, copy(target, done == "1", None if size == "-" else int(size))))
    sums = [
        f"{x.node} {x.sends} {x.sent} {x.sends_bytes}, {x.receives} {x.received} {x.receives_bytes}"
        for x in traffic_of(given)
    ]
    assert [each.replace("None", "-") for each in sums] == loads


@pytest.mark.parametrize(
    ("tokens", "bins", "filled"),
    [
        ((0,), 4, (0,)),
        ((99, 100, 199), 4, (0, 1)),
        ((400,), 4, (3,)),
        ((400,), 1, (0,)),
        ((0, 399, 400), 400, (0, 399)),
    ],
)
def test_in_which_parts_of_the_line_tokens_are(
    tokens: tuple[int, ...], bins: int, filled: tuple[int, ...]
) -> None:
    """The last token of the line is in its last part."""
    given = {"members": (Node("A", tokens),), "operations": ("bootstrap X --tokens 50",)}
    model: Any = build("tcm", {**given, "rf": 1, "low": 0, "high": 400})
    [all_stable] = spread(model, model.start(), bins)
    assert (all_stable.node, all_stable.bins) == (None, filled)


@given(NAMES, NAMES)
def test_the_first_majorities_that_do_not_meet(readers: Any, writers: Any) -> None:
    """None where each two meet; else two that do not, of the smallest, the first in order."""
    ways = [
        (r, w)
        for r in combinations(readers, len(readers) // 2 + 1)
        for w in combinations(writers, len(writers) // 2 + 1)
        if not {*r} & {*w}
    ]
    assert first_missed(readers, writers) == (ways[0] if ways else None)


def test_tokens_half_a_degree_apart_can_be_told_apart() -> None:
    """Twice as many parts as a circle has degrees, each with the one token in its middle."""
    tokens = tuple(10 * part + 5 for part in range(720))
    given = {"members": (Node("A", tokens),), "operations": ("bootstrap X --tokens 50",)}
    model: Any = build("tcm", {**given, "rf": 1, "low": 0, "high": 7200})
    [all_stable] = spread(model, model.start(), DENSITY)
    assert all_stable.bins == tuple(range(720))
