"""``decide``: what the coordinator does next, by the tables and by who is up; and the queue.

So a coordinator that takes over goes on where the last one was: it reads the same tables. Edition
``documents`` takes requests in the order of their ids (Q-19). Edition ``server`` prefers kinds of
node requests in a fixed order, takes global requests after all of them, pauses who still has
tablets, and cancels all node requests when nothing is under way and none of them may begin because
nodes are down. Sources: Topology over Raft, "Topology coordinator during recovery", "Load
balancing"; blog post on 6.0, "Driving Topology Changes from a Centralized Topology Coordinator";
published coordinator, its main loop and its choice of the next task.
"""

from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import and_
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import mask_of, nodes_in
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules import machines as tables
from kit.protocols.topology.rules import work as rules
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, Setting, in_state
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.replication import invalid_racks, not_played, refused_change
from kit.protocols.topology.rules.work import TopologyOperation, machine_of, state_of, under_way

Standing = Literal["running", "next", "waits", "paused", "cancelled"]

OF_NORMAL = ("leave", "remove", "rebuild")
"""What only a normal node's request begins: another operation may have taken it out meanwhile."""
CLEANUP_FIRST = "cleanup comes first"
"""Why the first request of the queue waits, where deleted data could come back else (S-41)."""


class QueueEntry(Struct, frozen=True, cache_hash=True):
    """A pending request: what it asks for, where it stands, and why; whom it waits for (a mask).

    ``number`` is its place among all requests, from 1; ``node`` is ``NOBODY`` for a global one.
    """

    number: int
    kind: str
    node: int
    standing: Standing
    reason: str = ""
    waits_for: int = 0


def pending(topology: ClusterTopology) -> tuple[int, ...]:
    """The numbers of the requests that wait, in the order of their ids."""
    of_nodes = [entry.request_id for entry in topology.nodes if entry.request]
    return tuple(sorted([*of_nodes, *topology.queue]))


def queue(topology: ClusterTopology, alive: int, setting: Setting) -> tuple[QueueEntry, ...]:
    """Every request that is not done: the one under way first, then as they would be taken.

    ``alive`` are the nodes that the coordinator sees up (a mask); ``requests.requested`` puts
    requests into a topology.
    """
    operation = under_way(topology)
    running = rules.number_of(topology, operation.node) if operation else 0
    held = _obstacle(topology, operation, alive, setting)
    why, _ = held
    idle = operation is None and not why
    # A join does not wait for tablets that move: published coordinator, by release.
    tablets_move = operation is not None and operation.state == "tablet_migration"
    preempts = "join" if tablets_move and setting.has("join-first") else ""
    entries = [_entry(topology, running, "running", "the request is under way")] if running else []
    chosen = False
    for number, by_itself in _standings(topology, alive, setting, idle):
        standing = by_itself
        if standing[0] == "next":
            kind = topology.requests[number - 1].kind
            if why and kind != preempts:
                behind = held
            elif chosen:
                behind = "another request comes first", 0
            else:
                behind = _needs_cleanup(topology, kind, alive, setting)
            # Who waits for cleanup is the first all the same: the cleanup is done for it.
            chosen = chosen or behind[0] in ("", CLEANUP_FIRST)
            standing = "waits" if behind[0] else "next", *behind
        entries.append(_entry(topology, number, *standing))
    return tuple(entries)


def _entry(
    topology: ClusterTopology, number: int, standing: Standing, reason: str, waits_for: int = 0
) -> QueueEntry:
    request = topology.requests[number - 1]
    return QueueEntry(number, request.kind, request.node, standing, reason, waits_for)


Held = tuple[str, int]
"""Why no request may begin now, and which nodes all wait for; the empty text: one may."""


def _obstacle(
    topology: ClusterTopology, operation: TopologyOperation | None, alive: int, setting: Setting
) -> Held:
    if operation is None:
        cleaning = _with_cleanup(topology, "running") & alive
        return ("cleanup runs", cleaning) if cleaning else ("", 0)
    if operation.machine == "lock":
        return "the topology is locked", 0
    if operation.machine == "tablets":
        excludes = setting.safeguards.tablet_track_excludes
        return "the tablet track must end first" if excludes else "", 0
    own = 0 if operation.node == NOBODY else 1 << operation.node
    return f"another operation is under way ({operation.machine})", own


def _needs_cleanup(topology: ClusterTopology, kind: str, alive: int, setting: Setting) -> Held:
    """Who gets ranges back must have cleaned up first, or deleted data may come back (S-41)."""
    if not setting.safeguards.cleanup_first or kind not in ("remove", "leave"):
        return "", 0
    needed = _with_cleanup(topology, "needed") & alive
    return (CLEANUP_FIRST, needed) if needed else ("", 0)


def _with_cleanup(topology: ClusterTopology, status: str) -> int:
    normal = nodes_in(in_state(topology, "normal"))
    return mask_of(i for i in normal if topology.nodes[i].cleanup == status)


def _standings(
    topology: ClusterTopology, alive: int, setting: Setting, idle: bool
) -> Iterator[tuple[int, tuple[Standing, str, int]]]:
    """Of each request by itself: whether it could begin, is paused, waits for nodes, or is off.

    Only an ``idle`` coordinator, which looks for its next task, cancels.
    """
    requests = {number: topology.requests[number - 1] for number in pending(topology)}
    if setting.edition == "documents":
        yield from ((number, ("next", "", 0)) for number in requests)
        return
    missing = {number: _missing(topology, each, alive) for number, each in requests.items()}
    of_nodes = [number for number, each in requests.items() if each.node != NOBODY]
    paused = {
        number
        for number, each in requests.items()
        if setting.has("paused-drain")
        and each.kind in ("leave", "remove")
        and topology.tablets_on >> each.node & 1
    }
    # Paused requests count among those that could go on, though none of them is taken.
    stuck = idle and bool(of_nodes) and all(missing[number] for number in of_nodes)
    ready = any(not missing[number] and number not in paused for number in of_nodes)
    rank: dict[str, int] = {kind: place for place, kind in enumerate(tables.NODE_REQUESTS)}
    for number in sorted(requests, key=lambda n: (rank.get(requests[n].kind, len(rank)), n)):
        if missing[number]:
            off: Standing = "cancelled" if stuck else "waits"
            yield number, (off, "nodes that it needs are down", missing[number])
        elif number in paused:
            yield number, ("paused", "its tablets must move away first", 1 << requests[number].node)
        elif requests[number].node == NOBODY and (ready or stuck):
            yield number, ("waits", "requests for single nodes come first", 0)
        else:
            yield number, ("next", "", 0)


def _missing(topology: ClusterTopology, request: cluster.RequestEntry, alive: int) -> int:
    # Only removal and replace pass over ignored nodes; a rebuild needs its own node alone.
    if request.node == NOBODY:
        return 0
    if request.kind == "rebuild":
        return 1 << request.node & ~alive
    needed = in_state(topology, "normal")
    if request.kind == "remove":
        needed &= ~(topology.ignored | 1 << request.node)
    if request.kind == "replace":
        needed &= ~(topology.ignored | 1 << topology.nodes[request.node].replaced)
    return needed & ~alive


DecisionKind = Literal[
    "begin", "reject", "refuse", "cancel", "enable", "work", "commit", "wait", "rest"
]


class Decision(Struct, frozen=True, cache_hash=True):
    """The next step of the coordinator.

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
    edge: tables.EdgeRow | None = None
    work: tuple[tables.WorkRow, ...] = ()
    addressees: int = 0
    missing: int = 0
    features: int = 0


@lru_cache(maxsize=1 << 11)
def decide(topology: ClusterTopology, alive: int, setting: Setting) -> Decision:
    """The coordinator's next decision. ``alive``: the nodes that it sees up (a mask)."""
    if in_state(topology, "left") & topology.members:
        reason = "nodes that have left are still in group 0"
        return Decision("work", reason, work=(rules.DROP_LEFT,), addressees=0)
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
    if operation.machine == "lock":
        return Decision("wait", "the topology is locked until an operator unlocks it", operation)
    if not rules.goes_on(operation, setting):
        reason = f"{operation.machine} has no state {operation.state}: the tables contradict"
        return Decision("wait", f"{reason} each other", operation)
    step = rules.still_to_do(topology, operation, setting, 0)
    work = state_of(operation, setting).work[step:]
    edge = rules.onward(topology, machine_of(operation, setting), operation.state)
    if not work:
        return Decision("commit", "the work of this state is done", operation, edge=edge)
    needs = rules.addressees(topology, operation, work[0])
    reason = f"{work[0].name} comes next"
    return Decision("work", reason, operation, 0, edge, work, needs, missing=needs & ~alive)


def _begin(topology: ClusterTopology, entry: QueueEntry, alive: int, setting: Setting) -> Decision:
    kind, node, number = entry.kind, entry.node, entry.number
    if kind == "cleanup":
        return _clean_up(topology, number, alive, setting)
    refused = ""
    if kind == "keyspace_rf_change":
        asks = topology, topology.requests[number - 1]
        refused = refused_change(*asks, setting) or not_played(*asks)
    elif kind in OF_NORMAL and topology.nodes[node].state != "normal":
        refused = "the node is no longer normal"
    elif setting.has("rack-checks") and kind in ("leave", "remove"):
        refused = invalid_racks(topology, leaves=1 << node)  # who joins: in ``join_group0``
    rejected = "" if node == NOBODY else rejection(topology, node)
    if refused or rejected:
        operation = TopologyOperation(kind if node == NOBODY else "node", node, "")
        return Decision("reject" if rejected else "refuse", rejected or refused, operation, number)
    machine = tables.machine_of_request(
        kind, zero_token=node != NOBODY and topology.nodes[node].zero_token
    )
    edge = MACHINES[setting.tables][machine].begins
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
        return Decision("enable", "every node supports the feature", features=features)
    # Who is to go is drained also while balancing is off (published allocator).
    uneven = topology.tablets == "uneven" and topology.balancing
    moves = uneven or any(entry.standing == "paused" for entry in entries)
    if moves or topology.resizes:
        machine = MACHINES[setting.tables]["tablets"]
        operation = TopologyOperation("tablets", NOBODY, "")
        edge = machine.begins if moves else rules.onward(topology, machine, tables.BOUNDARY)
        reason = "the balancer has a plan" if moves else "a resize is ready to be finalized"
        return Decision("begin", reason, operation, edge=edge)
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
    needs = rules.addressees(topology, operation, work[0])
    reason = "older writes must end before cleanup"
    return Decision("work", reason, operation, number, edge, work, needs, missing=needs & ~alive)


def outcome(
    topology: ClusterTopology, decision: Decision, edge: tables.EdgeRow | None, state_id: int
) -> ClusterTopology:
    """The topology after the command that carries a decision out, by the edge that is taken.

    ``state_id`` is the command's own. Decisions to wait or to rest change nothing.
    """
    operation = decision.operation
    if decision.kind == "cancel":
        # No node request is left: joining nodes are turned away, the others stay as they are.
        for node, entry in enumerate(topology.nodes):
            if entry.request in ("join", "replace"):
                topology = rules.taken(topology, TURNED_AWAY, node, state_id)
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
        return rules.taken(topology, TURNED_AWAY, operation.node, state_id)
    if decision.kind == "refuse":
        return _turned_down(topology, operation.node)
    assert edge is not None
    return rules.taken(topology, edge, operation.node, state_id)


TURNED_AWAY = tables.EdgeRow("none", "*", becomes="left", effects=("error", "done"))
"""What becomes of a node that the coordinator turns away."""


def _turned_down(topology: ClusterTopology, node: int) -> ClusterTopology:
    topology = rules.finished(rules.EFFECTS["error"](topology, node), node)
    return topology if node == NOBODY else cluster.with_node(topology, node, request="")
