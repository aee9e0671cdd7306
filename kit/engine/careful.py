"""Functions of a model that look, whenever they are used, whether they keep their word.

The kit's own are left as they are: tests have looked at them. All others are asked twice, the
second time with sets in another order, and what they are asked about must be the same afterwards.
Whoever changes a state, draws from chance or answers in a type that nobody understands is named
with the line of its code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

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
from kit.engine.model import Model, Monitor, Property, content
from kit.engine.rule import Rule
from kit.errors import BadInput, Refusal


class _Backwards(frozenset[Any]):
    """A set that is gone through from its last element to its first."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])


def twin_of(value: Any) -> Any:
    """The value with every set of several elements in it turned round; itself without any."""
    if isinstance(value, frozenset):
        parts = _turned(tuple(value))
        return value if parts is None and len(value) < 2 else _Backwards(parts or value)
    if type(value) is tuple:
        return _turned(value) or value
    if isinstance(value, Struct):
        parts = _turned(astuple(value))
        return value if parts is None else replace(value, **_named(value.__struct_fields__, parts))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value) if field.init)
        parts = _turned(tuple(getattr(value, name) for name in names))
        return value if parts is None else dataclasses.replace(value, **_named(names, parts))
    return value


def _turned(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The twins of the values; None when each is its own."""
    twins = tuple(map(twin_of, values))
    same = all(twin is value for twin, value in zip(twins, values, strict=True))
    return None if same else twins


def _named(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


MOST_CHOICES = 100_000  # of one rule in one state
NEW = "a new state, the old one left as it was (s.but(field=value) makes one)"
_LOOKS = "no change: it only looks"


def careful(model: Model[Any, Any], rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """A rule that looks, whenever it is used, whether its functions keep their word.

    They raise BadInput, naming the function and its line, when they do not.
    """
    twin = _last(twin_of)  # one state is asked about many actions

    def choices(s: Any) -> Iterator[tuple[Any, Any]]:
        before = content(s)
        offered = _choices(rule, s)
        where = partial(place, f"choices of {rule.kind}", rule.choices)
        if content(s) != before:
            raise BadInput(where(), "a changed state", _LOOKS)
        if list(islice(rule.choices(twin(s)), MOST_CHOICES)) != offered:
            raise BadInput(where(), "other actions each time", NO_CHANCE)
        yield from ((action, (action, given)) for action, given in offered)

    def outcome(s: Any, chosen: tuple[Any, Any]) -> Any:
        action, given = chosen
        before = content(s)
        end = rule.outcome(s, given)
        where = partial(_outcome, model, action)
        if content(s) != before:
            raise BadInput(place(where(), rule.outcome), "a changed state", NEW)
        if isinstance(end, Refusal):
            check_refusal(where(), rule.outcome, end)
        elif end is not None:
            check_stands(end, where, rule.outcome)
            check_kind(model, f"outcome of {rule.kind}", rule.outcome, end)
        if rule.outcome(twin(s), given) != end:
            raise BadInput(place(where(), rule.outcome), "another answer each time", NO_CHANCE)
        return end

    def given(action: Any) -> tuple[Any, Any]:
        return action, rule.given(action)

    return replace(rule, choices=choices, outcome=outcome, given=given)


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
    check = asked_twice(f"property {prop.name}", prop.check, partial(answer_of, prop.name))
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
        begin=asked_twice(what, monitor.begin, memory_of),
        step=asked_twice(what, monitor.step, memory_of),
        verdict=asked_twice(what, monitor.verdict, partial(witness_of, monitor.name)),
    )


def asked_twice(
    what: str, function: Callable[..., Any], answer_of: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """A function that must answer the same again, as ``answer_of`` understands it.

    It raises BadInput, naming ``what`` and the function's line, when it does not.
    """

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


def _choices(rule: Rule[Any, Any], s: Any) -> list[tuple[Any, Any]]:
    """What a rule offers, each action once."""
    where = partial(place, f"choices of {rule.kind}", rule.choices)
    offered = rule.choices(s)
    if not isinstance(offered, Iterable):
        raise BadInput(where(), offered, f"actions of type {rule.action.__name__}, in a tuple")
    choices: dict[Any, Any] = {}
    for number, (action, given) in enumerate(offered):
        if number >= MOST_CHOICES:
            raise BadInput(where(), "no end of them", f"at most {MOST_CHOICES} actions")
        if type(action) is not rule.action:
            raise BadInput(where(), action, f"actions of type {rule.action.__name__}")
        check_stands(action, f"choices of {rule.kind}", rule.choices)
        if action in choices:
            raise BadInput(where(), action, "each action once")
        choices[action] = given
    return list(choices.items())


def _outcome(model: Model[Any, Any], action: Any) -> str:
    """``outcome of add 1``; of what the model cannot tell, the name of its class."""
    try:
        return f"outcome of {model.verb(action)}"
    except Exception:  # what is told here is another fault of the same model
        return f"outcome of {type(action).__name__}"
