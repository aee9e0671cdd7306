"""Functions of a model that look, whenever they are used, whether they keep their word.

The kit's own are left as they are: tests have looked at them. All others are asked twice, the
second time with sets in another order, and what they are asked about must be the same afterwards.
Whoever changes a state, draws from chance or answers in a type that nobody understands is named
with the line of its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import islice
from typing import Any

from msgspec.structs import replace

from kit.engine.answers import (
    NO_CHANCE,
    check_kind,
    check_refusal,
    check_stands,
    is_kits,
    place,
    truth_of,
    witness_of,
)
from kit.engine.model import Model, Monitor, Property, Rule, content
from kit.engine.twins import twin_of
from kit.errors import BadInput, Refusal

MOST_CANDIDATES = 100_000  # of one rule in one state
NEW = "a new state, the old one left as it was (msgspec.structs.replace makes one)"
_LOOKS = "no change: it only looks"


def careful(model: Model[Any, Any], rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """A rule that looks, whenever it is used, whether its functions keep their word.

    They raise BadInput, naming the function and its line, when they do not.
    """
    twin = _last(twin_of)  # one state is asked about many actions

    def candidates(s: Any) -> Iterator[Any]:
        before = content(s)
        actions = _candidates(rule, s)
        where = partial(place, "candidates", rule.candidates)
        if content(s) != before:
            raise BadInput(where(), "a changed state", _LOOKS)
        if _some(rule.candidates(twin(s))) != actions:
            raise BadInput(where(), "other actions each time", NO_CHANCE)
        yield from actions

    def condition(s: Any, action: Any) -> Refusal | None:
        before = content(s)
        refusal = rule.condition(s, action)
        check_refusal(rule.kind, rule.condition, refusal)
        where = partial(place, f"condition of {rule.kind}", rule.condition)
        if content(s) != before:
            raise BadInput(where(), "a changed state", _LOOKS)
        if rule.condition(twin(s), action) != refusal:
            raise BadInput(where(), "another answer each time", NO_CHANCE)
        return refusal

    def effect(s: Any, action: Any) -> Any:
        before = content(s)
        after = rule.effect(s, action)
        if content(s) != before:
            raise BadInput(place(_effect(model, action), rule.effect), "a changed state", NEW)
        if after is None:
            raise BadInput(place(_effect(model, action), rule.effect), None, NEW)
        check_stands(after, partial(_effect, model, action), rule.effect)
        check_kind(model, f"effect of {rule.kind}", rule.effect, after)
        if rule.effect(twin(s), action) != after:
            what = "another state each time"
            raise BadInput(place(_effect(model, action), rule.effect), what, NO_CHANCE)
        return after

    return replace(rule, candidates=candidates, condition=condition, effect=effect)


def _last(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, which keeps what it gave for the last value it was given."""
    given = gave = None

    def kept(value: Any) -> Any:
        nonlocal given, gave
        if given is not value:
            given, gave = value, function(value)
        return gave

    return kept


def careful_property(prop: Property) -> Property:
    """The same property, its function asked twice; the kit's own as it is."""
    if is_kits(prop.check):
        return prop
    answer_of = truth_of if prop.kind in ("sometimes", "goal") else witness_of
    check = _asked_twice(f"property {prop.name}", prop.check, partial(answer_of, prop.name))
    return replace(prop, check=check)


def careful_monitor(monitor: Monitor) -> Monitor:
    """The same monitor, its functions asked twice; the kit's own as it is."""
    if is_kits(monitor.step):
        return monitor
    what = f"monitor {monitor.name}"

    def memory_of(function: Callable[..., Any], memory: Any) -> Any:
        check_stands(memory, what, function)
        return memory

    return replace(
        monitor,
        begin=_asked_twice(what, monitor.begin, memory_of),
        step=_asked_twice(what, monitor.step, memory_of),
        verdict=_asked_twice(what, monitor.verdict, partial(witness_of, monitor.name)),
    )


def _asked_twice(
    what: str, function: Callable[..., Any], answer_of: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """A function that must answer the same again, as ``answer_of`` understands it."""

    @wraps(function)
    def repeated(*given: Any) -> Any:
        before = _contents(given)
        answer = answer_of(function, function(*given))
        if _contents(given) != before:
            raise BadInput(place(what, function), "a changed state", _LOOKS)
        if answer_of(function, function(*map(twin_of, given))) != answer:
            raise BadInput(place(what, function), "another answer each time", NO_CHANCE)
        return answer

    return repeated


def _contents(values: Iterable[Any]) -> list[bytes]:
    """What could have been changed: not what is frozen, which is large and many."""
    configurations = [(each, getattr(type(each), "__struct_config__", None)) for each in values]
    return [content(each) for each, config in configurations if not (config and config.frozen)]


def _candidates(rule: Rule[Any, Any], s: Any) -> list[Any]:
    """What a rule offers, each action once."""
    where = partial(place, "candidates", rule.candidates)
    given = rule.candidates(s)
    if not isinstance(given, Iterable):
        raise BadInput(where(), given, f"actions of type {rule.action.__name__}, in a tuple")
    actions: dict[Any, None] = {}
    for number, action in enumerate(given):
        if number >= MOST_CANDIDATES:
            raise BadInput(where(), "no end of them", f"at most {MOST_CANDIDATES} actions")
        if type(action) is not rule.action:
            raise BadInput(where(), action, f"actions of type {rule.action.__name__}")
        check_stands(action, "candidates", rule.candidates)
        if action in actions:
            raise BadInput(where(), action, "each action once")
        actions[action] = None
    return list(actions)


def _some(given: Iterable[Any]) -> list[Any]:
    return list(islice(given, MOST_CANDIDATES))


def _effect(model: Model[Any, Any], action: Any) -> str:
    """``effect of add 1``; of what the model cannot tell, the name of its class."""
    try:
        return f"effect of {model.verb(action)}"
    except Exception:  # what is told here is another fault of the same model
        return f"effect of {type(action).__name__}"
