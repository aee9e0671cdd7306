"""What the model of group 0 takes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

MOST_NODES = 9
MOST_FAULTS = 5
MOST_KEPT = 60
Edition = Literal["documents", "server"]
_WRITTEN = {"title": "operations", "written": True}


class Group0Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is in group 0, what clients ask for, and what may go wrong."""

    nodes: Annotated[
        int, Meta(description="members of group 0, named A, B, C, …", ge=1, le=MOST_NODES)
    ] = 3
    operations: Annotated[
        tuple[str, ...],
        Meta(
            description="what clients ask for, each of one node: create table ks.t at B",
            extra_json_schema=_WRITTEN,
        ),
    ] = ("create table ks.t at A", "create table ks.t at B")
    earlier: Annotated[
        tuple[str, ...],
        Meta(
            description="what was asked for before, and is applied by every node",
            extra_json_schema={"title": "done before", "written": True},
        ),
    ] = ("create keyspace ks at A",)
    requests: Annotated[
        tuple[str, ...],
        Meta(
            description="reads and writes, each sent by a node to a replica: write ks.t at A to B",
            extra_json_schema={"title": "requests", "written": True},
        ),
    ] = ()
    kept: Annotated[
        int,
        Meta(
            title="entries kept",
            description="committed entries that a leader keeps; who lacks more gets a snapshot "
            "(0: it keeps all)",
            ge=0,
            le=MOST_KEPT,
        ),
    ] = 0
    newcomers: Annotated[
        int,
        Meta(
            description="members that are new, and have nothing yet: the last ones",
            ge=0,
            le=MOST_NODES,
        ),
    ] = 0
    elections: Annotated[
        int, Meta(description="how often another leader is elected", ge=0, le=MOST_FAULTS)
    ] = 0
    crashes: Annotated[int, Meta(description="how often a node crashes", ge=0, le=MOST_FAULTS)] = 0
    losses: Annotated[
        int,
        Meta(description="how often a submitted command is lost", ge=0, le=MOST_FAULTS),
    ] = 0
    hours: Annotated[
        int,
        Meta(description="how often an hour passes (edition server)", ge=0, le=MOST_FAULTS),
    ] = 0
    dcs: Annotated[int, Meta(description="datacenters that the nodes take in turn", ge=1, le=3)] = 1
    edition: Annotated[
        Edition,
        Meta(description="documents: as they say; server: history of an hour, five voters"),
    ] = "documents"
