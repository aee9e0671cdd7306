"""Which steps of a run broke a promise: what was broken once stays marked in pictures of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kit.engine.model import Model, Property

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


class _Judge:
    """Judges one step after the other; of a large run most steps touch little of a state."""

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model
        self.always: dict[Callable[[Any], Any] | None, list[Property]] = {}
        for prop in model.properties:
            if prop.kind == "always":
                self.always.setdefault(prop.of, []).append(prop)
        self.steps = [prop for prop in model.properties if prop.kind == "step"]
        names = [prop.name for prop in model.properties] + [m.name for m in model.monitors]
        self.order = {name: at for at, name in enumerate(names)}

    def new_breaches(
        self, number: int, passed: PassedStep, known: tuple[Breach, ...]
    ) -> tuple[Breach, ...]:
        """The promises that step ``number`` breaks and none of the ``known`` has broken."""
        broken = list(self._broken(number, passed))
        if not broken:
            return ()
        before = {breach.name for breach in known}
        return tuple(
            Breach(number, passed.action, name, title, witness)
            for name, title, witness in sorted(broken, key=lambda each: self.order[each[0]])
            if name not in before
        )

    def _broken(self, number: int, passed: PassedStep) -> Iterator[tuple[str, str, str]]:
        """Name, title and witness of each promise that does not hold after the step."""
        for properties in self.always.values():
            # Nobody has judged the start, so the first step is judged by everything.
            if number and properties[0].stays(passed.before, passed.after):
                continue
            for prop in properties:
                witness = prop.check(passed.after)
                if witness is not None:
                    yield prop.name, prop.title, witness
        for prop in self.steps:
            witness = prop.of_step(passed.before, passed.action, passed.after)
            if witness is not None:
                yield prop.name, prop.title, witness
        for monitor, memory in zip(self.model.monitors, passed.memories, strict=False):
            witness = monitor.verdict(memory)
            if witness is not None:
                yield monitor.name, monitor.title, witness


class JudgedMoments:
    """What was broken on the way to the moments of a history; each moment is judged once."""

    def __init__(self, model: Model[Any, Any]) -> None:
        self._judge = _Judge(model)
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
            breaches += self._judge.new_breaches(depth, passed, breaches)
            depth += 1
            self._depths[moment.id], self._breaches[moment.id] = depth, breaches
        return breaches


def first_breaches(model: Model[Any, Any], steps: Iterable[PassedStep]) -> tuple[Breach, ...]:
    """The first step to break each promise, in the order of steps."""
    breaches: tuple[Breach, ...] = ()
    judge = _Judge(model)
    for number, passed in enumerate(steps):
        breaches += judge.new_breaches(number, passed, breaches)
    return breaches
