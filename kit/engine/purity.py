"""Whether a model keeps its word: states that stay as they are, and that can be told apart.

A model that was written in a hurry may change the state it was given, or hold a list in it. What
follows then (a search that finds nothing, a history that changes behind one's back) is hard to
understand; so it is looked for, and told in one line with the place in the code.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import isnan
from pathlib import Path
from types import CodeType, MethodType
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from kit.engine.model import Model, Monitor, Rule, content
from kit.errors import BadInput, KitError, Refusal, one_line

_KIT = str(Path(__file__).parent.parent)
_LASTING = "values that never change: numbers, text, tuples, frozen structs"
_NO_CHANCE = "the same each time: no chance, no clock in a model"
MOST_CANDIDATES = 100_000  # of one rule in one state
LONGEST_NUMBER = 10_000  # bits
_NO_NUMBERS = frozenset((str, bool, bytes, type(None)))  # nor has any of them parts
_NEW = "a new state, the old one left as it was (msgspec.structs.replace makes one)"


def is_own(model: Model[Any, Any]) -> bool:
    """Whether all rules of a model are the kit's own, which tests have looked at."""
    functions = [f for rule in model.rules for f in (rule.candidates, rule.condition, rule.effect)]
    codes = [_code(function) for function in functions]
    known = all(code is not None and code.co_filename.startswith(_KIT) for code in codes)
    return known and all(map(is_own, getattr(model, "parts", {}).values()))


def careful(model: Model[Any, Any], rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """A rule that looks, whenever it is used, whether its functions keep their word.

    They raise BadInput, naming the function and its line, when they do not.
    """

    def candidates(s: Any) -> Iterator[Any]:
        given = rule.candidates(s)
        where = partial(place, "candidates", rule.candidates)
        if not isinstance(given, Iterable):
            raise BadInput(where(), given, f"actions of type {rule.action.__name__}, in a tuple")
        for number, action in enumerate(given):
            if number >= MOST_CANDIDATES:
                raise BadInput(where(), "no end of them", f"at most {MOST_CANDIDATES} actions")
            if type(action) is not rule.action:
                raise BadInput(where(), action, f"actions of type {rule.action.__name__}")
            _stands(action, "candidates", rule.candidates)
            yield action

    def condition(s: Any, action: Any) -> Refusal | None:
        before = content(s)
        refusal = rule.condition(s, action)
        where = partial(place, f"condition of {rule.kind}", rule.condition)
        if refusal is not None and not isinstance(refusal, Refusal):
            raise BadInput(where(), refusal, "a Refusal with its reason, or None: it may happen")
        if content(s) != before:
            raise BadInput(where(), "a changed state", "no change: it only looks")
        if rule.condition(s, action) != refusal:
            raise BadInput(where(), "another answer each time", _NO_CHANCE)
        return refusal

    def effect(s: Any, action: Any) -> Any:
        before = content(s)
        after = rule.effect(s, action)
        if content(s) != before:
            raise BadInput(place(_effect(model, action), rule.effect), "a changed state", _NEW)
        if after is None:
            raise BadInput(place(_effect(model, action), rule.effect), None, _NEW)
        _stands(after, partial(_effect, model, action), rule.effect)
        if rule.effect(s, action) != after:
            what = "another state each time"
            raise BadInput(place(_effect(model, action), rule.effect), what, _NO_CHANCE)
        return after

    return replace(rule, candidates=candidates, condition=condition, effect=effect)


def _effect(model: Model[Any, Any], action: Any) -> str:
    """``effect of add 1``; of what the model cannot tell, the name of its class."""
    try:
        return f"effect of {model.verb(action)}"
    except Exception:  # what is told here is another fault of the same model
        return f"effect of {type(action).__name__}"


def rules_of(model: Model[Any, Any]) -> tuple[Rule[Any, Any], ...]:
    """The rules of a model; careful ones when they are not the kit's own."""
    return model.rules if is_own(model) else tuple(careful(model, rule) for rule in model.rules)


def steps_of(model: Model[Any, Any]) -> Callable[[Any], Iterator[tuple[Any, Any]]]:
    """What a search walks along: the model's own way, or a careful one."""
    if is_own(model) or type(model).successors is not Model.successors:
        return model.successors
    rules = rules_of(model)

    def steps(s: Any) -> Iterator[tuple[Any, Any]]:
        for rule in rules:
            for action in rule.candidates(s):
                if rule.condition(s, action) is None:
                    yield action, rule.effect(s, action)

    return steps


def check_purity(model: Model[Any, Any], state: Any) -> None:
    """Take every step from one state, and see that all functions of the model keep their word.

    Raises:
        BadInput: naming the function that does not, and its line.
    """
    _stands(state, "start", model.start)
    for prop in model.properties:
        if prop.kind == "always":
            witness_of(prop.name, prop.check, prop.check(state))
    for rule in (careful(model, rule) for rule in model.rules):
        for action in rule.candidates(state):
            if rule.condition(state, action) is None:
                after = rule.effect(state, action)
                for prop in model.properties:
                    if prop.kind == "step" and (not prop.on or type(action) in prop.on):
                        witness_of(prop.name, prop.check, prop.check(state, action, after))


def check_seen(model: Model[Any, Any], state: Any) -> None:
    """As ``check_purity``, for a state that is looked at: what a step raises is left to that step.

    Raises:
        BadInput: as ``check_purity``.
    """
    try:
        check_purity(model, state)
    except KitError:
        raise
    except Exception:  # an error of the model's own, seen by whoever takes the step
        return


def witness_of(name: str, judge: Callable[..., Any], witness: Any) -> Any:
    """What a property or monitor says of a violation, which is a text.

    Raises:
        BadInput: naming the function when it says something else, such as False.
    """
    if witness is None or isinstance(witness, str):
        return witness
    allowed = "a text that says what is wrong, or None when all is well"
    raise BadInput(place(f"property {name}", judge), witness, allowed)


def blame_states(model: Model[Any, Any], states: Iterable[Any]) -> None:
    """Look for the function that changed one of the states that a search went through.

    Raises:
        BadInput: naming it; or saying at least that states do not stay as they are.
    """
    for state in states:
        check_purity(model, state)
    raise BadInput(model.name, "states that change after they were made", _NEW)


def blame(
    model: Model[Any, Any], monitors: Sequence[Monitor], nodes: list[Any], error: Exception
) -> BadInput | None:
    """What a model did wrong when a search of it ended in ``error``; None: nothing that we know.

    ``nodes`` are the states that were being looked at; with monitors, tuples of a state and what
    each of them remembered.
    """
    if "immutable type" in str(error) or type(error).__name__ == "FrozenInstanceError":
        return BadInput(raised_at(error), "a state that is written to", f"{_NEW}: {error}")
    if isinstance(error, TypeError) and "unhashable" in str(error):
        for node in nodes:
            try:
                check_purity(model, node[0] if monitors else node)
                for place_of, monitor in enumerate(monitors, start=1):
                    _check_memory(model, monitor, node[0], node[place_of])
            except BadInput as impure:
                return impure
    return None


@contextmanager
def blaming(model: Model[Any, Any]) -> Iterator[None]:
    """Say in one line what a model did wrong where it raises an error that we know.

    Raises:
        BadInput: naming the line that wrote to a state.
    """
    try:
        yield
    except (TypeError, AttributeError) as error:
        impure = blame(model, (), [], error)
        if impure is None:
            raise
        raise impure from None


def _check_memory(model: Model[Any, Any], monitor: Monitor, state: Any, memory: Any) -> None:
    _stands(memory, f"monitor {monitor.name}", monitor.begin)
    for action, after in model.successors(state):
        news = monitor.after(memory, state, action, after)
        _stands(news, f"monitor {monitor.name}", monitor.step)


def check_memories(monitors: Sequence[Monitor], memories: Sequence[Any]) -> None:
    """See that what monitors remember stays as it is, and that they say texts of it.

    Raises:
        BadInput: naming the function that does not keep its word, and its line.
    """
    for monitor, memory in zip(monitors, memories, strict=True):
        _stands(memory, f"monitor {monitor.name}", monitor.step)
        witness_of(monitor.name, monitor.verdict, monitor.verdict(memory))


def place(what: str, function: Callable[..., Any]) -> str:
    """``effect of up, line 12 of lift.py (def up(s, a):)``."""
    code = _code(function)
    return what if code is None else f"{what}, {_line(code.co_filename, code.co_firstlineno)}"


def _stands(value: Any, what: str | Callable[[], str], function: Callable[..., Any]) -> None:
    """See that a value can be hashed, written down and compared; ``what`` made it.

    Raises:
        BadInput: naming the function that made it.
    """
    try:
        hash(value)
        content(value)
    except (TypeError, ValueError, RecursionError) as error:
        name = what if isinstance(what, str) else what()
        raise BadInput(place(name, function), value, f"{_LASTING} ({error})") from None
    for number in _numbers(value):
        is_nan = isinstance(number, float) and isnan(number)
        if is_nan or (isinstance(number, int) and number.bit_length() > LONGEST_NUMBER):
            name = what if isinstance(what, str) else what()
            allowed = f"numbers that equal themselves, integers of at most {LONGEST_NUMBER} bits"
            raise BadInput(place(name, function), number, allowed)


def _numbers(value: Any) -> list[int | float]:
    """Every number in a value; searches of students' models spend much of their time here."""
    numbers: list[int | float] = []
    todo = [value]
    for item in todo:  # which grows on the way
        if type(item) in _NO_NUMBERS:
            continue
        if isinstance(item, int | float):
            numbers.append(item)
        elif isinstance(item, Struct):
            todo += astuple(item)
        elif isinstance(item, tuple | list | frozenset):
            todo += item
        elif isinstance(item, dict):
            todo += [*item, *item.values()]
    return numbers


def _code(function: Any) -> CodeType | None:
    """The code behind a function, a method, a partial or a cached function."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            code = getattr(function, "__code__", None)
            return code if isinstance(code, CodeType) else None


def error_line(error: Exception) -> str:
    """An error of a model's own code in one line: what it is, and the line that raised it."""
    return one_line(f"{raised_at(error)}: {type(error).__name__}: {error}")


def raised_at(error: BaseException) -> str:
    """The line that raised an error: the last one that is not the kit's own."""
    where, link = "model", error.__traceback__
    while link is not None:
        name = link.tb_frame.f_code.co_filename
        if not name.startswith(_KIT) and link.tb_frame.f_code.co_name != "__setattr__":
            where = f"{link.tb_frame.f_code.co_name}, {_line(name, link.tb_lineno)}"
        link = link.tb_next
    return where


def _line(filename: str, number: int) -> str:
    """``line 12 of lift.py (return s)``; a notebook's cell has no file name worth telling."""
    text = linecache.getline(filename, number).strip()
    cell = "ipykernel" in filename or filename.startswith("<")
    where = f"line {number}" if cell else f"line {number} of {Path(filename).name}"
    return f"{where} ({text})" if text else where
