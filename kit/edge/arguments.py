"""Checking arguments once, where a caller's value enters: one line with field, value, allowed."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from itertools import islice
from math import isfinite
from operator import index
from pathlib import Path
from types import FunctionType, ModuleType, NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from kit.edge.paths import path_of
from kit.edge.reading import pipes_kept
from kit.errors import BadInput, BadType, shorten

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
MOST = 2**62
LONGEST_NAME = 200  # characters
HELD = (Sequence, Set, ValuesView, Mapping)  # whose values can be looked at without taking them
MOST_VALUES = 2_000_000  # that something yields
WORDS: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a finite number",
    bool: "True or False",
    bytes: "bytes",
    None: "None",
    NoneType: "None",
    Path: "a path",
    os.PathLike: "a path",
    Mapping: "a dict by name",
    dict: "a dict by name",
    Callable: "a function",
    type: "a class",
}


def whole_number(field: str, value: object, least: int = 0, most: int = MOST) -> int:
    """A whole number within limits, also one of another library; never a truth value.

    Raises BadType for what is no whole number; BadInput for one out of its limits.
    """
    allowed = f"a number from {least}" + (f" to {most}" if most < MOST else " on")
    number = _number_in(value)
    if number is None:
        raise BadType(field, value, allowed)
    if not least <= number <= most:
        raise BadInput(field, value, allowed)
    return number


def _number_in(value: Any) -> int | None:
    """A whole number of any library as Python's own; None for what is none, whatever it claims.

    (A table of numbers says that it is one, and may even be so when it holds just one.)
    """
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(index(value))
    except Exception:  # it is no number after all: of a class that raises what it likes
        return None


def text(field: str, value: object, longest: int = LONGEST_NAME) -> str:
    """A text of at most so many characters, without any that a terminal would obey.

    Raises BadType for what is no text; BadInput for a long one or one that cannot be printed.
    """
    allowed = f"a string of at most {longest} printable characters"
    if not isinstance(value, str):
        raise BadType(field, value, allowed)
    if len(value) > longest or not value.isprintable():
        raise BadInput(field, value, allowed)
    return value


def finite(field: str, values: Iterable[T], most: int) -> tuple[T, ...]:
    """All that something yields. Raises BadInput for more than so many; what never ends is more."""
    kept = tuple(islice(values, most + 1))
    if len(kept) > most:
        raise BadInput(field, f"more than {most}", f"at most {most}")
    return kept


Keeper = Callable[[Iterable[Any]], AbstractContextManager[None]]
_KEEPERS: list[Keeper] = [lambda _: nullcontext()]


def keep_calls(keeper: Keeper) -> None:
    """Have each call of a public function run within what ``keeper`` makes of its arguments."""
    _KEEPERS.append(keeper)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A public function that checks its arguments against their annotations, before it begins.

    What an annotation does not say (limits, names that are known) the function checks itself.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = taken(function, signature, *args, **kwargs)
        for name, value in bound.arguments.items():
            _check(function, signature.parameters[name], value)
            bound.arguments[name] = _looked_at(name, value, hint_of(function, name))
        with pipes_kept(), _KEEPERS[-1](bound.arguments.values()):
            return function(*bound.args, **bound.kwargs)

    return called


def taken(
    function: Callable[..., Any], signature: inspect.Signature, /, *args: Any, **kwargs: Any
) -> inspect.BoundArguments:
    """The arguments of a call by the names of the parameters.

    Raises BadType when there are too few or too many, or one has a name that no parameter has.
    """
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(function, "__qualname__", "function").removesuffix(".__init__")
        raise BadType(f"{name}()", "other arguments", f"{name}{signature}: {error}") from None


@cache
def at_edge(value: Any) -> Any:
    """A function of a package, or one that a module lists, that checks its arguments."""
    if isinstance(value, ModuleType):
        return SimpleNamespace(**{name: at_edge(getattr(value, name)) for name in value.__all__})
    return checked(value) if isinstance(value, FunctionType) else value


def _check(function: Callable[..., Any], parameter: inspect.Parameter, value: Any) -> None:
    hint = hint_of(function, parameter.name)
    values = [(parameter.name, value)]
    if parameter.kind is parameter.VAR_POSITIONAL:
        values = [(f"{parameter.name}[{place}]", item) for place, item in enumerate(value)]
    elif parameter.kind is parameter.VAR_KEYWORD:
        values = list(value.items())
    for field, item in values:
        if not fits(item, hint):
            alone = isinstance(item, str) and fits([item], hint)
            such = f", such as [{shorten(item)}]" if alone else ""
            place, culprit, wanted = _culprit(field, item, hint)
            raise BadType(place, culprit, spoken_hint(wanted) + such)
        kinds = [get_origin(alternative) or alternative for alternative in get_args(hint)]
        said = isinstance(item, os.PathLike) and not isinstance(item, Path)  # whatever it gives
        if (said or isinstance(item, str)) and (Path in kinds or os.PathLike in kinds):
            path_of(item, field, "a file or folder")


def _culprit(field: str, value: Any, hint: Any) -> tuple[str, Any, Any]:
    """What does not fit, as deep inside as it can be told: its place, it, what is wanted there."""
    inside = get_args(hint)
    if get_origin(hint) is Mapping and isinstance(value, Mapping) and len(inside) == 2:
        parts = ((f"{field}[{key}]", value[key], inside[1]) for key in value)
    elif get_origin(hint) in (tuple, list, Sequence, Iterable) and isinstance(value, list | tuple):
        parts = ((f"{field}[{place}]", item, inside[0]) for place, item in enumerate(value))
    elif get_origin(hint) in (Union, UnionType):
        of = [each for each in inside if isinstance(get_origin(each), type)]
        parts = ((field, value, each) for each in of if isinstance(value, get_origin(each)))
    else:
        return field, value, hint
    return next((_culprit(*part) for part in parts if not fits(*part[1:])), (field, value, hint))


def _looked_at(field: str, value: Any, hint: Any) -> Any:
    inside = _inside(hint)
    if type(value) in (list, tuple) and inside in (int, float):
        return type(value)(_own_number(item, inside) for item in value)
    # What yields values that ``fits`` does not look at, such as a table its columns.
    unseen = isinstance(value, Iterable) and not isinstance(value, HELD)
    if isinstance(value, Iterator) or (inside is not None and unseen):
        return _watched(field, value, inside)
    kinds = get_args(hint)
    if isinstance(value, Mapping) and len(kinds) == 2 and _inside(kinds[1]) is not None:
        return {key: _looked_at(f"{field}[{key}]", value[key], kinds[1]) for key in value}
    return _own_number(value, hint)


def _inside(hint: Any) -> Any:
    of = (each for each in (hint, *get_args(hint)) if get_origin(each) in (Iterable, Iterator))
    return next((get_args(each)[0] for each in of), None)


def _watched(field: str, values: Iterable[T], inside: Any) -> Iterator[T]:
    try:
        given = iter(values)
    except TypeError:
        raise BadType(field, values, "a list or tuple") from None
    for place, value in enumerate(given):
        if place >= MOST_VALUES:
            raise BadInput(field, f"more than {MOST_VALUES}", f"at most {MOST_VALUES}")
        if inside is not None and not fits(value, inside):
            raise BadType(f"{field}[{place}]", value, spoken_hint(inside))
        yield _own_number(value, inside)


def _own_number(value: Any, hint: Any) -> Any:
    """A number of another library as Python's own: others are no seeds, and may run over."""
    number = None if type(value) is int or hint is Any else _number_in(value)
    return value if number is None or not fits(number, hint) else number


@cache
def hint_of(function: Callable[..., Any], name: str) -> Any:
    """The annotation of a parameter; Any where it has none that can be read."""
    bare = inspect.unwrap(function)
    hint = getattr(bare, "__annotations__", {}).get(name, Any)
    if not isinstance(hint, str):
        return hint
    known = getattr(bare, "__globals__", {})
    try:
        return eval(hint, known)  # our own source
    except NameError:
        return eval(hint, known | _for_type_checkers(bare.__module__))
    except (AttributeError, TypeError):
        return Any


@cache
def _for_type_checkers(module: str) -> dict[str, Any]:
    """What a module imports for type checkers only, so that it is quick to load: loaded here."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    source.body = [
        line
        for block in source.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
    ]
    names: dict[str, Any] = {}
    exec(compile(source, module, "exec"), names)  # our own imports
    return names


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says, as far as one can see without using it up."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:  # Any for type checkers, yet with a class to look for
        return isinstance(value, hint.__metadata__[0])
    if kind in (Union, UnionType):
        return any(fits(value, alternative) for alternative in inside)
    if kind is Literal:
        return any(type(value) is type(literal) and value == literal for literal in inside)
    if kind is None or kind is NoneType:
        return value is None
    if kind in (int, float):
        whole = _number_in(value) is not None
        return whole or (kind is float and isinstance(value, float) and isfinite(value))
    if kind is Any or not isinstance(kind, type):  # or a type variable
        return True
    if kind is tuple and isinstance(value, list):  # as good, whatever asks for a tuple
        kind = list
    if not isinstance(value, kind) or (issubclass(Iterable, kind) and isinstance(value, bytes)):
        return False
    if isinstance(value, str | bytes):
        return kind is str or not inside
    if isinstance(value, range):  # all its items are alike, and it may have any number of them
        value = value[:1]
    if kind in (tuple, list, Sequence, Iterable) and inside and isinstance(value, HELD):
        return inside[0] is Any or all(fits(item, inside[0]) for item in value)
    if isinstance(value, Mapping) and len(inside) == 2:
        of_key, held = inside  # of anything there may be a million
        return {*inside} == {Any} or all(fits(k, of_key) and fits(value[k], held) for k in value)
    return True


def spoken_hint(hint: Any) -> str:
    """An annotation, in words."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(dict.fromkeys(spoken_hint(alternative) for alternative in inside))
    if kind is Annotated:
        return f"a {hint.__metadata__[0].__name__}"
    if kind is Literal:
        return "one of " + ", ".join(map(str, inside))
    if kind in WORDS:
        return WORDS[kind]
    name = getattr(kind, "__name__", str(kind))
    return f"a {name}" if kind not in (tuple, list, Sequence, Iterable) else "a list or tuple"
