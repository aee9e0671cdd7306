"""Discovery with messages: every node asks whom it hears of, and one of them founds group 0.

Messages arrive in any order; a node may crash and start again at any moment.
Source: "Establishing group 0 in a fresh cluster".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from kit.engine.actors import ActorModel, ActorState, Post, Turn
from kit.engine.model import Property, Rule, always, goal, sometimes
from kit.engine.network import Envelope, NetworkOptions
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput, Refusal
from kit.protocols.group0.rules.discovery import (
    Names,
    Peers,
    admitting,
    answered_by,
    boot,
    founding,
    fresh,
    hearing,
    obstacle,
    restarted,
)
from kit.protocols.group0.rules.safeguards import DiscoverySafeguards
from kit.protocols.group0.safeguards import TRANSITIVE_CLOSURE

NAMES = "ABCDEFGHIJKL"
MOST_RESTARTS = 5
MOST_NAMED = 4
TITLE = "Discovery: one group 0 out of contact points"


class DiscoveryParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The contact points of each node, and what may go wrong."""

    seeds: Annotated[
        tuple[str, ...],
        Meta(
            description="for each node (A has the lowest Raft id) the contact points in its "
            "configuration: A B",
            extra_json_schema={"title": "seeds", "written": True},
        ),
    ] = ("A", "A", "A")
    restarts: Annotated[
        int, Meta(description="how often a node crashes and starts again", ge=0, le=MOST_RESTARTS)
    ] = 0
    losses: Annotated[
        int, Meta(description="how often a message is lost", ge=0, le=MOST_RESTARTS)
    ] = 0


class PeerRequest(Struct, frozen=True, tag="ask", cache_hash=True):
    """Whom do you know? These are the nodes that I know."""

    peers: Names


class PeerReply(Struct, frozen=True, tag="peers", cache_hash=True):
    """I have no group; these are the nodes that I know."""

    peers: Names


class GroupReply(Struct, frozen=True, tag="group", cache_hash=True):
    """There is a group 0; ask its founder to let you in."""

    group: str


class JoinRequest(Struct, frozen=True, tag="join", cache_hash=True):
    """Add me to the configuration of your group."""


class JoinReply(Struct, frozen=True, tag="joined", cache_hash=True):
    """You are a member of this group."""

    group: str


DiscoveryMessage = PeerRequest | PeerReply | GroupReply | JoinRequest | JoinReply


class FoundGroup(Struct, frozen=True, tag="found-group"):
    """A node founds group 0."""

    node: str


class AskAgain(Struct, frozen=True, tag="ask-again"):
    """A node that waits in vain asks once more: who has not answered, or else the lowest id."""

    node: str


class CrashAndStart(Struct, frozen=True, tag="crash-and-start"):
    """A node crashes and starts again, with what it had stored."""

    node: str


class DiscoveryActor:
    """One node: what it does when it starts, and on each message and decision."""

    def __init__(self, name: str, seeds: Names) -> None:
        """A node with its contact points."""
        self.name, self.seeds = name, seeds

    def begin(self) -> Turn:
        """It starts for the first time."""
        peers = fresh(self.name, self.seeds)
        return peers, _requests(peers, peers.unanswered)

    def step(self, state: Peers, event: Any) -> Turn:
        """What a message, or an event of its own, makes of it."""
        match event:
            case FoundGroup():
                return founding(state), ()
            case AskAgain():
                return state, _requests(state, state.unanswered or state.known[:1])
            case CrashAndStart():
                peers = restarted(state)
                member = boot(peers) == "saved state"
                return peers, () if member else _requests(peers, peers.unanswered)
        return _received(state, event)


def _received(state: Peers, envelope: Envelope[DiscoveryMessage]) -> Turn:
    source = envelope.source
    match envelope.message:
        case PeerRequest(peers) if state.group:
            return state, (Post(source, GroupReply(state.group)),)
        case PeerRequest(peers):
            after = hearing(state, (source, *peers))
            return after, (Post(source, PeerReply(after.known)), *_to_new(state, after))
        case PeerReply(peers) if not state.group:
            after = answered_by(state, source, peers)
            return after, _to_new(state, after)
        case GroupReply(group) if not (state.group or state.joining):
            return structs.replace(state, joining=group), (Post(group, JoinRequest()),)
        case JoinRequest() if state.group:
            return admitting(state, source), (Post(source, JoinReply(state.group)),)
        case JoinReply(group) if not state.group:
            return structs.replace(state, group=group, joining=""), ()
    return state, ()


def _requests(peers: Peers, targets: Names) -> tuple[Post, ...]:
    return tuple(Post(name, PeerRequest(peers.known)) for name in targets)


def _to_new(before: Peers, after: Peers) -> tuple[Post, ...]:
    """Requests to those that the node has just heard of; while it joins it asks nobody."""
    new = tuple(name for name in after.known if name not in before.known)
    return () if after.joining else _requests(after, new)


class Discovery(ActorModel):
    """Nodes without a group that find one another."""

    safeguards = (TRANSITIVE_CLOSURE,)
    faults = ("drop", "crash")
    rests_at_goals = True

    def __init__(
        self, parameters: DiscoveryParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A node for each entry of ``parameters.seeds``.

        Raises:
            BadInput: when a parameter is out of its limits, or a contact point is no node.
        """
        given = parameters or DiscoveryParameters()
        check_limits(given)
        self.seeds = seeds_of(given.seeds)
        self.closure = switched_off(DiscoverySafeguards, off).transitive_closure
        self.restarts = given.restarts
        super().__init__(
            "discovery",
            TITLE,
            tuple(DiscoveryActor(name, seeds) for name, seeds in self.seeds.items()),
            NetworkOptions(drops=given.losses),
            message=DiscoveryMessage,
        )
        self.parameters = given
        self.off = off
        self.properties = properties()

    def more_rules(self) -> tuple[Rule[ActorState, Any], ...]:
        """To found a group, to ask again, to crash and start."""
        return (
            paired(FoundGroup, "found", self._groupless(FoundGroup), self._may_found, self._event),
            paired(AskAgain, "ask again", self._groupless(AskAgain), self._may_ask, self._event),
            paired(CrashAndStart, "crash", self._crashes, self._may_crash, self._event),
        )

    def _event(self, s: ActorState, action: Any) -> ActorState:
        return self.advance(s, action.node, action)

    def _groupless(self, kind: Any) -> Any:
        """The nodes that neither have a group nor are about to."""
        return lambda s: [kind(n.name) for n in s.nodes if not (n.group or n.joining)]

    def peers(self, s: ActorState, name: str) -> Peers:
        """What a node knows."""
        peers = s.nodes[self.index[name]]
        assert isinstance(peers, Peers)
        return peers

    def _may_found(self, s: ActorState, action: FoundGroup) -> Refusal | None:
        return _no_founder(self.peers(s, action.node), self.closure)

    def _may_ask(self, s: ActorState, action: AskAgain) -> Refusal | None:
        peers = self.peers(s, action.node)
        targets = peers.unanswered or peers.known[:1]
        if _no_founder(peers, self.closure) is None:
            return Refusal(f"{action.node} has everybody's answer and the lowest Raft id")
        if all(_on_the_way(s, action.node, target) for target in targets):
            return Refusal(f"requests of {action.node} or their answers are on their way")
        return None

    def _crashes(self, s: ActorState) -> list[CrashAndStart]:
        return [CrashAndStart(name) for name in self.index] if self.restarts else []

    def _may_crash(self, s: ActorState, action: CrashAndStart) -> Refusal | None:
        spent = sum(peers.crashes for peers in s.nodes)
        return None if spent < self.restarts else Refusal("the budget of restarts is spent")

    # -- words -------------------------------------------------------------------------------------

    def verb(self, action: Any) -> str:
        """``found-group A``, ``ask-again B``, ``crash-and-start C``, and those of messages."""
        if isinstance(action, FoundGroup | AskAgain | CrashAndStart):
            return f"{type(action).__struct_config__.tag} {action.node}"
        return super().verb(action)

    def in_short(self, message: Any) -> str:
        """A message in the words of discovery: ``knows A,B``, ``joined group A``."""
        return _called(message)

    def in_full(self, message: Any) -> str:
        """A message with what it asks or answers."""
        return _in_full(message)

    def label(self, s: ActorState, action: Any) -> str:
        """The text of a button, with what a node is about to do."""
        if isinstance(action, FoundGroup | AskAgain | CrashAndStart):
            return f"{action.node} {_ABOUT_TO[type(action)]}"
        return super().label(s, action)

    def describe(self, before: ActorState, action: Any, after: ActorState) -> str:
        """What the step did, and why."""
        match action:
            case FoundGroup(name):
                everybody = ", ".join(self.peers(before, name).answered)
                return f"{name} has the lowest Raft id of {everybody}: it founds group 0."
            case AskAgain(name):
                peers = self.peers(before, name)
                targets = ", ".join(peers.unanswered or peers.known[:1])
                return f"{name} has no group yet and asks {targets} once more."
            case CrashAndStart(name):
                peers = self.peers(after, name)
                if boot(peers) == "saved state":
                    return f"{name} starts again, finds its group 0 id and runs no discovery."
                known = ", ".join(peers.known)
                return f"{name} starts again without a group; it has stored that it knows {known}."
        return super().describe(before, action, after)

    def suggest(self, s: ActorState) -> Any | None:
        """Messages first, then who may found, then who has to ask again; no faults."""
        enabled = (action for action in self.actions(s) if self.kind(action) not in self.faults)
        return next(enabled, None)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """A group is founded, or everybody is in one."""
        if isinstance(action, FoundGroup):
            return f"{action.node} founds a group"
        everybody = all(peers.group for peers in after.nodes)
        return "everybody in" if everybody and before.nodes != after.nodes else None


_ABOUT_TO: dict[type, str] = {
    FoundGroup: "founds group 0",
    AskAgain: "asks again",
    CrashAndStart: "crashes and starts again",
}


def _called(message: DiscoveryMessage) -> str:
    match message:
        case PeerRequest(peers):
            return f"ask: {_few(peers)}"
        case PeerReply(peers):
            return f"knows {_few(peers)}"
        case GroupReply(group):
            return f"group {group}"
        case JoinRequest():
            return "let me in"
        case JoinReply(group):
            return f"in group {group}"


def _few(names: Names) -> str:
    """Names, or how many they are where an arrow has no room for them."""
    return ",".join(names) if len(names) <= MOST_NAMED else f"{len(names)} nodes"


def _in_full(message: DiscoveryMessage) -> str:
    match message:
        case PeerRequest(peers):
            return f"a request for peers (it knows {', '.join(peers)})"
        case PeerReply(peers):
            return f"the answer with peers {', '.join(peers)}"
        case GroupReply(group):
            return f"the answer that there is group {group}"
        case JoinRequest():
            return "a request to be let in"
        case JoinReply(group):
            return f"the answer that it is in group {group}"


def seeds_of(lines: tuple[str, ...]) -> dict[str, Names]:
    """Each node with its contact points.

    Raises:
        BadInput: for no nodes or too many, or a contact point that is no node.
    """
    if not 1 <= len(lines) <= len(NAMES):
        raise BadInput("seeds", lines, f"contact points of 1 to {len(NAMES)} nodes")
    names = NAMES[: len(lines)]
    seeds = {
        name: tuple(sorted(set(line.split()))) for name, line in zip(names, lines, strict=True)
    }
    for name, points in seeds.items():
        for point in points:
            if point not in seeds:
                raise BadInput(f"seeds of {name}", point, f"one of {', '.join(names)}")
    return seeds


def groups(s: ActorState) -> Names:
    """The groups that were founded."""
    return tuple(peers.name for peers in s.nodes if peers.group == peers.name)


def properties() -> tuple[Property, ...]:
    """The promise, and what some state must show."""
    return (
        always("one-group", "At most one group 0 is founded", _one_group, "INV-ONEGROUP"),
        always("admitted", "Who has a group is a member of it", _admitted),
        sometimes("everybody", "Everybody is in a group", _everybody),
        goal("member", "Everybody can still get into a group", _everybody),
    )


@lru_cache(maxsize=1 << 12)
def _no_founder(peers: Peers, closure: bool) -> Refusal | None:
    """Why a node may not found the group; a search asks in each state of few that a node has."""
    why = obstacle(peers, closure=closure)
    return None if why is None else Refusal(why, missing=peers.unanswered)


def _on_the_way(s: ActorState, name: str, target: str) -> bool:
    """Whether a request of a node to another one, or its answer, can still arrive."""
    return any(
        (e.source, e.target) == (name, target)
        if isinstance(e.message, PeerRequest)
        else (e.source, e.target) == (target, name)
        for e in s.network.in_flight
    )


def _one_group(s: ActorState) -> str | None:
    founded = groups(s)
    return f"{' and '.join(founded)} have each founded a group" if len(founded) > 1 else None


def _admitted(s: ActorState) -> str | None:
    members = {peers.name: peers.members for peers in s.nodes}
    for peers in s.nodes:
        if peers.group and peers.name not in members[peers.group]:
            return f"{peers.name} is no member of the group of {peers.group}"
    return None


def _everybody(s: ActorState) -> bool:
    return all(peers.group for peers in s.nodes)
