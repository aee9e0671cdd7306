"""How many bytes ranges hold: what rows say counts first, then what their nodes hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.ring.replication import Keyspace, LocalStrategy, SimpleStrategy
from kit.ring.sizes import Sizes, Stored, sizes_of
from kit.ring.tokens import TokenSpace, small
from kit.ring.topology import Node, Ring

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
    assert sizes.of("ks", left, right, ("n0",)) == size
    assert sizes.of("other", left, right, ("n0",)) is None


def test_rows_count_before_nodes() -> None:
    """Where rows do not cover a range, the densest of its sources that are known says its size.

    Where each source sends all of it, one of which nothing is known has as much as the fullest.
    """
    sizes = Sizes({"ks": ROWS}, {"a": 3, "b": 5})  # type: ignore[dict-item]  # whole bytes per token
    for sources, covered, of_one, of_each in (
        (("a",), 100, 60, 60),
        (("a", "b"), 200, 100, 160),
        (("a", "c"), 200, 60, 120),
        (("a", "b", "c"), 300, 100, 260),
    ):
        assert sizes.of("ks", 0, 10, sources) == 100
        assert sizes.of("ks", 0, 10, sources, each=True) == covered
        assert sizes.of("ks", 20, 40, sources) == of_one
        assert sizes.of("ks", 20, 40, sources, each=True) == of_each
    assert sizes.of("ks", 20, 40, ("c",)) is None


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
        assert sizes.of("one", 3, 17, (name,)) == 14
