"""CQL's way of writing sets and maps, and a keyspace's replication as one text.

``{'-9', '5'}`` and ``{'class': 'SimpleStrategy', 'replication_factor': 3}``: texts in single quotes
(doubled inside), whole numbers, nothing else. Read strictly, never evaluated.
"""

from __future__ import annotations

import re

from kit.edge.json_text import parse_json
from kit.errors import BadInput
from kit.operators.importers.literals import Bare, parse_literal
from kit.operators.importers.ringfile import LONGEST_NAME
from kit.ring.replication import Keyspace, parse_replication

Value = str | int
FORM = """ks={"class": "NetworkTopologyStrategy", "dc1": 3} or, as in CQL, ks={'class': …}"""
WORDS = re.compile(r"[\s'\";]")  # no name has these; a whole statement has
SET, MAP = "a set as in CQL: {'-9', '5'}", "a map as in CQL: {'class': 'SimpleStrategy', …}"


def parse_set(text: str, field: str) -> list[Value]:
    """The members of a CQL set (or list) in their order.

    Raises:
        BadInput: for any other text.
    """
    value = parse_literal(text, field, SET)
    if not isinstance(value, list) or text.lstrip()[:1] == "(":
        raise BadInput(field, text, SET)
    return [_plain(member, text, field, SET) for member in value]


def parse_map(text: str, field: str) -> dict[str, Value]:
    """A CQL map from texts to texts or numbers.

    Raises:
        BadInput: for any other text, or a key that occurs twice.
    """
    value = parse_literal(text, field, MAP)
    if value == [] and text.strip()[:1] == "{":
        return {}
    if not isinstance(value, dict):
        raise BadInput(field, text, MAP)
    return {key: _plain(given, text, field, MAP) for key, given in value.items()}


def _plain(value: object, text: str, field: str, allowed: str) -> Value:
    """A text or a number; nothing else stands in these sets and maps."""
    if not isinstance(value, str | int) or isinstance(value, Bare):
        raise BadInput(field, text, allowed)
    return value


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
