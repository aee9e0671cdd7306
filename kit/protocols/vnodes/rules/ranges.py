"""The range of a ring that a node operation moves: its replicas before and after, what is copied.

The replicas by the ring without the operation and by the changed one are the two sets that the
selectors of a transition table choose from. Sources: Topology over Raft, "Topology state machine";
Q-43 for who streams.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from kit.errors import BadInput
from kit.ring.movement import Movement, movement
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

Operation = Literal["bootstrap", "replace", "decommission", "removenode"]
MACHINE_OF: dict[Operation, str] = {
    "bootstrap": "bootstrapping",
    "replace": "replacing",
    "decommission": "decommissioning",
    "removenode": "removing",
}
"""The transition table of an operation, by the verb of the operator."""

STEP = 100
MOST_NODES = 23
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVW"
_NEWCOMER = "X"
_SUBJECT = 1  # the code of B


class MovedRange(Struct, frozen=True):
    """A range with its replicas before and after an operation, by name.

    ``subject`` is the node that joins or leaves, ``joins`` which of the two; ``title`` is the
    operation in words; ``dead`` are the replicas that are gone when it begins. ``copies`` are pairs
    of source and target.
    """

    label: str
    left: int
    right: int
    subject: str
    joins: bool
    title: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    dead: tuple[str, ...]
    copies: tuple[tuple[str, str], ...]

    @property
    def replicas(self) -> tuple[str, ...]:
        """Every node that ever replicates the range, by name."""
        return tuple(sorted({*self.old, *self.new}))


class _Change(Struct, frozen=True):
    """A ring before and after an operation of the node ``subject`` (its code), and it in words."""

    before: Ring
    after: Ring
    subject: int
    joins: bool
    title: str
    dead: tuple[int, ...] = ()


def moved(
    operation: Operation, nodes: int, factor: int, *, from_displaced: bool = True
) -> MovedRange:
    """The range worth watching of a ring of ``nodes`` nodes, for one operation.

    It is the one with the most replicas old and new; of several, one that ends at a token of the
    operation's node. Without ``from_displaced`` some other old replica is streamed from.

    Raises:
        BadInput: when the ring has too few nodes for the operation.
    """
    change = _changed(_ring(nodes), operation)
    moves = movement(change.before, change.after, SimpleStrategy(factor))
    return _of_range(change, moves, _widest(change, moves), from_displaced)


def moved_again(
    operation: Operation, nodes: int, factor: int, *, from_displaced: bool = True
) -> tuple[Operation, MovedRange]:
    """The same range in the operation that comes next, and that operation's verb.

    Who has joined leaves; who was to leave, and stayed, is to leave again.

    Raises:
        BadInput: when the ring has too few nodes for the first operation.
    """
    first = moved(operation, nodes, factor, from_displaced=from_displaced)
    if not first.joins:
        return operation, first
    joined = _changed(_ring(nodes), operation)
    change = _leaving(joined.after, joined.subject, "decommission")
    moves = movement(change.before, change.after, SimpleStrategy(factor))
    place = Range(first.left, first.right)
    return "decommission", _of_range(change, moves, place, from_displaced)


def _ring(nodes: int) -> Ring:
    if nodes < 2:
        raise BadInput("nodes", nodes, f"2 to {MOST_NODES}, so that one may go")
    named = (Node(name, (STEP * (i + 1),)) for i, name in enumerate(_NAMES[:nodes]))
    return Ring.of(named, small(STEP * (nodes + 1)))


def _changed(ring: Ring, operation: Operation) -> _Change:
    newcomer, name = len(ring.nodes), ring.names[_SUBJECT]
    if operation == "bootstrap":
        after = ring.join(Node(_NEWCOMER, (STEP * 3 // 2,)))
        return _Change(ring, after, newcomer, True, f"bootstrap {_NEWCOMER}")
    if operation == "replace":
        after = ring.join(Node(_NEWCOMER, ())).replace(_SUBJECT, newcomer)
        title = f"replace {name} by {_NEWCOMER}"
        return _Change(ring, after, newcomer, True, title, (_SUBJECT,))
    dead = (_SUBJECT,) if operation == "removenode" else ()
    return _leaving(ring, _SUBJECT, operation, dead)


def _leaving(ring: Ring, code: int, verb: Operation, dead: tuple[int, ...] = ()) -> _Change:
    return _Change(ring, ring.leave(code), code, False, f"{verb} {ring.names[code]}", dead)


def _tokens(ring: Ring, code: int) -> tuple[int, ...]:
    return ring.nodes[code].tokens if code < len(ring.nodes) else ()


def _widest(change: _Change, moves: Movement) -> Range:
    """The range with the most replicas."""
    own = {*_tokens(change.before, change.subject), *_tokens(change.after, change.subject)}
    ranked = sorted(
        (-len(both), place.right not in own, place)
        for place, both in zip(moves.locked, moves.affected, strict=True)
    )
    return ranked[0][-1]


def _of_range(change: _Change, moves: Movement, place: Range, from_displaced: bool) -> MovedRange:
    """What the operation does to one range."""
    at = np.array([place.right], dtype=np.int64)
    rings, names = (change.before, change.after), change.after.names
    old, new = (
        tuple(names[code] for code in replicas(ring, moves.replication, at)[0] if code >= 0)
        for ring in rings
    )
    dead = tuple(names[code] for code in change.dead if names[code] in old)
    return MovedRange(
        place.label(change.before.space),
        place.left,
        place.right,
        names[change.subject],
        change.joins,
        change.title,
        old,
        new,
        dead,
        tuple(_copies(moves, place, old, dead, from_displaced)),
    )


def _copies(
    change: Movement,
    place: Range,
    old: tuple[str, ...],
    dead: tuple[str, ...],
    from_displaced: bool,
) -> list[tuple[str, str]]:
    """Who streams to whom: the displaced replica, or where it is dead or nobody is displaced, all
    old ones that live: only together they hold every successful write.
    """
    names = change.after.names
    live = tuple(name for name in old if name not in dead)
    copies = []
    for stream in change.streams:
        if stream.range.overlaps(place):
            displaced = None if stream.loses is None else names[stream.loses]
            sources = (displaced,) if displaced is not None and displaced in live else live
            others = tuple(name for name in live if name != displaced)
            if not from_displaced and others:
                sources = others[:1]
            copies += [(source, names[stream.gains]) for source in sources]
    return copies
