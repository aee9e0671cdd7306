"""What a client asks of a node, as a line of text: ``alter table ks.t add c text at B``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.gossip.rules.schema import KEY, ChangeVerb, SchemaChange

WAYS = (
    "create keyspace KS [rf N]",
    "alter keyspace KS rf N",
    "drop keyspace KS",
    "create table KS.T",
    "alter table KS.T add COLUMN TYPE",
    "alter table KS.T drop COLUMN",
    "drop table KS.T",
)
_KEYSPACE = re.compile(
    r"(?P<verb>create|alter|drop) keyspace (?P<keyspace>\w+)(?: rf (?P<rf>[1-9]))?", re.ASCII
)
_TABLE = re.compile(
    r"(?P<verb>create|alter|drop) table (?P<keyspace>\w+)\.(?P<table>\w+)"
    r"(?: add (?P<added>\w+) (?P<type>\w+)| drop (?P<dropped>\w+))?",
    re.ASCII,
)
_VERBS: dict[str, ChangeVerb] = {"create": "create", "alter": "alter", "drop": "drop"}


class PlannedChange(Struct, frozen=True):
    """A statement, and the node (by its number) that a client asks for it."""

    change: SchemaChange
    node: int
    text: str


def parse_changes(
    field: str, lines: Sequence[str], nodes: Sequence[str]
) -> tuple[PlannedChange, ...]:
    """What these lines ask for.

    Raises:
        BadInput: for a line that is no statement at a node of ``nodes``, or one that stands twice.
    """
    changes = tuple(_parsed(field, line, nodes) for line in lines)
    for i, planned in enumerate(changes):
        if planned in changes[:i]:
            raise BadInput(field, planned.text, "each change once")
    return changes


def _parsed(field: str, line: str, nodes: Sequence[str]) -> PlannedChange:
    text = " ".join(line.split())
    statement, _, node = text.rpartition(" at ")
    change = _of_keyspace(statement) or _of_table(statement)
    if change is None:
        raise BadInput(field, line, "; ".join(f"{way} at NODE" for way in WAYS))
    if node not in nodes:
        raise BadInput(field, line, f"a node among {', '.join(nodes)}")
    return PlannedChange(change, nodes.index(node), text)


def _of_keyspace(statement: str) -> SchemaChange | None:
    match = _KEYSPACE.fullmatch(statement)
    if match is None or (match["verb"] == "alter") > bool(match["rf"]):
        return None
    if match["verb"] == "drop" and match["rf"]:
        return None
    verb = _VERBS[match["verb"]]
    return SchemaChange(verb, match["keyspace"], replication=int(match["rf"] or 0))


def _of_table(statement: str) -> SchemaChange | None:
    match = _TABLE.fullmatch(statement)
    if match is None:
        return None
    column = match["added"] or match["dropped"] or ""
    if bool(column) != (match["verb"] == "alter") or column == KEY:
        return None
    return SchemaChange(
        _VERBS[match["verb"]], match["keyspace"], match["table"], column, match["type"] or ""
    )
