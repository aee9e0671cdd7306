"""Random walks over a model: what no search can reach in time, chance may.

Each walk is drawn from its seed alone: the same one gives the same run on every machine. How many
faults it may meet is part of the model (its budgets are parameters). What fails is shrunk to a run
that needs every one of its steps, and opens like any other run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from itertools import islice
from random import Random
from time import perf_counter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked, whole_number
from kit.edge.progress import Progress, shown
from kit.errors import BadInput, Refusal, one_line
from kit.model import vet
from kit.model.liveness import loop_of, loop_words
from kit.model.model import Model, Monitor, Property, Rule, by_kind
from kit.model.registry import check_one_of, fuzzing_of, rows_of
from kit.model.timeline import Timeline
from kit.model.trace import Trace
from kit.search.check import Lines, Scope, scope_of
from kit.search.search import LOST, look_further, out_of_reach, ways_on

Memories = tuple[Any, ...]
Broken = tuple[str, str]
T = TypeVar("T")


class PropertyJudges(Struct, frozen=True):
    """The judges of each step of a run, of what is awaited of some state, and of its end.

    What is ``known`` of a name and the state that breaks it does not count as broken.
    """

    always: tuple[Property, ...]
    steps: tuple[Property, ...]
    awaited: tuple[Property, ...]
    monitors: tuple[Monitor, ...]
    goals: tuple[Property, ...] = ()
    known: Callable[[str, Any], Any] = lambda name, state: None
    lives: tuple[Property, ...] = ()  # of a run as a whole; walks don't judge them

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
        always, steps, awaited, goals, lives = by_kind(judged)
        watching = tuple(map(vet.careful_monitor, monitors))
        return cls(always, steps, awaited, watching, goals, lives=lives)

    def begin(self) -> Memories:
        """The memories of the monitors at the start."""
        return tuple(monitor.begin() for monitor in self.monitors)

    def remember(self, memories: Memories, before: Any, action: Any, after: Any) -> Memories:
        """The memories of the monitors after a step."""
        return tuple(
            monitor.after(memory, before, action, after)
            for monitor, memory in zip(self.monitors, memories, strict=True)
        )

    def broken(self, before: Any, action: Any, after: Any, memories: Memories) -> Broken | None:
        """The first thing that a step breaks, with its witness; no step (None) leads to a start."""
        for prop in self.always:
            witness = prop.check(after)
            if witness is not None and not self.known(prop.name, after):
                return prop.name, vet.witness_of(prop.name, prop.check, witness)
        if action is not None:
            for prop in self.steps:
                witness = prop.of_step(before, action, after)
                if witness is not None and not self.known(prop.name, after):
                    return prop.name, vet.witness_of(prop.name, prop.check, witness)
        for monitor, memory in zip(self.monitors, memories, strict=True):
            witness = monitor.verdict(memory)
            if witness is not None and not self.known(monitor.name, after):
                return monitor.name, vet.witness_of(monitor.name, monitor.verdict, witness)
        return None


@checked
def shrink(
    model: Model[Any, Any], actions: Sequence[Any], name: str, judges: PropertyJudges | None = None
) -> tuple[tuple[Any, ...], str]:
    """A shorter run that breaks the property ``name`` as this one does, and its witness.

    Leaving out any one action of it, no run remains that does. A run that does not break it at all
    is given back as it is, with an empty witness.
    """
    kept, witness = Trial(model, actions, name, judges or PropertyJudges.of(model)).shrunk()
    return tuple(actions[number] for number in kept), witness


@checked
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


class Trial:
    """Replays of parts of a run, in search of one violation. A part is the numbers of its steps."""

    def __init__(
        self,
        model: Model[Any, Any],
        actions: Sequence[Any],
        name: str,
        judges: PropertyJudges,
        progress: Progress | None = None,
    ) -> None:
        """Parts of these actions; ``name`` is what they are to break."""
        self.model, self.actions, self.name, self.judges = model, actions, name, judges
        self.progress = progress
        self.tried: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self.witnesses: dict[tuple[int, ...], str] = {}

    def shrunk(self) -> tuple[tuple[int, ...], str]:
        """The steps that are needed, and the witness; all, and none, of a run that breaks not."""
        every = tuple(range(len(self.actions)))
        kept = self.run(every)
        if kept is None:
            return every, ""
        kept = least(kept, self.run)
        return kept, self.witnesses[kept]

    def run(self, numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        """The steps that were taken up to the violation; None when there is none of its name."""
        if self.progress is not None:
            self.progress(len(self.tried), len(numbers))
        if numbers not in self.tried:
            self.tried[numbers] = self._replay(numbers)
        return self.tried[numbers]

    def _replay(self, numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        model, judges = self.model, self.judges
        state, memories, taken = model.start(), judges.begin(), list[int]()
        broken = judges.broken(None, None, state, memories)
        way: list[tuple[Any, Any]] = []
        for number in numbers:
            if broken is not None:
                break
            action = self.actions[number]
            if model.refusal(state, action) is not None:
                continue
            after = model.apply(state, action)
            memories = judges.remember(memories, state, action, after)
            broken = judges.broken(state, action, after, memories)
            way.append((state, action))
            state = after
            taken.append(number)
            loops = ((p, loop_of(model, p, way, state)) for p in judges.lives if broken is None)
            if lasting := next(((p, loop) for p, loop in loops if loop is not None), None):
                broken = lasting[0].name, loop_words(len(way), lasting[1])
        if broken is None or broken[0] != self.name:
            return None
        kept = tuple(taken)
        self.tried[kept] = kept
        self.witnesses[kept] = broken[1]
        return kept


class Chance:
    """Draws that are the same on every machine: of a generator, only its plain numbers count."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed).random

    def under(self, share: float) -> bool:
        """True in so large a share of all cases."""
        return self._draw() < share

    def below(self, count: int) -> int:
        """A number from 0 to below ``count``."""
        return int(self._draw() * count)

    def pick(self, things: list[str] | tuple[str, ...]) -> str:
        """One of several."""
        return things[self.below(len(things))]


WITHIN = 1000  # steps
AT_REST = "no step that is sure to happen is possible, and the goal does not hold"


def _comes_to(
    goal: Property,
    state: Any,
    ways_from: Callable[[Any], list[tuple[Any, Any]]],
    chance: Chance,
    within: int,
) -> bool:
    """Whether a goal is met on other ways: one by chance alone, then all of a bounded search.

    A schedule that alternates may go round in a ring of steps that alternates in the same way.
    """
    at = state
    for _ in range(within):
        if goal.check(at):
            return True
        if not (ways := ways_from(at)):
            break
        _, at = ways[chance.below(len(ways))]
    new, _ = look_further([state], lambda s: iter(ways_from(s)), lambda s: s, (), {}, MOST_SEARCHED)
    return any(map(goal.check, new))


@checked
def led_on(
    model: Model[Any, Any],
    rules: Sequence[Rule[Any, Any]],
    state: Any,
    goals: Sequence[Property],
    seed: int,
    within: int,
) -> tuple[tuple[Any, ...], str, str] | None:
    """A fair schedule from a state; None when it comes to every goal within so many steps.

    It takes steps that progress may rely on, and, every other time at least, what has been enabled
    longest. Else what it did, the first goal that it did not come to, and why; not if a small
    search from there comes to it.
    """
    chance = Chance(seed)
    missing = [goal for goal in goals if not goal.check(state)]
    actions: list[Any] = []
    beyond: int | None = None  # from here on a replay would go beyond a budget
    enabled_since: dict[Any, int] = {}

    ways_from = partial(ways_on, model, rules)
    while missing:
        ways, helped = ways_from(state)
        if not ways:
            return tuple(actions[:beyond]), missing[0].name, AT_REST
        if len(actions) >= within:
            for goal in missing:
                if not _comes_to(goal, state, lambda s: ways_from(s)[0], chance, within):
                    why = f"a fair schedule did not reach the goal within {within} steps"
                    return tuple(actions[:beyond]), goal.name, why
            return None
        enabled_since = {action: enabled_since.get(action, len(actions)) for action, _ in ways}
        if len(actions) % 2:
            action, state = min(ways, key=lambda way: enabled_since[way[0]])
        else:
            action, state = ways[chance.below(len(ways))]
        del enabled_since[action]
        if beyond is None and action in helped:
            beyond = len(actions)
        actions.append(action)
        missing = [goal for goal in missing if not goal.check(state)]
    return None


MOST_SEARCHED = 500
"""States in which a goal is looked for that a fair schedule did not come to."""
CLEAN = "clean"
STEPS = 100
MOST_STEPS = 100_000
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
        entry. ``properties`` and ``monitors`` are as for ``kit.search.check.check``.

        Raises BadInput for a number of steps or a weight out of its limits, or an unknown kind; or
        when the model changes its states, or makes states that cannot be told apart.
        """
        if not 1 <= steps <= MOST_STEPS:
            raise BadInput("steps", steps, f"a number from 1 to {MOST_STEPS}")
        whole_number("within", within, most=MOST_STEPS)
        vet.check_contract(model, properties, monitors)
        self.model = model
        fuzzing = fuzzing_of(model)
        self.within = within if fuzzing.comes_to_goals else 0
        self.steps = steps
        self.costs: dict[str, str] = {}
        judges = PropertyJudges.of(model, properties, monitors)
        self.judges = judges = replace(judges, known=self._known)
        self.rows = rows_of(model)
        kinds = {rule.kind for rule in model.rules}
        usual = {kind: each for kind, each in fuzzing.weights.items() if kind in kinds}
        weights = usual if weights is None else weights
        _check_weights(model, weights)
        weighted = ((float(weights.get(rule.kind, 1)), rule) for rule in vet.rules_of(model))
        self._table = tuple((weight, rule) for weight, rule in weighted if weight)
        self._rules = tuple(rule for _, rule in self._table)
        self.goals = judges.goals if self.within else ()
        judged = (*judges.always, *judges.steps, *judges.awaited, *self.goals)
        self.scope = scope_of(model, judged, judges.monitors)
        self.check_purity(Walk(0, ()))
        vet.check_start(model, model.start())

    def _known(self, name: str, state: Any) -> bool:
        cost = self.model.known_cost(name, state)
        if cost is not None:
            self.costs[name] = cost.remark()
        return cost is not None

    def check_purity(self, walk: Walk) -> None:
        """See that the model keeps its word where a walk ends. Raises BadInput naming the place."""
        state = reduce(self.model.apply, walk.actions, self.model.start())
        with vet.blaming(self.model):
            vet.check_purity(self.model, state)

    def led_on(self, walk: Walk) -> Walk:
        """A walk that broke nothing, and what a fair schedule from its end says of the *goals*.

        Where that does not come to one of them, its steps are added to the walk.
        """
        if walk.verdict != CLEAN or not self.goals:
            return walk
        state = reduce(self.model.apply, walk.actions, self.model.start())
        goals = self.goals
        while lost := led_on(self.model, self._rules, state, goals, walk.seed, self.within):
            actions, name, why = lost
            if not self._known(name, reduce(self.model.apply, actions, state)):
                return replace(walk, actions=(*walk.actions, *actions), verdict=name, witness=why)
            goals = tuple(goal for goal in goals if goal.name != name)
        return walk

    def lost(self, walk: Walk) -> PropertyJudges:
        """The judges of what breaks where the *goal* is lost that a walk did not come to.

        It rests as the walk does, or else the goal is out of reach, as a small search can tell: it
        goes where a fair schedule may go, and tells nothing where it does not come to an end.
        """
        goal = next(goal for goal in self.goals if goal.name == walk.verdict)
        model, rules = self.model, self._rules
        is_lost = cache(lambda state: out_of_reach(model, rules, goal, state, MOST_SEARCHED))

        def verdict(state: Any) -> str | None:
            if walk.witness == AT_REST:
                rests = not ways_on(model, rules, state)[0] and not goal.check(state)
                return AT_REST if rests else None
            return LOST if is_lost(state) else None

        return PropertyJudges((Property(goal.name, "always", goal.title, verdict),), (), (), ())

    def walk(self, seed: int) -> Walk:
        """The walk of a seed, up to its first violation, its last step, or rest."""
        chance = Random(seed).random
        model, judges, taken_by = self.model, self.judges, self.rows.taken
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
            options = self._options(state)
            if not options:
                break
            point = chance() * options[-1][0]
            for option in options:
                if point < option[0]:
                    break
            _, outcome, ready, rest = option
            for action, given in rest:
                after = outcome(state, given)
                if after is not None and type(after) is not Refusal:
                    ready.append((action, after))
            action, after = ready[int(chance() * len(ready))]
            actions.append(action)
            if missing:
                missing.difference_update(taken_by(state, action, after))
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

    def _options(self, state: Any) -> list[tuple[float, Any, list[Any], Any]]:
        """The rules that have something to do in a state, each with the weights so far.

        What it does first is known; whether it can do the rest is asked where it is drawn.
        """
        options, total = list[tuple[float, Any, list[Any], Any]](), 0.0
        for weight, rule in self._table:
            outcome = rule.outcome
            rest = iter(rule.choices(state))
            for action, given in rest:
                end = outcome(state, given)
                if end is not None and type(end) is not Refusal:
                    total += weight
                    options.append((total, outcome, [(action, end)], rest))
                    break
        return options


def _check_weights(model: Model[Any, Any], weights: Mapping[str, float]) -> None:
    kinds = [rule.kind for rule in model.rules]
    for kind, weight in weights.items():
        check_one_of("weights", kind, kinds)
        if not 0 <= weight <= MOST_WEIGHT:
            raise BadInput(f"weights[{kind}]", weight, f"a number from 0 to {MOST_WEIGHT}")


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


class Fuzzed(Lines, frozen=True):
    """The findings of walks of several seeds.

    ``rows`` are the transitions of the model's tables, ``untaken`` those that no walk took;
    ``unreached`` names the *sometimes* properties that none showed. ``seconds`` is all the time,
    shrinking included; ``interrupted`` says that somebody stopped it. ``scope`` tells the
    configuration, what was judged and what was not; a *goal* is judged by a fair schedule from the
    end of each walk, of at most ``within`` steps. ``costs`` tells the known costs of the protocol
    that were met, by the names of what they break.
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
    costs: Mapping[str, str] = {}

    def lines(self) -> tuple[str, ...]:
        """The report: what was walked, what was judged and what broke, in a few lines."""
        broken = [one_line(f"violated: {each.property}: {each.witness}") for each in self.findings]
        counts = f"{self.model}: {self.walks:,} walks, {self.steps:,} steps{self.scope.budgets}"
        costs = (f"{name}: {remark}" for name, remark in self.costs.items())
        return counts, *self.scope.lines(), *(broken or (self.sentence,)), *costs

    @property
    def sentence(self) -> str:
        """The sentence on walks that broke nothing: of other walks it says nothing."""
        if not any(self.scope.judged.values()):
            return "nothing was judged"
        return "no violation found" + (" before the interruption" if self.interrupted else "")


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

    From where a walk ended a fair schedule must come to each *goal* ``within`` so many steps, or a
    small search must (0: goals are not judged). A run in which neither does is shrunk where such a
    search has seen all that can still happen; else it stays as it is.

    ``progress`` is called now and then with the walks done, and how many there will be; True
    shows a bar, in a notebook or a terminal. Interrupted from the keyboard, it tells what it has
    found.

    Raises BadInput as for ``Walker``; or for a seed that is no whole number from 0 on.
    """
    walker = Walker(
        model, steps=steps, weights=weights, properties=properties, monitors=monitors, within=within
    )
    numbers = _seeds(seeds)
    tally = _Tally(walker)
    began = perf_counter()
    with vet.exploring(model):
        try:
            words = "{done:,} walks of {now:,}"
            with shown(progress, words, len(numbers)) as report:
                tally.walk_all(numbers, report)
                tally.shrink_all()
        except KeyboardInterrupt:
            tally.interrupted = True
    return tally.summary(perf_counter() - began)


class _Tally:
    """The counts of the walks of one call so far."""

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
        goals = {goal.name for goal in self.walker.goals}
        for name, walk in self.failed.items():
            judges = self.walker.judges
            if name in goals:
                judges = self.walker.lost(walk)
                end = reduce(self.walker.model.apply, walk.actions, self.walker.model.start())
                if judges.broken(None, None, end, ()) is None:  # nor need earlier states be asked
                    continue
            actions, witness = shrink(self.walker.model, walk.actions, name, judges)
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
            self.walker.costs,
        )


def _seeds(seeds: Iterable[int]) -> tuple[int, ...] | range:
    numbers = seeds if isinstance(seeds, range) else tuple(islice(seeds, MOST_LISTED + 1))
    most = MOST_SEEDS if isinstance(numbers, range) else MOST_LISTED
    if len(numbers) > most:
        allowed = f"at most {MOST_SEEDS} as a range, {MOST_LISTED} else"
        raise BadInput("seeds", len(numbers), allowed)
    for seed in numbers if isinstance(numbers, tuple) else (*numbers[:1], *numbers[-1:]):
        if seed < 0:
            raise BadInput("seeds", seed, "whole numbers from 0 up")
    return numbers
