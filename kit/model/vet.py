"""Whether a student's model keeps its word: what it declares, and what its functions answer.

A model that was written in a hurry may change the state it was given, hold a list in it, draw from
chance or return what nobody understands. What follows then (a search that finds nothing, a history
that changes behind one's back) is hard to understand; so it is looked for, and told in one line
with the place in the code. What a model declares is looked at when it is opened; its functions are
asked twice, the second time with sets in another order, in every state that somebody looks at and
in the first ones of a search. The kit's own are left as they are: tests have looked at them.
"""

import ast
import dataclasses
import gc
import linecache
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, lru_cache, partial, wraps
from inspect import currentframe, signature
from itertools import islice
from types import GenericAlias, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace
from msgspec.structs import fields as struct_fields

from kit.edge.arguments import keep_calls, text, whole_number
from kit.errors import BadInput, BadType, KitError, Refusal
from kit.model.model import Kind, Model, Monitor, PartialOrder, Property, Rule, Safeguard, content
from kit.model.patience import attended
from kit.model.source import (
    is_kits,
    is_kits_file,
    is_own_error,
    is_within,
    place,
    raised_at,
    said_by,
)

LASTING = "values that never change: numbers, text, tuples, frozen structs"
NO_CHANCE = (
    "the same result each time: no randomness and no clock in a model; for a set, use sorted()"
)
NEW = "a new state, with the old one unchanged (s.but(field=value) makes one)"
ANSWERS = "functions that accept what they are given and return what they should"
JUDGES = "an answer for every state and step that can be reached"
MOST_BYTES = 1_000_000  # of a state, an action or a memory
MOST_CHOICES = 100_000  # of one rule in one state
VETTED = 1_000  # states of a search
_PARTED = (Struct, tuple, frozenset)


def is_own(model: Model[Any, Any]) -> bool:
    """Whether all rules of a model are the kit's own, which tests have looked at."""
    functions = [f for rule in model.rules for f in (rule.choices, rule.outcome)]
    functions += getattr(model, "receiving", ())  # in which nodes receive messages
    return all(map(is_kits, functions)) and all(map(is_own, getattr(model, "parts", {}).values()))


# -- what a model declares -------------------------------------------------------------------------

_STEP = ("before", "action", "after")
METHODS: dict[str, tuple[str, ...]] = {
    "start": (),
    **dict.fromkeys(("describe", "milestone"), _STEP),
    **dict.fromkeys(("suggest", "readable", "actions", "options", "successors"), ("state",)),
    **dict.fromkeys(("verb", "kind"), ("action",)),
    "label": ("state", "action"),
}
"""Methods of a model that may be its own, and what they are given."""


def check_contract(
    model: Model[Any, Any],
    properties: Iterable[Property] | None = None,
    monitors: Iterable[Monitor] | None = None,
) -> None:
    """See that a model is whole: names, rules, properties and monitors (its own, or others).

    Raises BadInput naming the first thing that is missing, wrong or there twice.
    """
    name = getattr(model, "name", None)
    for field in ("name", "title"):
        text(f"{field} of {type(model).__name__}", getattr(model, field, None))
    if type(model).start is Model.start and "start" not in vars(model):
        raise BadInput(f"start of {name}", None, "a method that returns the first state")
    whole_number(f"revision of {name}", model.revision, least=1, most=1_000_000)
    _check_fields_of(model)
    for method, names in METHODS.items():
        check_call(f"{method} of {name}", getattr(model, method), *names)
    rules = _members(name, "rules", model.rules, Rule)
    judged = _members(name, "properties", properties or model.properties, Property)
    watching = _members(name, "monitors", monitors or model.monitors, Monitor)
    for rule in rules:
        _functions(name, rule, "choices", "outcome", "given")
        if not hasattr(model, "acts"):  # else the methods were looked at
            check_call(f"choices of {rule.kind}", rule.choices, "state")
            check_call(f"outcome of {rule.kind}", rule.outcome, "state", "arguments")
        if not isinstance(rule.action, type) or not issubclass(rule.action, Struct):
            allowed = "a class of actions (structs)"
            raise BadType(f"rules of {name}: action", rule.action, allowed)
        text(f"kind of rule {rule.action.__name__} of {name}", rule.kind)
    for prop in (*judged, *_members(name, "signs", model.signs, Property)):
        _functions(name, prop, "check")
        check_call(
            f"property {prop.name}", prop.check, *_STEP if prop.kind == "step" else ["state"]
        )
        if prop.kind not in get_args(Kind):
            kinds = "one of " + ", ".join(get_args(Kind))
            raise BadInput(f"kind of property {prop.name}", prop.kind, kinds)
        _check_looks(f"property {prop.name}", prop, "of")
    for monitor in watching:
        what = f"monitor {monitor.name}"
        _functions(name, monitor, "begin", "step", "verdict")
        check_call(what, monitor.begin)
        check_call(what, monitor.step, "memory", *_STEP)
        check_call(what, monitor.verdict, "memory")
        _check_looks(what, monitor, "rename")
        check_stands(monitor.begin(), what, monitor.begin)
    if type(model).rule_of is Model.rule_of:  # a product finds the rules of its parts itself
        _check_once(name, "action of a rule", [rule.action.__name__ for rule in rules])
    _check_once(name, "property", [prop.name for prop in (*judged, *watching)])


def _check_fields_of(model: Model[Any, Any]) -> None:
    kind, order = getattr(model, "State", None), model.partial_order
    classes = kind is None or isinstance(kind, type) or get_origin(kind) is not None
    for field, fine, allowed in (
        ("parameters", isinstance(model.parameters, Struct), "a frozen struct: NoParameters()"),
        ("rests_at_goals", isinstance(model.rests_at_goals, bool), "True or False"),
        ("symmetry", model.symmetry is None or callable(model.symmetry), "a function, or None"),
        ("partial_order", isinstance(order, PartialOrder | None), "a PartialOrder, or None"),
        ("State", classes, "a class, or several: A | B"),
    ):
        if not fine:
            raise BadType(f"{field} of {model.name}", getattr(model, field), allowed)
    if order is not None:
        _members(model.name, "partial_order.waiting", order.waiting, type)
        if not callable(order.leads):
            raise BadType(f"partial_order.leads of {model.name}", order.leads, "a function")
    for field, of in (("safeguards", Safeguard), ("off", str), ("faults", str)):
        _members(model.name, field, getattr(model, field), of)


def _check_looks(name: str, owner: Property | Monitor, field: str) -> None:
    """See that a judge has a title, and looks at classes of actions: by a name it finds none."""
    text(f"title of {name}", owner.title, 1000)
    function = getattr(owner, field)
    if function is not None and not callable(function):
        raise BadType(f"{field} of {name}", function, "a function, or None")
    given: object = owner.on
    if not isinstance(given, tuple | list) or not all(isinstance(on, type) for on in given):
        raise BadType(f"on of {name}", given, "a tuple of classes of actions")


def _members(name: Any, field: str, given: Any, kind: type[Any]) -> tuple[Any, ...]:
    allowed = f"a tuple of {kind.__name__}s"
    if not isinstance(given, tuple | list):
        raise BadType(f"{field} of {name}", given, allowed)
    for number, member in enumerate(given):
        if not isinstance(member, kind):
            raise BadType(f"{field}[{number}] of {name}", member, allowed)
    return tuple(given)


def _functions(name: Any, owner: Any, *fields: str) -> None:
    for field in fields:
        if not callable(getattr(owner, field)):
            raise BadType(f"{field} of a {type(owner).__name__} of {name}", owner, "a function")


def _check_once(name: Any, what: str, words: list[Any]) -> None:
    for word in words:
        if not isinstance(word, str) or not word:
            raise BadType(f"{what} of {name}", word, "a name")
        text(f"{what} of {name}", word)
    for word, times in Counter(words).items():
        if times > 1:
            raise BadInput(f"{what} of {name}", word, "each name once")


def check_call(what: str, function: Callable[..., Any], *given: str) -> None:
    """See that a function takes these arguments. Raises BadType naming it, and what it is given."""
    if is_kits(function):
        return
    allowed = f"a function of {', '.join(given) or 'nothing'}"
    if not callable(function):
        raise BadType(what, function, allowed)
    try:
        signature(function).bind(*given)
    except TypeError as error:
        shown = f"{getattr(function, '__name__', 'function')}{signature(function)}"
        raise BadType(place(what, function), shown, f"{allowed} ({error})") from None
    except ValueError:  # of some that come with Python nobody can tell
        return


DECLARING = frozenset(
    "action parameter budget safeguard always step sometimes goal live judged".split()
)
"""What declares a part of a model, by its name in ``kit.model.declared``."""
Method = ast.FunctionDef | ast.AsyncFunctionDef


def check_body(owner: type) -> None:
    """See that a class declares each name once, where its statement is being executed.

    Python keeps the last of a name only, so the text of the class is read, where there is one: in a
    file, or in a cell. Raises BadInput naming what it declares twice, and both lines.
    """
    frame = currentframe()
    while frame and frame.f_code.co_name in (check_body.__name__, "__init_subclass__"):
        frame = frame.f_back
    if frame is None or is_kits_file(frame.f_code.co_filename):  # a linter has looked at these
        return
    linecache.checkcache(frame.f_code.co_filename)
    for body in _classes("".join(linecache.getlines(frame.f_code.co_filename))):
        is_here = body.lineno <= frame.f_lineno <= (body.end_lineno or 0)
        if body.name == owner.__name__ and is_here:
            for name, first, second in _declared_twice(body):
                allowed = "each name once: the second would take the first one's place"
                lines = f"two of that name, in lines {first} and {second}"
                raise BadInput(f"{name} of {owner.__name__}", lines, allowed)


@lru_cache(4)  # a file has several classes
def _classes(source: str) -> tuple[ast.ClassDef, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # of a cell with magics, or of another text than was run
        return ()
    return tuple(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))


def _declared_twice(body: ast.ClassDef) -> Iterator[tuple[str, int, int]]:
    """Each name that is lost, with its line and that of the other, which does not mention it."""
    former: dict[str, ast.stmt] = {}
    for each in body.body:
        for name in _bound(each):
            known = former.get(name)
            if known and (_declares(known) or _declares(each)) and not _mentions(each, name):
                yield name, known.lineno, each.lineno
            former[name] = each


def _bound(said: ast.stmt) -> list[str]:
    if isinstance(said, Method):
        return [said.name]
    targets = said.targets if isinstance(said, ast.Assign) else [getattr(said, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _made(said: ast.stmt) -> list[Any]:
    return said.decorator_list if isinstance(said, Method) else [getattr(said, "value", None)]


def _declares(said: ast.stmt) -> bool:
    functions = (each.func for each in _made(said) if isinstance(each, ast.Call))
    names = (getattr(each, "attr", getattr(each, "id", "")) for each in functions)
    return isinstance(said, ast.AnnAssign) or not DECLARING.isdisjoint(names)


def _mentions(said: ast.stmt, name: str) -> bool:
    nodes = (node for each in _made(said) if each for node in ast.walk(each))
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


# -- what its functions answer ---------------------------------------------------------------------


def witness_of(name: str, judge: Callable[..., Any], witness: Any) -> Any:
    """The witness of a violation, as a property or monitor gives it: a text.

    Raises BadInput naming the function when it says something else, such as False.
    """
    if witness is None or isinstance(witness, str):
        return witness
    _close(witness)
    allowed = "a string that says what is wrong, or None if nothing is wrong"
    raise BadInput(place(f"property {name}", judge), witness, allowed)


def truth_of(name: str, judge: Callable[..., Any], answer: Any) -> bool:
    """The answer of a *sometimes* or *goal* property: reached or not.

    Raises BadInput naming the function when it gives nothing, or what is always true: a function
    that nobody called, or values that nobody asked for.
    """
    _close(answer)
    allowed = "True or False"
    if answer is None:
        allowed += " (is a return missing?)"
    elif callable(answer) or isinstance(answer, Iterator | Awaitable) or answer is NotImplemented:
        allowed += " (is a call, or any() or all() around it, missing?)"
    elif isinstance(answer, str):  # as a promise says what is wrong
        allowed += ": whether it is reached"
    else:
        try:
            return bool(answer)
        except (TypeError, ValueError):  # a table of truth values has none of its own
            pass
    raise BadInput(place(f"property {name}", judge), answer, allowed) from None


def _close(answer: Any) -> None:
    if isinstance(answer, Coroutine):
        answer.close()


def check_text(what: str, function: Callable[..., Any], answer: Any) -> None:
    """See that a model's word is a text. Raises BadInput naming the function when it is none."""
    if not isinstance(answer, str):
        raise BadInput(place(what, function), answer, "a string")


def _check_refusal(where: str, refusal: Any) -> None:
    try:
        msgspec.convert(msgspec.to_builtins(refusal), Refusal)
    except (TypeError, ValueError) as error:
        raise BadInput(where, refusal, f"a reason as text, with lists of texts ({error})") from None
    if not refusal.reason:
        raise BadInput(where, refusal, "a Refusal that gives a reason")


def _check_kind(model: Model[Any, Any], what: str, function: Callable[..., Any], s: Any) -> None:
    """See that a state is of the model's ``State``, and its parts as that declares them."""
    given = getattr(model, "State", None)
    several = get_args(given) if get_origin(given) in (Union, UnionType) else (given,)
    kinds = tuple(get_origin(each) or each for each in several)
    are_classes = all(isinstance(kind, type) and kind is not Any for kind in kinds)
    if are_classes and not isinstance(s, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise BadInput(place(what, function), s, f"a state of {model.name}: {names}")
    if not is_own(model) and (wrong := _misfit(s)):
        name, value, allowed = wrong
        raise BadInput(f"{place(what, function)}: {name}", value, allowed)


def _misfit(value: Any) -> tuple[str, Any, str] | None:
    """The first field of a value, or of its parts, that is not of its type; and what that is."""
    if not isinstance(value, _PARTED):
        return None
    parts = astuple(value) if isinstance(value, Struct) else tuple(value)
    if isinstance(value, Struct) and not _fits(parts, shape := _shape(type(value)), unsure=False):
        for name, part, kind in zip(value.__struct_fields__, parts, get_args(shape), strict=True):
            is_one = isinstance(kind, type) and isinstance(part, kind)  # such as True of int
            if not (_fits((part,), GenericAlias(tuple, (kind,)), unsure=True) or is_one):
                shown = kind.__name__ if isinstance(kind, type) else str(kind)
                return name, part, f"{shown}, as {type(value).__name__} declares it"
    return next(filter(None, map(_misfit, parts)), None)


@cache
def _shape(kind: type[Struct]) -> Any:
    try:
        shape = GenericAlias(tuple, tuple(each.type for each in struct_fields(kind)))
        msgspec.convert((), shape)
    except msgspec.ValidationError:
        return shape
    except (TypeError, NameError):  # a type that nobody knows here, or that msgspec cannot look at
        return tuple[Any, ...]
    return shape


def _fits(values: tuple[Any, ...], shape: Any, *, unsure: bool) -> bool:
    try:
        msgspec.convert(values, shape, strict=True)
    except (msgspec.ValidationError, UnicodeError):
        return False
    except TypeError:
        return unsure
    return True


def check_stands(value: Any, what: str, function: Callable[..., Any]) -> None:
    """See that a value can be hashed, written down and compared, and is not too large.

    ``what`` made it. Raises BadInput naming the function that did.
    """
    try:
        hash(value)
        data = content(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(place(what, function), value, f"{LASTING} ({error})") from None
    if len(data) > MOST_BYTES:
        raise BadInput(place(what, function), "a huge value", f"at most {MOST_BYTES:,} bytes")
    if b"\xcb" in data and msgspec.msgpack.decode(data) != msgspec.msgpack.decode(data):  # float
        raise BadInput(place(what, function), value, "numbers that equal themselves")


class _Backwards(frozenset[Any]):
    """A set that is gone through from its last element to its first."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])


def twin_of(value: Any) -> Any:
    """The value with every set in it turned round."""
    if isinstance(value, frozenset):
        return _Backwards(map(twin_of, value))
    if type(value) is tuple:
        return tuple(map(twin_of, value))
    if isinstance(value, Struct):
        return replace(value, **{n: twin_of(getattr(value, n)) for n in value.__struct_fields__})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value) if field.init)
        return dataclasses.replace(value, **{n: twin_of(getattr(value, n)) for n in names})
    return value


def ask_twice(
    what: str,
    function: Callable[..., Any],
    *given: Any,
    answer_of: Callable[[Any], Any],
    kept: str = "no change: it must only read the state",
    differs: str = "a different answer each time",
) -> Any:
    """The answer of a function, as ``answer_of`` understands it; asked again, it must be the same.

    Raises BadInput, naming ``what`` and the function's line, when it does not, or changes what it
    is given: ``kept`` says what it should do.
    """
    before = _contents(given)
    answer = answer_of(function(*given))
    if _contents(given) != before:
        raise BadInput(place(what, function), "a changed state", kept)
    if answer_of(function(*map(twin_of, given))) != answer:
        raise BadInput(place(what, function), differs, NO_CHANCE)
    return answer


def _contents(values: Iterable[Any]) -> list[bytes]:
    configurations = [(each, getattr(type(each), "__struct_config__", None)) for each in values]
    return [content(each) for each, config in configurations if not (config and config.frozen)]


def _choices(rule: Rule[Any, Any], offered: Any) -> list[tuple[Any, Any]]:
    what = f"choices of {rule.kind}"
    where = place(what, rule.choices)
    if not isinstance(offered, Iterable):
        raise BadInput(where, offered, f"actions of type {rule.action.__name__}, in a tuple")
    choices = list(islice(offered, MOST_CHOICES + 1))
    if len(choices) > MOST_CHOICES:
        raise BadInput(where, "an endless number of them", f"at most {MOST_CHOICES} actions")
    met = set[Any]()
    for action, _ in choices:
        if type(action) is not rule.action:
            raise BadInput(where, action, f"actions of type {rule.action.__name__}")
        check_stands(action, what, rule.choices)
        if action in met:
            raise BadInput(where, action, "each action once")
        met.add(action)
    return choices


def _outcome(model: Model[Any, Any], rule: Rule[Any, Any], s: Any, action: Any, given: Any) -> Any:
    what = f"outcome of {model.verb(action)}"

    def end_of(end: Any) -> Any:
        if isinstance(end, Refusal):
            _check_refusal(place(what, rule.outcome), end)
        elif end is not None:
            check_stands(end, what, rule.outcome)
            _check_kind(model, f"outcome of {rule.kind}", rule.outcome, end)
        return end

    return ask_twice(what, rule.outcome, s, given, answer_of=end_of, kept=NEW)


def rules_of(model: Model[Any, Any]) -> tuple[Rule[Any, Any], ...]:
    """The rules of a model, each of which offers actions of its kind, and comes to an end."""
    if is_own(model):
        return model.rules
    return tuple(replace(r, choices=lambda s, r=r: _choices(r, r.choices(s))) for r in model.rules)


def steps_of(model: Model[Any, Any]) -> Callable[[Any], Iterator[tuple[Any, Any]]]:
    """The steps of a search: the model's own; of a student's the first states are looked at.

    Raises BadInput as ``check_purity``.
    """
    if is_own(model) or type(model).successors is not Model.successors:
        return model.successors
    rules, left = rules_of(model), iter(range(VETTED))

    def steps(s: Any) -> Iterator[tuple[Any, Any]]:
        if next(left, None) is not None:
            check_purity(model, s, words=False)
        for rule in rules:
            yield from rule.ready(s)

    return steps


def careful_monitor(monitor: Monitor) -> Monitor:
    """The same monitor, its functions asked twice; the kit's own as it is."""
    if is_kits(monitor.step):
        return monitor
    what = f"monitor {monitor.name}"

    def careful(function: Callable[..., Any], judge: Callable[[Any], Any]) -> Callable[..., Any]:
        return wraps(function)(lambda *given: ask_twice(what, function, *given, answer_of=judge))

    def memory(value: Any) -> Any:
        check_stands(value, what, monitor.step)
        return value

    return replace(
        monitor,
        begin=careful(monitor.begin, memory),
        step=careful(monitor.step, memory),
        verdict=careful(monitor.verdict, partial(witness_of, monitor.name, monitor.verdict)),
    )


def check_purity(model: Model[Any, Any], state: Any, *, words: bool = True) -> None:
    """Take every step from one state, and see that all functions of the model keep their word.

    With ``words`` so do those that tell of each step, and what is suggested.

    Raises BadInput naming the function that does not, and its line.
    """
    check_stands(state, "start", model.start)
    _check_kind(model, "start", model.start, state)
    steps = []
    for prop in (*model.properties, *model.signs):
        if is_kits(prop.check):
            continue
        if prop.kind == "step":
            steps.append(prop)
        else:
            judge = truth_of if prop.kind in ("sometimes", "goal", "live") else witness_of
            answer_of = partial(judge, prop.name, prop.check)
            ask_twice(f"property {prop.name}", prop.check, state, answer_of=answer_of)
    for rule in model.rules:
        offered = ask_twice(
            *(f"choices of {rule.kind}", rule.choices, state),
            answer_of=partial(_choices, rule),
            differs="different actions each time",
        )
        for action, given in offered:
            check_text("verb", model.verb, model.verb(action))
            check_text("label", model.label, model.label(state, action))
            check_text("kind", model.kind, model.kind(action))
            after = _outcome(model, rule, state, action, given)
            if after is None or isinstance(after, Refusal):
                continue
            if words:
                say = model.describe(state, action, after)
                check_told(model, say, model.milestone(state, action, after))
            for prop in steps:
                if not prop.on or type(action) in prop.on:
                    answer_of = partial(witness_of, prop.name, prop.check)
                    step = state, action, after
                    ask_twice(f"property {prop.name}", prop.check, *step, answer_of=answer_of)
    if words:
        suggested_by(model, state)


def check_told(
    model: Model[Any, Any],
    say: Any,
    milestone: Any,
    monitors: Iterable[Monitor] = (),
    memories: Iterable[Any] = (),
) -> None:
    """See that what is told of a step is text. Raises BadInput naming the function if it is not."""
    check_text("describe", model.describe, say)
    if milestone is not None:
        check_text("milestone", model.milestone, milestone)
    for monitor, memory in zip(monitors, memories, strict=True):
        monitor.verdict(memory)


def suggested_by(model: Model[Any, Any], state: Any) -> Any:
    """The action that a model suggests, or None. Raises BadInput naming the function otherwise."""
    with blaming(model, under_way=lambda: [state]):
        action = model.suggest(state)
    if action is not None and model.rule_of(action) is None:
        allowed = f"an action of {model.name}, or None"
        raise BadInput(place("suggest", model.suggest), action, allowed)
    return action


def check_start(model: Model[Any, Any], start: Any) -> None:
    """See that the first state is the same each time. Raises BadInput naming what made another."""
    if model.start() != start:
        raise BadInput(place("start", model.start), "a different state each time", NO_CHANCE)


def check_seen(model: Model[Any, Any], state: Any) -> None:
    """As ``check_purity``, for a state that is looked at: what a step raises is left to that step.

    Raises BadInput as ``check_purity``.
    """
    try:
        check_purity(model, state, words=False)
    except KitError:
        raise
    except (Exception, SystemExit, GeneratorExit):  # its own, seen by whoever takes the step
        return


# -- what is said of an error ----------------------------------------------------------------------


def blame_states(model: Model[Any, Any], states: Iterable[Any]) -> None:
    """Look for the function that changed one of the states that a search went through.

    Raises BadInput naming it; or saying at least that states do not stay as they are.
    """
    for state in states:
        check_purity(model, state)
    raise BadInput(model.name, "states that change after they were made", NEW)


def blame(
    model: Model[Any, Any], monitors: Sequence[Monitor], nodes: list[Any], error: BaseException
) -> BadInput | None:
    """The fault of a model whose search ended in ``error``; None: none that we know.

    ``nodes`` are the states that were being looked at; with monitors, tuples of a state and what
    each of them remembered.
    """
    said = said_by(error)
    if "immutable type" in said or type(error).__name__ == "FrozenInstanceError":
        return BadInput(raised_at(error), "a state that is written to", f"{NEW}: {said}")
    if is_own(model):
        return None
    if is_own_error(error):
        judges = " or ".join(_judges_within(model, monitors, error))
        said = f"{type(error).__name__}: {said}"
        return BadInput(f"{judges}: {raised_at(error)}", said, JUDGES) if judges else None
    for node in nodes:
        try:
            check_purity(model, node[0] if monitors else node)
        except BadInput as impure:
            return impure
        except (Exception, SystemExit, GeneratorExit):  # the same again, which is told below
            break
    return BadInput(raised_at(error, model.name), f"{type(error).__name__}: {said}", ANSWERS)


def _judges_within(
    model: Model[Any, Any], monitors: Sequence[Monitor], error: BaseException
) -> Iterator[str]:
    for prop in (*model.properties, *model.signs):
        if is_within(error, prop.check):
            yield f"property {prop.name}"
    for monitor in monitors or model.monitors:
        if any(is_within(error, f) for f in (monitor.begin, monitor.step, monitor.verdict)):
            yield f"monitor {monitor.name}"


@contextmanager
def blaming(
    model: Model[Any, Any],
    monitors: Sequence[Monitor] = (),
    under_way: Callable[[], list[Any]] = list,
) -> Iterator[None]:
    """Say in one line what a model did wrong where it raises an error that we know.

    ``under_way`` gives the nodes whose steps are being taken.

    Raises BadInput naming the line that wrote to a state, that ends a loop or the process, or that
    gave something else than it should, or a promise that raises. Other errors of the model's own
    code come through.
    """
    try:
        yield
    except (KitError, MemoryError):
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        impure = blame(model, monitors, under_way(), error)
        if impure is None:
            raise
        raise impure from None


@contextmanager
def asking(model: Model[Any, Any], *, under_way: Callable[[], list[Any]] = list) -> Iterator[None]:
    """Ask a model whatever it may be: as ``blaming``, and each function has to come back.

    Raises BadInput as ``blaming``; or naming the function that does not.
    """
    if is_own(model):
        yield
        return
    with blaming(model, under_way=under_way), attended():
        yield


def _asking_all(values: Iterable[Any]) -> AbstractContextManager[None]:
    for value in values:
        ours = any(base.__module__.startswith("kit.") for base in type(value).__mro__)
        model = getattr(value, "model", value) if ours else value
        rules: Any = getattr(model, "rules", None) if isinstance(model, Model) else None
        whole = isinstance(rules, tuple) and all(isinstance(rule, Rule) for rule in rules)
        if whole and not is_own(model):
            return asking(model)
    return nullcontext()


keep_calls(_asking_all)


@contextmanager
def uncollected() -> Iterator[None]:
    """While the garbage collector rests: nothing is cyclic here, and what lives is much."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def exploring(
    model: Model[Any, Any],
    monitors: Sequence[Monitor] = (),
    under_way: Callable[[], list[Any]] = list,
) -> Iterator[None]:
    """As ``blaming``, while the garbage collector rests.

    Raises BadInput for an error that a model's broken word explains, naming the place in its code.
    """
    careful_of = nullcontext() if is_own(model) else attended()
    with uncollected(), blaming(model, monitors, under_way), careful_of:
        yield
