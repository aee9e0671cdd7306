"""Whether a model keeps its word: states that stay as they are, and that can be told apart.

A model that was written in a hurry may change the state it was given, or hold a list in it. What
follows then (a search that finds nothing, a history that changes behind one's back) is hard to
understand; so it is looked for, and told in one line with the place in the code.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, MethodType
from typing import Any

from kit.engine.model import Model, Monitor, content
from kit.errors import BadInput

_KIT = str(Path(__file__).parent.parent)
_LASTING = "values that never change: numbers, text, tuples, frozen structs"
_NEW = "a new state, the old one left as it was (msgspec.structs.replace makes one)"


def check_purity(model: Model[Any, Any], state: Any) -> None:
    """Take every step from one state, and see that the state is as it was before.

    Raises:
        BadInput: naming the function of the model that does not keep its word, and its line.
    """
    before = _stands(state, "start", model.start)
    for rule in model.rules:
        for action in rule.candidates(state):
            _stands(action, "candidates", rule.candidates)
            if rule.condition(state, action) is None:
                after = rule.effect(state, action)
                if content(state) != before:
                    verb = model.verb(action)
                    raise BadInput(place(f"effect of {verb}", rule.effect), "a changed state", _NEW)
                if after is None:
                    raise BadInput(
                        place(f"effect of {model.verb(action)}", rule.effect), None, _NEW
                    )
                _stands(after, f"effect of {model.verb(action)}", rule.effect)


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
        return BadInput(_raised(error), "a state that is written to", f"{_NEW}: {error}")
    if isinstance(error, TypeError) and "unhashable" in str(error):
        for node in nodes:
            try:
                check_purity(model, node[0] if monitors else node)
                for place_of, monitor in enumerate(monitors, start=1):
                    _check_memory(model, monitor, node[0], node[place_of])
            except BadInput as found:
                return found
    return None


def _check_memory(model: Model[Any, Any], monitor: Monitor, state: Any, memory: Any) -> None:
    _stands(memory, f"monitor {monitor.name}", monitor.begin)
    for action, after in model.successors(state):
        news = monitor.step(memory, state, action, after)
        _stands(news, f"monitor {monitor.name}", monitor.step)


def place(what: str, function: Callable[..., Any]) -> str:
    """``effect of up, line 12 of lift.py (def up(s, a):)``."""
    code = _code(function)
    return what if code is None else f"{what}, {_line(code.co_filename, code.co_firstlineno)}"


def _stands(value: Any, what: str, function: Callable[..., Any]) -> bytes:
    """The content of a value that can be hashed and written down."""
    try:
        hash(value)
        return content(value)
    except TypeError as error:
        raise BadInput(place(what, function), value, f"{_LASTING} ({error})") from None


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


def _raised(error: Exception) -> str:
    """The line that raised an error: the last one that is not the kit's own."""
    found, link = "model", error.__traceback__
    while link is not None:
        name = link.tb_frame.f_code.co_filename
        if not name.startswith(_KIT) and link.tb_frame.f_code.co_name != "__setattr__":
            found = f"{link.tb_frame.f_code.co_name}, {_line(name, link.tb_lineno)}"
        link = link.tb_next
    return found


def _line(filename: str, number: int) -> str:
    """``line 12 of lift.py (return s)``; a notebook's cell has no file name worth telling."""
    text = linecache.getline(filename, number).strip()
    cell = "ipykernel" in filename or filename.startswith("<")
    where = f"line {number}" if cell else f"line {number} of {Path(filename).name}"
    return f"{where} ({text})" if text else where
