"""What a student sees of the switch that disables balancing."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest

from kit.model.timeline import Timeline
from kit.views.panel import scene_at, scene_of
from kit.views.registry import for_model
from kit.widgets import Player
from tests.views.frames import part
from tests.widgets.playing import quiet


def text(timeline: Timeline, name: str) -> list[str]:
    """A tab's lines at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    lines = panel.text(scene_of(timeline, timeline.at)).splitlines()
    return [line.strip() for line in lines]


def played(player: Player) -> Timeline:
    """The default schedule, to its end."""
    while player.timeline.forward() is not None:
        pass
    return player.timeline


def switched(player: Player, on: bool) -> Player:
    """The same Player, once its box was ticked or not."""
    assert player.controls is not None
    box: Any = player.controls.fields["balancing"]
    assert isinstance(box, ipywidgets.Checkbox)
    box.value = on
    assert player.model.parameters.balancing == on
    return player


@pytest.mark.spec("E-030")
def test_a_switch_disables_balancing() -> None:
    """With the box unticked no move is offered, the bars stay as they are, a badge and the plan's
    tab say why; ticked again, tablets move and the bars do.
    """
    player, _ = quiet("tablets/one-tablet-moves")
    still = played(switched(player, False))
    option = still.model.find(still.state, "imbalance")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "balancing is disabled"
    assert text(still, "load")[:4] == ["A:0: 1", "B:0: 1", "C:0: 1", "D:0: 0"]
    assert text(still, "plan")[0].startswith("Balancing is disabled")
    [plan] = [each for each in for_model(still.model).panels if each.name == "plan"]
    assert part(plan.draw(scene_at(still, still.at)), "plan:disabled") is not None
    assert any("balancing is off" in line for line in text(still, "badges"))
    moving = played(switched(player, True))
    assert text(moving, "load")[:4] == ["A:0: 1 → 0", "B:0: 1 → 1", "C:0: 1 → 1", "D:0: 0 → 1"]
    assert not any("balancing is off" in line for line in text(moving, "badges"))


@pytest.mark.spec("E-030")
def test_nodes_are_emptied_all_the_same() -> None:
    """With balancing disabled a node that leaves is drained."""
    player, _ = quiet("tablets/decommission-drains-first")
    timeline = played(switched(player, False))
    assert text(timeline, "load")[2] == "C:0: 2 → 1 → 0"
    assert timeline.state.control.topology.nodes[2].state == "left"
