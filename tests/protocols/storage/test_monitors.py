"""What clients are promised: that reads see writes, and one order that explains what they saw."""

from __future__ import annotations

import itertools
from typing import Any

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

BESIDE = ((0, 9, "writes", 1), (1, 8, "writes", 2))
HISTORIES: dict[str, list[tuple[bool, list[tuple[int, int, str, int]]]]] = {
    "a request alone": [
        (True, []),
        (True, [(0, NEVER, "writes", 1)]),
        (True, [(0, 1, "writes", 1)]),
        (True, [(0, 1, "reads", 0)]),
        (False, [(0, 1, "reads", 1)]),
    ],
    "a read after a write sees it": [
        (True, [(0, 1, "writes", 1), (2, 3, "reads", 1)]),
        (False, [(0, 1, "writes", 1), (2, 3, "reads", 0)]),
        (False, [(0, 1, "reads", 1), (2, 3, "writes", 1)]),
        (True, [(0, 1, "reads", 0), (2, 3, "writes", 1)]),
    ],
    "the sequence in which operations are listed decides nothing": [
        (True, [(2, 3, "reads", 1), (0, 1, "writes", 1)]),
        (False, [(2, 3, "reads", 0), (0, 1, "writes", 1)]),
    ],
    "a read that begins when a write ends may come first": [
        (True, [(0, 1, "writes", 1), (1, 2, "reads", 0)]),
        (True, [(0, 1, "writes", 1), (1, 2, "reads", 1)]),
    ],
    "a read beside a write may see it or not": [
        (True, [(0, 3, "writes", 1), (1, 2, "reads", 0)]),
        (True, [(0, 3, "writes", 1), (1, 2, "reads", 1)]),
    ],
    "a write that one read saw is seen by every later read": [
        (False, [(0, 9, "writes", 1), (1, 2, "reads", 1), (3, 4, "reads", 0)]),
        (True, [(0, 9, "writes", 1), (1, 2, "reads", 0), (3, 4, "reads", 1)]),
        (True, [(0, 9, "writes", 1), (1, 4, "reads", 1), (2, 3, "reads", 0)]),
    ],
    "a write without an answer may happen at any time or never": [
        (True, [(0, NEVER, "writes", 1), (2, 3, "reads", 1)]),
        (True, [(0, NEVER, "writes", 1), (2, 3, "reads", 0), (4, 5, "reads", 0)]),
        (True, [(0, NEVER, "writes", 1), (1, 2, "reads", 0), (3, 4, "reads", 1)]),
        (False, [(0, NEVER, "writes", 1), (1, 2, "reads", 1), (3, 4, "reads", 0)]),
        (False, [(2, NEVER, "writes", 1), (0, 1, "reads", 1)]),
    ],
    "a read without an answer saw nothing": [
        (True, [(0, NEVER, "reads", 1)]),
        (True, [(0, NEVER, "reads", 2), (1, 2, "writes", 1), (3, 4, "reads", 1)]),
        (False, [(0, NEVER, "reads", 0), (1, 2, "writes", 1), (3, 4, "reads", 0)]),
    ],
    "two writes side by side come in either order, which all reads share": [
        (True, [(0, 5, "writes", 1), (1, 6, "writes", 2), (7, 8, "reads", 1)]),
        (False, [(0, 1, "writes", 1), (2, 3, "writes", 2), (4, 5, "reads", 1)]),
        (True, [(0, 1, "writes", 1), (2, 3, "writes", 2), (4, 5, "reads", 2)]),
        (True, [*BESIDE, (2, 3, "reads", 2), (4, 5, "reads", 1)]),
        (False, [*BESIDE, (2, 3, "reads", 2), (4, 5, "reads", 1), (6, 7, "reads", 2)]),
    ],
}


@pytest.mark.parametrize("rule", HISTORIES)
def test_a_history_is_linearizable_when_some_order_explains_its_reads(rule: str) -> None:
    """An order keeps real time, and each read sees the last write before it."""
    for fits, seen in HISTORIES[rule]:
        operations = tuple(
            RegisterOperation(began, ended, kind == "writes", outcome)
            for began, ended, kind, outcome in seen
        )
        assert linearizable(operations) is fits, seen


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
def test_a_read_that_misses_a_succeeded_write_or_delete_is_reported(
    mutations: tuple[str, ...], seen: int, phase: int, missed: str, found: str
) -> None:
    """Only where the levels promise visibility. Writes and deletions have a monitor each."""
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
def test_linearizable_agrees_with_trying_every_order(
    operations: tuple[RegisterOperation, ...],
) -> None:
    """Histories of up to five operations are tried against the definition."""
    assert linearizable(operations) is plainly(operations)
