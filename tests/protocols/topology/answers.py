"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.topology import actions as act
from tests.protocols.topology.test_lessons import after, at, finish, right


def rolled_back() -> list[str]:
    """A bootstrap whose streaming fails: it is rolled back, and the node has left."""
    timeline = at("write_both_read_old", failures=1)
    while not timeline.state.attempted.streaming:
        timeline.forward()
    after(timeline, (act.FailWork,))
    return finish(timeline)


def too_late() -> list[str]:
    """Another coordinator commits between a decision and its commit."""
    timeline = Timeline(build("topology", {"operations": ("join D",), "changes": 2}))
    after(timeline, (act.MakeRequest, act.TakeDecision, act.ElectCoordinator))
    after(timeline, (act.TakeDecision, act.CommitDecision, act.CommitDeposed))
    return finish(timeline)


RIGHT: dict[str, Any] = {
    "roll-it-back": rolled_back,
    "too-late": too_late,
    "may-begin": lambda: right,
}
