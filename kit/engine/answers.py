"""What the functions of a model may answer, and how to name the one that answered otherwise."""

from __future__ import annotations

import linecache
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from math import isnan
from pathlib import Path
from types import CodeType, MethodType
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from kit.engine.model import Model, content
from kit.errors import BadInput, Refusal

KIT = str(Path(__file__).parent.parent)
LASTING = "values that never change: numbers, text, tuples, frozen structs"
NO_CHANCE = "the same each time: no chance, no clock in a model; of a set, sorted() is in order"
LONGEST_NUMBER = 10_000  # bits
_NO_NUMBERS = frozenset((str, bool, bytes, type(None)))  # nor has any of them parts


def is_kits(function: Any) -> bool:
    """Whether a function is the kit's own, which tests have looked at."""
    code = _code(function)
    return code is not None and code.co_filename.startswith(KIT)


def witness_of(name: str, judge: Callable[..., Any], witness: Any) -> Any:
    """What a property or monitor says of a violation, which is a text.

    Raises:
        BadInput: naming the function when it says something else, such as False.
    """
    if witness is None or isinstance(witness, str):
        return witness
    _close(witness)
    allowed = "a text that says what is wrong, or None when all is well"
    raise BadInput(place(f"property {name}", judge), witness, allowed)


def truth_of(name: str, judge: Callable[..., Any], answer: Any) -> bool:
    """What a *sometimes* or *goal* property says of a state: reached or not.

    Raises:
        BadInput: naming the function when it gives what is always true: a function that nobody
            called, or values that nobody asked for.
    """
    _close(answer)
    if callable(answer) or isinstance(answer, Iterator | Awaitable) or answer is NotImplemented:
        allowed = "True or False (is a call, or any() or all() around it, missing?)"
        raise BadInput(place(f"property {name}", judge), answer, allowed)
    try:
        return bool(answer)
    except (TypeError, ValueError):  # a table of truth values has none of its own
        raise BadInput(place(f"property {name}", judge), answer, "True or False") from None


def _close(answer: Any) -> None:
    """Let nobody be told besides that a coroutine was never awaited."""
    if isinstance(answer, Coroutine):
        answer.close()


def check_refusal(what: str, judge: Callable[..., Any], refusal: Any) -> None:
    """See that an answer is None, or a refusal that can be shown; ``what`` gave it.

    Raises:
        BadInput: naming the function when it does not.
    """
    if refusal is None:
        return
    if not isinstance(refusal, Refusal):
        _close(refusal)
        allowed = "a Refusal with its reason, or None: it may happen"
        raise BadInput(place(what, judge), refusal, allowed)
    try:
        msgspec.convert(msgspec.to_builtins(refusal), Refusal)
    except (TypeError, ValueError) as error:
        allowed = f"a reason as text, lists of texts beside it ({error})"
        raise BadInput(place(what, judge), refusal, allowed) from None


def check_text(what: str, function: Callable[..., Any], answer: Any) -> None:
    """See that a model's word for something is a text.

    Raises:
        BadInput: naming the function when it is none.
    """
    if not isinstance(answer, str):
        raise BadInput(place(what, function), answer, "a text")


def check_kind(model: Model[Any, Any], what: str, function: Callable[..., Any], state: Any) -> None:
    """See that a state is one of the model's own: of its ``State``, where that is a class.

    Raises:
        BadInput: naming the function that made it.
    """
    given = getattr(model, "State", None)
    kinds = tuple(get_origin(each) or each for each in (get_args(given) or (given,)))
    if all(isinstance(kind, type) for kind in kinds) and not isinstance(state, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise BadInput(place(what, function), state, f"a state of {model.name}: {names}")


def check_stands(value: Any, what: str | Callable[[], str], function: Callable[..., Any]) -> None:
    """See that a value can be hashed, written down and compared; ``what`` made it.

    Raises:
        BadInput: naming the function that made it.
    """
    try:
        hash(value)
        content(value)
    except (TypeError, ValueError, RecursionError) as error:
        name = what if isinstance(what, str) else what()
        raise BadInput(place(name, function), value, f"{LASTING} ({error})") from None
    for number in _numbers(value):
        is_nan = isinstance(number, float) and isnan(number)
        if is_nan or (isinstance(number, int) and number.bit_length() > LONGEST_NUMBER):
            name = what if isinstance(what, str) else what()
            allowed = f"numbers that equal themselves, integers of at most {LONGEST_NUMBER} bits"
            raise BadInput(place(name, function), number, allowed)


def place(what: str, function: Callable[..., Any]) -> str:
    """``outcome of up, line 12 of lift.py (def up(s, a):)``."""
    code = _code(function)
    return what if code is None else f"{what}, {line_of(code.co_filename, code.co_firstlineno)}"


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
        elif is_dataclass(item) and not isinstance(item, type):
            todo += [getattr(item, field.name) for field in fields(item)]
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


def line_of(filename: str, number: int) -> str:
    """``line 12 of lift.py (return s)``; a notebook's cell has no file name worth telling."""
    text = linecache.getline(filename, number).strip()
    cell = "ipykernel" in filename or filename.startswith("<")
    where = f"line {number}" if cell else f"line {number} of {Path(filename).name}"
    return f"{where} ({text})" if text else where
