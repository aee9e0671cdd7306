"""Models declared action by action: one method is one action, and all else about it is derived.

A method under ``action`` takes a state and the action's own parameters, and returns what comes of
it: the next state, a ``Refusal`` (a button with its reason), or None (nobody would think of it
here). Its docstring is the sentence of the step. Name and signature give the struct of the action,
its tag in traces, its verb and the group of its button; ``travels`` and ``logs`` what moves and
what the servers log. Parameters, safeguards, budgets and properties are declared in the same way.
CONTRIBUTING shows a small example, *Add a model*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from functools import cached_property, lru_cache, partial, reduce, update_wrapper
from inspect import cleandoc, get_annotations, signature
from itertools import product
from operator import attrgetter, or_
from types import FunctionType, MethodType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import NODEFAULT, Meta, Struct, ValidationError, convert, defstruct, field
from msgspec.structs import asdict, astuple, fields, replace

from kit.edge.arguments import fits, spoken_hint
from kit.errors import Awaited, BadInput, BadType, KitError, Refusal, Refused, misfit, shorten
from kit.masks import chosen, majority
from kit.model.flows import Flow, FlowKind, ServerLine, ServerLog, Travels, spot
from kit.model.model import Cost as Cost  # noqa: PLC0414  # declarations take it from here
from kit.model.model import Gesture, Kind, Model, NoParameters, Pace, Property, Rule, Safeguard
from kit.model.parameters import BUDGET, check_limits
from kit.model.patience import attended
from kit.model.registry import Entry, entry_by
from kit.model.source import is_kits, is_own_error
from kit.model.vet import check_body, check_call

S = TypeVar("S", bound=Struct)
T = TypeVar("T")
Words = Mapping[str, Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class State(Struct, frozen=True):
    """A state of a model, or a part of one.

    ``s.but(field=value)`` is the same state but for these fields. mypy knows them
    (``tools/state_fields.py``).
    """

    def __init_subclass__(cls) -> None:
        check_body(cls)

    if TYPE_CHECKING:

        def but(self, **fields: Any) -> Self:
            """The same but for these fields."""
            return self
    else:
        but = Struct.__replace__

    def at(self, place: int, **fields: Any) -> Self:
        """The same, but for these fields of one of its ``nodes``."""
        node = self.nodes[place]  # type: ignore[attr-defined]  # of states that have some
        return self.put(place, node.but(**fields))

    def put(self, place: int, node: Any) -> Self:
        """The same with this one among its ``nodes``."""
        nodes = [*self.nodes]  # type: ignore[attr-defined]  # as above
        nodes[place] = node
        return self.but(nodes=tuple(nodes))

    def where(self, holds: Callable[[Any], bool]) -> int:
        """The places of its ``nodes`` for which something holds, as a mask."""
        mask, bit = 0, 1
        for node in self.nodes:  # type: ignore[attr-defined]  # as above
            if holds(node):
                mask |= bit
            bit <<= 1
        return mask

    def spend(self, budget: str) -> Self:
        """The same with one less of a budget: a field, or one of a part (``faults.crashes``)."""
        name, _, within = budget.partition(".")
        held = getattr(self, name)
        fields: Any = {name: held.spend(within) if within else held - 1}
        return self.but(**fields)


class Each(Struct, frozen=True):
    """Over what a parameter of an action ranges, and how one of its values is written.

    ``values`` are a sequence, or a function that gives it for a model. ``by_place``: the method
    gets the place of a value in it, while the action (and so a trace) says the value itself.
    """

    values: Sequence[Any] | Callable[[Any], Sequence[Any]]
    shown: Callable[[Any], str] = str
    by_place: bool = False

    def of(self, model: Any) -> Sequence[Any]:
        """The values of a model."""
        values = self.values
        if callable(values):
            values = said_of("values of Each", values, model)
        if not isinstance(values, Sequence | Mapping):
            raise BadType("Each", values, "a sequence of values, such as a range or a tuple")
        for value in () if isinstance(values, range) else values:
            try:
                hash(value)
            except TypeError:
                allowed = "values that never change, such as numbers or text"
                raise BadType("Each", value, allowed) from None
        return values


class Travel(Struct, frozen=True):
    """Something that travels in a step; all texts are templates.

    ``source`` and ``target`` are places, as ``Declared.spot`` finds them in the picture; with a
    ``text`` of its own they are keys of the picture. ``tells`` is what goes in full, where the
    label is short. What goes from a place to itself is left out, unless it ``stays``. Without a
    ``leg`` each follows the one before it.
    """

    kind: FlowKind
    source: str
    target: str
    label: str
    text: str = ""
    leg: int | None = None
    around: str = ""
    stays: bool = False
    tells: str = ""


def there_and_back(
    source: str,
    target: str,
    asks: str,
    brings: str,
    kinds: tuple[FlowKind, FlowKind] = ("request", "answer"),
) -> tuple[Travel, Travel]:
    """A request from a place to another one, and its answer."""
    there, back = kinds
    return Travel(there, source, target, asks, leg=0), Travel(back, target, source, brings, leg=1)


def off_stage(m: Any, s: Any, action: Any) -> Gesture:
    """The gesture for what takes a node down: it is taken out of the picture."""
    return m.spot(action.node), ""


@lru_cache(4096)  # a search asks for the same ones again and again
def refused(reason: str, missing: tuple[str, ...] = (), evidence: tuple[str, ...] = ()) -> Refusal:
    """Why an action may not happen now, who has to answer first, and the facts behind it."""
    return Refusal(reason, evidence, missing)


def verbatim(text: str) -> str:
    """The template that gives a text as it is, whatever it holds (names that people chose)."""
    return text.replace("{", "{{").replace("}", "}}")


def resolved(said: Any, *given: Any) -> Any:
    """The value of a declaration, or of its function for a model, a state and an action."""
    return said(*given) if callable(said) else said


METHOD = "a method, written with def"


def check_said(what: str, said: Struct) -> None:
    """See that all that a declaration says is of its type. Raises BadType naming what is not."""
    for each in fields(said):
        value = getattr(said, each.name)
        if value is not each.default and not fits(value, each.type):
            raise BadType(f"{each.name} of {what}", value, spoken_hint(each.type))


def said_of(what: str, function: Callable[[Any], Any] | None, model: Any) -> Any:
    """The value of a declaration's function for a model; None where there is none."""
    if function is None:
        return None
    check_call(what, function, "model")
    with declaring(what, function=function):
        return function(model)


@contextmanager
def declaring(what: str, **given: Any) -> Iterator[None]:
    """Say in one line that a declaration is wrong, where nobody else says it.

    Raises BadType where the kit can make nothing of it; errors of a model's own code come through.
    """
    try:
        yield
    except KitError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, SyntaxError) as error:
        if is_own_error(error):
            raise
        raise BadType(what, given or "another declaration", f"what it takes ({error})") from None


def bare(decorator: str, given: Any) -> BadType:
    """The error for a decorator that was given a method, as it is without parentheses."""
    if not callable(given):
        return BadType(decorator, given, f"{decorator}(name=value, …)")
    return BadType(decorator, getattr(given, "__name__", given), f"parentheses: {decorator}()")


class _Unfinished(Struct, frozen=True):
    """The decorator whose parentheses are missing."""

    method: None = None


class action(_Unfinished, frozen=True, kw_only=True):  # noqa: N801  # it is read as a decorator
    """Declares that a method is an action.

    ``each(model, state)`` narrows the actions that one could think of: a bit mask over the values
    of its only parameter, or all arguments that there are, one by one (tuples of several).
    ``when(model)`` says whether the model has the action at all. What ``spends`` a budget cannot
    happen once that is used up. ``says`` takes the docstring's place: a template, or a function of
    model, state before, action and state after that gives one. ``travels`` and ``logs`` are what
    moves and what servers write, or functions of the same four that give it. ``verb`` may be a
    function of model and action, ``label``, the text of the button, one of model, state and action.
    What is ``unasked`` is never suggested; nor is a ``fault``. Where progress is judged, what is
    ``relied`` on (a function of model, state and action may say so) helps: what nodes and the
    network do by themselves, and operators in time. A ``fault``, or what spends a budget, is not,
    unless it says so; nor is the restart of a node that may be gone for good. ``pace`` says whether
    it has to happen (``prompt``, ``slow``, or a function of these three that says so):
    ``kit.model.liveness``. What an operator is ``instructed`` to do helps beyond its budget: the
    clause says why, of a run that waits for it. ``struct`` is the type of the action where that
    stands elsewhere, such as one with a message. ``hand(model, state, action)`` is what the hand
    does for it in the picture: a ``Gesture``. ``by`` names who takes the step where its parameters
    do not; or it is a function of these three.
    """

    each: Callable[[Any, Any], int | Iterable[Any]] | None = None
    when: Callable[[Any], bool] | None = None
    spends: str = ""
    says: str | Callable[..., str] = ""
    travels: Sequence[Travel] | Callable[..., Iterable[Travel]] = ()
    logs: Sequence[ServerLine] | Callable[..., Iterable[ServerLine]] = ()
    tag: str = ""
    kind: str = ""
    verb: str | Callable[[Any, Any], str] = ""
    label: str | Callable[[Any, Any, Any], str] = ""
    unasked: bool = False
    fault: bool = False
    relied: bool | Callable[[Any, Any, Any], bool] | None = None
    instructed: str = ""
    pace: Pace | Callable[[Any, Any, Any], Pace] = ""
    struct: Any = None
    hand: Callable[[Any, Any, Any], Gesture | None] | None = None
    by: str | Callable[[Any, Any, Any], str] = ""

    def __post_init__(self) -> None:
        if self.method is not None:
            raise bare("@action", self.method)

    def __call__(self, run: Callable[..., Any]) -> Any:
        """The action that a method declares."""
        if not isinstance(run, FunctionType):
            raise BadType("@action", run, METHOD)
        return Act(run, self)


Method = TypeVar("Method", bound=Callable[..., Any])


def purpose(text: str) -> Callable[[Method], Method]:
    """Declare below ``action`` what steps of a kind are for: a sentence of at most 20 words."""

    def mark(run: Method) -> Method:
        for given, kind, allowed in ((text, str, "a text"), (run, FunctionType, METHOD)):
            if not isinstance(given, kind):
                raise BadType("@purpose", given, allowed)
        vars(run)["purpose"] = text
        return run

    return mark


class Act:
    """A kind of action, as a class declares it. Called, it makes such an action.

    ``isinstance(each, Model.name)`` asks whether an action is of the kind, ``struct`` is its type.
    Of a model itself the same name is the method: ``super().name(s, …)`` in a new body.
    """

    def __init__(self, run: Callable[..., Any], said: action) -> None:
        self.run, self.said, self.__doc__ = run, said, run.__doc__
        self.says = said.says or " ".join(cleandoc(run.__doc__ or "").split("\n\n")[0].split())
        self.why: str = vars(run).get("purpose", "")
        usual = not (said.fault or said.spends)
        self.relied = usual if said.relied is None else said.relied
        self.struct: Any = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def declare(self) -> None:
        """What its name and parameters say of it. Raises BadType where they cannot."""
        what = f"action {self.name} of {self.owner.__name__}"
        with declaring(what):
            check_said(what, self.said)
            self._declare(self.owner, self.name)

    def _declare(self, owner: type, name: str) -> None:
        if hasattr(Model, name):
            raise TypeError(f"{owner.__name__}.{name}: every model already has such a method")
        given = [*signature(self.run).parameters.values()][2:]
        self.names = tuple(each.name for each in given)
        annotated = _annotations(self.run)
        hints = [annotated.get(each, Any) for each in self.names]
        self.domains = [
            next((each for each in get_args(hint)[1:] if isinstance(each, Each)), None)
            for hint in hints
        ]
        self.struct = self.said.struct
        self.tag = self.said.tag or name.replace("_", "-")
        self.kind = self.said.kind or self.tag.replace("-", " ")
        self.verb = self.said.verb or " ".join([self.tag, *(f"{{{n}}}" for n in self.names)])
        fields = [
            (
                each.name,
                str if domain and domain.by_place else hint,
                NODEFAULT if each.default is each.empty else each.default,
            )
            for each, hint, domain in zip(given, hints, self.domains, strict=True)
        ]
        if self.struct is not None and not (
            fits(self.struct, type) and issubclass(self.struct, Struct)
        ):
            raise BadType(f"struct of action {name} of {owner.__name__}", self.struct, "a struct")
        self.struct = self.struct or defstruct(
            name.title().replace("_", ""),
            fields,
            frozen=True,
            cache_hash=True,
            tag=self.tag,
            module=owner.__module__,
            namespace={"__doc__": self.__doc__},
        )

    def __get__(self, model: Any, owner: type) -> Any:
        return self if model is None else MethodType(self.run, model)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An action of this kind."""
        return self.struct(*args, **kwargs)

    def __instancecheck__(self, action: object) -> bool:
        return type(action) is self.struct

    def bind(self, m: Declared[Any]) -> Rule[Any, Any]:
        """Its rule in a model."""
        check_call(f"action {self.name}", self.run, "self", "state", *self.names)
        if self.said.spends:
            _check_field(f"spends of action {self.name}", self.said.spends, m.State)
        if self.said.each:
            check_call(f"each of action {self.name}", self.said.each, "model", "state")
        made = _Made(self, m)
        choices, outcome = self._choices(m, made), self._outcome(m)
        return Rule(self.struct, self.kind, choices, outcome, made.given)

    def with_body(self, body: Any, owner: type) -> Act:
        """The same with another method. Raises BadInput for what is none, or promises something."""
        if not isinstance(body, FunctionType) or hasattr(body, "judged"):
            given = ", ".join(("self", "s", *self.names))
            allowed = f"its new body, def {self.name}({given}), or another name"
            where = f"{self.name} of {owner.__name__}"
            raise BadInput(where, "something else in place of the action", allowed)
        changed = copy(self)
        changed.run = body
        return changed

    def without_budget(self) -> Act:
        """The same, as often as it is needed."""
        free = copy(self)
        free.said = replace(self.said, spends="")
        return free

    def _choices(self, m: Declared[Any], made: _Made) -> Callable[[Any], Iterable[Any]]:
        """All actions of the kind, or those that ``each`` leaves; none that cannot be paid."""
        each, left = self.said.each, attrgetter(self.said.spends) if self.said.spends else None
        every = made.every()
        if every is None:
            if each is None:
                raise BadInput(f"action {self.name}", self.names, "parameters with Each, or each=")
            every = []
        of_mask, of_arguments = lru_cache(None)(partial(chosen, every)), made.__getitem__

        def narrowed(s: Any) -> Iterable[Any]:
            some = each(m, s)  # type: ignore[misc]  # it is there
            return of_mask(some) if type(some) is int else map(of_arguments, some)  # type: ignore[arg-type]  # else it is no number

        choices = update_wrapper(narrowed, each) if each else lambda s: every
        return (lambda s: choices(s) if left(s) else ()) if left else choices

    def _outcome(self, m: Declared[Any]) -> Callable[[Any, Any], Any]:
        """The outcome of its method for a state and arguments, with what follows every step."""
        run: Any = MethodType(self.run, m)
        single, spends, settle = len(self.names) == 1, self.said.spends, m.settled

        def called(s: Any, args: Any) -> Any:
            return run(s, *args)

        def finished(s: Any, args: Any) -> Any:
            end = run(s, args) if single else run(s, *args)
            if end is None or type(end) is Refusal:
                return end
            if spends:
                end = end.spend(spends)
            return settle(s, end) if settle else end

        if spends or settle:
            return update_wrapper(finished, self.run)
        return run if single else update_wrapper(called, self.run)

    def words(self, m: Any, before: Any, action: Any, after: Any) -> Words:
        """What templates of this action may name: its parameters, both states, the model's."""
        pairs = zip(asdict(action).items(), self.domains, strict=True)
        shown = {name: each.shown(value) if each else value for (name, value), each in pairs}
        more = m.words(before, action, after) if before is not None else {}
        return {"before": before, "after": after, **more, **shown}

    def filled(self, template: str, words: Words) -> str:
        """A text, filled in. Raises BadInput for one that names what is not there."""
        try:
            return template.format_map(words)
        except Exception as error:
            names = ", ".join(f"{{{name}}}" for name in words)
            allowed = f"a text that format fills in from {names} ({type(error).__name__}: {error})"
            raise BadInput(f"text of action {self.name}", template, allowed) from None

    def flows(self, m: Any, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
        """The flows of a step; one to its own place only if it ``stays``."""
        words, travels = self.words(m, before, action, after), self.said.travels
        moved: list[Flow] = []
        for leg in resolved(travels, m, before, action, after):
            ends = self.filled(leg.source, words), self.filled(leg.target, words)
            label, text = self.filled(leg.label, words), self.filled(leg.text, words)
            source, target = ends if text else map(m.spot, ends)
            tells = self.filled(leg.tells, words) or label
            text = text or f"{m.called(ends[0])} → {m.called(ends[1])}: {tells}"
            number = len(moved) * (not callable(travels)) if leg.leg is None else leg.leg
            if leg.stays or source != target:
                moved.append(Flow(leg.kind, source, target, label, text, number, leg.around))
        return tuple(moved)

    def lines(self, m: Any, before: Any, action: Any, after: Any) -> Iterator[ServerLine]:
        """The lines that servers write into their logs in a step."""
        words = self.words(m, before, action, after)
        for line in resolved(self.said.logs, m, before, action, after):
            node, text = self.filled(line.node, words), self.filled(line.text, words)
            yield line.__replace__(node=node, text=text)


class _Made(dict[Any, tuple[Any, Any]]):
    """The actions of a kind in a model by the arguments of their method, which come with them."""

    def __init__(self, act: Act, m: Declared[Any]) -> None:
        self.name, self.struct, self.single = m.name, act.struct, len(act.names) == 1
        self.kind, self.looks = act.name, not is_kits(act.run)
        # What a parameter ranges over; the place of each value in it, where the method gets that.
        self.spans: list[tuple[Any, dict[Any, int] | None]] = []
        for each in act.domains:
            span = each.of(m) if each else ()
            places = (
                {value: at for at, value in enumerate(span)} if each and each.by_place else None
            )
            self.spans.append((span if each else None, places))

    def __missing__(self, args: Any) -> tuple[Any, Any]:
        row = [*zip((args,) if self.single else args, self.spans, strict=True)]
        for a, (span, places) in row if self.looks else ():
            known = span if places is None else range(len(span))
            if span is not None and a not in known:
                raise BadInput(f"each of action {self.kind}", a, f"one of {shorten(tuple(known))}")
        values = (a if places is None else span[a] for a, (span, places) in row)
        self[args] = self.struct(*values), args
        return self[args]

    def given(self, action: Any) -> Any:
        row = zip(astuple(action), self.spans, strict=True)
        try:
            args = [a if places is None else places[a] for a, (_, places) in row]
        except KeyError:
            raise Refused(f"{self.name} has no {action}") from None
        return args[0] if self.single else tuple(args)

    def every(self) -> list[tuple[Any, Any]] | None:
        """All of them; None where a parameter ranges over nothing that is known."""
        if any(span is None for span, _ in self.spans):
            return None
        spans = (span if places is None else range(len(span)) for span, places in self.spans)
        return [self[row[0] if self.single else row] for row in product(*spans)]


class Given(Struct, frozen=True):
    """A parameter, a budget or a safeguard, as the class of a model declares it."""

    default: Any
    meta: Meta | None = None
    safeguard: Callable[[str], Safeguard] | None = None
    budget: bool = False
    field: str = ""


def limited(**given: Any) -> Meta:
    """The description of a parameter, and its limits.

    Raises BadType for no such limit; BadInput for one beyond 64 bits.
    """
    for name, value in given.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise BadInput(f"{name} of a parameter", value, "a number from -2**63 to 2**63 - 1")
    try:
        return Meta(**given)
    except (TypeError, ValueError) as error:
        raise BadType("parameter", given, f"limits as msgspec.Meta has them ({error})") from None


def parameter(
    default: T,
    description: str,
    *,
    field: str = "",
    written: bool = False,
    hidden: bool = False,
    counts: bool = False,
    **more: Any,
) -> T:
    """Declare a parameter of a model: what it usually is, what it means, its limits (``ge=1``).

    It goes by ``field`` where that is not the name of the attribute, as a method of all models has
    it. One that is ``written`` a person types as text, one that is ``hidden`` has no control, one
    that ``counts`` says how often something may happen. ``more`` are those of ``msgspec.Meta``.
    """
    if field != "" and not str.isidentifier(str(field)):
        raise BadType("field of a parameter", field, "a name")
    more["extra_json_schema"] = {"written": written, "hidden": hidden, "budget": counts}
    given: Any = Given(default, limited(description=description, **more), field=field)
    return given  # type: ignore[no-any-return]  # the class has it; a model has its value


def budget(default: int, description: str, *, le: int, own: bool = True, **more: Any) -> int:
    """Declare how often something may happen: a parameter, and the field of the state of that name.

    The field counts what is left. Actions that spend it (``action(spends="crashes")``) count it
    down, and cannot happen when it is used up. One that is not the state's ``own`` is counted
    elsewhere, by a part of it.
    """
    usual = {"description": description, "ge": 0, "le": le, "extra_json_schema": BUDGET}
    meta = limited(**{**usual, **more})
    given: Any = Given(default, meta, budget=own)
    return given  # type: ignore[no-any-return]  # as above


def safeguard(id: str, title: str, protects: tuple[str, ...], **more: Any) -> bool:  # noqa: A002  # its name on the screen
    """Declare a rule of the protocol that can be switched off; a model asks ``self.name``.

    ``more`` are the other fields of ``kit.model.model.Safeguard``, such as ``smallest``.
    """
    with declaring("safeguard", **more):
        check_said(f"safeguard {id}", Safeguard("", id, title, protects, **more))
    given: Any = Given(True, safeguard=lambda name: Safeguard(name, id, title, protects, **more))
    return given  # type: ignore[no-any-return]  # as above


class Judged(Struct, frozen=True):
    """The declaration of a property by a decorator; its method judges."""

    kind: Kind
    invariant: str = ""
    name: str = ""
    title: str = ""
    on: tuple[Act, ...] = ()
    of: Callable[[Any], Any] | None = None
    sign: Callable[[Any], bool] | None = None
    when: Callable[[Any], bool] | None = None


def judged(kind: Kind, invariant: str = "", **more: Any) -> Callable[[T], T]:
    """Declare that a method is a property, whose title is its docstring; one may be several.

    ``invariant`` is that of the requirements (``INV-QI``), ``on`` the actions that a *step*
    property looks at, ``of`` the part of a state that an *always* property looks at, ``when`` says
    whether a model has it at all. In a model of which ``sign(model)`` is true it is one of the
    ``signs``. ``name`` and ``title`` take the place of the method's own.
    """
    if not isinstance(invariant, str):
        raise bare(f"@{kind}", invariant)

    with declaring(f"@{kind}", **more):
        said = Judged(kind, invariant, **more)
    check_said(f"@{kind}", said)

    def mark(check: T) -> T:
        if isinstance(check, type | staticmethod | classmethod) or not hasattr(check, "__dict__"):
            raise BadType(f"@{kind}", check, METHOD)
        vars(check).setdefault("judged", []).append(said)
        return check

    return mark


always, step = partial(judged, "always"), partial(judged, "step")
sometimes, goal = partial(judged, "sometimes"), partial(judged, "goal")
live = partial(judged, "live")


def declared_by(kind: type) -> Iterable[str]:
    """The names that a class and its bases declare, those of the first bases first."""
    return dict.fromkeys(name for each in kind.__mro__[::-1] for name in vars(each))


def judges(model: Model[Any, Any]) -> Iterator[tuple[Property, bool]]:
    """The properties that methods declare, in their order; whether each is a sign."""
    for name in declared_by(type(model)):
        for said in getattr(getattr(type(model), name), "judged", ()):
            if said.when and not said_of(f"when of property {name}", said.when, model):
                continue
            check = getattr(model, name)
            named = said.name or name.replace("_", "-")
            text = (check.__doc__ or "").split("\n\n")[0].rstrip(".")
            title = said.title or text or named.replace("-", " ")
            on = tuple(each.struct for each in said.on)
            prop = Property(named, said.kind, title, check, said.invariant, on, said.of)
            yield prop, bool(said_of(f"sign of property {name}", said.sign, model))


def _ordered(acts: Iterable[Act], first: Sequence[str]) -> list[Act]:
    return sorted(acts, key=lambda act: first.index(act.name) if act.name in first else len(first))


def _annotations(owner: Any) -> dict[str, Any]:
    """The annotations of a class or method, be they text. Raises TypeError for an unknown name."""
    try:
        return get_annotations(owner, eval_str=True)
    except (NameError, SyntaxError, UnicodeError) as error:
        allowed = f"types that are known there ({error}, which an annotation names)"
        raise BadType(owner.__qualname__, "an annotation", allowed) from None


def _check_attribute(cls: type[Declared[Any]], name: str, value: Any) -> None:
    """See that a class says nothing else under a name that every model has. Raises BadType."""
    what, usual = f"{name} of {cls.__name__}", getattr(Declared, name, None)
    if isinstance(value, property | cached_property):  # worked out when it is asked for
        return
    if name in ATTRIBUTES and not fits(value, ATTRIBUTES[name]):
        several = get_origin(ATTRIBUTES[name]) is tuple
        allowed = "a tuple: a method or an action needs another name" if several else ""
        raise BadType(what, value, allowed or spoken_hint(ATTRIBUTES[name]))
    if name == "Parameters" and not (isinstance(value, type) and issubclass(value, Struct)):
        raise BadType(what, value, "a frozen struct of msgspec")
    if isinstance(usual, FunctionType) and not callable(value) and not hasattr(value, "__get__"):
        raise BadType(
            what, value, f"a method: def {name}({', '.join(signature(usual).parameters)})"
        )


def _check_field(what: str, name: str, state: Any) -> None:
    field = name.partition(".")[0]
    if isinstance(state, type) and not hasattr(state, field):
        raise BadInput(what, name, f"a field of {state.__name__}: {field}: int = 0")


def _check_distinct(model: type, what: str, words: Sequence[Any]) -> None:
    """No two actions share a tag, or a saved run could not be read; no two safeguards an id."""
    twice = next((word for at, word in enumerate(words) if word in words[:at]), None)
    if twice is not None:
        raise BadInput(f"{what} of {model.__name__}", twice, f"one {what} for each")


def _check_protected(model: Declared[Any]) -> None:
    """See that safeguards of somebody's own model protect what it promises, if only in some
    configurations. The kit's own may protect what the models promise that they are joined to.
    """
    for owner in (each for each in type(model).__mro__ if not each.__module__.startswith("kit.")):
        for name, each in vars(owner).items():
            if not isinstance(each, Given) or not each.safeguard:
                continue
            promised = _promised(model)
            if lost := [word for word in each.safeguard(name).protects if word not in promised]:
                allowed = ", ".join(promised) or "a promise: it has none"
                raise BadInput(f"what {name} of {owner.__name__} protects", lost[0], allowed)


def _check_costs(model: Declared[Any]) -> None:
    names = ["deadlock", *_promised(model)] if model.costs else []
    for cost in model.costs:
        if cost.property not in names and cost.when(model):
            raise BadInput(f"cost of {model.name}", cost.property, ", ".join(names))


def _promised(model: Declared[Any]) -> list[str]:
    every: tuple[Any, ...] = (*model.properties, *model.signs, *model.monitors)
    promised = {word: None for each in every for word in (each.name, each.invariant) if word}
    for name in declared_by(type(model)):
        for said in getattr(getattr(type(model), name), "judged", ()):
            named = said.name or name.replace("_", "-")
            promised |= dict.fromkeys(filter(None, (named, said.invariant)))
    return [*promised]


class Declared(Model[S, Any]):
    """A model whose class declares parameters, safeguards, actions and properties.

    ``acts`` are its kinds of action by their types, in the order in which they are declared: those
    of a class before those of its bases, the ones that ``first`` names before all others (a model
    may set its own ``first``).
    ``settled(before, after)``, where there is one, has the last word on every step. ``about`` says
    what the parameters mean together.
    """

    Parameters: Any = NoParameters
    about: str = ""
    acts: Mapping[Any, Act] = {}
    first: tuple[str, ...] = ()
    instructions: tuple[Rule[Any, Any], ...] = ()
    settled: Callable[[Any, Any], Any] | None = None
    _given: Mapping[str, tuple[Any, Given]] = {}

    def __init_subclass__(cls) -> None:
        check_body(cls)
        with declaring(f"class {cls.__name__}"):
            cls._take_apart()

    @classmethod
    def _take_apart(cls) -> None:
        own, bases = {**vars(cls)}, cls.__mro__[1:]
        for act in (each for base in cls.__mro__ for each in vars(base).values()):
            if isinstance(act, Act) and act.struct is None:
                act.declare()
        for act in (act for base in bases for act in getattr(base, "acts", {}).values()):
            body = next(vars(each)[act.name] for each in cls.__mro__ if act.name in vars(each))
            if not isinstance(body, Act):  # the action stays, whoever gives it another body
                setattr(cls, act.name, act.with_body(body, cls))
        # An action stands where its first owner declares it, whoever gives it another body.
        names = (name for each in cls.__mro__ for name in vars(each))
        places = {name: place for place, name in enumerate(names)}
        declared = (name for name in places if isinstance(getattr(cls, name, None), Act))
        acts = sorted(declared, key=places.__getitem__)
        for name, each in own.items():
            _check_attribute(cls, name, each)
            inside = getattr(each, "fget", getattr(each, "func", None))
            if isinstance(each, property | cached_property) and hasattr(inside, "judged"):
                raise BadType(f"{name} of {cls.__name__}", f"@{type(each).__name__}", METHOD)
        cls.acts = {act.struct: act for act in _ordered((getattr(cls, n) for n in acts), cls.first)}
        annotated = _annotations(cls)
        mine = {n: (annotated.get(n), each) for n, each in own.items() if isinstance(each, Given)}
        for name, (annotation, each) in mine.items():
            if annotation is None and each.meta:
                allowed = f"its type: {name}: int = …"
                raise BadType(f"{name} of {cls.__name__}", "no annotation", allowed)
        theirs = (vars(base).get("_given", {}) for base in reversed(bases))
        cls._given = reduce(or_, (*theirs, mine), {})
        fields = list[Any]()
        for name, (kind, given) in cls._given.items():
            if given.meta:
                with declaring(f"{name} of {cls.__name__}", type=kind):
                    fields.append((given.field or name, Annotated[kind, given.meta], given.default))
        if fields:
            title = f"{cls.__name__}Parameters"
            limits: Any = {"frozen": True, "forbid_unknown_fields": True}
            with declaring(f"defaults of {title}", **{each[0]: each[2] for each in fields}):
                cls.Parameters = defstruct(title, fields, module=cls.__module__, **limits)
            cls.Parameters.__doc__ = cleandoc(cls.about)
        switches = [
            given.safeguard(name.replace("_", "-"))
            for name, (_, given) in cls._given.items()
            if given.safeguard
        ]
        cls.safeguards = (*(each for each in cls.safeguards if each not in switches), *switches)
        _check_distinct(cls, "tag", [act.struct.__struct_config__.tag for act in cls.acts.values()])
        _check_distinct(cls, "id", [each.id for each in cls.safeguards])
        if cls.acts:
            cls.Action = reduce(or_, cls.acts)
            faults = (act.kind for act in cls.acts.values() if act.said.fault)
            cls.faults = tuple(dict.fromkeys((*cls.faults, *faults)))

    def __init__(self, parameters: Any = None, off: Collection[str] = (), **given: Any) -> None:
        """A model with the safeguards ``off`` switched off; parameters as one struct or by name.

        Raises BadInput for a parameter out of its limits, an unknown one, or an unknown safeguard.
        """
        is_ours = type(self).__module__.startswith("kit.")
        with declaring(f"model {type(self).__name__}"), nullcontext() if is_ours else attended():
            self._begin(parameters, off, given)

    def _begin(self, parameters: Any, off: Collection[str], given: Mapping[str, Any]) -> None:
        fields = [each.field or name for name, (_, each) in self._given.items() if each.meta]
        if parameters is not None and not all(hasattr(parameters, each) for each in fields):
            raise BadType("parameters", parameters, f"{type(self).__name__}(name=value, …)")
        if isinstance(off, str) or not isinstance(off, Collection):
            raise BadType("off", off, 'a tuple of names, such as ("compares",)')
        for needed in ("name", "title", "State"):
            if not hasattr(self, needed):
                allowed = "a name, a title and a State, as each model has them"
                raise BadInput(f"{needed} of {type(self).__name__}", "nothing", allowed)
        known = self.Parameters.__struct_fields__
        for name in given:
            if name not in known:
                raise BadInput("parameter", name, ", ".join(known) or "none: it takes none")
        self.parameters, self.off = parameters or self.Parameters(**given), tuple(off)
        self._check_types()
        check_limits(self.parameters)
        for name, (_, each) in self._given.items():
            if each.meta:
                setattr(self, name, getattr(self.parameters, each.field or name))
        switches = [each.name for each in self.safeguards]
        for name in off:
            if name not in switches:
                raise BadInput(
                    "safeguard", name, ", ".join(switches) or f"none: {self.name} has none"
                )
        vars(self).update({name.replace("-", "_"): name not in off for name in switches})
        self.set_up()
        present = (
            act
            for act in self.acts.values()
            if not act.said.when or said_of(f"when of action {act.name}", act.said.when, self)
        )
        acts = _ordered(present, self.first)
        self.rules = tuple(act.bind(self) for act in acts)
        self.instructions = tuple(
            act.without_budget().bind(self) for act in acts if act.said.instructed
        )
        judged = [*self._judges()]
        self.properties = (*self.properties, *(prop for prop, is_sign in judged if not is_sign))
        self.signs = (*self.signs, *(prop for prop, is_sign in judged if is_sign))
        _check_protected(self)
        _check_costs(self)

    def _check_types(self) -> None:
        """See that parameters are of their types. Raises BadInput naming one that is not."""
        for name, (kind, each) in self._given.items():
            if not each.meta or get_origin(kind) is Literal:  # of these there are choices
                continue
            field = each.field or name
            value = getattr(self.parameters, field)
            if kind in (int, bool, str):
                if not fits(value, kind):
                    raise BadInput(field, value, spoken_hint(kind))
                continue
            try:
                convert(value, Annotated[kind, each.meta], strict=True)
            except ValidationError as error:
                wrong = misfit(field, value, error, f"as {self.name} takes it")
                allowed = wrong.allowed.replace("a list", "a tuple")
                raise BadInput(wrong.field, wrong.value, allowed) from None
            except TypeError:  # it does not fit its limits, as is said of them
                continue
            if isinstance(value, list) or value != value:  # noqa: PLR0124  # not a number
                raise BadInput(field, value, "a value that never changes and equals itself")

    _judges = judges

    def set_up(self) -> None:
        """Work out what follows from the parameters; raise BadInput for what no single one says."""

    def start(self) -> S:
        """The state that all defaults make, with its budgets.

        Raises BadInput for a budget that the state has no field for.
        """
        budgets = [name for name, (_, given) in self._given.items() if given.budget]
        for name in budgets:
            _check_field(f"budget of {self.name}", name, self.State)
        return self.State(**{name: getattr(self, name) for name in budgets})

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """What the templates of all actions may name besides their parameters and both states."""
        return {}

    def called(self, place: str) -> str:
        """How the text of what travels names a place."""
        return place

    def spot(self, place: str) -> str:
        """The key of a place in the picture."""
        return spot(place)

    def verb(self, action: Any) -> str:
        """The action as a line of a scenario file."""
        act = self.acts[type(action)]
        return act.filled(resolved(act.verb, self, action), act.words(self, None, action, None))

    def label(self, s: S, action: Any) -> str:
        """The text of the action's button: its verb, unless it says more."""
        act = self.acts[type(action)]
        if not act.said.label:
            return self.verb(action)
        said = resolved(act.said.label, self, s, action)
        return act.filled(said, act.words(self, None, action, None))

    def describe(self, before: S, action: Any, after: S) -> str:
        """The effect of the step, in a sentence; its verb where the action has none."""
        act = self.acts[type(action)]
        if not act.says:
            return self.verb(action)
        said = resolved(act.says, self, before, action, after)
        return act.filled(said, act.words(self, before, action, after))

    def things(self, action: Any) -> tuple[str, ...]:
        """The names of its parameters' values."""
        values = zip(astuple(action), self.acts[type(action)].domains, strict=True)
        return tuple(each.shown(value) for value, each in values if each)

    def actor_of(self, s: S, action: Any) -> str:
        """The actor that its declaration names, or that it is given."""
        act = self.acts.get(type(action))
        by = resolved(act.said.by, self, s, action) if act else ""
        return by or super().actor_of(s, action)

    def hand(self, s: S, action: Any) -> Gesture | None:
        """The gesture that its declaration gives."""
        act = self.acts.get(type(action))
        return act.said.hand(self, s, action) if act and act.said.hand else None

    def why(self, action: Any) -> str:
        """The purpose of the step, in a sentence; empty where its action does not say."""
        return self.acts[type(action)].why

    def why_not(self, s: S, action: Any) -> Refusal | None:
        """Why an action may not happen in ``s``, be it one that nobody would think of there."""
        rule = self.rule_of(action)
        end = rule.outcome(s, rule.given(action)) if rule else None
        return end if isinstance(end, Refusal) else None

    def suggest(self, s: S) -> Any | None:
        """The first action that somebody asks for."""
        saids = ((each, self.acts[type(each)].said) for each in self.actions(s))
        return next((each for each, said in saids if not (said.unasked or said.fault)), None)

    def relied(self, s: S, action: Any) -> bool:
        """Whether progress may rely on a step."""
        relied: bool = resolved(self.acts[type(action)].relied, self, s, action)
        return relied

    def pace(self, s: S, action: Any) -> Pace:
        """Whether a step has to happen, and how soon."""
        pace: Pace = resolved(self.acts[type(action)].said.pace, self, s, action)
        return pace

    def helped(self, s: S) -> Iterator[tuple[Any, S]]:
        """What an operator is told to do, beyond any budget, with the state that it leads to."""
        for rule in self.instructions:
            yield from rule.ready(s)

    def told_why(self, s: S) -> str:
        """Why an operator is told to do something, in a clause; empty where nobody is."""
        first = next(self.helped(s), None)
        return self.acts[type(first[0])].said.instructed if first else ""

    @cached_property
    def flow_table(self) -> Mapping[type, Travels]:
        """The flows of each kind of action that the model has, as they declare them."""
        present = {rule.action for rule in self.rules}
        return {k: a.flows for k, a in self.acts.items() if a.said.travels and k in present}

    @classmethod
    def server_log(cls) -> ServerLog:
        """The lines that servers write, as the actions declare them."""
        return ServerLog(lambda m, before, a, after: cls.acts[type(a)].lines(m, before, a, after))


ATTRIBUTES = {name: hint for name, hint in get_type_hints(Declared).items() if name != "State"}
"""What the body of a class may say of these."""


class NodeModel(Declared[S]):
    """A model of nodes that have places: ``names`` are theirs, a mask has a bit for each place."""

    names: tuple[str, ...]

    def number(self, name: str) -> int:
        """The place of a node.

        Raises:
            BadInput: when no node has the name.
        """
        if name not in self.index:
            raise BadInput("node", name, "one of " + ", ".join(self.names))
        return self.index[name]

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each node by its name."""
        return {name: place for place, name in enumerate(self.names)}

    def named(self, mask: int) -> tuple[str, ...]:
        """The names of the nodes in a mask."""
        return chosen(self.names, mask)

    def mask(self, names: Iterable[str]) -> int:
        """The mask of nodes by their names."""
        return sum(1 << self.number(name) for name in names)

    def too_few(self, reason: str, there: int, *groups: int, fact: str = "") -> Refusal:
        """Why an action waits for a majority of each group, of whom only those ``there`` have come
        (masks), and a fact behind it.
        """
        return _too_few(self.names, reason, there, groups, fact)


@lru_cache(4096)
def _too_few(
    names: tuple[str, ...], reason: str, there: int, groups: tuple[int, ...], fact: str
) -> Refusal:
    counts = (
        Awaited("", majority(g.bit_count()), (g & there).bit_count(), chosen(names, g))
        for g in groups
    )
    awaited = tuple(sorted(counts, key=lambda count: count.done >= count.needed))
    lacking = chosen(names, reduce(or_, groups) & ~there)
    return Refusal(reason, (fact,) if fact else (), lacking, awaited)


Node = Annotated[int, Each(lambda m: m.names, by_place=True)]
"""A parameter of an action of a ``NodeModel``: a place for the method, a name in the action."""


def entry(model: type[Declared[Any]], **more: Any) -> Entry:
    """A declared model in the registry; ``more`` are the other fields of an ``Entry``."""
    if not fits(model, type) or not issubclass(model, Declared):
        raise BadType("entry", model, "a class of models: class Mine(Declared[MyState])")
    with declaring(f"entry of {model.__name__}", **more):
        return entry_by(model, safeguards=model.safeguards, **more)
