"""What a dataplane model is built from: a cluster and its operations, and what clients do."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kit.protocols.storage.parameter_types import (
    USUAL_REQUESTS,
    Collecting,
    Repair,
    ReplicaCrashes,
    RequestLines,
    Timeouts,
    Together,
)
from kit.protocols.storage.rules.exchange import Exchange
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.tcm.parameters import ClusterParameters

Mode = Literal["log", "gossip"]
ExchangeName = Annotated[
    Exchange, Meta(title="epochs in messages", description="how epochs travel with messages")
]
AcknowledgementName = Annotated[
    Acknowledgement,
    Meta(title="pending replicas", description="how new replicas count in a quorum"),
]
Retry = Annotated[
    bool,
    Meta(title="retry a stale plan", description="a request whose plan went stale is sent again"),
]
MOST_TICKS = 100
MOST_LAG = 100
USUAL_CLUSTER = ClusterParameters(rf=3, epoch=99)


class DataplaneParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster and its operations, and the requests of clients on one of its ranges.

    In mode ``gossip`` no epochs are compared, no plan is validated again and no step waits for who
    knows the last one, only for ``ring_delay`` ticks.

    With ``repair`` a read writes the newest cell that it found back: ``answered`` to those that
    answered, ``mismatch`` by the write plan of now, and waits for it, but only where answers
    differ, ``blocking`` whenever no write quorum is known to hold it. Only the last keeps a later
    read from missing what an earlier one saw.
    """

    cluster: ClusterParameters = USUAL_CLUSTER
    token: Annotated[
        int | None,
        Meta(description="picks the range (null: that with the most replicas old and new)"),
    ] = None
    lag: (
        Annotated[
            int,
            Meta(
                title="epochs of lag",
                description="how far nodes, messages and requests may lag (null: any number; "
                "0: a request begins by the newest epoch, and nodes are at most one behind)",
                ge=0,
                le=MOST_LAG,
            ),
        ]
        | None
    ) = None
    requests: RequestLines = USUAL_REQUESTS
    exchange: ExchangeName = "epoch"
    acknowledgement: AcknowledgementName = "union"
    together: Together = False
    timeouts: Timeouts = False
    repair: Repair = "none"
    retry: Retry = False
    mode: Annotated[Mode, Meta(description="how nodes hear of changes")] = "log"
    ring_delay: Annotated[
        int,
        Meta(
            title="ticks of RING_DELAY",
            description="so long a step waits in mode gossip",
            ge=1,
            le=MOST_TICKS,
        ),
    ] = 1
    crashes: ReplicaCrashes = 0
    cleaning: Annotated[
        bool, Meta(title="clean-up", description="replicas may clean up after a move")
    ] = False
    collecting: Collecting = False
