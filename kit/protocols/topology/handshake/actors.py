"""Who takes part in a join, each as a node state machine: members, the joiner, a removed node.

What they say to each other stands in ``messages``.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.actors import Post, Turn
from kit.engine.network import Envelope
from kit.protocols.topology.handshake.actions import StartAgain, WakeUp, WipeAndStart
from kit.protocols.topology.handshake.messages import (
    ACCEPTED,
    GROUP0,
    JOINER,
    REMOVED,
    BannedNotice,
    JoinNodeQuery,
    JoinNodeResponse,
    ModeReply,
    OldWrite,
    PlacedReply,
    RejectedReply,
    ResponseHandled,
)
from kit.protocols.topology.rules.joining import (
    FEATURE,
    JoinNodeRequest,
    JoinSetting,
    JoinTables,
    Names,
    is_banned,
    rejection,
)

NOTHING_READ = JoinTables((), ())
"""What a member knows of group 0 before it has read it."""


class MemberState(Struct, frozen=True, cache_hash=True):
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


class MemberActor:
    """A member of group 0, which may be the coordinator."""

    def __init__(self, name: str, up: bool, left: Names, setting: JoinSetting) -> None:
        """A member that knows who has ``left``."""
        self.name, self.setting = name, setting
        self._first = MemberState(name, up, banned=left)

    def begin(self) -> Turn:
        """It is in the cluster and has nothing to do."""
        return self._first, ()

    def step(self, state: MemberState, event: Any) -> Turn:
        """What a message, or its own answer to a request, makes of it."""
        if not state.up:
            return state, ()
        if isinstance(event, RequestChecked):
            return _answered(state, event)
        if isinstance(event, VerdictDue):
            return _responded(state, event)
        return self._received(state, event.source, event.message)

    def _received(self, state: MemberState, source: str, message: Any) -> Turn:
        host = getattr(message, "host", "")
        if is_banned(state.banned, host, isinstance(message, OldWrite), self.setting):
            return state, (Post(source, BannedNotice(host)),)
        match message:
            case JoinNodeQuery(_, call):
                return state, (Post(source, ModeReply(call, "raft")),)
            case JoinNodeRequest() if why := self._mismatch(message):
                return state, (Post(source, RejectedReply(message.call, why)),)
            case JoinNodeRequest():
                return replace(state, handling=(*state.handling, message)), ()
            case ResponseHandled() if state.call == "sent":
                return replace(state, call="handled"), ()
            case OldWrite():
                return replace(state, stored=True), ()
        return state, ()

    def _mismatch(self, asks: JoinNodeRequest) -> str:
        """Why it turns a request away by its own configuration; empty: it does not."""
        return rejection("receiver", NOTHING_READ, asks, (), self.setting)


class RequestChecked(Struct, frozen=True):
    """A member has looked at group 0 for the request that it took first: the reason, or none."""

    reason: str


class VerdictDue(Struct, frozen=True):
    """The coordinator sends its verdict on a host id."""

    host: str
    verdict: str


def _answered(state: MemberState, event: RequestChecked) -> Turn:
    request, *others = state.handling
    call = request.call
    reply = RejectedReply(call, event.reason) if event.reason else PlacedReply(call)
    return replace(state, handling=tuple(others)), (Post(JOINER, reply),)


def _responded(state: MemberState, event: VerdictDue) -> Turn:
    call: Literal["", "sent"] = "sent" if event.verdict == ACCEPTED else ""
    response = JoinNodeResponse(event.host, event.verdict)
    return replace(state, call=call, owes=()), (Post(JOINER, response),)


class JoinerState(Struct, frozen=True, cache_hash=True):
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


class OutcomeSeen(Struct, frozen=True):
    """What an accepted joiner sees in group 0: whether it is normal, or has left."""

    normal: bool


class Unanswered(Struct, frozen=True):
    """What makes a joiner give up."""

    reason: str


class JoinerActor:
    """The node that wants to join, by one contact point."""

    def __init__(self, contact: str, asks: JoinNodeRequest, setting: JoinSetting) -> None:
        """A node that will ask what ``asks`` says, with its own host id and call."""
        self.name, self.contact, self.asks = JOINER, contact, asks
        self.ordered = setting.safeguards.join_message_order

    def begin(self) -> Turn:
        """It knows from discovery that there is a group, and asks how to join."""
        return self._started(JoinerState(1, 1, "asking", self.asks.features))

    def step(self, state: JoinerState, event: Any) -> Turn:
        """What a message, or an event of its own, makes of it."""
        match event:
            case StartAgain(drop):
                return self._again(state, drop)
            case WipeAndStart():
                features = self.asks.features
                return self._started(
                    JoinerState(state.boot + 1, state.disk + 1, "asking", features)
                )
            case Unanswered(reason):
                return _stopped(state, reason), ()
            case OutcomeSeen(True):
                return replace(state, status="normal"), ()
            case OutcomeSeen(False):
                return _stopped(state, "not-accepted"), ()
            case Envelope() if state.status != "stopped":
                return self._received(state, event.source, event.message)
        return state, ()

    def _started(self, state: JoinerState) -> Turn:
        return state, (Post(self.contact, JoinNodeQuery(state.host, state.boot)),)

    def _again(self, state: JoinerState, drop: bool) -> Turn:
        state = replace(state, boot=state.boot + 1, parked=(), reason="")
        if state.attempt:
            return state, ()  # it has stored group 0's id, and starts from what it has stored
        features = tuple(f for f in state.features if not drop or f != FEATURE)
        return self._started(replace(state, status="asking", features=features))

    def _received(self, state: JoinerState, source: str, message: Any) -> Turn:
        match message:
            case ModeReply(call) if state.status == "asking" and call == state.boot:
                host, features = state.host, state.features
                asks = replace(self.asks, host=host, call=call, features=features)
                return replace(state, status="requesting"), (Post(self.contact, asks),)
            case PlacedReply(call) if state.status == "requesting" and call == state.boot:
                return self._told_to_wait(replace(state, status="waiting"))
            case RejectedReply(call, reason) if state.status == "requesting" and call == state.boot:
                return _stopped(state, reason), ()
            case BannedNotice(host) if host == state.host:
                return _stopped(state, "banned"), ()
            case JoinNodeResponse(host, verdict) if host == state.host:
                return self._response(state, source, verdict)
        return state, ()

    def _told_to_wait(self, state: JoinerState) -> Turn:
        if not state.parked:
            return state, ()
        coordinator, verdict = state.parked
        return _judged(replace(state, parked=()), coordinator, verdict)

    def _response(self, state: JoinerState, source: str, verdict: str) -> Turn:
        """S-37: a response that comes before the joiner was told to wait is not handled then."""
        if self.ordered and state.status in ("asking", "requesting"):
            return replace(state, parked=(source, verdict)), ()
        return _judged(state, source, verdict)


def _judged(state: JoinerState, coordinator: str, verdict: str) -> Turn:
    if verdict != ACCEPTED:
        return (state if state.attempt else _stopped(state, verdict)), ()
    handled = (Post(coordinator, ResponseHandled(state.host)),)
    if state.attempt:
        return state, handled
    return replace(state, status="accepted", attempt=state.boot), handled


def _stopped(state: JoinerState, reason: str) -> JoinerState:
    return replace(state, status="stopped", parked=(), attempt=0, reason=reason)


def runs_group0(state: JoinerState, setting: JoinSetting) -> bool:
    """Whether the joiner's group 0 server runs: once it was told to wait (S-37, its other half)."""
    running = ("waiting", "accepted", "normal")
    early = () if setting.safeguards.join_message_order else ("asking", "requesting")
    return state.status in (*running, *early)


class RemovedState(Struct, frozen=True, cache_hash=True):
    """A node that was removed while it was cut off: whether it has sent its old write."""

    awake: bool = False
    banned: bool = False


class RemovedActor:
    """A node that was removed, and does not know it."""

    name = REMOVED

    def begin(self) -> Turn:
        """It is cut off."""
        return RemovedState(), ()

    def step(self, state: RemovedState, event: Any) -> Turn:
        """It sends its old write; it may be told that it is banned."""
        if isinstance(event, WakeUp):
            return replace(state, awake=True), (Post("A", OldWrite(REMOVED)),)
        banned = isinstance(event.message, BannedNotice)
        return replace(state, banned=state.banned or banned), ()


class TablesActor:
    """What group 0 holds, as one place: its log is another model's."""

    name = GROUP0

    def __init__(self, tables: JoinTables) -> None:
        """Tables to begin with."""
        self._first = tables

    def begin(self) -> Turn:
        """The tables of the cluster before the join."""
        return self._first, ()

    def step(self, state: JoinTables, event: Any) -> Turn:
        """Nobody sends it a message: nodes read and change it in steps of their own."""
        return state, ()
