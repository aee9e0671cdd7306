"""The tablet model in the registry, with the configurations worth seeing."""

from __future__ import annotations

from kit.engine.former import Former
from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.storage.scenario_output import OUTPUT
from kit.protocols.tablets.requests.coverage import rows
from kit.protocols.tablets.requests.model import TabletRequests, TabletWithinNode
from kit.protocols.tablets.requests.moves import WITHIN_NODE
from kit.protocols.tablets.requests.parameters import TabletParameters
from kit.protocols.tablets.requests.safeguards import SAFEGUARDS

SCENARIOS = (
    Scenario("tablet-moves", "A write before a tablet's replica moves, a read after it"),
    Scenario(
        "small-tablet-moves",
        "The same with one replica, small enough to search at once",
        {"rf": 1},
    ),
    Scenario(
        "requests-within-a-node",
        "From shard to shard: the node alone says which shard reads and which ones write",
        {"kind": WITHIN_NODE, "rf": 2, "slow": True},
    ),
    Scenario("tablet-rebuilt", "A dead replica is rebuilt on another node", {"kind": "rebuild_v2"}),
    Scenario("tablet-repaired", "All replicas are made equal", {"kind": "repair"}),
    Scenario(
        "tablet-move-fails",
        "The target is excluded after the read switch, and reads go back first",
        {"edition": "server", "excluded": "D"},
    ),
)


def build(parameters: TabletParameters, off: tuple[str, ...] = ()) -> TabletRequests:
    """The model."""
    model = TabletWithinNode if parameters.kind == WITHIN_NODE else TabletRequests
    return model(parameters, off)


FUZZED = {"edition": "server", "rf": 2, "losses": 1, "late": 1}
ENTRY = Entry(
    name="tablet",
    title=TabletRequests.title,
    parameters=TabletParameters,
    build=build,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    scenario_output=OUTPUT,
    fuzzing=Fuzzing(parameters=FUZZED, weights={"commit": 0.3, "request": 0.2}),
    rows=rows,
    former=Former(scenarios={"seed-way-back-loses-a-write": "documents-way-back-loses-a-write"}),
)
