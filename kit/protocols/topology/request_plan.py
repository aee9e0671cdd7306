"""What is asked of a cluster, in the words of its parameters: ``join D``, ``remove C``.

The tables call a request ``leave``; the command that an operator gives is ``decommission``. Both
words are read, wherever a request is named.
"""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.topology.rules.cluster import NOBODY, Replication
from kit.protocols.topology.rules.replication import factor_text, replication_in
from kit.protocols.topology.rules.requests import LOCK, OperationRequest
from kit.protocols.topology.rules.states import GLOBAL_REQUEST, NODE_REQUESTS

MOST_NODES = 2000
"""Beyond some 20 nodes models are stepped and walked, not searched."""
ALLOWED = (
    "join N, join N --zero-token, replace N OLD, leave N, remove N, rebuild N, cleanup, "
    "new_cdc_generation, keyspace_rf_change KEYSPACE DC=REPLICAS (or DC=RACK,RACK), "
    "truncate_table KEYSPACE.TABLE or lock; "
    "or as operators say: bootstrap N, decommission N, removenode N"
)
REQUEST_OF = {
    "bootstrap": "join",
    "decommission": "leave",
    "removenode": "remove",
    "check_and_repair_cdc_streams": "new_cdc_generation",
}
"""What operators call a request, where the tables have another word."""
COMMANDS = {
    "join": "the new node is started, to bootstrap",
    "replace": "the new node is started with replace_node_first_boot",
    "leave": "nodetool decommission",
    "remove": "nodetool removenode",
    "rebuild": "nodetool rebuild",
    "cleanup": "nodetool cluster cleanup",
    "new_cdc_generation": "nodetool checkAndRepairCdcStreams",
    "keyspace_rf_change": "ALTER KEYSPACE",
    "truncate_table": "TRUNCATE TABLE",
}
"""What an operator does to make a request; the others come from a client or from the server."""
OF_TABLETS = ("keyspace_rf_change", "truncate_table")
"""Requests that only a cluster with tablets plays: model ``tablets``."""
_CLUSTER = (
    LOCK,
    *(name for name, each in GLOBAL_REQUEST.items() if each.played and name not in OF_TABLETS),
)


NAME = re.compile(r"[0-9A-Za-z._-]{1,60}", re.ASCII)


class RequestPlan(Struct, frozen=True):
    """Who there is and in which racks, and what is asked for, with nodes as their numbers."""

    names: tuple[str, ...]
    members: int
    racks: tuple[str, ...]
    requests: tuple[OperationRequest, ...]
    keyspaces: tuple[tuple[str, Replication], ...] = ()

    def mask(self, names: tuple[str, ...], field: str) -> int:
        """These nodes as a mask.

        Raises:
            BadInput: when a name is no node's.
        """
        number = {name: i for i, name in enumerate(self.names)}
        for name in names:
            if name not in number:
                raise BadInput(field, name, "one of " + ", ".join(self.names))
        return sum(1 << number[name] for name in set(names))


def plan_of(parameters: Any) -> RequestPlan:
    """Read the requests in the parameters of a cluster.

    Raises:
        BadInput: for words that are no request or no rack, an unknown node, or too many nodes.
    """
    names = _members(parameters)
    requests = [_request(text, names) for text in parameters.operations]
    if len(names) > MOST_NODES:
        raise BadInput("operations", len(names), f"at most {MOST_NODES} nodes in all")
    racks = _racks(parameters.racks, len(names))
    members = (1 << parameters.nodes) - 1
    keyspaces = tuple(sorted(map(_keyspace, parameters.keyspaces)))
    return RequestPlan(tuple(names), members, racks, tuple(requests), keyspaces)


def _keyspace(text: str) -> tuple[str, Replication]:
    name, *replicas = text.split() or [""]
    return name, replication_in(replicas, "keyspaces")


def _members(parameters: Any) -> list[str]:
    """The names of the members: those given, or letters."""
    given: tuple[str, ...] = parameters.names
    if not given:
        return [_name(number) for number in range(parameters.nodes)]
    if len(given) != parameters.nodes:
        raise BadInput("names", len(given), f"{parameters.nodes}, one for each member")
    for name in given:
        if not NAME.fullmatch(name):
            raise BadInput("names", name, "1 to 60 letters, digits, dots, dashes or underscores")
    if len(set(given)) < len(given):
        raise BadInput("names", next(n for n in given if given.count(n) > 1), "each name once")
    return list(given)


def _racks(given: tuple[str, ...], count: int) -> tuple[str, ...]:
    for text in given:
        datacenter, _, rack = text.partition("/")
        if not datacenter or not rack or "/" in rack:
            raise BadInput("racks", text, "a datacenter and a rack, as in dc1/r1")
    if len(given) > count:
        raise BadInput("racks", len(given), f"at most one for each of {count} nodes")
    return (*given, *("",) * (count - len(given)))


def _name(number: int) -> str:
    """The name of a member by its number from 0: A to Z, then N27 and so on."""
    return ascii_uppercase[number] if number < len(ascii_uppercase) else f"N{number + 1}"


def _request(text: str, names: list[str]) -> OperationRequest:
    words = text.split()
    flags = {word for word in words if word.startswith("--")}
    said, *nodes = [word for word in words if word not in flags] or [""]
    kind = REQUEST_OF.get(said, said)
    if kind in _CLUSTER and not nodes and not flags:
        return OperationRequest(kind)
    if kind in OF_TABLETS and not flags:
        return _of_tablets(kind, text, nodes)
    counts = {"replace": 2}
    if kind not in NODE_REQUESTS or len(nodes) != counts.get(kind, 1):
        raise BadInput("operations", text, ALLOWED)
    joins = kind in ("join", "replace")
    if flags - ({"--zero-token"} if joins else set()):
        raise BadInput("operations", text, ALLOWED)
    if joins and nodes[0] not in names:
        names.append(nodes[0])
    for name in nodes:
        if name not in names:
            raise BadInput("operations", text, "nodes among " + ", ".join(names))
    node = names.index(nodes[0])
    replaced = names.index(nodes[1]) if kind == "replace" else NOBODY
    return OperationRequest(kind, node, replaced, bool(flags))


def _of_tablets(kind: str, text: str, words: list[str]) -> OperationRequest:
    """A request that names a keyspace, or a table."""
    if kind == "keyspace_rf_change" and words:
        replication = replication_in(words[1:], "operations")
        return OperationRequest(kind, keyspace=words[0], replication=replication)
    keyspace, dot, table = (words or [""])[0].partition(".")
    if len(words) != 1 or not (keyspace and dot and table):
        raise BadInput("operations", text, ALLOWED)
    return OperationRequest(kind, table=words[0])


def stored_words(line: str) -> str:
    """A line with the tables' word for a request in the place of an operator's."""
    first, space, rest = line.partition(" ")
    return REQUEST_OF.get(first, first) + space + rest


def request_text(request: OperationRequest, names: tuple[str, ...]) -> str:
    """The request in words."""
    nodes = [names[i] for i in (request.node, request.replaced) if i != NOBODY]
    named = [word for word in (request.keyspace, request.table) if word]
    named += [f"{name}={factor_text(factor)}" for name, factor in request.replication]
    named += ["--zero-token"] * request.zero_token
    return " ".join([request.kind, *nodes, *named])
