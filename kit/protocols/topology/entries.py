"""The topology in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.topology.coverage import rows
from kit.protocols.topology.model import Topology
from kit.protocols.topology.parameters import TopologyParameters
from kit.protocols.topology.safeguards import SAFEGUARDS

SCENARIOS = (
    Scenario(
        "join-with-coordinator",
        "D joins: four transition states, a barrier in three of them (Topology over Raft)",
        {"operations": ("join D",)},
    ),
    Scenario(
        "replace-with-coordinator",
        "D takes the place of C, which is dead",
        {"operations": ("replace D C",)},
    ),
    Scenario(
        "decommission-with-coordinator",
        "C leaves, and is told to shut down once nobody writes to it",
        {"operations": ("leave C",)},
    ),
    Scenario(
        "removenode-with-coordinator",
        "C is dead and is removed; the others stream",
        {"operations": ("remove C",)},
    ),
    Scenario(
        "rebuild-with-coordinator",
        "C fetches its data again; the cluster has no transition state meanwhile",
        {"operations": ("rebuild C",)},
    ),
    Scenario(
        "queue-of-requests",
        "Three requests at once; the coordinator takes one after the other",
        {"operations": ("rebuild A", "leave C", "join D")},
        script=("rebuild A", "leave C", "join D"),
    ),
    Scenario(
        "rack-would-be-empty",
        "C is the only node of its rack: it may not leave, and is told why",
        {"operations": ("leave C",), "racks": ("dc1/r1", "dc1/r2", "dc1/r3"), "rf": 3},
    ),
    Scenario(
        "five-of-seven-vote",
        "Of seven members in two datacenters five vote; when one of them dies another one does",
        {
            "nodes": 7,
            "operations": ("rebuild A",),
            "racks": ("dc1/r1", "dc1/r2", "dc1/r3", "dc1/r1", "dc2/r1", "dc2/r2", "dc2/r3"),
            "crashes": 1,
        },
        script=("rebuild A", "crash B"),
    ),
    Scenario(
        "coordinator-dies",
        "The coordinator dies between decision and commit; another goes on from the tables",
        {"operations": ("join D",), "crashes": 1},
        script=("join D", "decide", "commit", "work", "crash A", "elect B"),
    ),
)
# Faults are rare, so that operations come far enough to meet them everywhere. Edition server breaks
# promises where drains fail (tests/protocols/topology/test_search.py): walks are of the other one.
FUZZING = Fuzzing(
    {
        "edition": "documents",
        "nodes": 4,
        "operations": ("join E", "leave D", "rebuild C", "new_cdc_generation", "cleanup"),
        "failures": 2,
        "crashes": 1,
        "changes": 1,
        "clients": 3,
        "late": 1,
        "addresses": 1,
    },
    {"fault": 0.05, "readdress": 0.05, "elect": 0.02, "client": 0.3},
)
ENTRY = Entry(
    name="topology",
    title=Topology.title,
    parameters=TopologyParameters,
    build=Topology,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    rows=rows,
    fuzzing=FUZZING,
)
