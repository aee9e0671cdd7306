"""Seven complete searches whose counts are the same in every Python."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build, entry_of
from kit.search.check import check
from kit.search.fuzz import fuzz

STATES = {
    "twophase": 288,
    "tcm": 122,
    "group0": 2130,
    "coordinator": 736,
    "topology": 240,
    "tablets": 80,
    "balance": 27,
}


def counts() -> list[list[Any]]:
    """Model, states, steps and depth of each, and what the search says."""
    results = (check(build(name)) for name in STATES)
    return [[r.model, r.states, r.transitions, r.depth, r.sentence] for r in results]


WALKED = {
    **dict.fromkeys(("tcm", "dataplane", "vnodes", "cms", "tablets", "recovery"), 10),
    "balance": 2,  # a planner of many tablets, ten times as slow in columns without numpy
}
"""Models whose rules use columns, and the seeds of each."""


def walks() -> list[list[Any]]:
    """Steps and findings of random walks, with all faults."""
    models = {name: build(name, entry_of(name).fuzzing.parameters) for name in WALKED}
    walked = [fuzz(models[name], range(seeds), steps=40) for name, seeds in WALKED.items()]
    return [[each.steps, [f.property for f in each.findings]] for each in walked]
