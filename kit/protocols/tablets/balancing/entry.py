"""The model of balancing in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.tablets.balancing.model import Balance
from kit.protocols.tablets.balancing.parameters import BalanceParameters

ENTRY = Entry(
    name="balance",
    title=Balance.title,
    parameters=BalanceParameters,
    build=Balance,
    scenarios=(
        Scenario(
            "by-hand",
            "Six tablets with two replicas, one node is new and empty: move them by hand",
            {
                "nodes": 4,
                "shards": 2,
                "tablets": ("A:0 B:0", "A:1 B:1", "B:0 C:0", "A:0 C:1", "B:1 C:0", "A:1 C:1"),
            },
        ),
        Scenario(
            "two-tables",
            "One table is large, one is small: which tablet moves is a question of badness",
            {
                "nodes": 3,
                "tablets": (
                    *("A 100 ks.big", "A 100 ks.big", "B 100 ks.big", "B 100 ks.big"),
                    *("A 50 ks.small", "A 50 ks.small", "A 50 ks.small", "B 50 ks.small"),
                ),
            },
        ),
        Scenario(
            "empty-a-node",
            "C is to leave: each of its replicas goes to the least loaded node that may take it",
            {
                "nodes": 4,
                "tablets": ("A B", "A C", "B C", "C D"),
                "leaving": ("C",),
            },
        ),
        Scenario(
            "no-room-in-the-rack",
            "F is to leave, and E, the other node of its rack, is down: three replicas are stuck",
            {
                "nodes": 6,
                "tablets": ("A C F", "B C F", "A D F", "B D E", "C F 50 ks.small"),
                "racks": ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r2", "dc1/r3", "dc1/r3"),
                "leaving": ("F",),
                "excluded": ("E",),
            },
        ),
    ),
    fuzzing=Fuzzing(
        {
            "edition": "documents",
            "nodes": 5,
            "shards": 2,
            "tablets": ("A:0 B:0", "A:1 B:1", "C:0 A:0", "A:0 E:1 50", "A:1 C:1 ks.u"),
            "racks": ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r2", "dc2/r1"),
            "leaving": ("B",),
        }
    ),
)
