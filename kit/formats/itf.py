"""Runs in the Informal Trace Format, which Apalache and Quint write, and as TLC prints them.

The format is JSON: the names of variables, and for each state their values (Apalache, ADR-015).
What JSON lacks has a key of its own: ``{"#bigint": "…"}``, ``{"#tup": […]}``, ``{"#set": […]}``,
``{"#map": [[key, value], …]}``. A text is read as data and never evaluated.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, field

from kit.edge.arguments import text as checked_text
from kit.edge.arguments import whole_number
from kit.edge.json_text import fitting, located, parse_json, to_json
from kit.errors import BadInput, nearest

MOST_STATES, MOST_DIGITS, LONGEST_TEXT = 10_000, 1_000, 10_000
LARGEST = 2**53 - 1  # of whole numbers that every reader of JSON understands
META, OF_TESTS = "#meta", "mbt::"
"""The key for what tools add; how the variables begin that Quint adds for tests of models."""
PICKS = f"{OF_TESTS}nondetPicks"
ACTIONS = (f"{OF_TESTS}actionTaken", "action_taken", "actionTaken", "_action", "action")
"""Variables that name the action which led to a state; the first that is there is read."""
BIG, TUPLE, SET, MAP, UNSERIALIZABLE = "#bigint", "#tup", "#set", "#map", "#unserializable"
T = TypeVar("T")
DIGITS = re.compile(r"-?[0-9]+")
VARIANT = ["tag", "value"]  # the fields of what Quint writes for a variant of a type


class ItfTrace(Struct, frozen=True):
    """A recorded run: for each state its variables in plain data, and what led to it.

    Equal values are equal data. ``names`` are those of actions, empty where nobody says. The state
    at ``loop`` follows the last one. ``source`` names what the run is of.
    """

    states: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    loop: int | None = None
    source: str = ""


def plain(value: Any) -> Any:
    """A value of a state as the format writes it; None is the variant of Quint's options."""
    if value is None:
        return {"tag": "None", "value": {TUPLE: []}}
    if isinstance(value, int) and abs(value) > LARGEST:
        return {BIG: str(value)}
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, set | frozenset):
        return {SET: sorted(map(plain, value), key=order)}
    if isinstance(value, Mapping):
        return {MAP: [[plain(key), plain(each)] for key, each in value.items()]}
    if isinstance(value, Struct):
        config = value.__struct_config__
        tag = {config.tag_field: plain(config.tag)} if config.tag_field else {}
        given = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return tag | {name: plain(each) for name, each in given if each is not UNSET}
    if isinstance(value, Iterable) and not isinstance(value, bytes):  # tuples, logs
        return {TUPLE: [*map(plain, value)]}
    return {UNSERIALIZABLE: str(value)}


def members(value: Any) -> dict[str, Any]:
    """What a map or a record holds, by what people read its keys as; of any other value nothing."""
    if isinstance(value, dict) and MAP in value:
        return {words(key): each for key, each in value[MAP]}
    is_record = isinstance(value, dict) and [*value] != VARIANT and not {*value} & {*READ}
    return value if is_record else {}


def words(value: Any) -> str:
    """A value as a person reads it: ``{a, b}``, ``[1, 2]``, ``(1, a)``, ``{a → 1}``, ``{x: 1}``."""
    if isinstance(value, list):
        return f"[{', '.join(map(words, value))}]"
    if not isinstance(value, dict):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if [*value] == VARIANT:
        tag, inner = words(value["tag"]), value["value"]
        return tag if inner in ({TUPLE: []}, {}) else f"{tag}({words(inner)})"
    if value.keys() & {BIG, UNSERIALIZABLE}:
        return str(*value.values())
    if TUPLE in value:
        return f"({', '.join(map(words, value[TUPLE]))})"
    if SET in value:
        return f"{{{', '.join(map(words, value[SET]))}}}"
    pairs, sign = (value[MAP], " → ") if MAP in value else (value.items(), ": ")
    return f"{{{', '.join(words(key) + sign + words(each) for key, each in pairs)}}}"


def order(value: Any) -> str:
    """The key that values are sorted by, numbers within names as numbers: ``n2`` before ``n10``."""
    return re.sub(r"\d+", lambda digits: f"{len(digits[0]):05}{digits[0]}", to_json(value))


# -- reading ---------------------------------------------------------------------------------------


def is_itf(text: str) -> bool:
    """Whether a text, or its beginning, looks like a trace of this format."""
    named = '"vars"' in text or f'"{META}"' in text
    return text.lstrip().startswith("{") and named and '"states"' in text


Names = list[Annotated[str, Meta(max_length=200, pattern=r"^[\w:.!$-]+\Z")]]


class ItfFile(Struct, forbid_unknown_fields=True):
    """The content of a file of the format."""

    vars: Names
    states: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=MOST_STATES)]
    meta: Any = field(default_factory=dict, name=META)
    params: Names = field(default_factory=list)
    loop: int | None = None


def parse(text: str, name: str = "trace") -> ItfTrace:
    """A trace from a text of the format, or from what TLC prints; strictly.

    Raises BadInput with field, value and what is allowed for the first thing that is wrong.
    """
    if is_tlc(text):
        return _trace(_printed(text))
    whole = parse_json(text, name, "a trace in ITF, or an error trace printed by TLC")
    try:
        return _trace(whole)
    except BadInput as error:
        raise located(error, text) from None


def _trace(whole: Any) -> ItfTrace:
    file: ItfFile = fitting(whole, ItfFile, "trace", "as in an ITF trace")
    every = [*file.params, *file.vars]
    shown = [name for name in dict.fromkeys(every) if not name.startswith(OF_TESTS)]
    for name in shown:
        if every.count(name) > 1:  # Quint names its own variables twice
            raise BadInput("vars", name, "each name once")
    if file.loop is not None:
        whole_number("loop", file.loop, most=len(file.states) - 1)
    states: list[dict[str, Any]] = []
    names = []
    for number, state in enumerate(file.states):
        place = f"states[{number}]"
        read = {name: states[-1][name] for name in file.params} if states else {}
        for key, value in state.items():
            if not key.startswith(OF_TESTS) and key not in (META, *shown):
                raise BadInput(place, key, f"one of {[*shown[:20], META]}{nearest(key, shown)}")
            if key != META:
                read[key] = _value(f"{place}.{key}", value)
        if missing := [name for name in shown if name not in read]:
            raise BadInput(place, [*state], f"a value for each variable; {missing[0]} has none")
        names.append(_action(read, _kind(dict, f"{place}.{META}", state.get(META, {}))))
        states.append({name: read[name] for name in shown})
    source = _line(_kind(dict, META, file.meta).get("source"))
    return ItfTrace(tuple(states), tuple(names), file.loop, source)


def _value(field: str, value: Any) -> Any:
    """A value in one form of all that mean the same. Raises BadInput for what is none."""
    if isinstance(value, list):
        return [_value(f"{field}[{at}]", each) for at, each in enumerate(value)]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise BadInput(field, value, f"a string of at most {LONGEST_TEXT:,} characters")
    if type(value) is int and abs(value) > LARGEST:
        raise BadInput(field, value, f"at most {LARGEST}; larger numbers as {BIG}")
    if not isinstance(value, str | int | dict):
        raise BadInput(field, value, "a string, a whole number, true, false, a list or an object")
    if not isinstance(value, dict):
        return value
    mark = next((key for key in value if key.startswith("#")), None)
    if mark is None:
        return {name: _value(f"{field}.{name}", value[name]) for name in sorted(value)}
    if mark not in READ or len(value) > 1:
        raise BadInput(field, [*value], f"one of {', '.join(READ)} alone, or names without #")
    return READ[mark](f"{field}.{mark}", mark, value[mark])


def _kind(kind: type[T], field: str, value: Any) -> T:
    if not isinstance(value, kind):
        raise BadInput(field, value, "a list" if kind is list else "an object")
    return value


def _bigint(field: str, mark: str, held: Any) -> Any:
    if not isinstance(held, str) or not DIGITS.fullmatch(held) or len(held) > MOST_DIGITS:
        raise BadInput(field, held, f"a whole number as a string of at most {MOST_DIGITS} digits")
    return plain(int(held))


def _collected(field: str, mark: str, held: Any) -> Any:
    known: dict[str, Any] = {}
    for number, each in enumerate(_value(field, _kind(list, field, held))):
        place = f"{field}[{number}]"
        if mark == MAP and len(_kind(list, place, each)) != len(("key", "value")):
            raise BadInput(place, each, "a list of two: a key and its value")
        if (key := order(each[0] if mark == MAP else each)) in known:
            raise BadInput(place, each, f"each {'key' if mark == MAP else 'member'} once")
        known[key] = each
    return {mark: [known[key] for key in sorted(known)]}


READ: Mapping[str, Callable[[str, str, Any], Any]] = {
    BIG: _bigint,
    TUPLE: lambda field, mark, held: {mark: _value(field, _kind(list, field, held))},
    SET: _collected,
    MAP: _collected,
    UNSERIALIZABLE: lambda field, mark, held: {mark: checked_text(field, held, LONGEST_TEXT)},
}
"""What reads the value of each key that begins with a #."""


def _line(said: Any) -> str:
    return said[:100] if isinstance(said, str) and said.isprintable() else ""


def _action(read: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    said = next((read[name] for name in ACTIONS if name in read), meta.get("action"))
    if isinstance(said, dict):
        said = next((said[name] for name in ("tag", "name", "type") if name in said), "")
    picks = {name: each for name, each in members(read.get(PICKS)).items() if each != plain(None)}
    values = ((name, _picked(each)) for name, each in picks.items())
    chosen = _line(", ".join(f"{name} = {words(each)}" for name, each in values))
    return f"{_line(said)} ({chosen})" if chosen and _line(said) else _line(said)


def _picked(value: Any) -> Any:
    is_option = isinstance(value, dict) and [*value] == VARIANT
    return value["value"] if is_option else value


# -- what TLC prints -------------------------------------------------------------------------------

HEAD = re.compile(r"^(?:State )?(\d{1,9}): (?:<(.*)>|Stuttering)[ \t]*(?:\n|\Z)", re.MULTILINE)
BACK = re.compile(r"^Back to state:? (\d{1,9})\b", re.MULTILINE)
END = re.compile(r"\n[ \t]*\n|\n@!@!@|\nBack to state")
FIRST = "Initial predicate"
WHERE = re.compile(r" line \d+, col \d+.*| of module .*")
INTERVAL = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_SIGN = r'/\\|\|->|:>|@@|<<|>>|-?\d+|"(?:[^"\\\n]|\\.)*"|[^\W\d][\w!]*|\S'
TOKEN = re.compile(f"{INTERVAL.pattern}|{_SIGN}")
TLA = r"{ } << >> [ ] ( ) :> @@ |-> , /\ = TRUE FALSE"
JSON = '{"#set":[ ]} [ ] { } {"#map":[[ ]]} , ],[ : , , : true false'
SIGNS = dict(zip(TLA.split(), JSON.split(), strict=True))
"""What each sign of TLA+ is in JSON."""


def is_tlc(text: str) -> bool:
    """Whether a text, or its beginning, has an error trace as TLC prints it."""
    return any(head[2] == FIRST for head in HEAD.finditer(text))


def _printed(text: str) -> dict[str, Any]:
    text, states = text.replace("\r\n", "\n"), []
    loop = int(back[1]) - 1 if (back := BACK.search(text)) else None
    stutters = False
    for number, head in zip(count(1), HEAD.finditer(text)):
        place = f"State {number}"
        if int(head[1]) != number or stutters:
            raise BadInput(place, head[0], f"{place}: one trace, its states in order")
        stutters = head[2] is None
        if stutters:
            loop = number - 2  # the state before is kept for ever
            continue
        end = END.search(text, head.end())
        block = text[head.end() : end.start() if end else len(text)].strip()
        form = "variables and their values, as printed by TLC"
        try:
            said = TOKEN.sub(_in_json, block).strip().removeprefix(",")
            state = parse_json(f"{{{said}}}", place, form)
        except BadInput as error:
            if form not in error.allowed:
                raise
            raise BadInput(place, block, form) from None  # what stands there, not what became of it
        action = "" if head[2] == FIRST else WHERE.sub("", head[2])
        states.append({META: {"action": action}, **state})  # type: ignore[dict-item]  # an object
    variables = [name for name in states[0] if name != META] if states else []
    return {"vars": variables, "states": states, "loop": loop}


def _in_json(sign: re.Match[str]) -> str:
    """A sign, number, interval, text or name of TLA+ in JSON; anything else is no JSON either."""
    token = sign[0]
    if between := INTERVAL.fullmatch(token):
        numbers = range(int(between[1]), int(between[2]) + 1)
        return to_json({SET: [*numbers]}) if len(numbers) <= MOST_STATES else "?"
    if token.startswith('"') and len(token) > 1:
        return to_json(re.sub(r"\\(.)", r"\1", token[1:-1]))
    if DIGITS.fullmatch(token):
        return f'{{"{BIG}":"{token}"}}'
    is_name = token.replace("!", "_").isidentifier()
    return SIGNS.get(token) or (to_json(token) if is_name else "?")
