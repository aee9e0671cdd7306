"""What every benchmark hands back: one row of the table, and how times are taken."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct


class Figure(Struct, frozen=True):
    """One measured thing: its name, ours and the baseline in words, their ratio, and the aim.

    ``ratio`` is None where there is nothing to divide; ``met`` says whether the aim was reached,
    and is None where there is none.
    """

    name: str
    ours: str
    baseline: str
    ratio: float | None = None
    aim: str = ""
    met: bool | None = None

    @property
    def row(self) -> str:
        """The figure as one line of the table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        verdict = {None: "", True: "met", False: "NOT MET"}[self.met]
        return (
            f"{self.name:<58} {self.ours:>14} {self.baseline:>30} {ratio:>8}"
            f"  {self.aim:<18} {verdict}"
        ).rstrip()


@cache
def _held() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kit-bench-")


def scratch() -> Path:
    """A new folder; it goes when the process ends."""
    return Path(tempfile.mkdtemp(dir=_held().name))


def unmeasured(name: str, lack: str) -> Figure:
    """The row of a thing that cannot be measured here, with what is missing."""
    return Figure(name, "not measured", lack)


HEAD = f"{'measured':<58} {'kit':>14} {'against':>30} {'ratio':>8}  aim"


def show(figures: Iterable[Figure]) -> None:
    """Print rows as a table, each when it is there."""
    print(HEAD)
    for figure in figures:
        print(figure.row, flush=True)


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes, with the garbage collector out of the way."""
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    finally:
        gc.enable()


def alternating(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The best time of each of several pieces of work that take turns."""
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def spoken(value: float) -> str:
    """A time in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError
