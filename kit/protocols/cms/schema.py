"""A schema that one log puts in order, and beside it the same one by gossip.

Switch S-80 off, and the same clients, joiner and faults meet in the world of gossip: each node does
a change by itself, says that it is done, and hears of others by and by. On, a change is an event.
Any node sends it to the metadata service, which checks it against all that was committed before.
How an event is committed is the matter of ``commit``: here it is one step, and members of the CMS
that are up apply it at once. Others catch up from whoever is further.

One table is written to, ``ks.t``, and each member of the ring holds all of it. A node X joins: it
copies what there is, and from its start on it gets new writes, from each coordinator that knows of
it. In the log a coordinator learns of a newer epoch from any replica that it asks, so that the
barrier of a join, the matter of ``tcm``, is left out. In the world of gossip the time that a joiner
waits may have passed at any moment: that is no proof that all have heard of it.

Besides, members leave, move or are replaced. Of that there is only what concerns a schema: from the
first event to the last one ranges are locked, and data is placed by the replication of the first.
Sources: CEP-21, "Motivation", "Schema Management", "Event Submission Protocol", "Cancelling
Committed Events", "Public Interfaces", "Compatibility"; published code, ``Gossiper``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, permutations, product
from typing import Annotated, Any, Literal, TypeAlias

from msgspec.structs import replace

from kit.errors import Refusal, counted
from kit.masks import is_majority, nodes_in, union, where
from kit.model import declared
from kit.model.declared import Node, State, Travel, action, always, budget, purpose, refused
from kit.model.flows import FlowKind
from kit.model.log import refined_by_logs
from kit.model.model import Refinement
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.cms.rules import schema as rules
from kit.protocols.cms.rules.log import Entry, Machine
from kit.protocols.cms.rules.schema import CANCEL, JOIN, LEAVE, MOVE, REPLACE, SchemaMetadata
from kit.protocols.gossip import rules as gossip
from kit.protocols.gossip.rules import BOOT, NORMAL, SCHEMA, STATUS, Mutations, View

MOST = 3
JOINER, OPERATOR, LEFT = "X", "operator", "LEFT"
KEYSPACE, TABLE = "ks", "t"
Phase = Literal["out", "asked", "boot", "streamed", "member"]
Health = Literal["up", "down", "back", "failed"]
Race = Literal["none", "type", "function", "view", "table", "column", "replication"]
RACING = ("create table ks.t using ud at A", "drop type ks.ud at B")
MADE = ("create table ks.t at A",)
RACES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "none": (MADE, ()),
    "type": (("create type ks.ud at A",), RACING),
    "function": (
        ("create function ks.f at A",),
        ("create aggregate ks.a using f at A", "drop function ks.f at B"),
    ),
    "view": (MADE, ("create view ks.v using t at A", "drop table ks.t at B")),
    "table": ((), (*MADE, "create table ks.t at B")),
    "column": (MADE, ("drop table ks.t at A", "alter table ks.t add c int at B")),
    "replication": (MADE, ("alter keyspace ks rf 2 at A",)),
}
"""Of each race: what was asked for before, and what clients ask for now."""


class SchemaNode(State, frozen=True, cache_hash=True):
    """A node: how far it is, the epoch that it has applied, its schema, what gossip says.

    ``out``: it has not begun; ``asked``: it has asked a seed; ``boot`` and ``streamed``: it joins.
    ``back``: it has started again with the list of ``members`` on its disk, which may be out of
    date: it answers, and can ask any peer. ``failed``: it could not load its schema.
    """

    name: str
    phase: Phase
    health: Health
    epoch: int
    cells: Mutations
    view: View
    members: tuple[str, ...] = ()  # of the CMS; the list is on its disk
    data: int = 0  # a mask of writes
    plan: tuple[tuple[str, int], ...] = ()  # the replication for which it has streamed

    @property
    def is_up(self) -> bool:
        """Whether it answers."""
        return self.health in ("up", "back")

    @property
    def serves(self) -> bool:
        """Whether clients may ask it."""
        return self.is_up and self.phase == "member"

    @property
    def is_there(self) -> bool:
        """Whether it has begun to show itself."""
        return self.phase not in ("out", "asked")

    @property
    def table_id(self) -> str:
        """The id by which it knows the table; empty where it does not."""
        table = gossip.schema_of(self.cells).table(KEYSPACE, TABLE)
        return table.id if table else ""

    @property
    def knows(self) -> tuple[Any, ...]:
        """All by which it acts: its schema, and what it has heard that each node is."""
        heard = ((each.endpoint, each.generation, each.says(STATUS)) for each in self.view)
        return self.cells, *heard

    def with_cells(self, cells: Mutations) -> SchemaNode:
        """The node with this schema, whose version it gossips."""
        if cells == self.cells:
            return self
        view = gossip.saying(self.view, self.name, **{SCHEMA: gossip.version_of(cells)})
        return self.but(cells=cells, view=view)


class SchemaState(State, frozen=True, cache_hash=True):
    """All nodes, the log, what clients have asked for, what is left of each budget."""

    nodes: tuple[SchemaNode, ...] = ()
    log: tuple[Entry, ...] = ()
    sent: tuple[int, ...] = ()  # changes on their way to the CMS
    done: tuple[int, ...] = ()  # changes of which clients were told that they are done
    rejected: tuple[tuple[int, int], ...] = ()  # changes, each with the epoch that it lost to
    written: tuple[str, ...] = ()  # of each acknowledged write, the id of the table it is under
    cut: str = ""  # who does not reach the joiner
    joins: int = 0
    writes: int = 0
    cuts: int = 0
    cancels: int = 0
    restarts: int = 0
    reconfigurations: int = 0
    operations: int = 0
    injections: int = 0


Next: TypeAlias = SchemaState | Refusal | None
Change = Annotated[int, declared.Each(lambda m: range(len(m.planned)))]
BEGUN = {LEAVE: "begins to leave", MOVE: "begins to move", REPLACE: "begins to be replaced"}
Operation = Annotated[str, declared.Each(tuple(BEGUN))]


def serving(s: SchemaState) -> tuple[SchemaNode, ...]:
    """The nodes that clients may ask."""
    return tuple(node for node in s.nodes if node.serves)


joining = partial(action, when=lambda m: m.joins)
"""An action of a joiner, or of who hears of it."""


def either(ordered: Any, by_gossip: Any) -> Any:
    """The words or flows of a step that differs between the two worlds."""
    return lambda m, before, action, after: ordered if m.ordered else by_gossip


ASKED = Travel("request", "{client}", "n:{node}", "change", "{client} → {node}: {what}")
ANSWERED = Travel("answer", "n:{node}", "{client}", "{heard_of}", "{node} → {client}: {heard_of}")
"""A client asks a node for a change, and hears what became of it."""
STARTS = {
    "failed": "{node} cannot start: it has {orphan}, which it cannot load.",
    "back": (
        "{node} starts with the list on its disk: the CMS is {members}. Any peer can check that."
    ),
    "up": "{node} starts and loads its schema.",
}


class Schema(declared.NodeModel[SchemaState]):
    """Clients that change a schema at different nodes, and perhaps a node that joins."""

    name, title, State = "schema", "A schema: ordered by the log, or by gossip", SchemaState
    revision = 2
    premise = (
        "One log puts all schema changes in order, so when two changes race, one is rejected. "
        "Without S-80, each node changes the schema on its own and hears of others' changes by "
        "gossip."
    )
    about = "The nodes, what clients ask of them, who joins, and what can go wrong."

    nodes: int = declared.parameter(
        3, "how many nodes the cluster has, named A, B, C, …", ge=2, le=5
    )
    race: Race = declared.parameter(
        "type", "which two changes meet: a type is used and dropped, a table is created twice, …"
    )
    changes: tuple[str, ...] = declared.parameter(
        (), "what else clients ask for: create table ks.t at B", title="more changes", written=True
    )
    joins: int = budget(0, "how many times X can begin to join", le=MOST)
    writes: int = budget(0, "how many times ks.t is written to", le=MOST)
    cuts: int = budget(0, "how many times a node loses sight of X", le=MOST)
    cancels: int = budget(0, "how many times an operator cancels the join", le=MOST)
    restarts: int = budget(0, "how many times a node stops and can be started again", le=MOST)
    reconfigurations: int = budget(0, "how many times the CMS grows by a node", le=MOST)
    operations: int = budget(0, "how many times a member leaves, moves or is replaced", le=MOST)
    injections: int = budget(0, "how many times somebody injects a gossip message", le=MOST)

    # fmt: off
    ordered: bool = declared.safeguard(
        "S-80", "All metadata changes go through one log; nodes make none on their own",
        ("INV-SCHEMA", "INV-VISIBLE", "INV-STREAM", "INV-RF", "INV-SAMESTATE"),
        smallest={"nodes": 2},
        wider={"INV-VISIBLE": {"nodes": 3, "race": "table", "writes": 1},
               "INV-STREAM": {"race": "none", "joins": 1, "writes": 1},
               "INV-RF": {"race": "replication", "joins": 1}})
    validate_committed: bool = declared.safeguard(
        "S-10", "A proposed change must make sense in the committed state", ("INV-VALID",),
        smallest={"nodes": 2})
    operator_cancel: bool = declared.safeguard(
        "S-17", "Only an operator cancels, never a timeout", ("INV-CANCEL",),
        smallest={"nodes": 2, "race": "none", "joins": 1, "cuts": 1})
    log_decides: bool = declared.safeguard(
        "S-81", "The log says which nodes own data; nothing that gossip says can change that",
        ("INV-SAMESTATE",), smallest={"nodes": 2, "race": "none", "injections": 1})
    schema_first: bool = declared.safeguard(
        "S-82", "A joiner streams only once it has applied the epoch at which it began",
        ("INV-SCHEMA", "INV-STREAM"), smallest={"nodes": 2, "race": "none", "joins": 1},
        wider={"INV-STREAM": {"writes": 1}})
    ranges_stay: bool = declared.safeguard(
        "S-83", "While ranges are locked, no statement changes replication", ("INV-RF",),
        smallest={"nodes": 2, "race": "replication", "joins": 1})
    # fmt: on

    def set_up(self) -> None:
        """The nodes, what was done, what clients ask for. BadInput for no change, or one twice."""
        members = tuple("ABCDE"[: self.nodes])
        self.names = (*members, *(JOINER,) * (self.joins > 0))
        before, now = RACES[self.race]
        self.planned = gossip.parse_changes("changes", (*now, *self.changes), members)
        cells: Mutations = ()
        earlier = gossip.parse_changes("earlier", ("create keyspace ks at A", *before), members)
        for epoch, planned in enumerate(earlier, start=1):
            made = gossip.cells_of(planned.change, epoch, members[planned.node])
            cells = gossip.merged(cells, made)
        self.base = len(earlier)
        statuses = tuple((name, NORMAL) for name in members)
        self.by_log = self.ordered and self.log_decides
        self.machine = Machine(SchemaMetadata(cells, statuses, members[:1]), rules.enact)

    def start(self) -> SchemaState:
        """All members know what was done before; X is not there yet."""
        first: SchemaMetadata = self.machine.initial
        view: View = ()
        for name, _ in first.statuses:
            said = {STATUS: NORMAL, SCHEMA: gossip.version_of(first.cells)}
            view = gossip.started(view, name, 1, **said)
        member = SchemaNode("", "member", "up", self.base, first.cells, view, first.members)
        nodes = [member.but(name=name) for name, _ in first.statuses]
        nodes += [SchemaNode(name, "out", "up", 0, (), ()) for name in self.names[len(nodes) :]]
        return super().start().but(nodes=tuple(nodes))

    # -- what a node knows -------------------------------------------------------------------------

    def newest(self, s: SchemaState) -> int:
        """The newest epoch."""
        return self.base + len(s.log)

    def newest_epoch(self, s: SchemaState) -> int | None:
        """The newest epoch; None in a world without a log."""
        return self.newest(s) if self.ordered else None

    def latest(self, s: SchemaState) -> SchemaMetadata:
        """The metadata of a node at the newest epoch."""
        return self.metadata(s, self.newest(s))

    def metadata(self, s: SchemaState, epoch: int) -> SchemaMetadata:
        """The metadata of every node at an epoch; nothing before it has applied any."""
        if epoch < self.base:
            return SchemaMetadata()
        return rules.metadata_after(self.machine, s.log[: epoch - self.base])

    def status(self, s: SchemaState, node: SchemaNode, *names: str) -> tuple[str, ...]:
        """The nodes that a node takes for owners of data, or what ``names`` say: log or gossip."""
        wanted = names or rules.OWNERS
        if self.by_log:
            known = self.metadata(s, node.epoch).statuses
            return tuple(name for name, said in known if said in wanted)
        return tuple(each.endpoint for each in node.view if each.says(STATUS) in wanted)

    def reaches(self, s: SchemaState, a: str, b: str) -> bool:
        """Whether two nodes can talk: a cut parts one of them from the joiner."""
        return not (s.cut in (a, b) and JOINER in (a, b))

    def applying(self, s: SchemaState, place: int, epoch: int) -> SchemaState:
        """A node has applied the log up to an epoch; what gossip says follows from that."""
        node = s.nodes[place]
        if node.epoch >= epoch:
            return s
        old, new = self.metadata(s, node.epoch), self.metadata(s, epoch)
        view, was = node.view, dict(old.statuses)
        for name, said in new.statuses:
            if was.pop(name, "") != said:
                known = gossip.endpoint_of(view, name).generation
                view = (
                    gossip.saying(view, name, STATUS=said)
                    if known
                    else gossip.started(view, name, 1, STATUS=said)
                )
        for name in was:
            view = gossip.forgetting(view, name)
        after = node.but(view=view, epoch=epoch, members=new.members, health="up")
        return s.put(place, after.with_cells(new.cells))

    def committed(self, s: SchemaState, event: str, who: str) -> Next:
        """An event is in the log, and members of the CMS apply it."""
        members = self.latest(s).members
        cms, up = self.mask(members), where(node.is_up for node in s.nodes)
        if not is_majority(up, cms):
            return self.too_few("the CMS has no majority", up, cms)
        s = s.but(log=(*s.log, Entry(self.newest(s) + 1, event, who)))
        for name in members:
            place = self.number(name)
            if s.nodes[place].is_up:
                s = self.applying(s, place, self.newest(s))
        return s

    # -- clients change the schema -----------------------------------------------------------------

    def unasked(self, s: SchemaState) -> list[int]:
        """The changes that nobody has asked for yet, each of a node that serves."""
        begun = {*s.sent, *s.done, *(number for number, _ in s.rejected)}
        able = (at for at, planned in enumerate(self.planned) if s.nodes[planned.node].serves)
        return [number for number in able if number not in begun]

    @action(
        tag="change",
        each=unasked,
        verb=lambda m, a: m.planned[a.number].text,
        says=either(
            "{node} sends “{what}” to the CMS: at {node}'s own epoch {epoch}, it makes sense.",
            "{node} executes “{what}” on its own, with timestamp {time}, and reports success.",
        ),
        travels=either(
            [ASKED, Travel("request", "{node}", "{first}", "submit", leg=1)],
            [ASKED, replace(ANSWERED, leg=1)],
        ),
    )
    @purpose("Any node can accept a change. The question is who puts the changes in order.")
    def submit_change(self, s: SchemaState, number: Change) -> Next:
        """A client asks a node for a change that must make sense, given what this node knows."""
        planned = self.planned[number]
        node = s.nodes[planned.node]
        if not self.ordered:
            if why := gossip.objection(gossip.schema_of(node.cells), planned.change):
                return refused(why)
            cells = gossip.cells_of(planned.change, self.base + len(s.done) + 1, node.name)
            s = s.put(planned.node, node.with_cells(gossip.merged(node.cells, cells)))
            return s.but(done=(*s.done, number))
        known = self.metadata(s, node.epoch)
        if why := rules.objection(known, planned.text, locks=self.ranges_stay):
            return refused(why)
        return s.but(sent=tuple(sorted((*s.sent, number))))

    def _decide_says(self, before: SchemaState, a: Any, after: SchemaState) -> str:
        if len(after.log) > len(before.log):
            return "“{what}” is committed as epoch {newest}."
        lost = after.rejected[-1][1]
        why = rules.objection(self.latest(before), self.planned[a.number].text)
        winner = next((each.event for each in before.log if each.epoch == lost), "")
        return "“{what}” is rejected: " + declared.verbatim(
            f"{why}. It lost to epoch {lost}, “{winner}”."
        )

    def _decide_travels(self, before: SchemaState, a: Any, after: SchemaState) -> Iterator[Travel]:
        node = after.nodes[self.planned[a.number].node]
        kind: FlowKind = "answer" if before.rejected == after.rejected else "refusal"
        yield Travel(kind, "{first}", "{node}", "{heard_of}", leg=0)
        yield replace(ANSWERED, kind=kind, leg=int(node.members[:1] != (node.name,)))

    @action(
        each=lambda m, s: s.sent,
        verb=lambda m, a: f"decide {m.planned[a.number].text}",
        says=_decide_says,
        when=lambda m: m.ordered,
        travels=_decide_travels,
    )
    @purpose("The loser of a race is told that it lost, and to which change.")
    def decide(self, s: SchemaState, number: Change) -> Next:
        """The CMS checks a change against everything committed, and commits or rejects it."""
        text, newest = self.planned[number].text, self.latest(s)
        sent = tuple(each for each in s.sent if each != number)
        if self.validate_committed and rules.objection(newest, text, locks=self.ranges_stay):
            winner = rules.lost_to(self.machine, s.log, text)
            epoch = winner.epoch if winner else self.base
            return s.but(sent=sent, rejected=(*s.rejected, (number, epoch)))
        s = s.but(sent=sent, done=(*s.done, number))
        return self.committed(s, text, self.names[self.planned[number].node])

    def why_here(self, before: SchemaState, action: Any, after: SchemaState) -> str:
        """Of a change that is committed, what made it one."""
        if isinstance(action, Schema.decide) and before.rejected == after.rejected:
            return "The change fits everything committed so far, so it gets the next epoch."
        return super().why_here(before, action, after)

    def news(self, s: SchemaState) -> Iterator[tuple[int, int]]:
        """The nodes that can learn something, and of whom."""
        if not self.ordered:
            for i, j in combinations(nodes_in(s.where(lambda n: n.is_up and n.is_there)), 2):
                a, b = s.nodes[i], s.nodes[j]
                if a.knows != b.knows and self.reaches(s, a.name, b.name):
                    yield i, j
            return
        for i, j in permutations(range(len(s.nodes)), 2):
            node, source = s.nodes[i], s.nodes[j]
            asks = node.epoch > 0 or source.name in node.members
            able = node.is_up and source.is_up and self.reaches(s, node.name, source.name)
            able = able and "out" not in (node.phase, source.phase)
            if asks and able and node.epoch < source.epoch:
                yield i, j

    @action(
        tag="learn",
        each=news,
        says=either(
            "{node} asks {source} for the log after epoch {from_epoch} and applies it up to epoch "
            "{epoch}.",
            "{node} and {source} gossip and pull each other's schema: the newest cells win.",
        ),
        travels=either(
            declared.there_and_back(
                "{node}",
                "{source}",
                "log from {from_epoch}",
                "up to epoch {epoch}",
                ("request", "data"),
            ),
            declared.there_and_back(
                "{node}", "{source}", "states, schema", "states, schema", ("message", "message")
            ),
        ),
    )
    @purpose("Nodes learn what others already know.")
    def catch_up(self, s: SchemaState, node: Node, source: Node) -> Next:
        """A node learns from another one."""
        if self.ordered:
            return self.applying(s, node, s.nodes[source].epoch)
        both = s.nodes[node], s.nodes[source]
        cells = gossip.merged(*(each.cells for each in both))
        a, b = (each.with_cells(cells) for each in both)
        s = s.at(node, view=gossip.heard(a.view, b.view), cells=cells)
        return s.at(source, view=gossip.heard(b.view, a.view), cells=cells)

    # -- a node joins ------------------------------------------------------------------------------

    def joiner(self, s: SchemaState, phase: Phase) -> int:
        """The joiner, where it is up and so far, as a mask."""
        x = len(s.nodes) - 1
        return (s.nodes[x].phase == phase and s.nodes[x].is_up) << x

    def contacts(self, s: SchemaState, nodes: int) -> Iterator[tuple[int, int]]:
        """Each of these nodes, and each other one that serves and that it reaches."""
        for asks, peer in product(nodes_in(nodes), nodes_in(s.where(lambda n: n.serves))):
            if asks != peer and self.reaches(s, self.names[asks], self.names[peer]):
                yield asks, peer

    @joining(
        tag="ask-seed",
        each=lambda m, s: m.contacts(s, m.joiner(s, "out")),
        says=either(
            "{node} asks the seed {seed} which nodes form the CMS: {members}. {node} will fetch "
            "the log there.",
            "{node} asks {seed} which nodes there are, in a shadow round: no node hears of {node}.",
        ),
        travels=either(
            declared.there_and_back("{node}", "{seed}", "which nodes are the CMS?", "{members}"),
            declared.there_and_back("{node}", "{seed}", "shadow round", "states"),
        ),
    )
    @purpose("Before a newcomer shows itself, it finds out about the cluster.")
    def ask_seed(self, s: SchemaState, node: Node, seed: Node) -> Next:
        """The joiner asks a seed."""
        if self.ordered:
            return s.at(node, phase="asked", members=s.nodes[seed].members)
        return s.at(node, phase="asked", view=s.nodes[seed].view)

    @joining(
        tag="bootstrap",
        each=lambda m, s: m.joiner(s, "asked"),
        spends="joins",
        says=either(
            "{node} begins to join (epoch {newest}): from now on, writes also go to {node}.",
            "{node} says BOOT: nodes that hear this also write to {node}.",
        ),
    )
    @purpose("New writes have to reach the newcomer while it copies older ones.")
    def begin(self, s: SchemaState, node: Node) -> Next:
        """The joiner begins to join."""
        if self.ordered:
            begun = s.at(node, phase="boot")
            return self.locked(s) or self.committed(begun, f"{JOIN} {JOINER}", JOINER)
        view = s.nodes[node].view
        said = {STATUS: BOOT, SCHEMA: gossip.version_of(s.nodes[node].cells)}
        generation = gossip.endpoint_of(view, JOINER).generation + 1
        view = gossip.started(view, JOINER, generation, **said)
        return s.at(node, phase="boot", view=view)

    def locked(self, s: SchemaState) -> Refusal | None:
        """Why no operation may begin: each locks the ranges of ks.t, as each member has all."""
        locks = self.latest(s).locks
        return refused(f"the {locks} has locked the same ranges") if locks else None

    def began(self, s: SchemaState) -> int:
        """The epoch at which the joiner has begun."""
        return max((each.epoch for each in s.log if each.event == f"{JOIN} {JOINER}"), default=0)

    @joining(
        each=lambda m, s: m.contacts(s, m.joiner(s, "boot")),
        travels=[Travel("data", "{source}", "{node}", "ks.t")],
    )
    @purpose("Older data does not come with new writes, so it has to be copied.")
    def stream(self, s: SchemaState, node: Node, source: Node) -> Next:
        """{node} copies ks.t from {source}: {streamed}."""
        x = s.nodes[node]
        if self.schema_first and x.epoch < self.began(s):  # gossip has no epochs
            return refused(f"{JOINER} has not applied epoch {self.began(s)}, at which it began")
        under = where(each == x.table_id for each in s.written)
        plan = gossip.schema_of(x.cells).keyspaces
        return s.at(node, phase="streamed", data=x.data | s.nodes[source].data & under, plan=plan)

    @joining(
        tag="joined",
        each=lambda m, s: m.joiner(s, "streamed"),
        says=either(
            "{node} has joined (epoch {newest}).",
            "{node} says NORMAL: nodes that hear this start to read from {node}.",
        ),
    )
    @purpose("Reads go to the newcomer once it has all the data.")
    def finish(self, s: SchemaState, node: Node) -> Next:
        """The joiner has joined and owns its data."""
        if self.ordered:
            return self.committed(s.at(node, phase="member"), f"{rules.JOINED} {JOINER}", JOINER)
        view = gossip.saying(s.nodes[node].view, JOINER, STATUS=NORMAL)
        return s.at(node, phase="member", view=view)

    def under_way(self, s: SchemaState) -> dict[int, str]:
        """The nodes that join, leave, move or are replaced by the newest epoch, and which of it."""
        return {
            self.number(name): rules.LOCKING[said]
            for name, said in self.latest(s).statuses
            if said in rules.LOCKING
        }

    def undone(self, s: SchemaState, node: int, who: str) -> Next:
        """An operation is cancelled by the log: a joiner may begin again."""
        joins = self.under_way(s)[node] == JOIN
        s = s.at(node, phase="asked", data=0, plan=()) if joins else s.at(node, plan=())
        return self.committed(s, f"{CANCEL} {self.names[node]}", who)

    @action(
        each=lambda m, s: [*m.under_way(s)],
        when=lambda m: m.ordered and (m.joins or m.operations),
        spends="cancels",
    )
    @purpose("A person can tell a dead joiner from a slow one.")
    def cancel(self, s: SchemaState, node: Node) -> Next:
        """An operator cancels the {undone} of {node} (epoch {newest})."""
        return self.undone(s, node, OPERATOR)

    # -- a member leaves, moves or is replaced -----------------------------------------------------

    def operable(self, s: SchemaState) -> Iterator[tuple[str, int]]:
        """Operations of members: whoever serves may leave or move, who is down can be replaced."""
        owners = self.latest(s).those(NORMAL)
        for node, each in enumerate(s.nodes):
            if each.name in owners and each.phase == "member":
                may = (LEAVE, MOVE) if each.serves else (REPLACE,) * (each.health == "down")
                yield from ((kind, node) for kind in may)

    @action(
        tag="operate",
        each=operable,
        verb="{kind} {node}",
        when=lambda m: m.ordered,
        spends="operations",
        says=lambda m, s, a, after: (
            f"{{node}} {BEGUN[a.kind]} (epoch {{newest}}): from now on, ranges are locked."
        ),
        unasked=True,
    )
    @purpose("Data moves under the current replication, which must not change meanwhile.")
    def operate(self, s: SchemaState, kind: Operation, node: Node) -> Next:
        """A member begins to leave or to move, or another node begins to replace it."""
        known = self.latest(s)
        if kind == LEAVE and self.names[node] in known.members:
            return refused(f"{self.names[node]} is a member of the CMS and has to hand over first")
        s = s.at(node, plan=gossip.schema_of(known.cells).keyspaces)
        return self.locked(s) or self.committed(s, f"{kind} {self.names[node]}", OPERATOR)

    @action(
        each=lambda m, s: [node for node, kind in m.under_way(s).items() if kind != JOIN],
        when=lambda m: m.operations,
    )
    @purpose("Once the data is where it belongs, replication can change again.")
    def complete(self, s: SchemaState, node: Node) -> Next:
        """{node} has {ended} (epoch {newest}): its ranges are no longer locked."""
        if (kind := self.under_way(s)[node]) != REPLACE and not s.nodes[node].serves:
            return refused(f"{self.names[node]} does not serve", (self.names[node],))
        if kind == REPLACE:  # it keeps its name here
            s = s.at(node, health="up", data=union(each.data for each in serving(s)))
            s = self.applying(s, node, self.newest(s))
        s = s.at(node, phase="out") if kind == LEAVE else s
        return self.committed(s, f"{rules.OPERATIONS[kind][1]} {self.names[node]}", OPERATOR)

    @joining(
        tag="time-out",
        each=lambda m, s: s.where(
            lambda n: (
                n.serves
                and n.name != JOINER
                and JOINER in m.status(s, n, BOOT)
                and not (m.reaches(s, n.name, JOINER) and s.nodes[-1].is_up)
            )
        ),
        says=either(
            "{node} has not heard from X for too long and cancels X's join (epoch {newest}).",
            "{node} has not heard from X for too long (FatClient timeout) and drops it from its "
            "tables. Other nodes have their own timeouts.",
        ),
        fault=True,
    )
    @purpose("Silence looks different from each node, so it must not change what all nodes share.")
    def time_out(self, s: SchemaState, node: Node) -> Next:
        """A node has not heard from the joiner for too long."""
        if not self.ordered:
            return s.at(node, view=gossip.forgetting(s.nodes[node].view, JOINER))
        if self.operator_cancel:
            return refused("silence cancels nothing: only an operator can cancel")
        if not self.latest(s).those(BOOT):
            return None  # somebody else has cancelled it
        return self.undone(s, len(s.nodes) - 1, self.names[node])

    # -- clients write -----------------------------------------------------------------------------

    def brought_up(self, s: SchemaState, place: int) -> SchemaState:
        """In the log, whoever takes part in a request catches up with the newest of them first."""
        while self.ordered:
            targets = self.targets(s, place)
            top = max(s.nodes[at].epoch for at in (place, *targets))
            after = s
            for at in (place, *targets):
                after = self.applying(after, at, top)
            if after == s:
                break
            s = after
        return s

    def targets(self, s: SchemaState, place: int) -> list[int]:
        """Those among whom a coordinator writes to that answer: who owns data, who joins."""
        names = self.status(s, s.nodes[place], *rules.OWNERS, BOOT)
        nodes = [s.nodes[self.number(name)] for name in names]
        able = (n.name for n in nodes if n.is_up and self.reaches(s, self.names[place], n.name))
        return [*map(self.number, able)]

    @action(
        each=lambda m, s: s.where(
            lambda n: (
                n.serves and m.brought_up(s, m.number(n.name)).nodes[m.number(n.name)].table_id
            )
        ),
        when=lambda m: m.writes,
        spends="writes",
        says="{node} sends write {number} to {stored}.{heard}",
        travels=lambda m, s, a, after: [
            Travel("data", a.node, name, "write {number}", leg=0)
            for name in m.stored(s, after)
            if name != a.node
        ],
        relied=False,
        unasked=True,
    )
    @purpose("A coordinator writes to the nodes that it knows, using the schema that it knows.")
    def write(self, s: SchemaState, node: Node) -> Next:
        """A client writes at QUORUM. In addition, each joining node has to acknowledge."""
        s = self.brought_up(s, node)
        coordinator, bit = s.nodes[node], 1 << len(s.written)
        table = coordinator.table_id
        answering = [at for at in self.targets(s, node) if s.nodes[at].table_id == table]
        owners, more = self.status(s, coordinator), self.status(s, coordinator, BOOT)
        missing = tuple(n for n in (*owners, *more) if self.number(n) not in answering)
        lost = [name for name in missing if name in owners]
        if 2 * len(lost) >= len(owners) or len(lost) < len(missing):
            return refused("too few replicas know the table and answer", missing)
        for at in answering:
            s = s.at(at, data=s.nodes[at].data | bit)
        return s.but(written=(*s.written, table))

    def stored(self, before: SchemaState, after: SchemaState) -> tuple[str, ...]:
        """The nodes that have stored a write in a step."""
        pairs = zip(before.nodes, after.nodes, strict=True)
        return tuple(new.name for old, new in pairs if new.data != old.data)

    # -- operators and faults ----------------------------------------------------------------------

    @action(
        each=lambda m, s: s.where(lambda n: n.is_up and n.is_there),
        spends="restarts",
        hand=declared.off_stage,
        fault=True,
    )
    @purpose("A node that is down does not hear what the others do.")
    def stop(self, s: SchemaState, node: Node) -> Next:
        """{node} is down."""
        if not self.ordered and s.nodes[node].phase in ("boot", "streamed"):
            return s.at(node, health="down", phase="out", view=(), data=0, plan=())
        return s.at(node, health="down")

    @action(
        each=lambda m, s: s.where(lambda n: n.health == "down"),
        says=lambda m, before, a, after: STARTS[after.nodes[m.number(a.node)].health],
    )
    @purpose("A node starts with what is on its disk.")
    def start_again(self, s: SchemaState, node: Node) -> Next:
        """A node starts, and loads its schema."""
        if self.names[node] in self.latest(s).those(rules.REPLACED):
            return refused("another node is replacing it")
        if gossip.schema_of(s.nodes[node].cells).orphans:
            return s.at(node, health="failed")
        asks = self.ordered and self.status(s, s.nodes[node]) != (self.names[node],)
        return s.at(node, health="back" if asks else "up")

    @action(
        each=lambda m, s: m.contacts(s, s.where(lambda n: n.health == "back")),
        when=lambda m: m.ordered and m.restarts,
        travels=declared.there_and_back("{node}", "{peer}", "is {listed} the CMS?", "{members}"),
    )
    @purpose("Any peer that the node knows can say whether its list is out of date.")
    def check_list(self, s: SchemaState, node: Node, peer: Node) -> Next:
        """{node} asks {peer} whether its list is still right. {peer} answers: {verdict}."""
        mine, theirs = s.nodes[node], s.nodes[peer]
        members = theirs.members if theirs.epoch > mine.epoch else mine.members
        return s.at(node, health="up", members=members)

    @action(
        each=lambda m, s: s.where(lambda n: n.serves and n.name not in m.latest(s).members),
        when=lambda m: m.ordered,
        spends="reconfigurations",
        unasked=True,
    )
    @purpose("The nodes that keep the log can change, and the log itself says so.")
    def reconfigure(self, s: SchemaState, node: Node) -> Next:
        """{node} becomes a member of the CMS (epoch {newest})."""
        members = (*self.latest(s).members, self.names[node])
        return self.committed(s, " ".join((rules.CMS, *members)), OPERATOR)

    @action(
        each=lambda m, s: [
            (i, j)
            for i, j in permutations(range(m.nodes), 2)
            if s.nodes[i].is_up
            and gossip.endpoint_of(s.nodes[i].view, m.names[j]).says(STATUS) not in ("", LEFT)
        ],
        spends="injections",
        fault=True,
    )
    @purpose("Gossip can be wrong, so nothing important must depend on it.")
    def inject(self, s: SchemaState, node: Node, about: Node) -> Next:
        """A gossip message is injected into {node}: {about} has LEFT. {node} {heeds}."""
        view, name = s.nodes[node].view, self.names[about]
        generation = gossip.endpoint_of(view, name).generation + 1
        return s.at(node, view=gossip.started(view, name, generation, **{STATUS: LEFT}))

    @joining(
        tag="cut-off",
        kind="cut",
        each=lambda m, s: 0 if s.cut else (1 << m.nodes) - 1,
        spends="cuts",
        fault=True,
    )
    @purpose("A node that cannot reach the joiner knows nothing about it.")
    def cut_off(self, s: SchemaState, node: Node) -> Next:
        """{node} and X lose sight of each other."""
        return s.but(cut=self.names[node])

    @action(each=lambda m, s: int(bool(s.cut)), tag="reconnect")
    @purpose("Messages get through again.")
    def heal(self, s: SchemaState) -> Next:
        """The network is whole again."""
        return s.but(cut="")

    # -- what must hold ----------------------------------------------------------------------------

    @always("INV-VALID", when=lambda m: m.ordered)
    def valid(self, s: SchemaState) -> str | None:
        """Each committed change makes sense after all that was committed before."""
        for place, each in enumerate(s.log):
            before = rules.metadata_after(self.machine, s.log[:place])
            if why := rules.objection(before, each.event, locks=self.ranges_stay):
                return f"epoch {each.epoch} is “{each.event}”, but {why}"
        return None

    @always("INV-SCHEMA")
    def loadable(self, s: SchemaState) -> str | None:
        """No part of a node's schema needs something that does not exist."""
        for node in s.nodes:
            for orphan in gossip.schema_of(node.cells).orphans:
                return f"{node.name} has {orphan}, but cannot load it at a restart"
        return None

    @always("INV-SCHEMA")
    def one_id(self, s: SchemaState) -> str | None:
        """A name means the same table on all nodes."""
        if self.was_dropped(s):
            return None
        ids = {node.name: node.table_id for node in s.nodes if node.table_id}
        known = sorted(ids.items(), key=lambda each: each[1])
        if known and known[0][1] != known[-1][1]:
            (a, first), (b, last) = known[0], known[-1]
            return f"{KEYSPACE}.{TABLE} has id {first} on {a} and id {last} on {b}"
        return None

    def was_dropped(self, s: SchemaState) -> bool:
        """Whether a client was told that the table, or its keyspace, is dropped."""
        changes = [self.planned[number].change for number in s.done]
        return any(each.verb == "drop" and each.table in ("", TABLE) for each in changes)

    @always("INV-VISIBLE")
    def kept(self, s: SchemaState) -> str | None:
        """What was written to a table can be read there, unless the table was dropped."""
        if self.was_dropped(s):
            return None
        for number, under in enumerate(s.written, start=1):
            for node in serving(s):
                if node.table_id not in ("", under):
                    read = f"{KEYSPACE}.{TABLE} under id {node.table_id}"
                    return f"write {number} is under id {under}, but {node.name} reads {read}"
        return None

    @always("INV-SAMESTATE")
    def same(self, s: SchemaState) -> str | None:
        """Nodes that have applied the same epochs have the same schema and the same owners."""
        for a, b in combinations(serving(s), 2):
            if a.epoch == b.epoch:
                if a.cells != b.cells:
                    return f"{a.name} and {b.name}, both at epoch {a.epoch}, have different schemas"
                both = f"at epoch {a.epoch}" if self.ordered else "with one schema"
                mine, theirs = (self.status(s, each, *rules.OWNERS, BOOT) for each in (a, b))
                if mine != theirs:
                    some, others = f"{a.name} writes to {', '.join(mine)}", ", ".join(theirs)
                    return f"both {both}, {some}, but {b.name} writes to {others}"
        return None

    @always("INV-CANCEL", when=lambda m: m.ordered)
    def asked_for(self, s: SchemaState) -> str | None:
        """A join is cancelled only when an operator asks for it."""
        for each in s.log:
            if each.event == f"{CANCEL} {JOINER}" and each.id != OPERATOR:
                return f"epoch {each.epoch} cancels the join, but only {each.id} wanted it"
        return None

    def schemas(self, s: SchemaState, epoch: int) -> list[Mutations]:
        """The schema: that of an epoch, or by gossip that of each node that serves."""
        if self.ordered:
            return [self.metadata(s, epoch).cells]
        return [node.cells for node in serving(s)]

    @declared.step("INV-SCHEMA", on=(stream,), when=lambda m: m.joins)
    def whole_schema(self, before: SchemaState, action: Any, after: SchemaState) -> str | None:
        """A joiner has the whole schema before it streams."""
        mine = before.nodes[-1].cells
        for cells in self.schemas(before, self.began(before)):
            lacks = {*gossip.definitions(gossip.merged(mine, cells))} - {*gossip.definitions(mine)}
            if lacks:
                return f"{JOINER} streams although it lacks {min(lacks)}"
        return None

    @declared.step("INV-STREAM", on=(finish,), when=lambda m: m.joins and not m.restarts)
    def streamed(self, before: SchemaState, action: Any, after: SchemaState) -> str | None:
        """A node that has joined has every acknowledged write."""
        if self.was_dropped(after):
            return None
        lacks = self.missing(after)
        return f"{JOINER} has joined, but lacks write {lacks.bit_length()}" if lacks else None

    def missing(self, s: SchemaState) -> int:
        """The acknowledged writes that the joiner does not have, as a mask."""
        return (1 << len(s.written)) - 1 & ~s.nodes[-1].data

    @declared.step("INV-RF", on=(finish, complete), when=lambda m: m.joins or m.operations)
    def replicated(self, before: SchemaState, action: Any, after: SchemaState) -> str | None:
        """An operation ends with as many replicas as it has placed data for."""
        plan = dict(after.nodes[self.number(action.node)].plan)
        for cells in self.schemas(after, self.newest(after)):
            for keyspace, rf in gossip.schema_of(cells).keyspaces:
                if (planned := plan.get(keyspace, rf)) != rf:
                    done = (
                        f"{action.node} streamed {keyspace} for replication factor (RF) {planned}"
                    )
                    return f"{done}, but its RF is now {rf}"
        return None

    @declared.sometimes()
    def changed(self, s: SchemaState) -> bool:
        """A change is done."""
        return bool(s.done)

    @declared.sometimes(when=lambda m: m.ordered and len(m.planned) > 1)
    def refused_one(self, s: SchemaState) -> bool:
        """One of two changes that race is rejected."""
        return bool(s.rejected)

    @declared.sometimes(when=lambda m: m.joins)
    def has_joined(self, s: SchemaState) -> bool:
        """X has joined."""
        return s.nodes[-1].phase == "member"

    @declared.goal()
    def agreement(self, s: SchemaState) -> bool:
        """All nodes that serve can end with one schema, and each change can be answered."""
        return not s.sent and len({(node.epoch, node.cells) for node in serving(s)}) <= 1

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: SchemaState, action: Any, after: SchemaState) -> declared.Words:
        """Epochs before and after, what a change is, what a node knows, stores and has ended."""
        change = self.planned[action.number] if hasattr(action, "number") else None
        place = change.node if change else self.number(getattr(action, "node", self.names[0]))
        old, new = before.nodes[place], after.nodes[place]
        members, more = ", ".join(new.members), new.data & ~old.data
        heard = f" {new.name} hears of epoch {new.epoch} and catches up first."
        _, end, noun = rules.OPERATIONS[self.under_way(before).get(place, JOIN)]
        return {
            "newest": self.newest(after),
            "from_epoch": old.epoch,
            "epoch": new.epoch,
            "node": new.name,
            "what": change.change.text if change else "",
            "client": f"c{action.number + 1}" if change else "",
            "heard_of": self._verdict(before, after),
            "time": self.base + len(after.done),
            "number": len(after.written),
            "first": "".join(new.members[:1]),
            "members": members,
            "listed": ", ".join(old.members),
            "verdict": "it is" if old.members == new.members else f"the CMS is now {members}",
            "heeds": "repeats that in gossipinfo, but its tables stay as they are"
            if self.by_log
            else "believes it",
            "undone": noun,
            "ended": end.replace("replaced", "been replaced"),
            "stored": ", ".join(self.stored(before, after)),
            "heard": heard if new.epoch > old.epoch else "",
            "streamed": f"{more.bit_count()} of {counted(len(after.written), 'write')}",
            "orphan": next(iter(gossip.schema_of(new.cells).orphans), ""),
        }

    def _verdict(self, before: SchemaState, after: SchemaState) -> str:
        if len(after.rejected) > len(before.rejected):
            return f"lost to epoch {after.rejected[-1][1]}"
        return f"epoch {self.newest(after)}" if self.ordered else "done"

    def milestone(self, before: SchemaState, action: Any, after: SchemaState) -> str | None:
        """All but what nodes learn of each other, and what clients write."""
        return None if isinstance(action, (Schema.catch_up, Schema.write)) else self.verb(action)


SCENARIOS = (
    Scenario(
        "two-changes",
        (
            "Two changes that do not fit together. A type is used on A and dropped on B: "
            "one change is committed, the other is rejected"
        ),
        {"nodes": 2},
        script=(*RACING, f"decide {RACING[0]}", f"decide {RACING[1]}", "learn B A"),
    ),
    Scenario(
        "two-changes-by-gossip",
        "The same two changes by gossip. Without a log both are made, and A can no longer start",
        {"nodes": 2, "restarts": 1},
        off=("ordered",),
        script=(*RACING, "learn A B", "stop A", "start-again A"),
    ),
    Scenario(
        "two-ids",
        "One table gets two ids. Two clients create it by gossip, and a write is lost",
        {"race": "table", "writes": 1},
        off=("ordered",),
        script=(
            *("create table ks.t at A", "create table ks.t at B", "learn A C", "write A"),
            *("learn A B", "learn A C"),
        ),
    ),
    Scenario(
        "late-news",
        (
            "News of X comes too late. X joins by gossip, and a node that has not heard "
            "of X does not write to it"
        ),
        {"race": "none", "joins": 1, "writes": 1},
        off=("ordered",),
        script=("ask-seed X A", "bootstrap X", "learn A X", "stream X A", "write B", "joined X"),
    ),
    Scenario(
        "whole-schema-first",
        (
            "A node joins by the log. X asks a seed for the CMS, gets the whole schema, "
            "then the data"
        ),
        {"race": "none", "joins": 1, "writes": 1},
        script=(
            *("ask-seed X A", "bootstrap X", "learn X A", "write B", "stream X A", "joined X"),
            *("learn X A", "learn B A", "learn C A"),
        ),
    ),
    Scenario(
        "silent-joiner",
        (
            "The joining node falls silent. B loses sight of X: the log does not change "
            "until an operator cancels the join"
        ),
        {"nodes": 2, "race": "none", "joins": 1, "cuts": 1, "cancels": 1},
        script=("ask-seed X A", "bootstrap X", "learn B A", "cut-off B", "cancel X", "learn B A"),
    ),
)


def _refinement(parameters: Any) -> Refinement:
    """Each change, join and member of the CMS is one entry of the log, which nodes apply in turn.

    What was there before is entries, too: a joiner begins without them.
    """
    fine = Schema(parameters)
    earlier = tuple(Entry(each + 1, "earlier", OPERATOR) for each in range(fine.base))

    def known(s: SchemaState) -> list[tuple[Entry, ...]]:
        return [(*earlier, *s.log)[: node.epoch] for node in s.nodes]

    first, *others = fine.names
    grown = [(rules.CMS, first, *some) for n in range(MOST) for some in permutations(others, n + 1)]
    events = [(planned.text, fine.names[planned.node]) for planned in fine.planned]
    events += [(" ".join(words), OPERATOR) for words in grown]
    events += [(f"{what} {JOINER}", JOINER) for what in (JOIN, rules.JOINED)]
    acts = (*rules.OPERATIONS, *(end for _, end, _ in rules.OPERATIONS.values()), CANCEL)
    events += [(" ".join(each), OPERATOR) for each in product(acts, fine.names)]
    most = len(fine.planned) + 3 * fine.joins + fine.reconfigurations + 2 * fine.operations
    epochs = range(fine.base + 1, fine.base + most + 1)
    return refined_by_logs(fine, known, (Entry(at, *each) for at in epochs for each in events))


ENTRY = declared.entry(
    Schema,
    scenarios=SCENARIOS,
    refinement=_refinement,
    fuzzing=Fuzzing(
        {
            "changes": ("create keyspace k rf 2 at C",),
            "joins": 2,
            "writes": 2,
            "cuts": 1,
            "cancels": 1,
            "restarts": 3,
            "reconfigurations": 1,
            "operations": 1,
            "injections": 1,
        },
        {"stop": 0.2, "cut": 0.2, "inject": 0.2, "cancel": 0.2},
    ),
)
