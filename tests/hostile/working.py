"""How much work a call is, without a clock: lines of Python that run, and bytes that are made.

A copy of what is left to read, made for each of its parts, is one line of Python each time: the
bytes of all copies tell of it.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple


class Work(NamedTuple):
    """Lines that ran, and bytes that were made on the way."""

    lines: int
    made: int


def work_of(call: Callable[[], Any]) -> Work:
    """What a call takes; what it raises on purpose is an answer as well."""
    lines = made = held = 0

    def note() -> None:
        nonlocal made, held
        now, most = tracemalloc.get_traced_memory()
        made += max(0, most - held)
        held = now
        tracemalloc.reset_peak()

    def trace(_frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        if event in ("line", "return"):
            lines += event == "line"
            note()
        return trace

    former = sys.gettrace()
    tracemalloc.start(1)
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(former)
        note()
        tracemalloc.stop()
    return Work(lines, made)
