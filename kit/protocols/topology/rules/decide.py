"""``decide``: what the coordinator does next, by the tables and by who is up, and nothing else.

So a coordinator that takes over goes on where the last one was: it reads the same tables. Sources:
Topology over Raft, "Topology coordinator during recovery"; blog post on 6.0, "Driving Topology
Changes from a Centralized Topology Coordinator"; published coordinator, its main loop.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import and_
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    Setting,
    mask_of,
    with_node,
)
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.effects import EFFECTS, finished, taken
from kit.protocols.topology.rules.machines import EdgeRow, WorkRow, machine_of_request
from kit.protocols.topology.rules.queue import CLEANUP_FIRST, QueueEntry, queue
from kit.protocols.topology.rules.replication import invalid_racks, refused_change
from kit.protocols.topology.rules.work import (
    DROP_LEFT,
    TopologyOperation,
    addressees,
    goes_on,
    machine_of,
    state_of,
    still_to_do,
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
    edge = machine_of(operation, setting).edge(operation.state, "happy")
    if not work:
        return Decision("commit", "the work of this state is done", operation, edge=edge)
    needs = addressees(topology, operation, work[0])
    reason = f"{work[0].name} comes next"
    return Decision("work", reason, operation, 0, edge, work, needs, missing=needs & ~alive)


def _begin(topology: ClusterTopology, entry: QueueEntry, alive: int, setting: Setting) -> Decision:
    """The first edge of the request's operation, unless the node is turned away."""
    kind, node, number = entry.kind, entry.node, entry.number
    if kind == "cleanup":
        return _clean_up(topology, number, alive, setting)
    refused = ""
    if kind == "keyspace_rf_change":
        refused = refused_change(topology, topology.requests[number - 1], setting)
    elif setting.edition == "server" and kind in ("leave", "remove"):
        refused = invalid_racks(topology, leaves=1 << node)  # who joins: in ``join_group0``
    rejected = "" if node == NOBODY else rejection(topology, node)
    if refused or rejected:
        operation = TopologyOperation(kind if node == NOBODY else "node", node, "")
        return Decision("reject" if rejected else "refuse", rejected or refused, operation, number)
    machine = machine_of_request(
        kind, zero_token=node != NOBODY and topology.nodes[node].zero_token
    )
    edge = MACHINES[setting.edition][machine].begins
    operation = TopologyOperation(machine, node, "")
    return Decision("begin", "it is the first in the queue", operation, number, edge)


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
    cancelled = [entry for entry in entries if entry.standing == "cancelled"]
    if cancelled:
        missing = cancelled[0].waits_for
        return Decision("cancel", "no request may begin: nodes are down", missing=missing)
    if any(entry.reason == CLEANUP_FIRST for entry in entries):
        return _clean_up(topology, 0, alive, setting)
    # Enabling is serialized with joins: no operation is under way while this is looked at.
    normal = [entry.supported for entry in topology.nodes if entry.state == "normal"]
    features = reduce(and_, normal, -1 if normal else 0) & ~topology.enabled
    if features:
        return Decision("enable", "every node supports it", features=features)
    if topology.tablets == "uneven" or any(entry.standing == "paused" for entry in entries):
        operation = TopologyOperation("tablets", NOBODY, "")
        edge = MACHINES[setting.edition]["tablets"].begins
        return Decision("begin", "the balancer has a plan", operation, edge=edge)
    waiting = next((entry for entry in entries if entry.standing == "waits"), None)
    if waiting is not None:
        return Decision("wait", waiting.reason, missing=waiting.waits_for, number=waiting.number)
    return Decision("rest", "there is nothing to do")


def _clean_up(topology: ClusterTopology, number: int, alive: int, setting: Setting) -> Decision:
    """Cleanup begins once nobody writes by an older version: else a write could come after it."""
    operation = TopologyOperation("cleanup", NOBODY, "")
    edge = machine_of(operation, setting).edge(operation.state, "happy")
    work = state_of(operation, setting).work
    if topology.fence_version == topology.version:
        return Decision("commit", "cleanup begins", operation, number, edge)
    needs = addressees(topology, operation, work[0])
    reason = "older writes have to end before cleanup"
    return Decision("work", reason, operation, number, edge, work, needs, missing=needs & ~alive)


def outcome(
    topology: ClusterTopology, decision: Decision, edge: EdgeRow | None, state_id: int
) -> ClusterTopology:
    """The topology after the command that carries a decision out, by the edge that is taken.

    ``state_id`` is the command's own. Decisions to wait or to rest change nothing.
    """
    operation = decision.operation
    if decision.kind == "cancel":
        # No node request is left: joining nodes are turned away, the others stay as they are.
        for node, entry in enumerate(topology.nodes):
            if entry.request in ("join", "replace"):
                topology = taken(topology, TURNED_AWAY, node, state_id)
            elif entry.request:
                topology = _turned_down(topology, node)
        return topology
    if decision.kind == "enable":
        return replace(topology, enabled=topology.enabled | decision.features)
    if operation is None or decision.kind in ("wait", "rest"):
        return topology
    if decision.number and operation.node == NOBODY:
        # A global request leaves the queue and is the one under way.
        waiting = tuple(each for each in topology.queue if each != decision.number)
        topology = replace(topology, queue=waiting, running=decision.number)
    if decision.kind == "reject":
        return taken(topology, TURNED_AWAY, operation.node, state_id)
    if decision.kind == "refuse":
        return _turned_down(topology, operation.node)
    assert edge is not None
    return taken(topology, edge, operation.node, state_id)


TURNED_AWAY = EdgeRow("none", "*", becomes="left", effects=("error", "done"))
"""What becomes of a node that the coordinator turns away."""


def _turned_down(topology: ClusterTopology, node: int) -> ClusterTopology:
    """A request is done with an error; the node that it is of stays as it is."""
    topology = finished(EFFECTS["error"](topology, node), node)
    return topology if node == NOBODY else with_node(topology, node, request="")
