"""What may be asked of a cluster, in which words, and the cells that asking sets.

The tables call a request ``leave``; the command that an operator gives is ``decommission``. Both
words are read, wherever a request is named. Whoever takes a request looks at its own state before
anything goes into the log, as every change of group 0 is validated. Sources: Topology over Raft,
"Join procedure"; blog post on 6.0 (a live node is not removed); Q-39 (a host id that has left is
refused for ever), Q-42 (liveness is what the node sees); for edition ``server`` the published
``raft_removenode``, ``raft_decommission`` and ``join_node_request_handler``.
"""

import re
from string import ascii_uppercase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, Refusal, check_among
from kit.masks import chosen, mask_of
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.machines import GLOBAL_REQUEST, NODE_REQUESTS
from kit.protocols.topology.rules.replication import (
    RACK_INVALID,
    expanded,
    invalid_racks,
    place_of,
    replication_in,
    replication_words,
)
from kit.protocols.topology.rules.work import under_way

LOCK = "lock"
"""What is no request of the tables: somebody sets the transition state by hand."""
BALANCING = {"balancing on": True, "balancing off": False}
"""No requests either: an operator sets ``tablet_balancing_enabled``, at once (published REST call
``storage_service/tablets/balancing``).
"""


SERVER = cluster.Setting()


class OperationRequest(Struct, frozen=True, cache_hash=True):
    """A request about a node, or about the whole cluster (``NOBODY``).

    ``kind`` is the tables' word, such as ``leave`` (BadInput says which there are). ``replaced`` is
    the node that a replacing one stands in for; ``zero_token``: the joining node will own no
    tokens; ``supported`` are its features. ``option`` is the datacenter that a rebuild streams
    from, or the ``initial_token`` of a joining node. ``keyspace``, ``replication`` and ``table``
    are those of ``RequestEntry``.
    """

    kind: str
    node: int = cluster.NOBODY
    replaced: int = cluster.NOBODY
    zero_token: bool = False
    supported: int = 0
    option: str = ""
    keyspace: str = ""
    replication: cluster.Replication = ()
    table: str = ""

    def __post_init__(self) -> None:
        kinds = (*NODE_REQUESTS, *GLOBAL_REQUEST, *BALANCING, LOCK)
        check_among("kind", self.kind, kinds)


def refusal(
    topology: cluster.ClusterTopology,
    asks: OperationRequest,
    alive: int,
    setting: cluster.Setting,
    names: tuple[str, ...] = (),
) -> Refusal | None:
    """Why a request is refused at once, by whoever takes it; None when it joins the queue.

    ``alive`` are the nodes that are seen up (a mask). Who joins has a row in ``topology.nodes``
    without a state, and its rack. Nodes that the command ignores, too, are in ``topology.ignored``.
    Why an RF change is invalid is told by ``refused_change``. With the ``names`` of all nodes, the
    refusal says which ones stand in the way.
    """
    if asks.kind == LOCK:
        busy = under_way(topology) is not None
        return Refusal("an operation is under way") if busy else None
    if asks.kind in GLOBAL_REQUEST or asks.kind in BALANCING:
        reason = _against_altering(topology, asks, setting)
        return Refusal(reason) if reason else None
    entry = topology.nodes[asks.node]
    if entry.request:
        return Refusal("there is already a request for this node")
    if asks.kind in ("join", "replace"):
        against = _against_joining(topology, asks, alive, setting), 0
    elif entry.state != "normal":
        against = "the node is not normal", 0
    elif replacing := replacers(topology, asks.node):
        against = "another node is replacing it", replacing
    elif asks.kind == "remove":
        live = alive >> asks.node & 1 and setting.safeguards.refuse_live_removal
        against = "the node is up, so decommission it" if live else "", 0
    else:
        against = "" if alive >> asks.node & 1 else "the node is down", 0
    if not against[0] and setting.edition == "server":
        against = _against_going(topology, asks, alive, setting)
    reason, nodes = against
    return Refusal(reason, missing=chosen(names, nodes)) if reason else None


def replacers(topology: cluster.ClusterTopology, node: int) -> int:
    """The nodes that replace this one, or ask to (a mask): it goes, unless they fail."""
    rows = enumerate(topology.nodes)
    standing = {"replace", "replacing"}
    return mask_of(i for i, e in rows if e.replaced == node and standing & {e.request, e.state})


Against = tuple[str, int]
"""What stands against a request (empty: nothing does), and which nodes do (a mask)."""


def _against_joining(
    topology: cluster.ClusterTopology, asks: OperationRequest, alive: int, setting: cluster.Setting
) -> str:
    state = topology.nodes[asks.node].state
    if state == "left" and setting.safeguards.refuse_left:
        return "its host id has left the cluster"
    if state not in (cluster.NO_ROW, "left"):
        return "the node is already in the cluster"
    if asks.kind == "join":
        return ""
    joins, old = topology.nodes[asks.node], topology.nodes[asks.replaced]
    if old.state != "normal":
        return "the node that it would replace is not normal"
    if alive >> asks.replaced & 1:
        return "the node that it would replace is up"
    if setting.edition == "documents":
        return ""
    if place_of(joins.rack) != place_of(old.rack):
        return OTHER_PLACE
    if asks.zero_token != old.zero_token:
        return ZERO_FOR_OWNER if asks.zero_token else OWNER_FOR_ZERO
    return ""


OTHER_PLACE = "it is in another datacenter or rack than the node that it would replace"
OWNER_FOR_ZERO = "a token owner cannot replace a zero-token node"
ZERO_FOR_OWNER = "a zero-token node cannot replace a token owner"
IGNORED_LIVES = "an ignored node is up, and ignoring it bans it for good"
DOWN_TOO = "another node is down: restart it, or exclude it if it is dead for good"
LAST_OWNER = "it is the last node that owns tokens"


def _against_altering(
    topology: cluster.ClusterTopology, asks: OperationRequest, setting: cluster.Setting
) -> str:
    """The objection to a statement: published ALTER KEYSPACE and TRUNCATE, by release."""
    if setting.edition == "documents" or asks.kind not in OF_TABLETS:
        return ""
    pending = [topology.requests[number - 1] for number in topology.queue]
    if not setting.has("request-queue") and (pending or topology.running):
        return "another request of the whole cluster is pending"
    same = any(each.kind == asks.kind and each.keyspace == asks.keyspace for each in pending)
    alters = asks.kind == "keyspace_rf_change" and setting.has("rack-lists")
    return "another RF change of this keyspace is pending" if alters and same else ""


def _against_going(
    topology: cluster.ClusterTopology, asks: OperationRequest, alive: int, setting: cluster.Setting
) -> Against:
    """The published server's objection, before it puts a request into the queue.

    Who leaves or is removed is not the last token owner, and no keyspace needs it for its rack or
    datacenter. A removal and a replace need every other normal node up or ignored, and no ignored
    node up (S-40).
    """
    if asks.kind == "rebuild" and cluster.in_state(topology, "normal") == 1 << asks.node:
        return "there is no other node to rebuild it from", 0
    if asks.kind in ("leave", "remove"):
        if cluster.owners(topology) == 1 << asks.node:
            return LAST_OWNER, 0
        racks = invalid_racks(topology, leaves=1 << asks.node)
        if racks and setting.has("rack-checks"):
            return f"{RACK_INVALID}: {racks}", 0
    goes = {"remove": asks.node, "replace": asks.replaced}.get(asks.kind, cluster.NOBODY)
    if goes == cluster.NOBODY or not setting.has("dead-refused"):
        return "", 0
    if (lives := topology.ignored & alive) and setting.safeguards.refuse_live_removal:
        return IGNORED_LIVES, lives
    down = cluster.in_state(topology, "normal") & ~(alive | topology.ignored | 1 << goes)
    return DOWN_TOO if down else "", down


def going_away(topology: cluster.ClusterTopology, asks: OperationRequest) -> int:
    """The members that a request gives up (a mask): who is removed or replaced, and who is ignored.

    They stand in ``ignore_nodes`` as soon as it is made, so that nothing that was begun before
    waits for them, and stay there if it fails. In the published server they lose their vote,
    too: they are banned (``make_nonvoters``, ``add_ignored_nodes``, ``topology_state_load``).
    """
    if asks.kind not in ("remove", "replace"):
        return 0
    goes = asks.node if asks.kind == "remove" else asks.replaced
    return (1 << goes | topology.ignored) & topology.members


def requested(
    topology: cluster.ClusterTopology, asks: OperationRequest, setting: cluster.Setting = SERVER
) -> cluster.ClusterTopology:
    """The topology with the request in its queue: a row of its own, and the node's cells.

    A replace may end what the dead node had asked for, or was asked (``replaced-request``).
    """
    if asks.kind == LOCK:
        return replace(topology, transition=LOCK)
    if asks.kind in BALANCING:
        return replace(topology, balancing=BALANCING[asks.kind])
    number = len(topology.requests) + 1
    what = asks.keyspace, expanded(topology, asks.keyspace, asks.replication, setting), asks.table
    entry = cluster.RequestEntry(asks.kind, asks.node, False, False, *what)
    topology = replace(topology, requests=(*topology.requests, entry))
    ends = asks.kind == "replace" and setting.has("replaced-request")
    if ends and topology.nodes[asks.replaced].request:
        topology = cluster.unbegun(topology, asks.replaced)
    if asks.node == cluster.NOBODY:
        return replace(topology, queue=(*topology.queue, number))
    cells: dict[str, Any] = {"request": asks.kind, "request_id": number}
    if asks.kind in ("join", "replace"):
        cells |= {"state": "none", "replaced": asks.replaced}
        cells |= {"zero_token": asks.zero_token, "supported": asks.supported}
        cells |= {"tokens_string": asks.option}
    if asks.kind == "rebuild":
        cells["rebuild_option"] = asks.option
    return cluster.with_node(topology, asks.node, **cells)


MOST_NODES = 2000
"""Beyond some 20 nodes models are stepped and walked, not searched."""
ALLOWED = (
    "join N, join N --zero-token, join N --initial-token=150, replace N OLD, leave N, remove N, "
    "rebuild N, rebuild N --source-dc=dc1, cleanup, balancing off, balancing on, "
    "new_cdc_generation, keyspace_rf_change KEYSPACE DC=REPLICAS (or DC=RACK,RACK), truncate_table "
    "KEYSPACE.TABLE or lock; or in operators' words: bootstrap N, decommission N, removenode N"
)
REQUEST_OF = {
    "bootstrap": "join",
    "decommission": "leave",
    "removenode": "remove",
    "check_and_repair_cdc_streams": "new_cdc_generation",
}
"""What operators call a request, where the tables have another word."""
COMMANDS = {
    "join": "the new node is started to bootstrap",
    "replace": "the new node is started with replace_node_first_boot",
    "leave": "nodetool decommission",
    "remove": "nodetool removenode",
    "rebuild": "nodetool rebuild",
    "cleanup": "nodetool cluster cleanup",
    "new_cdc_generation": "nodetool checkAndRepairCdcStreams",
    "keyspace_rf_change": "ALTER KEYSPACE",
    "truncate_table": "TRUNCATE TABLE",
    **dict.fromkeys(BALANCING, "POST /storage_service/tablets/balancing"),
}
"""What an operator does to make a request; the others come from a client or from the server."""
OF_TABLETS = ("keyspace_rf_change", "truncate_table")
"""Requests that only a cluster with tablets plays: model ``tablets``."""
_CLUSTER = (LOCK, *(n for n, of in GLOBAL_REQUEST.items() if of.played and n not in OF_TABLETS))

NAME = re.compile(r"[0-9A-Za-z._-]{1,60}", re.ASCII)
_TOKEN = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_OPTION_OF = {"join": ("--initial-token", _TOKEN), "rebuild": ("--source-dc", NAME)}
"""The option that a request may have, and how it is written."""


class RequestPlan(Struct, frozen=True):
    """The nodes, their racks, and the requests, with nodes as their numbers."""

    names: tuple[str, ...]
    members: int
    racks: tuple[str, ...]
    requests: tuple[OperationRequest, ...]
    keyspaces: tuple[tuple[str, cluster.Replication], ...] = ()

    def mask(self, names: tuple[str, ...], field: str) -> int:
        """These nodes as a mask. Raises BadInput when a name is no node's."""
        for name in names:
            check_among(field, name, self.names)
        return mask_of(self.names.index(name) for name in names)


def plan_of(parameters: Any) -> RequestPlan:
    """Read the requests in the parameters of a cluster.

    Raises BadInput for words that are no request or no rack, an unknown node, or too many nodes.
    """
    names = _members(parameters)
    requests = [_request(text, names, parameters) for text in parameters.operations]
    if len(names) > MOST_NODES:
        raise BadInput("operations", len(names), f"at most {MOST_NODES} nodes in total")
    racks = racks_of(parameters.racks, len(names))
    datacenters = {rack.partition("/")[0] for rack in racks} - {""} or {"dc1"}
    for asks, text in zip(requests, parameters.operations, strict=True):
        if asks.kind == "rebuild" and asks.option and asks.option not in datacenters:
            raise BadInput(
                "operations", text, f"one of the datacenters {', '.join(sorted(datacenters))}"
            )
    members = (1 << parameters.nodes) - 1
    said = (text.split() or [""] for text in parameters.keyspaces)
    keyspaces = sorted((name, replication_in(words, "keyspaces")) for name, *words in said)
    return RequestPlan(tuple(names), members, racks, tuple(requests), tuple(keyspaces))


def features(parameters: Any, name: str) -> int:
    """The cluster features of a node (a mask): all have the first, newer ones the second too."""
    return 0b11 if name in parameters.newer else 0b1


def _members(parameters: Any) -> list[str]:
    given: tuple[str, ...] = parameters.names
    if not given:
        counted = (f"N{number}" for number in range(27, parameters.nodes + 1))
        return [*ascii_uppercase[: parameters.nodes], *counted]
    if len(given) != parameters.nodes:
        raise BadInput("names", len(given), f"{parameters.nodes}, one for each member")
    for name in given:
        if not NAME.fullmatch(name):
            raise BadInput("names", name, "1 to 60 letters, digits, dots, dashes or underscores")
    if len(set(given)) < len(given):
        raise BadInput("names", next(n for n in given if given.count(n) > 1), "each name once")
    return list(given)


def racks_of(given: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The racks of so many nodes, empty where none is given. BadInput for no rack, or too many."""
    for text in given:
        datacenter, _, rack = text.partition("/")
        if not datacenter or not rack or "/" in rack:
            raise BadInput("racks", text, "a datacenter and a rack, as in dc1/r1")
    if len(given) > count:
        raise BadInput("racks", len(given), f"at most one for each of {count} nodes")
    return (*given, *("",) * (count - len(given)))


def _request(text: str, names: list[str], parameters: Any) -> OperationRequest:
    words = text.split()
    flags = {word for word in words if word.startswith("--")}
    said, *nodes = [word for word in words if word not in flags] or [""]
    if said in GLOBAL_REQUEST and not GLOBAL_REQUEST[said].played:
        raise BadInput("operations", said, f"a modelled request, unlike this one: {ALLOWED}")
    kind = REQUEST_OF.get(said, said)
    if (kind in _CLUSTER and not nodes and not flags) or " ".join(words) in BALANCING:
        return OperationRequest(" ".join([kind, *nodes]))
    if kind in OF_TABLETS and not flags:
        return _of_tablets(kind, text, nodes)
    joins = kind in ("join", "replace")
    name, _, option = next((flag for flag in flags if "=" in flag), "").partition("=")
    zero = "--zero-token" in flags
    flags -= {"--zero-token"} if joins else set()
    allowed, pattern = _OPTION_OF.get(kind, ("", NAME))
    fits = not name or (name == allowed and pattern.fullmatch(option))
    count = 2 if kind == "replace" else 1
    known = kind in NODE_REQUESTS and len(nodes) == count
    if not known or not fits or len(flags) > bool(name) or (name and zero):
        raise BadInput("operations", text, ALLOWED)
    if joins and nodes[0] not in names:
        names.append(nodes[0])
    for name in nodes:
        if name not in names:
            raise BadInput("operations", text, "nodes among " + ", ".join(names))
    node = names.index(nodes[0])
    replaced = names.index(nodes[1]) if kind == "replace" else cluster.NOBODY
    supported = features(parameters, nodes[0]) * joins
    return OperationRequest(kind, node, replaced, zero, supported, option)


def _of_tablets(kind: str, text: str, words: list[str]) -> OperationRequest:
    if kind == "keyspace_rf_change" and words:
        replication = replication_in(words[1:], "operations")
        return OperationRequest(kind, keyspace=words[0], replication=replication)
    table = " ".join(words)
    if len(words) != 1 or not all(table.partition(".")):
        raise BadInput("operations", text, ALLOWED)
    return OperationRequest(kind, table=table)


def stored_words(line: str) -> str:
    """A line with the tables' word for a request in the place of an operator's."""
    first, space, rest = line.partition(" ")
    return REQUEST_OF.get(first, first) + space + rest


def request_text(request: OperationRequest, names: tuple[str, ...]) -> str:
    """The request in words."""
    nodes = [names[i] for i in (request.node, request.replaced) if i != cluster.NOBODY]
    named = [*filter(None, (request.keyspace, request.table))]
    named += replication_words(request.replication) + ["--zero-token"] * request.zero_token
    named += [f"{_OPTION_OF[request.kind][0]}={request.option}"] if request.option else []
    return " ".join([request.kind, *nodes, *named])
