"""Nothing depends on the order of sets: the same work under two hash seeds gives the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from kit.model.model import fingerprint
from tests.house.source import ROOT

PROGRAM = """
from kit.search.check import check
from kit.model.model import fingerprint, goal
from kit.model.registry import build, entries, rows_of, scenario_of
from kit.model.timeline import Timeline
from kit.model.trace import dumps

def every_state(model):
    seen, frontier = {model.start(): None}, [model.start()]
    while frontier:
        found = []
        for state in frontier:
            for action, after in model.successors(state):
                if after not in seen:
                    seen[after] = None
                    found.append(after)
        frontier = found
    return seen

print([(e.name, [s.name for s in e.scenarios]) for e in entries().values()])
print([rows_of(build(name)).names for name in ("tablet", "tcm", "vnodes")])
for name, parameters in (("twophase", {}), ("tcm", {}), ("tcm", {"crashes": 1, "window": 2})):
    model = build(name, parameters)
    for state in every_state(model):
        waiting = [(model.verb(a), why.reason, why.evidence, why.missing)
                   for a, why in model.waiting(state)]
        print(fingerprint(state), [model.verb(a) for a in model.actions(state)], waiting)
    result = check(model)
    print(result.states, result.transitions, result.depth, result.unreached, result.unjudged)

guard = next(g for g in build("tcm").safeguards if g.name == "write-before-read")
model = build("tcm", guard.smallest, ("write-before-read",))
violation = check(model).violation
print(violation.property, violation.witness, [model.verb(a) for a in violation.actions])

for name in ("bootstrap", "two-datacenters", "cancel", "one-gives-up"):
    entry, scenario = scenario_of(name)
    timeline = Timeline(build(entry.name, scenario.parameters), scenario.script)
    while timeline.forward() is not None:
        pass
    print(dumps(timeline.save()))
    print([(m.say, m.milestone) for m in timeline.moments], timeline.verdicts())
"""


@cache
def output(seed: str) -> bytes:
    """What the program prints under a hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return done.stdout


@pytest.mark.spec("H-013")
def test_the_hash_seed_changes_no_byte() -> None:
    """States, their order, verbs, refusals, searches, counterexamples, narrations and traces are
    the same to the byte in processes that order their sets differently.
    """
    assert len(output("1")) > 100_000
    assert output("1") == output("4242")


@pytest.mark.spec("H-013")
def test_a_run_names_no_time_and_no_address() -> None:
    """Nothing that is printed of states, traces and searches holds an address in memory."""
    assert b" at 0x" not in output("1")
    assert b"object at" not in output("1")


def test_fingerprints_are_of_the_content() -> None:
    """Equal content has one fingerprint, other content another; wide integers are content, too."""
    assert fingerprint((1, (2, "x"))) == fingerprint([1, [2, "x"]]) == "6c1a916b0f750e9a"
    wide = [fingerprint((number,)) for number in (1 << 64, -(1 << 64), (1 << 64) + 1, 1 << 200)]
    assert len(set(wide)) == 4
    with pytest.raises(TypeError, match="a state cannot hold a object"):
        fingerprint((object(),))
