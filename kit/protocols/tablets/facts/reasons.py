"""Reasons of the balancer as sentences, with the numbers compared, and how loads are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kit.errors import counted
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.reasons import Reason
from kit.protocols.topology.rules.machines import Edition

UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
HUGE = 10_000  # times a capacity: its percentage is a power of ten
MOST_DIGITS = 9


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
        case reasons.EvensOut():
            here, there, after, then = loads(
                reason.source, reason.target, reason.source_after, reason.target_after
            )
            return f"evens out {here} and {there} to {after} and {then}"
        case reasons.Drains(role, value):
            [least] = loads(value)
            return f"its node is {role}; the target has {least}, the least of those that fit"
        case reasons.JoinsSibling(even):
            return f"follows its sibling, tablet {even}: both are to be one"
        case reasons.Balanced(most, smallest, allowed):
            least, largest = loads(smallest, most)
            within = f"within {load_said(allowed, edition)} of each other"
            return f"loads are even enough: from {least} to {largest}, {within}"
        case reasons.NotEmptier(source, target):
            here, there = loads(source, target)
            return f"the target has {there}, the source {here}"
        case reasons.WouldInvert(source, target):
            here, there = loads(source, target)
            return f"then the target would have {there}, the source {here}"
        case reasons.NoGain(source, target):
            here, there = loads(source, target)
            return f"then the target would have {there}, no less than the source now: {here}"
        case reasons.EvenByRack(source, target):
            named = "a keyspace names its racks, so loads are evened out within each"
            return f"{named}: nothing goes from {source} to {target} for that"
        case reasons.OthersFirst():
            here, there, most_said, least = loads(
                reason.source, reason.target, reason.most, reason.least
            )
            reach = f"loads reach from {least} to {most_said}"
            return f"others go first: here {here} and {there}, {reach}"
    return _forbidden(reason)


def _forbidden(
    reason: reasons.Refused | reasons.MovesElsewhere | reasons.DrainsFirst | reasons.Disabled,
) -> str:
    """What forbids a move, whatever the loads are."""
    match reason:
        case reasons.InTransition():
            return "the tablet is in transition already"
        case reasons.GivesNone(role):
            return f"the replica's node is {role}: nothing can be read from it"
        case reasons.TakesNone(role):
            return f"the target's node is {role}: it takes no tablets"
        case reasons.OtherDatacenter(source, target):
            return f"the replica is in {source}, the target in {target}"
        case reasons.ReplicaThere(shard):
            return f"the target's node has a replica of the tablet, on shard {shard}"
        case reasons.RackSpread(rack, after, most):
            return f"rack {rack} would have {after} of its replicas; none has more than {most} now"
        case reasons.RackNamed(source, target):
            return f"the keyspace names its racks: no replica goes from {source} to {target}"
        case reasons.StreamsFull(reads, streams, weight, limit):
            does = "reads for" if reads else "takes"
            busy = f"a shard {does} {counted(streams, 'stream')} already"
            return f"{busy}; {weight} more would pass its limit of {limit}"
        case reasons.MovesElsewhere(host, shard):
            return f"the plan moves it to shard {shard} of {host}"
        case reasons.DrainsFirst(host):
            return f"node {host} is to be emptied first: nothing else moves in its datacenter"
        case reasons.Disabled():
            return "balancing is disabled"
