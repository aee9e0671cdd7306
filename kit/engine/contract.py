"""What a model must have before anything is done with it; said in one line when it has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, get_args

from kit.edge.arguments import text
from kit.engine.model import Kind, Model, Monitor, Property, Rule
from kit.engine.purity import place
from kit.errors import BadInput, BadType


def check_contract(
    model: Model[Any, Any],
    properties: Iterable[Property] | None = None,
    monitors: Iterable[Monitor] | None = None,
) -> None:
    """See that a model is whole: names, rules, properties and monitors (its own, or others).

    Raises:
        BadInput: naming the first thing that is missing, wrong or there twice.
    """
    for field in ("name", "title"):
        text(f"{field} of {type(model).__name__}", getattr(model, field, None))
    if type(model).start is Model.start and "start" not in vars(model):
        raise BadInput(f"start of {model.name}", None, "a method that gives the first state")
    rules = _members(model.name, "rules", model.rules, Rule)
    judged = _members(model.name, "properties", properties or model.properties, Property)
    watching = _members(model.name, "monitors", monitors or model.monitors, Monitor)
    for rule in rules:
        _functions(model.name, rule, ("candidates", "condition", "effect"))
        if not isinstance(rule.action, type):
            raise BadType(f"rules of {model.name}: action", rule.action, "a class of actions")
    for prop in judged:
        _functions(model.name, prop, ("check",))
        if prop.kind not in get_args(Kind):
            kinds = "one of " + ", ".join(get_args(Kind))
            raise BadInput(f"kind of property {prop.name}", prop.kind, kinds)
    for monitor in watching:
        _functions(model.name, monitor, ("begin", "step", "verdict"))
        _hashable(f"monitor {monitor.name}", monitor.begin)
    if type(model).rule_of is Model.rule_of:  # a product finds the rules of its parts itself
        _once(model.name, "action of a rule", [rule.action.__name__ for rule in rules])
    _once(model.name, "property", [prop.name for prop in (*judged, *watching)])


def _members(name: str, field: str, given: Any, kind: type[Any]) -> tuple[Any, ...]:
    allowed = f"a tuple of {kind.__name__}s"
    if not isinstance(given, tuple | list):
        raise BadType(f"{field} of {name}", given, allowed)
    for place_of, member in enumerate(given):
        if not isinstance(member, kind):
            raise BadType(f"{field}[{place_of}] of {name}", member, allowed)
    return tuple(given)


def _functions(name: str, owner: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        if not callable(getattr(owner, field)):
            raise BadType(f"{field} of a {type(owner).__name__} of {name}", owner, "a function")


def _hashable(name: str, begin: Callable[[], Any]) -> None:
    memory = begin()
    try:
        hash(memory)
    except TypeError as error:
        raise BadInput(place(name, begin), memory, f"a lasting memory ({error})") from None


def _once(name: str, what: str, words: list[Any]) -> None:
    for word in words:
        if not isinstance(word, str) or not word:
            raise BadType(f"{what} of {name}", word, "a name")
    for word, times in Counter(words).items():
        if times > 1:
            raise BadInput(f"{what} of {name}", word, "each name once")
