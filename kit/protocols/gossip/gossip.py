"""A schema that every node changes by itself and hears of by gossip.

Nodes compare digests in rounds of SYN, ACK and ACK2; who hears of another version pulls all cells
of that node and merges them. A round between two nodes that know the same is left out, and so is a
second one between two nodes whose first is on its way: they would change nothing. None of its
promises is kept: each breaks by itself. Sources: "Group 0 schema versioning"; manual on Raft,
"Schema with Raft"; CEP-21, "Schema Management".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from string import ascii_uppercase
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from kit.errors import BadInput, Refusal, counted
from kit.model import declared
from kit.model.actors import ActorState, NetworkModel, Next, Post, Turn, receives
from kit.model.declared import Cost, Node, action, always, budget, parameter, purpose, refused
from kit.model.flows import FlowKind
from kit.model.model import Monitor
from kit.model.network import DeliverMessage, Envelope, Heal, NetworkOptions, Partition
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.gossip import rules

MOST_NODES = 6
MOST_FAULTS = 5
MOST_AHEAD = 99


class LegacyNode(declared.State, frozen=True, cache_hash=True):
    """A node: its cells, its view of all endpoints, and what it has done.

    ``past`` are versions whose cells it has: those that it had, and those that it has merged. It
    pulls none of them.
    ``done`` gives the number of each change that a client asked of it with its timestamp.
    """

    name: str
    cells: rules.Mutations
    view: rules.View
    past: tuple[str, ...] = ()
    done: tuple[tuple[int, int], ...] = ()

    @property
    def version(self) -> str:
        """The version of its schema, which it gossips."""
        return rules.endpoint_of(self.view, self.name).says(rules.SCHEMA)

    def hears(self, newer: rules.View) -> LegacyNode:
        """The node has heard what is newer of some endpoints."""
        return self.but(view=rules.heard(self.view, newer))

    def with_cells(self, cells: rules.Mutations, *versions: str) -> LegacyNode:
        """The node with these cells (all those of ``versions``) merged; it says its new version."""
        mine = rules.merged(self.cells, cells)
        version = rules.version_of(mine)
        past = {*self.past, *versions, self.version} - {version}
        view = rules.saying(self.view, self.name, SCHEMA=version)
        return self.but(cells=mine, view=view, past=tuple(sorted(past)))


class Syn(Struct, frozen=True, tag="syn", cache_hash=True):
    """This is how much I know about each endpoint."""

    why: ClassVar = "Nodes compare how much they know, so that they send only newer states."
    digests: rules.Digests


class Ack(Struct, frozen=True, tag="ack", cache_hash=True):
    """I know less than you about some endpoints. About others I have newer states, sent here."""

    why: ClassVar = "News goes both ways: an ACK brings newer states and asks for others."
    lacking: rules.Digests
    newer: rules.View


class Ack2(Struct, frozen=True, tag="ack2", cache_hash=True):
    """Here are the states that you asked for."""

    why: ClassVar = "The round ends: the receiver now has the states that it asked for."
    newer: rules.View


class PullRequest(Struct, frozen=True, tag="pull", cache_hash=True):
    """Send me all cells of your schema. I have heard of this version of it."""

    why: ClassVar = "The node that asks might lack some cells of this schema version."
    version: str


class PullAnswer(Struct, frozen=True, tag="cells", cache_hash=True):
    """Here are all cells of my schema. Their hash is ``version``. You asked about ``wanted``."""

    why: ClassVar = "Cells merge into the same schema in any order, and merging twice does no harm."
    wanted: str
    version: str
    cells: rules.Mutations


OF_A_ROUND = (Syn, Ack, Ack2)
OF_A_PULL = (PullRequest, PullAnswer)
KINDS: dict[type, FlowKind] = {PullRequest: "request", PullAnswer: "data"}
Change = Annotated[int, declared.Each(lambda m: range(len(m.planned)))]


MANUAL, CEP_21 = "manual on Raft, Schema with Raft", "CEP-21, Schema Management"
BOTH_SIDES = "Both sides of a network partition change the schema."


def several(m: Gossip) -> bool:
    """Whether there is more than one change: each promise breaks by itself then."""
    return len(m.planned) > 1


def apart(m: Gossip) -> bool:
    """Whether they may be on two sides."""
    return several(m) and m.partitions > 0


class Gossip(NetworkModel):
    """Nodes that change the schema on their own and gossip about its version."""

    name, title = "gossip", "A schema spread by gossip: the newest timestamp wins"
    premise = (
        "No node leads: changes spread from node to node, and the newest timestamp wins. "
        "Clients (squares) change the schema at different nodes."
    )
    about = "The nodes, the changes that clients request, the clock errors, and what can go wrong."
    rests_at_goals = True
    costs = (
        Cost("one-side", BOTH_SIDES, MANUAL, apart),
        Cost("split-brain", BOTH_SIDES, MANUAL, apart),
        Cost("one-id", "Two nodes create the same table with two ids.", MANUAL, several),
        Cost("loadable", "A change outlives what it was made to.", CEP_21, several),
        Cost("lost-update", "The newest timestamp wins, unseen changes are lost.", CEP_21, several),
    )

    nodes: int = parameter(3, "nodes in the cluster, named A, B, C, …", ge=2, le=MOST_NODES)
    changes: tuple[str, ...] = parameter(
        ("create table ks.t at A",),
        "the changes that clients request, each at one node, such as create table ks.t at B",
        title="schema changes",
        written=True,
    )
    earlier: tuple[str, ...] = parameter(
        ("create keyspace ks at A",),
        "earlier changes that every node already knows",
        title="done before",
        written=True,
    )
    clocks: tuple[Annotated[int, Meta(ge=0, le=MOST_AHEAD)], ...] = parameter(
        (),
        "how far each clock is ahead, in timestamps, starting with A; clocks not listed are right",
        title="clocks ahead by",
        written=True,
    )
    at_once: int = parameter(
        1,
        "most rounds and pulls in flight at once (those blocked by a network partition do not "
        "count)",
        title="messages at once",
        ge=1,
        le=MOST_FAULTS,
    )
    partitions: int = budget(
        0, "how many times the network is partitioned", le=MOST_FAULTS, own=False
    )
    losses: int = budget(0, "how many times a message is lost", le=MOST_FAULTS, own=False)

    def set_up(self) -> None:
        """A cluster in which all know what was done before.

        Raises BadInput when a line is no change, or there are more clocks than nodes.
        """
        names = tuple(ascii_uppercase[: self.nodes])
        if len(self.clocks) > self.nodes:
            raise BadInput("clocks", self.clocks, f"at most {self.nodes} numbers, one per node")
        self.planned = rules.parse_changes("changes", self.changes, names)
        self.ahead = (*self.clocks, *[0] * (self.nodes - len(self.clocks)))
        self.cells = _done_before(rules.parse_changes("earlier", self.earlier, names), names)
        self.view = begun(names, self.cells)
        self.connect(names, NetworkOptions(drops=self.losses, partitions=self.partitions))
        self.monitors = (split_brain(self), lost_updates(self))
        why = f"at_once={self.at_once}: no more rounds or pulls can be in flight"
        self.bounds = (refused(why),)

    # -- a node and its messages -------------------------------------------------------------------

    def begin(self, node: str) -> Turn:
        """A node is up, and knows all that was done before."""
        return LegacyNode(node, self.cells, self.view), ()

    @receives(Syn)
    def hears_syn(self, state: LegacyNode, envelope: Envelope[Syn]) -> Turn:
        """The node asks for what it lacks, and sends what it knows better."""
        lacking, newer = rules.compared(state.view, envelope.message.digests)
        return state, (Post(envelope.source, Ack(lacking, newer)),)

    @receives(Ack)
    def hears_ack(self, state: LegacyNode, envelope: Envelope[Ack]) -> Turn:
        """The node takes what is newer, and sends what it is asked for."""
        lacking, after = envelope.message.lacking, state.hears(envelope.message.newer)
        answer = Post(envelope.source, Ack2(rules.since(after.view, lacking)))
        return after, (answer,) * bool(lacking)

    @receives(Ack2)
    def hears_ack2(self, state: LegacyNode, envelope: Envelope[Ack2]) -> Turn:
        """The node takes what it asked for."""
        return state.hears(envelope.message.newer), ()

    @receives(PullRequest)
    def is_pulled(self, state: LegacyNode, envelope: Envelope[PullRequest]) -> Turn:
        """The node sends all its cells."""
        answer = PullAnswer(envelope.message.version, state.version, state.cells)
        return state, (Post(envelope.source, answer),)

    @receives(PullAnswer)
    def merges(self, state: LegacyNode, envelope: Envelope[PullAnswer]) -> Turn:
        """The node merges another node's cells, one by one."""
        pulled = envelope.message
        return state.with_cells(pulled.cells, pulled.wanted, pulled.version), ()

    # -- what a node does on its own accord --------------------------------------------------------

    def may_talk(
        self, s: ActorState, node: int, other: int, kinds: tuple[type, ...]
    ) -> Refusal | None:
        """Two nodes talk when they reach one another, once at a time, and few at once do."""
        ends = mine, theirs = self.names[node], self.names[other]
        if self.carrier.cut(s.network, mine, theirs):
            return refused(f"{mine} cannot reach {theirs}: the network is partitioned")
        under_way: set[tuple[str, str]] = set()
        for e in s.network.in_flight:
            if e.source in ends and e.target in ends and isinstance(e.message, kinds):
                said = self.in_short(e.message)
                return refused(f"{mine} and {theirs} already have {said} in flight")
            if not self.carrier.cut(s.network, e.source, e.target):
                under_way.add((e.source, e.target))
        return self.bounds[0] if len(under_way) >= self.at_once else None

    def pulls(self, s: ActorState) -> Iterator[tuple[int, int]]:
        """From each endpoint that gossips a version whose cells the node may lack."""
        for place, node in enumerate(s.nodes):
            for state in node.view:
                theirs = state.says(rules.SCHEMA)
                if theirs != node.version and theirs not in node.past:
                    yield place, self.index[state.endpoint]

    @action(tag="pull", each=pulls)
    @purpose("A node pulls because a different version might contain cells that it lacks.")
    def pull_cells(self, s: ActorState, node: Node, source: Node) -> Next:
        """{node} has version {mine} and {source} gossips {theirs}, so {node} pulls {source}'s
        schema.
        """
        if why := self.may_talk(s, node, source, OF_A_PULL):
            return why
        asks = PullRequest(self.heard_version(s, node, source))
        return self.turned(s, node, (s.nodes[node], (Post(self.names[source], asks),)))

    def heard_version(self, s: ActorState, node: int, source: int) -> str:
        """The version that a node has heard of another one's schema."""
        return rules.endpoint_of(s.nodes[node].view, self.names[source]).says(rules.SCHEMA)

    def unlike(self, s: ActorState) -> Iterator[tuple[int, int]]:
        """Two nodes that do not know the same of all endpoints."""
        for a, b in permutations(range(len(s.nodes)), 2):
            if s.nodes[a].view != s.nodes[b].view:
                yield a, b

    @action(tag="gossip", each=unlike)
    @purpose("No node leads: news spreads from node to node.")
    def begin_round(self, s: ActorState, node: Node, target: Node) -> Next:
        """{node} starts a gossip round with {target}."""
        if why := self.may_talk(s, node, target, OF_A_ROUND):
            return why
        syn = _syn(s.nodes[node].view)
        return self.turned(s, node, (s.nodes[node], (Post(self.names[target], syn),)))

    def timestamp(self, s: ActorState, number: int) -> int:
        """The clock of a node when it does a change: time is the count of changes."""
        done = sum(len(node.done) for node in s.nodes)
        return len(self.earlier) + 1 + done + self.ahead[self.planned[number].node]

    @action(
        tag="change",
        each=lambda m, s: sorted(
            {*range(len(m.planned))} - {number for node in s.nodes for number, _ in node.done}
        ),
        by=lambda m, s, action: m.names[m.planned[action.number].node],
        verb=lambda m, a: m.planned[a.number].text,
    )
    @purpose("Any node can change the schema at any time, and no node puts the changes in order.")
    def make_change(self, s: ActorState, number: Change) -> Next:
        """{name} runs {what} with timestamp {timestamp}. Its schema version is {version}, a hash
        of {count}.
        """
        planned = self.planned[number]
        node = s.nodes[planned.node]
        if why := rules.objection(rules.schema_of(node.cells), planned.change):
            return refused(why)
        after = _changed(node, number, planned.change, self.timestamp(s, number))
        return self.turned(s, planned.node, (after, ()))

    # -- what one would like of a schema that all nodes share --------------------------------------

    def sides(self, s: ActorState) -> tuple[tuple[LegacyNode, ...], ...]:
        """The nodes on each side of a split network; one side where it is whole."""
        apart = self.carrier.apart(s.network)
        here = tuple(node for node in s.nodes if node.name not in apart)
        there = tuple(node for node in s.nodes if node.name in apart)
        return (here, there) if there else (here,)

    @always()
    def one_side(self, s: ActorState) -> str | None:
        """During a network partition, one side has all the newest changes.

        Two nodes on different sides break this if each has changes that the other lacks.
        """
        here, *there = self.sides(s)
        for a, b in product(here, *there) if there else ():
            if rules.merged(a.cells, b.cells) not in (a.cells, b.cells):
                return (
                    f"{a.name} has version {a.version}, {b.name} has version {b.version}, "
                    "and each has changes that the other lacks"
                )
        return None

    @always()
    def one_id(self, s: ActorState) -> str | None:
        """A table name means the same table on all nodes."""
        ids: dict[str, tuple[str, str]] = {}
        for node in s.nodes:
            for name, words in rules.definitions(node.cells).items():
                first, where = ids.setdefault(name, (words, node.name))
                if name.startswith("table ") and first != words:
                    return f"{name} has {first} on {where} and {words} on {node.name}"
        return None

    @always()
    def loadable(self, s: ActorState) -> str | None:
        """No table lacks its keyspace, and no column lacks its table."""
        for node in s.nodes:
            for orphan in rules.schema_of(node.cells).orphans:
                return f"{node.name} has {orphan}, but the definition that it needs is missing"
        return None

    @declared.sometimes()
    def differ(self, s: ActorState) -> bool:
        """Two nodes have different schema versions."""
        return not agreed(s)

    @declared.sometimes()
    def again(self, s: ActorState) -> bool:
        """All nodes have the same version again after a change."""
        return agreed(s) and all(node.past for node in s.nodes)

    @declared.goal()
    def agreement(self, s: ActorState) -> bool:
        """All nodes can still agree on one version."""
        return agreed(s)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The network splits or heals, a client's change is done, or all nodes agree again."""
        if isinstance(action, MakeChange):
            return str(self.planned[action.number].text)
        if agreed(after) and not agreed(before):
            return f"version {after.nodes[0].version}"
        if isinstance(action, DeliverMessage):
            return None  # that nothing is in flight is no news: more gossip follows
        return super().milestone(before, action, after)

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """Of a pull both versions; of a change what it is, when it is done, what comes of it."""
        if isinstance(action, PullCells):
            node, source = map(self.number, (action.node, action.source))
            return {
                "mine": before.nodes[node].version,
                "theirs": self.heard_version(before, node, source),
            }
        if not isinstance(action, MakeChange):
            return super().words(before, action, after)
        planned = self.planned[action.number]
        node = after.nodes[planned.node]
        return {
            "name": node.name,
            "what": planned.change.text,
            "timestamp": dict(node.done)[action.number],
            "version": node.version,
            "count": counted(len(node.cells), "cell"),
        }

    def travels_as(self, message: Any) -> FlowKind:
        """What is pulled is data."""
        return KINDS.get(type(message), "message")

    def in_short(self, message: Any) -> str:
        """A message in a word or two: ``SYN``, ``pull``, ``cells 1f03c2``."""
        match message:
            case PullRequest():
                return "pull"
            case PullAnswer(_, version):
                return f"cells {version}"
        return str(type(message).__name__).upper()

    in_verbs = in_short

    def in_full(self, message: Any) -> str:
        """A message with what it tells."""
        match message:
            case Syn(known):
                endpoints = ", ".join(f"{d.endpoint} {d.generation}:{d.version}" for d in known)
                return f"SYN (digests {endpoints})"
            case Ack(lacking, newer):
                names = ", ".join(d.endpoint for d in lacking)
                asks = [f"asks for news of {names}"] if lacking else []
                return f"ACK ({' and '.join([*asks, *_states(newer)]) or 'nothing is newer'})"
            case Ack2(newer):
                return f"ACK2 ({' and '.join(_states(newer))})"
            case PullAnswer(_, version, cells):
                return f"{counted(len(cells), 'cell')} of version {version}"
        return "a schema request"


_, PullCells, BeginRound, MakeChange, *_rest = Gossip.acts


def begun(nodes: tuple[str, ...], cells: rules.Mutations) -> rules.View:
    """Every node's knowledge at the start: all endpoints, with one version."""
    view: rules.View = ()
    for name in nodes:
        view = rules.started(view, name, 1, SCHEMA=rules.version_of(cells))
    return view


def _done_before(earlier: Iterable[rules.PlannedChange], names: Sequence[str]) -> rules.Mutations:
    """The cells of all nodes at the start. Raises BadInput for a change without those it needs."""
    cells: rules.Mutations = ()
    for timestamp, planned in enumerate(earlier, start=1):
        if why := rules.objection(rules.schema_of(cells), planned.change):
            raise BadInput("earlier", planned.text, f"a change that makes sense: {why}")
        cells = rules.merged(cells, rules.cells_of(planned.change, timestamp, names[planned.node]))
    return cells


_syn = lru_cache(1 << 12)(lambda view: Syn(rules.digests(view)))


@lru_cache(1 << 12)  # few nodes differ
def _changed(node: LegacyNode, number: int, change: Any, timestamp: int) -> LegacyNode:
    done = tuple(sorted((*node.done, (number, timestamp))))
    return node.with_cells(rules.cells_of(change, timestamp, node.name)).but(done=done)


def agreed(s: ActorState) -> bool:
    """Whether all nodes have one version."""
    return len({node.version for node in s.nodes}) == 1


def _states(newer: rules.View) -> list[str]:
    said = [f"{each.endpoint} has version {each.says(rules.SCHEMA)}" for each in newer]
    return [f"says that {', '.join(said)}"] if said else []


# -- what only a whole run tells -------------------------------------------------------------------

Acknowledged = tuple[tuple[int, rules.SchemaCell], ...]
"""Cells of changes that clients were told are done, each with the number of its change."""
LostUpdates = tuple[Acknowledged, str]
Changers = tuple[tuple[str, ...], str]
"""Who changed the schema while the network is split as it is; what was seen on both sides."""


def is_dominated(cell: rules.SchemaCell, node: LegacyNode) -> bool:
    """Whether a node has something newer where this cell belongs, and that says something else."""
    if rules.merged(node.cells, (cell,)) != node.cells:
        return False  # the node has not heard of it
    there = next((each.value for each in node.cells if each.place == cell.place), "")
    return there != cell.value


def lost_updates(m: Gossip) -> Monitor:
    """The monitor of changes that somebody overwrites who did not know of them."""

    def lost(kept: Acknowledged, node: LegacyNode) -> str:
        for number, cell in kept:
            if is_dominated(cell, node):
                done = f"{m.planned[number].text} was done"
                return f"{done}, but {node.name} has something newer in its place"
        return ""

    def step(known: LostUpdates, before: ActorState, action: Any, after: ActorState) -> LostUpdates:
        kept, witness = known
        if isinstance(action, MakeChange):
            planned = m.planned[action.number]
            was, now = before.nodes[planned.node], after.nodes[planned.node]
            cells = rules.cells_of(planned.change, dict(now.done)[action.number], now.name)
            new = tuple((action.number, cell) for cell in cells)
            gone = {*was.cells} - {*now.cells}
            kept = (*(each for each in kept if each[1] not in gone), *new)
            return kept, witness or lost(new, now)
        if isinstance(action.envelope.message, PullAnswer):
            witness = witness or lost(kept, after.nodes[m.index[action.envelope.target]])
        return kept, witness

    return Monitor(
        "lost-update",
        "No node overwrites a change that it has not heard of",
        lambda: ((), ""),
        step,
        lambda memory: memory[1] or None,
        on=(MakeChange, DeliverMessage),
    )


def split_brain(m: Gossip) -> Monitor:
    """The monitor of a split network both of whose sides change the schema."""

    def step(known: Changers, before: ActorState, action: object, after: ActorState) -> Changers:
        changers, witness = known
        if not isinstance(action, MakeChange):
            return (), witness  # the network is split otherwise, or whole again
        name, far = m.names[m.planned[action.number].node], m.carrier.apart(before.network)
        if witness or not far:
            return (), witness
        if others := [each for each in changers if (each in far) != (name in far)]:
            said = f"{others[0]} and {name} changed the schema"
            return (), f"{said} while they could not reach each other"
        return changers or (name,), ""

    return Monitor(
        "split-brain",
        "Only one side of a network partition changes the schema",
        lambda: ((), ""),
        step,
        lambda memory: memory[1] or None,
        on=(MakeChange, Partition, Heal),
    )


RIVALS = ("create table ks.t at A", "create table ks.t at C")
MORE = ("create table ks.u at B", "alter table ks.u add c text at D", "drop table ks.t at B")
FACTORS = ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at B")
SCENARIOS = (
    Scenario(
        "one-change",
        (
            "A new table spreads by gossip. A creates it; B and C hear of "
            "a new version and pull the schema"
        ),
    ),
    Scenario(
        "both-sides",
        "Both sides create the same table. When the network partition ends, the newer one wins",
        {"changes": RIVALS, "partitions": 1},
        script=("partition A B | C", *RIVALS, "heal"),
    ),
    Scenario(
        "clock-is-behind",
        (
            "A change has no effect. A's clock is ahead: B's later change loses, "
            "although B knew of A's change"
        ),
        {"changes": FACTORS, "clocks": (9,), "nodes": 2},
        script=(
            *(FACTORS[0], "gossip A B", "deliver A>B SYN", "deliver B>A ACK"),
            *("deliver A>B ACK2", "pull B A", "deliver B>A pull"),
        ),
    ),
)
ENTRY = declared.entry(
    Gossip,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {"nodes": 4, "changes": (*RIVALS, *MORE), "partitions": 2, "losses": 2, "at_once": 3},
        {"drop": 0.1, "partition": 0.1, "change": 0.3},
    ),
)
