"""The model of failures in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.recovery.failures.model import Failures
from kit.protocols.recovery.failures.parameters import SAFEGUARDS, FailuresParameters

SCENARIOS = (
    Scenario(
        "two-of-three",
        "Two of three nodes fail: no schema changes, and data at ONE only",
        script=("stop C", "alter A", "stop B", "start B", "catch up B", "alter A"),
    ),
    Scenario(
        "one-of-two-datacenters",
        "Of two datacenters one is lost: neither half is a majority",
        {"datacenters": (3, 3)},
        script=("lose dc2", "start dc2", "catch up D", "catch up E", "catch up F"),
    ),
    Scenario(
        "one-of-three-datacenters",
        "Of three datacenters one is lost: the majority goes on",
        {"datacenters": (3, 3, 3)},
        script=("lose dc3", "alter A"),
    ),
    Scenario(
        "cut-in-two",
        "A cut: one side changes the schema, the other one has to wait until it rejoins",
        {"datacenters": (3, 2)},
        script=("cut off dc2", "alter A", "rejoin", "catch up D", "catch up E"),
    ),
)
ENTRY = Entry(
    name="failures",
    title=Failures.title,
    parameters=FailuresParameters,
    build=Failures,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {"edition": "server", "datacenters": (3, 3), "changes": 3},
        {"stop": 0.3, "lose": 0.1, "cut": 0.2},
        comes_to_goals=False,  # nodes may fail as often as they come back
    ),
)
