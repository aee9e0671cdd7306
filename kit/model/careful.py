"""Functions of a model that look, whenever they are used, whether they keep their word.

The kit's own are left as they are: tests have looked at them. All others are asked twice, the
second time with sets in another order, and what they are asked about must be the same afterwards.
Whoever changes a state, draws from chance or answers in a type that nobody understands is named
with the line of its code.
"""

import dataclasses
import linecache
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, partial, wraps
from importlib import import_module
from inspect import signature
from itertools import islice
from math import isnan
from operator import is_not
from pathlib import Path
from sysconfig import get_paths
from types import CodeType, GenericAlias, MethodType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace
from msgspec.structs import fields as struct_fields

from kit.errors import BadInput, BadType, Refusal
from kit.model.model import Model, Monitor, Property, content
from kit.model.rule import Rule

KIT = f"{Path(__file__).parent.parent}{os.sep}"
PROTOCOLS = f"{KIT}protocols{os.sep}"
LIBRARY = tuple(
    {str(Path(place)) for name, place in get_paths().items() if "lib" in name}
    | {str(Path(dataclasses.__file__).parent)}  # within a page it is an archive
)
"""Where Python's own modules and installed packages are."""
LASTING = "values that never change: numbers, text, tuples, frozen structs"
NO_CHANCE = (
    "the same result each time: no randomness and no clock in a model; for a set, use sorted()"
)
LONGEST_NUMBER = 10_000  # bits
MOST_PARTS = 100_000  # of a state, an action or a memory
_NO_NUMBERS = frozenset((str, bool, bytes, type(None), msgspec.UnsetType))  # nor any parts
_PARTED = (Struct, tuple, frozenset)
_PLAIN = _NO_NUMBERS | {int, float}


@cache
def is_kits_file(name: str) -> bool:
    """Whether a file is the kit's own, which tests have looked at: not of a family put into it."""
    if not name.startswith(PROTOCOLS):
        return name.startswith(KIT)
    inside = Path(name.removeprefix(PROTOCOLS)).parts
    return len(inside) == 1 or inside[0] in import_module("kit.protocols").SHIPPED


def is_kits(function: Any) -> bool:
    """Whether a function is the kit's own, which tests have looked at."""
    code = _code(function)
    return code is not None and is_kits_file(code.co_filename)


def witness_of(name: str, judge: Callable[..., Any], witness: Any) -> Any:
    """What a property or monitor says of a violation, which is a text.

    Raises BadInput naming the function when it says something else, such as False.
    """
    if witness is None or isinstance(witness, str):
        return witness
    _close(witness)
    allowed = "a string that says what is wrong, or None if nothing is wrong"
    raise BadInput(place(f"property {name}", judge), witness, allowed)


def truth_of(name: str, judge: Callable[..., Any], answer: Any) -> bool:
    """What a *sometimes* or *goal* property says of a state: reached or not.

    Raises BadInput naming the function when it gives nothing, or what is always true: a function
    that nobody called, or values that nobody asked for.
    """
    _close(answer)
    if answer is None:
        allowed = "True or False (is a return missing?)"
        raise BadInput(place(f"property {name}", judge), answer, allowed)
    if callable(answer) or isinstance(answer, Iterator | Awaitable) or answer is NotImplemented:
        allowed = "True or False (is a call, or any() or all() around it, missing?)"
        raise BadInput(place(f"property {name}", judge), answer, allowed)
    if isinstance(answer, str):  # as a promise says what is wrong
        allowed = "True or False: whether it is reached"
        raise BadInput(place(f"property {name}", judge), answer, allowed)
    try:
        return bool(answer)
    except (TypeError, ValueError):  # a table of truth values has none of its own
        raise BadInput(place(f"property {name}", judge), answer, "True or False") from None


def _close(answer: Any) -> None:
    if isinstance(answer, Coroutine):
        answer.close()


def check_refusal(what: str, judge: Callable[..., Any], refusal: Any) -> None:
    """See that an answer is None, or a refusal that can be shown; ``what`` gave it.

    Raises BadInput naming the function when it does not.
    """
    if refusal is None:
        return
    if not isinstance(refusal, Refusal):
        _close(refusal)
        allowed = "a Refusal with its reason, or None if it may happen"
        raise BadInput(place(what, judge), refusal, allowed)
    try:
        msgspec.convert(msgspec.to_builtins(refusal), Refusal)
    except (TypeError, ValueError) as error:
        allowed = f"a reason as text, with lists of texts ({error})"
        raise BadInput(place(what, judge), refusal, allowed) from None
    if not refusal.reason:
        raise BadInput(place(what, judge), refusal, "a Refusal that gives a reason")


def check_text(what: str, function: Callable[..., Any], answer: Any) -> None:
    """See that a model's word is a text. Raises BadInput naming the function when it is none."""
    if not isinstance(answer, str):
        raise BadInput(place(what, function), answer, "a string")


def check_kind(model: Model[Any, Any], what: str, function: Callable[..., Any], state: Any) -> None:
    """See that a state is of the model's ``State``. Raises BadInput naming the function if not."""
    given = getattr(model, "State", None)
    several = get_args(given) if get_origin(given) in (Union, UnionType) else (given,)
    kinds = tuple(get_origin(each) or each for each in several)
    are_classes = all(isinstance(kind, type) and kind is not Any for kind in kinds)
    if are_classes and not isinstance(state, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise BadInput(place(what, function), state, f"a state of {model.name}: {names}")
    if not is_kits(function):
        check_fields(state, what, function)


def check_fields(state: Any, what: str, function: Callable[..., Any]) -> None:
    """See that each field of a state, and of its parts, is of the type that it is declared with.

    Raises BadInput naming the field, and the function that made the state, if it is not.
    """
    if wrong := _misfit(state, _packed(state)):
        name, value, allowed = wrong
        raise BadInput(f"{place(what, function)}: {name}", value, allowed)


def _packed(value: Any) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=repr)


@lru_cache(1 << 14)  # searches come to a state by several steps, and to its parts in many states
def _misfit(value: Any, _bytes: bytes) -> tuple[str, Any, str] | None:
    if not isinstance(value, _PARTED):
        return None
    parts = astuple(value) if isinstance(value, Struct) else tuple(value)
    if isinstance(value, Struct) and not _fits(parts, shape := _shape(type(value)), unsure=False):
        for name, part, kind in zip(value.__struct_fields__, parts, get_args(shape), strict=True):
            if not (_fits((part,), _tuple_of(kind), unsure=True) or _is_one(part, kind)):
                return name, part, f"{_type_name(kind)}, as {type(value).__name__} declares it"
    inner = (part for part in parts if isinstance(part, _PARTED))
    return next(filter(None, (_misfit(part, _packed(part)) for part in inner)), None)


@cache
def _shape(kind: type[Struct]) -> Any:
    try:
        shape = _tuple_of(*(each.type for each in struct_fields(kind)))
        msgspec.convert((), shape)
    except msgspec.ValidationError:
        return shape
    except (TypeError, NameError):  # a type that nobody knows here, or that msgspec cannot look at
        return tuple[Any, ...]
    return shape


def _tuple_of(*kinds: Any) -> Any:
    return GenericAlias(tuple, kinds)


def _fits(values: tuple[Any, ...], shape: Any, *, unsure: bool) -> bool:
    try:
        msgspec.convert(values, shape, strict=True)
    except (msgspec.ValidationError, UnicodeError):
        return False
    except TypeError:
        return unsure
    return True


def _is_one(value: Any, kind: Any) -> bool:
    """Whether a value is of a class, such as True of ``int``, where plain data would not be."""
    return isinstance(kind, type) and isinstance(value, kind)


def _type_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def check_stands(value: Any, what: str | Callable[[], str], function: Callable[..., Any]) -> None:
    """See that a value can be hashed, written down and compared, and is not too large.

    ``what`` made it. Raises BadInput naming the function that did.
    """
    numbers = _numbers(value)
    if numbers is None:
        raise BadInput(_made_by(what, function), "a huge value", f"at most {MOST_PARTS:,} parts")
    try:
        hash(value)
        content(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(_made_by(what, function), value, f"{LASTING} ({error})") from None
    for number in numbers:
        is_nan = isinstance(number, float) and isnan(number)
        if is_nan or (isinstance(number, int) and number.bit_length() > LONGEST_NUMBER):
            allowed = f"numbers that equal themselves, integers of at most {LONGEST_NUMBER} bits"
            raise BadInput(_made_by(what, function), number, allowed)


def _made_by(what: str | Callable[[], str], function: Callable[..., Any]) -> str:
    return place(what if isinstance(what, str) else what(), function)


def check_call(what: str, function: Callable[..., Any], *given: str) -> None:
    """See that a function takes these arguments. Raises BadType naming it, and what it is given."""
    if is_kits(function):
        return
    if not callable(function):
        raise BadType(what, function, f"a function of {', '.join(given) or 'nothing'}")
    try:
        signature(function).bind(*given)
    except TypeError as error:
        shown = f"{getattr(function, '__name__', 'function')}{signature(function)}"
        allowed = f"a function of {', '.join(given) or 'nothing'} ({error})"
        raise BadType(place(what, function), shown, allowed) from None
    except ValueError:  # of some that come with Python nobody can tell
        return


def place(what: str, function: Callable[..., Any]) -> str:
    """``outcome of up, line 12 of lift.py (def up(s, a):)``."""
    code = _code(function)
    if code is None or is_kits_file(code.co_filename):  # a line of the kit's helps nobody
        return what
    return f"{what}, {line_of(code.co_filename, code.co_firstlineno)}"


def _numbers(value: Any) -> list[int | float] | None:
    """Every number in a value; None where it has too many parts.

    Searches of students' models spend much of their time here.
    """
    numbers: list[int | float] = []
    todo = [value]
    for item in todo:  # which grows on the way
        if len(todo) > MOST_PARTS:
            return None
        if type(item) in _NO_NUMBERS:
            continue
        if isinstance(item, int | float):
            numbers.append(item)
        elif isinstance(item, Struct):
            todo += astuple(item)
        elif isinstance(item, tuple | list | frozenset):
            todo += item
        elif isinstance(item, dict):
            todo += item.values()
        elif is_dataclass(item) and not isinstance(item, type):
            todo += [getattr(item, field.name) for field in fields(item)]
    return numbers


def _code(function: Any) -> CodeType | None:
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


def raised_at(error: BaseException, otherwise: str = "model") -> str:
    """The line that raised an error: the last one that is not the kit's own."""
    where, link = otherwise, (_loop_ended(error) or error).__traceback__
    while link is not None:
        name = link.tb_frame.f_code.co_filename
        elsewhere = is_kits_file(name) or name.startswith(LIBRARY)
        if not elsewhere and link.tb_frame.f_code.co_name != "__setattr__":
            where = f"{link.tb_frame.f_code.co_name}, {line_of(name, link.tb_lineno)}"
        link = link.tb_next
    return where


def is_within(error: BaseException, function: Callable[..., Any]) -> bool:
    """Whether an error was raised in a function, or in what that called."""
    code, link = _code(function), error.__traceback__
    while link is not None:
        if link.tb_frame.f_code is code:
            return True
        link = link.tb_next
    return False


def is_own_error(error: BaseException) -> bool:
    """Whether a model's own code raised an error that means no harm to those who called it.

    An error that is raised within the kit comes of what that was given. What ends a loop or the
    process would be taken for something else on its way.
    """
    if isinstance(error, SystemExit | GeneratorExit) or _loop_ended(error):
        return False
    own, link = True, error.__traceback__
    while link is not None:
        name = link.tb_frame.f_code.co_filename
        if is_kits_file(name):
            own = False
        elif not name.startswith(LIBRARY):
            own = True
        link = link.tb_next
    return own


def _loop_ended(error: BaseException) -> BaseException | None:
    """The StopIteration that an error is, or was when it left a function that yields."""
    return next((e for e in (error, error.__cause__) if isinstance(e, StopIteration)), None)


class _Backwards(frozenset[Any]):
    """A set that is gone through from its last element to its first."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])


def twin_of(value: Any) -> Any:
    """The value with every set of several elements in it turned round; itself without any."""
    if type(value) in _PLAIN:  # most are
        return value
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
    twins = tuple(map(twin_of, values))
    return twins if any(map(is_not, twins, values)) else None


def _named(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


MOST_CHOICES = 100_000  # of one rule in one state
NEW = "a new state, with the old one unchanged (s.but(field=value) makes one)"
_LOOKS = "no change: it must only read the state"


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
            raise BadInput(where(), "different actions each time", NO_CHANCE)
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
            raise BadInput(place(where(), rule.outcome), "a different answer each time", NO_CHANCE)
        return end

    given = rule.given
    return replace(rule, choices=choices, outcome=outcome, given=lambda a: (a, given(a)))


def _last(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
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
    answer_of = truth_of if prop.kind in ("sometimes", "goal", "live") else witness_of
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
    twins: dict[int, Callable[[Any], Any]] = defaultdict(lambda: _last(twin_of))  # by position

    @wraps(function)
    def repeated(*given: Any) -> Any:
        before = _contents(given)
        answer = answer_of(function, function(*given))
        if _contents(given) != before:
            raise BadInput(place(what, function), "a changed state", _LOOKS)
        others = (twins[at](value) for at, value in enumerate(given))
        if answer_of(function, function(*others)) != answer:
            raise BadInput(place(what, function), "a different answer each time", NO_CHANCE)
        return answer

    return repeated


def _contents(values: Iterable[Any]) -> list[bytes]:
    configurations = [(each, getattr(type(each), "__struct_config__", None)) for each in values]
    return [content(each) for each, config in configurations if not (config and config.frozen)]


def _choices(rule: Rule[Any, Any], s: Any) -> list[tuple[Any, Any]]:
    where = partial(place, f"choices of {rule.kind}", rule.choices)
    offered = rule.choices(s)
    if not isinstance(offered, Iterable):
        raise BadInput(where(), offered, f"actions of type {rule.action.__name__}, in a tuple")
    choices: dict[Any, Any] = {}
    for number, (action, given) in enumerate(offered):
        if number >= MOST_CHOICES:
            raise BadInput(where(), "an endless number of them", f"at most {MOST_CHOICES} actions")
        if type(action) is not rule.action:
            raise BadInput(where(), action, f"actions of type {rule.action.__name__}")
        check_stands(action, f"choices of {rule.kind}", rule.choices)
        if action in choices:
            raise BadInput(where(), action, "each action once")
        choices[action] = given
    return list(choices.items())


def _outcome(model: Model[Any, Any], action: Any) -> str:
    try:
        return f"outcome of {model.verb(action)}"
    except Exception:  # what is told here is another fault of the same model
        return f"outcome of {type(action).__name__}"
