"""The control model of tablets in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.tablets.tracks.coverage import rows
from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.parameters import TracksParameters
from kit.protocols.tablets.tracks.refinement import refinement
from kit.protocols.tablets.tracks.safeguards import SAFEGUARDS

SCENARIOS = (
    Scenario(
        "one-tablet-moves",
        "A tablet moves from A to D: eight stages, a barrier in most of them (Topology over Raft)",
        {"tablets": ("A B C",), "moves": 1},
    ),
    Scenario(
        "decommission-drains-first",
        "C leaves: its two tablets move to D, and only then its state changes",
        {"tablets": ("A B C", "B C A"), "moves": 0, "operations": ("decommission C",)},
    ),
    Scenario(
        "removenode-rebuilds",
        "C is dead and is removed: its tablet is repaired and rebuilt on D first",
        {"moves": 0, "operations": ("removenode C",)},
    ),
    Scenario(
        "co-located-tables-move",
        "Two co-located tables share their tablets: one transition, and each stage works on both",
        {"tablets": ("A B C",), "tables": ("ks.base", "ks.view")},
    ),
    Scenario(
        "rf-change-adds-a-replica",
        "ALTER KEYSPACE to three replicas: every tablet gets one more, each in its own stages",
        {"nodes": 4, "tablets": ("A B", "B C"), "moves": 0}
        | {"operations": ("keyspace_rf_change ks dc1=3",)},
    ),
    Scenario(
        "rf-change-refused",
        "ALTER KEYSPACE to four replicas on three nodes: the request ends with its reason",
        {"nodes": 3, "moves": 0, "operations": ("keyspace_rf_change ks dc1=4",)},
    ),
    Scenario(
        "truncate-waits-for-a-move",
        "A table is truncated while a tablet moves: the request waits, then has its session",
        {"tablets": ("A B",), "operations": ("truncate_table ks.t",)},
        script=("imbalance", "migrate 0 A:0 D:0", "commit", "truncate_table ks.t"),
    ),
    Scenario(
        "nowhere-to-go",
        "C may not leave: no node is left for its replica, and the request ends with an error",
        {"nodes": 3, "moves": 0, "operations": ("decommission C",), "undone": 1},
        script=("decommission C", "decide", "commit", "fail"),
    ),
)
FUZZING = Fuzzing(
    {
        "edition": "documents",
        "nodes": 4,
        "tablets": ("A B C", "B C D"),
        "moves": 3,
        "operations": ("decommission D",),
        "failures": 2,
        "undone": 1,
        "crashes": 1,
        "changes": 1,
        "late": 1,
    },
    {"fault": 0.1, "elect": 0.05, "late fault": 0.2},
)
ENTRY = Entry(
    name="tablets",
    title=Tracks.title,
    parameters=TracksParameters,
    build=Tracks,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    rows=rows,
    fuzzing=FUZZING,
    refinement=refinement,
)
