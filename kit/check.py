"""Exhaustive search, breadth first: the shortest counterexample, or the word that there is none."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from msgspec import Struct

from kit.compose import Refinement
from kit.errors import BadInput
from kit.model import Model, Property

Progress = Callable[[int, int], None]
_REPORT_EVERY = 4096
_NO_LIMIT = 1 << 62


class Violation(Struct, frozen=True):
    """A property that does not hold, why, and the shortest run that shows it."""

    property: str
    witness: str
    actions: tuple[Any, ...]


class Result(Struct, frozen=True):
    """What a search found.

    ``states`` counts unique states, ``transitions`` the steps taken between them, ``depth`` the
    steps of the longest shortest run. ``complete`` says that nothing reachable was left out, and
    ``unreached`` names the *sometimes* properties that no state showed. ``unjudged`` names what
    this search does not judge: monitors always, *goal* properties when it was bounded. ``seconds``
    is the time of the search alone.
    """

    model: str
    states: int
    transitions: int
    depth: int
    complete: bool
    violation: Violation | None
    unreached: tuple[str, ...]
    seconds: float
    unjudged: tuple[str, ...] = ()


def check(
    model: Model[Any, Any],
    properties: tuple[Property, ...] | None = None,
    *,
    max_states: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Visit every reachable state of ``model`` and judge its properties.

    ``properties`` replaces the model's own. ``max_states`` bounds the search; ``progress`` is
    called now and then with the number of states seen, and how many the current level has. A
    state without successors is no error: a protocol may come to rest.

    Raises:
        BadInput: when ``max_states`` is below 1.
    """
    if max_states is not None and max_states < 1:
        raise BadInput("max_states", max_states, "a number from 1 up, or None for no bound")
    judged = model.properties if properties is None else properties
    search = _Search(model, judged, max_states or _NO_LIMIT)
    collecting = gc.isenabled()
    gc.disable()  # nothing here is cyclic; the collector would walk millions of live states
    began = perf_counter()
    try:
        violation = search.run(progress)
    finally:
        if collecting:
            gc.enable()
    seconds = perf_counter() - began
    complete = violation is None and search.complete
    monitors = [monitor.name for monitor in model.monitors]
    goals = [] if complete else [prop.name for prop in search.goals]
    return Result(
        model.name,
        len(search.parents),
        search.transitions,
        search.depth,
        complete,
        violation,
        tuple(sorted(prop.name for prop in search.awaited)),
        seconds,
        tuple(
            monitors + [name for name in goals if violation is None or violation.property != name]
        ),
    )


def check_refinement(refinement: Refinement, *, max_states: int | None = None) -> Result:
    """Check that the finer model starts and steps as the coarser one, on every reachable step."""
    steps = Property("refines", "step", "Every step is its image", refinement.mismatch)
    if refinement.project(refinement.fine.start()) != refinement.coarse.start():
        violation = Violation("refines", "the start is not the coarser model's start", ())
        return Result(refinement.fine.name, 1, 0, 0, False, violation, (), 0.0)
    return check(refinement.fine, (steps,), max_states=max_states)


class _Search:
    """One breadth-first search: the visited states, how each was reached, and the counts."""

    def __init__(self, model: Model[Any, Any], properties: tuple[Property, ...], most: int) -> None:
        self.model = model
        self.most = most
        self.always = tuple((p, p.check) for p in properties if p.kind == "always")
        self.steps = tuple((p, p.check) for p in properties if p.kind == "step")
        self.awaited = tuple(p for p in properties if p.kind == "sometimes")
        self.goals = tuple(p for p in properties if p.kind == "goal")
        self.parents: dict[Any, Any] = {}
        self.sources: dict[Any, list[Any]] = {}
        self.transitions = 0
        self.depth = 0
        self.complete = True

    def run(self, progress: Progress | None) -> Violation | None:
        """Visit level by level; stop at the first violation or at the bound."""
        frontier = [self.model.start()]
        self.parents[frontier[0]] = None
        violation = self._judge(frontier[0])
        while frontier and violation is None and self.complete:
            found: list[Any] = []
            violation = self._level(frontier, found, progress)
            self.depth += bool(found) or violation is not None
            frontier = found
        if violation is None and self.complete and self.goals:
            return self._progress()
        return violation

    def _level(
        self, frontier: list[Any], found: list[Any], progress: Progress | None
    ) -> Violation | None:
        """Take every enabled step from a level's states; what is new goes to ``found``.

        The time of a search is spent here, so names are looked up once, outside the loops.
        """
        successors, parents, sources = self.model.successors, self.parents, self.sources
        steps, goals, judge, most = self.steps, self.goals, self._judge, self.most
        report = _NO_LIMIT if progress is None else len(parents) + _REPORT_EVERY
        taken = 0
        try:
            for state in frontier:
                for action, after in successors(state):
                    taken += 1
                    for prop, allows in steps:
                        witness = allows(state, action, after)
                        if witness is not None:
                            return Violation(prop.name, witness, (*self._path(state), action))
                    if goals:
                        sources.setdefault(after, []).append(state)
                    if after in parents:
                        continue
                    if len(parents) >= most:
                        self.complete = False
                        return None
                    parents[after] = (state, action)
                    found.append(after)
                    violation = judge(after)
                    if violation is not None:
                        return violation
                if len(parents) >= report and progress is not None:
                    progress(len(parents), len(frontier))
                    report = len(parents) + _REPORT_EVERY
        finally:
            self.transitions += taken
        return None

    def _judge(self, state: Any) -> Violation | None:
        """The first *always* property that ``state`` breaks; *sometimes* ones are ticked off."""
        for prop, judge in self.always:
            witness = judge(state)
            if witness is not None:
                return Violation(prop.name, witness, self._path(state))
        for prop in self.awaited:
            if prop.check(state):
                self.awaited = tuple(other for other in self.awaited if other is not prop)
        return None

    def _progress(self) -> Violation | None:
        """The first state found from which a *goal* can no longer be reached."""
        for prop in self.goals:
            todo = [state for state in self.parents if prop.check(state)]
            able = set(todo)
            while todo:
                for source in self.sources.get(todo.pop(), ()):
                    if source not in able:
                        able.add(source)
                        todo.append(source)
            lost = next((state for state in self.parents if state not in able), None)
            if lost is not None:
                return Violation(prop.name, "from here it is out of reach", self._path(lost))
        return None

    def _path(self, state: Any) -> tuple[Any, ...]:
        """The actions of the shortest run to ``state``."""
        actions = []
        link = self.parents[state]
        while link is not None:
            state, action = link
            actions.append(action)
            link = self.parents[state]
        return tuple(reversed(actions))
