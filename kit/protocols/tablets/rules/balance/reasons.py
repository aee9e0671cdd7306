"""Why a tablet is moved, and why it is not: a closed set, with the numbers that were compared.

Each reason has its sentence here, with those numbers and how loads are written.

Loads are tablets per shard in edition ``documents``; in ``server`` they are utilisations: bytes by
capacity, of nodes where a tablet would leave its node, of shards where it would stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import asdict, fields

from kit.errors import counted
from kit.protocols.tablets.rules.balance.cluster import NodeRole
from kit.protocols.topology.rules.machines import Edition

UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
HUGE = 10_000  # times a capacity: its percentage is a power of ten
MOST_DIGITS = 9


class TabletReason(Struct, frozen=True, tag=True):
    """A reason with its sentence, which names its fields."""

    text: ClassVar[str]


class EvensOut(TabletReason, frozen=True):
    """Moved from a fuller place to an emptier one: the loads of both, before and after."""

    text = "evens out {source} and {target} to {source_after} and {target_after}"
    source: float
    target: float
    source_after: float
    target_after: float


class Drains(TabletReason, frozen=True):
    """Moved because its node is to be empty; ``load`` is that of the least loaded fit place."""

    text = "its node is {role}; the target has {load}, the least of those that fit"
    role: NodeRole
    load: float


class JoinsSibling(TabletReason, frozen=True):
    """Moved to where the even sibling, tablet ``even``, has a replica: both will be one."""

    text = "follows its sibling, tablet {even}: both are to be one"
    even: int


class InTransition(TabletReason, frozen=True):
    """The tablet has a transition already, or is in the plan: one at a time."""

    text = "the tablet is in transition already"


class _OfRole(TabletReason, frozen=True):
    role: NodeRole


class TakesNone(_OfRole, frozen=True):
    """The target's node takes no tablets."""

    text = "the target's node is {role}: it takes no tablets"


class GivesNone(_OfRole, frozen=True):
    """The replica's node is left alone: nothing can be read from it."""

    text = "the replica's node is {role}: nothing can be read from it"


class _FromTo(TabletReason, frozen=True):
    source: str
    target: str


class OtherDatacenter(_FromTo, frozen=True):
    """A replica stays in its datacenter."""

    text = "the replica is in {source}, the target in {target}"


class ReplicaThere(TabletReason, frozen=True):
    """The target's node has a replica of the tablet, on this shard: one on a node."""

    text = "the target's node has a replica of the tablet, on shard {shard}"
    shard: int


class RackSpread(TabletReason, frozen=True):
    """The target's rack would hold more replicas of the tablet than any rack does now."""

    text = "rack {rack} would have {after} of its replicas; none has more than {most} now"
    rack: str
    after: int
    most: int


class RackNamed(_FromTo, frozen=True):
    """The keyspace names the racks that have a replica: one stays in its rack."""

    text = "the keyspace names its racks: no replica goes from {source} to {target}"


class StreamsFull(TabletReason, frozen=True):
    """A shard has as many streams as it may have: it ``reads`` for some, or takes them."""

    text = "a shard {does} {counted} already; {weight} more would pass its limit of {limit}"
    reads: bool
    streams: int
    weight: int
    limit: int


class Balanced(TabletReason, frozen=True):
    """Loads are even enough: the most loaded, the least loaded, and by how much they may differ."""

    text = "loads are even enough: from {least} to {most}, within {allowed} of each other"
    most: float
    least: float
    allowed: float | int  # which is not compared with the loads


class NotEmptier(TabletReason, frozen=True):
    """The target is as full as the source."""

    text = "the target has {target}, the source {source}"
    source: float
    target: float


class WouldInvert(TabletReason, frozen=True):
    """The target would then be fuller than the source: the tablet would come back."""

    text = "then the target would have {target_after}, the source {source_after}"
    source_after: float
    target_after: float


class NoGain(TabletReason, frozen=True):
    """The target would then be as full as the source is now: the fullest place would be no emptier.

    With less than that a move is worth it in edition ``server``, though the target may then be
    fuller than what is left of the source.
    """

    text = "then the target would have {target_after}, no less than the source now: {source}"
    source: float
    target_after: float


class EvenByRack(_FromTo, frozen=True):
    """Loads are evened out within each rack, for some keyspace names racks in the datacenter."""

    text = (
        "a keyspace names its racks, so loads are evened out within each: nothing goes from "
        "{source} to {target} for that"
    )


class MovesElsewhere(TabletReason, frozen=True):
    """The plan moves this tablet to another place."""

    text = "the plan moves it to shard {shard} of {host}"
    host: str
    shard: int


class OthersFirst(TabletReason, frozen=True):
    """Nothing forbids it, but a plan is an increment: fuller sources or emptier targets go first,
    and of one source the tablet that is least bad for the spread of its table.

    ``source`` and ``target`` are the loads of these, ``most`` and ``least`` those of the extremes.
    """

    text = "others go first: here {source} and {target}, loads reach from {least} to {most}"
    source: float
    target: float
    most: float
    least: float


class DrainsFirst(TabletReason, frozen=True):
    """A node of the datacenter is to be emptied: loads are evened out once it is."""

    text = "node {host} is to be emptied first: nothing else moves in its datacenter"
    host: str


class Disabled(TabletReason, frozen=True):
    """Balancing is switched off; nodes are drained all the same."""

    text = "balancing is disabled"


MoveReason = EvensOut | Drains | JoinsSibling
Misplaced = TakesNone | OtherDatacenter | ReplicaThere | RackSpread | RackNamed
Refused = InTransition | GivesNone | Misplaced | StreamsFull
Obstacle = (
    Refused
    | Balanced
    | NotEmptier
    | WouldInvert
    | NoGain
    | EvenByRack
    | MovesElsewhere
    | OthersFirst
    | DrainsFirst
    | Disabled
)
Reason = MoveReason | Obstacle


def bytes_said(size: float, digits: int = 1) -> str:
    """``7.5 GiB``, ``12 bytes``."""
    for unit, power in UNITS:
        if size >= 1 << power:
            return f"{size / (1 << power):,.{digits}f} {unit}"
    return f"{size:,.0f} {'byte' if size == 1 else 'bytes'}"


def load_said(load: float, edition: Edition, digits: int = 2) -> str:
    """A load: tablets in edition ``documents``, in ``server`` the part of the capacity in use."""
    if edition == "documents":
        return f"{load:,.{2 + digits}g}"
    return f"{load:,.{digits}%}" if load < HUGE else f"{load * 100:.{digits}e}%"


def told_apart(
    said: Callable[[float, int], str], values: Iterable[float], digits: int
) -> tuple[str, ...]:
    """Numbers that are compared, with the digits that different ones need to look different.

    Where they differ by what rounding does to them only, the usual ``digits``.
    """
    numbers = tuple(values)
    for more in range(digits, MOST_DIGITS + 1):
        words = tuple(said(number, more) for number in numbers)
        if len(set(words)) == len(set(numbers)):
            return words
    return tuple(said(number, digits) for number in numbers)


def loads_said(edition: Edition, *loads: float) -> tuple[str, ...]:
    """Loads that are compared."""
    return told_apart(lambda load, digits: load_said(load, edition, digits), loads, 2)


def sizes_said(*sizes: float) -> tuple[str, ...]:
    """Bytes that are compared."""
    return told_apart(bytes_said, sizes, 1)


@lru_cache
def _compared(kind: type[TabletReason]) -> tuple[str, ...]:
    """The fields of a reason that are loads, which look different if they are."""
    return tuple(each.name for each in fields(kind) if each.type is float)


@lru_cache(1 << 12)
def reason_said(reason: Reason, edition: Edition) -> str:
    """Why a tablet is moved, or why it is not, as one sentence."""
    words, names = asdict(reason), _compared(type(reason))
    words |= zip(names, loads_said(edition, *(words[name] for name in names)), strict=True)
    if isinstance(reason, Balanced):
        words["allowed"] = load_said(reason.allowed, edition)
    if isinstance(reason, StreamsFull):
        words["does"] = "reads for" if reason.reads else "takes"
        words["counted"] = counted(reason.streams, "stream")
    return reason.text.format_map(words)
