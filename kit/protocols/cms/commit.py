"""Submitting one event to the metadata service: who asks whom, Paxos for each slot, the answer.

Any node submits an event to any member of the CMS. The member runs one round of single-decree
Paxos for the slot above its own epoch: a majority promises its ballot, it validates the event
against all that was accepted before, a majority accepts, and the event is in the log. A promise
whose acceptor has accepted something already carries that, and it is finished first; an acceptor
that knows what the slot holds sends its log. Either way the loser tries the next slot with what it
has learnt by then. Committed entries spread with nobody waiting for that.

A ballot is a round and the member that leads it: 1A is below 1B, and that below 2A. A request and
its answer between members are one step; a lost reply leaves the acceptor changed. What an acceptor
says on refusing is known at once. Entries are on their way from the commit on, for any time.
Sources: CEP-21, "Event Submission Protocol", "Node Level Changes", "Snapshotting Metadata Log";
published code, ``PaxosBackedProcessor``, ``LocalLog``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count, permutations
from string import ascii_uppercase
from typing import Annotated, Any, Literal, TypeAlias

from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.masks import majority, nodes_in
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, parameter, purpose, refused, safeguard
from kit.model.log import AtomicLog, LogState, OpenLog, log_of
from kit.model.model import Refinement
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.cms.rules import log as logs
from kit.protocols.cms.rules.events import Fact, Metadata, machine_of, objection, parsed
from kit.protocols.cms.rules.log import SNAPSHOT, Entry, NodeLog
from kit.protocols.paxos.rules import Accepted, Slot, accept, newer, promise
from kit.search.search import NO_LIMIT

MOST = 5
RACE = {"nodes": 2, "members": 2, "events": ("drop table t at A", "drop table t at B")}
"""Two members, two proposers, one slot."""

Stage: TypeAlias = Literal["waiting", "sent", "unknown", "committed", "rejected"]


class Submission(declared.State, frozen=True):
    """An event, the node that submits it, and the node that it asks first (empty: any member)."""

    event: str
    node: str
    contact: str = ""


class Answer(declared.State, frozen=True, cache_hash=True):
    """The outcome of a request: committed as ``epoch``; or why not, and the conflicting epoch."""

    stage: Stage = "waiting"
    epoch: int = 0
    reason: str = ""
    knows_members: bool = False
    """Whether the submitter was told who the members are."""

    @property
    def outcome(self) -> str:
        """``committed as epoch 2``, or why not, and the epoch that stands in the way."""
        if self.stage == "committed":
            return f"committed as epoch {self.epoch}"
        why = f"rejected because {self.reason}"
        return f"{why} (epoch {self.epoch})" if self.epoch else why

    @property
    def ending(self) -> str:
        """The outcome of validation, where nothing is proposed any more, as a template."""
        if self.stage == "committed":
            return f"{{node}} finds {{id}} in its log: {self.outcome}."
        return f"{{node}} finds that “{{event}}” no longer makes sense: {self.outcome}."


class Handling(declared.State, frozen=True, cache_hash=True):
    """A member's work on a request: its ballot, who promised, the newest value that they named."""

    request: int = -1  # -1: it is idle
    ballot: int = 0
    promises: int = 0
    newest: Accepted[Entry] | None = None
    value: Entry | None = None  # what it proposes
    accepts: int = 0  # who has accepted that
    answer: Answer | None = None  # how it ended

    @property
    def is_open(self) -> bool:
        """Whether there is a request without an answer yet."""
        return self.request >= 0 and self.answer is None

    @property
    def heard(self) -> int:
        """The acceptors that have answered the ballot: accepted its value, or promised it."""
        return self.accepts if self.value else self.promises


IDLE = Handling()


class Member(declared.State, frozen=True, cache_hash=True):
    """A node: its log and its part in Paxos are on disk, what it ``handles`` is in memory."""

    up: bool = True
    log: NodeLog = NodeLog()
    slots: tuple[Slot[Entry], ...] = ()
    handles: Handling = IDLE

    def slot(self, epoch: int) -> Slot[Entry]:
        """The slot as it keeps it."""
        return next((each for each in self.slots if each.epoch == epoch), Slot(epoch))

    def keeping(self, slot: Slot[Entry]) -> tuple[Slot[Entry], ...]:
        """All that it keeps, with this in the place of what it kept of the slot."""
        kept = {each.epoch: each for each in (*self.slots, slot)}
        return tuple(kept[epoch] for epoch in sorted(kept))


class CommitState(declared.State, frozen=True, cache_hash=True):
    """All nodes, what each submitter knows of its request, and what may still go wrong."""

    nodes: tuple[Member, ...]
    requests: tuple[Answer, ...]
    crashes: int
    losses: int
    replies: int

    def answered(self, request: int, answer: Answer) -> CommitState:
        """The same, where a submitter knows more of its request."""
        known = (*self.requests[:request], answer, *self.requests[request + 1 :])
        return self.but(requests=known)


def submission_of(text: str, names: tuple[str, ...]) -> Submission:
    """``drop table t at D to A``: the event, the node that submits it, the node asked first.

    Raises BadInput for no event, or a node that is not there.
    """
    event, _, where = text.rpartition(" at ")
    node, _, contact = where.partition(" to ")
    if node not in names or (contact and contact not in names):
        allowed = f"an event, and nodes of {', '.join(names)}: drop table t at B to A"
        raise BadInput("events", text, allowed)
    try:
        parsed(event)
    except BadInput as wrong:
        raise BadInput("events", text, wrong.allowed) from wrong
    return Submission(event, node, contact)


Next: TypeAlias = CommitState | Refusal | None
Request: TypeAlias = Annotated[
    int, declared.Each(lambda m: range(len(m.submissions)), lambda at: f"r{at + 1}")
]
Epoch: TypeAlias = Annotated[int, declared.Each(())]


def at_work(fits: Callable[[Handling], Any] = bool) -> Any:
    """The members at work on a request, so far that this fits, as a mask."""
    return lambda m, s: s.where(lambda node: node.handles.is_open and fits(node.handles))


def to_others(m: Commit, s: CommitState) -> Iterator[tuple[int, int]]:
    """Each member with a ballot, and each other one whose answer to it would count."""
    for place, node in enumerate(s.nodes):
        work = node.handles
        if work.ballot and work.heard.bit_count() < m.quorum:
            rest = m.cms & ~work.heard & ~(1 << place)
            yield from ((place, other) for other in nodes_in(rest))


def asking(*, proposes: bool) -> Any:
    """The same, of those that have a value, or have none yet."""
    return lambda m, s: [
        pair for pair in to_others(m, s) if (s.nodes[pair[0]].handles.value is not None) == proposes
    ]


def _round_trip(m: Commit, before: CommitState, a: Any, after: CommitState) -> Iterable[Travel]:
    member, other = m.number(a.node), m.number(a.acceptor)
    work = before.nodes[member].handles
    what = "accept" if work.value else "prepare"
    yield Travel("request", a.node, a.acceptor, f"{what} {m.ballot_name(work.ballot)}")
    if isinstance(a, Commit.lose_reply):
        return
    if m.knows_more(before, member, other):
        yield Travel("entry", a.acceptor, a.node, "its log", leg=1)
    else:
        had = m.accepted_by(before, a)
        back = "accepted" if work.value else f"promise, has {had}" if had else "promise"
        yield Travel("answer", a.acceptor, a.node, back, leg=1)


asks = partial(action, when=lambda m: m.size > 1, travels=_round_trip)
"""An action by which a member asks an acceptor."""


class Commit(declared.NodeModel[CommitState]):
    """A metadata service of some nodes of a cluster, to which events are submitted."""

    name, title, State = "commit", "Submitting an event to the metadata service", CommitState
    premise = (
        "Every change of metadata is one event, and the CMS gives it one place in the log. "
        "Members race for a slot, and the loser validates its event again."
    )
    about = "The cluster, its CMS, the events that are submitted, and what can go wrong."
    rests_at_goals = True
    first = ("answer", "learn_entry", "accept_value", "propose", "prepare", "open_ballot")

    nodes: int = parameter(4, "how many nodes the cluster has, named A, B, C, …", ge=1, le=7)
    members: int = parameter(3, "how many nodes form the CMS: the first ones", ge=1, le=5)
    events: tuple[str, ...] = parameter(
        ("drop table t at D to A", "alter table t at B to B"),
        "what is submitted, by which node, and to which node first: drop table t at D to A",
        title="events",
        written=True,
    )
    given_names: tuple[str, ...] = parameter(
        (),
        "names of the nodes, members of the CMS first; empty: A, B, C, …",
        title="names",
        written=True,
    )
    backend: Literal["paxos", "atomic"] = parameter(
        "paxos",
        "who gives out epochs: a majority of the CMS, or a counter on the first node alone",
        title="log",
    )
    ballots: int = parameter(
        1, "rounds of a duel: how many ballots a member opens for one slot", ge=1, le=4, counts=True
    )
    replication: bool = parameter(
        True, "whether entries spread on their own (off: each of those messages is lost)"
    )
    window: int = parameter(1, "how far ahead of the next entry another can arrive", ge=1, le=4)
    snapshot_every: int = parameter(
        0,
        "the CMS submits a snapshot each time this many epochs are committed (0: never)",
        ge=0,
        le=4,
    )
    crashes: int = declared.budget(0, "how many times a member can go down", le=MOST)
    losses: int = declared.budget(0, "how many times an answer to a submitter is lost", le=MOST)
    replies: int = declared.budget(
        0, "how many times a reply between members is lost", title="lost replies", le=MOST
    )

    # fmt: off
    validation: bool = safeguard(
        "S-10", "An event must make sense after everything accepted before it", ("INV-VALID",),
        smallest={"nodes": 3, "members": 1,
                  "events": ("decommission C at A to A", "replace C D at B to A")})
    cms_quorum: bool = safeguard(
        "S-12", "An event is in the log once a majority of the CMS has accepted it", ("INV-LOG",),
        smallest=RACE)
    apply_in_order: bool = safeguard(
        "S-16", "Nodes apply epochs in order, without gaps", ("INV-SAMESTATE", "INV-LOG"),
        smallest={"nodes": 2, "members": 1, "window": 2,
                  "events": ("drop table t at A", "drop table u at A")})
    promises_bind: bool = safeguard(
        "S-64", "An acceptor that has promised a ballot refuses lower ones", ("INV-LOG",),
        smallest=RACE)
    accepted_first: bool = safeguard(
        "S-65", "A member finishes what an acceptor has accepted before it proposes its own",
        ("INV-LOG",), smallest=RACE)
    entry_id: bool = safeguard(
        "S-66", "An unknown outcome is recognized by the id in the entry", ("INV-ONCE",),
        smallest={"nodes": 2, "members": 1, "events": ("alter table t at B",), "losses": 1})
    # fmt: on

    def set_up(self) -> None:
        """The nodes, who is in the CMS, and what is submitted, snapshots of its own at the end.

        Raises BadInput for what is no submission, or as many names as there are no nodes.
        """
        self.names = self.given_names or tuple(ascii_uppercase[: self.nodes])
        if len({*self.names}) != self.nodes:
            raise BadInput("given_names", self.given_names, f"{self.nodes} names, all different")
        size = 1 if self.backend == "atomic" else min(self.members, self.nodes)
        self.cms, self.size = (1 << size) - 1, size
        self.quorum = majority(size) if self.cms_quorum else 1
        why = f"window={self.window}, the furthest ahead that an entry can arrive"
        self.bounds = (refused(why),)
        given = tuple(submission_of(text, self.names) for text in self.events)
        own = logs.snapshots_due(len(given), self.snapshot_every)
        self.submissions = (*given, *(Submission(SNAPSHOT, "A", "A"),) * own)
        things = {parsed(each.event)[1]: each.event for each in reversed(given)}
        tables = (x for x, event in things.items() if x and not event.startswith("create"))
        there = sorted({*tables, *(f"node {name}" for name in self.names)})
        self.machine = machine_of(Metadata(tuple(Fact(thing, "there") for thing in there)))

    def newest_epoch(self, s: CommitState) -> int:
        """The newest epoch that a node has applied."""
        return max(node.log.epoch for node in s.nodes)

    def start(self) -> CommitState:
        """An empty log on all nodes, and nothing submitted."""
        nodes, requests = (Member(),) * self.nodes, (Answer(),) * len(self.submissions)
        return CommitState(nodes, requests, self.crashes, self.losses, self.replies)

    # -- what rules ask ----------------------------------------------------------------------------

    def ballot_name(self, ballot: int) -> str:
        """``2A``: the round of a ballot, and the member that leads it."""
        round_, place = divmod(ballot - 1, self.size)
        return f"{round_ + 1}{self.names[place]}"

    def knows_more(self, s: CommitState, node: int, other: int) -> bool:
        """Whether another node has applied an epoch that a node has not."""
        return s.nodes[other].log.epoch > s.nodes[node].log.epoch

    def knowing(self, s: CommitState, node: int, log: NodeLog) -> CommitState:
        """A node's log has grown: those slots are settled, and its ballot for one is void."""
        mine = s.nodes[node]
        slots = tuple(each for each in mine.slots if each.epoch > log.epoch)
        work = mine.handles
        if work.is_open and log.epoch > mine.log.epoch:
            work = Handling(work.request)
        return s.at(node, log=log, slots=slots, handles=work)

    def from_peer(self, s: CommitState, node: int, peer: int) -> CommitState:
        """A node learns what a peer has above its own epoch."""
        mine = s.nodes[node].log
        sent = logs.slice_since(s.nodes[peer].log, mine.epoch)
        return self.knowing(s, node, logs.caught_up(mine, sent, self.machine))

    def unanswered(self, s: CommitState, member: int, acceptor: int) -> Next:
        """The outcome of asking one that answers no ballot; it may tell what the slot holds."""
        name, other = self.names[acceptor], s.nodes[acceptor]
        if not other.up:
            return refused(f"{name} is down", (name,))
        work, epoch = s.nodes[member].handles, s.nodes[member].log.epoch + 1
        promised = other.slot(epoch).promised  # 0 where the slot is settled
        if self.promises_bind and promised > work.ballot:
            return refused(f"{name} has promised a higher ballot")
        return self.from_peer(s, member, acceptor) if self.knows_more(s, member, acceptor) else None

    # -- submitting --------------------------------------------------------------------------------

    def askable(self, s: CommitState) -> Iterator[tuple[int, int]]:
        """Requests without an answer, and whom their submitter may ask."""
        for request, known in enumerate(s.requests):
            given = self.submissions[request]
            if known.stage == "waiting" and given.contact and not known.knows_members:
                yield request, self.number(given.contact)
            elif known.stage in ("waiting", "unknown"):
                yield from ((request, place) for place in nodes_in(self.cms))

    def _submit_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        if not self.cms >> self.number(a.node) & 1:
            if self.submissions[a.request].node == a.node:
                return "{node} is not in the CMS. It looks up the members: {members}."
            return (
                "{submitter} asks {node}, which is not in the CMS: it names the members, {members}."
            )
        is_unknown = before.requests[a.request].stage == "unknown"
        again = " again, because the outcome is unknown" * is_unknown
        if self.submissions[a.request].node == a.node:
            return f"{{node}} submits “{{event}}”{again} and handles it itself."
        return f"{{submitter}} submits “{{event}}” to {{node}}{again}."

    def _submit_travels(self, before: Any, a: Any, after: Any) -> Iterable[Travel]:
        is_first = int(before.requests[a.request] == Answer())
        if is_first:  # its client asks
            text = "{id} → {submitter}: {event}"
            yield Travel("request", "{id}", "n:{submitter}", "{event}", text)
        yield Travel("request", "{submitter}", "{node}", "{event}", leg=is_first)
        if not self.cms >> self.number(a.node) & 1:
            yield Travel("answer", "{node}", "{submitter}", "members: {members}", leg=1 + is_first)

    @action(each=askable, says=_submit_says, travels=_submit_travels)
    @purpose("Any node can ask any member. Only the CMS decides.")
    def submit(self, s: CommitState, request: Request, node: Node) -> Next:
        """A node submits an event to a member. If the asked node is none, it names the members."""
        known, name = s.requests[request], self.names[node]
        if not s.nodes[node].up:
            return refused(f"{name} is down", (name,))
        if not self.cms >> node & 1:
            return s.answered(request, known.but(knows_members=True))
        if s.nodes[node].handles != IDLE:
            return refused(f"{name} is at work on another event")
        nth = request - len(self.events) + 1
        if s.nodes[0].log.epoch < nth * self.snapshot_every:
            return refused(f"a snapshot is due at epoch {nth * self.snapshot_every}")
        return s.answered(request, known.but(stage="sent")).at(node, handles=Handling(request))

    # -- one slot, by Paxos ------------------------------------------------------------------------

    @action(tag="ballot", each=at_work(), when=lambda m: m.backend == "paxos")
    @purpose("Ballots are ordered, so one of two members has to give way.")
    def open_ballot(self, s: CommitState, node: Node) -> Next:
        """{node} opens ballot {ballot} for epoch {epoch} and is the first to promise it."""
        mine = s.nodes[node]
        work, epoch = mine.handles, mine.log.epoch + 1
        highest = max(s.nodes[place].slot(epoch).promised for place in nodes_in(self.live(s)))
        if work.ballot and work.ballot >= highest:
            return None
        ballot = next(each for each in count(highest + 1) if self.leader(each) == node)
        if ballot > self.ballots * self.size and self.is_led(s, highest, epoch):
            return refused("another member leads, and the run's budget of rounds is used up")
        slot = mine.slot(epoch)
        opened = Handling(work.request, ballot, 1 << node, slot.accepted)
        return s.at(node, slots=mine.keeping(promise(slot, ballot)), handles=opened)

    def live(self, s: CommitState) -> int:
        """The members that are up, as a mask."""
        return self.cms & s.where(lambda node: node.up)

    def leader(self, ballot: int) -> int:
        """The place of the member that a ballot belongs to."""
        return (ballot - 1) % self.size

    def is_led(self, s: CommitState, ballot: int, epoch: int) -> bool:
        """Whether somebody still works with a ballot."""
        leader = s.nodes[self.leader(ballot)]
        return (leader.handles.ballot, leader.log.epoch + 1) == (ballot, epoch)

    def accepted_by(self, s: CommitState, a: Any) -> str | None:
        """The id of what an acceptor has accepted for the slot that it is asked about."""
        slot = s.nodes[self.number(a.acceptor)].slot(s.nodes[self.number(a.node)].log.epoch + 1)
        return slot.accepted.entry.id if slot.accepted else None

    def keeping(self, s: CommitState, member: int, acceptor: int) -> CommitState:
        """An acceptor accepts the value of a member, or promises its ballot where it has none."""
        work, epoch = s.nodes[member].handles, s.nodes[member].log.epoch + 1
        slot, value = s.nodes[acceptor].slot(epoch), work.value
        kept = accept(slot, work.ballot, value) if value else promise(slot, work.ballot)
        return s.at(acceptor, slots=s.nodes[acceptor].keeping(kept))

    def _asking_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        if self.knows_more(before, self.number(a.node), self.number(a.acceptor)):
            return (
                "{acceptor} already knows epoch {epoch}. {node} learns it and drops its own ballot."
            )
        if isinstance(a, Commit.accept_value):
            return "{acceptor} accepts {value} as epoch {epoch} in ballot {ballot}."
        had = self.accepted_by(before, a)
        more = f", and says that it has accepted {had}" if had else ""
        return f"{{acceptor}} promises ballot {{ballot}} to {{node}}{more}."

    @asks(each=asking(proposes=False), says=_asking_says)
    @purpose("A majority of promises shuts out every lower ballot.")
    def prepare(self, s: CommitState, node: Node, acceptor: Node) -> Next:
        """A member asks an acceptor for a promise, or learns what the slot already holds."""
        if instead := self.unanswered(s, node, acceptor):
            return instead
        work, slot = s.nodes[node].handles, s.nodes[acceptor].slot(s.nodes[node].log.epoch + 1)
        newest, promises = newer(work.newest, slot.accepted), work.promises | 1 << acceptor
        heard = work.but(promises=promises, newest=newest)
        return self.keeping(s, node, acceptor).at(node, handles=heard)

    def _propose_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        work = after.nodes[self.number(a.node)].handles
        if work.answer:
            return work.answer.ending
        former = before.nodes[self.number(a.node)].handles
        if former.newest and self.accepted_first:
            return f"{{node}} proposes {former.newest.entry.id}, which was already accepted."
        if not self.validation:
            return "{node} skips validation and proposes “{event}” as epoch {epoch}."
        return "{node} finds “{event}” valid after epoch {known}, and proposes it as epoch {epoch}."

    @action(
        each=at_work(lambda work: work.ballot and not work.value),
        when=lambda m: m.backend == "paxos",
        says=_propose_says,
    )
    @purpose("With a majority of promises, a member knows everything accepted before.")
    def propose(self, s: CommitState, node: Node) -> Next:
        """With a majority of promises, a member validates the event and proposes or rejects it."""
        mine = s.nodes[node]
        work, epoch = mine.handles, mine.log.epoch + 1
        if work.promises.bit_count() < self.quorum:
            reason = "no majority has promised its ballot"
            return self.too_few(reason, work.promises, self.cms)
        if work.newest and self.accepted_first:
            value = work.newest.entry
        else:
            if ended := self.judged(mine.log, work.request):
                return s.at(node, handles=Handling(work.request, answer=ended))
            value = Entry(epoch, self.submissions[work.request].event, self.id_of(work.request))
        slot = mine.slot(epoch)
        if slot.promised > work.ballot and self.promises_bind:
            return s.at(node, handles=Handling(work.request, work.ballot, value=value))
        slots = mine.keeping(accept(slot, work.ballot, value))
        proposing = Handling(work.request, work.ballot, value=value, accepts=1 << node)
        return s.at(node, slots=slots, handles=proposing)

    def id_of(self, request: int) -> str:
        """The id that the submitter gives to its event."""
        return f"r{request + 1}"

    def judged(self, log: NodeLog, request: int) -> Answer | None:
        """The end of a request by what is committed: it stands in the log, or makes no sense."""
        done = dict(log.ids).get(self.id_of(request)) if self.entry_id else None
        if done:
            return Answer("committed", done)
        against = objection(logs.metadata(log, self.machine), self.submissions[request].event)
        if against and self.validation:
            return Answer("rejected", against.epoch, against.reason)
        return None

    @asks(tag="accept", each=asking(proposes=True), says=_asking_says)
    @purpose("Every later majority will report what this majority has accepted.")
    def accept_value(self, s: CommitState, node: Node, acceptor: Node) -> Next:
        """A member asks an acceptor to accept its value."""
        if instead := self.unanswered(s, node, acceptor):
            return instead
        work = s.nodes[node].handles
        heard = work.but(accepts=work.accepts | 1 << acceptor)
        return self.keeping(s, node, acceptor).at(node, handles=heard)

    def _learn_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        former, work = (s.nodes[self.number(a.node)].handles for s in (before, after))
        who, count = ", ".join(self.named(former.accepts)), former.accepts.bit_count()
        enough = "a majority" if count >= majority(self.size) else "no majority"
        more = "" if work.answer else " {node} tries its own event in the next slot."
        return f"{{value}} is epoch {{epoch}}, accepted by {who} ({enough}).{more}"

    @action(
        tag="learn",
        each=at_work(lambda work: work.value),
        when=lambda m: m.backend == "paxos",
        says=_learn_says,
        travels=[
            Travel("entry", "n:{node}", "log", "{value}", "{node} → log: epoch {epoch}, {value}")
        ],
    )
    @purpose("The slot is settled for good, and every node can learn its entry.")
    def learn_entry(self, s: CommitState, node: Node) -> Next:
        """A majority has accepted: the member applies the entry. A loser tries the next slot."""
        work = s.nodes[node].handles
        assert work.value is not None
        if work.accepts.bit_count() < self.quorum:
            return self.too_few("no majority has accepted its value", work.accepts, self.cms)
        return self.settled_entry(s, node, work.request, work.value)

    def settled_entry(self, s: CommitState, node: int, request: int, new: Entry) -> CommitState:
        """An entry is committed; the member knows what that means for its request."""
        s = self.knowing(s, node, logs.received(s.nodes[node].log, new, self.machine))
        if new.id != self.id_of(request):
            return s
        return s.at(node, handles=Handling(request, answer=Answer("committed", new.epoch)))

    def _append_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        work = after.nodes[self.number(a.node)].handles
        assert work.answer is not None
        if len(self.history(before)) == len(self.history(after)):
            return work.answer.ending
        return "{node} finds “{event}” valid after epoch {known}, and appends it as epoch {epoch}."

    @action(each=at_work(), when=lambda m: m.backend == "atomic", says=_append_says)
    @purpose("A single node needs no agreement: a counter gives out epochs.")
    def append(self, s: CommitState, node: Node) -> Next:
        """The node that keeps the log validates the event, and gives it the next epoch."""
        mine = s.nodes[node]
        request = mine.handles.request
        if ended := self.judged(mine.log, request):
            return s.at(node, handles=Handling(request, answer=ended))
        new = Entry(mine.log.epoch + 1, self.submissions[request].event, self.id_of(request))
        return self.settled_entry(s, node, request, new)

    # -- the answer --------------------------------------------------------------------------------

    def ended(self, s: CommitState) -> int:
        """The members that have an answer for a submitter."""
        return s.where(lambda node: node.handles.answer is not None)

    @action(
        each=ended,
        travels=[
            Travel(
                "answer", "n:{node}", "n:{submitter}", "{short}", "{node} → {submitter}: {outcome}"
            ),
            Travel("answer", "n:{submitter}", "{id}", "{short}", "{submitter} → {id}: {outcome}"),
        ],
    )
    @purpose("The submitter learns the epoch of its event, or the epoch that is in the way.")
    def answer(self, s: CommitState, node: Node) -> CommitState:
        """{node} answers {submitter}: {outcome}."""
        work = s.nodes[node].handles
        assert work.answer is not None
        answer = work.answer.but(knows_members=s.requests[work.request].knows_members)
        return s.answered(work.request, answer).at(node, handles=IDLE)

    # -- dissemination and catch-up ----------------------------------------------------------------

    def spreading(self, s: CommitState) -> Iterator[tuple[int, int]]:
        """Committed entries that may reach a node by themselves."""
        newest = max(node.log.epoch for node in s.nodes)
        for place, node in enumerate(s.nodes):
            first = node.log.epoch + 1
            held = [each.epoch for each in node.log.held]
            for epoch in range(first, newest + 1):
                if node.up and epoch not in held:
                    yield place, epoch

    def committed_as(self, s: CommitState, epoch: int) -> Entry:
        """The entry of an epoch that a node has reached, by the first node that has it.

        Whoever committed it has it: entries go to an archive, but are not forgotten.
        """
        return next(filter(None, (node.log.entry(epoch) for node in s.nodes)))

    def _deliver_says(self, before: CommitState, a: Any, after: CommitState) -> str:
        if a.epoch == before.nodes[self.number(a.node)].log.epoch + 1:
            behind = after.nodes[self.number(a.node)].log.epoch > a.epoch
            more = " and everything it held back" * behind
            return f"Epoch {{epoch}} reaches {{node}}, which applies it{more}."
        kept = "held back until that fills" if self.apply_in_order else "applied at once"
        return f"Epoch {{epoch}} reaches {{node}} above a gap; it is {kept}."

    @action(
        each=spreading,
        verb="deliver {epoch} to {node}",
        when=lambda m: m.replication,
        says=_deliver_says,
        travels=[
            Travel(
                "entry", "log:{epoch}", "n:{node}", "epoch {epoch}", "log → {node}: epoch {epoch}"
            )
        ],
        unasked=True,
    )
    @purpose("Entries spread on their own, and no node waits for that.")
    def deliver(self, s: CommitState, node: Node, epoch: Epoch) -> Next:
        """A committed entry reaches a node, which applies it or holds it back above a gap."""
        if epoch > s.nodes[node].log.epoch + self.window:
            return self.bounds[0]
        mine, new = s.nodes[node].log, self.committed_as(s, epoch)
        log = logs.received(mine, new, self.machine, in_order=self.apply_in_order)
        return self.knowing(s, node, log)

    def behind(self, s: CommitState) -> Iterator[tuple[int, int]]:
        """Nodes that are up, the first of which knows less than the second."""
        epochs = [(place, node.log.epoch) for place, node in enumerate(s.nodes) if node.up]
        for (place, less), (peer, more) in permutations(epochs, 2):
            if less < more:
                yield place, peer

    @action(
        verb="ask {peer} for {node}",
        each=behind,
        travels=declared.there_and_back(
            "{node}", "{peer}", "above {known}?", "{sent}", ("request", "entry")
        ),
    )
    @purpose("Any peer can fill the gap, so no single message has to arrive.")
    def catch_up(self, s: CommitState, node: Node, peer: Node) -> CommitState:
        """{node} asks {peer} for everything after epoch {known} and gets {sent}."""
        return self.from_peer(s, node, peer)

    @action(
        each=lambda m, s: s.where(
            lambda node: node.log.snapshots and node.log.cut < node.log.snapshots[-1].epoch
        ),
        when=lambda m: any(each.event == SNAPSHOT for each in m.submissions),
        unasked=True,
    )
    @purpose("A snapshot contains everything that the entries below it say.")
    def truncate(self, s: CommitState, node: Node) -> CommitState:
        """{node} truncates its log up to epoch {cut}. An archive keeps those entries."""
        return s.at(node, log=logs.truncated(s.nodes[node].log))

    # -- faults ------------------------------------------------------------------------------------

    def in_doubt(self, s: CommitState, request: int) -> CommitState:
        """A submitter does not know the outcome of its request."""
        return s.answered(request, s.requests[request].but(stage="unknown"))

    @action(each=live, spends="crashes", fault=True, hand=declared.off_stage)
    @purpose("A crash loses what a member was doing, but not what it promised.")
    def crash(self, s: CommitState, node: Node) -> CommitState:
        """{node} goes down. Its log, its promises and what it accepted stay on its disk."""
        mine = s.nodes[node]
        if mine.handles != IDLE:
            s = self.in_doubt(s, mine.handles.request)
        return s.at(node, up=False, handles=IDLE, log=replace(mine.log, held=()))

    @action(each=lambda m, s: s.where(lambda node: not node.up))
    @purpose("A member's disk holds everything that the others rely on.")
    def restart(self, s: CommitState, node: Node) -> CommitState:
        """{node} is up again, with its log, its promises and what it accepted."""
        return s.at(node, up=True)

    @asks(verb="lose-reply {acceptor} to {node}", each=to_others, spends="replies", fault=True)
    @purpose("An acceptor can know more than anyone has heard from it.")
    def lose_reply(self, s: CommitState, node: Node, acceptor: Node) -> Next:
        """{acceptor} did as {node} asked, but the reply is lost."""
        return None if self.unanswered(s, node, acceptor) else self.keeping(s, node, acceptor)

    @action(each=ended, spends="losses", fault=True)
    @purpose("Without an answer, a submitter cannot tell committed from rejected.")
    def lose_answer(self, s: CommitState, node: Node) -> CommitState | None:
        """The answer from {node} is lost: {submitter} does not know the outcome of “{event}”."""
        request = s.nodes[node].handles.request
        if self.submissions[request].node == self.names[node]:
            return None
        return self.in_doubt(s, request).at(node, handles=IDLE)

    # -- what must hold ----------------------------------------------------------------------------

    def history(self, s: CommitState) -> tuple[Entry, ...]:
        """The log: for each epoch what the first node that has it holds."""
        newest = max(node.log.epoch for node in s.nodes)
        return tuple(self.committed_as(s, epoch) for epoch in range(1, newest + 1))

    @always("INV-LOG")
    def one_log(self, s: CommitState) -> str | None:
        """No two nodes have different entries at an epoch, and no node has skipped one."""
        known: dict[int, tuple[str, Entry]] = {}
        for name, node in zip(self.names, s.nodes, strict=True):
            epoch = 0
            for each in node.log.entries:
                other, first = known.setdefault(each.epoch, (name, each))
                if first != each:
                    return f"epoch {each.epoch} is {first.id} on {other}, but {each.id} on {name}"
                below = (taken.epoch for taken in node.log.snapshots if taken.epoch < each.epoch)
                if each.epoch > max((epoch, *below)) + 1:
                    return f"{name} has applied epoch {each.epoch} above a gap"
                epoch = each.epoch
        return None

    @always("INV-VALID")
    def valid(self, s: CommitState) -> str | None:
        """Each event makes sense where it is committed."""
        known = self.machine.initial
        for each in self.history(s):
            if why := objection(known, each.event):
                return f"epoch {each.epoch} is {each.event}, but {why.reason} (epoch {why.epoch})"
            known = self.machine.enact(known, each)
        return None

    @always("INV-SAMESTATE")
    def same_state(self, s: CommitState) -> str | None:
        """A node has the metadata that replaying the whole log up to its epoch gives."""
        log = self.history(s)
        for name, node in zip(self.names, s.nodes, strict=True):
            epoch = node.log.epoch
            whole = logs.replay(self.machine, log[:epoch])
            if logs.metadata(node.log, self.machine) != whole:
                differs = "with metadata that differs from what its log gives"
                return f"{name} is at epoch {epoch}, {differs}"
        return None

    @always("INV-ONCE")
    def once(self, s: CommitState) -> str | None:
        """An event is in the log once if its submitter was told so, never if it was rejected."""
        log = self.history(s)
        for request, known in enumerate(s.requests):
            own = self.id_of(request)
            epochs = [each.epoch for each in log if each.id == own]
            if len(epochs) > 1:
                return f"{own} is committed as epochs {epochs[0]} and {epochs[1]}"
            if known.stage == "rejected" and epochs:
                return f"{own} was rejected, but it is epoch {epochs[0]}"
            if known.stage == "committed" and epochs != [known.epoch]:
                return f"{own} was answered with epoch {known.epoch}, which is another event"
        return None

    @always("INV-LOG")
    def majority(self, s: CommitState) -> str | None:
        """A majority of the CMS stores each committed entry."""
        for new in self.history(s):
            having = [place for place in nodes_in(self.cms) if _stores(s.nodes[place], new)]
            if len(having) < majority(self.size):
                return f"only a minority stores epoch {new.epoch}"
        return None

    @declared.sometimes()
    def committed(self, s: CommitState) -> bool:
        """An event is committed, and its submitter knows."""
        return any(each.stage == "committed" for each in s.requests)

    @declared.goal("INV-PROGRESS")
    def all_answered(self, s: CommitState) -> bool:
        """Each submitter can still get its answer."""
        given = s.requests[: len(self.events)]
        return all(each.stage in ("committed", "rejected") for each in given)

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """The names that sentences use besides: ballot, epoch, event, submitter, outcome."""
        said: dict[str, Any] = {"members": ", ".join(self.named(self.cms))}
        request = getattr(action, "request", None)
        place = self.number(action.node)
        mine, ended = before.nodes[place], after.nodes[place]
        said |= {"epoch": mine.log.epoch + 1, "known": mine.log.epoch, "cut": ended.log.cut}
        if hasattr(action, "epoch"):
            said["epoch"] = action.epoch
        if isinstance(action, Commit.catch_up):
            peer = before.nodes[self.number(action.peer)]
            said["sent"] = logs.slice_since(peer.log, mine.log.epoch).text
        work = ended.handles if mine.handles == IDLE else mine.handles
        if request is None and work != IDLE:
            request = work.request
        if request is not None:
            given = self.submissions[request]
            said |= {"event": given.event, "submitter": given.node, "id": self.id_of(request)}
        if work != IDLE:
            opened = ended.handles.ballot if isinstance(action, Commit.open_ballot) else work.ballot
            said["ballot"] = self.ballot_name(opened) if opened else ""
            said["value"] = f"{work.value.event} ({work.value.id})" if work.value else ""
            if work.answer:
                said |= {"outcome": work.answer.outcome, "short": work.answer.stage}
        return said

    def milestone(self, before: CommitState, action: Any, after: CommitState) -> str | None:
        """An epoch is committed, a submitter gets its answer, something goes wrong."""
        if isinstance(action, (Commit.learn_entry, Commit.append)):
            grown = len(self.history(after)) > len(self.history(before))
            return f"epoch {len(self.history(after))}" if grown else None
        marked = Commit.answer, Commit.crash, Commit.lose_reply, Commit.lose_answer
        return self.verb(action) if isinstance(action, marked) else None


def _stores(node: Member, new: Entry) -> bool:
    accepted = node.slot(new.epoch).accepted
    return node.log.epoch >= new.epoch or (accepted is not None and accepted.entry == new)


_ROUND = ("ballot {0}", "prepare {0} {1}", "propose {0}", "accept {0} {1}", "learn {0}")


def _round(member: str, acceptor: str) -> tuple[str, ...]:
    return (*(each.format(member, acceptor) for each in _ROUND), f"answer {member}")


_SENT = ("submit r1 A", "submit r2 B")
SCENARIOS = (
    Scenario(
        "one-event",
        (
            "One event becomes an epoch. A node that is not a member "
            "submits it; a majority accepts it"
        ),
    ),
    Scenario(
        "two-submit",
        "Two nodes race for epoch 1. The alteration comes after the drop, and is rejected",
        script=(*_SENT, *_round("A", "C"), "ballot B", "prepare B C", "ballot B", "prepare B C"),
    ),
    Scenario(
        "lost-answer",
        "The answer is lost. The id in the entry shows what became of the event",
        {"losses": 1, "events": ("alter table t at D to A",)},
        script=("submit r1 A", *_round("A", "B")[:-1], "lose-answer A", "submit r1 B"),
    ),
    Scenario(
        "by-counter",
        "One node hands out the epochs. It has a counter and asks nobody",
        {"backend": "atomic"},
    ),
)


def refined_by(
    kind: Any, events: Callable[[Any], Iterable[tuple[str, str]]], parameters: Any
) -> Refinement:
    """How a model ``kind`` of these events refines the log that takes each in one step.

    That is ``AtomicLog``, on which ``tcm`` runs. What nobody had before is appended there, then
    each node whose log has grown applies that entry by entry, or holds it back above a gap. An
    operator's override is no such step: it forces what nobody agreed to.
    """
    fine = kind(parameters)

    def project(s: Any) -> LogState:
        held = tuple(sum(1 << each.epoch - 1 for each in node.log.held) for node in s.nodes)
        return LogState(log_of(fine.history(s)), tuple(n.log.epoch for n in s.nodes), held)

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        steps = [*map(AtomicLog.append, fine.history(after)[len(fine.history(before)) :])]
        for name, was, now in zip(fine.names, before.nodes, after.nodes, strict=True):
            held = {each.epoch for each in was.log.held}  # these follow by themselves
            epochs = range(was.log.epoch + 1, now.log.epoch + 1)
            steps += [AtomicLog.apply_next(name) for epoch in epochs if epoch not in held]
            above = (each.epoch for each in now.log.held if each.epoch not in held)
            steps += [AtomicLog.deliver(name, epoch - 1) for epoch in above]
        return tuple(steps)

    # How far ahead an entry can arrive is the finer model's business.
    coarse = OpenLog(AtomicLog.Parameters(nodes=fine.names, window=NO_LIMIT))
    offered = tuple(events(fine))
    coarse.offered = lambda epoch: (Entry(epoch, *each) for each in offered)
    coarse.begun = project(fine.start())
    return Refinement(fine, coarse, project, image)


ENTRY = declared.entry(
    Commit,
    scenarios=SCENARIOS,
    refinement=partial(
        refined_by,
        Commit,
        lambda m: ((each.event, m.id_of(at)) for at, each in enumerate(m.submissions)),
    ),
    fuzzing=Fuzzing(
        {
            "nodes": 5,
            "ballots": 2,
            "window": 2,
            "crashes": 1,
            "losses": 1,
            "replies": 1,
            "events": (
                *("drop table t at D to E", "alter table t at B", "snapshot at A"),
                "create table t at E",
            ),
        },
        {"crash": 0.1, "lose reply": 0.1, "lose answer": 0.2, "truncate": 0.3},
    ),
)
