"""Models that are broken on purpose: a table of rules with one entry changed.

What is made here stands for a rule of the kit's own (``wraps``), whose models need no careful
search: what is broken has no sentence that such a search could ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import unwrap
from typing import Any

from kit.errors import Refusal
from kit.model.compose import Product
from kit.model.model import Model, Rule
from tests import pairs
from tests.quality.unguarding import Cut, let_through

PAIRS = pairs.__file__
Broken = Callable[[Rule[Any, Any]], Rule[Any, Any]]
Answer = Callable[[Any, Any], Any]


def tables(model: Model[Any, Any]) -> Iterator[Model[Any, Any]]:
    """The models whose tables a model runs on: its parts where it is a product, else itself."""
    yield from model.parts.values() if isinstance(model, Product) else (model,)


def broken(model: Model[Any, Any], action: type, how: Broken) -> Model[Any, Any]:
    """The model with the rule of an action changed."""
    changed = 0
    for part in tables(model):
        changed += sum(rule.action is action for rule in part.rules)
        part.rules = tuple(how(rule) if rule.action is action else rule for rule in part.rules)
    assert changed == 1, f"{changed} rules of {action.__name__}"
    if isinstance(model, Product):  # it keeps the rules of its parts, and those lifted from them
        for part, own in model.parts.items():
            model._own.update({(part, rule.action): rule for rule in own.rules})
        lift_again(model)
    return model


def lift_again(model: Product) -> None:
    """Make a product's rules of its parts' own rules and of the conditions over all parts."""
    model.lifted = {place: model._lift(*place) for place in model._own}
    model.rules = tuple(model.lifted.values())


def answering(rule: Rule[Any, Any], answer: Answer) -> Rule[Any, Any]:
    """The rule that says something else of a state and an action that it offers."""

    @wraps(rule.choices)
    def choices(state: Any) -> Iterator[tuple[Any, Any]]:
        return ((action, action) for action, _ in rule.choices(state))

    @wraps(rule.outcome)
    def outcome(state: Any, action: Any) -> Any:
        return answer(state, action)

    return Rule(
        rule.action, rule.kind, choices=choices, outcome=outcome, given=lambda action: action
    )


def own_answer(rule: Rule[Any, Any]) -> Answer:
    """What the rule itself says of a state and an action."""
    return lambda state, action: rule.outcome(state, rule.given(action))


def unrefused(rule: Rule[Any, Any], cut: Cut) -> Rule[Any, Any]:
    """The rule without some of its refusals."""
    return answering(
        rule, lambda state, action: let_through(rule.outcome, state, rule.given(action), cut=cut)
    )


def unguarded(rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """The rule without its refusals; in the old style it refuses by its condition alone."""
    effect: Any = unwrap(rule.outcome)
    if getattr(rule.outcome, "__code__", None) and rule.outcome.__code__.co_filename == PAIRS:
        return answering(rule, effect)
    return answering(
        rule, lambda state, action: let_through(rule.outcome, state, rule.given(action))
    )


def never(rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """The rule without anything to do."""

    @wraps(rule.choices)
    def none(state: Any) -> tuple[Any, ...]:
        return ()

    return Rule(rule.action, rule.kind, choices=none, outcome=rule.outcome, given=rule.given)


def changing(change: Callable[[Any, Any, Any], Any]) -> Broken:
    """The rule which leads elsewhere: ``change(before, action, after)``."""

    def how(rule: Rule[Any, Any]) -> Rule[Any, Any]:
        own = own_answer(rule)

        def answer(state: Any, action: Any) -> Any:
            end = own(state, action)
            kept = end is None or isinstance(end, Refusal)
            return end if kept else change(state, action, end)

        return answering(rule, answer)

    return how


def doing(effect: Answer) -> Broken:
    """The rule with another effect."""
    return changing(lambda state, action, after: effect(state, action))
