"""What a client asks of a node, as a line of text: ``alter table ks.t add c at B``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.group0.rules.schema import KEY_COLUMN, Statement, Verb

FORMS = (
    "create keyspace KS",
    "alter keyspace KS rf N",
    "drop keyspace KS",
    "create table KS.T",
    "alter table KS.T add COLUMN",
    "drop table KS.T",
)
_LINE = re.compile(
    r"(?P<verb>create|alter|drop) (?:keyspace (?P<keyspace>\w+)|table (?P<of>\w+)\.(?P<table>\w+))"
    r"(?: add (?P<column>\w+))?(?: rf (?P<rf>\d))? at (?P<node>\w+)",
    re.ASCII,
)
_REQUEST = re.compile(
    r"(?:read|write) (?P<keyspace>\w+)\.(?P<table>\w+) at (?P<coordinator>\w+) to (?P<replica>\w+)",
    re.ASCII,
)
_VERBS: dict[str, Verb] = {"create": "create", "alter": "alter", "drop": "drop"}


class ClientOperation(Struct, frozen=True):
    """A statement, and the node (by its number) that a client asks for it."""

    statement: Statement
    node: int
    text: str


class TableRequest(Struct, frozen=True):
    """A read or write of a table that a coordinator sends to a replica (nodes by number)."""

    keyspace: str
    table: str
    coordinator: int
    replica: int
    text: str


def parse_requests(lines: Sequence[str], nodes: Sequence[str]) -> tuple[TableRequest, ...]:
    """What these lines ask for.

    Raises:
        BadInput: for a line that is no request between two nodes, or one that stands twice.
    """
    requests: list[TableRequest] = []
    for line in lines:
        match = _REQUEST.fullmatch(" ".join(line.split()))
        if match is None:
            raise BadInput(
                "requests", line, "read KS.T at NODE to NODE; write KS.T at NODE to NODE"
            )
        for name in (match["coordinator"], match["replica"]):
            if name not in nodes:
                raise BadInput("requests", line, f"nodes among {', '.join(nodes)}")
        source, target = nodes.index(match["coordinator"]), nodes.index(match["replica"])
        request = TableRequest(match["keyspace"], match["table"], source, target, match[0])
        if request in requests:
            raise BadInput("requests", line, "each request once")
        requests.append(request)
    return tuple(requests)


def parse_operations(lines: Sequence[str], nodes: Sequence[str]) -> tuple[ClientOperation, ...]:
    """What these lines ask for.

    Raises:
        BadInput: for a line that is no statement at a node of ``nodes``, or one that stands twice.
    """
    operations = tuple(_parse(line, nodes) for line in lines)
    for i, operation in enumerate(operations):
        if operation in operations[:i]:
            raise BadInput("operations", operation.text, "each operation once")
    return operations


def _parse(line: str, nodes: Sequence[str]) -> ClientOperation:
    text = " ".join(line.split())
    match = _LINE.fullmatch(text)
    statement = match and _statement(match)
    if not match or not statement:
        allowed = "; ".join(f"{form} at NODE" for form in FORMS)
        raise BadInput("operations", line, allowed)
    if match["node"] not in nodes:
        raise BadInput("operations", line, f"a node among {', '.join(nodes)}")
    return ClientOperation(statement, nodes.index(match["node"]), text)


def _statement(match: re.Match[str]) -> Statement | None:
    """The statement of a line; None where its parts do not belong together."""
    verb, table, column, rf = _VERBS[match["verb"]], match["table"], match["column"], match["rf"]
    wants_column, wants_rf = verb == "alter" and bool(table), verb == "alter" and not table
    if bool(column) != wants_column or bool(rf) != wants_rf or column == KEY_COLUMN or rf == "0":
        return None
    keyspace = match["keyspace"] or match["of"]
    return Statement(verb, keyspace, table or "", column or "", int(rf or 0))
