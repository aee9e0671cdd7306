"""What nodes say to each other while one of them joins.

JOIN_NODE_QUERY and its answer ``mode``; JOIN_NODE_REQUEST and its answers ``placed`` and
``rejected``; JOIN_NODE_RESPONSE and its answer ``handled``. An answer carries the number of its
call, as an answer comes on the connection of its call; a response is a call of its own.
Source: Topology over Raft, "Join procedure" and "Choosing how to join a cluster".
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.topology.rules.joining import JoinNodeRequest

JOINER, REMOVED, GROUP0 = "N", "Z", "group0"
ACCEPTED = "accepted"


class JoinNodeQuery(Struct, frozen=True, tag="query", cache_hash=True):
    """How does one join this cluster?"""

    host: str
    call: int


class ModeReply(Struct, frozen=True, tag="mode", cache_hash=True):
    """By a request that goes through group 0 (``raft``)."""

    call: int
    mode: str


class PlacedReply(Struct, frozen=True, tag="placed", cache_hash=True):
    """Your request is in the queue: start your group 0 server and wait for a response."""

    call: int


class RejectedReply(Struct, frozen=True, tag="rejected", cache_hash=True):
    """Your request is not in the queue."""

    call: int
    reason: str


class JoinNodeResponse(Struct, frozen=True, tag="response", cache_hash=True):
    """The coordinator's verdict on a host id: accepted, or the reason why not."""

    host: str
    verdict: str


class ResponseHandled(Struct, frozen=True, tag="handled", cache_hash=True):
    """The joiner goes on as accepted."""

    host: str


class BannedNotice(Struct, frozen=True, tag="banned", cache_hash=True):
    """The handshake failed: a host id that has left is heard no more."""

    host: str


class OldWrite(Struct, frozen=True, tag="write", cache_hash=True):
    """Store this: a write from before its sender was removed; what it wrote is long deleted."""

    host: str


JoinMessage = (
    JoinNodeQuery
    | ModeReply
    | JoinNodeRequest
    | PlacedReply
    | RejectedReply
    | JoinNodeResponse
    | ResponseHandled
    | BannedNotice
    | OldWrite
)
