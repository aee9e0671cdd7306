"""The log as a value: what it holds, what it shares, and that nothing ever changes it."""

from __future__ import annotations

import copy
import pickle
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kit.chunks import CHUNK, Row, added, at, each, part, row_of, shared
from kit.model.log import Log, log_of

EVENTS = st.lists(st.text(max_size=3) | st.integers() | st.tuples(st.integers()), max_size=200)


def numbers(count: int) -> Log:
    """A log of 0, 1, 2 and so on."""
    return log_of(range(count))


@given(EVENTS)
def test_a_log_is_a_sequence(events: list[object]) -> None:
    """Length, order, indexing and iteration are those of what was appended."""
    log = log_of(events)
    assert len(log) == len(events)
    assert list(log) == events == [log[i] for i in range(len(events))]


@pytest.mark.parametrize("length", [0, 1, 2, 640])
def test_a_longer_log_and_its_prefix(length: int) -> None:
    """Every entry and every prefix is right."""
    log = numbers(length)
    assert list(log) == list(range(length))
    longer = log.append(length)
    assert longer[length] == length
    assert list(longer.shorter()) == list(range(length))
    assert longer.shorter() == log
    for outside in (-1, length, length + 1):
        with pytest.raises(IndexError):
            log[outside]


@pytest.mark.spec("A-002")
def test_appending_leaves_the_former_log_as_it_was() -> None:
    """Each append gives a new log; the older ones keep their entries and digests, forks too."""
    logs = [Log()]
    for number in range(200):
        logs.append(logs[-1].append(number))
    digests = [log.digest for log in logs]
    forks = [log.append("other") for log in logs]
    assert [list(log) for log in logs] == [list(range(n)) for n in range(201)]
    assert [log.digest for log in logs] == digests
    assert all(list(fork) == [*range(n), "other"] for n, fork in enumerate(forks))


@pytest.mark.spec("A-002")
@pytest.mark.parametrize("name", ["digest", "length", "_last", "_prefix", "anything"])
def test_a_log_cannot_be_changed(name: str) -> None:
    """No attribute of a log can be set or deleted, none can be added, no entry assigned."""
    log = numbers(70)
    before = list(log), log.digest
    with pytest.raises(AttributeError, match="never changes"):
        setattr(log, name, ())
    with pytest.raises(AttributeError, match="never changes"):
        delattr(log, name)
    with pytest.raises(TypeError):
        log[0] = "forged"  # type: ignore[index]  # that it cannot be assigned is what is tested
    assert (list(log), log.digest) == before


@given(EVENTS, EVENTS)
def test_equality_is_that_of_the_entries(one: list[object], other: list[object]) -> None:
    """Two logs are equal, with equal hashes, exactly when they hold the same entries in order."""
    first, second = log_of(one), log_of(other)
    assert (first == second) == (one == other)
    again = log_of(one)
    assert (again, hash(again), again.digest) == (first, hash(first), first.digest)


@pytest.mark.spec("A-002")
def test_order_and_every_entry_count_in_the_digest() -> None:
    """Swapping two entries, leaving one out or changing one gives another digest."""
    entries = list(range(100))
    original = log_of(entries).digest
    swapped = [*entries[:10], entries[11], entries[10], *entries[12:]]
    changed = [*entries[:64], "64", *entries[65:]]
    for forged in (swapped, changed, entries[:-1], entries[1:], [*entries, 100]):
        assert log_of(forged).digest != original


@pytest.mark.parametrize("length", [0, 3, 5000])
def test_a_log_can_be_copied_and_stored(length: int) -> None:
    """Copies and pickles, however long the log, are equal logs."""
    log = numbers(length)
    assert copy.deepcopy(log) == copy.copy(log) == pickle.loads(pickle.dumps(log)) == log


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
