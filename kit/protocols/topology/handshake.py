"""What nodes say to each other, and hold, while one of them joins.

JOIN_NODE_QUERY and its answer ``mode``; JOIN_NODE_REQUEST and its answers ``placed`` and
``rejected``; JOIN_NODE_RESPONSE and its answer ``handled``. An answer carries the number of its
call, as an answer comes on the connection of its call; a response is a call of its own.
Source: Topology over Raft, "Join procedure" and "Choosing how to join a cluster".
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.engine.actors import ActorState
from kit.engine.declared import State
from kit.protocols.topology.rules.joining import (
    JoinNodeRequest,
    JoinSetting,
    JoinTables,
    Names,
    moved,
)

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


class MemberState(State, frozen=True, cache_hash=True):
    """A member: what it does now, which a crash ends, and what it has stored.

    ``handling`` are requests to join that it has taken and not answered. As a coordinator: ``call``
    is where its accepting response stands; ``owes`` the host id, and the reason, of a rejecting one
    that it has not sent. ``banned`` are host ids that have left; ``stored``: it has stored an old
    write; ``outages`` counts how often it started again.
    """

    name: str
    up: bool = True
    handling: tuple[JoinNodeRequest, ...] = ()
    call: Literal["", "sent", "handled"] = ""
    owes: Names = ()
    banned: Names = ()
    stored: bool = False
    outages: int = 0


class JoinerState(State, frozen=True, cache_hash=True):
    """The joiner: its process and its disk.

    ``boot`` counts starts of the process, which number its calls; ``disk`` the data directories,
    each with a host id of its own. ``parked`` is a verdict that came before it was told to wait,
    behind the coordinator that sent it.
    ``attempt`` is the boot in which it was accepted (0: it was not); it has stored that, and so
    has it group 0's id. ``reason`` says why it stopped.
    """

    boot: int
    disk: int
    status: Literal["asking", "requesting", "waiting", "accepted", "normal", "stopped"]
    features: Names
    parked: Names = ()
    attempt: int = 0
    reason: str = ""

    @property
    def host(self) -> str:
        """Its host id."""
        return f"{JOINER}{self.disk}"


class RemovedState(State, frozen=True, cache_hash=True):
    """A node that was removed while it was cut off: whether it has sent its old write."""

    awake: bool = False
    banned: bool = False


# The nodes of a state are what group 0 holds, the members, the joiner, and a removed node, if any.


def tables(s: ActorState) -> JoinTables:
    """What group 0 holds."""
    first: JoinTables = s.nodes[0]
    return first


def members(s: ActorState) -> tuple[MemberState, ...]:
    """Every member, in the order of names."""
    return s.nodes[1 : -1 if removed(s) is None else -2]


def coordinator(s: ActorState) -> MemberState:
    """The member that coordinates; there has to be one."""
    leader = tables(s).coordinator
    return next(each for each in members(s) if each.name == leader)


def joiner(s: ActorState) -> JoinerState:
    """The joiner's process and disk."""
    last: JoinerState = s.nodes[-1 if removed(s) is None else -2]
    return last


def removed(s: ActorState) -> RemovedState | None:
    """The removed node, where there is one."""
    last = s.nodes[-1]
    return last if type(last) is RemovedState else None


def up(s: ActorState) -> Names:
    """The members that are up."""
    return tuple([each.name for each in members(s) if each.up])


def with_tables(s: ActorState, after: JoinTables) -> ActorState:
    """The state with other tables."""
    return ActorState((after, *s.nodes[1:]), s.network)


def with_member(s: ActorState, after: MemberState) -> ActorState:
    """The state with another state of one member."""
    place = next(i for i, each in enumerate(members(s), 1) if each.name == after.name)
    return ActorState((*s.nodes[:place], after, *s.nodes[place + 1 :]), s.network)


def left(s: ActorState, host: str, why: str = "") -> ActorState:
    """The state once a host id has left: every member refuses it from then on."""
    s = with_tables(s, moved(tables(s), host, "left", why))
    for each in members(s):
        s = with_member(s, each.but(banned=(*each.banned, host)))
    return s


def verdict_due(s: ActorState) -> Names:
    """The host id, and the verdict on it, that the coordinator has to send next; empty: none."""
    state, joining = coordinator(s), tables(s).joining
    if state.owes:
        return state.owes
    added = joining is not None and joining.host in tables(s).members
    return (joining.host, ACCEPTED) if joining and added and not state.call else ()


def runs_group0(state: JoinerState, setting: JoinSetting) -> bool:
    """Whether the joiner's group 0 server runs: once it was told to wait (S-37, its other half)."""
    running = ("waiting", "accepted", "normal")
    early = () if setting.safeguards.join_message_order else ("asking", "requesting")
    return state.status in (*running, *early)
