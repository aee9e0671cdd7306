"""What clients are promised: that reads see writes, and one order that explains what they saw."""

from __future__ import annotations

from typing import Any, Literal

import pytest
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
        (
            [(0, 9, "writes", 1), (1, 8, "writes", 2), (2, 3, "reads", 2), (4, 5, "reads", 1)],
            True,
        ),
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


def test_an_order_begins_with_what_is_held_before() -> None:
    """Nothing, unless said otherwise."""
    read = (RegisterOperation(0, 1, False, 7),)
    assert [linearizable(read, value) for value in (0, 6, 7)] == [False, False, True]


def test_a_write_changes_nothing_of_what_reads_are_owed() -> None:
    """Neither when it begins, after another one, nor when it ends."""
    lines = ("K1 write QUORUM", "K2 write QUORUM", "K3 read QUORUM")
    model: Any = toy(history(epoch(1, A, A)), lines, together=True)
    done = Request(DONE, timestamp=1)
    start = replace(model.start(), requests=(done, Request(), Request()))
    open_ = replace(start, requests=(done, Request(OPEN, timestamp=2), Request()))
    ended = replace(start, requests=(done, Request(DONE, timestamp=2), Request()))
    monitor = next(each for each in model.monitors if each.name == "visible")
    first = monitor.begin()
    assert monitor.step(first, start, Start(1, 1), open_) == first
    assert monitor.step(first, open_, Finish(1), ended) == first
    assert monitor.step(first, start, Start(2, 1), start) != first


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
