"""The join handshake with messages: how a node gets from its first call into group 0.

Messages are lost, copied and late; the joiner crashes and comes back, members restart, and another
coordinator takes over. What a node reads in group 0 and the command that it then commits are one
step: the guard makes it so (model ``group0``). What follows the handshake is model ``topology``.
Sources: Topology over Raft, "Join procedure", "The procedure" and "Choosing how to join a cluster";
blog post on 6.0, on features and host ids; published code, ``join_node_request_handler``,
``validate_joining_node`` and ``finish_accepting_node``.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from msgspec.structs import replace

from kit.errors import BadInput
from kit.masks import mask_of, where
from kit.model import declared
from kit.model.actors import ActorState, NetworkModel, Next, Post, Turn, receives
from kit.model.declared import Node, Travel, action, always, budget, parameter, purpose, refused
from kit.model.network import DeliverMessage, Envelope, NetworkOptions, posted
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.topology.handshake import (
    ACCEPTED,
    CHECKS,
    CLUSTER,
    FEATURE,
    GROUP0,
    JOINER,
    JOINING,
    REASONS,
    REMOVED,
    SNITCH,
    BannedNotice,
    JoinNodeQuery,
    JoinNodeRequest,
    JoinNodeResponse,
    JoinRow,
    JoinTables,
    ModeReply,
    Names,
    OldWrite,
    PlacedReply,
    RejectedReply,
    ResponseHandled,
    moved,
    placed,
    request_in,
)
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import FIRST_RACK
from kit.protocols.topology.rules.requests import racks_of

MOST_MEMBERS = MOST_FAULTS = 5
WRITTEN: Any = {"written": True}
NO_COORDINATOR = refused("there is no coordinator")


class MemberState(declared.State, frozen=True, cache_hash=True):
    """A member: what it does now, which a crash ends, and what it has stored.

    ``handling`` are requests to join that it has taken and not answered. As a coordinator: ``call``
    is where its accepting response stands; ``owes`` the host id, and the reason, of a rejecting one
    that it has not sent. ``banned`` are host ids that have left, or that a replace gave up (edition
    ``server``); ``stored``: it has stored an old
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


class JoinerState(declared.State, frozen=True, cache_hash=True):
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


class RemovedState(declared.State, frozen=True, cache_hash=True):
    """A node that was removed while it was cut off: whether it has sent its old write."""

    awake: bool = False
    banned: bool = False


# The nodes of a state are what group 0 holds, the members, the joiner, and a removed node, if any.


def tables(s: ActorState) -> JoinTables:
    """The tables of group 0."""
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
    return banning(with_tables(s, moved(tables(s), host, "left", why)), (host,))


def banning(s: ActorState, hosts: Names) -> ActorState:
    """The state in which every member refuses these host ids, too."""
    for each in members(s) if hosts else ():
        fresh = (host for host in hosts if host not in each.banned)
        s = with_member(s, each.but(banned=(*each.banned, *fresh)))
    return s


def verdict_due(s: ActorState) -> Names:
    """The host id, and the verdict on it, that the coordinator has to send next; empty: none."""
    state, joining = coordinator(s), tables(s).joining
    if state.owes:
        return state.owes
    if joining is None or state.call or joining.host not in tables(s).members:
        return ()
    return joining.host, ACCEPTED


Drop: TypeAlias = Annotated[
    bool, declared.Each((False, True), lambda drop: f" without {FEATURE}" if drop else "")
]


class Join(NetworkModel):
    """Members A, B and so on, of which A coordinates, and the joiner N."""

    shared = (GROUP0,)
    revision = 2
    name, title = "join", "The join handshake: a node asks to join"
    premise = (
        "A new node asks to join, and the coordinator checks it. Group 0 (g0) keeps the table of "
        "nodes. The coordinator wears the crown."
    )
    about = "Members A, B and so on (A coordinates), the joiner N, and what can go wrong."
    rests_at_goals = True
    costs = (
        declared.Cost(
            "ends",
            "The request of a joiner whose data directory was cleared is tried again forever, and "
            "everybody behind it waits: giving it up is not implemented yet.",
            "Topology over Raft, Join procedure",
            when=lambda m: m.edition == "documents" and m.wipes > 0,
            where=lambda m, s: orphaned(s) is not None,
        ),
    )

    edition: Edition = parameter("documents", "the documents, or the published server")
    nodes: int = parameter(2, "how many members there are at the start", ge=1, le=MOST_MEMBERS)
    cluster: str = parameter(
        CLUSTER, f"the cluster that the joiner's configuration names ({CLUSTER})"
    )
    snitch: str = parameter(SNITCH, f"the snitch that the joiner's configuration names ({SNITCH})")
    supports: bool = parameter(True, f"the joiner supports feature {FEATURE}, as members do")
    enabled: bool = parameter(True, f"feature {FEATURE} is enabled from the start")
    replaces: str = parameter("", "the member that the joiner replaces (empty: none)")
    ignores: tuple[str, ...] = parameter(
        (), "other dead members to ignore while the joiner replaces one", **WRITTEN
    )
    racks: tuple[str, ...] = parameter(
        (), "the rack of each node, members first, then the joiner: dc1/r1 dc1/r2", **WRITTEN
    )
    zero_tokens: tuple[str, ...] = parameter(
        (), "nodes that own no tokens: members or N", **WRITTEN
    )
    down: tuple[str, ...] = parameter((), "the members that are down", **WRITTEN)
    removed: bool = parameter(
        False, "the joiner's host id has already been removed from the cluster"
    )
    zombie: bool = parameter(False, "a removed node, Z, wakes up with an old write to A")
    restarts: int = budget(
        0, "how many times the joiner can crash and restart", le=MOST_FAULTS, own=False
    )
    downgrades: bool = parameter(False, f"the joiner can restart without feature {FEATURE}")
    wipes: int = budget(
        0, "how many times the joiner's data directory can be cleared", le=MOST_FAULTS, own=False
    )
    outages: int = budget(
        0, "how many times a member can crash and restart", le=MOST_FAULTS, own=False
    )
    losses: int = budget(0, "how many times a message can be lost", le=MOST_FAULTS, own=False)
    copies: int = budget(0, "how many times a message can be duplicated", le=MOST_FAULTS, own=False)

    join_message_order: bool = declared.safeguard(
        "S-37",
        "A joiner accepts a verdict or group 0's log only after it was told to wait",
        ("INV-MEMBER",),
        smallest={"nodes": 1, "restarts": 1},
    )
    features_with_joins: bool = declared.safeguard(
        "S-38",
        "A feature is enabled only between joins",
        ("INV-FEAT",),
        smallest={"nodes": 1, "supports": False, "enabled": False},
    )
    host_id_handshake: bool = declared.safeguard(
        "S-39",
        "A host id that has left is refused in the handshake",
        ("INV-OWN", "INV-NORES"),
        smallest={"nodes": 1, "zombie": True},
    )
    refuse_left: bool = declared.safeguard(
        "S-56",
        "A host id that has left cannot join again",
        ("INV-MEMBER",),
        smallest={"edition": "documents", "nodes": 1, "removed": True},
    )

    def set_up(self) -> None:
        """Group 0's tables are a node to which nobody sends. BadInput for a name of no member."""
        names = tuple("ABCDE"[: self.nodes])
        _among(names[1:], self.down, "down")
        replaced = _among((*names, REMOVED), tuple(filter(None, (self.replaces,))), "replaces")
        features = (FEATURE,) if self.supports else ()
        ignores = _among(names[1:], self.ignores, "ignores")
        zero = _among((*names, JOINER), self.zero_tokens, "zero_tokens")
        racks = racks_of(self.racks, self.nodes + 1)
        place = racks[-1] or FIRST_RACK, JOINER in zero
        own = self.cluster, self.snitch, features, replaced, ignores
        self.asks = JoinNodeRequest("", 0, *own, *place)
        self.contact = [name for name in names if name not in self.down][-1]
        gone = [f"{JOINER}1"] * self.removed + [REMOVED] * self.zombie
        rows = (
            *(
                JoinRow(
                    name, "normal", (FEATURE,), rack=rack or FIRST_RACK, zero_token=name in zero
                )
                for name, rack in zip(names, racks, strict=False)
            ),
            *(JoinRow(name, "left", (FEATURE,)) for name in gone),
        )
        self.gone = tuple(gone)
        self.tables = JoinTables(rows, names, (FEATURE,) if self.enabled else (), "A")
        options = NetworkOptions(drops=self.losses, duplicates=self.copies)
        self.connect((GROUP0, *names, JOINER, *[REMOVED] * self.zombie), options)

    def rejection(self, by: str, tables: JoinTables, asks: JoinNodeRequest, up: Names) -> str:
        """The first check of one kind that fails; empty: none does."""
        for check in CHECKS:
            off = check.reason == "removed" and not self.refuse_left
            off = off or not check.is_made(self.edition)
            if check.by == by and not off and check.fails(tables, asks, up):
                return check.reason
        return ""

    def is_down(self, s: ActorState, node: str) -> bool:
        """Whether a member is down, or the joiner has stopped."""
        state = s.nodes[self.index[node]]
        is_stopped = isinstance(state, JoinerState) and state.status == "stopped"
        return is_stopped or (isinstance(state, MemberState) and not state.up)

    def runs_group0(self, state: JoinerState) -> bool:
        """Whether the joiner's group 0 server runs: once it was told to wait (S-37, too)."""
        early = () if self.join_message_order else ("asking", "requesting")
        return state.status in ("waiting", "accepted", "normal", *early)

    # -- a node and its messages -------------------------------------------------------------------

    def begin(self, node: str) -> Turn:
        """Members have nothing to do; the joiner knows from discovery that there is a group."""
        if node == JOINER:
            return self.started(JoinerState(1, 1, "asking", self.asks.features))
        if node == REMOVED:
            return RemovedState(), ()
        if node == GROUP0:
            return self.tables, ()
        return MemberState(node, node not in self.down, banned=self.gone), ()

    def receive(self, state: Any, envelope: Envelope[Any]) -> Turn:
        """Who is down, or has stopped, hears nothing; a member refuses whom it knows as banned."""
        if isinstance(state, MemberState):
            message, host = envelope.message, getattr(envelope.message, "host", "")
            if not state.up:
                return state, ()
            # S-39; edition documents still hears who asks to join, and says that it was removed.
            refuses = self.edition == "server" or isinstance(message, OldWrite)
            if self.host_id_handshake and host in state.banned and refuses:
                return state, (Post(envelope.source, BannedNotice(host)),)
        if isinstance(state, JoinerState) and state.status == "stopped":
            return state, ()
        return super().receive(state, envelope)

    def newest_epoch(self, s: ActorState) -> int:
        """The number of the joiner's start."""
        return joiner(s).boot

    def started(self, state: JoinerState) -> Turn:
        """The joiner asks its contact point how to join."""
        return state, (Post(self.contact, JoinNodeQuery(state.host, state.boot)),)

    @receives(JoinNodeQuery)
    def queried(self, state: MemberState, envelope: Envelope[JoinNodeQuery]) -> Turn:
        """A member says that one joins by Raft."""
        return state, (Post(envelope.source, ModeReply(envelope.message.call, "raft")),)

    @receives(ModeReply)
    def told_the_mode(self, state: JoinerState, envelope: Envelope[ModeReply]) -> Turn:
        """The joiner makes its request."""
        if state.status != "asking" or envelope.message.call != state.boot:
            return state, ()
        asks = replace(self.asks, host=state.host, call=state.boot, features=state.features)
        return state.but(status="requesting"), (Post(self.contact, asks),)

    @receives(JoinNodeRequest)
    def requested(self, state: MemberState, envelope: Envelope[JoinNodeRequest]) -> Turn:
        """A member turns a request away by its own configuration, or takes it."""
        asks = envelope.message
        if why := self.rejection("receiver", JoinTables((), ()), asks, ()):
            return state, (Post(envelope.source, RejectedReply(asks.call, why)),)
        return state.but(handling=(*state.handling, asks)), ()

    @receives(PlacedReply)
    def told_to_wait(self, state: JoinerState, envelope: Envelope[PlacedReply]) -> Turn:
        """The joiner waits; a verdict that came too early is heard now."""
        if state.status != "requesting" or envelope.message.call != state.boot:
            return state, ()
        state = state.but(status="waiting")
        if not state.parked:
            return state, ()
        source, verdict = state.parked
        return _after_verdict(state.but(parked=()), source, verdict)

    @receives(RejectedReply)
    def rejected(self, state: JoinerState, envelope: Envelope[RejectedReply]) -> Turn:
        """The joiner stops."""
        if state.status != "requesting" or envelope.message.call != state.boot:
            return state, ()
        return _stopped(state, envelope.message.reason), ()

    @receives(JoinNodeResponse)
    def responded(self, state: JoinerState, envelope: Envelope[JoinNodeResponse]) -> Turn:
        """S-37: a response that comes before the joiner was told to wait is not handled then."""
        source, verdict = envelope.source, envelope.message.verdict
        if envelope.message.host != state.host:
            return state, ()
        if self.join_message_order and state.status in ("asking", "requesting"):
            return state.but(parked=(source, verdict)), ()
        return _after_verdict(state, source, verdict)

    @receives(ResponseHandled)
    def handled(self, state: MemberState, envelope: Envelope[ResponseHandled]) -> Turn:
        """The coordinator that waits for it knows that the joiner goes on."""
        return (state.but(call="handled") if state.call == "sent" else state), ()

    @receives(BannedNotice)
    def banned(self, state: JoinerState | RemovedState, envelope: Envelope[BannedNotice]) -> Turn:
        """Who is banned stops, or knows it."""
        if isinstance(state, RemovedState):
            return state.but(banned=True), ()
        own = envelope.message.host == state.host
        return (_stopped(state, "banned") if own else state), ()

    @receives(OldWrite)
    def written(self, state: MemberState, envelope: Envelope[OldWrite]) -> Turn:
        """A member stores what it is told to."""
        return state.but(stored=True), ()

    # -- members and the coordinator, with group 0 -------------------------------------------------

    def _led(self, s: ActorState, action: Any) -> str:
        return tables(s).coordinator

    def _rows_sent(self, before: ActorState, action: Any, after: ActorState) -> Iterator[Travel]:
        node = getattr(action, "node", "") or lead(before)
        if len(tables(after).members) > len(tables(before).members):
            yield Travel("entry", node, GROUP0, f"add {tables(after).members[-1]}")
        for row in tables(after).rows:
            if row not in tables(before).rows:
                what = f"{row.host} asks" if row.state == "none" else f"{row.host} {row.state}"
                yield Travel("entry", node, GROUP0, what)

    def _place_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        for row in tables(after).rows:
            if row not in tables(before).rows:
                queued = f"{{node}} puts {row.host}'s request into the queue"
                stored = f" It has verified and stored: {row.verified}." * bool(row.verified)
                return f"{queued} and tells it to wait.{stored}"
        [answer] = posted(before.network, action, after.network)
        return f"{{node}} rejects the request: {REASONS[answer.message.reason]}."

    @action(
        tag="place",
        each=lambda m, s: where(bool(getattr(state, "handling", ())) for state in s.nodes),
        label="{node} checks the request with group 0",
        says=_place_words,
        travels=_rows_sent,
    )
    @purpose("A request in the tables outlives the node that put it there.")
    def place_request(self, s: ActorState, node: Node) -> Next:
        """A member checks a request with group 0, queues it, and answers the joiner."""
        asks, *others = s.nodes[node].handling
        if not (why := self.rejection("placing", tables(s), asks, up(s))):
            s = with_tables(s, placed(tables(s), asks, self.edition))
            # Who is given up is in ``ignore_nodes`` with the request, and banned from then on.
            given_up = () if self.edition == "documents" else (*asks.replaces, *asks.ignores)
            s = banning(s, given_up)
        reply = RejectedReply(asks.call, why) if why else PlacedReply(asks.call)
        after = s.nodes[node].but(handling=tuple(others))
        return self.turned(s, node, (after, (Post(JOINER, reply),)))

    def _take_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        changed = next(row for row in tables(after).rows if row not in tables(before).rows)
        if changed.state == "left":
            return f"{{lead}} rejects {changed.host}: {REASONS[changed.reason]}."
        return f"{{lead}} finds {changed.host}'s request and accepts it: join_group0."

    def _request_sent(self, before: ActorState, action: Any, after: ActorState) -> Iterator[Travel]:
        [host, state] = next(
            (row.host, row.state) for row in tables(after).rows if row not in tables(before).rows
        )
        ways = (GROUP0, lead(before), f"{host} asks", 0), (lead(before), GROUP0, state, 1)
        for source, target, label, leg in ways:
            yield Travel("entry", source, target, label, leg=leg)

    @action(
        tag="take",
        by=_led,
        label=lambda m, s, action: f"{lead(s)} takes the request from the queue",
        says=_take_words,
        travels=_request_sent,
    )
    @purpose("An unsuitable joiner is rejected before anything changes.")
    def take_request(self, s: ActorState) -> Next:
        """The coordinator finds the request, checks the rest, and accepts or rejects it."""
        row = tables(s).pending
        if not tables(s).coordinator:
            return NO_COORDINATOR
        if row is None:
            return refused("no request waits")
        if tables(s).joining:
            return refused("a join is under way")
        if not (why := self.rejection("coordinator", tables(s), request_in(row), up(s))):
            state = "replacing" if row.replaces else "bootstrapping"
            return with_tables(s, moved(tables(s), row.host, state))
        s = left(s, row.host, why)
        return with_member(s, coordinator(s).but(owes=(row.host, why)))

    @action(
        tag="add",
        by=_led,
        label=lambda m, s, action: f"{lead(s)} adds {joining(s)} to group 0",
        travels=_rows_sent,
    )
    @purpose("A member of group 0 gets the log, and with it all metadata.")
    def add_member(self, s: ActorState) -> Next:
        """{lead} adds {joining} to the configuration of group 0."""
        row = tables(s).joining
        if not tables(s).coordinator:
            return NO_COORDINATOR
        if row is None:
            return refused("no request was accepted")
        if row.host in tables(s).members:
            return refused("it is in the configuration")
        return with_tables(s, replace(tables(s), members=(*tables(s).members, row.host)))

    def _verdict_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        to, verdict = verdict_due(before)
        what = ACCEPTED if verdict == ACCEPTED else f"rejected: {REASONS[verdict]}"
        return f"{{lead}} sends its verdict to {to}: {what}."

    @action(by=_led, label=lambda m, s, action: f"{lead(s)} sends its verdict", says=_verdict_words)
    @purpose("The joiner waits for this answer before it continues.")
    def respond(self, s: ActorState) -> Next:
        """The coordinator sends its verdict."""
        if not tables(s).coordinator:
            return NO_COORDINATOR
        if not (due := verdict_due(s)):
            return refused("no verdict is due")
        response = JoinNodeResponse(*due)
        accepts = response.verdict == ACCEPTED
        after = coordinator(s).but(call="sent" if accepts else "", owes=())
        return self.turned(s, self.index[after.name], (after, (Post(JOINER, response),)))

    def _end_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        row = tables(before).joining
        assert row is not None
        ends = "its bootstrap succeeds"
        if row.replaces:
            ends = f"its replace succeeds, and {', '.join(row.replaces)} has left"
        return f"{{lead}} has the answer from {row.host}; {ends}."

    @action(
        by=_led,
        label=lambda m, s, action: f"{lead(s)} ends the operation",
        says=_end_words,
        travels=_rows_sent,
    )
    @purpose("The coordinator continues once it knows that the joiner has its answer.")
    def conclude(self, s: ActorState) -> Next:
        """The coordinator has the joiner's answer; the operation continues and succeeds."""
        # In the same step, the node that it replaces has left.
        row = tables(s).joining
        if not tables(s).coordinator:
            return NO_COORDINATOR
        if coordinator(s).call != "handled" or row is None:
            return refused("the joiner has not answered")
        s = with_member(s, coordinator(s).but(call=""))
        for old in row.replaces:
            s = left(s, old)
        return with_tables(s, moved(tables(s), row.host, "normal"))

    @action(
        kind="fails",
        by=_led,
        label=lambda m, s, action: f"the call of {lead(s)} fails",
        says=lambda m, before, action, after: (
            "{lead} has no answer from {joining}: the call failed. "
            + (
                "{lead} will try again."
                if tables(after).joining
                else "{joining} is moved to state left."
            )
        ),
    )
    @purpose("To the coordinator, a lost message and a dead joiner look alike.")
    def call_fails(self, s: ActorState) -> Next:
        """The coordinator learns that its response, or the answer to it, was lost."""
        # A call has failed when neither it nor its answer can arrive any more.
        leader, row = tables(s).coordinator, tables(s).joining
        if not leader or coordinator(s).call != "sent" or row is None or joiner(s).parked:
            return None
        for each in s.network.in_flight:
            on_its_way = isinstance(each.message, JoinNodeResponse | ResponseHandled)
            if on_its_way and {each.source, each.target} == {leader, JOINER}:
                return None
        # Edition documents tries again for ever; the published code gives the joiner up.
        s = with_member(s, coordinator(s).but(call=""))
        return s if self.edition == "documents" else left(s, row.host, "not-accepted")

    # -- the joiner --------------------------------------------------------------------------------

    def _outcome_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        state = joiner(after)
        if state.status == "normal":
            return f"{state.host} sees that it is normal: it has joined."
        return f"{state.host} stops: {REASONS[state.reason]}."

    @action(
        tag="learn",
        by=JOINER,
        label=lambda m, s, action: f"{joiner(s).host} reads the outcome in group 0",
        says=_outcome_words,
        travels=lambda m, before, action, after: [
            Travel("entry", GROUP0, JOINER, joiner(after).status)
        ],
    )
    @purpose("The log shows each member how its join ended.")
    def learn_outcome(self, s: ActorState) -> Next:
        """The accepted joiner sees in group 0 how its join ended."""
        state = joiner(s)
        row = tables(s).row(state.host)
        if row is None or row.state not in ("normal", "left") or state.status != "accepted":
            return None
        normal = row.state == "normal"
        after = state.but(status="normal") if normal else _stopped(state, "not-accepted")
        return self.turned(s, self.index[JOINER], (after, ()))

    @action(
        tag="give-up",
        by=JOINER,
        label=lambda m, s, action: f"{joiner(s).host} gives up",
        says=_outcome_words,
    )
    @purpose("A lost answer will never arrive.")
    def stop_waiting(self, s: ActorState) -> Next:
        """The joiner stops: its call was lost, or no node answers it any longer."""
        # It waits for what cannot come: then its operator, or a timeout, ends it.
        state, why = joiner(s), "lost"
        is_handled = any(each.handling for each in members(s))
        talks = any(JOINER in (e.source, e.target) for e in s.network.in_flight)
        if is_handled or talks or state.status not in ("asking", "requesting", "waiting"):
            return None
        if state.status == "waiting":
            row, why = tables(s).row(state.host), "unanswered"
            if row is None or row.state != "left" or any(each.owes for each in members(s)):
                return None
        return self.turned(s, self.index[JOINER], (_stopped(state, why), ()))

    @action(
        tag="enable",
        by=_led,
        label=lambda m, s, action: f"{lead(s)} enables feature {FEATURE}",
        says=f"Every normal node supports feature {FEATURE}: {{lead}} enables it.",
        unasked=True,
    )
    @purpose("A feature can be used once every node has it.")
    def enable_feature(self, s: ActorState) -> Next:
        """The coordinator enables the feature when no join is under way."""
        if FEATURE in tables(s).enabled:
            return None
        if not tables(s).coordinator:
            return NO_COORDINATOR
        # S-38: so that whoever joins was checked for it, or counts among those that have to
        # support it.
        held, joins = tables(s), tables(s).joining
        if self.features_with_joins and joins is not None:
            return refused(f"a join is under way: {joins.host} is not counted yet")
        lack = [r.host for r in held.rows if r.state == "normal" and FEATURE not in r.features]
        if lack:
            return refused(f"{', '.join(lack)} does not support {FEATURE}")
        return with_tables(s, replace(held, enabled=(FEATURE,)))

    # -- what goes wrong ---------------------------------------------------------------------------

    def _features_kept(self, s: ActorState) -> tuple[bool, ...]:
        # Whether a start may drop a feature: a member would tell the others first.
        drops = self.downgrades and FEATURE in joiner(s).features and not joiner(s).attempt
        return (False, True) if drops else (False,)

    def _start_words(self, before: ActorState, action: Any, after: ActorState) -> str:
        less = f" without feature {FEATURE}" if action.drop else ""
        stored = " from its stored state" if joiner(after).attempt else ""
        return f"{joiner(after).host} restarts{less}{stored}: start {joiner(after).boot}."

    @action(
        kind="crash",
        by=JOINER,
        verb="start-again{drop}",
        each=_features_kept,
        label=lambda m, s, action: (
            f"{joiner(s).host} restarts" + f" without feature {FEATURE}" * action.drop
        ),
        says=_start_words,
        fault=True,
    )
    @purpose("Nodes can stop at any moment, and may restart with different settings.")
    def start_again(self, s: ActorState, drop: Drop) -> Next:
        """The joiner crashes if it is running, and restarts; some features may be disabled."""
        state = joiner(s)
        if state.status == "normal":
            return refused("the joiner has joined: its restarts are not part of the handshake")
        if self.restarts + state.disk - state.boot <= 0:
            return refused("the budget of restarts is spent")
        state = state.but(boot=state.boot + 1, parked=(), reason="")
        if state.attempt:  # it has stored group 0's id, and starts from what it has stored
            return self.turned(s, self.index[JOINER], (state, ()))
        features = () if drop else state.features  # there is no other one
        again = self.started(state.but(status="asking", features=features))
        return self.turned(s, self.index[JOINER], again)

    @action(
        kind="wipe",
        by=JOINER,
        label="clear the data directory and start",
        says=lambda m, before, a, after: (
            "The data directory is cleared: the joiner has a new host id, {host}."
            + " Nobody answers for {orphan} any more, but its request stays in the queue: it is "
            "retried forever, and the documents say that giving up is not implemented yet."
            * (m.edition == "documents" and orphaned(after) is not None)
        ),
        fault=True,
    )
    @purpose("Without its old data, the joiner is another node.")
    def wipe_and_start(self, s: ActorState) -> Next:
        """The joiner's data directory is cleared; it starts with a new host id."""
        state = joiner(s)
        if not self.wipes:
            return None
        if state.status != "stopped":
            return refused("the joiner has not stopped")
        if state.disk > self.wipes:
            return refused("the budget of wipes is spent")
        fresh = JoinerState(state.boot + 1, state.disk + 1, "asking", self.asks.features)
        return self.turned(s, self.index[JOINER], self.started(fresh))

    def able(self, s: ActorState) -> int:
        """The members that are up, as a bit mask."""
        return mask_of(self.index[name] for name in up(s))

    @action(
        tag="restart-member",
        kind="outage",
        each=able,
        when=lambda m: m.outages > 0,
        label="{node} crashes and restarts",
        fault=True,
    )
    @purpose("Members can stop at any moment; the tables keep the requests.")
    def member_restarts(self, s: ActorState, node: Node) -> Next:
        """{node} crashes and restarts; it forgets what it was doing."""
        # A coordinator is none any more.
        if sum(each.outages for each in members(s)) >= self.outages:
            return refused("the budget of outages is spent")
        had = s.nodes[node]
        again = MemberState(had.name, banned=had.banned, stored=had.stored, outages=had.outages + 1)
        s = with_member(s, again)
        if tables(s).coordinator != had.name:
            return s
        return with_tables(s, replace(tables(s), coordinator=""))

    @action(
        tag="elect",
        each=lambda m, s: 0 if tables(s).coordinator else m.able(s),
        label="{node} takes the lead",
    )
    @purpose("Everything a coordinator needs is in the tables, so any node can take over.")
    def take_the_lead(self, s: ActorState, node: Node) -> Next:
        """{node} leads group 0 and continues from what is in the tables."""
        return with_tables(s, replace(tables(s), coordinator=self.names[node]))

    @action(
        kind="wake",
        by=REMOVED,
        label=f"{REMOVED} wakes up",
        says=f"{REMOVED}, which was removed, hears A again and sends an old write.",
        fault=True,
    )
    @purpose("A removed node may not know that it was removed.")
    def wake_up(self, s: ActorState) -> Next:
        """The removed node hears the others again and sends a write that it still had."""
        if (state := removed(s)) is None or state.awake:
            return None
        write = Post("A", OldWrite(REMOVED))
        return self.turned(s, self.index[REMOVED], (state.but(awake=True), (write,)))

    # -- properties --------------------------------------------------------------------------------

    @always("INV-MEMBER")
    def attempt(self, s: ActorState) -> str | None:
        """Only a joiner that was checked is accepted."""
        # Who goes on as accepted is the process whose request the cluster took and checked.
        state = joiner(s)
        row = tables(s).row(state.host)
        taken = 0 if row is None else row.attempt
        if not state.attempt or state.attempt == taken:
            return None
        return (
            f"start {state.attempt} of {state.host} continues as accepted, but the cluster "
            f"accepted the request of start {taken}"
        )

    @always("INV-MEMBER")
    def members(self, s: ActorState) -> str | None:
        """Only joiners that were accepted are in group 0."""
        # And have not left.
        for host in tables(s).members:
            row = tables(s).row(host)
            if row is None or row.state not in (*JOINING, "normal"):
                return f"{host} is in group 0, but its row has {row.state if row else 'no state'}"
        return None

    # The published code gives a joiner up whose answer was lost; the joiner sees it in group 0.
    @always("INV-MEMBER", when=lambda m: m.edition == "documents")
    def stays(self, s: ActorState) -> str | None:
        """A joiner that was accepted has not left."""
        row = tables(s).row(joiner(s).host)
        gone = row is not None and row.state == "left"
        return "the joiner was accepted but has left" if gone and joiner(s).attempt else None

    @declared.step("INV-MEMBER")
    def left_final(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """A node that has left stays out."""
        for row in tables(before).rows:
            now = tables(after).row(row.host)
            if row.state == "left" and (now is None or now.state != "left"):
                return f"{row.host} had left, but is now {now.state if now else 'gone'}"
        return None

    @always("INV-SERVE")
    def in_service(self, s: ActorState) -> str | None:
        """A node that serves is normal."""
        row = tables(s).row(joiner(s).host)
        if joiner(s).status != "normal" or (row and row.state == "normal"):
            return None
        return "the joiner serves without being normal"

    @always("INV-FEAT")
    def features(self, s: ActorState) -> str | None:
        """A node that receives group 0's log supports every enabled feature."""
        state = joiner(s)
        missing = set(tables(s).enabled) - set(state.features)
        receives = state.host in tables(s).members and self.runs_group0(state)
        if not missing or not receives:
            return None
        return f"{state.host} receives group 0 commands but lacks feature {min(missing)}"

    @declared.step("INV-OWN")
    def owners_store(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """No node stores what a removed node writes."""
        for then, now in zip(members(before), members(after), strict=True):
            if now.stored and not then.stored:
                return f"{now.name} stores a write from a node that was removed"
        return None

    @always("INV-NORES")
    def no_return(self, s: ActorState) -> str | None:
        """Deleted data stays away."""
        names = [each.name for each in members(s) if each.stored]
        return f"{names[0]} has stored data that was deleted long ago" if names else None

    @declared.goal("INV-PROGRESS", name="ends", title="Every join can end")
    @declared.sometimes()
    def over(self, s: ActorState) -> bool:
        """The joiner has joined, or knows why it has not."""
        return joiner(s).status in ("normal", "stopped")

    # -- words -------------------------------------------------------------------------------------

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The joiner was told to wait, was accepted, is in, or has stopped."""
        status = joiner(after).status
        ends = ("waiting", "accepted", "normal", "stopped")
        return status if status in ends and joiner(before).status != status else None

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """Of what is no message: who coordinates, who joins, and the joiner's host id after it."""
        own = {"lead": tables(before).coordinator, "joining": joining(before)}
        own["orphan"] = orphan.host if (orphan := orphaned(after)) else "nobody"
        return super().words(before, action, after) or {**own, "host": joiner(after).host}

    def describe(self, before: ActorState, action: Any, after: ActorState) -> str:
        """What the step did, and why; if a message makes the joiner stop, why it does."""
        said = super().describe(before, action, after)
        stops = joiner(before).status != "stopped" == joiner(after).status
        if not stops or not isinstance(action, DeliverMessage):
            return said
        return f"{said} It stops: {REASONS[joiner(after).reason]}."

    def in_short(self, message: Any) -> str:
        """A message in two or three words: ``request of N1``, ``wait``, ``accepted``."""
        if isinstance(message, JoinNodeResponse) and message.verdict != ACCEPTED:
            return f"rejected: {message.verdict}"
        return SAID[type(message)][0].format(message)

    def in_verbs(self, message: Any) -> str:
        """A message as verbs write it: of a request what every one of a run says is left out."""
        if not isinstance(message, JoinNodeRequest):
            return super().in_verbs(message)
        usual = replace(message, ignores=(), rack=FIRST_RACK, zero_token=False)
        return super().in_verbs(usual).removesuffix(f" - {FIRST_RACK} False")

    def in_full(self, message: Any) -> str:
        """A message by its name in the protocol, with all that it says but the usual snitch."""
        if isinstance(message, JoinNodeRequest):
            has = f"features {', '.join(message.features) or 'none'}"
            place = f"cluster {message.cluster}"
            place += f", snitch {message.snitch}" if message.snitch != SNITCH else ""
            instead = f", replaces {', '.join(message.replaces)}" if message.replaces else ""
            instead += f", ignores {', '.join(message.ignores)}" if message.ignores else ""
            instead += f", rack {message.rack}" if self.racks else ""
            instead += ", owns no tokens" if message.zero_token else ""
            said = f"start {message.call}, {place}, {has}{instead}"
            return f"{message.host}'s JOIN_NODE_REQUEST ({said})"
        if isinstance(message, JoinNodeResponse):
            said = message.verdict
            how = said if said == ACCEPTED else f"rejected, {REASONS[said]}"
            return f"JOIN_NODE_RESPONSE for {message.host} ({how})"
        return SAID[type(message)][1].format(message)


SAID: dict[type, tuple[str, str]] = {
    JoinNodeQuery: ("query of {0.host}", "{0.host}'s JOIN_NODE_QUERY (start {0.call})"),
    ModeReply: ("by {0.mode}", "the answer that nodes join by {0.mode}"),
    JoinNodeRequest: ("request of {0.host}", ""),
    JoinNodeResponse: ("{0.verdict}", ""),
    PlacedReply: ("wait", "the answer that says to wait for JOIN_NODE_RESPONSE"),
    RejectedReply: ("rejected: {0.reason}", "the rejection ({0.reason})"),
    ResponseHandled: ("handled", "the answer that {0.host} continues as accepted"),
    BannedNotice: ("{0.host} is banned", "the notice that {0.host} is banned"),
    OldWrite: ("old write", "an old write"),
}
"""A message in short and in full, where that says all."""


def lead(s: ActorState) -> str:
    """The coordinator, for a button."""
    return tables(s).coordinator or "the coordinator"


def orphaned(s: ActorState) -> JoinRow | None:
    """A request of a former host id of the joiner, which nobody answers for any more."""
    former = (row for row in tables(s).rows if row.state in (*JOINING, "none"))
    return next((row for row in former if row.host != joiner(s).host), None)


def joining(s: ActorState) -> str:
    """The joiner."""
    row = tables(s).joining
    return row.host if row else "the joiner"


def _after_verdict(state: JoinerState, source: str, verdict: str) -> Turn:
    if verdict != ACCEPTED:
        return (state if state.attempt else _stopped(state, verdict)), ()
    handled = (Post(source, ResponseHandled(state.host)),)
    if state.attempt:
        return state, handled
    return state.but(status="accepted", attempt=state.boot), handled


def _stopped(state: JoinerState, reason: str) -> JoinerState:
    return state.but(status="stopped", parked=(), attempt=0, reason=reason)


def _among(allowed: Names, given: Names, field: str) -> Names:
    for name in given:
        if name not in allowed:
            raise BadInput(field, name, "one of " + (", ".join(allowed) or "nobody"))
    return given


_ASKED = (
    *("deliver N>B query N1 1", "deliver B>N mode 1 raft"),
    *("deliver N>B request N1 1 prod simple f -", "place B"),
)
SCENARIOS = (
    Scenario(
        "join-handshake", "A new node asks to be let in. N asks B, and the coordinator A lets it in"
    ),
    Scenario(
        "other-cluster",
        (
            "A node of another cluster knocks. N's configuration names another cluster: "
            "B rejects it at once"
        ),
        {"cluster": "test"},
    ),
    Scenario(
        "feature-missing",
        (
            "A node lacks a feature. It is enabled here: the coordinator rejects N, and "
            "its state is left"
        ),
        {"supports": False},
    ),
    Scenario(
        "crash-and-wipe",
        (
            "A node crashes while it joins. The published server gives up on the first "
            "attempt of N; the documents retry forever. N can join only after its data "
            "directory is cleared"
        ),
        {"edition": "server", "restarts": 1, "wipes": 1},
        script=(
            *(*_ASKED, "start-again", "deliver B>N placed 1"),
            *("deliver N>B query N1 2", "deliver B>N mode 2 raft"),
            *("deliver N>B request N1 2 prod simple f -", "place B"),
            *("deliver B>N rejected 2 unfinished", "take", "add", "respond"),
            *("deliver A>N response N1 accepted", "call-fails", "wipe-and-start"),
        ),
    ),
    Scenario(
        "replace-a-live-node",
        "Nobody replaces a live node. N wants to replace B, which is alive, so it is refused",
        {"nodes": 3, "replaces": "B"},
    ),
    Scenario(
        "replace-a-dead-node",
        "A dead node is replaced. Once N is normal, C has left",
        {"nodes": 3, "down": ("C",), "replaces": "C"},
    ),
    Scenario(
        "new-coordinator",
        (
            "The coordinator restarts. Its response is on its way; the next coordinator "
            "sends it again"
        ),
        {"outages": 1},
        script=(*_ASKED, "take", "add", "respond", "restart-member A", "elect B"),
    ),
    Scenario(
        "removed-node-is-back",
        (
            "A removed node comes back. Z was removed while it was cut off; its old "
            "write is refused in the handshake"
        ),
        {"zombie": True},
        script=("wake-up", "deliver Z>A write Z"),
    ),
)
ENTRY = declared.entry(
    Join,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        # The documents try a lost joiner for ever, so not every walk would come to an end.
        {"edition": "server", "nodes": 3, "enabled": False, "zombie": True, "downgrades": True}
        | {"restarts": 3, "wipes": 2, "outages": 2, "losses": 2, "copies": 1},
        {"crash": 0.05, "outage": 0.05, "enable": 0.2},
    ),
)
