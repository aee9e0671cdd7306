"""The models by name: what they are called, what they take, which scenarios come with them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from operator import index
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from kit.edge.arguments import checked
from kit.edge.json_text import fitting
from kit.errors import BadInput, first_of, misfit, shorten
from kit.model.family import families, model_places
from kit.model.model import Model, Refinement, Safeguard, TransitionRows, rule_rows
from kit.model.parameters import Parameter, dotted, is_within, parameters_of, written

MOST_NAMED = 40
LONGEST_WORD = 200  # characters that are compared with known names
Output = Callable[[Any, Any, str], str]
E = TypeVar("E", bound=str)


class Scenario(Struct, frozen=True):
    """A configuration worth seeing: a name, a sentence on why, parameters and a script.

    ``script`` holds verbs in order; they take the place of the model's own suggestions. An empty
    script leaves those as they are.
    """

    name: str
    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    script: tuple[str, ...] = ()


class Diagram(Struct, frozen=True):
    """A state diagram as data: (state, event, next state) rows of a model's own table."""

    name: str
    title: str
    transitions: tuple[tuple[str, str, str], ...]


class Fuzzing(Struct, frozen=True):
    """The parameters and weights of random walks over a model, unless one says otherwise.

    ``parameters`` give all its rules something to do, faults included; ``weights`` are by kind of
    action (1 where none is given), so that faults are rare enough to meet something under way.
    ``comes_to_goals`` is False where somebody may undo for ever what was done: then a goal is
    judged by searches alone, which say that it stays within reach.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    comes_to_goals: bool = True


class Entry(Struct, frozen=True, kw_only=True):
    """A model in the registry. ``build(parameters, off)`` makes it.

    ``scenario_output`` is what a scenario file may show of a moment, by name: a function of the
    model, the state and the words behind the name, which returns lines of text. ``rows`` are the
    transitions of a model's tables, for coverage, where there are more of them than rules;
    ``fuzzing`` is what its random walks start from. ``refinement`` says what the model refines,
    ``compared`` in which configuration that is searched where nobody names one.
    """

    name: str
    title: str
    parameters: type[Struct]
    build: Callable[[Any, tuple[str, ...]], Model[Any, Any]]
    safeguards: tuple[Safeguard, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    diagrams: tuple[Diagram, ...] = ()
    scenario_output: Mapping[str, Output] = field(default_factory=dict)
    rows: Callable[[Any], TransitionRows] | None = None
    fuzzing: Fuzzing = Fuzzing()
    refinement: Callable[[Any], Refinement] | None = None
    compared: Mapping[str, Any] = field(default_factory=dict)


_ENTRIES: dict[str, Entry] = {}


@checked
def register(entry: Entry) -> None:
    """Add a model (a student's own, say); a later one of the same name takes its place."""
    _ENTRIES[entry.name] = entry


def model_names() -> tuple[str, ...]:
    """The names of all registered models, the kit's own first; none is loaded for it."""
    return tuple(dict.fromkeys([*model_places(), *_ENTRIES]))


def entries() -> dict[str, Entry]:
    """Every registered model, by name: the kit's own first, whatever was loaded first."""
    return {name: entry_of(name) for name in model_names()}


@checked
def entry_of(name: str) -> Entry:
    """The entry of one model. Raises BadInput for an unknown name, with the nearest ones."""
    known = model_places()
    if name not in _ENTRIES and name in known:
        family, place = known[name]
        register(family.load(place))
    if name not in _ENTRIES:
        raise BadInput("model", name, one_of(name, list(model_names())))
    return _ENTRIES[name]


@checked
def registered(model: Model[Any, Any]) -> Entry | None:
    """The entry that a model is made by, or the model that it goes on from.

    None for another one, also where it has the same name.
    """
    if model.name not in model_names():
        return None
    entry = entry_of(model.name)
    goes_on = isinstance(entry.build, type) and isinstance(model, entry.build)
    return entry if goes_on or isinstance(model.parameters, entry.parameters) else None


@checked
def entry_for(model: Model[Any, Any]) -> Entry | None:
    """The same, or one as it would be registered, of a declared model; None for any other."""
    own: Any = getattr(type(model), "Parameters", None)
    if (known := registered(model)) or not (isinstance(own, type) and issubclass(own, Struct)):
        return known
    return entry_by(type(model), safeguards=model.safeguards)


@checked
def entry_by(kind: Any, **more: Any) -> Entry:
    """The entry of a class of models, which declares its parameters: else BadInput."""
    if not isinstance(own := getattr(kind, "Parameters", None), type):
        raise BadInput("kind", kind, "a class of models that declares its parameters")
    return Entry(name=kind.name, title=kind.title, parameters=own, build=kind, **more)


@checked
def made_again(
    model: Model[Any, Any], parameters: Mapping[str, Any], off: tuple[str, ...]
) -> Model[Any, Any]:
    """A model with other plain parameters, and with other safeguards off.

    Raises BadInput for an unknown one, and for a model that nobody knows how to make.
    """
    if (entry := entry_for(model)) is None:
        raise BadInput("model", model.name, "a model whose class declares its parameters")
    return _built(entry, parameters, off)


@checked
def build(
    name: str, parameters: Mapping[str, Any] | None = None, off: tuple[str, ...] = ()
) -> Model[Any, Any]:
    """A model by name. Raises BadInput for an unknown name, or a value out of its limits."""
    return _built(entry_of(name), parameters or {}, off)


def _built(entry: Entry, parameters: Mapping[str, Any], off: tuple[str, ...]) -> Model[Any, Any]:
    return entry.build(convert(entry, dict(parameters)), safeguards_off(entry, off))


@checked
def convert(entry: Entry, given: Mapping[str, Any]) -> Any:
    """The parameters of ``entry`` from plain values (or the structs they describe), strictly.

    What lies within a parameter is given by its name alone (``rf``), by its path (``cluster.rf``),
    or together with its neighbours (``cluster``); what is not given there stays as it usually is.

    Raises BadInput naming the first parameter that is unknown or of a wrong type, or is missing.
    """
    plain: dict[str, Any] = {}
    for name, value in given.items():
        place = _place(entry.parameters, name)
        if place in plain:
            raise BadInput("parameter", name, f"{place} once, by one of its names")
        try:
            plain[place] = msgspec.to_builtins(value, enc_hook=index)  # numbers of numpy
        except (TypeError, ValueError, RecursionError):
            raise BadInput(name, value, "plain data") from None
        for parameter in parameters_of(entry.parameters):
            word = str(plain[place]) if isinstance(plain[place], float) else None
            if dotted(parameter.path) == place and word in parameter.choices:
                plain[place] = word  # 2025.1, which JSON takes for a number
            _check(entry, parameter, name, place, plain[place])
    usual = {each.name: each.default for each in msgspec.structs.fields(entry.parameters)}
    whole = {name: _filled(usual.get(name), value) for name, value in nested(plain).items()}
    try:
        return msgspec.convert(whole, entry.parameters, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise misfit("parameters", whole, error, f"as {entry.name} takes them") from None


@checked
def as_written(entry: Entry, given: Mapping[str, str]) -> dict[str, Any]:
    """Parameters that somebody wrote as text, by the same names: each read as its type says.

    Raises BadInput for JSON that says something twice.
    """
    every = parameters_of(entry.parameters)
    kinds = {name: each.type for each in every for name in (each.name, dotted(each.path))}
    return {name: written(name, text, kinds.get(name)) for name, text in given.items()}


def _place(own: type[Struct], name: str) -> str:
    """The path of a parameter; whoever gives it may say its name alone.

    Raises BadInput for an unknown name, with the nearest ones.
    """
    if name.partition(".")[0] in own.__struct_fields__:
        return name
    paths = {each.name: dotted(each.path) for each in parameters_of(own)}
    check_one_of("parameter", name, paths)
    return paths[name]


def _check(entry: Entry, parameter: Parameter, name: str, place: str, plain: Any) -> None:
    path = dotted(parameter.path)
    if path != place:
        inside = path.removeprefix(f"{place}.")
        if inside == path or not isinstance(plain, dict) or inside not in plain:
            return
        name, plain = f"{name}.{inside}", plain[inside]
    try:
        msgspec.convert(plain, parameter.annotation, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        if parameter.choices:
            raise BadInput(name, plain, one_of(plain, list(map(str, parameter.choices)))) from None
        if not is_within(parameter, plain):
            raise BadInput(name, plain, parameter.allowed) from None
        as_taken = f"as {entry.name} takes it"
        if isinstance(parameter.usual, tuple) and parameter.usual:
            written = msgspec.json.encode(parameter.usual, enc_hook=str).decode()
            as_taken = f"{as_taken}, such as {parameter.name}={written}"
        raise misfit(name, plain, error, parameter.allowed or as_taken) from None


def _filled(usual: Any, plain: Any) -> Any:
    """What is given of a parameter, within what that usually is."""
    if not isinstance(usual, Struct) or not isinstance(plain, dict):
        return plain
    inner = {name: _filled(getattr(usual, name, None), each) for name, each in plain.items()}
    return {**msgspec.to_builtins(usual), **inner}


@checked
def nested(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters, each name with dots as a field within the parameter before its dot.

    Raises BadInput when what stands before a dot is given as something without fields.
    """
    whole = {name: value for name, value in given.items() if "." not in name}
    for name, value in given.items():
        outer, dot, inner = name.partition(".")
        if dot:
            fields = msgspec.to_builtins(whole.get(outer, {}), enc_hook=index)
            if not isinstance(fields, dict):
                raise BadInput(outer, fields, f"its fields by name, for {name}")
            whole[outer] = nested({**fields, inner: value})
    return whole


@checked
def output_of(model: str) -> Mapping[str, Output]:
    """The outputs that a scenario file may show, by name: its entry's, or its family's."""
    for family in families():
        if model in family.scenario_output:
            output: Mapping[str, Output] = family.load(family.scenario_output[model])
            return output
    return entry_of(model).scenario_output


@checked
def rows_of(model: Model[Any, Any]) -> TransitionRows:
    """The transitions of a model's tables: as its entry tells them, else one per rule."""
    entry = registered(model)
    return rule_rows(model) if entry is None or entry.rows is None else entry.rows(model)


@checked
def fuzzing_of(model: Model[Any, Any]) -> Fuzzing:
    """The settings of random walks over a model, as its entry gives them."""
    entry = registered(model)
    return Fuzzing() if entry is None else entry.fuzzing


@checked
def safeguards_off(entry: Entry, off: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the safeguards to switch off, given as names or ids.

    Raises BadInput for an unknown one, with the nearest names.
    """
    by_word = {
        word: safeguard.name
        for safeguard in entry.safeguards
        for word in (safeguard.name, safeguard.id)
    }
    for word in off:
        check_one_of("safeguard", word, by_word)
    return tuple(sorted({by_word[word] for word in off}))


@checked
def scenario_of(name: str) -> tuple[Entry, Scenario]:
    """A scenario of any model, by name: ``model/scenario``, or bare.

    Of several with the same bare name, the first in the order of ``entries`` is meant.

    Raises BadInput for an unknown name, with the nearest ones.
    """
    named = next(_scenarios_named(name), None)
    if named is not None:
        return named
    pairs = [(entry, scenario) for entry in entries().values() for scenario in entry.scenarios]
    full = {f"{entry.name}/{scenario.name}": scenario for entry, scenario in pairs}
    bare = {scenario.name: scenario for _, scenario in reversed(pairs)}
    # Each is named once, the way in which it was asked for: in full when that says its model.
    hidden = [text for text, each in full.items() if bare[each.name] is not each]
    raise BadInput("scenario", name, one_of(name, list(full if "/" in name else [*bare, *hidden])))


def _scenarios_named(name: str) -> Iterator[tuple[Entry, Scenario]]:
    model, _, bare = name.rpartition("/")
    for entry in (entry_of(name) for name in model_names() if model in ("", name)):
        yield from ((entry, each) for each in entry.scenarios if each.name == bare)


@checked
def edition_of(given: object, editions: tuple[E, ...], name: str = "edition") -> E:
    """One of a protocol's editions, by its name.

    Raises BadInput for any other word; ``name`` says where it was given.
    """
    known = {str(edition): edition for edition in editions}
    if not isinstance(given, str) or given not in known:
        raise BadInput(name, given, one_of(given, list(known)))
    return known[given]


@checked
def one_of(word: object, allowed: list[str]) -> str:
    """The allowed names, the nearest first; a long list is cut."""
    given = word if isinstance(word, str) else shorten(word)
    same = [name for name in allowed if name.casefold() == given.casefold()]
    near = [*same, *get_close_matches(given[:LONGEST_WORD], allowed, n=3)]
    names = list(dict.fromkeys([*near, *sorted(allowed)]))
    return f"one of {first_of(names, MOST_NAMED)}" if names else "none: there are none"


@checked
def check_one_of(field: str, value: object, allowed: Collection[str]) -> None:
    """Raises BadInput, naming the nearest that is ``allowed``, for a value that is not."""
    if value not in allowed:
        raise BadInput(field, value, one_of(value, list(allowed)))


Bounds = TypeVar("Bounds", bound=Struct)


@checked
def bounds_of(kind: type[Bounds], field: str, given: Mapping[str, Any], allowed: str) -> Bounds:
    """The struct of these fields; ``allowed`` says in words what they may be.

    Raises BadInput for an unknown field, or a value of another type or out of its limits.
    """
    known = list(kind.__struct_fields__)
    for name in given:
        check_one_of(field, name, known)
    bounds: Bounds = fitting(dict(given), kind, field, allowed)
    return bounds
