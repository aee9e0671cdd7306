"""Sweeps: tests of every scenario, picture or page, of which each landing takes a fixed share.

``@pytest.mark.sweep(3)`` says that a third of a test's cases is run in each landing, and all of
them by ``make test-deep`` or where somebody names the file. Cases are taken evenly, from a place
that the test's own name settles: so the same ones are taken everywhere and always, and a family
that one sweep leaves out is taken by others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from zlib import crc32

import pytest


def taken(name: str, cases: int, share: int) -> range:
    """Which of the cases of a test are run in each landing: one at least."""
    return range(crc32(name.encode()) % min(share, cases), cases, share)


def left_to_deep(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The cases of sweeps that no landing takes.

    Raises ``pytest.UsageError`` where a share is no whole number from 2.
    """
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if any(item.iter_markers("deep")):
            continue  # of these no landing takes any
        tests[item.nodeid.partition("[")[0]].append(item)
    for test, cases in tests.items():
        for mark in cases[0].iter_markers("sweep"):
            match mark.args:
                case (int(share),) if share >= 2:
                    here = taken(test, len(cases), share)
                    yield from (case for at, case in enumerate(cases) if at not in here)
                case _:
                    raise pytest.UsageError(f"{test}: sweep(share), one of that many: {mark.args}")
