"""The model of the Raft upgrade in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.upgrade.raft.model import RaftUpgrade
from kit.protocols.upgrade.raft.parameters import SAFEGUARDS, RaftUpgradeParameters

ROLLING = tuple(f"{word} {name}" for name in "ABC" for word in ("configure", "restart"))
JOINED = tuple(f"join-group {name}" for name in "ABC")
SCENARIOS = (
    Scenario("into-raft", "Three nodes get the option one by one; the last restart starts it"),
    Scenario(
        "version-by-version",
        "A rolling upgrade to the newer version turns the option on as well",
        {"beginning": "older version"},
    ),
    Scenario(
        "new-cluster",
        "A new cluster has Raft at once, and a majority is enough for a schema change",
        {"beginning": "new cluster", "changes": 2, "crashes": 2},
        script=("alter A", "crash C", "alter A", "restart C", "catch-up C"),
    ),
    Scenario(
        "node-dies-halfway",
        "A node is lost before it enters synchronize: the others wait, schema changes are off",
        {"deaths": 1, "changes": 1, "retries": 4},
        script=(*ROLLING, *JOINED, "compare A", "synchronize A", "compare B", "synchronize B",
                "die C", *["retry B"] * 4),
    ),
    Scenario(
        "schema-never-agrees",
        "All nodes live, a rolling restart is done, and one definition keeps versions apart",
        {"schema_problem": True, "retries": 2, "restarts": 3},
        script=(*ROLLING, *JOINED, "retry A", "retry A", *(f"restart {name}" for name in "ABC")),
    ),
)  # fmt: skip
ENTRY = Entry(
    name="raft_upgrade",
    title=RaftUpgrade.title,
    parameters=RaftUpgradeParameters,
    build=RaftUpgrade,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {
            "nodes": 3,
            "beginning": "older version",
            "changes": 9,
            "crashes": 5,
            "deaths": 1,
            "cuts": 3,
            "turns": 1,
            "restarts": 1,
            "edits": 1,
            "retries": 1,
        },
        {
            "alter": 0.02,
            "crash": 0.02,
            "cut": 0.01,
            "turn off": 0.01,
            "die": 0.001,
            "update": 0.001,
        },
    ),
)
