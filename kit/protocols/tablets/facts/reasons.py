"""Reasons of the balancer and of resize decisions as sentences, with the numbers compared."""

from __future__ import annotations

from kit.protocols.tablets.rules import resize
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.reasons import Reason
from kit.protocols.topology.rules.machines import Edition

UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))


def bytes_said(size: float) -> str:
    """``7.5 GiB``, ``12 bytes``."""
    for unit, power in UNITS:
        if size >= 1 << power:
            return f"{size / (1 << power):,.1f} {unit}"
    return f"{size:,.0f} bytes"


def load_said(load: float, edition: Edition) -> str:
    """A load: tablets in edition ``seed``, in ``code`` the part of the capacity in use."""
    return f"{load:,.4g}" if edition == "seed" else f"{load:.2%}"


def reason_said(reason: Reason, edition: Edition) -> str:
    """Why a tablet is moved, or why it is not, as one sentence."""

    def load(value: float) -> str:
        return load_said(value, edition)

    match reason:
        case reasons.EvensOut(source, target, source_after, target_after):
            change = f"{load(source)} and {load(target)}"
            return f"evens out {change} to {load(source_after)} and {load(target_after)}"
        case reasons.Drains(role, least):
            return f"its node is {role}; the target has {load(least)}, the least of those that fit"
        case reasons.JoinsSibling(even):
            return f"follows its sibling, tablet {even}: both are to be one"
        case reasons.Balanced(most, least, allowed):
            within = f"within {load(allowed)} of each other"
            return f"loads are even enough: from {load(least)} to {load(most)}, {within}"
        case reasons.NotEmptier(source, target):
            return f"the target has {load(target)}, the source {load(source)}"
        case reasons.WouldInvert(source, target):
            return f"then the target would have {load(target)}, the source {load(source)}"
        case reasons.OthersFirst(source, target, most, least):
            others = f"loads reach from {load(least)} to {load(most)}"
            return f"others go first: here {load(source)} and {load(target)}, {others}"
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
        case reasons.StreamsFull(reads, streams, weight, limit):
            does = "reads for" if reads else "takes"
            return f"a shard {does} {streams} streams; {weight} more would pass its {limit}"
        case reasons.MovesElsewhere(host, shard):
            return f"the plan moves it to shard {shard} of {host}"
        case reasons.DrainsFirst(host):
            return f"node {host} is to be emptied first: nothing else moves in its datacenter"
        case reasons.Disabled():
            return "balancing is disabled"


def resize_said(reason: resize.ResizeReason) -> str:
    """Why a table is split or merged, or is not, as one sentence."""
    match reason:
        case resize.AboveSplit(average, threshold):
            return f"{bytes_said(average)} a tablet is above {bytes_said(threshold)}"
        case resize.BelowMerge(average, threshold):
            return f"{bytes_said(average)} a tablet is below {bytes_said(threshold)}"
        case resize.WithinThresholds(average, lower, upper):
            bounds = f"{bytes_said(lower)} and {bytes_said(upper)}"
            return f"{bytes_said(average)} a tablet lies between {bounds}"
        case resize.OppositeAfterwards(average, threshold):
            compared = f"{bytes_said(average)} a tablet, against {bytes_said(threshold)}"
            return f"the opposite would be needed afterwards: {compared}"
        case resize.StillGrowing(count, initial):
            return f"the table is growing: {count} tablets, {initial} at first"
        case resize.SingleTablet(average, threshold):
            below = f"{bytes_said(average)} is below {bytes_said(threshold)}"
            return f"{below}, but there is one tablet only"
        case resize.CountCompared(_, target):
            return f"the target is {target:,} {'tablet' if target == 1 else 'tablets'}"
        case resize.SizesUnknown():
            return "sizes are not known"
