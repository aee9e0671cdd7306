"""A model in which somebody follows a list of steps, while everything else goes on as it may.

What follows from a list in which a step is missing, or stands in another place, is found by a
search of it like of any other model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kit.engine.model import Model, Property
from kit.engine.rule import Rule
from kit.errors import Refusal


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
        """See the class."""
        self.model, self.steps = model, tuple(steps)
        self.own, self.always = frozenset(own), frozenset(always)
        self.name, self.title = model.name, model.title
        self.parameters, self.off = model.parameters, model.off
        self.Action, self.faults = model.Action, model.faults
        self.rules = tuple(self._following(rule) for rule in model.rules)
        self.properties = tuple(map(_lifted, model.properties))

    def start(self) -> OrderedState:
        """The model's start, before the first step that has anything to do."""
        return self._at(self.model.start(), 0)

    def due(self, s: OrderedState) -> Any | None:
        """The step that comes next; None: the list is done."""
        return self.steps[s.place] if s.place < len(self.steps) else None

    def _at(self, inner: Any, place: int) -> OrderedState:
        while place < len(self.steps) and not self._is_offered(inner, self.steps[place]):
            place += 1
        return OrderedState(inner, place)

    def _is_offered(self, inner: Any, action: Any) -> bool:
        rule = self.model.rule_of(action)
        return rule is not None and rule.end(inner, action) is not None

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


def _lifted(prop: Property) -> Property:
    check: Callable[..., Any] = prop.check
    if prop.kind == "step":
        return msgspec.structs.replace(
            prop, check=lambda before, action, after: check(before.inner, action, after.inner)
        )
    return msgspec.structs.replace(prop, check=lambda s: check(s.inner))
