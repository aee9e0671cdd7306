"""Steps in an order: what follows from a list of them, and how many orders end in what."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from kit.errors import Refusal
from kit.model.model import Model, Rule, verdicts


class OrderedState(Struct, frozen=True, cache_hash=True):
    """A state of the model, and how many steps of the list are behind it."""

    inner: Any
    place: int


class Ordered(Model[OrderedState, Any]):
    """``model``, in which actions of the types ``own`` happen in the order of ``steps`` alone.

    Those of the types ``always`` may happen besides, whenever the model allows them. A step that
    has nothing left to do (the model does not offer it) is passed over; one that is refused waits.
    A run may come to rest anywhere: what cannot end any more has lost its goal.
    """

    State = OrderedState

    def __init__(
        self,
        model: Model[Any, Any],
        steps: Sequence[Any],
        own: Iterable[type],
        always: Iterable[type] = (),
    ) -> None:
        self.model, self.steps = model, tuple(steps)
        self.own, self.always = tuple(own), tuple(always)
        self.name, self.title = model.name, model.title
        self.parameters, self.off = model.parameters, model.off
        self.Action, self.faults = model.Action, model.faults
        self.rules = tuple(self._following(rule) for rule in model.rules)
        self.properties = tuple(p.within(attrgetter("inner")) for p in model.properties)

    def start(self) -> OrderedState:
        """The model's start, before the first step that has anything to do."""
        return self._at(self.model.start(), 0)

    def due(self, s: OrderedState) -> Any | None:
        """The step that comes next; None: the list is done."""
        return self.steps[s.place] if s.place < len(self.steps) else None

    def _at(self, inner: Any, place: int) -> OrderedState:
        while place < len(self.steps) and self.model.comes_to(inner, self.steps[place]) is None:
            place += 1
        return OrderedState(inner, place)

    def _following(self, rule: Rule[Any, Any]) -> Rule[OrderedState, Any]:
        def choices(s: OrderedState) -> Iterable[tuple[Any, Any]]:
            if rule.action not in self.own or rule.action in self.always:
                return rule.choices(s.inner)
            due = self.due(s)
            return ((due, rule.given(due)),) if type(due) is rule.action else ()

        def outcome(s: OrderedState, given: Any) -> Any:
            end = rule.outcome(s.inner, given)
            return end if end is None or isinstance(end, Refusal) else self._at(end, s.place)

        return Rule(rule.action, rule.kind, choices=choices, outcome=outcome, given=rule.given)

    def verb(self, action: Any) -> str:
        """The model's word."""
        return self.model.verb(action)

    def describe(self, before: OrderedState, action: Any, after: OrderedState) -> str:
        """The model's words."""
        return self.model.describe(before.inner, action, after.inner)


REFUSED = "refused"


class OrderedMove(Struct, frozen=True):
    """A step: its actions, done one after the other, and the places of those that come before it.

    An action that the model does not offer has nothing left to do and is passed over.
    """

    name: str
    actions: tuple[Any, ...]
    after: tuple[int, ...] = ()


class OrderPlan(Struct, frozen=True):
    """The actions that are put into every order, and how their end is judged.

    ``by_itself`` are the types of what happens without anybody's doing, at once where it can.
    ``mishaps`` are runs of actions of which one may happen once between two steps. ``ended`` names
    the outcome of a last state.
    """

    moves: tuple[OrderedMove, ...]
    ended: Callable[[Any], str]
    by_itself: tuple[type, ...] = ()
    mishaps: tuple[tuple[Any, ...], ...] = ()


def chains(*rows: Sequence[tuple[str, tuple[Any, ...]]]) -> tuple[OrderedMove, ...]:
    """The moves of several rows: within a row they keep their order, rows mix in every way."""
    moves: list[OrderedMove] = []
    for row in rows:
        for at, (name, actions) in enumerate(row):
            after = (len(moves) - 1,) if at else ()
            moves.append(OrderedMove(name, actions, after))
    return tuple(moves)


def order_outcomes(model: Model[Any, Any], plan: OrderPlan, mishap: bool = False) -> Counter[str]:
    """How many orders end in which outcome; with ``mishap`` one of the mishaps in each, anywhere.

    Outcomes are those of ``plan.ended``, *breaks NAME* where a promise is broken, and *refused*
    where a step is refused: the order is given up there, whatever would come behind it.
    """
    orders = _Orders(model, plan)
    return Counter(dict(orders.outcomes(orders.settled(model.start()), 0, mishap)))


def broken_by(model: Model[Any, Any], before: Any, action: Any, after: Any) -> str | None:
    """The outcome of a step that breaks a promise: *breaks NAME*."""
    broken = (each.name for each in verdicts(model, after, before, action) if not each.ok)
    return next((f"breaks {name}" for name in broken), None)


class _Orders:
    """The orders of a plan, from each state and set of steps that are done."""

    def __init__(self, model: Model[Any, Any], plan: OrderPlan) -> None:
        self.model, self.plan = model, plan
        self.needs = [sum(1 << at for at in move.after) for move in plan.moves]
        self.all = (1 << len(plan.moves)) - 1
        self.ways = cache(self._ways)
        self.outcomes = cache(self._outcomes)

    def _next(self, done: int) -> Iterator[int]:
        for at, needs in enumerate(self.needs):
            if not done >> at & 1 and needs & ~done == 0:
                yield at

    def _ways(self, done: int) -> int:
        return sum(self.ways(done | 1 << at) for at in self._next(done)) if done != self.all else 1

    def _left(self, done: int, mishap: bool) -> int:
        gaps = len(self.plan.moves) - done.bit_count() + 1
        return self.ways(done) * (gaps * len(self.plan.mishaps) if mishap else 1)

    def _outcomes(self, state: Any, done: int, mishap: bool) -> tuple[tuple[str, int], ...]:
        total: Counter[str] = Counter()
        if done == self.all and not mishap:
            total[self.plan.ended(state)] += 1
        for at in self._next(done):
            after = self._played(state, self.plan.moves[at].actions)
            self._add(total, after, done | 1 << at, mishap)
        for actions in self.plan.mishaps if mishap else ():
            self._add(total, self._played(state, actions), done, False)
        return tuple(total.items())

    def _add(self, total: Counter[str], after: Any, done: int, mishap: bool) -> None:
        if isinstance(after, str):
            total[after] += self._left(done, mishap)
        else:
            total.update(dict(self.outcomes(after, done, mishap)))

    def _played(self, state: Any, actions: Sequence[Any]) -> Any:
        for action in actions:
            end = self.model.comes_to(state, action)
            if end is None:
                continue
            if isinstance(end, Refusal):
                return REFUSED
            state = self.settled(self._judged(state, action))
            if isinstance(state, str):
                return state
        return state

    def settled(self, state: Any) -> Any:
        while not isinstance(state, str):
            own = (a for a in self.model.actions(state) if isinstance(a, self.plan.by_itself))
            action = next(own, None)
            if action is None:
                return state
            state = self._judged(state, action)
        return state

    def _judged(self, before: Any, action: Any) -> Any:
        after = self.model.apply(before, action)
        return broken_by(self.model, before, action, after) or after
