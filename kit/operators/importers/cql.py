"""CQL's way of writing sets and maps, and a keyspace's replication as one text.

``{'-9', '5'}`` and ``{'class': 'SimpleStrategy', 'replication_factor': 3}``: texts in single quotes
(doubled inside), whole numbers, nothing else. Read strictly, never evaluated.
"""

from __future__ import annotations

import re

from kit.edge.json_text import parse_json
from kit.errors import BadInput
from kit.operators.importers.ringfile import LONGEST_NAME
from kit.ring.replication import Keyspace, parse_replication

Value = str | int
_WORD = re.compile(
    r"\s*(?:(?P<mark>[{}:,])|'(?P<text>(?:[^']|'')*)'|(?P<number>-?[0-9]{1,19})(?![\w.']))"
)
FORM = """ks={"class": "NetworkTopologyStrategy", "dc1": 3} or, as in CQL, ks={'class': …}"""
WORDS = re.compile(r"[\s'\";]")  # no name has these; a whole statement has
SET, MAP = "a set as in CQL: {'-9', '5'}", "a map as in CQL: {'class': 'SimpleStrategy', …}"


def parse_set(text: str, field: str) -> list[Value]:
    """The members of a CQL set (or list) in their order.

    Raises:
        BadInput: for any other text.
    """
    value = _braces(text, field, SET)
    if isinstance(value, dict) and value:
        raise BadInput(field, text, SET)
    return list(value)


def parse_map(text: str, field: str) -> dict[str, Value]:
    """A CQL map from texts to texts or numbers.

    Raises:
        BadInput: for any other text, or a key that occurs twice.
    """
    value = _braces(text, field, MAP)
    if not isinstance(value, dict):
        raise BadInput(field, text, MAP)
    return value


def _braces(text: str, field: str, allowed: str) -> dict[str, Value] | list[Value]:
    """What stands between braces (or brackets, for a list): members, or keys with values."""
    body = text.strip()
    if body[:1] == "[" and body[-1:] == "]":
        body = "{" + body[1:-1] + "}"
    words = _words(body, field, allowed)
    if len(words) < 2 or words[0] != "{" or words[-1] != "}":
        raise BadInput(field, text, allowed)
    inner = words[1:-1]
    is_map = len(inner) > 1 and inner[1] == ":"
    step = 4 if is_map else 2
    values: dict[str, Value] = {}
    members: list[Value] = []
    for at in range(0, len(inner), step):
        part = inner[at : at + step]
        shape = [word if isinstance(word, str) else "" for word in part]
        if shape not in (["", ":", "", ","], ["", ":", ""], ["", ","], [""]):
            raise BadInput(field, text, allowed)
        comma = shape[-1] == ","
        if (":" in shape) != is_map or comma == (at + step >= len(inner)):
            raise BadInput(field, text, allowed)
        key = part[0][0]
        if not is_map:
            members.append(key)
        elif not isinstance(key, str):
            raise BadInput(field, key, "texts as keys, in single quotes")
        elif key in values:
            raise BadInput(field, key, "each key once in a map")
        else:
            values[key] = part[2][0]
    return values if is_map or not inner else members


def _words(text: str, field: str, allowed: str) -> list[str | tuple[Value]]:
    """Marks as texts, values each in a tuple of one."""
    words: list[str | tuple[Value]] = []
    at = 0
    while at < len(text):
        word = _WORD.match(text, at)
        if word is None:
            raise BadInput(field, text[at : at + 60], allowed)
        at = word.end()
        if word["mark"] is not None:
            words.append(word["mark"])
        elif word["number"] is not None:
            words.append((int(word["number"]),))
        else:
            words.append((word["text"].replace("''", "'"),))
    return words


def parse_keyspace(text: str, field: str = "--keyspace") -> Keyspace:
    """A keyspace from ``ks={"class": …}``, in JSON or as a CQL map with single quotes.

    Raises:
        BadInput: for another form, an unknown strategy or a wrong factor.
    """
    name, equals, options = text.partition("=")
    name, options = name.strip(), options.strip()
    if not equals or not options.startswith("{"):
        raise BadInput(field, text, FORM)
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and not WORDS.search(name)):
        allowed = f"a keyspace's name alone before =, of 1 to {LONGEST_NAME} printable characters"
        raise BadInput(field, name, f"{allowed}: {FORM}")
    field = f"{field} {name}"
    in_json = options[1:].lstrip()[:1] in ('"', "}")
    given = parse_json(options, field) if in_json else parse_map(options, field)
    return Keyspace(name, parse_replication(given, field))
