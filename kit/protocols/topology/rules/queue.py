"""The queue of requests, and why each of them stands where it stands.

Edition ``documents`` takes requests in the order of their ids (Q-19). Edition ``server`` prefers
kinds of node requests in a fixed order, takes global requests after all of them, pauses who still
has tablets, and cancels the whole queue when nothing is under way and no request may begin because
nodes are down. Sources: Topology over Raft, "Load balancing"; published coordinator, its choice of
the next task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    RequestEntry,
    Setting,
    mask_of,
)
from kit.protocols.topology.rules.effects import number_of
from kit.protocols.topology.rules.machines import NODE_REQUESTS
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
    idle = operation is None and not held[0]
    # A join does not wait for tablets: published coordinator.
    tablets_move = operation is not None and operation.machine == "tablets"
    preempts = "join" if tablets_move and setting.edition == "server" else ""
    entries = [_entry(topology, running, "running", "it is under way")] if running else []
    chosen = False
    for number, by_itself in _standings(topology, alive, setting, idle):
        standing = by_itself
        if standing[0] == "next":
            kind = topology.requests[number - 1].kind
            if held[0] and kind != preempts:
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
"""Why no request may begin now, and for whom all wait; the empty text: one may."""


def _held(
    topology: ClusterTopology, operation: TopologyOperation | None, alive: int, setting: Setting
) -> Held:
    if operation is None:
        cleaning = _with_cleanup(topology, "running") & alive
        return ("cleanup runs", cleaning) if cleaning else ("", 0)
    if operation.machine == "lock":
        return "the topology is locked", 0
    if operation.machine == "tablets":
        excludes = setting.safeguards.tablet_track_excludes
        return "the tablet track has to end first" if excludes else "", 0
    own = 0 if operation.node == NOBODY else 1 << operation.node
    return f"another operation is under way ({operation.machine})", own


def _needs_cleanup(topology: ClusterTopology, kind: str, alive: int, setting: Setting) -> Held:
    """Who gets ranges back must have cleaned up first, or deleted data may come back (S-41)."""
    if not setting.safeguards.cleanup_first or kind not in ("remove", "leave"):
        return "", 0
    needed = _with_cleanup(topology, "needed") & alive
    return (CLEANUP_FIRST, needed) if needed else ("", 0)


def _with_cleanup(topology: ClusterTopology, status: str) -> int:
    normal = nodes_in(mask_of(topology, "normal"))
    return sum(1 << i for i in normal if topology.nodes[i].cleanup == status)


def _standings(
    topology: ClusterTopology, alive: int, setting: Setting, idle: bool
) -> Iterator[tuple[int, tuple[Standing, str, int]]]:
    """Of each request by itself: whether it could begin, is paused, waits for nodes, or is off.

    Only an ``idle`` coordinator, which looks for its next task, cancels.
    """
    asked = {number: topology.requests[number - 1] for number in pending(topology)}
    if setting.edition == "documents":
        yield from ((number, ("next", "", 0)) for number in asked)
        return
    missing = {number: _missing(topology, each, alive) for number, each in asked.items()}
    of_nodes = [number for number, each in asked.items() if each.node != NOBODY]
    paused = {
        number
        for number, each in asked.items()
        if each.kind in ("leave", "remove") and topology.tablets_on >> each.node & 1
    }
    # Paused requests count among those that could go on, though none of them is taken.
    stuck = idle and bool(of_nodes) and all(missing[number] for number in of_nodes)
    ready = any(not missing[number] and number not in paused for number in of_nodes)
    rank: dict[str, int] = {kind: place for place, kind in enumerate(NODE_REQUESTS)}
    for number in sorted(asked, key=lambda n: (rank.get(asked[n].kind, len(rank)), n)):
        if missing[number]:
            off: Standing = "cancelled" if stuck else "waits"
            yield number, (off, "nodes that it needs are down", missing[number])
        elif number in paused:
            yield number, ("paused", "its tablets move away first", 1 << asked[number].node)
        elif asked[number].node == NOBODY and (ready or stuck):
            yield number, ("waits", "requests of nodes come first", 0)
        else:
            yield number, ("next", "", 0)


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
