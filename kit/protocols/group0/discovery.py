"""Discovery with messages: every node asks whom it hears of, and one of them founds group 0.

Messages arrive in any order; a node may crash and start again at any moment.
Source: "Establishing group 0 in a fresh cluster".
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.masks import where
from kit.model import declared
from kit.model.actors import ActorState, NetworkModel, Next, Post, Turn, receives
from kit.model.declared import Node, action, always, purpose, refused
from kit.model.network import Envelope, NetworkOptions
from kit.model.registry import Fuzzing, Scenario

Names = tuple[str, ...]
Boot = Literal["discovery", "saved state"]


class Peers(declared.State, frozen=True, cache_hash=True):
    """The peers that one node knows. Names are in order; the lowest Raft id comes first.

    ``known`` is its table ``discovery``, with itself. ``answered`` have told it whom they know.
    ``group`` is the id of its group 0 in ``scylla_local`` (the name of its founder; empty: none),
    ``joining`` that of the group that it has asked to let it in, ``members`` whom a founder let in.
    ``crashes`` counts how often it started again.
    """

    name: str
    known: Names
    answered: Names
    group: str = ""
    joining: str = ""
    members: Names = ()
    crashes: int = 0

    @property
    def unanswered(self) -> Names:
        """Those that it knows and that have not answered."""
        return tuple(name for name in self.known if name not in self.answered)

    @property
    def awaited(self) -> Names:
        """Those that it has to wait for, until it has found a group."""
        return () if self.group or self.joining else self.unanswered


def hearing(peers: Peers, names: Iterable[str]) -> Peers:
    """The node has heard of these nodes."""
    return peers.but(known=_with(peers.known, names))


def answered_by(peers: Peers, source: str, names: Iterable[str]) -> Peers:
    """A node has answered, and told whom it knows."""
    heard = hearing(peers, (source, *names))
    return heard.but(answered=_with(peers.answered, (source,)))


def restarted(peers: Peers) -> Peers:
    """The rest of a node after a crash: what it had stored."""
    return peers.but(answered=(peers.name,), joining="", crashes=peers.crashes + 1)


def boot(peers: Peers) -> Boot:
    """The first steps of a node: with a stored group 0 id it runs no discovery."""
    return "saved state" if peers.group else "discovery"


# A search asks in each state of few that a node has.
@lru_cache(maxsize=1 << 12)
def no_founder(peers: Peers, closure: bool) -> Refusal | None:
    """Why a node may not found the group now; None: it may.

    Without ``closure`` it does not wait for those that it knows, of whom it does not know the Raft
    id before they answer: it compares itself with those that have answered.
    """
    if peers.group or peers.joining:
        why = f"{peers.name} already has a group"
    elif closure and peers.awaited:
        why = f"{peers.name} is waiting for an answer from {', '.join(peers.awaited)}"
    elif (lowest := lowest_known(peers, closure)) != peers.name:
        why = f"{lowest} has a lower Raft id than {peers.name}"
    else:
        return None
    return refused(why, peers.unanswered)


def lowest_known(peers: Peers, closure: bool) -> str:
    """The lowest Raft id of all that a node knows; without ``closure``, of those that answered."""
    return min(peers.known if closure else peers.answered)


def makes_one_group(seeds: Mapping[str, Names]) -> bool:
    """Whether there is a node that every node reaches along contact points.

    Where there is none, two nodes may each find everybody that they can, and each found a group.
    """
    return any(all(target in _reached(seeds, name) for name in seeds) for target in seeds)


def _reached(seeds: Mapping[str, Names], start: str) -> set[str]:
    reached, ahead = {start}, [start]
    while ahead:
        new = set(seeds[ahead.pop()]) - reached
        reached |= new
        ahead += new
    return reached


def _with(names: Names, more: Iterable[str]) -> Names:
    return tuple(sorted({*names, *more}))


NAMES = "ABCDEFGHIJKL"
MOST_RESTARTS = 5
MOST_NAMED = 4


class PeerRequest(Struct, frozen=True, tag="ask", cache_hash=True):
    """Whom do you know? These are the nodes that I know."""

    why: ClassVar = "A new node asks for an existing group, and for more nodes to ask."
    peers: Names


class PeerReply(Struct, frozen=True, tag="peers", cache_hash=True):
    """I have no group; these are the nodes that I know."""

    why: ClassVar = "Nodes exchange the names that they know until all of them know the same nodes."
    peers: Names


class GroupReply(Struct, frozen=True, tag="group", cache_hash=True):
    """There is a group 0; ask its founder to let you in."""

    why: ClassVar = "A group already exists, so the node joins it and does not found another."
    group: str


class JoinRequest(Struct, frozen=True, tag="join", cache_hash=True):
    """Add me to the configuration of your group."""

    why: ClassVar = "A node is a member once it is in the group's configuration."


class JoinReply(Struct, frozen=True, tag="joined", cache_hash=True):
    """You are a member of this group."""

    why: ClassVar = "The node is in the group and no longer needs to ask."
    group: str


class Discovery(NetworkModel):
    """Nodes without a group that find one another. A node's state is what it knows: ``Peers``."""

    revision = 2
    name, title = "discovery", "Discovery: one group 0 from contact points"
    premise = (
        "Nodes that know few others must found one group, not two. Each node asks its "
        "peers for their peers. The node with the lowest id founds the group."
    )
    about = "The contact points of each node, and what can go wrong."
    rests_at_goals = True
    costs = (
        declared.Cost(
            "one-group",
            "Contact points that part the nodes let each part found a group.",
            "Raft in Scylla, Establishing group 0 in a fresh cluster",
            when=lambda m: not makes_one_group(m.contact_points),
        ),
    )

    seeds: tuple[str, ...] = declared.parameter(
        ("A", "A", "A"),
        "the contact points in each node's configuration: A B (A has the lowest Raft id)",
        title="seeds",
        written=True,
    )
    restarts: int = declared.budget(
        0, "how many times a node crashes and restarts", le=MOST_RESTARTS, own=False
    )
    losses: int = declared.budget(
        0, "how many times a message is lost", le=MOST_RESTARTS, own=False
    )

    transitive_closure: bool = declared.safeguard(
        "S-36",
        "A node hears from every node that it knows before it founds a group",
        ("INV-ONEGROUP",),
        smallest={"seeds": ("A", "A B")},
    )

    def set_up(self) -> None:
        """A node for each entry of ``seeds``. Raises BadInput when a contact point is no node."""
        self.contact_points = seeds_of(self.seeds)
        self.connect(tuple(self.contact_points), NetworkOptions(drops=self.losses))

    # -- a node and its messages -------------------------------------------------------------------

    def begin(self, node: str) -> Turn:
        """A node starts for the first time, and asks its contact points."""
        peers = Peers(node, _with((node,), self.contact_points[node]), (node,))
        return peers, requests(peers, peers.unanswered)

    @receives(PeerRequest)
    def hears_request(self, state: Peers, envelope: Envelope[PeerRequest]) -> Turn:
        """A node in a group names that; another one hears of the asker and whom that knows."""
        source = envelope.source
        if state.group:
            return state, (Post(source, GroupReply(state.group)),)
        after = hearing(state, (source, *envelope.message.peers))
        return after, (Post(source, PeerReply(after.known)), *_to_new(state, after))

    @receives(PeerReply)
    def hears_reply(self, state: Peers, envelope: Envelope[PeerReply]) -> Turn:
        """A node without a group has one answer more."""
        if state.group:
            return state, ()
        after = answered_by(state, envelope.source, envelope.message.peers)
        return after, _to_new(state, after)

    @receives(GroupReply)
    def hears_of_group(self, state: Peers, envelope: Envelope[GroupReply]) -> Turn:
        """A node without a group asks the founder to let it in."""
        if state.group or state.joining:
            return state, ()
        group = envelope.message.group
        return state.but(joining=group), (Post(group, JoinRequest()),)

    @receives(JoinRequest)
    def lets_in(self, state: Peers, envelope: Envelope[JoinRequest]) -> Turn:
        """A founder lets a node in: its group, of which others tell, outlives a crash."""
        after = state.but(members=_with(state.members, (envelope.source,)))
        return after, (Post(envelope.source, JoinReply(state.group)),)

    @receives(JoinReply)
    def is_let_in(self, state: Peers, envelope: Envelope[JoinReply]) -> Turn:
        """A node is in the group."""
        if state.group:
            return state, ()
        return state.but(group=envelope.message.group, joining=""), ()

    # -- what a node does on its own accord --------------------------------------------------------

    def _found_label(self, s: ActorState, action: Any) -> str:
        """Who knows of a lower Raft id will not found a group: it looks for one."""
        lowest = lowest_known(self.peers(s, action.node), self.transitive_closure)
        does = "founds" if lowest == action.node else "looks for"
        return f"{action.node} {does} group 0"

    @action(
        kind="found",
        each=lambda m, s: where(not (peers.group or peers.joining) for peers in s.nodes),
        label=_found_label,
    )
    @purpose("Only one node may found the group, or there would be two groups.")
    def found_group(self, s: ActorState, node: Node) -> Next:
        """{node} has the lowest Raft id of {everybody}: it founds group 0."""
        why = no_founder(s.nodes[node], self.transitive_closure)
        name = self.names[node]
        return why or self.turned(s, node, (s.nodes[node].but(group=name, members=(name,)), ()))

    @action(
        each=lambda m, s: where(not peers.group for peers in s.nodes), label="{node} asks again"
    )
    @purpose("Messages get lost, but a node without a group must still find one.")
    def ask_again(self, s: ActorState, node: Node) -> Next:
        """{node} has no group yet and asks {targets} again."""
        # The nodes that have not answered, or else the node with the lowest id; of a group that it
        # knows, the founder: to let it in.
        peers, name = s.nodes[node], self.names[node]
        if no_founder(peers, self.transitive_closure) is None:
            return refused(f"{name} has an answer from every node, and has the lowest Raft id")
        under_way = _under_way(s.network.in_flight)
        if all((name, target) in under_way for target in asked_again(peers)):
            return refused(f"requests from {name}, or answers to them, are on their way")
        if peers.joining:
            return self.turned(s, node, (peers, (Post(peers.joining, JoinRequest()),)))
        return self.turned(s, node, (peers, requests(peers, asked_again(peers))))

    @action(
        kind="crash",
        each=lambda m, s: (1 << len(m.names)) - 1 if m.restarts else 0,
        label="{node} crashes and restarts",
        says=lambda m, before, a, after: (
            "{node} restarts, finds its group 0 id and skips discovery."
            if boot(m.peers(after, a.node)) == "saved state"
            else "{node} restarts without a group; its disk lists {known}."
        ),
        fault=True,
        relied=True,  # whoever waits in vain is started again
    )
    @purpose("What the node stored before the crash must be enough to continue.")
    def crash_and_start(self, s: ActorState, node: Node) -> Next:
        """A node crashes and restarts with what it had stored."""
        if sum(peers.crashes for peers in s.nodes) >= self.restarts:
            return refused("the budget of restarts is spent")
        return self.turned(s, node, _started_again(s.nodes[node]))

    # -- properties --------------------------------------------------------------------------------

    @always("INV-ONEGROUP")
    def one_group(self, s: ActorState) -> str | None:
        """At most one group 0 is founded."""
        founded = groups(s)
        return f"{' and '.join(founded)} have each founded a group" if len(founded) > 1 else None

    @always()
    def admitted(self, s: ActorState) -> str | None:
        """A node that has a group is a member of it."""
        members = {peers.name: peers.members for peers in s.nodes}
        for peers in s.nodes:
            if peers.group and peers.name not in members[peers.group]:
                return f"{peers.name} is not in the group of {peers.group}"
        return None

    @declared.goal(name="member", title="Every node can still join a group")
    @declared.sometimes()
    def everybody(self, s: ActorState) -> bool:
        """Every node is in a group."""
        return all(peers.group for peers in s.nodes)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """A group is founded, or everybody is in one."""
        if isinstance(action, FoundGroup):
            return f"{action.node} founds a group"
        return "everybody in" if self.everybody(after) and before.nodes != after.nodes else None

    # -- words -------------------------------------------------------------------------------------

    def peers(self, s: ActorState, name: str) -> Peers:
        """The peers that a node knows."""
        peers: Peers = s.nodes[self.index[name]]
        return peers

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """Of a node who has answered it, whom it asks once more, and whom it knows."""
        if not isinstance(action, FoundGroup | AskAgain | CrashAndStart):
            return super().words(before, action, after)
        peers = self.peers(before, action.node)
        lists = {"everybody": peers.answered, "targets": asked_again(peers), "known": peers.known}
        return {name: ", ".join(names) for name, names in lists.items()}

    def in_short(self, message: Any) -> str:
        """A message in the words of discovery: ``knows A,B``, ``in group A``."""
        names = getattr(message, "peers", ())
        few = ",".join(names) if len(names) <= MOST_NAMED else f"{len(names)} nodes"
        return SAID[type(message)][0].format(few, getattr(message, "group", ""))

    def in_full(self, message: Any) -> str:
        """A message with what it asks or answers."""
        names = ", ".join(getattr(message, "peers", ()))
        return SAID[type(message)][1].format(names, getattr(message, "group", ""))


SAID: dict[type, tuple[str, str]] = {
    PeerRequest: ("ask: {0}", "a request for peers (known: {0})"),
    PeerReply: ("knows {0}", "the answer with its peers {0}"),
    GroupReply: ("group {1}", "the answer “group {1} exists”"),
    JoinRequest: ("let me in", "a request to join the group"),
    JoinReply: ("in group {1}", "the answer “in group {1}”"),
}
"""Messages in short, where names that an arrow has no room for are counted, and in full."""

_, FoundGroup, AskAgain, CrashAndStart, *_ = Discovery.acts


def seeds_of(lines: tuple[str, ...]) -> dict[str, Names]:
    """Each node with its contact points.

    Raises BadInput for no nodes or too many, or a contact point that is no node.
    """
    if not 1 <= len(lines) <= len(NAMES):
        raise BadInput("seeds", lines, f"contact points for 1 to {len(NAMES)} nodes")
    names = NAMES[: len(lines)]
    seeds = {
        name: tuple(sorted(set(line.split()))) for name, line in zip(names, lines, strict=True)
    }
    for name, points in seeds.items():
        for point in (point for point in points if point not in seeds):
            raise BadInput(f"seeds of {name}", point, f"one of {', '.join(names)}")
    return seeds


def groups(s: ActorState) -> Names:
    """The groups that were founded."""
    return tuple(peers.name for peers in s.nodes if peers.group == peers.name)


def requests(peers: Peers, targets: Names) -> tuple[Post, ...]:
    """The requests of a node to others."""
    return tuple(Post(name, PeerRequest(peers.known)) for name in targets)


@lru_cache(maxsize=1 << 12)
def asked_again(peers: Peers) -> Names:
    """Whom a node asks once more: a founder, who has not answered, or else the lowest id."""
    return (peers.joining,) if peers.joining else peers.unanswered or peers.known[:1]


def _to_new(before: Peers, after: Peers) -> tuple[Post, ...]:
    new = tuple(name for name in after.known if name not in before.known)
    return () if after.joining else requests(after, new)


@lru_cache(maxsize=1 << 6)  # asked for each node of a state
def _under_way(in_flight: tuple[Envelope[Any], ...]) -> frozenset[tuple[str, str]]:
    """The requests that can still arrive, or whose answers can: from whom, and to whom."""
    return frozenset(
        (e.source, e.target)
        if isinstance(e.message, PeerRequest | JoinRequest)
        else (e.target, e.source)
        for e in in_flight
    )


@lru_cache(maxsize=1 << 12)
def _started_again(peers: Peers) -> Turn:
    after = restarted(peers)
    return after, requests(after, after.unanswered) if boot(after) == "discovery" else ()


def _peers(m: Discovery, s: ActorState, _: str) -> str:
    return "\n".join(
        f"{p.name}: knows {', '.join(p.known)}"
        + (f"; waits for {', '.join(p.awaited)}" if p.awaited else "")
        for p in s.nodes
    )


def table_line(peers: Peers) -> str:
    """The node's stored data, and what it would do at its next start."""
    known, group = ", ".join(peers.known), peers.group or "no row"
    return f"{peers.name}: discovery {known}; raft_group0_id {group}; starts with {boot(peers)}"


ENTRY = declared.entry(
    Discovery,
    scenarios=(
        Scenario(
            "three-nodes",
            (
                "Three new nodes find each other. All have A as their "
                "contact point, and they form one group"
            ),
        ),
        Scenario(
            "chain",
            "Each node knows one other. They keep asking until they know all of them",
            {"seeds": ("B", "C", "D", "D")},
        ),
        Scenario(
            "two-groups",
            "Two groups form by mistake. With these seeds, A and B know only themselves",
            {"seeds": ("A", "B", "A B")},
            script=("found-group A", "found-group B"),
        ),
        Scenario(
            "restart",
            "A member restarts. It finds its group 0 id and skips discovery",
            {"seeds": ("A", "A"), "restarts": 1},
        ),
        Scenario("twelve", "Twelve nodes start at the same time", {"seeds": ("A",) * 12}),
    ),
    scenario_output={
        "peers": _peers,
        "tables": lambda m, s, _: "\n".join(map(table_line, s.nodes)),
    },
    fuzzing=Fuzzing(
        {"seeds": ("B", "C", "D", "E", "E A"), "restarts": 2, "losses": 3}, {"crash": 0.05}
    ),
)
