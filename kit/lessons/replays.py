"""Exercises whose answer is a run: a list of verbs, replayed step by step on the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from kit.engine.model import Model
from kit.engine.registry import build, entries, scenario_of
from kit.engine.timeline import Timeline
from kit.errors import Refused, counted
from kit.lessons.answer_runs import run_to
from kit.lessons.tasks import Case, Marks


class Ground(Struct, frozen=True):
    """Where a run takes place: a scenario's ring (or a model as it is), budgets, safeguards off."""

    scenario: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()

    def model(self) -> Model[Any, Any]:
        """The model to replay on."""
        if self.scenario in entries():
            return build(self.scenario, self.extra, self.off)
        entry, scenario = scenario_of(self.scenario)
        return build(entry.name, {**scenario.parameters, **self.extra}, self.off or scenario.off)


def after_its_steps(timeline: Timeline) -> str:
    """How a message on a whole run begins: ``After 3 steps``."""
    return f"After {counted(len(timeline.path()) - 1, 'step')}"


def replay(ground: Ground, verbs: list[str]) -> tuple[Timeline, str | None]:
    """Do the verbs one after the other; with the word on the first that cannot be done."""
    timeline = Timeline(ground.model())
    model = timeline.model
    for number, verb in enumerate(verbs, start=1):
        option = model.find(timeline.state, verb.strip())
        if option is None:
            free = ", ".join(model.verb(action) for action in model.actions(timeline.state))
            return (
                timeline,
                f"Step {number}, {verb!r}: nothing like that is there; there is {free}.",
            )
        try:
            timeline.do(option[0])
        except Refused as refused:
            return timeline, f"Step {number}, {verb!r}, is refused: {refused}."
    return timeline, None


class ReplayJudge(Struct, frozen=True):
    """Replays a run on its ground and then asks for every goal; a goal says what is missing."""

    ground: Ground
    goals: tuple[Callable[[Timeline], str | None], ...]

    def __call__(self, verbs: list[str]) -> Marks:
        """Judge a run, given as verbs."""
        timeline, stopped = replay(self.ground, verbs)
        if stopped is not None:
            return Marks((Case(False, stopped), *(Case(False, "") for _ in self.goals[1:])))
        missing = [goal(timeline) for goal in self.goals]
        return Marks(tuple(Case(text is None, text or "") for text in missing))

    def answers(self) -> tuple[str, ...]:
        """A run that meets the goals, in a line; nothing where walks found none."""
        verbs = run_to(self.ground.model(), self.goals)
        return () if verbs is None else (", ".join(verbs),)


def judged(ground: Ground, goals: tuple[Callable[[Timeline], str | None], ...]) -> ReplayJudge:
    """A judge that replays a run and then asks for every goal; a goal says what is missing."""
    return ReplayJudge(ground, goals)
