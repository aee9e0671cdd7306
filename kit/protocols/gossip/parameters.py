"""What the model of a schema by gossip takes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

MOST_NODES = 6
MOST_FAULTS = 5
MOST_AHEAD = 99


class GossipParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes, what clients ask of them, how wrong their clocks are, what may go wrong."""

    nodes: Annotated[
        int, Meta(description="nodes of the cluster, named A, B, C, …", ge=2, le=MOST_NODES)
    ] = 3
    changes: Annotated[
        tuple[str, ...],
        Meta(
            description="what clients ask for, each of one node: create table ks.t at B",
            extra_json_schema={"title": "schema changes", "written": True},
        ),
    ] = ("create table ks.t at A",)
    earlier: Annotated[
        tuple[str, ...],
        Meta(
            description="what was asked for before, and is known to every node",
            extra_json_schema={"title": "done before", "written": True},
        ),
    ] = ("create keyspace ks at A",)
    clocks: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=MOST_AHEAD)], ...],
        Meta(
            description="how far the clock of each node is ahead, A first; of others it is right",
            extra_json_schema={"title": "clocks ahead by", "written": True},
        ),
    ] = ()
    at_once: Annotated[
        int,
        Meta(
            title="messages at once",
            description="rounds and pulls under way at once, but for what a split stops",
            ge=1,
            le=MOST_FAULTS,
        ),
    ] = 1
    partitions: Annotated[
        int, Meta(description="how often the network splits", ge=0, le=MOST_FAULTS)
    ] = 0
    losses: Annotated[
        int, Meta(description="how often a message is lost", ge=0, le=MOST_FAULTS)
    ] = 0
