"""Who may coordinate next: any other voter that is heard, and never who does already."""

from __future__ import annotations

from typing import Any

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.topology import topology as act


def electable(timeline: Timeline) -> str:
    """The nodes that may be elected now."""
    actions = timeline.model.actions(timeline.state)
    return "".join(each.node for each in actions if isinstance(each, act.ElectCoordinator))


def test_the_others_may_be_elected() -> None:
    """Whoever coordinates, the first node or another one, is not elected again."""
    model: Any = build("topology", {"nodes": 3, "operations": (), "changes": 3})
    timeline = Timeline(model)
    assert electable(timeline) == "BC"
    timeline.do(act.ElectCoordinator("B"))
    assert electable(timeline) == "AC"
    timeline.do(act.ElectCoordinator("C"))
    assert electable(timeline) == "AB"
