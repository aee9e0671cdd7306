"""One random walk over a model: drawn from its seed and nothing else.

The same seed gives the same run on every machine. How many faults a walk may meet is part of the
model (its budgets are parameters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked, whole_number
from kit.engine.contract import check_contract
from kit.engine.model import Model, Monitor, Property
from kit.engine.purity import blame, check_purity, check_start, rules_of
from kit.engine.registry import fair_schedules_end, one_of, rows_of, weights_of
from kit.engine.rule import Rule
from kit.engine.scope import scope_of
from kit.engine.shrink import PropertyJudges
from kit.errors import BadInput, Refusal


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


def led_on(
    rules: Sequence[Rule[Any, Any]], state: Any, goals: Sequence[Property], seed: int, within: int
) -> tuple[tuple[Any, ...], str, str] | None:
    """A fair schedule from a state; None when it comes to every goal within so many steps.

    Else what it did, the first goal that it did not come to, and why.
    """
    chance = Chance(seed)
    missing = [goal for goal in goals if not goal.check(state)]
    actions: list[Any] = []
    enabled_since: dict[Any, int] = {}
    while missing:
        ways = [way for rule in rules for way in rule.ready(state)]
        if not ways or len(actions) >= within:
            why = f"a fair schedule did not come to it within {within} steps"
            if not ways:
                why = "nothing can happen any more, and it does not hold"
            return tuple(actions), missing[0].name, why
        enabled_since = {action: enabled_since.get(action, len(actions)) for action, _ in ways}
        if len(actions) % 2:
            action, state = min(ways, key=lambda way: enabled_since[way[0]])
        else:
            action, state = ways[chance.below(len(ways))]
        del enabled_since[action]
        actions.append(action)
        missing = [goal for goal in missing if not goal.check(state)]
    return None


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
        self.within = within if fair_schedules_end(model) else 0
        self.steps = steps
        self.judges = PropertyJudges.of(model, properties, monitors)
        self.rows = rows_of(model)
        kinds = {rule.kind for rule in model.rules}
        usual = {kind: each for kind, each in weights_of(model).items() if kind in kinds}
        self._weights = usual if weights is None else dict(weights)
        self._table = _weighted(model, self._weights)
        judges = self.judges
        judged = (
            *judges.always,
            *judges.steps,
            *judges.awaited,
            *(judges.goals if self.within else ()),
        )
        self.scope = scope_of(model, judged, judges.monitors)
        self.check_purity(Walk(0, ()))
        check_start(model, model.start())

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

    def _options(self, state: Any) -> list[tuple[float, Any, list[Any], Any]]:
        """The rules that have something to do in a state, each with the weights so far.

        What it does first is known; whether it can do the rest is asked where it is drawn.
        """
        options, total = [], 0.0
        for weight, outcome, choices in self._table:
            rest = iter(choices(state))
            for action, given in rest:
                end = outcome(state, given)
                if end is not None and type(end) is not Refusal:
                    total += weight
                    options.append((total, outcome, [(action, end)], rest))
                    break
        return options


def _weighted(model: Model[Any, Any], weights: Mapping[str, float]) -> tuple[Any, ...]:
    """The rules with their weights, in the order of the table."""
    kinds = [rule.kind for rule in model.rules]
    for kind, weight in weights.items():
        if kind not in kinds:
            raise BadInput("weights", kind, one_of(kind, kinds))
        if not 0 <= weight < MOST_WEIGHT:
            raise BadInput(f"weights[{kind}]", weight, f"a number from 0 to {MOST_WEIGHT}")
    return tuple(
        (float(weights.get(rule.kind, 1)), rule.outcome, rule.choices)
        for rule in rules_of(model)
        if weights.get(rule.kind, 1)
    )
