"""What a vnodes model is built from: a node operation on a small ring, and what clients do."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.protocols.storage.parameter_types import (
    USUAL_REQUESTS,
    Collecting,
    LateCopies,
    LostMessages,
    Repair,
    ReplicaCrashes,
    RequestLines,
    Slow,
    Timeouts,
    Together,
)
from kit.protocols.topology.parameter_types import FirstVersion
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.vnodes.rules.ranges import MOST_NODES, Operation


class VnodesParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A node operation on a generated ring, and the requests of clients on one of its ranges.

    ``edition`` chooses the transition tables and what acknowledges a write while replicas are
    pending: ``documents``, the documents, the level in the old and in the new set; ``server``, the
    published server, the level and one more for each pending replica, of both sets together.

    With ``leaves`` a second operation follows the first: nodes clean up before one that gives them
    back a range.
    """

    operation: Annotated[
        Operation, Meta(description="what the operator asks for: X joins, or B is replaced or goes")
    ] = "bootstrap"
    edition: Annotated[Edition, Meta(description="whose transition tables are played")] = (
        "documents"
    )
    nodes: Annotated[int, Meta(description="how many nodes the ring has", ge=2, le=MOST_NODES)] = 4
    rf: Annotated[
        int,
        Meta(
            title="replication factor",
            description="replicas of each range",
            ge=1,
            le=MOST_NODES,
        ),
    ] = 3
    version: FirstVersion = 10
    leaves: Annotated[
        bool,
        Meta(
            title="a second operation",
            description="then X leaves that has joined; or B, whose leaving failed, tries again",
        ),
    ] = False
    drain_fails: Annotated[
        bool,
        Meta(
            title="drains may fail",
            description="edition server sets fence_version although older requests are left",
        ),
    ] = False
    barrier_fails: Annotated[
        bool,
        Meta(
            title="barriers may fail",
            description="edition server goes on after a pause where there is no way back",
        ),
    ] = False
    requests: RequestLines = USUAL_REQUESTS
    together: Together = False
    timeouts: Timeouts = False
    repair: Repair = "none"
    crashes: ReplicaCrashes = 0
    losses: LostMessages = 0
    late: LateCopies = 0
    slow: Slow = False
    collecting: Collecting = False
