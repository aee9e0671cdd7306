"""Random walks over a model: what no search can reach in time, chance may.

A walk is drawn from its seed and nothing else, so that the same seed gives the same run on every
machine. How many faults it may meet is part of the model (its budgets are parameters). What fails
is shrunk to a run that needs every one of its steps, and opens like any other run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from random import Random
from time import perf_counter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked, whole_number
from kit.engine.contract import check_contract
from kit.engine.fair import WITHIN, led_on
from kit.engine.model import Model, Monitor, Property
from kit.engine.progress import Progress, shown
from kit.engine.purity import blame, check_purity, rules_of
from kit.engine.registry import one_of, rows_of, weights_of
from kit.engine.scope import Scope, scope_of
from kit.engine.shrink import PropertyJudges, shrink
from kit.engine.timeline import Timeline
from kit.engine.trace import Trace
from kit.errors import BadInput

CLEAN = "clean"
SEEDS = range(50)
STEPS = 100
MOST_STEPS = 100_000
AUDITED = 8  # walks whose last states are looked at closely
MOST_SEEDS = 10_000_000
MOST_LISTED = 1_000_000  # seeds that are no range
MOST_WEIGHT = 1_000_000


class Walk(Struct, frozen=True):
    """One walk: its seed, its actions, its verdict, and the rows of the tables that it took.

    ``verdict`` is ``clean`` or the name of what its last step breaks, with the ``witness``.
    ``reached`` names the *sometimes* properties that it showed.
    """

    seed: int
    actions: tuple[Any, ...]
    verdict: str = CLEAN
    witness: str | None = None
    taken: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """How many steps it took; fewer than it might when it came to rest."""
        return len(self.actions)


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
        broken = [f"violated: {each.property}: {each.witness}" for each in self.findings]
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


class Walker:
    """Draws walks over one model, always in the same way.

    The next rule of the model's table is drawn among those with an enabled action, by the weight
    of its kind, then one of its actions.
    """

    @checked
    def __init__(
        self,
        model: Model[Any, Any],
        *,
        steps: int = STEPS,
        weights: Mapping[str, float] | None = None,
        properties: tuple[Property, ...] | None = None,
        monitors: tuple[Monitor, ...] | None = None,
        within: int = WITHIN,
    ) -> None:
        """Walks of at most ``steps`` steps, led on to each *goal* in at most ``within`` more.

        ``weights`` are by kind of action, 1 where none is given; None for those of the model's
        entry.

        ``properties`` and ``monitors`` are as for ``kit.engine.check.check``.

        Raises:
            BadInput: for a number of steps or a weight out of its limits, or an unknown kind; or
                when the model changes its states, or makes states that cannot be told apart.
        """
        if not 1 <= steps <= MOST_STEPS:
            raise BadInput("steps", steps, f"a number from 1 to {MOST_STEPS}")
        whole_number("within", within, most=MOST_STEPS)
        check_contract(model, properties, monitors)
        self.model = model
        self.within = within
        self.steps = steps
        self.judges = PropertyJudges.of(model, properties, monitors)
        self.rows = rows_of(model)
        self._weights = weights_of(model) if weights is None else dict(weights)
        self._table = _weighted(model, self._weights)
        judges = self.judges
        judged = (*judges.always, *judges.steps, *judges.awaited, *(judges.goals if within else ()))
        self.scope = scope_of(model, judged, judges.monitors)
        self.check_purity(Walk(0, ()))

    def check_purity(self, walk: Walk) -> None:
        """See that the model keeps its word in the last state of a walk.

        Raises:
            BadInput: when it does not, naming the place in its code.
        """
        state = self.model.start()
        for action in walk.actions:
            state = self.model.apply(state, action)
        try:
            check_purity(self.model, state)
        except AttributeError as error:
            raise blame(self.model, (), [], error) or error from None

    def led_on(self, walk: Walk) -> Walk:
        """A walk that broke nothing, and what a fair schedule from its end says of the *goals*.

        Where that does not come to one of them, its steps are added to the walk.
        """
        goals = self.judges.goals if self.within else ()
        if walk.verdict != CLEAN or not goals:
            return walk
        state = self.model.start()
        for action in walk.actions:
            state = self.model.apply(state, action)
        rules = [rule for rule in rules_of(self.model) if self._weights.get(rule.kind, 1)]
        lost = led_on(rules, state, goals, walk.seed, self.within)
        if lost is None:
            return walk
        actions, name, why = lost
        return replace(walk, actions=(*walk.actions, *actions), verdict=name, witness=why)

    def walk(self, seed: int) -> Walk:
        """The walk of a seed, up to its first violation, its last step, or rest."""
        chance = Random(seed).random
        model, judges, taken_by, table = self.model, self.judges, self.rows.taken, self._table
        state = model.start()
        memories = judges.begin()
        actions: list[Any] = []
        awaited, reached = judges.awaited, list[str]()
        missing = set(self.rows.names)
        broken = judges.broken(None, None, state, memories)
        while broken is None and len(actions) < self.steps:
            for prop in awaited:
                if prop.check(state):
                    reached.append(prop.name)
                    awaited = tuple(other for other in awaited if other is not prop)
            options = []
            total = 0.0
            for weight, candidates, condition, effect in table:
                ready = [action for action in candidates(state) if condition(state, action) is None]
                if ready:
                    total += weight
                    options.append((total, ready, effect))
            if not options:
                break
            point = chance() * total
            for option in options:
                if point < option[0]:
                    break
            _, ready, effect = option
            action = ready[int(chance() * len(ready))]
            after = effect(state, action)
            actions.append(action)
            if missing:
                missing.difference_update(taken_by(state, action, after))
            if judges.monitors:
                memories = judges.remember(memories, state, action, after)
            broken = judges.broken(state, action, after, memories)
            state = after
        reached += [prop.name for prop in awaited if prop.check(state)]
        verdict, witness = broken or (CLEAN, None)
        return Walk(
            seed,
            tuple(actions),
            verdict,
            witness,
            tuple(row for row in self.rows.names if row not in missing),
            tuple(sorted(reached)),
        )


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
        model,
        steps=steps,
        weights=weights,
        properties=properties,
        monitors=monitors,
        within=within,
    )
    numbers = _seeds(seeds)
    tally = _Tally(walker)
    collecting = gc.isenabled()
    gc.disable()  # as in a search: nothing here is cyclic
    began = perf_counter()
    try:
        with shown(progress, "{done:,} walks of {now:,}", len(numbers)) as report:
            tally.walk_all(numbers, report)
            tally.shrink_all()
    except KeyboardInterrupt:
        tally.interrupted = True
    except (TypeError, AttributeError) as error:
        blamed = blame(model, (), [], error)
        if blamed is None:
            raise
        raise blamed from None
    finally:
        if collecting:
            gc.enable()
    return tally.told(perf_counter() - began)


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

    def told(self, seconds: float) -> Fuzzed:
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


def _weighted(model: Model[Any, Any], weights: Mapping[str, float]) -> tuple[Any, ...]:
    """The rules with their weights, in the order of the table."""
    kinds = [rule.kind for rule in model.rules]
    for kind, weight in weights.items():
        if kind not in kinds:
            raise BadInput("weights", kind, one_of(kind, kinds))
        if not 0 <= weight < MOST_WEIGHT:
            raise BadInput(f"weights[{kind}]", weight, f"a number from 0 to {MOST_WEIGHT}")
    return tuple(
        (float(weights.get(rule.kind, 1)), rule.candidates, rule.condition, rule.effect)
        for rule in rules_of(model)
        if weights.get(rule.kind, 1)
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
