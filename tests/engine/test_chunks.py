"""Rows of entries in chunks: each answer is that of a plain list, and equal full chunks are one."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kit.chunks import CHUNK, Row, added, at, each, part, row_of, shared

INDEXES = st.integers(0, 3 * CHUNK)


class Item(Struct, frozen=True, cache_hash=True):
    """An entry."""

    index: int
    word: str = ""


def grown(first: int, count: int, odd: int = 0) -> Row[Item]:
    """A row that has grown one by one; the entry at ``odd`` is another one."""
    items = (Item(i, "odd" * (i == odd)) for i in range(first, first + count))
    empty: Row[Item] = ()
    return reduce(added, items, empty)


@given(st.integers(1, 2 * CHUNK), st.integers(0, 2 * CHUNK), INDEXES, INDEXES)
def test_a_row_answers_as_a_list_does(first: int, count: int, a: int, b: int) -> None:
    """Entries, parts and single ones, wherever the row begins."""
    row = grown(first, count)
    items = {i: Item(i) for i in range(first, first + count)}
    assert [*each(row)] == [*items.values()]
    assert at(row, a) == items.get(a)
    assert part(row, a, b) == tuple(items[i] for i in range(a, b + 1) if i in items)
    assert row_of(items.values()) == row


@given(st.integers(1, 2 * CHUNK), st.integers(0, 2 * CHUNK), st.integers(1, 2 * CHUNK))
def test_what_rows_share_ends_before_the_first_that_differs(a: int, b: int, odd: int) -> None:
    """Nothing from the start: 0."""
    assert shared(grown(1, a), grown(1, b)) == min(a, b)
    assert shared(grown(1, a), grown(1, b, odd)) == min(a, b, odd - 1)
    assert shared(grown(1, a), grown(2, b)) == 0


def test_equal_full_chunks_are_one_object() -> None:
    """So that long rows of several nodes are compared, and kept, at the cost of one."""
    one, two = grown(1, 2 * CHUNK), grown(1, 2 * CHUNK + 9)
    assert [a is b for a, b in zip(one, two, strict=False)] == [True, True, False]
