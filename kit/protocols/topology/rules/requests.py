"""What may be asked of a cluster, and the cells that asking sets.

Whoever takes a request looks at its own state before anything goes into the log, as every change of
group 0 is validated. Sources: Topology over Raft, "Join procedure"; blog post on 6.0 (a live node
is not removed); Q-39 (a host id that has left is refused for ever), Q-42 (liveness is what the node
sees).
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.topology.rules.cluster import (
    NO_ROW,
    NOBODY,
    ClusterTopology,
    Replication,
    RequestEntry,
    with_node,
)
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.states import GLOBAL_REQUEST
from kit.protocols.topology.rules.work import under_way

LOCK = "lock"
"""What is no request of the tables: somebody sets the transition state by hand."""


class OperationRequest(Struct, frozen=True, cache_hash=True):
    """What somebody asks for: a request of a node, or of the whole cluster (``NOBODY``).

    ``replaced`` is the node that a replacing one stands in for; ``zero_token``: the joining node
    will own no tokens; ``supported`` are its features. ``keyspace``, ``replication`` and ``table``
    are those of ``RequestEntry``.
    """

    kind: str
    node: int = NOBODY
    replaced: int = NOBODY
    zero_token: bool = False
    supported: int = 0
    keyspace: str = ""
    replication: Replication = ()
    table: str = ""


def refusal(
    topology: ClusterTopology, asks: OperationRequest, alive: int, setting: Setting
) -> Refusal | None:
    """Why a request is refused at once, by whoever takes it; None when it joins the queue."""
    if asks.kind == LOCK:
        busy = under_way(topology) is not None
        return Refusal("an operation is under way") if busy else None
    if asks.kind in GLOBAL_REQUEST:
        return None
    entry = topology.nodes[asks.node]
    up = alive >> asks.node & 1
    if entry.request:
        return Refusal("there is already a request for this node")
    if asks.kind in ("join", "replace"):
        return _join_refusal(topology, asks, alive, setting)
    if entry.state != "normal":
        return Refusal("the node is not normal")
    if asks.kind == "remove":
        live = up and setting.safeguards.refuse_live_removal
        return Refusal("the node is up: decommission it") if live else None
    return None if up else Refusal("the node is down")


def _join_refusal(
    topology: ClusterTopology, asks: OperationRequest, alive: int, setting: Setting
) -> Refusal | None:
    state = topology.nodes[asks.node].state
    if state == "left" and setting.safeguards.refuse_left:
        return Refusal("its host id has left the cluster")
    if state not in (NO_ROW, "left"):
        return Refusal("the node is already in the cluster")
    if asks.kind == "join":
        return None
    if topology.nodes[asks.replaced].state != "normal":
        return Refusal("the node that it would replace is not normal")
    if alive >> asks.replaced & 1:
        return Refusal("the node that it would replace is up")
    return None


def going_away(topology: ClusterTopology, asks: OperationRequest) -> int:
    """The members that lose their vote with a request (a mask): who is removed, replaced, ignored.

    So a majority is not counted with nodes that are dead. Source: published code,
    ``make_nonvoters`` as the request is made.
    """
    if asks.kind == "remove":
        return (1 << asks.node | topology.ignored) & topology.members
    if asks.kind == "replace":
        return (1 << asks.replaced | topology.ignored) & topology.members
    return 0


def requested(topology: ClusterTopology, asks: OperationRequest) -> ClusterTopology:
    """The topology with the request in its queue: a row of its own, and the node's cells."""
    if asks.kind == LOCK:
        return replace(topology, transition=LOCK)
    number = len(topology.requests) + 1
    entry = RequestEntry(
        asks.kind, asks.node, keyspace=asks.keyspace, replication=asks.replication, table=asks.table
    )
    topology = replace(topology, requests=(*topology.requests, entry))
    if asks.node == NOBODY:
        return replace(topology, queue=(*topology.queue, number))
    if asks.kind in ("join", "replace"):
        topology = with_node(
            topology,
            asks.node,
            state="none",
            replaced=asks.replaced,
            zero_token=asks.zero_token,
            supported=asks.supported,
        )
    return with_node(topology, asks.node, request=asks.kind, request_id=number)
