"""What clients are promised: that reads see writes, and one order that explains what they saw."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.storage.monitors import NEVER, RegisterOperation, linearizable
from kit.protocols.storage.rules.requests import (
    DONE,
    FAILED,
    OPEN,
    REPAIRING,
    Request,
    tombstone,
    written,
)
from kit.protocols.storage.storage import Finish, Start
from tests.protocols.storage.toys import A, epoch, history, toy

Seen = tuple[int, int, Literal["writes", "reads"], int]


@pytest.mark.parametrize(
    ("seen", "fits"),
    [
        ([], True),
        ([(0, NEVER, "writes", 1)], True),
        ([(0, 1, "writes", 1)], True),
        ([(0, 1, "reads", 0)], True),
        ([(0, 1, "reads", 1)], False),
        # one after the other
        ([(0, 1, "writes", 1), (2, 3, "reads", 1)], True),
        ([(0, 1, "writes", 1), (2, 3, "reads", 0)], False),
        ([(0, 1, "reads", 1), (2, 3, "writes", 1)], False),
        ([(0, 1, "reads", 0), (2, 3, "writes", 1)], True),
        # in any sequence in which they are told of
        ([(2, 3, "reads", 1), (0, 1, "writes", 1)], True),
        ([(2, 3, "reads", 0), (0, 1, "writes", 1)], False),
        # whatever begins when another ends may come first
        ([(0, 1, "writes", 1), (1, 2, "reads", 0)], True),
        # side by side, either may be first
        ([(0, 3, "writes", 1), (1, 2, "reads", 0)], True),
        ([(0, 3, "writes", 1), (1, 2, "reads", 1)], True),
        ([(0, 9, "writes", 1), (1, 2, "reads", 1), (3, 4, "reads", 0)], False),
        ([(0, 9, "writes", 1), (1, 2, "reads", 0), (3, 4, "reads", 1)], True),
        ([(0, 9, "writes", 1), (1, 4, "reads", 1), (2, 3, "reads", 0)], True),
        # a write without an answer may have happened at any time, or not at all
        ([(0, NEVER, "writes", 1), (1, 2, "reads", 0), (3, 4, "reads", 1)], True),
        ([(0, NEVER, "writes", 1), (1, 2, "reads", 1), (3, 4, "reads", 0)], False),
        ([(2, NEVER, "writes", 1), (0, 1, "reads", 1)], False),
        # of two writes the one that the first read does not see comes between the reads
        ([(0, 5, "writes", 1), (1, 6, "writes", 2), (7, 8, "reads", 1)], True),
        ([(0, 1, "writes", 1), (2, 3, "writes", 2), (4, 5, "reads", 1)], False),
        ([(0, 1, "writes", 1), (2, 3, "writes", 2), (4, 5, "reads", 2)], True),
        ([(0, 9, "writes", 1), (1, 8, "writes", 2), (2, 3, "reads", 2), (4, 5, "reads", 1)], True),
        (
            [
                *[(0, 9, "writes", 1), (1, 8, "writes", 2)],
                *[(2, 3, "reads", 2), (4, 5, "reads", 1), (6, 7, "reads", 2)],
            ],
            False,
        ),
    ],
)
def test_one_order(seen: list[Seen], fits: bool) -> None:
    """Each keeps its place against whatever ended before it began; a read sees the last write."""
    operations = tuple(
        RegisterOperation(began, ended, kind == "writes", outcome)
        for began, ended, kind, outcome in seen
    )
    assert linearizable(operations) is fits


MISSED, FOUND = "misses write {}, which had succeeded", "still finds what delete {} deleted"
READ = "read {}, answered by A and completed at epoch 1, "


@pytest.mark.parametrize(
    ("mutations", "seen", "phase", "missed", "found"),
    [
        (("write QUORUM", "write QUORUM"), written(2), DONE, "", ""),
        (("write QUORUM", "write QUORUM"), written(1), DONE, MISSED.format(2), ""),
        (("write QUORUM", "write QUORUM"), 0, DONE, MISSED.format(2), ""),
        (("write QUORUM", "write QUORUM"), written(1), FAILED, "", ""),
        (("write QUORUM", "write QUORUM"), written(1), REPAIRING, "", ""),
        (("write QUORUM", "write ONE"), written(1), DONE, "", ""),
        (("write QUORUM", "write ONE"), 0, DONE, MISSED.format(1), ""),
        (("write ONE", "write ONE"), 0, DONE, "", ""),
        # what is older than what was missed is no sign of a deletion
        (("write QUORUM", "write QUORUM", "delete ONE"), written(1), DONE, MISSED.format(2), ""),
        (("write QUORUM", "write QUORUM", "delete ONE"), 0, DONE, "", ""),
        # a tombstone may have been collected, and nothing is left of what it deleted
        (("write QUORUM", "delete QUORUM"), tombstone(2), DONE, "", ""),
        (("write QUORUM", "delete QUORUM"), 0, DONE, "", ""),
        (("write QUORUM", "delete QUORUM"), written(1), DONE, "", FOUND.format(2)),
        (("write QUORUM", "delete ONE"), 0, DONE, "", ""),
        (("write QUORUM", "delete ONE"), written(1), DONE, "", ""),
        (("delete QUORUM", "write QUORUM"), written(2), DONE, "", ""),
        (("delete QUORUM", "write QUORUM"), tombstone(1), DONE, MISSED.format(2), ""),
        (("delete QUORUM", "write QUORUM"), 0, DONE, MISSED.format(2), ""),
        (("delete QUORUM", "write ONE"), 0, DONE, "", ""),
        (("delete QUORUM", "write ONE"), written(2), DONE, "", ""),
        (("delete QUORUM", "delete QUORUM"), tombstone(1), DONE, "", ""),
    ],
)
def test_a_read_sees_what_had_succeeded_before_it_began(
    mutations: tuple[str, ...], seen: int, phase: int, missed: str, found: str
) -> None:
    """Where the levels promise it. A deletion is judged by itself: what it deleted is gone."""
    lines = (*(f"K{at} {line}" for at, line in enumerate(mutations)), "K9 read QUORUM")
    model: Any = toy(history(epoch(1, A, A)), lines, together=True)
    number = len(mutations)
    done = tuple(Request(DONE, timestamp=at + 1) for at in range(number))
    start = replace(model.start(), requests=(*done, Request()))
    open_ = replace(start, requests=(*done, Request(OPEN, 0, 0, 0, A, seen)))
    ended = replace(start, requests=(*done, Request(phase, 0, 0, 0, 0, seen)))
    said = {}
    for monitor in model.monitors:
        memory = monitor.step(monitor.begin(), start, Start(number, 1), open_)
        said[monitor.name] = monitor.verdict(monitor.step(memory, open_, Finish(number), ended))
    assert said["visible"] == (READ.format(number + 1) + missed if missed else None)
    assert said.get("no-resurrection") == (READ.format(number + 1) + found if found else None)


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
