"""Linearizability: whether some order of the requests fits what every client saw."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.storage.monitors import NEVER, RegisterOperation, linearizable


def write(began: int, ended: int, value: int) -> RegisterOperation:
    """A write of ``value``."""
    return RegisterOperation(began, ended, True, value)


def read(began: int, ended: int, value: int) -> RegisterOperation:
    """A read that returned ``value``."""
    return RegisterOperation(began, ended, False, value)


def test_a_read_after_a_write_sees_it() -> None:
    """What was acknowledged is there."""
    assert linearizable((write(0, 1, 1), read(2, 3, 1)))
    assert not linearizable((write(0, 1, 1), read(2, 3, 0)))


def test_a_read_beside_a_write_may_see_it_or_not() -> None:
    """While a write is under way both answers are right."""
    assert linearizable((write(0, 3, 1), read(1, 2, 1)))
    assert linearizable((write(0, 3, 1), read(1, 2, 0)))


def test_what_was_seen_is_not_unseen() -> None:
    """Once a read saw the write, a later read may not miss it, even while the write goes on."""
    assert not linearizable((write(0, NEVER, 1), read(1, 2, 1), read(3, 4, 0)))
    assert linearizable((write(0, NEVER, 1), read(1, 2, 0), read(3, 4, 1)))


def test_a_write_that_failed_may_have_happened_or_not() -> None:
    """Both a read that sees it and one that never does fit."""
    assert linearizable((write(0, NEVER, 1), read(2, 3, 1)))
    assert linearizable((write(0, NEVER, 1), read(2, 3, 0), read(4, 5, 0)))


def test_a_read_without_an_answer_saw_nothing() -> None:
    """Whatever it was about to return, beside other requests and alone."""
    assert linearizable((read(0, NEVER, 1),))
    assert linearizable((read(0, NEVER, 2), write(1, 2, 1), read(3, 4, 1)))
    assert not linearizable((read(0, NEVER, 0), write(1, 2, 1), read(3, 4, 0)))


def plainly(operations: tuple[RegisterOperation, ...]) -> bool:
    """The definition, word by word: some order of the answered and some of the others fits."""
    must = [one for one in operations if one.ended != NEVER]
    may = [one for one in operations if one.ended == NEVER]
    for count in range(len(may) + 1):
        for extra in itertools.combinations(may, count):
            for order in itertools.permutations([*must, *extra]):
                if fits(order):
                    return True
    return False


def fits(order: tuple[RegisterOperation, ...]) -> bool:
    """Whether an order keeps real time and every read gives the newest write before it."""
    value = 0
    for i, one in enumerate(order):
        if any(later.ended < one.began for later in order[i + 1 :]):
            return False
        if one.writes:
            value = one.outcome
        elif one.outcome != value:
            return False
    return True


@st.composite
def histories(draw: st.DrawFn) -> tuple[RegisterOperation, ...]:
    """A few operations with distinct times; reads are always answered."""
    count = draw(st.integers(1, 5))
    times = draw(st.permutations(range(2 * count)))
    found = []
    for i in range(count):
        began, ended = sorted(times[2 * i : 2 * i + 2])
        writes = draw(st.booleans())
        lost = writes and draw(st.booleans())
        value = i + 1 if writes else draw(st.integers(0, count))
        found.append(RegisterOperation(began, NEVER if lost else ended, writes, value))
    return tuple(found)


@given(histories())
def test_the_search_is_the_definition(operations: tuple[RegisterOperation, ...]) -> None:
    """It says of every small history what trying all orders says."""
    assert linearizable(operations) is plainly(operations)


def test_what_coincides_is_side_by_side() -> None:
    """A read that begins where a write ends may still come before it, or see it."""
    for seen in (0, 1):
        assert linearizable((write(0, 2, 1), read(2, 3, seen)))
    assert not linearizable((write(0, 2, 1), read(3, 4, 0)))
