"""Which steps of a run broke a promise: what was broken once stays marked in pictures of runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kit.engine.model import Model, verdicts

if TYPE_CHECKING:
    from kit.engine.timeline import Timeline


class PassedStep(Struct, frozen=True):
    """A step on the way to a moment, and what the model's monitors remember after it."""

    before: Any
    action: Any
    after: Any
    memories: tuple[Any, ...] = ()


class Breach(Struct, frozen=True):
    """Step ``step`` of a run (from 0), an ``action``, was the first to break the promise ``title``.

    ``name`` is that of the property or monitor which says so, and ``witness`` what it says.
    """

    step: int
    action: Any
    name: str
    title: str
    witness: str


def new_breaches(
    model: Model[Any, Any], number: int, passed: PassedStep, known: tuple[Breach, ...]
) -> tuple[Breach, ...]:
    """The promises that step ``number`` breaks and none of the ``known`` breaches has broken."""
    before = {breach.name for breach in known}
    start = number == 0  # nobody has judged it, so the first step is judged by everything
    moved = [p for p in model.properties if start or not p.stays(passed.before, passed.after)]
    judged = verdicts(
        model, passed.after, passed.before, passed.action, passed.memories, properties=moved
    )
    return tuple(
        Breach(number, passed.action, verdict.name, verdict.title, verdict.witness)
        for verdict in judged
        if verdict.witness is not None and verdict.name not in before
    )


class JudgedMoments:
    """What was broken on the way to the moments of a history; each moment is judged once."""

    def __init__(self) -> None:
        self._depths = {0: 0}
        self._breaches: dict[int, tuple[Breach, ...]] = {0: ()}

    def breaches(self, timeline: Timeline, number: int) -> tuple[Breach, ...]:
        """The first step to break each promise on the way to a moment, in the order of steps."""
        unjudged = []
        while number not in self._breaches:
            unjudged.append(timeline.moments[number])
            number = timeline.moments[number].parent
        depth, breaches = self._depths[number], self._breaches[number]
        for moment in reversed(unjudged):
            before, memories = timeline.moments[moment.parent].state, timeline.memories(moment.id)
            passed = PassedStep(before, moment.action, moment.state, memories)
            breaches += new_breaches(timeline.model, depth, passed, breaches)
            depth += 1
            self._depths[moment.id], self._breaches[moment.id] = depth, breaches
        return breaches


def first_breaches(model: Model[Any, Any], steps: Iterable[PassedStep]) -> tuple[Breach, ...]:
    """The first step to break each promise, in the order of steps."""
    breaches: tuple[Breach, ...] = ()
    for number, passed in enumerate(steps):
        breaches += new_breaches(model, number, passed, breaches)
    return breaches
