"""Making a failing run small: what is not needed for the failure is left out.

Delta debugging over actions (A. Zeller and R. Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002). A part of the run is left out and the rest is replayed; actions that
are not enabled any more are skipped. What remains needs every one of its actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from kit.engine.careful import careful_monitor, careful_property, witness_of
from kit.engine.model import Model, Monitor, Property

Memories = tuple[Any, ...]
Broken = tuple[str, str]
T = TypeVar("T")


class PropertyJudges(Struct, frozen=True):
    """What is judged at each step of a run, what is awaited of some state, and what of its end."""

    always: tuple[Property, ...]
    steps: tuple[Property, ...]
    awaited: tuple[Property, ...]
    monitors: tuple[Monitor, ...]
    goals: tuple[Property, ...] = ()

    @classmethod
    def of(
        cls,
        model: Model[Any, Any],
        properties: tuple[Property, ...] | None = None,
        monitors: tuple[Monitor, ...] | None = None,
    ) -> PropertyJudges:
        """The model's own, or those given; ``properties`` leave out the model's monitors."""
        judged = model.properties if properties is None else properties
        if monitors is None:
            monitors = model.monitors if properties is None else ()
        by_kind = {
            kind: tuple(careful_property(prop) for prop in judged if prop.kind == kind)
            for kind in ("always", "step", "sometimes", "goal")
        }
        return cls(
            *(by_kind["always"], by_kind["step"], by_kind["sometimes"]),
            tuple(map(careful_monitor, monitors)),
            by_kind["goal"],
        )

    def begin(self) -> Memories:
        """What the monitors remember at the start."""
        return tuple(monitor.begin() for monitor in self.monitors)

    def remember(self, memories: Memories, before: Any, action: Any, after: Any) -> Memories:
        """What the monitors remember after a step."""
        return tuple(
            monitor.after(memory, before, action, after)
            for monitor, memory in zip(self.monitors, memories, strict=True)
        )

    def broken(self, before: Any, action: Any, after: Any, memories: Memories) -> Broken | None:
        """The first thing that a step breaks, with its witness; no step (None) leads to a start."""
        for prop in self.always:
            witness = prop.check(after)
            if witness is not None:
                return prop.name, witness_of(prop.name, prop.check, witness)
        if self.steps and action is not None:
            for prop in self.steps:
                witness = prop.of_step(before, action, after)
                if witness is not None:
                    return prop.name, witness_of(prop.name, prop.check, witness)
        if self.monitors:
            for monitor, memory in zip(self.monitors, memories, strict=True):
                witness = monitor.verdict(memory)
                if witness is not None:
                    return monitor.name, witness_of(monitor.name, monitor.verdict, witness)
        return None


def shrink(
    model: Model[Any, Any], actions: Sequence[Any], name: str, judges: PropertyJudges | None = None
) -> tuple[tuple[Any, ...], str]:
    """A shorter run that breaks the property ``name`` as this one does, and its witness.

    Leaving out any one action of it, no run remains that does. A run that does not break it at all
    is given back as it is, with an empty witness.
    """
    trial = _Trial(model, name, judges or PropertyJudges.of(model))
    kept = trial.run(actions)
    if kept is None:
        return tuple(actions), ""
    kept = least(kept, trial.run)
    if len(kept) == 1:
        kept = trial.run(()) or kept
    return kept, trial.witness(kept)


def least(
    things: tuple[T, ...], trial: Callable[[tuple[T, ...]], tuple[T, ...] | None]
) -> tuple[T, ...]:
    """A part of the things that still fails, and does not without any one of them.

    ``trial`` gives what a part needs to fail, which may be less than the part; None: it does not.
    """
    parts = 2
    while len(things) >= 2:
        size = -(-len(things) // parts)
        for start in range(0, len(things), size):
            rest = trial((*things[:start], *things[start + size :]))
            if rest is not None:
                things, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(things))
    return things


class _Trial:
    """Replays of parts of a run, in search of one violation."""

    def __init__(self, model: Model[Any, Any], name: str, judges: PropertyJudges) -> None:
        self.model, self.name, self.judges = model, name, judges
        self.tried: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
        self.witnesses: dict[tuple[Any, ...], str] = {}

    def run(self, actions: Sequence[Any]) -> tuple[Any, ...] | None:
        """The actions that were taken up to the violation; None when there is none of its name."""
        proposed = tuple(actions)
        if proposed not in self.tried:
            self.tried[proposed] = self._replay(proposed)
        return self.tried[proposed]

    def witness(self, actions: tuple[Any, ...]) -> str:
        """Why a run that failed did."""
        return self.witnesses[actions]

    def _replay(self, actions: tuple[Any, ...]) -> tuple[Any, ...] | None:
        model, judges = self.model, self.judges
        state, memories, taken = model.start(), judges.begin(), list[Any]()
        broken = judges.broken(None, None, state, memories)
        for action in actions:
            if broken is not None:
                break
            if model.refusal(state, action) is not None:
                continue
            after = model.apply(state, action)
            memories = judges.remember(memories, state, action, after)
            broken = judges.broken(state, action, after, memories)
            state = after
            taken.append(action)
        if broken is None or broken[0] != self.name:
            return None
        kept = tuple(taken)
        self.tried[kept] = kept
        self.witnesses[kept] = broken[1]
        return kept
