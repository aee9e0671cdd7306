"""Random walks over a model: what no search can reach in time, chance may.

Each walk is drawn from its seed alone (``kit.engine.walking``). What fails is shrunk to a run that
needs every one of its steps, and opens like any other run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from time import perf_counter
from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.engine.model import Model, Monitor, Property
from kit.engine.progress import Progress, shown
from kit.engine.purity import exploring
from kit.engine.scope import Scope
from kit.engine.shrink import shrink
from kit.engine.timeline import Timeline
from kit.engine.trace import Trace
from kit.engine.walking import CLEAN, STEPS, WITHIN, Walk, Walker
from kit.errors import BadInput, one_line

SEEDS = range(50)
AUDITED = 8  # walks whose last states are looked at closely
MOST_SEEDS = 10_000_000
MOST_LISTED = 1_000_000  # seeds that are no range


class Finding(Struct, frozen=True):
    """Something that breaks: by which seed it was found first, and the shrunk run.

    ``unshrunk`` is the length of the run before it was shrunk, ``times`` the number of walks that
    broke it.
    """

    property: str
    witness: str
    seed: int
    actions: tuple[Any, ...]
    unshrunk: int
    times: int

    @checked
    def timeline(self, model: Model[Any, Any]) -> Timeline:
        """The run as a history, at its last step: what the player shows."""
        return Timeline.along(model, self.actions)

    @checked
    def trace(self, model: Model[Any, Any]) -> Trace:
        """The run as data."""
        return self.timeline(model).save()


class Fuzzed(Struct, frozen=True):
    """What the walks of several seeds found.

    ``rows`` are the transitions of the model's tables, ``untaken`` those that no walk took;
    ``unreached`` names the *sometimes* properties that none showed. ``seconds`` is all the time,
    shrinking included; ``interrupted`` says that somebody stopped it. ``scope`` tells the
    configuration, what was judged and what was not; a *goal* is judged by a fair schedule from the
    end of each walk, of at most ``within`` steps.
    """

    model: str
    walks: int
    steps: int
    findings: tuple[Finding, ...]
    rows: tuple[str, ...]
    untaken: tuple[str, ...]
    unreached: tuple[str, ...]
    seconds: float
    interrupted: bool = False
    within: int = WITHIN
    scope: Scope = Scope()

    def lines(self) -> tuple[str, ...]:
        """What was walked, what was judged and what broke, in a few lines."""
        broken = [one_line(f"violated: {each.property}: {each.witness}") for each in self.findings]
        counts = f"{self.model}: {self.walks:,} walks, {self.steps:,} steps"
        return counts, *self.scope.lines(), *(broken or (self.sentence,))

    @property
    def sentence(self) -> str:
        """What walks say that broke nothing: of other walks they say nothing."""
        if not any(self.scope.judged.values()):
            return "nothing was judged"
        return "none found" + (" before it was interrupted" if self.interrupted else "")

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(line)}</div>" for line in self.lines())


@checked
def fuzz(
    model: Model[Any, Any],
    seeds: Iterable[int] = SEEDS,
    *,
    steps: int = STEPS,
    weights: Mapping[str, float] | None = None,
    properties: tuple[Property, ...] | None = None,
    monitors: tuple[Monitor, ...] | None = None,
    within: int = WITHIN,
    progress: Progress | bool | None = None,
) -> Fuzzed:
    """Walk once for each seed, and shrink the first run that breaks each property.

    From where a walk ended a fair schedule must come to each *goal* ``within`` so many steps (0:
    goals are not judged); a run that shows that it does not is not shrunk.

    ``progress`` is called now and then with the walks done, and how many there will be; True
    shows a bar, in a notebook or a terminal. Interrupted from the keyboard, it tells what it has
    found.

    Raises:
        BadInput: as for ``Walker``; or for a seed that is no whole number from 0 on.
    """
    walker = Walker(
        model, steps=steps, weights=weights, properties=properties, monitors=monitors, within=within
    )
    numbers = _seeds(seeds)
    tally = _Tally(walker)
    began = perf_counter()
    with exploring(model):
        try:
            with shown(progress, "{done:,} walks of {now:,}", len(numbers)) as report:
                tally.walk_all(numbers, report)
                tally.shrink_all()
        except KeyboardInterrupt:
            tally.interrupted = True
    return tally.summary(perf_counter() - began)


class _Tally:
    """What the walks of one call have shown so far."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.walks = self.steps = 0
        self.failed: dict[str, Walk] = {}
        self.times: dict[str, int] = {}
        self.shrunk: dict[str, Finding] = {}
        self.taken: set[str] = set()
        self.reached: set[str] = set()
        self.interrupted = False

    def walk_all(self, seeds: Sequence[int], progress: Progress | None) -> None:
        """One walk a seed."""
        for seed in seeds:
            walk = self.walker.led_on(self.walker.walk(seed))
            if self.walks < AUDITED:
                self.walker.check_purity(walk)
            self.walks += 1
            self.steps += walk.steps
            self.taken.update(walk.taken)
            self.reached.update(walk.reached)
            if walk.verdict != CLEAN:
                self.failed.setdefault(walk.verdict, walk)
                self.times[walk.verdict] = self.times.get(walk.verdict, 0) + 1
            if progress is not None and self.walks % 16 == 0:
                progress(self.walks, len(seeds))

    def shrink_all(self) -> None:
        """The first walk that failed in each way, made small."""
        goals = {goal.name for goal in self.walker.judges.goals}
        for name, walk in self.failed.items():
            if name in goals:
                continue
            actions, witness = shrink(self.walker.model, walk.actions, name, self.walker.judges)
            self.shrunk[name] = self._finding(walk, actions, witness)

    def _finding(self, walk: Walk, actions: tuple[Any, ...], witness: str) -> Finding:
        times = self.times[walk.verdict]
        return Finding(walk.verdict, witness, walk.seed, actions, walk.steps, times)

    def summary(self, seconds: float) -> Fuzzed:
        """All of it; a run that there was no time to shrink is told as it was walked."""
        rows = self.walker.rows.names
        return Fuzzed(
            self.walker.model.name,
            self.walks,
            self.steps,
            tuple(
                self.shrunk.get(name) or self._finding(walk, walk.actions, str(walk.witness))
                for name, walk in self.failed.items()
            ),
            rows,
            tuple(row for row in rows if row not in self.taken),
            tuple(p.name for p in self.walker.judges.awaited if p.name not in self.reached),
            seconds,
            self.interrupted,
            self.walker.within,
            self.walker.scope,
        )


def _seeds(seeds: Iterable[int]) -> tuple[int, ...] | range:
    numbers = seeds if isinstance(seeds, range) else tuple(islice(seeds, MOST_LISTED + 1))
    most = MOST_SEEDS if isinstance(numbers, range) else MOST_LISTED
    if len(numbers) > most:
        allowed = f"at most {MOST_SEEDS} as a range, {MOST_LISTED} else"
        raise BadInput("seeds", len(numbers), allowed)
    for seed in numbers if isinstance(numbers, tuple) else (*numbers[:1], *numbers[-1:]):
        if type(seed) is not int or seed < 0:
            raise BadInput("seeds", seed, "whole numbers from 0 on")
    return numbers
