"""The model of the topology upgrade in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.upgrade.topology.model import TopologyUpgrade
from kit.protocols.upgrade.topology.parameters import SAFEGUARDS, TopologyUpgradeParameters

SCENARIOS = (
    Scenario(
        "topology-into-raft",
        "The last node is upgraded, POST starts it, the table fills, and a queued join is served",
        {"older": 1},
        script=("upgrade A", "post B", "build A", "bootstrap D", "build B", "build C",
                "generation", "done", "serve D"),
    ),
    Scenario(
        "joined-in-the-old-way",
        "A node joins while the cluster is not upgraded: POST waits for it",
        {"nodes": 2},
        script=("bootstrap C", "finish C"),
    ),
    Scenario(
        "coordinator-dies-halfway",
        "The leader goes down during the build; the next one finds what is there, and goes on",
        {"crashes": 1, "joiners": 0},
        script=("post A", "build A", "build B", "crash A", "elect B"),
    ),
)  # fmt: skip
ENTRY = Entry(
    name="topology_upgrade",
    title=TopologyUpgrade.title,
    parameters=TopologyUpgradeParameters,
    build=TopologyUpgrade,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing({"nodes": 3, "older": 2, "joiners": 2, "crashes": 3}, {"crash": 0.3}),
)
