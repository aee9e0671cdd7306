"""Exhaustive search, breadth first: the shortest counterexample, or the word that there is none."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from msgspec import Struct

from kit.compose import Refinement
from kit.model import Model, Property

Progress = Callable[[int, int], None]
_REPORT_EVERY = 4096


class Violation(Struct, frozen=True):
    """A property that does not hold, why, and the shortest run that shows it."""

    property: str
    witness: str
    actions: tuple[Any, ...]


class Result(Struct, frozen=True):
    """What a search found.

    ``states`` counts unique states, ``transitions`` the steps taken between them, ``depth`` the
    steps of the longest shortest run. ``complete`` says that nothing reachable was left out, and
    ``unreached`` names the *sometimes* properties that no state showed. ``seconds`` is the time
    of the search alone.
    """

    model: str
    states: int
    transitions: int
    depth: int
    complete: bool
    violation: Violation | None
    unreached: tuple[str, ...]
    seconds: float


def check(
    model: Model[Any, Any],
    properties: tuple[Property, ...] | None = None,
    *,
    max_states: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Visit every reachable state of ``model`` and judge its properties.

    ``properties`` replaces the model's own. ``max_states`` bounds the search; ``progress`` is
    called now and then with the number of states seen and still to visit.
    """
    judged = model.properties if properties is None else properties
    search = _Search(model, judged)
    collecting = gc.isenabled()
    gc.disable()  # nothing here is cyclic; the collector would walk millions of live states
    began = perf_counter()
    try:
        violation = search.run(max_states, progress)
    finally:
        if collecting:
            gc.enable()
    return Result(
        model.name,
        len(search.parents),
        search.transitions,
        search.depth,
        violation is None and search.complete,
        violation,
        tuple(sorted(prop.name for prop in search.awaited)),
        perf_counter() - began,
    )


def check_refinement(refinement: Refinement, *, max_states: int | None = None) -> Result:
    """Check that every reachable step of the finer model is its image in the coarser one."""
    prop = Property("refines", "step", "Every step is its image", refinement.mismatch)
    return check(refinement.fine, (prop,), max_states=max_states)


class _Search:
    """One breadth-first search: the visited states, how each was reached, and the counts."""

    def __init__(self, model: Model[Any, Any], properties: tuple[Property, ...]) -> None:
        self.model = model
        self.always = tuple((p, p.check) for p in properties if p.kind == "always")
        self.steps = tuple((p, p.check) for p in properties if p.kind == "step")
        self.awaited = [p for p in properties if p.kind == "sometimes"]
        self.parents: dict[Any, Any] = {}
        self.transitions = 0
        self.depth = 0
        self.complete = True

    def run(self, max_states: int | None, progress: Progress | None) -> Violation | None:
        """Visit level by level; stop at the first violation."""
        start = self.model.start()
        self.parents[start] = None
        broken = self._judge(start)
        if broken is not None:
            return self._violation(*broken, start)
        frontier = [start]
        while frontier:
            found: list[Any] = []
            for state in frontier:
                violation = self._expand(state, found)
                if violation is not None:
                    self.depth += 1
                    return violation
                if max_states is not None and len(self.parents) >= max_states:
                    self.complete = False
                    return None
                if progress is not None and len(self.parents) % _REPORT_EVERY < len(found):
                    progress(len(self.parents), len(frontier))
            self.depth += bool(found)
            frontier = found
        return None

    def _expand(self, state: Any, found: list[Any]) -> Violation | None:
        """Take every enabled step from ``state``; new states go to ``found``."""
        model, parents, steps = self.model, self.parents, self.steps
        for action, after in model.successors(state):
            self.transitions += 1
            for prop, judge in steps:
                witness = judge(state, action, after)
                if witness is not None:
                    return Violation(prop.name, witness, (*self._path(state), action))
            if after in parents:
                continue
            parents[after] = (state, action)
            found.append(after)
            broken = self._judge(after)
            if broken is not None:
                return self._violation(*broken, after)
        return None

    def _judge(self, state: Any) -> tuple[Property, str] | None:
        """The first *always* property that ``state`` breaks; *sometimes* ones are ticked off."""
        for prop, judge in self.always:
            witness = judge(state)
            if witness is not None:
                return prop, witness
        if self.awaited:
            self.awaited = [prop for prop in self.awaited if not prop.check(state)]
        return None

    def _violation(self, prop: Property, witness: str, state: Any) -> Violation:
        return Violation(prop.name, witness, self._path(state))

    def _path(self, state: Any) -> tuple[Any, ...]:
        """The actions of the shortest run to ``state``."""
        actions = []
        link = self.parents[state]
        while link is not None:
            state, action = link
            actions.append(action)
            link = self.parents[state]
        return tuple(reversed(actions))
