"""What the model of a resize says: verbs, what a step did, a state as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

REASONS: dict[type, str] = {
    resize.AboveSplit: "the average is above the split threshold",
    resize.BelowMerge: "the average is below the merge threshold",
    resize.WithinThresholds: "the average is between the thresholds",
    resize.OppositeAfterwards: "what is decided would call for its opposite",
    resize.StillGrowing: "the table is still growing",
    resize.SingleTablet: "there is one tablet only",
    resize.SizesUnknown: "some size is not known",
}
"""Why a table is split or merged, or is not, as far as an average says."""


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
        return f"{after.map.count} tablets"
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
            reason = REASONS[type(steps.decision(model, before).reason)]
            number = f"number {new.resize_seq_number}"
            return f"Decision {new.resize_type}, {number}, at {average(before)} %: {reason}."
        case act.ApplyView(node):
            view = after.view
            return f"{node} applies a map of {tablets(view.count)}, with resize {view.resize_type}."
        case act.DivideStorage(tablet, replica):
            copied = f"number {new.resize_seq_number}"
            return f"{replica} has divided tablet {tablet} and copies {copied}."
        case act.MoveReplica(tablet, source, target):
            with_it = steps.sibling_of(before, tablet)
            along = "" if with_it is None else f", and with it that of tablet {with_it}"
            return f"A replica of tablet {tablet} moves from {source} to {target}{along}."
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
    return "1 tablet" if count == 1 else f"{count} tablets"


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
        **{name: f"{s.views[i].count} tablets" for i, name in enumerate(model.names)},
    }


def _stores(s: ResizeState, tablet: int) -> str:
    return ", ".join(
        f"{each.replica}{' divided' if each.divided else ''} (number {each.number})"
        for each in s.stores[tablet]
    )
