"""Who keeps the log of metadata, how that changes, and how it is lost and regained.

A commit is one step here: a member proposes, a quorum stores the entry at the next epoch, and
everybody else learns it later (the messages of that are model ``commit``). So a node knows a prefix
of the log, and a member may hold an entry above a gap. From which members a proposer takes its
quorum is a parameter: from those that the prefix of its log names, or from the latest ones that it
has heard of.
Sources: CEP-21, "CMS Reconfiguration Protocol", "Failure Recovery"; published code,
``ReconfigureCMS``, ``AdvanceCMSReconfiguration``, ``PaxosBackedProcessor``, ``PrepareLeave``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Annotated, Any, Literal, TypeAlias

from kit.errors import BadInput, Refusal
from kit.masks import chosen, is_majority, nodes_in, union
from kit.model import declared
from kit.model.declared import Node, State, Travel, action, entry, parameter, purpose, refused
from kit.model.model import KeptAnyhow
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.cms.commit import refined_by
from kit.protocols.cms.rules import log as logs
from kit.protocols.cms.rules import members as rules
from kit.protocols.cms.rules.log import SNAPSHOT, Entry, Machine, NodeLog, Snapshot
from kit.protocols.cms.rules.members import Edition, Members, letters
from kit.ring.topology import Node as RingNode

MOST_NODES, MOST = 6, 4
Health = Literal["up", "down", "lost", "left"]
Size: TypeAlias = Annotated[int, declared.Each(())]
Sizes: TypeAlias = Annotated[str, declared.Each(())]
By: TypeAlias = Annotated[tuple[str, ...], declared.Each((), " ".join)]
Ignored: TypeAlias = Annotated[tuple[str, ...], declared.Each((), ", ".join)]
OPERATOR = "operator"
"""Who submits what is forced: the mark of such an entry."""


class LogKeeper(State, frozen=True, cache_hash=True):
    """A node: its log, how it is, and whether what it made of its log is corrupt."""

    log: NodeLog
    health: Health = "up"  # nobody reaches who is lost, and who has left does not come back
    corrupt: bool = False
    moved: bool = False  # it has another address than it began with
    met: int = 0  # the nodes that it has found again through its seeds


class CmsState(State, frozen=True, cache_hash=True):
    """All nodes, whether an operator has opened the override, and what may still happen."""

    nodes: tuple[LogKeeper, ...] = ()
    open: bool = False
    changes: int = 0
    orders: int = 0
    requests: int = 0
    crashes: int = 0
    losses: int = 0
    corruptions: int = 0
    addresses: int = 0


Next: TypeAlias = CmsState | Refusal | None


def working(m: Any, s: CmsState) -> int:
    """The nodes that answer, and whose state is what their log says."""
    return s.where(lambda n: n.health == "up" and not n.corrupt)


def alive(m: Any, s: CmsState) -> int:
    """The nodes that are up, be their state corrupt or not."""
    return s.where(lambda n: n.health == "up")


def gone(m: Any, s: CmsState) -> int:
    """The nodes of the cluster that are not up."""
    return s.where(lambda n: n.health in ("down", "lost"))


def is_forced(entry: Entry) -> bool:
    """Whether an operator injected the entry."""
    return entry.id == OPERATOR


def entries_of(log: NodeLog) -> tuple[Entry, ...]:
    """All entries that a node has stored, those above a gap among them."""
    return log.entries + log.held


def all_of(log: NodeLog) -> Iterator[Entry]:
    """The same, and what an operator has loaded."""
    yield from entries_of(log)
    yield from (Entry(each.epoch, SNAPSHOT, OPERATOR) for each in log.snapshots)


def stored(log: NodeLog, epoch: int) -> Entry | None:
    """The entry that a node has stored for an epoch."""
    return next((each for each in entries_of(log) if each.epoch == epoch), None)


def holds(log: NodeLog, epoch: int) -> bool:
    """Whether a node has what an epoch is: its entry, or a snapshot above it."""
    return log.epoch >= epoch or stored(log, epoch) is not None


def begun_at(log: NodeLog) -> int:
    """The epoch at which the last addition began, by a log; the first epoch where none has."""
    begun = (each.epoch for each in log.entries[::-1] if each.event.startswith(rules.START_ADD))
    return next(begun, 1)


def is_member(m: Any, s: CmsState, a: Any) -> bool:
    """Whether the node of an action is a member, by the log of who proposes it."""
    members = m.known(s, m.number(a.member))
    return bool((members.chosen or members.writers) >> m.number(a.node) & 1)


def was_forced(s: CmsState) -> bool:
    """Whether an operator has injected anything."""
    return any(is_forced(each) for node in s.nodes for each in all_of(node.log))


def to_voters(m: Cms, before: CmsState, a: Any, after: CmsState) -> Iterator[Travel]:
    """The entry goes from the proposer to the others of its quorum, and they answer."""
    epoch = m.epoch(after, m.number(a.member))
    for name in a.by:
        if name != a.member:
            proposer, voter, what = f"n:{a.member}", f"n:{name}", f"epoch {epoch}"
            yield Travel("entry", proposer, voter, what, f"{a.member} → {name}: entry of {what}", 0)
            yield Travel("answer", voter, proposer, "stored", f"{name} → {a.member}: stored", 1)


def asks_first(m: Cms, before: CmsState, a: Any, after: CmsState) -> Iterator[Travel]:
    """The node that joins or leaves asks a member, which proposes the entry."""
    if a.node != a.member:
        inside = m.known(before, m.number(a.member)).cluster >> m.number(a.node) & 1
        what = "leave" if inside else "join"
        yield Travel("request", a.node, a.member, what)
    yield from to_voters(m, before, a, after)


voted = partial(action, travels=to_voters)
"""An action that is an entry of the log."""
order = partial(voted, spends="orders", unasked=True)
"""One that an operator asks for."""
forcing = partial(action, when=lambda m: m.has_override, unasked=True)
"""An action of the override."""


class Cms(declared.NodeModel[CmsState]):
    """A cluster, some of whose nodes are the members of the metadata service."""

    name, title, State = "cms", "The members of the CMS: who keeps the log", CmsState
    premise = (
        "The CMS keeps the metadata log on a few nodes. A majority of them decides each epoch. "
        "The log itself says which nodes they are, and changes the set one node at a time."
    )
    about = "The cluster, the first members of its CMS, and what can go wrong."
    rests_at_goals = True

    nodes: int = parameter(3, "how many nodes there are, named A, B, C, …", ge=1, le=MOST_NODES)
    members: int = parameter(1, "how many of them form the CMS at first", ge=1, le=MOST_NODES)
    flag: Literal["A", "B", "C", "D", "E", "F"] = parameter(
        "A", "which node is started with the flag that makes it the first member"
    )
    newcomers: int = parameter(
        0, "how many of them (the last ones) are not in the cluster yet", ge=0, le=MOST_NODES
    )
    longest: int = parameter(6, "how many epochs the log can have", ge=1, le=24, counts=True)
    electorate: Literal["prefix", "heard"] = parameter(
        "prefix",
        "whose votes a proposer counts: those of the members named in its log, or of the latest "
        "members that it has heard of",
    )
    up_to: tuple[str, ...] = parameter(
        ("2", "5", "100"), "cluster sizes: the largest cluster for each CMS size (documents)"
    )
    sizes: tuple[str, ...] = parameter(
        ("1", "3", "5", "10"),
        "the CMS size for each of them; the last one is for any larger cluster (documents)",
    )
    rf: int = parameter(
        3, "how many replicas data has, starting with the node that is asked", ge=1, le=5
    )
    dcs: int = parameter(
        1, "how many datacenters there are; nodes join them in turn (server)", ge=1, le=3
    )
    racks: int = parameter(
        1, "how many racks each of them has, also filled in turn (server)", ge=1, le=3
    )
    changes: int = declared.budget(
        1, "how many other events are submitted", title="other events", le=9
    )
    orders: int = declared.budget(
        1, "how many times an operator does something", title="operator's acts", le=9
    )
    requests: int = declared.budget(0, "how many times a client reads or writes data", le=2)
    crashes: int = declared.budget(0, "how many times a node goes down", le=MOST)
    losses: int = declared.budget(0, "how many nodes are lost for good", le=MOST)
    corruptions: int = declared.budget(0, "how many nodes get a corrupt state", le=MOST)
    addresses: int = declared.budget(
        0, "how many nodes restart with a new address (server)", title="new addresses", le=MOST
    )
    edition: Edition = parameter(
        "documents",
        "documents: the CMS sizes itself, a removal takes two events; server: an operator sets the "
        "size, a removal takes one event, a repair comes before each addition and removal",
    )

    # fmt: off
    one_at_a_time: bool = declared.safeguard(
        "S-13", "Each epoch changes the CMS by at most one node", ("INV-CMSQI", "INV-LOG"),
        smallest={"nodes": 2, "members": 1, "changes": 0},
        wider={"INV-LOG": {"electorate": "heard", "changes": 1}})
    log_transfer: bool = declared.safeguard(
        "S-14", "A new member has the whole log before anyone reads from it",
        ("INV-CMSQI", "INV-LOG"),
        smallest={"nodes": 2, "members": 1, "changes": 0},
        wider={"INV-LOG": {"electorate": "heard", "changes": 1, "edition": "server"}})
    paxos_repair: bool = declared.safeguard(
        "S-70", "Before members change again, the new one gets everything accepted meanwhile",
        ("INV-CMSQI",), smallest={"nodes": 4, "members": 3, "changes": 0},
        kept=(KeptAnyhow(
            "INV-LOG", {"nodes": 4, "members": 3, "electorate": "heard"}, 23840,
            "most of the write set has already stored the event that makes a member count"),))
    hand_over: bool = declared.safeguard(
        "S-15", "A member leaves the cluster only after it has left the CMS", ("INV-PROGRESS",),
        smallest={"nodes": 2, "members": 1, "changes": 0})
    seeds_by_name: bool = declared.safeguard(
        "S-74", "Nodes that reach nobody at the addresses in the log find each other through their "
        "seeds", ("INV-PROGRESS",),
        smallest={"nodes": 2, "members": 2, "changes": 0, "edition": "server", "addresses": 2})
    # fmt: on

    def set_up(self) -> None:
        """The nodes, their datacenters and racks, and the sizes.

        Raises BadInput for members that the cluster does not have, or sizes that are none.
        """
        present = self.nodes - self.newcomers
        if self.flag not in "ABCDEF"[:present]:
            raise BadInput("flag", self.flag, f"one of the {present} nodes of the cluster")
        if self.members > present:
            allowed = f"a number from 1 to {present}, the cluster's size"
            raise BadInput("members", self.members, allowed)
        for name in ("up_to", "sizes"):
            if not all(each.isdigit() and int(each) for each in getattr(self, name)):
                raise BadInput(name, getattr(self, name), "numbers from 1")
        up_to = [*map(int, self.up_to)]
        if up_to != sorted({*up_to}):
            raise BadInput("up_to", self.up_to, "cluster sizes in ascending order, none twice")
        if len(self.sizes) != len(self.up_to) + 1:
            raise BadInput("sizes", self.sizes, "one more size than there are cluster sizes")
        self.names = tuple("ABCDEF"[: self.nodes])
        self.ring = tuple(
            RingNode(name, (at,), f"dc{at % self.dcs + 1}", f"r{at // self.dcs % self.racks + 1}")
            for at, name in enumerate(self.names)
        )
        self.walked = lru_cache(self._walked)
        self.thresholds = tuple(up_to), tuple(map(int, self.sizes))
        self.datacenters = {each.dc for each in self.ring}
        flag = self.number(self.flag)
        self.founders = sum(1 << (flag + each) % present for each in range(self.members))
        founding = Counter(each.dc for each in chosen(self.ring, self.founders))
        by_dc = ",".join(f"{dc}:{size}" for dc, size in sorted(founding.items()))
        given = {"by_dc": by_dc} if self.dcs > 1 else {"size": self.members}
        given = given if self.edition == "server" else {}  # by the documents nobody asks for a size
        self.machine = Machine(Members((1 << present) - 1).but(**given), rules.enact)

    def start(self) -> CmsState:
        """Epoch 1 names the members, from the flagged node on; newcomers do not have it yet."""
        present = self.nodes - self.newcomers
        founding = Entry(1, f"{rules.INITIALIZE} {letters(self.founders)}", self.flag)
        log = logs.received(NodeLog(), founding, self.machine)
        old = (LogKeeper(log),) * present
        return super().start().but(nodes=(*old, *(LogKeeper(NodeLog()),) * self.newcomers))

    @property
    def has_override(self) -> bool:
        """Whether anything may happen for which an operator would force entries."""
        return bool(self.losses or self.corruptions)

    # -- what a node knows -------------------------------------------------------------------------

    def epoch(self, s: CmsState, node: int) -> int:
        """The last epoch that a node has applied."""
        return s.nodes[node].log.epoch

    def known(self, s: CmsState, node: int) -> Members:
        """The members that a node's log names."""
        members: Members = logs.metadata(s.nodes[node].log, self.machine)
        return members

    def reached(self, s: CmsState, node: int) -> int:
        """Whom a node reaches: by the address in its log, or as they have found each other."""
        moved = s.where(lambda n: n.moved)
        known = self.known(s, node).moved | s.nodes[node].met | 1 << node
        return ((1 << self.nodes) - 1) & (~moved | known)

    def newest(self, s: CmsState) -> Members:
        """The members by the longest log of all."""
        members: Members = logs.metadata(self.longest_log(s), self.machine)
        return members

    def newest_epoch(self, s: CmsState) -> int:
        """The newest epoch that a node has applied."""
        return self.longest_log(s).epoch

    def longest_log(self, s: CmsState) -> NodeLog:
        """The log of the first node that has applied most."""
        return max((node.log for node in s.nodes), key=lambda log: log.epoch)

    def history(self, s: CmsState) -> tuple[Entry, ...]:
        """The log: what any node has stored, by epoch."""
        known = {each.epoch: each for node in s.nodes for each in entries_of(node.log)}
        return tuple(known[epoch] for epoch in sorted(known))

    def memberships(self, log: NodeLog) -> Iterator[Members]:
        """The members after each entry of a log, and after what an operator loaded."""
        members: Members = self.machine.initial
        for each in log.entries:
            members = rules.enact(members, each)
            yield members
        if log.snapshots:
            yield logs.metadata(log, self.machine)

    def directory(self, log: NodeLog) -> int:
        """Whom a log lists: who is or was in the cluster, until somebody unregisters it."""
        listed: int = self.machine.initial.cluster
        for each, members in zip(log.entries, self.memberships(log), strict=False):
            kind, named = rules.parsed(each.event)
            listed = (listed | members.cluster) & ~(named if kind == rules.UNREGISTER else 0)
        return listed

    def electorates(self, s: CmsState, node: int) -> Iterator[Members]:
        """From which members a proposer may take its quorum: by its log, or by those of others."""
        yield self.known(s, node)
        if self.electorate == "heard":
            others = nodes_in(alive(self, s) & self.reached(s, node))
            newer = (each for each in others if self.epoch(s, each) > self.epoch(s, node))
            yield from {self.known(s, each) for each in newer}

    def wanted(self, s: CmsState, members: Members) -> int:
        """The wanted members: by the cluster's size, by an operator's size, or by hand."""
        candidates = members.staying
        if members.chosen & candidates:
            return members.chosen & candidates
        candidates &= working(self, s) | members.writers  # a member that is down stays one
        if self.edition == "server":
            return self.walked(candidates, members.sizes)
        return rules.placed(candidates, members.writers, *self.wanted_sizes(members).values())

    def wanted_sizes(self, members: Members) -> dict[str, int]:
        """How many members each datacenter is to have, be there as many nodes or not."""
        if self.edition == "server":
            return rules.sizes_of(members.sizes, self.datacenters)
        there = members.staying
        size = rules.size_for(there.bit_count(), *self.thresholds)
        return {min(self.datacenters): (members.chosen & there).bit_count() or size}

    def _walked(self, candidates: int, sizes: str) -> int:
        nodes = chosen(self.ring, candidates)
        return self.mask(rules.walked(nodes, rules.sizes_of(sizes, self.datacenters)))

    def step_of(self, s: CmsState, members: Members) -> str:
        """The next event of a change of the members; empty: none is to be made."""
        if not (wanted := self.wanted(s, members)):
            return ""
        if not self.one_at_a_time:
            return f"{rules.REPLACE} {letters(wanted)}" if wanted != members.readers else ""
        return rules.next_step(members, wanted, at_once=self.edition == "server")

    def changing(self, s: CmsState, members: Members) -> int:
        """The nodes that a change under way adds to the CMS, or takes out of it."""
        wanted = self.wanted(s, members) or members.readers
        return wanted ^ members.readers | members.pending

    def due(self, s: CmsState, member: int) -> str:
        """The next event of a change, as a member knows it."""
        return self.step_of(s, self.known(s, member))

    # -- committing --------------------------------------------------------------------------------

    def votes(self, s: CmsState, *, drives: bool = True) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The proposers, and whose answers they have; all that answer, where these are too few.

        What the cluster is to become is proposed by the first member that answers (``drives``).
        While the override is open nobody proposes.
        """
        up = 0 if s.open else working(self, s)
        for member in nodes_in(up):
            able = up & self.reached(s, member)
            below = able & self.known(s, member).readers & ((1 << member) - 1)
            if self.epoch(s, member) >= self.longest or (drives and below):
                continue
            for group in self.electorates(s, member):
                if group.readers >> member & 1:
                    own = 1 << member
                    some = [q for q in rules.quorums(group.readers, group.writers, able) if q & own]
                    for mask in some or [able & (group.readers | group.writers)]:
                        yield member, self.named(mask)

    def commit(self, s: CmsState, member: int, by: tuple[str, ...], event: str) -> Next:
        """The entry at the next epoch, stored by a quorum; or why that cannot be."""
        epoch, voters = self.epoch(s, member) + 1, self.mask(by)
        groups = [*self.electorates(s, member)]
        if not any(rules.decides(group, voters) for group in groups):
            counted = {groups[0].readers, groups[0].writers}
            return self.too_few("no quorum of the CMS answers", voters, *sorted(counted))
        taken = next((n for n in nodes_in(voters) if holds(s.nodes[n].log, epoch)), None)
        if taken is not None:
            has = f"{self.names[taken]} has epoch {epoch}"
            return refused(f"{has}: {self.names[member]} has to catch up first")
        new = Entry(epoch, event, self.names[member])
        for node in nodes_in(voters):
            s = s.at(node, log=logs.received(s.nodes[node].log, new, self.machine))
        return s

    @voted(
        tag="submit",
        each=lambda m, s: m.votes(s, drives=False),
        label="{member} commits a change with {by}",
        spends="changes",
        unasked=True,
    )
    @purpose("Every change of metadata is a log entry that a quorum stores.")
    def submit_event(self, s: CmsState, member: Node, by: By) -> Next:
        """{member} commits an event as epoch {epoch}, stored by {who}."""
        return self.commit(s, member, by, rules.CHANGE)

    @voted(
        each=lambda m, s: (vote for vote in m.votes(s) if m.due(s, vote[0])),
        label=lambda m, s, act: f"{{member}}: {m.due(s, m.names.index(act.member))} with {{by}}",
    )
    @purpose("The CMS changes one node at a time, so that old and new quorums share a member.")
    def advance(self, s: CmsState, member: Node, by: By) -> Next:
        """{member} commits “{event}” as epoch {epoch}, stored by {who}."""
        event = self.due(s, member)
        return self.unready(s, member, event) or self.commit(s, member, by, event)

    def unready(self, s: CmsState, member: int, event: str) -> Refusal | None:
        """Why the next event of a change has to wait: for the log, or for a repair."""
        (kind, _), log, members = rules.parsed(event), s.nodes[member].log, self.known(s, member)
        begun = begun_at(log)
        if kind == rules.FINISH_ADD and self.log_transfer:
            knows = s.where(lambda n: n.health == "up" and n.log.epoch >= begun)
            if not is_majority(knows, members.readers):
                reason = f"a majority of the CMS must know epoch {begun} first"
                return self.too_few(reason, knows, members.readers)
            if members.pending & ~knows:
                new = self.named(members.pending)
                return refused(f"{', '.join(new)} does not have the log up to epoch {begun}", new)
        behind = self.unrepaired(s, log) if kind in rules.REPAIRED_FIRST else 0
        if behind and self.paxos_repair:
            return refused("a Paxos repair comes first", self.named(behind))
        return None

    def unrepaired(self, s: CmsState, log: NodeLog) -> int:
        """Who may lack something that was accepted since the last addition began, by a log."""
        members: Members = logs.metadata(log, self.machine)
        group = members.writers & working(self, s)
        if self.edition == "documents":  # the node that was added last; else each member
            added = [rules.parsed(each.event) for each in log.entries]
            group &= next((named for kind, named in added[::-1] if kind == rules.FINISH_ADD), 0)
        since = range(begun_at(log) + 1, log.epoch + 1)
        has = (n for n in nodes_in(group) if all(holds(s.nodes[n].log, each) for each in since))
        return group & ~sum(1 << node for node in has)

    # -- the log travels ---------------------------------------------------------------------------

    def behind(self, s: CmsState) -> Iterator[tuple[int, int]]:
        """Who may learn the log, and of whom: it has applied most, of those that it can talk to."""
        up = working(self, s)
        for node in nodes_in(up):
            mine = self.reached(s, node)
            near = [n for n in nodes_in(up) if (mine >> n | self.reached(s, n) >> node) & 1]
            first = max(near, key=lambda each: self.epoch(s, each))
            if self.epoch(s, node) < self.epoch(s, first):
                yield node, first

    @action(
        tag="catch-up",
        each=behind,
        label="{node} catches up from {source}",
        travels=[Travel("data", "{source}", "{node}", "log")],
    )
    @purpose("Entries never change, so any node that has more of the log can pass it on.")
    def catch_up(self, s: CmsState, node: Node, source: Node) -> Next:
        """{node} learns the log up to epoch {epoch} from {source}."""
        log, theirs = s.nodes[node].log, s.nodes[source].log
        sent = logs.slice_since(theirs, log.epoch)
        return s.at(node, log=logs.caught_up(log, sent, self.machine))

    def to_repair(self, s: CmsState) -> int:
        """The members that a repair would give something, as any member's log says."""
        knowing = nodes_in(working(self, s))
        return union(self.unrepaired(s, s.nodes[node].log) for node in knowing)

    @action(tag="repair", each=to_repair)
    @purpose("A new member must learn of decisions made before its vote counted.")
    def repair_paxos(self, s: CmsState, node: Node) -> Next:
        """{node} gets what the CMS accepted: {accepted}."""
        up, log = working(self, s) & self.reached(s, node), s.nodes[node].log
        members = self.newest(s)
        if not is_majority(up, members.readers):
            return self.too_few("no quorum of the CMS answers", up, members.readers)
        theirs = (s.nodes[each].log for each in nodes_in(up & members.writers))
        begun = begun_at(max((s.nodes[n].log for n in nodes_in(up)), key=lambda log: log.epoch))
        accepted = {each.epoch: each for other in theirs for each in entries_of(other)}
        for epoch, new in accepted.items():
            if epoch > begun:  # in any order: what is above a gap is held
                log = logs.received(log, new, self.machine)
        return s.at(node, log=log)

    # -- the cluster, and what operators ask for ---------------------------------------------------

    def votes_on(self, s: CmsState, of: Callable[[Members], int]) -> Iterator[tuple[int, int, By]]:
        """The proposers of something about which nodes, and whose answers they have."""
        for member, by in self.votes(s):
            yield from ((member, node, by) for node in nodes_in(of(self.known(s, member))))

    @order(
        tag="bootstrap",
        each=lambda m, s: m.votes_on(s, lambda known: alive(m, s) & ~known.cluster),
        when=lambda m: m.newcomers,
        travels=asks_first,
    )
    @purpose("A larger cluster might want a larger CMS.")
    def join(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """{node} joins the cluster: {member} commits this as epoch {epoch}, stored by {who}."""
        return self.commit(s, member, by, f"{rules.JOIN} {self.names[node]}")

    @order(
        each=lambda m, s: m.votes_on(s, lambda known: known.staying & alive(m, s)),
        travels=asks_first,
    )
    @purpose("A node that leaves the cluster has to hand over its part of the log first.")
    def decommission(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """{node} begins to leave: {member} commits this as epoch {epoch}, stored by {who}."""
        return self.begins_to_go(s, member, node, by, rules.LEAVE)

    @order(
        each=lambda m, s: m.votes_on(s, lambda known: known.staying & gone(m, s)),
        hand=declared.off_stage,
    )
    @purpose("A node that is gone can't leave by itself. If it was a member, its place is filled.")
    def removenode(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """The other nodes begin to take {node} out: {member} commits this as epoch {epoch}, stored
        by {who}.
        """
        return self.begins_to_go(s, member, node, by, rules.REMOVE_NODE)

    def begins_to_go(self, s: CmsState, member: int, node: int, by: By, kind: str) -> Next:
        """A node is to leave. On the server the place of a member is filled first, by those that
        the event names. Source: published ``ReconfigureCMS.maybeReconfigureCMS``.
        """
        members, event = self.known(s, member), f"{kind} {self.names[node]}"
        if not members.staying & ~(1 << node):
            return refused("no other node would be left")
        # In the published code a member hands over first, which would be a second change.
        changing = self.changing(s, members)
        if self.edition == "server" and changing and (members.writers | changing) >> node & 1:
            return refused("a change of the CMS has to end first", self.named(changing))
        if self.edition == "server" and members.readers >> node & 1:
            return self.resize_to(s, member, by, members.sizes, 1 << node, event)
        return self.commit(s, member, by, event)

    @voted(
        tag="depart",
        each=lambda m, s: m.votes_on(s, lambda known: known.leaving & alive(m, s) | known.given_up),
        hand=declared.off_stage,
    )
    @purpose("The node's disk leaves with it, so enough other nodes must have the log.")
    def complete_leave(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """{node} has left: {member} commits this as epoch {epoch}, stored by {who}."""
        members, name = self.known(s, member), self.names[node]
        if self.hand_over and members.writers >> node & 1:
            return refused(f"{name} is a member of the CMS and has to hand over first")
        end = rules.LEFT if members.leaving >> node & 1 else rules.ASSASSINATE
        return self.without(node, self.commit(s, member, by, f"{end} {name}"))

    def without(self, node: int, end: Next) -> Next:
        """The same, where it happens, and a node does not come back."""
        return end.at(node, health="left") if isinstance(end, CmsState) else end

    @order(
        each=lambda m, s: m.votes_on(s, lambda known: known.cluster & gone(m, s)),
        hand=declared.off_stage,
    )
    @purpose("A node that is gone can't hand anything over, so the others take it out.")
    def assassinate(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """{node} is taken out: {member} commits “{event}” as epoch {epoch}, stored by {who}.

        At once; on the server its place in the CMS is filled first.
        """
        members = self.known(s, member)
        if self.edition == "server":
            if members.readers >> node & 1:
                return self.begins_to_go(s, member, node, by, rules.WITHOUT)
            return self.without(node, self.begins_to_go(s, member, node, by, rules.ASSASSINATE))
        if members.readers >> node & 1 and (half := members.pending):
            who = ", ".join(self.named(half))
            return refused(f"{who} is halfway through a change, which has to end first")
        event = f"{rules.ASSASSINATE} {self.names[node]}"
        return self.without(node, self.commit(s, member, by, event))

    def forgettable(self, s: CmsState) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """The nodes that have left, and are in the directory still."""
        for member, by in self.votes(s):
            gone = self.directory(s.nodes[member].log) & ~self.known(s, member).cluster
            yield from ((member, node, by) for node in nodes_in(gone))

    @order(each=forgettable, when=lambda m: m.edition == "server", hand=declared.off_stage)
    @purpose("After a node has left, the log keeps its number until an operator removes it.")
    def unregister(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """{node} has left and is unregistered: {member} commits this as epoch {epoch}, stored
        by {who}.
        """
        return self.commit(s, member, by, f"{rules.UNREGISTER} {self.names[node]}")

    @order(
        each=lambda m, s: m.votes_on(s, lambda known: known.staying),
        when=lambda m: m.edition == "documents",
        says=lambda m, s, a, _: (
            f"An operator {'takes {node} out of' if is_member(m, s, a) else 'puts {node} into'} "
            "the CMS by hand: {member} commits this as epoch {epoch}, stored by {who}."
        ),
    )
    @purpose("An operator might know better than a size rule which nodes are safe.")
    def choose(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """An operator adds a member by hand, or removes one."""
        members = self.known(s, member)
        if not (chosen := (members.chosen or members.writers) ^ 1 << node):
            return refused("the CMS would be empty")
        return self.commit(s, member, by, f"{rules.CHOOSE} {letters(chosen)}")

    @order(
        each=lambda m, s: (
            (member, size, by)
            for member, by in m.votes(s)
            for size in range(1, -(-m.nodes // m.dcs) + 1)
            if size != m.known(s, member).size or m.known(s, member).writers & ~working(m, s)
        ),
        when=lambda m: m.edition == "server",
    )
    @purpose("An operator sets the size. A single number is for the first datacenter.")
    def reconfigure(self, s: CmsState, member: Node, size: Size, by: By) -> Next:
        """An operator asks for CMS size {size} in the first datacenter: {member} commits this as
        epoch {epoch}, stored by {who}.

        Nodes that are down are not chosen. The event then names the members, so that all nodes
        read it alike.
        """
        return self.resize_to(s, member, by, str(size))

    @order(
        each=lambda m, s: (
            (member, sizes, by)
            for member, by in m.votes(s)
            for sizes in rules.sizes_elsewhere(-(-m.nodes // m.dcs), m.dcs)
            if sizes != m.known(s, member).by_dc
        ),
        when=lambda m: m.edition == "server" and m.dcs > 1,
    )
    @purpose("Datacenters need not have the same number of members.")
    def resize(self, s: CmsState, member: Node, sizes: Sizes, by: By) -> Next:
        """An operator asks for CMS sizes {sizes}: {member} commits this as epoch {epoch}, stored
        by {who}.
        """
        return self.resize_to(s, member, by, sizes)

    def resize_to(
        self, s: CmsState, member: int, by: By, sizes: str, ignored: int = 0, goes: str = ""
    ) -> Next:
        """An operator's size for each datacenter; the event names the members, if need be.

        ``goes`` is the event with which an ignored member begins to go.
        """
        members, out = self.known(s, member), ignored | ~working(self, s)
        there = members.staying
        nodes = chosen(self.ring, there)
        by_dc = rules.sizes_of(sizes, self.datacenters)
        if why := rules.too_many(nodes, by_dc, self.named(members.cluster & out)):
            return refused(why)
        event = f"{goes}:" if goes else f"{rules.RECONFIGURE} {sizes}"
        if goes or ignored or members.writers & out:
            event += f" {letters(self.walked(there & ~out, sizes))}"
        return self.commit(s, member, by, event)

    def to_ignore(self, s: CmsState) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        """One or two nodes of the cluster that an operator may leave out."""
        for member, by in self.votes(s):
            cluster = self.named(self.known(s, member).cluster)
            for count in (1, 2):
                yield from ((member, some, by) for some in combinations(cluster, count))

    @order(each=to_ignore, when=lambda m: m.edition == "server")
    @purpose("A node that will leave soon need not become a member first.")
    def ignore(self, s: CmsState, member: Node, ignored: Ignored, by: By) -> Next:
        """An operator asks for a CMS without {ignored}: {member} commits this as epoch {epoch},
        stored by {who}.
        """
        return self.resize_to(s, member, by, self.known(s, member).sizes, self.mask(ignored))

    @order(
        tag="cancel", each=lambda m, s: (vote for vote in m.votes(s) if m.known(s, vote[0]).pending)
    )
    @purpose("Only an operator can give up a change. No timeout does that.")
    def cancel_change(self, s: CmsState, member: Node, by: By) -> Next:
        """An operator cancels the change: {member} commits this as epoch {epoch}, stored by {who}.

        A node that was half added is out again. What was finished stays.
        """
        return self.commit(s, member, by, rules.CANCEL)

    # -- data, and faults --------------------------------------------------------------------------

    def replicas(self, s: CmsState, node: int) -> int:
        """The replicas of the range that begins with a node, by its log."""
        ring = [*nodes_in(self.known(s, node).cluster)]
        at = ring.index(node)
        return sum(1 << each for each in (ring[at:] + ring[:at])[: self.rf])

    def answering(self, s: CmsState, node: int) -> int:
        """Those of these replicas that answer the node."""
        return self.replicas(s, node) & alive(self, s) & self.reached(s, node)

    def expendable(self, s: CmsState) -> int:
        """The nodes without which somebody of the cluster would still be up."""
        up = alive(self, s)
        there = up & self.newest(s).cluster
        return up if there & (there - 1) else up & ~there

    def coordinators(self, s: CmsState) -> int:
        """The nodes that serve clients: those that are up and in the cluster by their own log."""
        up = nodes_in(alive(self, s))
        return sum(1 << node for node in up if self.known(s, node).cluster >> node & 1)

    def serving(self, s: CmsState) -> bool:
        """Whether each range of a node that is up has a quorum of its replicas."""
        nodes = nodes_in(self.coordinators(s))
        return all(is_majority(self.answering(s, n), self.replicas(s, n)) for n in nodes)

    @action(
        tag="request",
        each=coordinators,
        spends="requests",
        travels=lambda m, s, a, _: [
            Travel("data", a.node, name, "data")
            for name in m.named(m.answering(s, m.number(a.node)))
        ],
        unasked=True,
    )
    @purpose("Clients read and write data without the CMS.")
    def serve_request(self, s: CmsState, node: Node) -> Next:
        """{node} serves a read and a write of data at QUORUM, using the ring that it knows."""
        replicas, able = self.replicas(s, node), self.answering(s, node)
        if is_majority(able, replicas):
            return s
        return self.too_few("no quorum of the replicas answers", able, replicas)

    @action(each=alive, spends="crashes", fault=True, hand=declared.off_stage)
    @purpose("The others have to manage without a member that is down.")
    def crash(self, s: CmsState, node: Node) -> Next:
        """{node} goes down. Its log stays on its disk."""
        return s.at(node, health="down")

    @action(each=lambda m, s: s.where(lambda n: n.health == "down"))
    @purpose("A node starts with the log on its disk and learns the rest.")
    def restart(self, s: CmsState, node: Node) -> Next:
        """{node} is up again, with its log."""
        return s.at(node, health="up")

    @action(each=expendable, spends="losses", fault=True, hand=declared.off_stage)
    @purpose("Anything that was only on the lost disk is gone.")
    def lose(self, s: CmsState, node: Node) -> Next:
        """{node} is lost for good, with its disk."""
        return s.at(node, health="lost")

    @action(each=working, spends="corruptions", fault=True)
    @purpose("A bug can leave a node in a state that does not follow from its log.")
    def corrupt(self, s: CmsState, node: Node) -> Next:
        """The state of {node} becomes corrupt: {node} no longer takes part in the log."""
        return s.at(node, corrupt=True)

    @action(
        tag="new-address",
        each=lambda m, s: alive(m, s) & s.where(lambda n: not n.moved),
        when=lambda m: m.edition == "server",
        spends="addresses",
        fault=True,
    )
    @purpose("An orchestrator can give a node a new address at each start.")
    def move_address(self, s: CmsState, node: Node) -> Next:
        """{node} restarts with a new address: nodes that know the old one cannot reach it."""
        return s.at(node, moved=True)

    def apart(self, s: CmsState) -> Iterator[tuple[int, int]]:
        """Two nodes that are up, the first of which does not reach the second."""
        up = alive(self, s)
        for node in nodes_in(up):
            yield from ((node, other) for other in nodes_in(up & ~self.reached(s, node)))

    @action(
        tag="discover",
        each=apart,
        when=lambda m: m.addresses and m.seeds_by_name,
        travels=declared.there_and_back("{node}", "{peer}", "who is there?", "addresses"),
    )
    @purpose("Seeds are host names, and these resolve to wherever a node is now.")
    def discover(self, s: CmsState, node: Node, peer: Node) -> Next:
        """{node} finds {peer} through its seeds: each has the other's address now."""
        met = s.nodes[node].met | 1 << peer
        return s.at(node, met=met).at(peer, met=s.nodes[peer].met | 1 << node)

    @voted(
        each=lambda m, s: m.votes_on(
            s, lambda known: alive(m, s) & ~known.moved & s.where(lambda n: n.moved)
        ),
        when=lambda m: m.addresses,
    )
    @purpose("Once the log has the address, every node that follows the log has it.")
    def register(self, s: CmsState, member: Node, node: Node, by: By) -> Next:
        """The new address of {node} goes into the log: {member} commits this as epoch {epoch},
        stored by {who}.
        """
        if not self.reached(s, node) >> member & 1:
            return refused(f"{self.names[node]} does not reach {self.names[member]}")
        return self.commit(s, member, by, f"{rules.STARTUP} {self.names[node]}")

    # -- the override ------------------------------------------------------------------------------

    def needs_override(self, s: CmsState) -> bool:
        """Whether nothing else helps: no quorum can come back, or not all states agree."""
        corrupt = alive(self, s) & ~working(self, s)
        back = s.where(lambda n: n.health in ("up", "down") and not n.corrupt)
        quorate = self.quorate(s, back, reached=False)
        return bool(corrupt or not quorate or self.disagreement(s, alive(self, s)))

    def disagreement(self, s: CmsState, among: int) -> str | None:
        """An epoch that is one event on one node, and another one on another."""
        seen: dict[int, tuple[str, Entry]] = {}
        for node in nodes_in(among):
            for each in all_of(s.nodes[node].log):
                other, first = seen.setdefault(each.epoch, (self.names[node], each))
                if first != each:
                    some = f"{first.event} by {first.id} at {other}"
                    here = f"{each.event} by {each.id} at {self.names[node]}"
                    return f"epoch {each.epoch} is {some}, but {here}"
        return None

    def quorate(self, s: CmsState, among: int, *, reached: bool = True) -> list[int]:
        """The members among these nodes with a quorum of them, ``reached`` or to be found again."""
        able = []
        for node in nodes_in(among):
            members, voters = self.known(s, node), self.reached(s, node) if reached else -1
            if members.readers >> node & 1 and rules.decides(members, among & voters):
                able.append(node)
        return able

    def has_quorum(self, s: CmsState) -> bool:
        """Whether a member that works has a quorum."""
        return bool(self.quorate(s, working(self, s)))

    @forcing(tag="open-override", each=lambda m, s: () if s.open else [()])
    @purpose("Forcing can lose committed entries, so an operator has to confirm it.")
    def open_override(self, s: CmsState) -> Next:
        """The operator confirms: entries can now be forced without a quorum."""
        if not self.needs_override(s):
            why = "enough members can come back and all states agree, so no force is needed"
            return refused(why)
        return s.but(open=True)

    @forcing(tag="force", each=lambda m, s: working(m, s) if s.open and not m.has_quorum(s) else 0)
    @purpose("One surviving node is enough to continue.")
    def force_member(self, s: CmsState, node: Node) -> Next:
        """{node} becomes the whole CMS: the operator writes this into its log as epoch {epoch}."""
        log = s.nodes[node].log
        if not self.known(s, node).cluster >> node & 1:
            return refused(f"{self.names[node]} is not in the cluster yet")
        back = s.where(lambda n: n.health in ("up", "down") and n.log.epoch > log.epoch)
        if back:
            return refused("another node knows more of the log", self.named(back))
        forced = Entry(log.epoch + 1, f"{rules.FORCE} {self.names[node]}", OPERATOR)
        without_held = NodeLog(log.entries, log.snapshots)
        return s.at(node, log=logs.received(without_held, forced, self.machine))

    def handmade(self, s: CmsState) -> Snapshot:
        """The snapshot that an operator composes: the newest state, with members that are up."""
        there = (s.nodes[node] for node in nodes_in(alive(self, s)))
        loaded = {each.epoch: each for node in there for each in node.log.snapshots}
        top = max(each.epoch for node in s.nodes for each in all_of(node.log))
        if top in loaded:  # once it is somewhere it is the same one
            return loaded[top]
        newest, up = self.newest(s), alive(self, s)
        up &= newest.cluster
        able = newest.readers & up or up & -up
        state = newest.but(readers=able, writers=able, leaving=0, given_up=0)
        return Snapshot(top + 1, state.but(chosen=able if newest.is_sized else 0))

    @forcing(tag="load-snapshot", each=lambda m, s: alive(m, s) if s.open else 0)
    @purpose("A snapshot replaces whatever state a node has built from its log.")
    def load_snapshot(self, s: CmsState, node: Node) -> Next:
        """The operator loads a hand-made snapshot of epoch {epoch} on {node}."""
        made, log = self.handmade(s), s.nodes[node].log
        if not made.metadata.readers:
            return refused("no node of the cluster is up, so the snapshot would have no member")
        if made in log.snapshots and not s.nodes[node].corrupt:
            return None
        return s.at(node, log=NodeLog(snapshots=(made,)), corrupt=False)

    @action(tag="resume", each=lambda m, s: [()] if s.open else (), when=lambda m: m.has_override)
    @purpose("Forcing is for emergencies only. After that, quorums decide again.")
    def resume_consensus(self, s: CmsState) -> Next:
        """The override is closed: each epoch needs a quorum again."""
        if not self.has_quorum(s) or self.needs_override(s):
            return refused("the CMS has no quorum yet, or not all states agree")
        back = nodes_in(s.where(lambda n: n.health in ("up", "down")))
        loaded = [each.epoch for n in back for each in s.nodes[n].log.snapshots]
        lacks = s.where(lambda n: any(n.log.epoch < epoch for epoch in loaded))
        if without := alive(self, s) & lacks:
            return refused("the snapshot has not been loaded on every node", self.named(without))
        return s.but(open=False)

    # -- what must hold ----------------------------------------------------------------------------

    @declared.always("INV-LOG")
    def one_event_an_epoch(self, s: CmsState) -> str | None:
        """No two nodes have different events at one epoch, unless an operator forced one."""
        return None if was_forced(s) else self.disagreement(s, (1 << self.nodes) - 1)

    @declared.step("INV-CMSQI")
    def quorums_meet(self, before: CmsState, action: Any, after: CmsState) -> str | None:
        """Each quorum of the CMS meets each quorum of the CMS one epoch later."""
        if not hasattr(action, "member") or was_forced(after):
            return None
        node = self.number(action.member)
        was, now = self.known(before, node), self.known(after, node)
        if apart := rules.strangers(was, now):
            some, others = (", ".join(self.named(mask)) for mask in apart)
            return f"{some} and {others} are quorums of neighbouring epochs with no common member"
        return None

    @declared.step("INV-CMSQI", on=(advance,))
    def informed(self, before: CmsState, action: Any, after: CmsState) -> str | None:
        """A new member has the log before its vote counts, and the rest before the next change."""
        log = before.nodes[self.number(action.member)].log
        event = stored(after.nodes[self.number(action.member)].log, log.epoch + 1)
        assert event is not None
        (kind, node), begun = rules.parsed(event.event), begun_at(log)
        late = node & before.where(lambda n: n.log.epoch < begun)
        if kind == rules.FINISH_ADD and late:
            return f"{letters(late)} is read from but lacks epochs below {begun}"
        if kind in rules.REPAIRED_FIRST and (late := self.unrepaired(before, log)):
            return f"{letters(late)} might lack entries that were accepted before its vote counted"
        return None

    @declared.always("INV-MEMBER")
    def somebody(self, s: CmsState) -> str | None:
        """No node believes that the CMS has no members."""
        for number, name in enumerate(self.names):
            if self.epoch(s, number) and not self.known(s, number).readers:
                return f"{name} knows of no members"
        return None

    @declared.always("INV-PROGRESS")
    def within(self, s: CmsState) -> str | None:
        """Each member of the CMS is in the cluster, where it can answer."""
        members = self.newest(s)
        gone = self.named(members.writers & ~members.cluster)
        return f"{', '.join(gone)} has left the cluster with its part of the log" if gone else None

    @declared.sometimes(when=lambda m: m.requests and (m.losses or m.crashes))
    def serves_without(self, s: CmsState) -> bool:
        """Data is read and written while no event can be committed."""
        return s.requests < self.requests and not self.has_quorum(s)

    @declared.sometimes(when=lambda m: m.addresses)
    def finds_again(self, s: CmsState) -> bool:
        """A new address is in the log."""
        return bool(self.newest(s).moved)

    @declared.sometimes()
    def changes_members(self, s: CmsState) -> bool:
        """The CMS has changed."""
        return self.newest(s).readers != (1 << self.members) - 1

    @declared.goal("INV-PROGRESS")
    def commits(self, s: CmsState) -> bool:
        """An event can be committed again."""
        epochs = [self.epoch(s, node) for node in nodes_in(alive(self, s))]
        able = self.quorate(s, working(self, s))
        return any(self.epoch(s, node) == max(epochs) for node in able)

    @declared.goal("INV-SAMESTATE")
    def alike(self, s: CmsState) -> bool:
        """All nodes that are up can get to the same state."""
        up = alive(self, s)
        return up == working(self, s) and len({self.known(s, n) for n in nodes_in(up)}) == 1

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> dict[str, Any]:
        """The epoch that a step made, the event, who stored it, and what a repair brought."""
        if not (name := getattr(action, "member", getattr(action, "node", ""))):
            return {}
        node = self.number(name)
        log = after.nodes[node].log
        entry = stored(log, log.epoch)
        had = {each.epoch for each in entries_of(before.nodes[node].log)}
        new = [str(each.epoch) for each in entries_of(log) if each.epoch not in had]
        brought = f"epoch{'s' * (len(new) > 1)} {', '.join(new)}" if new else "nothing new"
        event, who = entry.event if entry else "", ", ".join(getattr(action, "by", ()))
        return {"epoch": log.epoch, "event": event, "accepted": brought, "who": who}

    def milestone(self, before: CmsState, action: Any, after: CmsState) -> str | None:
        """The event that is committed; what else changes members or cluster, and faults."""
        if hasattr(action, "by"):
            return str(self.words(before, action, after)["event"])
        return None if isinstance(action, Cms.catch_up) else self.verb(action)


SCENARIOS = (
    Scenario(
        "grow", "The CMS grows from one to three. By one node per epoch", {"nodes": 3, "members": 1}
    ),
    Scenario(
        "third-node",
        "A third node joins. The CMS grows from one to three on its own",
        {"newcomers": 1},
        script=("bootstrap A C A",),
    ),
    Scenario(
        "hand-over",
        "The only member leaves. Another node takes over first",
        {"nodes": 2, "members": 1},
        script=("decommission A A A",),
    ),
    Scenario(
        "three-of-four",
        "The fourth node takes a member's place. One of three members leaves",
        {"nodes": 4, "members": 3, "longest": 8},
        script=("decommission A A A B",),
    ),
    Scenario(
        "majority-lost",
        "Two of three members are lost. Data is still served, and one member is forced",
        {"nodes": 4, "members": 3, "crashes": 0, "losses": 2, "requests": 2, "longest": 8},
        script=("lose A", "lose B", "request C", "open-override", "force C", "resume"),
    ),
    Scenario(
        "member-lost",
        "A member is lost. On the server, another node takes its place in the CMS",
        {"nodes": 4, "members": 3, "edition": "server", "crashes": 0, "losses": 1},
        script=("lose C",),
    ),
    Scenario(
        "quorum-lost",
        (
            "The CMS has lost its quorum. On the server, one of three members is lost "
            "and one is down: nothing can be committed"
        ),
        {"nodes": 5, "members": 3, "edition": "server", "rf": 5, "crashes": 1, "losses": 1}
        | {"requests": 1, "longest": 8},
        script=("lose C", "crash B", "request D"),
    ),
    Scenario(
        "cms-lost",
        (
            "The whole CMS is lost. On the server, the only member is lost, with an "
            "event that it alone had stored"
        ),
        {"nodes": 4, "members": 1, "edition": "server", "changes": 3, "crashes": 1, "losses": 1}
        | {"longest": 8},
        script=(
            *("submit A A", "catch-up B A", "catch-up C A", "catch-up D A"),
            *("submit A A", "catch-up C A", "crash C", "submit A A", "lose A"),
        ),
    ),
    Scenario(
        "corrupt-state",
        "Two nodes have a corrupt state. A hand-made snapshot puts all nodes in one state",
        {"nodes": 3, "members": 3, "crashes": 0, "corruptions": 2},
        script=(
            *("corrupt A", "corrupt B", "open-override"),
            *("load-snapshot A", "load-snapshot B", "load-snapshot C", "resume"),
        ),
    ),
    Scenario(
        "size-by-operator",
        (
            "An operator sets the size of the CMS. In the server edition it does not "
            "grow on its own: two members are requested"
        ),
        {"nodes": 3, "members": 1, "edition": "server"},
        script=("reconfigure A 2 A",),
    ),
)

ENTRY = entry(
    Cms,
    scenarios=SCENARIOS,
    refinement=partial(
        refined_by, Cms, lambda m: product(rules.every_event(m.nodes, m.dcs), m.names)
    ),
    fuzzing=Fuzzing(
        {"nodes": 4, "members": 3, "longest": 9, "orders": 3, "requests": 1, "crashes": 1},
        {"choose": 0.3, "decommission": 0.5, "cancel": 4, "assassinate": 4, "removenode": 4},
    ),
)
