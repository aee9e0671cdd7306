"""Searches in the Python of a page, here in node, against the same ones in this Python.

Each model of the kit is searched as it is built by its name, up to a bound. Both count processor
time, so that a busy machine slows down neither.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from statistics import median

from benchmarks.figures import Figure, show, spoken, unmeasured
from kit.model.registry import build, model_names
from kit.search.check import check
from tests.house.source import ROOT
from tools.core import fetched, ran

MOST, LEAST = 2_000, 200
"""States of a search; of fewer than that, a clock says little."""
USUAL, WORST = 5.0, 8.0
"""How many times as long a search may take there: the median of all models, and any of them."""
PROGRAM = """
import json
from js import process
from benchmarks.page import timed

def now():
    used = process.cpuUsage()
    return (used.user + used.system) / 1e6

print(json.dumps(timed(now)))
"""


def timed(now: Callable[[], float]) -> dict[str, tuple[int, float]]:
    """By model: the states that a search sees, and the seconds that it takes by this clock."""
    told = {}
    for name in model_names():
        model = build(name)
        began = now()
        states = check(model, max_states=MOST, progress=None).states
        told[name] = states, now() - began
    return told


def figures() -> Iterator[Figure]:
    """The median of all models, the one that takes longest, and a row for each."""
    if fetched() is None:
        yield unmeasured("searches in a page", "no Python for browsers: `make programs`")
        return
    here, there = timed(time.process_time), json.loads(ran(PROGRAM, ROOT).splitlines()[-1])
    rows = {}
    for name, (states, own) in here.items():
        alike, page = there[name]
        assert alike == states, name
        if states >= LEAST:
            rows[name] = Figure(f"{name}: {states:,} states", spoken(page), spoken(own), page / own)
    ratios = {name: row.ratio or 0 for name, row in rows.items()}
    usual, slowest = median(ratios.values()), max(ratios, key=ratios.__getitem__)
    for about, ratio, most in (
        (f"searches in a page: the median of {len(rows)} models", usual, USUAL),
        (f"searches in a page: the slowest, {slowest}", ratios[slowest], WORST),
    ):
        yield Figure(about, "", "CPython", ratio, f"at most {most:g} times", ratio <= most)
    yield from rows.values()


if __name__ == "__main__":
    show(figures())
