"""Models that are broken on purpose: a table of rules with one entry changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import msgspec

from kit.engine.compose import Product
from kit.engine.model import Model, Rule
from kit.engine.pairs import paired

Broken = Callable[[Rule[Any, Any]], Rule[Any, Any]]


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
        for (part, kind), rule in model._own.items():
            candidates = model._candidates(part, rule)
            model._lifted[part, kind] = paired(
                model.wrap[part], rule.kind, candidates, model._refuse, model._step
            )
        model.rules = tuple(model._lifted.values())
    return model


def unguarded(rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """The rule without its condition."""

    @wraps(rule.condition)  # a stand-in for the kit's own, whose models need no careful search
    def allowed(state: Any, action: Any) -> None:
        return None

    return msgspec.structs.replace(rule, condition=allowed)


def never(rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """The rule without anything to do."""

    @wraps(rule.candidates)
    def none(state: Any) -> tuple[Any, ...]:
        return ()

    return msgspec.structs.replace(rule, candidates=none)


def doing(effect: Callable[[Any, Any], Any]) -> Broken:
    """The rule with another effect."""

    def how(rule: Rule[Any, Any]) -> Rule[Any, Any]:
        @wraps(rule.effect)  # what is broken has no sentence that a careful search could ask for
        def done(state: Any, action: Any) -> Any:
            return effect(state, action)

        return msgspec.structs.replace(rule, effect=done)

    return how
