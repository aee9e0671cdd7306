"""What must hold while a table is resized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.tablets.resize import steps
from kit.protocols.tablets.resize.actions import CommitMap, EndRepair
from kit.protocols.tablets.resize.state import ResizeState
from kit.protocols.tablets.rules.layout import is_power_of_two
from kit.protocols.tablets.rules.maps import faults
from kit.protocols.tablets.rules.split_merge import apart

if TYPE_CHECKING:
    from kit.protocols.tablets.resize.model import Resize


def whole_map(s: ResizeState) -> str | None:
    """Each token lies in one tablet, and the count is a power of two."""
    fault = next(faults(s.map), None)
    if fault is not None:
        return f"tablet {fault.tablet}: {fault.column} {fault.value}"
    return None if is_power_of_two(s.map.count) else f"there are {s.map.count} tablets"


def merged_together(before: ResizeState, action: Any, after: ResizeState) -> str | None:
    """Siblings that become one tablet have the same replicas."""
    if after.map.count >= before.map.count:
        return None
    pair = next(apart(before.map), None)
    return None if pair is None else f"tablets {pair.even} and {pair.odd} are merged apart"


def repaired_by_the_map(before: ResizeState, action: Any, after: ResizeState) -> str | None:
    """A repair ends under the map that it began with."""
    run = before.repair
    if run is None or run.count == before.map.count:
        return None
    return f"tablet {run.tablet} of {run.count} is marked repaired in a map of {before.map.count}"


def numbers_grow(before: ResizeState, action: Any, after: ResizeState) -> str | None:
    """A new decision takes the next number, and no number is used twice."""
    old, new = before.map, after.map
    rose = new.resize_seq_number - old.resize_seq_number
    if rose not in (0, 1):
        return f"the number went from {old.resize_seq_number} to {new.resize_seq_number}"
    changed = new.resize_type != old.resize_type and old.count == new.count
    return "another decision has the same number" if changed and not rose else None


def properties_of(model: Resize) -> tuple[Property, ...]:
    """The properties of a model."""

    def finds_all(s: ResizeState) -> str | None:
        for tablet, stores in enumerate(s.stores):
            own = steps.parts_of(model, tablet, s.map.count)
            for store in (each for each in stores if each.replica.host in model.asked):
                view = s.views[model.node(store.replica.host)]
                if view.count == s.map.count and store.parts & own != own:
                    return f"{store.replica} does not find all data of tablet {tablet}"
        return None

    def settled(s: ResizeState) -> bool:
        return s.phase == "" and s.map.resize_type == "none" and not steps.is_due(model, s)

    first = model.first.count
    changes = model.parameters.grows or model.parameters.shrinks
    return (
        always("whole-map", "Each token is in one tablet", whole_map, "INV-MAP"),
        always("finds-all", "Replicas find their tablets' data", finds_all, "INV-VISIBLE"),
        step("co-located", "Siblings are merged in one place", merged_together, "INV-COLOC",
             (CommitMap,)),
        step("repair-map", "A repair marks the range that it repaired", repaired_by_the_map,
             "INV-MAP", (EndRepair,)),
        step("numbers", "Each decision takes the next number", numbers_grow),
        sometimes("resized", "The count changes", lambda s: not changes or s.map.count != first),
        goal("ends", "Every resize can end", settled, "INV-PROGRESS"),
    )  # fmt: skip
