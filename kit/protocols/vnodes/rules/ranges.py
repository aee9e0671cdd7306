"""The range of a ring that a node operation moves: its replicas before and after, what is copied.

The replicas by the ring without the operation and by the changed one are the two sets that the
selectors of a transition table choose from. Sources: seed 000, "Topology state machine"; Q-43 for
who streams.
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

    ``subject`` is the node that joins or leaves, ``title`` the operation in words; ``dead`` are the
    replicas that are gone when it begins. ``copies`` are pairs of source and target.
    """

    label: str
    left: int
    right: int
    subject: str
    title: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    dead: tuple[str, ...]
    copies: tuple[tuple[str, str], ...]

    @property
    def replicas(self) -> tuple[str, ...]:
        """Every node that ever replicates the range, by name."""
        return tuple(sorted({*self.old, *self.new}))


def moved(
    operation: Operation, nodes: int, factor: int, *, from_displaced: bool = True
) -> MovedRange:
    """The range worth watching of a ring of ``nodes`` nodes, for one operation.

    It is the one with the most replicas old and new; of several, one that ends at a token of the
    operation's node. Without ``from_displaced`` some other old replica is streamed from.

    Raises:
        BadInput: when the ring has too few nodes for the operation.
    """
    before = Ring.of(
        (Node(name, (STEP * (i + 1),)) for i, name in enumerate(_NAMES[:nodes])),
        small(STEP * (nodes + 1)),
    )
    if nodes < 2:
        raise BadInput("nodes", nodes, f"2 to {MOST_NODES}, so that one may go")
    after, subject, title = _changed(before, operation)
    change = movement(before, after, SimpleStrategy(factor))
    place, old, new = _widest(change, {*_tokens(before, subject), *_tokens(after, subject)})
    names = after.names
    gone = (names[_SUBJECT],) if operation in ("replace", "removenode") else ()
    old_replicas, new_replicas = (tuple(names[code] for code in group) for group in (old, new))
    dead = tuple(name for name in gone if name in old_replicas)
    return MovedRange(
        place.label(before.space),
        place.left,
        place.right,
        names[subject],
        title,
        old_replicas,
        new_replicas,
        dead,
        tuple(_copies(change, place, old_replicas, dead, from_displaced)),
    )


def _changed(ring: Ring, operation: Operation) -> tuple[Ring, int, str]:
    """The ring after the operation, the node that joins or leaves (its code), and it in words."""
    newcomer, name = len(ring.nodes), ring.names[_SUBJECT]
    if operation == "bootstrap":
        joined = ring.join(Node(_NEWCOMER, (STEP * 3 // 2,)))
        return joined, newcomer, f"bootstrap {_NEWCOMER}"
    if operation == "replace":
        after = ring.join(Node(_NEWCOMER, ())).replace(_SUBJECT, newcomer)
        return after, newcomer, f"replace {name} by {_NEWCOMER}"
    return ring.leave(_SUBJECT), _SUBJECT, f"{operation} {name}"


def _tokens(ring: Ring, code: int) -> tuple[int, ...]:
    return ring.nodes[code].tokens if code < len(ring.nodes) else ()


def _widest(change: Movement, own: set[int]) -> tuple[Range, tuple[int, ...], tuple[int, ...]]:
    """The range with the most replicas, with those before and those after (codes)."""
    ranked = sorted(
        (-len(both), place.right not in own, place)
        for place, both in zip(change.locked, change.affected, strict=True)
    )
    place = ranked[0][-1]
    at = np.array([place.right], dtype=np.int64)
    groups = (replicas(ring, change.replication, at)[0] for ring in (change.before, change.after))
    old, new = (tuple(int(code) for code in group if code >= 0) for group in groups)
    return place, old, new


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
