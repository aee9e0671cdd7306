"""The model of a recovery in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.recovery.model import Recovery
from kit.protocols.recovery.parameters import SAFEGUARDS, RecoveryParameters

FIVE = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}
SCENARIOS = (
    Scenario(
        "majority-is-lost",
        "Three of five die; B knows of more than A and leads, entry 12 is gone with the dead",
        {**FIVE, "operation": True, "writes": 1},
    ),
    Scenario(
        "manual-order",
        "The published manual's order, with recovery_leader taken away at the end",
        {**FIVE, "edition": "server"},
    ),
    Scenario(
        "voters-die-at-once",
        "Five of seven vote, and three of these die at once: four nodes live, and no majority",
        {"edition": "server", "commit_indexes": (3, 3, 3, 2, 3, 3, 3), "dead": "A B C"},
    ),
)
ENTRY = Entry(
    name="recovery",
    title=Recovery.title,
    parameters=RecoveryParameters,
    build=Recovery,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {
            "commit_indexes": (1, 2, 2, 2, 2, 2),
            "dead": "D E F",
            "operation": True,
            "crashes": 1,
            "deaths": 1,
            "returns": 1,
            "changes": 1,
            "writes": 1,
        },
        {"crash": 0.2, "die": 0.1, "return": 0.3},
    ),
)
