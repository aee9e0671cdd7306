"""The operation that was under way when the majority died is ended by the new coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.flows import flows
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.recovery.panels.recovery import OPERATION, standing
from kit.views.diagrams import draw_diagram
from kit.views.panel import scene_of
from tests.protocols.recovery.drill.walks import DELETE, ISOLATE, READ, lead, walked
from tests.protocols.recovery.runs import SEED_STEPS, after
from tests.views.frames import classed, panel_text

FIVE: dict[str, Any] = {"commit_indexes": (2, 2, 2, 2, 2), "dead": "C D E"}
BACK = len(OPERATION.transitions) - 1


def lit(timeline: Timeline) -> tuple[list[str | None], list[str | None]]:
    """The keys of the states that are lit, and of the ways back that were taken."""
    place = standing(scene_of(timeline, timeline.at))
    assert place is not None
    drawn = draw_diagram(place, "")
    taken = {one.key for one in classed(drawn, "taken")}
    back = [one.key for one in classed(drawn, "back") if one.key in taken]
    return [one.key for one in classed(drawn, "lit")], back


@pytest.mark.spec("G-031")
def test_the_rollback_path_lights_up_by_itself() -> None:
    """Whoever recovers types nothing for it: as soon as the leader coordinates, a barrier fails on
    the dead, and the way back is lit.
    """
    drill = walked("documents", *ISOLATE, *READ, *DELETE, *lead())
    assert lit(drill.timeline) == (["state:under way"], [])
    drill.enter("restart B")
    assert lit(drill.timeline) == (["state:rolled back"], [f"way:{BACK}"])
    assert "● → under way → rolled back" in panel_text(drill.timeline, "operation")
    assert "rolled back" in drill.transcript[-1].said[-1]


@pytest.mark.spec("G-031")
def test_an_operation_past_its_barriers_succeeds() -> None:
    """Nobody is asked any more; the way on is lit, and a removal may follow."""
    given = {**FIVE, "operation": True, "past_barriers": True}
    timeline = after(given, *SEED_STEPS, "restart B", "coordinate", "restart A", "removenode C")
    assert lit(timeline) == (["state:done"], [])
    ended = timeline.moments[timeline.path()[-3]]
    assert "the coordinator finishes it" in ended.say
    before = timeline.moments[ended.parent].state
    assert flows(timeline.model, before, ended.action, ended.state) == ()


@pytest.mark.parametrize("past", [False, True])
def test_every_run_ends_it_one_way(past: bool) -> None:
    """Searched with a crash and a return: what is drawn is all that is reached."""
    given = {"commit_indexes": (1, 1, 1), "dead": "B C", "crashes": 1, "returns": 1}
    model: Any = build("recovery", {**given, "operation": True, "past_barriers": past})
    reached = found = {model.start()}
    while found:
        found = {model.apply(s, a) for s in found for a in model.actions(s)} - reached
        reached |= found
    ends = {s.operation for s in reached}
    assert ends == {"under way", "done" if past else "rolled back"}
    assert ends < {after for _, _, after in OPERATION.transitions}


def test_no_operation_has_no_machine() -> None:
    """The tab says so."""
    assert "No operation was under way" in panel_text(after(FIVE), "operation")
