"""The dataplane model in the registry, with the configurations worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.dataplane.former import FORMER
from kit.protocols.dataplane.model import Dataplane
from kit.protocols.dataplane.parameters import DataplaneParameters
from kit.protocols.dataplane.safeguards import SAFEGUARDS
from kit.protocols.storage.scenario_output import OUTPUT

_LOCAL = ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM")
_TWO = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network", "requests": _LOCAL}
_DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")

SCENARIOS = (
    Scenario("write-and-read", "A write before a node joins, a read after it"),
    Scenario(
        "two-replicas", "The same with two replicas, small enough to search at once", {"rf": 2}
    ),
    Scenario(
        "no-barrier",
        "No barrier: what was acknowledged at epoch 100 is not there at epoch 102",
        off=("progress-barrier",),
    ),
    Scenario("deletes", "A write, its deletion and a read", {"rf": 2, "requests": _DELETED}),
    Scenario(
        "while-leaving",
        "A node leaves between a write and a read",
        {"nodes": 4, "operations": ("decommission D",)},
    ),
    Scenario("local-quorums", "Local quorums, and a barrier that counts all datacenters", _TWO),
    Scenario(
        "local-quorums-kept",
        "Local quorums, and the barrier that counts each datacenter",
        {**_TWO, "edition": "server"},
    ),
    Scenario("gossip", "Gossip: no order, no barrier, only waiting", {"mode": "gossip"}),
)


def build(parameters: DataplaneParameters, off: tuple[str, ...] = ()) -> Dataplane:
    """The model."""
    return Dataplane(parameters, off)


FUZZED = {
    "requests": _DELETED,
    "timeouts": True,
    "cancels": 1,
    "crashes": 1,
    "cleaning": True,
    "collecting": True,
}
ENTRY = Entry(
    name="dataplane",
    title=Dataplane.title,
    parameters=DataplaneParameters,
    build=build,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    scenario_output=OUTPUT,
    fuzzing=Fuzzing(parameters=FUZZED),
    former=FORMER,
)
