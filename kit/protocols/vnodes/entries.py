"""The vnodes model in the registry, with the configurations worth seeing."""

from __future__ import annotations

from kit.engine.former import Former
from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.storage.scenario_output import OUTPUT
from kit.protocols.vnodes.coverage import rows
from kit.protocols.vnodes.model import Vnodes
from kit.protocols.vnodes.parameters import VnodesParameters
from kit.protocols.vnodes.safeguards import SAFEGUARDS

SCENARIOS = (
    Scenario("write-during-bootstrap", "A write before a node bootstraps, a read after it"),
    Scenario(
        "write-during-small-bootstrap",
        "The same with two replicas, small enough to search at once",
        {"nodes": 3, "rf": 2},
    ),
    Scenario("write-during-replace", "A dead node is replaced", {"operation": "replace"}),
    Scenario("write-during-decommission", "A node leaves", {"operation": "decommission"}),
    Scenario("write-during-removenode", "A dead node is removed", {"operation": "removenode"}),
    Scenario(
        "fence-without-drain",
        "A drain fails, and the fence stands in for it",
        {"edition": "server", "drain_fails": True},
    ),
)


def build(parameters: VnodesParameters, off: tuple[str, ...] = ()) -> Vnodes:
    """The model."""
    return Vnodes(parameters, off)


FUZZED = {"edition": "server", "drain_fails": True, "timeouts": True, "losses": 1, "late": 1}
ENTRY = Entry(
    name="vnodes",
    title=Vnodes.title,
    parameters=VnodesParameters,
    build=build,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    scenario_output=OUTPUT,
    fuzzing=Fuzzing(parameters=FUZZED, weights={"commit": 0.1}),
    rows=rows,
    former=Former(
        scenarios={
            "two-of-four-seed": "two-of-four-documents",
            "two-of-four-code": "two-of-four-server",
        }
    ),
)
