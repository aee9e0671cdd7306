"""What the model of a join by gossip takes, and what it can be without."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard

MOST_FAULTS = 5


class GossipJoinParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The cluster, who joins it or is removed, what clients write, what may go wrong."""

    operation: Annotated[
        Literal["join", "removenode"],
        Meta(
            description="nodes join (join), or a further member Z, which is dead and next to the "
            "key, is removed by a neighbour (removenode)"
        ),
    ] = "join"
    nodes: Annotated[
        int, Meta(description="nodes of the cluster, named A, B, C, …", ge=1, le=5)
    ] = 3
    joiners: Annotated[
        int, Meta(description="nodes that join, X and Y, next to the key (join)", ge=1, le=2)
    ] = 1
    rf: Annotated[int, Meta(description="replicas of the key", ge=1, le=3)] = 1
    writes: Annotated[int, Meta(description="how often the key is written", ge=0, le=3)] = 1
    crashes: Annotated[
        int,
        Meta(description="how often a node that drives an operation dies", ge=0, le=MOST_FAULTS),
    ] = 0
    cuts: Annotated[
        int, Meta(description="how often the network cuts a node off", ge=0, le=MOST_FAULTS)
    ] = 0


class GossipJoinSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    ring_delay: bool = True
    """Off, data are streamed as soon as the node that drives the operation has announced it."""
    one_at_a_time: bool = True
    """Off, a second node may begin to join while the first one does."""


RING_DELAY = Safeguard(
    "ring-delay",
    "S-08",
    "Streaming begins once all nodes that are reached know who joins, or is removed",
    ("INV-VISIBLE",),
    {"nodes": 2},
)
ONE_AT_A_TIME = Safeguard(
    "one-at-a-time",
    "S-09",
    "A node begins to join once all know that the one before it has joined",
    ("INV-VISIBLE",),
    {"joiners": 2, "nodes": 2},
)
JOIN_SAFEGUARDS_BY_GOSSIP = (RING_DELAY, ONE_AT_A_TIME)
