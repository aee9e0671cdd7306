"""What each parameter of a cluster is called, means and may be: shared by models that have one."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kit.protocols.tcm.rules.steps import Edition
from kit.ring.replication import Keyspace
from kit.ring.topology import Node

MOST_NODES = 1000
MOST_TOKENS = 256
MOST_FAULTS = 1000
_GENERATED = {"ring": "generated"}
_REPLICAS = {"ring": "replicas"}
_OWN = {"ring": "own"}
_OWN_HIDDEN = {"ring": "own", "hidden": True}

Strategy = Literal["simple", "network", "everywhere"]

NodeCount = Annotated[
    int,
    Meta(
        title="nodes",
        description="how many nodes the generated ring has",
        ge=1,
        le=MOST_NODES,
        extra_json_schema=_GENERATED,
    ),
]
TokenCount = Annotated[
    int,
    Meta(
        title="tokens per node",
        description="how many each node has, evenly spread (100, 200, …)",
        ge=1,
        le=MOST_TOKENS,
        extra_json_schema=_GENERATED,
    ),
]
Factor = Annotated[
    int,
    Meta(
        title="replication factor",
        description="replicas of keyspace ks (in each datacenter, for strategy network)",
        ge=1,
        le=MOST_NODES,
        extra_json_schema=_REPLICAS,
    ),
]
StrategyName = Annotated[
    Strategy,
    Meta(
        title="strategy",
        description="the replication strategy of keyspace ks",
        extra_json_schema=_GENERATED,
    ),
]
DatacenterCount = Annotated[
    int,
    Meta(
        title="datacenters",
        description="how many there are; nodes are dealt to them in turn",
        ge=1,
        extra_json_schema=_GENERATED,
    ),
]
RackCount = Annotated[
    int,
    Meta(
        title="racks a datacenter",
        description="how many each datacenter has; nodes are dealt to them in turn",
        ge=1,
        le=MOST_NODES,
        extra_json_schema=_GENERATED,
    ),
]
Members = Annotated[
    tuple[Node, ...],
    Meta(description="the nodes of a ring of one's own, in place of it", extra_json_schema=_OWN),
]
Keyspaces = Annotated[
    tuple[Keyspace, ...],
    Meta(description="keyspaces of one's own, in place of ks", extra_json_schema=_OWN),
]
LineStart = Annotated[
    int | None,
    Meta(
        description="the lowest token of a ring of one's own (null: Murmur3's)",
        extra_json_schema=_OWN_HIDDEN,
    ),
]
LineEnd = Annotated[
    int | None,
    Meta(
        description="the highest token of a ring of one's own (null: Murmur3's)",
        extra_json_schema=_OWN_HIDDEN,
    ),
]
Operations = Annotated[
    tuple[str, ...],
    Meta(
        description="lines such as `bootstrap X --tokens 150`, also about nodes that others bring; "
        "none: a bootstrap into the middle of the second range",
        extra_json_schema=_OWN,
    ),
]
EditionName = Annotated[
    Edition,
    Meta(title="edition", description="which events of an operation share an epoch"),
]
FirstEpoch = Annotated[
    int,
    Meta(
        title="epoch",
        description="the epoch of the first state",
        ge=-(2**62),
        le=2**63 - 1,
        extra_json_schema={"hidden": True},
    ),
]
Crashes = Annotated[
    int,
    Meta(title="crashes", description="how many nodes may crash", ge=0, le=MOST_FAULTS),
]
Cancels = Annotated[
    int,
    Meta(
        title="cancels",
        description="how many operations may be cancelled",
        ge=0,
        le=MOST_FAULTS,
    ),
]
