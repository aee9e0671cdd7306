"""Why a tablet is moved, and why it is not: a closed set, with the numbers that were compared.

Each reason has its sentence here, with those numbers and how loads are written.

Loads are tablets per shard in edition ``documents``; in ``server`` they are utilisations: bytes by
capacity, of nodes where a tablet would leave its node, of shards where it would stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tablets.rules.balance.cluster import NodeRole
from kit.protocols.topology.rules.machines import Edition

UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
HUGE = 10_000  # times a capacity: its percentage is a power of ten
MOST_DIGITS = 9


class EvensOut(Struct, frozen=True, tag=True):
    """Moved from a fuller place to an emptier one: the loads of both, before and after."""

    source: float
    target: float
    source_after: float
    target_after: float


class Drains(Struct, frozen=True, tag=True):
    """Moved because its node is to be empty; ``load`` is that of the least loaded fit place."""

    role: NodeRole
    load: float


class JoinsSibling(Struct, frozen=True, tag=True):
    """Moved to where the even sibling, tablet ``even``, has a replica: both will be one."""

    even: int


class InTransition(Struct, frozen=True, tag=True):
    """The tablet has a transition already, or is in the plan: one at a time."""


class TakesNone(Struct, frozen=True, tag=True):
    """The target's node takes no tablets."""

    role: NodeRole


class GivesNone(Struct, frozen=True, tag=True):
    """The replica's node is left alone: nothing can be read from it."""

    role: NodeRole


class OtherDatacenter(Struct, frozen=True, tag=True):
    """A replica stays in its datacenter."""

    source: str
    target: str


class ReplicaThere(Struct, frozen=True, tag=True):
    """The target's node has a replica of the tablet, on this shard: one on a node."""

    shard: int


class RackSpread(Struct, frozen=True, tag=True):
    """The target's rack would hold more replicas of the tablet than any rack does now."""

    rack: str
    after: int
    most: int


class RackNamed(Struct, frozen=True, tag=True):
    """The keyspace names the racks that have a replica: one stays in its rack."""

    source: str
    target: str


class StreamsFull(Struct, frozen=True, tag=True):
    """A shard has as many streams as it may have: it ``reads`` for some, or takes them."""

    reads: bool
    streams: int
    weight: int
    limit: int


class Balanced(Struct, frozen=True, tag=True):
    """Loads are even enough: the most loaded, the least loaded, and by how much they may differ."""

    most: float
    least: float
    allowed: float


class NotEmptier(Struct, frozen=True, tag=True):
    """The target is as full as the source."""

    source: float
    target: float


class WouldInvert(Struct, frozen=True, tag=True):
    """The target would then be fuller than the source: the tablet would come back."""

    source_after: float
    target_after: float


class NoGain(Struct, frozen=True, tag=True):
    """The target would then be as full as the source is now: the fullest place would be no emptier.

    With less than that a move is worth it in edition ``server``, though the target may then be
    fuller than what is left of the source.
    """

    source: float
    target_after: float


class EvenByRack(Struct, frozen=True, tag=True):
    """Loads are evened out within each rack, for some keyspace names racks in the datacenter."""

    source: str
    target: str


class MovesElsewhere(Struct, frozen=True, tag=True):
    """The plan moves this tablet to another place."""

    host: str
    shard: int


class OthersFirst(Struct, frozen=True, tag=True):
    """Nothing forbids it, but a plan is an increment: fuller sources or emptier targets go first,
    and of one source the tablet that is least bad for the spread of its table.

    ``source`` and ``target`` are the loads of these, ``most`` and ``least`` those of the extremes.
    """

    source: float
    target: float
    most: float
    least: float


class DrainsFirst(Struct, frozen=True, tag=True):
    """A node of the datacenter is to be emptied: loads are evened out once it is."""

    host: str


class Disabled(Struct, frozen=True, tag=True):
    """Balancing is switched off; nodes are drained all the same."""


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


def reason_said(reason: Reason, edition: Edition) -> str:
    """Why a tablet is moved, or why it is not, as one sentence."""

    def loads(*values: float) -> tuple[str, ...]:
        return loads_said(edition, *values)

    match reason:
        case EvensOut():
            here, there, after, then = loads(
                reason.source, reason.target, reason.source_after, reason.target_after
            )
            return f"evens out {here} and {there} to {after} and {then}"
        case Drains(role, value):
            [least] = loads(value)
            return f"its node is {role}; the target has {least}, the least of those that fit"
        case JoinsSibling(even):
            return f"follows its sibling, tablet {even}: both are to be one"
        case Balanced(most, smallest, allowed):
            least, largest = loads(smallest, most)
            within = f"within {load_said(allowed, edition)} of each other"
            return f"loads are even enough: from {least} to {largest}, {within}"
        case NotEmptier(source, target):
            here, there = loads(source, target)
            return f"the target has {there}, the source {here}"
        case WouldInvert(source, target):
            here, there = loads(source, target)
            return f"then the target would have {there}, the source {here}"
        case NoGain(source, target):
            here, there = loads(source, target)
            return f"then the target would have {there}, no less than the source now: {here}"
        case EvenByRack(source, target):
            named = "a keyspace names its racks, so loads are evened out within each"
            return f"{named}: nothing goes from {source} to {target} for that"
        case OthersFirst():
            here, there, most_said, least = loads(
                reason.source, reason.target, reason.most, reason.least
            )
            reach = f"loads reach from {least} to {most_said}"
            return f"others go first: here {here} and {there}, {reach}"
    return _forbidden(reason)


def _forbidden(reason: Refused | MovesElsewhere | DrainsFirst | Disabled) -> str:
    """What forbids a move, whatever the loads are."""
    match reason:
        case InTransition():
            return "the tablet is in transition already"
        case GivesNone(role):
            return f"the replica's node is {role}: nothing can be read from it"
        case TakesNone(role):
            return f"the target's node is {role}: it takes no tablets"
        case OtherDatacenter(source, target):
            return f"the replica is in {source}, the target in {target}"
        case ReplicaThere(shard):
            return f"the target's node has a replica of the tablet, on shard {shard}"
        case RackSpread(rack, after, most):
            return f"rack {rack} would have {after} of its replicas; none has more than {most} now"
        case RackNamed(source, target):
            return f"the keyspace names its racks: no replica goes from {source} to {target}"
        case StreamsFull(reads, streams, weight, limit):
            does = "reads for" if reads else "takes"
            busy = f"a shard {does} {counted(streams, 'stream')} already"
            return f"{busy}; {weight} more would pass its limit of {limit}"
        case MovesElsewhere(host, shard):
            return f"the plan moves it to shard {shard} of {host}"
        case DrainsFirst(host):
            return f"node {host} is to be emptied first: nothing else moves in its datacenter"
        case Disabled():
            return "balancing is disabled"
