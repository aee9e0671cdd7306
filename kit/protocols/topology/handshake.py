"""What nodes check, say to each other, and hold, while one of them joins.

Whoever receives a request checks what it can see and puts it into the tables; the coordinator reads
it there and checks the rest. JOIN_NODE_QUERY and its answer ``mode``; JOIN_NODE_REQUEST and its
answers ``placed`` and ``rejected``; JOIN_NODE_RESPONSE and its answer ``handled``. An answer
carries the number of its call, as an answer comes on the connection of its call; a response is a
call of its own. Sources: Topology over Raft, "Join procedure" and "Choosing how to join a cluster";
blog post on 6.0, on features and host ids; published code, ``join_node_request_handler``,
``validate_joining_node`` and ``topology_state_load`` (who is banned).
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.topology.rules import requests
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import FIRST_RACK

Names = tuple[str, ...]
CLUSTER, SNITCH = "prod", "simple"
"""What the members' configuration says."""
FEATURE = "f"
"""The one feature that there is; every member supports it."""
REASONS = {
    "cluster-name": "cluster name check failed: its configuration names another cluster",
    "snitch": "snitch name check failed: its configuration names another snitch",
    "unfinished": "its last attempt did not finish, so its data directory must be cleared first",
    "member": "its host id is already a member",
    "removed": "its host id has already been removed from the cluster",
    "alive": "the node that it would replace is alive",
    "other-place": requests.OTHER_PLACE,
    "owner-for-zero": requests.OWNER_FOR_ZERO,
    "zero-for-owner": requests.ZERO_FOR_OWNER,
    "ignored-alive": requests.IGNORED_LIVES,
    "another-down": requests.DOWN_TOO,
    "not-normal": "the node that it would replace is not normal",
    "features": "feature check failed: it lacks a feature that is enabled",
    "banned": "members refuse its host id in the handshake: it is banned",
    "lost": "its call was lost, and it cannot ask to join twice",
    "unanswered": "no member answers it any longer, so the operator shuts it down",
    "not-accepted": "the call with its acceptance failed, so its join is not accepted",
}
"""Why a node does not get in, by the names that messages carry."""


JOINING = ("bootstrapping", "replacing")
"""The states of a node whose join is under way."""


class JoinRow(Struct, frozen=True, cache_hash=True):
    """The row of one host id: its node state, and what the request that made it said.

    ``attempt`` is the start of the joiner's process that asked; ``reason`` why it was turned away.
    ``rack`` and ``zero_token`` are where it is, and whether it owns no tokens. ``verified`` is what
    the member that took the request found, in edition ``documents`` (empty: nothing was verified).
    """

    host: str
    state: str
    features: Names = ()
    replaces: Names = ()
    attempt: int = 0
    reason: str = ""
    rack: str = FIRST_RACK
    zero_token: bool = False
    verified: str = ""


class JoinTables(Struct, frozen=True, cache_hash=True):
    """The tables of group 0: rows of nodes, its configuration, enabled features; and the
    coordinator.

    ``coordinator`` is empty while there is none.
    """

    rows: tuple[JoinRow, ...]
    members: Names
    enabled: Names = ()
    coordinator: str = ""

    def row(self, host: str) -> JoinRow | None:
        """The row of a host id, if it has one."""
        return next((row for row in self.rows if row.host == host), None)

    @property
    def pending(self) -> JoinRow | None:
        """The request that waits, the oldest first."""
        return next((row for row in self.rows if row.state == "none"), None)

    @property
    def joining(self) -> JoinRow | None:
        """The node whose join is under way."""
        return next((row for row in self.rows if row.state in JOINING), None)


class JoinNodeRequest(Struct, frozen=True, tag="request", cache_hash=True):
    """Let me in: my host id, the number of this call, and what has to be verified.

    ``ignores`` are the dead nodes that a replacing node names beside the one that it ``replaces``.
    """

    why: ClassVar = "A member must put the request into the queue, which is in group 0."
    host: str
    call: int
    cluster: str
    snitch: str
    features: Names
    replaces: Names
    ignores: Names
    rack: str
    zero_token: bool


Fails = Callable[[JoinTables, JoinNodeRequest, Names], bool]


class JoinCheck(Struct, frozen=True):
    """One thing that is verified of a joiner: what it is called when it fails, and who looks.

    ``receiver`` needs no more than its configuration, ``placing`` is the receiver once it has read
    group 0, ``coordinator`` reads the request there. ``fails`` takes the tables, the request and
    the members that are up. ``edition`` is ``server`` where the documents know no such check.
    """

    reason: str
    by: Literal["receiver", "placing", "coordinator"]
    fails: Fails
    edition: Edition = "documents"

    def is_made(self, edition: Edition) -> bool:
        """Whether anybody looks, in an edition."""
        return self.edition in ("documents", edition)


def _state(tables: JoinTables, host: str) -> str:
    row = tables.row(host)
    return "" if row is None else row.state


def _of_old(holds: Callable[[JoinRow, JoinNodeRequest], bool]) -> Fails:
    return lambda t, asks, up: any(holds(row, asks) for row in map(t.row, asks.replaces) if row)


def _down(tables: JoinTables, asks: JoinNodeRequest, up: Names) -> bool:
    counted = {*up, *asks.replaces, *asks.ignores}
    normal = {row.host for row in tables.rows if row.state == "normal"}
    return bool(asks.replaces) and not normal <= counted


_OF_A_REPLACE: tuple[tuple[str, Fails], ...] = (
    ("other-place", _of_old(lambda old, asks: old.rack != asks.rack)),
    ("owner-for-zero", _of_old(lambda old, asks: old.zero_token > asks.zero_token)),
    ("zero-for-owner", _of_old(lambda old, asks: old.zero_token < asks.zero_token)),
    ("ignored-alive", lambda t, asks, up: bool(asks.replaces and set(asks.ignores) & set(up))),
    ("another-down", _down),
)

CHECKS = (
    JoinCheck("cluster-name", "receiver", lambda t, asks, up: asks.cluster != CLUSTER),
    JoinCheck("snitch", "receiver", lambda t, asks, up: asks.snitch != SNITCH),
    JoinCheck("removed", "placing", lambda t, asks, up: _state(t, asks.host) == "left"),
    JoinCheck("member", "placing", lambda t, asks, up: _state(t, asks.host) == "normal"),
    JoinCheck(
        "unfinished", "placing", lambda t, asks, up: _state(t, asks.host) in ("none", *JOINING)
    ),
    JoinCheck("alive", "placing", lambda t, asks, up: bool(set(asks.replaces) & set(up))),
    *(JoinCheck(reason, "placing", fails, "server") for reason, fails in _OF_A_REPLACE),
    JoinCheck(
        "not-normal",
        "coordinator",
        lambda t, asks, up: any(_state(t, old) != "normal" for old in asks.replaces),
    ),
    JoinCheck(
        "features", "coordinator", lambda t, asks, up: bool(set(t.enabled) - set(asks.features))
    ),
)
"""All of them, in the order in which they are made."""


def placed(tables: JoinTables, asks: JoinNodeRequest, edition: Edition) -> JoinTables:
    """The tables with the request: a row in state ``none``, which the coordinator will find.

    In the documents a member verifies cluster name, snitch and features, and all of it is stored;
    the verdict on features is the coordinator's (blog post on 6.0, "Feature Negotiation on Raft").
    """
    lacks = sorted(set(tables.enabled) - set(asks.features))
    facts = f"cluster {asks.cluster}, snitch {asks.snitch}"
    facts += f", it lacks {', '.join(lacks)}" if lacks else ", all enabled features"
    request = asks.features, asks.replaces, asks.call
    where = asks.rack, asks.zero_token, facts if edition == "documents" else ""
    return with_row(tables, JoinRow(asks.host, "none", *request, "", *where))


def request_in(row: JoinRow) -> JoinNodeRequest:
    """The request that the coordinator finds in a row; its receiver has checked the rest."""
    had = row.features, row.replaces, (), row.rack, row.zero_token
    return JoinNodeRequest(row.host, row.attempt, CLUSTER, SNITCH, *had)


def moved(tables: JoinTables, host: str, state: str, reason: str = "") -> JoinTables:
    """The tables with a host id in another state; who has left is no member either."""
    row = tables.row(host)
    assert row is not None, host
    tables = with_row(tables, replace(row, state=state, reason=reason or row.reason))
    if state == "left":
        return replace(tables, members=tuple(m for m in tables.members if m != host))
    return tables


def with_row(tables: JoinTables, row: JoinRow) -> JoinTables:
    """The tables with this row in place of the one of its host id, or behind all others."""
    if tables.row(row.host) is None:
        return replace(tables, rows=(*tables.rows, row))
    rows = (row if each.host == row.host else each for each in tables.rows)
    return replace(tables, rows=tuple(rows))


JOINER, REMOVED, GROUP0 = "N", "Z", "group0"
ACCEPTED = "accepted"


class JoinNodeQuery(Struct, frozen=True, tag="query", cache_hash=True):
    """How does one join this cluster?"""

    why: ClassVar = "A joiner must first learn how this cluster lets nodes in."
    host: str
    call: int


class ModeReply(Struct, frozen=True, tag="mode", cache_hash=True):
    """By a request that goes through group 0 (``raft``)."""

    why: ClassVar = "The joiner now knows how to join, so it sends its request."
    call: int
    mode: str


class PlacedReply(Struct, frozen=True, tag="placed", cache_hash=True):
    """Your request is in the queue: start your group 0 server and wait for a response."""

    why: ClassVar = "The request is in the queue. Any verdict from now on is for this attempt."
    call: int


class RejectedReply(Struct, frozen=True, tag="rejected", cache_hash=True):
    """Your request is not in the queue."""

    why: ClassVar = "The request was never queued, so there is no verdict to wait for."
    call: int
    reason: str


class JoinNodeResponse(Struct, frozen=True, tag="response", cache_hash=True):
    """The coordinator's verdict on a host id: accepted, or the reason why not."""

    why: ClassVar = "The coordinator has decided, and the joiner must be told."
    host: str
    verdict: str


class ResponseHandled(Struct, frozen=True, tag="handled", cache_hash=True):
    """The joiner goes on as accepted."""

    why: ClassVar = "The coordinator continues once the joiner knows that it is accepted."
    host: str


class BannedNotice(Struct, frozen=True, tag="banned", cache_hash=True):
    """The handshake failed: a host id that has left is heard no more."""

    why: ClassVar = "No node listens to a node that has left, and the node is told so."
    host: str


class OldWrite(Struct, frozen=True, tag="write", cache_hash=True):
    """Store this: a write from before its sender was removed; what it wrote is long deleted."""

    why: ClassVar = "A write from a removed node may still arrive, long after its data was deleted."
    host: str
