"""The queue of requests, and why each of them stands where it stands.

Edition ``documents`` takes requests in the order of their ids (Q-19). Edition ``server`` prefers
kinds of node requests in a fixed order, takes global requests after all of them, pauses who still
has tablets, and cancels the whole queue when nothing is under way and no request may begin because
nodes are down. Sources: Topology over Raft, "Load balancing"; published coordinator, its choice of
the next task.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, RequestEntry, mask_of
from kit.protocols.topology.rules.effects import number_of
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.states import NODE_REQUESTS
from kit.protocols.topology.rules.work import TopologyOperation, under_way

Standing = Literal["running", "next", "waits", "paused", "cancelled"]

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
    """Every request that is not done: the one under way first, then as they would be taken."""
    operation = under_way(topology)
    running = number_of(topology, operation.node) if operation else 0
    held = _held(topology, operation, alive, setting)
    waiting = _ordered(topology, setting)
    entries = []
    if running:
        entries.append(_entry(topology, running, "running", "it is under way"))
    idle = operation is None and not held[0]
    by_itself = _standings(topology, waiting, alive, setting, idle)
    chosen = False
    for number, standing in zip(waiting, by_itself, strict=True):
        if standing[0] == "next":
            behind = _behind(topology, number, operation, held, chosen, alive, setting)
            # Who waits for cleanup is the first all the same: the cleanup is done for it.
            chosen = chosen or behind[0] in ("", CLEANUP_FIRST)
            entries.append(_entry(topology, number, "waits" if behind[0] else "next", *behind))
        else:
            entries.append(_entry(topology, number, *standing))
    return tuple(entries)


Held = tuple[str, int]
"""Why no request may begin now, and for whom all wait; the empty text: one may."""


def _held(
    topology: ClusterTopology, operation: TopologyOperation | None, alive: int, setting: Setting
) -> Held:
    if operation is None:
        cleaning = _cleaning(topology) & alive
        return ("cleanup runs", cleaning) if cleaning else ("", 0)
    if operation.machine == "lock":
        return "the topology is locked", 0
    if operation.machine == "tablets":
        if setting.safeguards.tablet_track_excludes:
            return "the tablet track has to end first", 0
        return "", 0
    own = 0 if operation.node == NOBODY else 1 << operation.node
    return f"another operation is under way ({operation.machine})", own


def _behind(
    topology: ClusterTopology,
    number: int,
    operation: TopologyOperation | None,
    held: Held,
    chosen: bool,
    alive: int,
    setting: Setting,
) -> Held:
    """Why a request that could begin by itself waits; the empty text: it is the next."""
    kind = topology.requests[number - 1].kind
    # A join does not wait for tablets: published coordinator.
    preempts = (
        operation is not None
        and operation.machine == "tablets"
        and setting.edition == "server"
        and kind == "join"
    )
    if held[0] and not preempts:
        return held
    if chosen:
        return "another request comes first", 0
    return _needs_cleanup(topology, number, alive, setting)


def _needs_cleanup(topology: ClusterTopology, number: int, alive: int, setting: Setting) -> Held:
    """Who gets ranges back must have cleaned up first, or deleted data may come back (S-41)."""
    first = setting.safeguards.cleanup_first and topology.requests[number - 1].kind in (
        "remove",
        "leave",
    )
    needed = sum(1 << i for i, entry in enumerate(topology.nodes) if entry.cleanup == "needed")
    needed &= mask_of(topology, "normal") & alive
    return (CLEANUP_FIRST, needed) if first and needed else ("", 0)


def _cleaning(topology: ClusterTopology) -> int:
    normal = mask_of(topology, "normal")
    return sum(1 << i for i in nodes_in(normal) if topology.nodes[i].cleanup == "running")


def _ordered(topology: ClusterTopology, setting: Setting) -> tuple[int, ...]:
    """The waiting requests as they are taken."""
    waiting = pending(topology)
    if setting.edition == "documents":
        return waiting
    kinds: tuple[str, ...] = NODE_REQUESTS
    rank = {kind: place for place, kind in enumerate(kinds)}
    last = len(kinds)
    return tuple(sorted(waiting, key=lambda n: (rank.get(topology.requests[n - 1].kind, last), n)))


def _standings(
    topology: ClusterTopology, waiting: tuple[int, ...], alive: int, setting: Setting, idle: bool
) -> list[tuple[Standing, str, int]]:
    """Of each request by itself: whether it could begin, is paused, waits for nodes, or is off.

    Only an ``idle`` coordinator, which looks for its next task, cancels.
    """
    if setting.edition == "documents":
        return [("next", "", 0)] * len(waiting)
    missing = [_missing(topology, topology.requests[n - 1], alive) for n in waiting]
    of_nodes = [topology.requests[n - 1].node != NOBODY for n in waiting]
    # Paused requests count among those that could go on, though none of them is taken.
    stuck = (
        idle and any(of_nodes) and all(m for m, own in zip(missing, of_nodes, strict=True) if own)
    )
    paused = [_is_paused(topology, n) for n in waiting]
    ready = any(
        own and not m and not p for m, own, p in zip(missing, of_nodes, paused, strict=True)
    )
    standings: list[tuple[Standing, str, int]] = []
    for number, dead, own, rests in zip(waiting, missing, of_nodes, paused, strict=True):
        if own and stuck:
            standings.append(("cancelled", "nodes that it needs are down", dead))
        elif own and dead:
            standings.append(("waits", "nodes that it needs are down", dead))
        elif rests:
            node = 1 << topology.requests[number - 1].node
            standings.append(("paused", "its tablets move away first", node))
        elif not own and (ready or stuck):
            standings.append(("waits", "requests of nodes come first", 0))
        else:
            standings.append(("next", "", 0))
    return standings


def _missing(topology: ClusterTopology, request: RequestEntry, alive: int) -> int:
    """The nodes without which a request of a node may not begin, as far as they are down.

    Only removal and replace pass over ignored nodes; a rebuild needs its own node alone.
    """
    if request.node == NOBODY:
        return 0
    if request.kind == "rebuild":
        return 1 << request.node & ~alive
    needed = mask_of(topology, "normal")
    if request.kind == "remove":
        needed &= ~(topology.ignored | 1 << request.node)
    if request.kind == "replace":
        needed &= ~(topology.ignored | 1 << topology.nodes[request.node].replaced)
    return needed & ~alive


def _is_paused(topology: ClusterTopology, number: int) -> bool:
    request = topology.requests[number - 1]
    return request.kind in ("leave", "remove") and bool(topology.tablets_on >> request.node & 1)


def _entry(
    topology: ClusterTopology, number: int, standing: Standing, reason: str, waits_for: int = 0
) -> QueueEntry:
    request = topology.requests[number - 1]
    return QueueEntry(number, request.kind, request.node, standing, reason, waits_for)
