"""What a dataplane model is built from: a cluster and its operations, and what clients do."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, fields

from kit.engine.parameters import check_limits
from kit.protocols.storage.rules.exchange import Exchange
from kit.protocols.storage.rules.read_repair import ReadRepair
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.tcm.parameter_types import (
    Cancels,
    DatacenterCount,
    Factor,
    FirstEpoch,
    Keyspaces,
    LineEnd,
    LineStart,
    Members,
    NodeCount,
    Operations,
    RackCount,
    StrategyName,
    TokenCount,
    VariantName,
)
from kit.protocols.tcm.parameters import TcmParameters

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
MOST_CRASHES = 8
MOST_TICKS = 100
MOST_LAG = 100


class DataplaneParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster and its operations, and the requests of clients on one of its ranges.

    In mode ``gossip`` no epochs are compared, no plan is validated again and no step waits for who
    knows the last one, only for ``ring_delay`` ticks. The kinds of ``repair`` are told by
    ``kit.protocols.storage.rules.read_repair``.
    """

    nodes: NodeCount = 3
    tokens: TokenCount = 1
    rf: Factor = 3
    strategy: StrategyName = "simple"
    dcs: DatacenterCount = 1
    racks: RackCount = 1
    members: Members = ()
    keyspaces: Keyspaces = ()
    low: LineStart = None
    high: LineEnd = None
    operations: Operations = ()
    variant: VariantName = "cep"
    epoch: FirstEpoch = 99
    cancels: Cancels = 0
    token: Annotated[
        int | None,
        Meta(description="picks the range (null: that with the most replicas old and new)"),
    ] = None
    lag: (
        Annotated[
            int,
            Meta(
                title="epochs of lag",
                description="how far nodes and messages may lag (null: any number)",
                ge=1,
                le=MOST_LAG,
            ),
        ]
        | None
    ) = None
    requests: Annotated[
        tuple[str, ...],
        Meta(
            title="requests (; between)",
            description="lines such as `K2@dc2 read LOCAL_QUORUM`; each begins when those before "
            "it are answered",
            extra_json_schema={"written": True},
        ),
    ] = ("K1 write QUORUM", "K2 read QUORUM")
    exchange: ExchangeName = "epoch"
    acknowledgement: AcknowledgementName = "union"
    together: Annotated[
        bool,
        Meta(
            title="clients side by side",
            description="a request waits for those of its own coordinator only",
        ),
    ] = False
    timeouts: Annotated[
        bool,
        Meta(
            title="timeouts at any moment",
            description="a request may time out although it is not stuck",
        ),
    ] = False
    repair: Annotated[
        ReadRepair,
        Meta(title="read repair", description="what a read writes back before it answers"),
    ] = "none"
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
    crashes: Annotated[
        int, Meta(description="how many replicas may crash", ge=0, le=MOST_CRASHES)
    ] = 0
    cleaning: Annotated[
        bool, Meta(title="clean-up", description="replicas may clean up after a move")
    ] = False
    collecting: Annotated[
        bool, Meta(title="collect tombstones", description="replicas may forget deletions")
    ] = False
    behind: Annotated[
        int,
        Meta(
            title="epochs a coordinator lags",
            description="at most so many when its request begins (-1: any number)",
            ge=-1,
            le=MOST_LAG,
        ),
    ] = -1


def of_the_cluster(given: DataplaneParameters) -> TcmParameters:
    """The part of the parameters that describes the cluster.

    Raises:
        BadInput: naming a parameter of the requests that is out of its limits.
    """
    check_limits(given)
    shared = {field.name for field in fields(TcmParameters)} - {"crashes"}
    return TcmParameters(**{name: value for name, value in asdict(given).items() if name in shared})
