"""Why a tablet is moved, and why it is not: a closed set, with the numbers that were compared.

Loads are tablets per shard in edition ``documents``; in ``server`` they are utilisations: bytes by
capacity, of nodes where a tablet would leave its node, of shards where it would stay.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec.structs import asdict, fields

from kit.errors import counted
from kit.protocols.tablets.rules.balance.cluster import NodeRole
from kit.protocols.tablets.rules.resize import ToldReason
from kit.protocols.topology.rules.machines import Edition

UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
HUGE = 10_000  # times a capacity: its percentage is a power of ten
MOST_DIGITS = 9


class EvensOut(ToldReason, frozen=True):
    """The loads {source} and {target} become {source_after} and {target_after}."""

    source: float
    target: float
    source_after: float
    target_after: float


class Drains(ToldReason, frozen=True):
    """The source node is {role}; of the places that fit, the target has the lowest load, {load}."""

    role: NodeRole
    load: float


class JoinsSibling(ToldReason, frozen=True):
    """The tablet follows its sibling, tablet {even}, because the two will be merged."""

    even: int


class InTransition(ToldReason, frozen=True):
    """The tablet is already in transition.

    Or it is in the plan: one at a time.
    """


class _OfRole(ToldReason, frozen=True):
    role: NodeRole


class TakesNone(_OfRole, frozen=True):
    """The target's node is {role}: it takes no tablets."""


class GivesNone(_OfRole, frozen=True):
    """The replica's node is {role}: nothing can be read from it."""


class _OfHost(ToldReason, frozen=True):
    host: str


class SizesUnknown(_OfHost, frozen=True):
    """The server does not know every size on {host}: its plans leave that node out."""


class DrainWaits(_OfHost, frozen=True):
    """A node is drained, and nothing moves until the server knows every size on {host}."""


class _FromTo(ToldReason, frozen=True):
    source: str
    target: str


class OtherDatacenter(_FromTo, frozen=True):
    """The replica is in {source}, the target in {target}."""


class ReplicaThere(ToldReason, frozen=True):
    """The target's node has a replica of the tablet, on shard {shard}."""

    shard: int


class RackSpread(ToldReason, frozen=True):
    """Rack {rack} would have {after} of the tablet's replicas; no rack has more than {most} now."""

    rack: str
    after: int
    most: int


class RackNamed(_FromTo, frozen=True):
    """The keyspace names its racks: no replica goes from {source} to {target}."""


class StreamsFull(ToldReason, frozen=True):
    """A shard already {does} {counted}; {weight} more would exceed its limit of {limit}.

    It ``reads`` for some streams, or takes them.
    """

    reads: bool
    streams: int
    weight: int
    limit: int


class Balanced(ToldReason, frozen=True):
    """Loads are even enough: from {least} to {most}, within {allowed} of each other."""

    most: float
    least: float
    allowed: float | int  # which is not compared with the loads


class NotEmptier(ToldReason, frozen=True):
    """The target has {target}, the source {source}."""

    source: float
    target: float


class WouldInvert(ToldReason, frozen=True):
    """The target would then have {target_after}, the source {source_after}.

    So the tablet would come back.
    """

    source_after: float
    target_after: float


class NoGain(ToldReason, frozen=True):
    """The target would then have {target_after}, no less than the source has now: {source}.

    So the fullest place would be no emptier. With less than that a move is worth it in edition
    ``server``, though the target may then be fuller than what is left of the source.
    """

    source: float
    target_after: float


class EvenByRack(_FromTo, frozen=True):
    """A keyspace names its racks, so loads are evened out within each rack: no move from {source}
    to {target} does that.
    """


class MovesElsewhere(ToldReason, frozen=True):
    """The plan moves the tablet to shard {shard} of {host}."""

    host: str
    shard: int


class OthersFirst(ToldReason, frozen=True):
    """Other moves go first: source {source}, target {target}; loads range from {least} to {most}.

    Nothing forbids it, but a plan is an increment: fuller sources or emptier targets go first, and
    of one source the tablet that is least bad for the spread of its table.
    """

    source: float
    target: float
    most: float
    least: float


class DrainsFirst(_OfHost, frozen=True):
    """Node {host} must be emptied before loads are evened out between nodes."""


class Disabled(ToldReason, frozen=True):
    """Balancing is disabled.

    Nodes are still drained.
    """


MoveReason = EvensOut | Drains | JoinsSibling
Misplaced = TakesNone | SizesUnknown | OtherDatacenter | ReplicaThere | RackSpread | RackNamed
Refused = InTransition | GivesNone | DrainWaits | Misplaced | StreamsFull
EvenEnough = Balanced | NotEmptier | WouldInvert | NoGain | EvenByRack
Obstacle = Refused | EvenEnough | MovesElsewhere | OthersFirst | DrainsFirst | Disabled
Reason = MoveReason | Obstacle


def bytes_said(size: float, digits: int = 1) -> str:
    """``7.5 GiB``, ``12 bytes``."""
    for unit, power in UNITS:
        if size >= 1 << power:
            return f"{size / (1 << power):,.{digits}f} {unit}"
    return f"{size:,.0f} {'byte' if size == 1 else 'bytes'}"


def load_said(load: float, edition: Edition, digits: int = 2) -> str:
    """A load: tablets in edition ``documents``; in ``server``, the part of the capacity in use."""
    if edition == "documents":
        return f"{load:,.{2 + digits}g}"
    return f"{load:,.{digits}%}" if load < HUGE else f"{load * 100:.{digits}e}%"


def told_apart(
    said: Callable[[float, int], str], values: Iterable[float], digits: int
) -> tuple[str, ...]:
    """Numbers that are compared, with the digits that different ones need to look different; the
    usual ``digits`` where they differ by rounding only.
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
def _compared(kind: type[ToldReason]) -> tuple[str, ...]:
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
    return reason.sentence().format_map(words)
