"""What each parameter of requests is called, means and may be: for all models that have clients."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kit.protocols.storage.rules.read_repair import ReadRepair

MOST_CRASHES = 8
MOST_LOSSES = 8
MOST_LATE = 4

RequestLines = Annotated[
    tuple[str, ...],
    Meta(
        title="requests (; between)",
        description="lines such as `K2@dc2 read LOCAL_QUORUM`; each begins when those before "
        "it are answered",
        extra_json_schema={"written": True},
    ),
]
USUAL_REQUESTS = ("K1 write QUORUM", "K2 read QUORUM")
Together = Annotated[
    bool,
    Meta(
        title="clients side by side",
        description="a request waits for those of its own coordinator only",
    ),
]
Timeouts = Annotated[
    bool,
    Meta(
        title="timeouts at any moment",
        description="a request may time out although it is not stuck",
    ),
]
Repair = Annotated[
    ReadRepair,
    Meta(title="read repair", description="what a read writes back before it answers"),
]
LostMessages = Annotated[
    int,
    Meta(title="lost messages", description="how many messages may be lost", ge=0, le=MOST_LOSSES),
]
LateCopies = Annotated[
    int,
    Meta(
        title="streams left behind",
        description="how many copies may arrive after the step that they were begun in",
        ge=0,
        le=MOST_LATE,
    ),
]
Slow = Annotated[
    bool,
    Meta(
        title="slow replicas",
        description="a replica begins and ends a request in two steps; its fence is asked twice",
    ),
]
Collecting = Annotated[
    bool, Meta(title="collect tombstones", description="replicas may forget deletions")
]
ReplicaCrashes = Annotated[
    int, Meta(description="how many replicas may crash", ge=0, le=MOST_CRASHES)
]
