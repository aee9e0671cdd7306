"""What the model of a resize says: verbs, what a step did, a state as a person reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kit.errors import counted
from kit.protocols.tablets.resize import actions as act
from kit.protocols.tablets.resize import steps
from kit.protocols.tablets.resize.state import ResizeState
from kit.protocols.tablets.rules import resize

if TYPE_CHECKING:
    from kit.protocols.tablets.resize.model import Resize

PLAIN: dict[type, str] = {
    act.GrowTable: "grow",
    act.ShrinkTable: "shrink",
    act.DecideResize: "resize",
    act.BeginFinalization: "finalize",
    act.PassFinalBarrier: "barrier",
    act.CommitMap: "commit map",
    act.EndRepair: "end repair",
}

Said = Callable[..., tuple[str, ...]]
"""How sizes that are compared are written: in bytes, in percent."""


def percents_said(*sizes: int) -> tuple[str, ...]:
    """Sizes in hundredths of the target size."""
    return tuple(f"{size} %" for size in sizes)


def resize_said(reason: resize.ResizeReason, said: Said = percents_said) -> str:
    """Why a table is split or merged, or is not, in a few words."""
    match reason:
        case resize.AboveSplit(average, threshold):
            size, bound = said(average, threshold)
            return f"an average of {size} is above {bound}"
        case resize.BelowMerge(average, threshold):
            size, bound = said(average, threshold)
            return f"an average of {size} is below {bound}"
        case resize.WithinThresholds(average, lower, upper):
            size, low, high = said(average, lower, upper)
            return f"an average of {size} lies between {low} and {high}"
        case resize.OppositeAfterwards(average, threshold):
            size, bound = said(average, threshold)
            return f"the opposite would be needed afterwards: an average of {size}, against {bound}"
        case resize.StillGrowing(count, initial):
            return f"the table is growing: {tablets(count)}, {initial} at first"
        case resize.SingleTablet(average, threshold):
            size, bound = said(average, threshold)
            return f"{size} is below {bound}, but there is one tablet only"
        case resize.CountCompared(_, target):
            return f"the target is {tablets(target)}"
        case resize.SizesUnknown():
            return "sizes are not known"


def verb(action: Any) -> str:
    """``grow``, ``apply B``, ``divide 0 A:0``, ``move 1 C:0 B:0``."""
    match action:
        case act.ApplyView(node):
            return f"apply {node}"
        case act.DivideStorage(tablet, replica):
            return f"divide {tablet} {replica}"
        case act.MoveReplica(tablet, source, target):
            return f"move {tablet} {source} {target}"
        case act.BeginRepair(node, tablet):
            return f"repair {node} {tablet}"
    return PLAIN[type(action)]


def milestone(before: ResizeState, after: ResizeState) -> str | None:
    """What changed for the whole table."""
    if before.map.count != after.map.count:
        return tablets(after.map.count)
    if before.map.resize_type != after.map.resize_type:
        return f"resize {after.map.resize_type}"
    return None


def describe(model: Resize, before: ResizeState, action: Any, after: ResizeState) -> str:
    """What the step did, and why."""
    new = after.map
    match action:
        case act.GrowTable() | act.ShrinkTable():
            return f"The average tablet is now at {average(after)} % of the target size."
        case act.DecideResize():
            reason = resize_said(steps.decision(model, before).reason)
            return f"Decision {new.resize_type}, number {new.resize_seq_number}: {reason}."
        case act.ApplyView(node):
            view = after.view
            return f"{node} applies a map of {tablets(view.count)}, with resize {view.resize_type}."
        case act.DivideStorage(tablet, replica):
            copied = f"number {new.resize_seq_number}"
            return f"{replica} has divided tablet {tablet} and copies {copied}."
        case act.MoveReplica(tablet, source, target):
            with_sibling = steps.sibling_of(before, tablet) is not None
            who = f"tablets {tablet} and {tablet ^ 1}" if with_sibling else f"tablet {tablet}"
            return f"A replica of {who} moves from {source} to {target}."
        case act.BeginFinalization():
            return "The coordinator enters tablet_resize_finalization."
        case act.PassFinalBarrier():
            return "Every node has applied all, and nobody holds an older map."
        case act.CommitMap():
            same = new.count == before.map.count
            said = "The decision is no longer due: the map stays" if same else "The new map"
            return f"{said} ({tablets(new.count)})."
        case act.BeginRepair(node, tablet):
            return f"{node} begins to repair tablet {tablet}."
    run = before.repair
    assert run is not None
    return f"The repair of tablet {run.tablet} of {run.count} ends; its range is marked repaired."


def tablets(count: int) -> str:
    """How many tablets there are."""
    return counted(count, "tablet")


def average(s: ResizeState) -> int:
    """The average tablet, in percent of the target size."""
    return s.size // s.map.count


def readable(model: Resize, s: ResizeState) -> dict[str, str]:
    """The state as a person reads it: the table, every tablet, every node."""
    return {
        "average tablet": f"{average(s)} % of the target size",
        "resize_type": s.map.resize_type,
        "resize_seq_number": str(s.map.resize_seq_number),
        "finalization": s.phase or "no",
        **{f"tablet {i}": _stores(s, i) for i in range(s.map.count)},
        **{name: tablets(s.views[i].count) for i, name in enumerate(model.names)},
    }


def _stores(s: ResizeState, tablet: int) -> str:
    return ", ".join(
        f"{each.replica}{' divided' if each.divided else ''} (number {each.number})"
        for each in s.stores[tablet]
    )
