"""What a tablet model is built from: its transitions, and what clients do meanwhile."""

from __future__ import annotations

from typing import Annotated, Literal

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
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.parameter_types import FirstVersion
from kit.protocols.topology.rules.machines import Edition

MOST_REPLICAS = 3
Second = Literal["none", "again", "other"]


class TabletParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One tablet, the transitions that the coordinator plans for it, and the requests of clients.

    ``edition`` chooses the table of stages and what acknowledges a write while a replica is
    pending: ``documents``, the documents, the level in the old and in the new set; ``server``, the
    published server, the level and one more for each pending replica, of both sets together.

    Replicas that crash are excluded from then on. ``excluded`` is a node that is put into
    ``ignore_nodes`` during the transition although it lives.
    """

    kind: Annotated[
        TransitionKind,
        Meta(
            description="A moves to D, or to another shard of its node; A is dead and rebuilt on "
            "D; or all are repaired"
        ),
    ] = "migration"
    edition: Annotated[Edition, Meta(description="whose stages are played")] = "documents"
    rf: Annotated[
        int,
        Meta(
            title="replication factor",
            description="replicas of the tablet: A, B, C",
            ge=1,
            le=MOST_REPLICAS,
        ),
    ] = 3
    version: FirstVersion = 10
    second: Annotated[
        Second,
        Meta(
            title="a second transition",
            description="again: what failed is tried again; other: another replica moves to E",
        ),
    ] = "none"
    excluded: Annotated[
        str,
        Meta(
            title="excluded though it lives",
            description="a replica or coordinator that barriers stop waiting for",
            max_length=20,
        ),
    ] = ""
    requests: RequestLines = USUAL_REQUESTS
    together: Together = False
    timeouts: Timeouts = False
    repair: Repair = "none"
    crashes: ReplicaCrashes = 0
    losses: LostMessages = 0
    late: LateCopies = 0
    slow: Slow = False
    collecting: Collecting = False
