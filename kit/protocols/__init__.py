"""The protocol families, a folder each: found by scanning this folder.

Nothing names one, except for the list of those that the kit brings along.
"""

SHIPPED = (
    "cms",
    "dataplane",
    "gossip",
    "group0",
    "paxos",
    "raft",
    "recovery",
    "storage",
    "tablets",
    "tcm",
    "topology",
    "twophase",
    "upgrade",
    "vnodes",
    "worlds",
)
"""The families that the kit's tests have looked at; one that is added is watched as a student's."""
