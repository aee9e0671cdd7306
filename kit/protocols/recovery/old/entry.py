"""The model of the old procedure in the registry."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.recovery.old.model import RecoveryMode
from kit.protocols.recovery.old.parameters import OldParameters

FIVE = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
SCENARIOS = (
    Scenario(
        "recovery-mode",
        "Three of five die; A and B enter RECOVERY mode, remove them, and upgrade to Raft again",
        FIVE,
    ),
    Scenario(
        "upgrade-is-stuck",
        "One of three died in a Raft upgrade: while a second one restarts, no quorum is left",
        {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True},
    ),
    Scenario(
        "dies-in-recovery-mode",
        "Four of seven die, and C in the middle of the procedure: it is removed as the others are",
        {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1},
        script=("isolate", "set A", "set B", "set C", "stop A", "start A", "die C"),
    ),
    Scenario(
        "three-voters-die",
        "Five of seven vote, and three of these die at once: four nodes live, and no majority",
        {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C", "returns": 1},
    ),
    Scenario(
        "change-in-recovery-mode",
        "A client changes the schema in RECOVERY mode: its version is a hash again",
        {**FIVE, "changes": 2},
        script=("isolate", "set A", "set B", "stop A", "start A", "stop B", "start B", "alter A"),
    ),
)
ENTRY = Entry(
    name="recovery_mode",
    title=RecoveryMode.title,
    parameters=OldParameters,
    build=RecoveryMode,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {"crashes": 1, "returns": 1, "changes": 2, "mistypes": 1},
        {"crash": 0.2, "return": 0.3, "mistype": 0.2},
        comes_to_goals=False,  # an operator may set and unset a row for ever
    ),
)
