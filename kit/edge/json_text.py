"""JSON: read strictly (each key once, integers of 64 bits, a bounded depth), written in ASCII."""

import json
import re
from typing import Any, NoReturn

import msgspec

from kit.edge.limits import check_room
from kit.edge.reading import text_of
from kit.errors import BadInput, misfit

LONGEST_INTEGER = 20  # characters of a signed 64-bit integer
DEEPEST = 64
MOST_VALUES = 2**24
MOST_DECODED = 1 << 26  # characters
BYTES = {"{": 240, "[": 60, ",": 48, '"': 32}
"""What Python takes for each sign of a text: an object, a list, a value in it, half a string."""
SMALL = 1 << 20  # bytes; there is always room for so much, and to look takes longer than to read
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_DECODER = json.JSONDecoder()
_NOT_BLANK = re.compile(r"[^ \t\n\r]")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"\s*:?|[{}\[\]]', re.DOTALL)


def to_json(value: Any, indent: int = -1) -> str:
    """A value as JSON in ASCII, so that any terminal prints it, and names that are no UTF-8 fit.

    It is on one line, or indented by so many blanks.
    """
    try:
        content = msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair, as of a file name that is no UTF-8
        plain, marks = msgspec.to_builtins(value, str_keys=True), (",", ":" if indent < 0 else ": ")
        return json.dumps(plain, indent=indent if indent >= 0 else None, separators=marks)
    text = (content if indent < 0 else msgspec.json.format(content, indent=indent)).decode()
    return BEYOND_ASCII.sub(lambda part: json.dumps(part[0])[1:-1], text)


def parse_json(
    text: str, field: str, form: str = "JSON text", longest: int = LONGEST_INTEGER
) -> object:
    """The value of a JSON text; ``field`` names the whole text in messages, ``form`` what it is.

    Integers have at most ``longest`` characters.

    Raises BadInput for malformed or deeply nested text, a key that occurs twice, too long an
    integer, NaN or an infinity, with the line and column; for more values than ``MOST_VALUES``, or
    than the memory has room for.
    """
    # By their signs; 12 million tokens fill the largest ring file.
    if (values := sum(map(text.count, "{[,"))) > MOST_VALUES:
        raise BadInput(field, f"{values} values", f"at most {MOST_VALUES} values in a JSON text")
    estimate = sum(text.count(sign) * size for sign, size in BYTES.items()) + len(text)
    if estimate > SMALL:
        check_room(field, f"{len(text)} characters", estimate)

    def bounded(digits: str) -> int:
        # Python itself fails on several thousand digits.
        if len(digits) > longest:
            allowed = f"integers of at most {longest} digits{_at(text, digits)}"
            raise BadInput(field, digits, allowed)
        return int(digits)

    def constant(word: str) -> NoReturn:
        raise BadInput(field, word, f"numbers valid in JSON{_at(text, word)}")

    try:
        hooks: dict[str, Any] = {"parse_int": bounded, "parse_constant": constant}
        value = json.loads(text, object_pairs_hook=_once, **hooks)
    except json.JSONDecodeError as error:
        tail = text[error.pos : error.pos + 20] or "the end of the text"
        allowed = f"{form}; {error.msg}{place(text, error.pos)}"
        raise BadInput(field, tail, allowed) from None
    except KeyError as again:
        allowed = f"each key once in an object{_second_key(text)}"
        raise BadInput(field, again.args[0], allowed) from None
    except RecursionError:
        raise _too_deep(text, field) from None
    if not _is_shallow(value):
        raise _too_deep(text, field)
    return value


def decoded(text: str | bytes, kind: Any, field: str, most: int = MOST_DECODED) -> Any:
    """The value of a JSON text from outside, of a type, as ``parse_json`` reads it.

    Raises BadInput as that, and for a longer text, other bytes than UTF-8, another type.
    """
    if len(text) > most:
        raise BadInput(field, f"{len(text):,} characters", f"at most {most:,}")
    plain = parse_json(text if isinstance(text, str) else text_of(text, field, text[:40]), field)
    form = "JSON text of the expected form"
    try:
        msgspec.json.encode(plain)  # no half of a surrogate pair, which only its own kind reads
    except UnicodeError as error:
        raise misfit(field, plain, error, form) from None
    return fitting(plain, kind, field, form)


def fitting(plain: Any, kind: Any, field: str, allowed: str) -> Any:
    """Plain data as a value of a type. Raises BadInput naming the place in it that does not fit."""
    try:
        return msgspec.convert(plain, kind, str_keys=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise misfit(field, plain, error, allowed) from None


def place(text: str, position: int) -> str:
    """`` at line 3 column 7``, both from 1."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f" at line {line} column {column}"


def located(error: BadInput, text: str) -> BadInput:
    """An error about a JSON text with the line and column of its field, as far as that is there.

    A field such as ``nodes[2].tokens: missing key`` is a path of keys and indexes.
    """
    words = re.findall(r"\w+", error.field.partition(":")[0])
    at = root = _past(text, 0)
    for step in (int(word) if word.isdecimal() else word for word in words):
        inner = _inside(text, at, step)
        if inner is None and at == root:
            continue  # what the whole text is called
        if inner is None:
            break
        at = inner
    if at == root:
        return error
    return BadInput(error.field, error.value, f"{error.allowed} (in the file{place(text, at)})")


def _inside(text: str, at: int, step: str | int) -> int | None:
    """Where a member of the object or list at a place begins; None where there is none."""
    if text[at] != ("{" if isinstance(step, str) else "["):
        return None
    number = 0
    at = _past(text, at + 1)
    while text[at] not in "]}":
        key: str | int = number
        if isinstance(step, str):
            key, at = _DECODER.raw_decode(text, at)
            at = _past(text, _past(text, at) + 1)
        if key == step:
            return at
        _, at = _DECODER.raw_decode(text, at)
        at = _past(text, at)
        at = _past(text, at + 1) if text[at] == "," else at
        number += 1
    return None


def _past(text: str, at: int) -> int:
    mark = _NOT_BLANK.search(text, at)
    return len(text) if mark is None else mark.start()


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise KeyError(key)
        members[key] = value
    return members


def _at(text: str, word: str) -> str:
    position = text.find(word)
    return place(text, position) if position >= 0 else ""


def _second_key(text: str) -> str:
    keys: list[set[str]] = []
    for mark in _MARK.finditer(text):
        word = mark.group()
        if word in "{[":
            keys.append(set())
        elif word in "}]":
            keys.pop()
        elif word.endswith(":"):
            key = json.loads(word[:-1])
            if key in keys[-1]:
                return place(text, mark.start())
            keys[-1].add(key)
    return ""


def _is_shallow(value: object) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _too_deep(text: str, field: str) -> BadInput:
    return BadInput(field, text[:20], f"JSON text that is not nested deeply: at most {DEEPEST}")
