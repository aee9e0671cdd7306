"""``decide``: what the coordinator does next, by the tables and by who is up, and nothing else.

So a coordinator that takes over goes on where the last one was: it reads the same tables. Sources:
Topology over Raft, "Topology coordinator during recovery"; blog post on 6.0, "Driving Topology
Changes from a Centralized Topology Coordinator"; published coordinator, its main loop.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, mask_of, with_node
from kit.protocols.topology.rules.effects import EFFECTS, finished, taken
from kit.protocols.topology.rules.machines import EdgeRow, WorkRow
from kit.protocols.topology.rules.queue import CLEANUP_FIRST, QueueEntry, queue
from kit.protocols.topology.rules.racks import invalid_racks
from kit.protocols.topology.rules.rf_change import refused_change
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.states import NODE_STATE_OF
from kit.protocols.topology.rules.work import (
    DROP_LEFT,
    TopologyOperation,
    addressees,
    begins,
    goes_on,
    state_of,
    still_to_do,
    success,
    under_way,
)

DecisionKind = Literal[
    "begin", "reject", "refuse", "cancel", "enable", "work", "commit", "wait", "rest"
]


class Decision(Struct, frozen=True, cache_hash=True):
    """What the coordinator does next.

    *begin* takes the first edge of ``operation`` for request ``number``, *reject* turns a joining
    node away, *refuse* ends a request that may not be carried out and leaves its node as it is,
    *cancel* ends every request that cannot begin, *enable* enables ``features``, *work* does the
    first of ``work`` (and then the others), *commit* takes ``edge``, since nothing
    is left to do; *wait* and *rest* do nothing: for the nodes ``missing``, or since there is
    nothing to do. ``addressees`` are the nodes that the work needs, ``missing`` those that are
    down (masks). ``reason`` is for people.
    """

    kind: DecisionKind
    reason: str
    operation: TopologyOperation | None = None
    number: int = 0
    edge: EdgeRow | None = None
    work: tuple[WorkRow, ...] = ()
    addressees: int = 0
    missing: int = 0
    features: int = 0


@lru_cache(maxsize=1 << 11)
def decide(topology: ClusterTopology, alive: int, setting: Setting) -> Decision:
    """The coordinator's next decision. ``alive``: the nodes that it sees up (a mask)."""
    left = mask_of(topology, "left") & topology.members
    if left:
        reason = "nodes that have left are still in group 0"
        return Decision("work", reason, work=(DROP_LEFT,), addressees=0)
    operation = under_way(topology)
    entries = queue(topology, alive, setting)
    chosen = next((entry for entry in entries if entry.standing == "next"), None)
    if operation is not None and chosen is None:
        return _go_on(topology, operation, alive, setting)
    if chosen is not None:
        return _begin(topology, chosen, alive, setting)
    return _idle(topology, entries, alive, setting)


def _go_on(
    topology: ClusterTopology, operation: TopologyOperation, alive: int, setting: Setting
) -> Decision:
    """The work that is left in the state, or the edge out of it."""
    if operation.machine == "lock":
        return Decision("wait", "the topology is locked until somebody unlocks it", operation)
    if not goes_on(operation, setting):
        reason = f"{operation.machine} has no state {operation.state}: the tables contradict"
        return Decision("wait", f"{reason} each other", operation)
    step = still_to_do(topology, operation, setting, 0)
    work = state_of(operation, setting).work[step:]
    edge = success(operation, setting)
    if not work:
        return Decision("commit", "the work of this state is done", operation, edge=edge)
    needs = addressees(topology, operation, work[0])
    return Decision(
        "work",
        f"{work[0].name} comes next",
        operation,
        edge=edge,
        work=work,
        addressees=needs,
        missing=needs & ~alive,
    )


def _begin(topology: ClusterTopology, entry: QueueEntry, alive: int, setting: Setting) -> Decision:
    """The first edge of the request's operation, unless the node is turned away."""
    if entry.kind == "cleanup":
        return _clean_up(topology, entry.number, alive, setting)
    if entry.node == NOBODY:
        operation = TopologyOperation(entry.kind, NOBODY, "")
        refused = _refused(topology, entry, setting)
        if refused:
            return Decision("refuse", refused, operation, entry.number)
    else:
        rejected = rejection(topology, entry.node)
        if rejected:
            operation = TopologyOperation("node", entry.node, "")
            return Decision("reject", rejected, operation, entry.number)
        racks = _losing_racks(topology, entry, setting)
        if racks:
            operation = TopologyOperation("node", entry.node, "")
            return Decision("refuse", racks, operation, entry.number)
        operation = TopologyOperation(_machine(topology, entry), entry.node, "")
    edge = begins(operation.machine, setting)
    return Decision("begin", "it is the first in the queue", operation, entry.number, edge)


def _refused(topology: ClusterTopology, entry: QueueEntry, setting: Setting) -> str:
    """Why a request of the whole cluster is not carried out; empty: it is."""
    if entry.kind != "keyspace_rf_change":
        return ""
    return refused_change(topology, topology.requests[entry.number - 1], setting)


def _losing_racks(topology: ClusterTopology, entry: QueueEntry, setting: Setting) -> str:
    """Why a node may not go away; empty: it may. Who joins is checked in ``join_group0``."""
    if setting.edition == "documents" or entry.kind not in ("leave", "remove"):
        return ""
    return invalid_racks(topology, leaves=1 << entry.node)


def _machine(topology: ClusterTopology, entry: QueueEntry) -> str:
    """The machine that carries a node's request out."""
    name = next(state for kind, state in NODE_STATE_OF.items() if kind == entry.kind)
    zero = topology.nodes[entry.node].zero_token and entry.kind in ("join", "replace")
    return f"{name}_zero_token" if zero else name


def rejection(topology: ClusterTopology, node: int) -> str:
    """Why the coordinator turns a joining node away before it is in group 0; empty: it does not."""
    entry = topology.nodes[node]
    if entry.request not in ("join", "replace"):
        return ""
    if topology.enabled & ~entry.supported:
        return "it lacks a feature that is enabled"
    if entry.request == "replace" and topology.nodes[entry.replaced].state != "normal":
        return "the node that it would replace is not normal"
    return ""


def _idle(
    topology: ClusterTopology, entries: tuple[QueueEntry, ...], alive: int, setting: Setting
) -> Decision:
    """What there is to do when no request can begin."""
    cancelled = [entry for entry in entries if entry.standing == "cancelled"]
    if cancelled:
        missing = cancelled[0].waits_for
        return Decision("cancel", "no request may begin: nodes are down", missing=missing)
    if any(entry.reason == CLEANUP_FIRST for entry in entries):
        return _clean_up(topology, 0, alive, setting)
    features = _supported_by_all(topology) & ~topology.enabled
    if features:
        return Decision("enable", "every node supports it", features=features)
    if topology.tablets == "uneven" or any(entry.standing == "paused" for entry in entries):
        operation = TopologyOperation("tablets", NOBODY, "")
        edge = begins("tablets", setting)
        return Decision("begin", "the balancer has a plan", operation, edge=edge)
    waiting = next((entry for entry in entries if entry.standing == "waits"), None)
    if waiting is not None:
        return Decision("wait", waiting.reason, missing=waiting.waits_for, number=waiting.number)
    return Decision("rest", "there is nothing to do")


def _clean_up(topology: ClusterTopology, number: int, alive: int, setting: Setting) -> Decision:
    """Cleanup begins once nobody writes by an older version: else a write could come after it."""
    operation = TopologyOperation("cleanup", NOBODY, "")
    edge = success(operation, setting)
    work = state_of(operation, setting).work
    if topology.fence_version == topology.version:
        return Decision("commit", "cleanup begins", operation, number, edge)
    needs = addressees(topology, operation, work[0])
    reason = "older writes have to end before cleanup"
    return Decision("work", reason, operation, number, edge, work, needs, missing=needs & ~alive)


def _supported_by_all(topology: ClusterTopology) -> int:
    """The features that every normal node supports.

    Enabling is serialized with joins: no operation is under way while this is looked at.
    """
    normal = list(nodes_in(mask_of(topology, "normal")))
    supported = -1
    for node in normal:
        supported &= topology.nodes[node].supported
    return supported if normal else 0


def outcome(
    topology: ClusterTopology, decision: Decision, edge: EdgeRow | None, state_id: int
) -> ClusterTopology:
    """The topology after the command that carries a decision out, by the edge that is taken.

    ``state_id`` is the command's own. Decisions to wait or to rest change nothing.
    """
    operation = decision.operation
    match decision.kind:
        case "reject":
            assert operation is not None
            turned_away = EdgeRow("none", "*", becomes="left", effects=("error", "done"))
            return taken(topology, turned_away, operation.node, state_id)
        case "refuse":
            assert operation is not None
            if operation.node == NOBODY:
                taken_up = _taken_up(topology, decision.number)
                return finished(EFFECTS["error"](taken_up, NOBODY), NOBODY)
            return _turned_down(topology, operation.node)
        case "cancel":
            return _cancelled(topology, state_id)
        case "enable":
            return replace(topology, enabled=topology.enabled | decision.features)
        case "begin" | "commit" | "work":
            assert operation is not None
            assert edge is not None
            if decision.number and operation.node == NOBODY:
                topology = _taken_up(topology, decision.number)
            return taken(topology, edge, operation.node, state_id)
    return topology


def _taken_up(topology: ClusterTopology, number: int) -> ClusterTopology:
    """A global request leaves the queue and is the one under way."""
    waiting = tuple(each for each in topology.queue if each != number)
    return replace(topology, queue=waiting, running=number)


def _cancelled(topology: ClusterTopology, state_id: int) -> ClusterTopology:
    """No node request is left: joining nodes are turned away, the others stay as they are."""
    for node, entry in enumerate(topology.nodes):
        if entry.request in ("join", "replace"):
            edge = EdgeRow("none", "*", becomes="left", effects=("error", "done"))
            topology = taken(topology, edge, node, state_id)
        elif entry.request:
            topology = _turned_down(topology, node)
    return topology


def _turned_down(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The request of a node is done with an error; the node stays as it is."""
    return with_node(finished(EFFECTS["error"](topology, node), node), node, request="")
