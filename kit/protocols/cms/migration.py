"""From gossip to the metadata log: a major upgrade, in which a cluster changes who rules metadata.

Two editions. By the *documents* each upgraded node asks the old ones to set a switch that stops all
changes of metadata; then the log may begin while versions are mixed, and whoever is upgraded later
asks upgraded peers who keeps it. In the published *server* nobody stops the old nodes; the log
begins once all are upgraded, and what differs by then is found and mended by hand.

The operator starts the migration on one node. It asks all others to take part; they store who asked
and answer with their metadata. When all agree it writes the first epochs: from there on there is no
way back. A change of metadata is a number here, whatever it says; a log is appended to in one step
(what happens within one is model ``commit``, how its members change is ``cms``). A node that is
brought in is told what there is and has no entry of its own.

A fresh cluster begins its log in the same way, with nothing to compare. By the documents the node
that has a flag begins it alone. On the server nodes find each other through a seed; whoever knows
of no lower name nominates itself, and all whom it has found have to take part.
Sources: CEP-21, "Migration Plan", "CMS Reconfiguration Protocol"; published code,
``tcm/migration`` (``Election``, ``CMSInitializationRequest``), ``Startup``, ``Discovery``; release
notes on the upgrade.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Annotated, Any, Literal, TypeAlias

from kit.errors import BadInput, Refusal
from kit.masks import chosen, is_majority, members, nodes_in, union, where
from kit.model import declared
from kit.model.declared import Node, Travel, action, parameter, purpose, refused, safeguard
from kit.model.log import refined_by_logs
from kit.model.model import Refinement
from kit.model.registry import Fuzzing, Scenario

MOST = 3
NOBODY = "nobody"
CHANGES = {
    "schema": "changes the schema",
    "move": "says that it is moving",
    "decommission": "says that it is leaving",
    "bootstrap": "lets another node join",
}
"""What changes metadata, and what the switch stops. Source: CEP-21, "Migration Plan"."""
KINDS = tuple(CHANGES)

Status = Literal["up", "down", "lost", "absent"]
Edition = Literal["documents", "server"]
EntryKind = Literal["change", "member"]

NO_LOG = 0
"""Gossip rules the metadata of the node; logs are numbered from 1 as they are begun."""
FIRST, INITIALIZED = 1, 2
"""The epoch that comes before all, and the one that takes over what gossip knew."""
FORGOTTEN: dict[str, Any] = {"ignored": 0, "answered": 0, "unlike": 0}
"""Of an initiator that remembers nothing of its migration."""


class MigratingNode(declared.State, frozen=True, cache_hash=True):
    """A node: what is on its disk, then what an initiator forgets in a crash. Sets are masks."""

    status: Status = "up"
    is_new: bool = False
    frozen: bool = False  # the switch that stops changes of metadata
    facts: int = 0  # the changes that it has
    log: int = NO_LOG  # the log that it runs by
    epoch: int = 0
    knows: int = 0  # the members of the CMS of which it was told
    met: int = -1  # of whom it has heard: by gossip of all, in a fresh cluster whom it found
    initiator: int | None = None  # who asked it to take part in a migration; one at a time
    ignored: int = 0  # by the operator
    answered: int = 0
    unlike: int = 0  # whose metadata is other than its own

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.status == "up"

    @property
    def is_there(self) -> bool:
        """Whether it is, or may come back."""
        return self.status in ("up", "down")

    @property
    def is_old(self) -> bool:
        """Whether it runs the old version, or will when it comes back."""
        return self.is_there and not self.is_new

    @property
    def waits_for_log(self) -> bool:
        """Whether it runs the new version, by what gossip brought: it takes no changes."""
        return self.is_up and self.is_new and self.log == NO_LOG


class MetadataLog(declared.State, frozen=True, cache_hash=True):
    """A log: who began it, with which changes, without whom, and what came after epoch 2."""

    founder: int
    base: int
    ignored: int
    entries: tuple[tuple[EntryKind, int], ...] = ()

    @property
    def top(self) -> int:
        """Its newest epoch."""
        return INITIALIZED + len(self.entries)

    def facts_at(self, epoch: int) -> int:
        """The changes that a node at an epoch has (a mask)."""
        return self._mask_at("change", self.base, epoch)

    def members_at(self, epoch: int) -> int:
        """The members of the CMS at an epoch (a mask): the founder, and who was added."""
        return self._mask_at("member", 1 << self.founder, epoch)

    def _mask_at(self, kind: EntryKind, mask: int, epoch: int) -> int:
        for each, number in self.entries[: epoch - INITIALIZED]:
            mask |= (each == kind) << number
        return mask

    def text_of(self, epoch: int, names: tuple[str, ...]) -> str:
        """The event of an epoch, in words."""
        if epoch == FIRST:
            return "blank"
        if epoch == INITIALIZED:
            return "INITIALIZE"
        kind, number = self.entries[epoch - INITIALIZED - 1]
        return f"change {number + 1}" if kind == "change" else f"{names[number]} joins the CMS"


class MigratingCluster(declared.State, frozen=True, cache_hash=True, kw_only=True):
    """All nodes and logs, and what may still happen."""

    nodes: tuple[MigratingNode, ...] = ()
    logs: tuple[MetadataLog, ...] = ()
    owed: int = 0  # the changes that somebody acknowledged, and that nobody gave up
    made: int = 0  # all changes
    changes: int
    crashes: int
    deaths: int

    @property
    def up(self) -> int:
        """The nodes that run (a mask)."""
        return self.where(lambda n: n.is_up)

    @property
    def there(self) -> int:
        """The nodes that are, or may come back (a mask)."""
        return self.where(lambda n: n.is_there)

    @property
    def old(self) -> int:
        """Those of the old version (a mask)."""
        return self.where(lambda n: n.is_old)

    @property
    def is_mixed(self) -> bool:
        """Whether a node of the new version is there."""
        return bool(self.there & ~self.old)

    @property
    def has_log(self) -> bool:
        """Whether a log has begun that some node still has."""
        return any(node.is_there and node.log != NO_LOG for node in self.nodes)

    def log_of(self, node: MigratingNode) -> MetadataLog | None:
        """The log that a node runs by."""
        return self.logs[node.log - 1] if node.log else None

    def facts_on(self, nodes: int) -> int:
        """The changes that any of these nodes has (a mask)."""
        return union(node.facts for node in chosen(self.nodes, nodes))

    def has_majority(self, log: int) -> bool:
        """Whether a majority of the members of a log is up."""
        at = self.logs[log - 1]
        voters = at.members_at(at.top)
        return is_majority(voters & self.up, voters)

    def learn(self, node: int, log: int, epoch: int) -> MigratingCluster:
        """A node runs by a log from now on: what gossip told it does not count any more."""
        at = self.logs[log - 1]
        facts, knows = at.facts_at(epoch), at.members_at(epoch)
        free = self.at(node, initiator=None, **FORGOTTEN)
        return free.at(node, log=log, epoch=epoch, facts=facts, knows=knows)

    def skipped(self, initiator: int) -> int:
        """Whom an initiator does without (a mask): who is to be ignored, and has not come back."""
        return self.nodes[initiator].ignored & ~self.up

    def commit(self, node: int, kind: EntryKind, number: int) -> MigratingCluster:
        """A node's log is one entry longer: the node has applied it, and all members who are up."""
        log = self.nodes[node].log
        at = self.logs[log - 1]
        longer = at.but(entries=(*at.entries, (kind, number)))
        after = self.but(logs=(*self.logs[: log - 1], longer, *self.logs[log:]))
        for place in members(at.members_at(at.top) & self.up | 1 << node):
            after = after.learn(place, log, longer.top)
        return after


def may_be_ignored(s: MigratingCluster, initiator: int, edition: Edition, started: int) -> bool:
    """Whether nobody whom an initiator ignores can have begun a log without it.

    The operator may ignore who never ran the new version, and who will never come back. Another
    node may have begun a log before it went down. In the server's edition all nodes are upgraded
    when a log begins, so each of two logs would need the answers of a majority of those that the
    cluster ``started`` with: one of these remembers the first. In the documents' edition a single
    node may have begun, so nobody else knows.
    """
    answered = s.nodes[initiator].answered
    silent = s.skipped(initiator) & s.where(lambda n: n.is_there and n.is_new)
    if edition == "documents":
        return not silent
    return not silent or is_majority(answered, started)


def may_be_aborted(s: MigratingCluster, initiator: int) -> bool:
    """Whether a node has certainly begun no log, though others still take part in its migration.

    The node itself says so; where it is lost for good, all who may have learned of its log.
    """
    knowing = 1 << initiator if s.nodes[initiator].is_there else s.there & ~s.old
    begun = s.where(lambda n: n.log != NO_LOG and s.logs[n.log - 1].founder == initiator)
    return knowing == knowing & s.up & ~begun


Version: TypeAlias = Annotated[str, declared.Each(("old", "new"))]
ChangeKind: TypeAlias = Annotated[str, declared.Each(lambda m: m.kinds)]
Ignored: TypeAlias = Annotated[str, declared.Each(lambda m: (NOBODY, *m.names))]
Next: TypeAlias = MigratingCluster | Refusal | None


class Migration(declared.NodeModel[MigratingCluster]):
    """A cluster of ``nodes`` on its way from gossip to the metadata log."""

    name, title, State = "migration", "From gossip to the metadata log", MigratingCluster
    premise = (
        "Gossip has managed this cluster's metadata for years. The cluster is upgraded node by "
        "node, and then one log takes over. In between, two versions have to share one cluster."
    )
    about = "A cluster that is being upgraded, and what can go wrong meanwhile."
    rests_at_goals = True

    edition: Edition = parameter("documents", "CEP-21 (documents), or the published server")
    nodes: int = parameter(3, "how many nodes there are", ge=2, le=5)
    spares: int = parameter(0, "whether one more node, X, can be added", ge=0, le=1)
    size: int = parameter(2, "how many members the CMS should have", ge=1, le=5)
    begins: Literal["upgrade", "fresh"] = parameter(
        "upgrade", "an old cluster that is upgraded, or a fresh one"
    )
    contact: Literal["A", "B", "C", "D", "E"] = parameter(
        "A",
        "in a fresh cluster, which node has the flag (documents) or is the seed of every node "
        "(server)",
    )
    requested: Literal["schema", "every"] = parameter(
        "schema", "what clients and operators ask for: schema changes, or every kind of change"
    )
    changes: int = declared.budget(1, "how many changes of metadata are asked for", le=MOST)
    crashes: int = declared.budget(0, "how many times a node can go down", le=MOST)
    deaths: int = declared.budget(0, "how many nodes can be lost for good", le=1)

    # fmt: off
    metadata_switch: bool = safeguard(
        "S-19", "While versions are mixed, no upgraded node changes metadata",
        ("INV-SCHEMA", "INV-LIN"), smallest={"nodes": 2})
    equal_metadata: bool = safeguard(
        "S-71", "The log begins only when all nodes have the same metadata",
        ("INV-SCHEMA", "INV-LIN"), smallest={"nodes": 2})
    no_second_log: bool = safeguard(
        "S-72", "A migration ignores no node that may have begun a log already", ("INV-LOG",),
        smallest={"nodes": 2, "changes": 0, "crashes": 1})
    initiator_answers: bool = safeguard(
        "S-73", "A migration is aborted only when it certainly has not begun a log", ("INV-LOG",),
        smallest={"edition": "server", "nodes": 3, "changes": 0, "crashes": 1})
    one_election: bool = safeguard(
        "S-75", "A node takes part in the election of one initiator at a time", ("INV-LOG",),
        smallest={"edition": "server", "nodes": 2, "changes": 0})
    # fmt: on

    def set_up(self) -> None:
        """All nodes have a name; the spare one is X.

        Raises BadInput for a fresh cluster that lost nodes or gets more, or without its first node.
        """
        self.fresh = self.begins == "fresh"
        self.call = "election" if self.fresh else "migration"
        if self.fresh and (self.spares or self.deaths):
            raise BadInput("begins", "fresh", "upgrade, if nodes are added or lost")
        if self.contact not in "ABCDE"[: self.nodes]:
            raise BadInput("contact", self.contact, f"one of {self.nodes} nodes")
        self.names = (*"ABCDE"[: self.nodes], *"X"[: self.spares])
        self.kinds = KINDS if self.requested == "every" else KINDS[:1]
        self.original = (1 << self.nodes) - 1
        """The nodes that the cluster began with."""

    @property
    def under_way(self) -> str:
        """The nodes that migrate."""
        verb = "begin a log" if self.fresh else "migrate"
        return f"{', '.join(self.names[: self.nodes])} {verb} (edition {self.edition})"

    def newest_epoch(self, s: MigratingCluster) -> int | None:
        """The newest epoch of the longest log; None while there is no log."""
        return max((log.top for log in s.logs), default=None)

    def start(self) -> MigratingCluster:
        """All run the old version, and know the same; fresh ones the new version, and nobody."""
        if self.fresh:
            new = (MigratingNode(is_new=True, met=1 << each) for each in range(self.nodes))
            return super().start().but(nodes=tuple(new))
        nodes = (*[MigratingNode()] * self.nodes, *[MigratingNode("absent")] * self.spares)
        return super().start().but(nodes=nodes)

    # -- the old world ---------------------------------------------------------------------------

    def says_change(self, before: MigratingCluster, act: Any, after: MigratingCluster) -> str:
        """By gossip, or through the log."""
        does, node = CHANGES[act.kind], after.nodes[self.number(act.node)]
        if node.log == NO_LOG:
            return f"{{node}} {does} through gossip: change {after.made}."
        return f"{{node}} {does} through the log: change {after.made} is epoch {node.epoch}."

    @action(
        spends="changes",
        label="change of {kind} at {node}",
        each=lambda m, s: product(nodes_in(s.up), m.kinds),
        says=says_change,
        travels=lambda m, before, act, after: m.pushes(after, m.number(act.node)),
        unasked=True,
    )
    @purpose("Clients and operators keep working while the cluster is upgraded.")
    def change(self, s: MigratingCluster, node: Node, kind: ChangeKind) -> Next:
        """A node changes metadata: it gossips the change, or once there is a log, submits it."""
        at, bit = s.nodes[node], 1 << s.made
        if at.frozen:
            what = "schema change" if kind == "schema" else kind
            return refused(f"the switch of {self.names[node]} is set: no {what}")
        if at.waits_for_log:
            return refused(f"{self.names[node]} runs the new version, but there is no log yet")
        counted = s.but(made=s.made + 1, owed=s.owed | bit)
        if at.log == NO_LOG:
            return counted.at(node, facts=at.facts | bit)
        if s.old and self.metadata_switch:
            return refused("versions are mixed", self.named(s.old))
        return self.without_quorum(s, at.log) or counted.commit(node, "change", s.made)

    def without_quorum(self, s: MigratingCluster, log: int) -> Refusal | None:
        """Why nothing can be committed to a log."""
        return None if s.has_majority(log) else refused("no majority of the CMS is up")

    def pushes(self, after: MigratingCluster, node: int) -> Iterator[Travel]:
        """A new entry goes to the members, and is pushed to old nodes, which ignore it.

        To other upgraded nodes a push may get lost: they catch up when they need it.
        """
        at = after.nodes[node]
        if log := after.log_of(at):
            said = f"epoch {at.epoch}"
            for name in self.named(log.members_at(at.epoch) & after.up & ~(1 << node)):
                yield Travel("entry", self.names[node], name, said, leg=0)
            for name in self.named(after.old & after.up):
                yield Travel("message", self.names[node], name, f"{said}: ignored", leg=0)

    @action(
        each=lambda m, s: (
            pair
            for pair in combinations(nodes_in(s.old & s.up), 2)
            if s.nodes[pair[0]].facts != s.nodes[pair[1]].facts
        ),
        travels=declared.there_and_back(
            "{node}", "{target}", "gossip", "gossip", ("message", "message")
        ),
    )
    @purpose("Old nodes learn of changes from each other, in no fixed order.")
    def gossip(self, s: MigratingCluster, node: Node, target: Node) -> Next:
        """{node} and {target} gossip: each now knows what the other knew."""
        facts = s.nodes[node].facts | s.nodes[target].facts
        return s.at(node, facts=facts).at(target, facts=facts)

    # -- the upgrade -----------------------------------------------------------------------------

    @action(each=lambda m, s: s.old)
    @purpose("Only the new version can keep metadata in a log.")
    def upgrade(self, s: MigratingCluster, node: Node) -> Next:
        """{node} starts with the new version. It keeps what gossip brought and changes nothing."""
        return s.at(node, status="up", is_new=True, frozen=False)

    @action(
        each=lambda m, s: product(
            nodes_in(s.up & ~s.old), nodes_in(s.up & s.old & s.where(lambda n: not n.frozen))
        ),
        when=lambda m: m.edition == "documents" and m.metadata_switch,
        travels=declared.there_and_back("{node}", "{old}", "no changes", "set"),
    )
    @purpose("Anything that old nodes change from now on would not get into the log.")
    def freeze(self, s: MigratingCluster, node: Node, old: Node) -> Next:
        """{node} asks {old} to set its switch: from now on, {old} refuses changes of metadata."""
        return s.at(old, frozen=True)

    def brings(self, s: MigratingCluster) -> Iterator[tuple[int, str]]:
        """A spare node may be added, and an old one that is lost replaced, by either version."""
        for node, at in enumerate(s.nodes):
            if at.status in ("absent", "lost") and not at.is_new:
                yield from ((node, version) for version in ("old", "new"))

    @action(
        each=brings,
        says=lambda m, before, act, after: (
            "{node} joins with the {version} version."
            if before.nodes[m.number(act.node)].status == "absent"
            else "A node with the {version} version replaces {node}, which is lost."
        ),
        travels=lambda m, before, act, after: (
            Travel("data", m.named(before.up)[0], act.node, "what gossip knows"),
        ),
        unasked=True,
    )
    @purpose("Hardware can also die during an upgrade.")
    def bring(self, s: MigratingCluster, node: Node, version: Version) -> Next:
        """A node comes in with an empty disk. A live node tells it what gossip knows."""
        contacts = chosen(s.nodes, s.up if version == "new" else s.old & s.up)
        if not contacts:
            return refused("no node is up that could tell it about the others")
        if version == "old" and s.is_mixed and self.metadata_switch:
            return refused("versions are mixed: only the new version can come in")
        if version == "old" and contacts[0].frozen:
            return refused("the switch is set: no bootstrap")
        if self.edition == "server" and s.is_mixed and not s.has_log:
            return refused("upgraded nodes let no node join before the log has begun")
        return s.put(node, MigratingNode(is_new=version == "new", facts=contacts[0].facts))

    # -- the operator's tool ---------------------------------------------------------------------

    def injects(self, s: MigratingCluster) -> Iterator[tuple[int, int]]:
        """Whoever has a change that another node does not have."""
        for source, node in permutations(nodes_in(s.up), 2):
            if s.nodes[source].facts & ~s.nodes[node].facts:
                yield source, node

    @action(each=injects, travels=[Travel("message", "{source}", "{node}", "injected")])
    @purpose("The log can begin only when all nodes have the same metadata.")
    def inject(self, s: MigratingCluster, source: Node, node: Node) -> Next:
        """The operator injects {source}'s gossip into {node}, which now has those changes."""
        at, name = s.nodes[node], self.names[node]
        if at.log != NO_LOG:
            return refused(f"{name} follows the log: gossip does not change it")
        if at.initiator is not None:
            return refused(f"{name} takes part in a migration: abort that first")
        if s.has_log and s.nodes[source].log == NO_LOG:
            return refused("there is a log: only what the log holds can be injected")
        return s.at(node, facts=at.facts | s.nodes[source].facts)

    # -- the migration ---------------------------------------------------------------------------

    def finding(self, s: MigratingCluster) -> Iterator[tuple[int, int]]:
        """A node without a log, and whom it may ask who is there: the seed, or whom it knows."""
        seed = 1 << self.number(self.contact)
        for node, at in enumerate(s.nodes):
            for peer in nodes_in((at.met | seed) & s.up if at.waits_for_log else 0):
                if s.nodes[peer].met & ~at.met:
                    yield node, peer

    @action(
        each=finding,
        when=lambda m: m.fresh,
        travels=declared.there_and_back("{node}", "{peer}", "who is there?", "whom it knows"),
    )
    @purpose("A new node knows only a seed, and there must be one log for all nodes.")
    def discover(self, s: MigratingCluster, node: Node, peer: Node) -> Next:
        """{node} asks {peer} which nodes there are. {node} learns all that {peer} knows, and {peer}
        learns of {node}.
        """
        met = s.nodes[node].met | s.nodes[peer].met
        return s.at(node, met=met).at(peer, met=s.nodes[peer].met | 1 << node)

    def nominates(self, s: MigratingCluster, node: int) -> bool:
        """Whether a fresh node begins: it has the flag; or it is lowest of those that it found.

        Whoever found nobody, and is no seed, waits.
        """
        at, is_first = s.nodes[node], self.names[node] == self.contact
        if self.edition == "documents" or at.knows:
            return is_first and not at.knows
        return at.met & -at.met == 1 << node and (is_first or at.met != 1 << node)

    def initializing(self, s: MigratingCluster) -> Iterator[tuple[int, str]]:
        """On any upgraded node; whoever does not run may be ignored."""
        silent = self.named(s.where(lambda n: n.status in ("down", "lost")))
        for node, at in enumerate(s.nodes):
            if at.waits_for_log and not at.answered and self.fresh:
                yield from ((node, NOBODY) for _ in range(self.nominates(s, node)))
            elif at.waits_for_log and not at.answered:
                yield from ((node, ignored) for ignored in (NOBODY, *silent))

    def says_initialize(self, before: MigratingCluster, act: Any, after: MigratingCluster) -> str:
        """The operator's command, the flag, or a nomination."""
        if not self.fresh:
            ignoring = " and tells it to ignore {ignored}" if act.ignored != NOBODY else ""
            return f"The operator runs nodetool cms initialize on {{node}}{ignoring}."
        if self.edition == "documents":
            return "{node} starts with the flag: it will be the first member of the CMS."
        return "{node} nominates itself: it has found no node with a lower name."

    @action(
        each=initializing,
        verb=lambda m, act: f"initialize {act.node} {act.ignored}".removesuffix(f" {NOBODY}"),
        says=says_initialize,
        relied=lambda m, s, act: all(n.initiator is None for n in s.nodes),
    )
    @purpose("One node has to ask all others whether the log can begin.")
    def initialize(self, s: MigratingCluster, node: Node, ignored: Ignored = NOBODY) -> Next:
        """The node becomes the initiator of a migration."""
        at, skipped = s.nodes[node], self.mask(()) if ignored == NOBODY else self.mask((ignored,))
        if at.initiator not in (None, node):
            first = self.names[at.initiator]
            return refused(f"{self.names[node]} takes part in the {self.call} of {first}")
        if self.edition == "server" and s.old & ~skipped:
            return refused("not every node is upgraded", self.named(s.old & ~skipped))
        return s.at(node, initiator=node, ignored=skipped, answered=1 << node, unlike=0)

    def answering(self, s: MigratingCluster) -> Iterator[tuple[int, int]]:
        """Whoever an initiator has not heard of yet: upgraded nodes that it does not ignore."""
        for node, at in enumerate(s.nodes):
            if at.answered:
                unheard = s.up & ~s.old & ~at.answered & at.met
                yield from ((node, peer) for peer in nodes_in(unheard))

    @action(
        each=answering,
        says=lambda m, before, act, after: (
            "{peer} records that {node} holds an election, and takes part in it."
            if m.fresh
            else "{peer} records that {node} migrates, and answers with its metadata, which is "
            + ("different." if m.differs(before, act.node, act.peer) else "the same.")
        ),
        travels=declared.there_and_back("{node}", "{peer}", "take part?", "metadata"),
    )
    @purpose("All nodes must begin with the same state, so their states are compared first.")
    def answer(self, s: MigratingCluster, node: Node, peer: Node) -> Next:
        """The peer takes part in no other migration, and says what it knows."""
        at, other = s.nodes[node], s.nodes[peer]
        if other.log != NO_LOG:
            return refused(f"{self.names[peer]} already follows a log")
        if other.initiator not in (None, node) and self.one_election:
            first = self.names[other.initiator]
            return refused(f"{self.names[peer]} takes part in the {self.call} of {first}")
        unlike = at.unlike | (other.facts != at.facts) << peer
        s = s.at(peer, initiator=node, met=other.met | 1 << node)
        return s.at(node, answered=at.answered | 1 << peer, unlike=unlike)

    def differs(self, s: MigratingCluster, node: str, other: str) -> bool:
        """Whether two nodes have other changes."""
        return s.nodes[self.number(node)].facts != s.nodes[self.number(other)].facts

    def unanswered(self, s: MigratingCluster, node: int) -> int:
        """Of whom an initiator has to hear before the log begins (a mask).

        Old nodes ignore its message. What they have it sees in gossip, if they are up.
        """
        at = s.nodes[node]
        if self.fresh and self.edition == "documents":
            return 0
        silent = s.where(lambda n: n.status != "absent" and not (n.is_up and n.is_old))
        return silent & ~at.answered & ~s.skipped(node) & at.met

    def mismatched(self, s: MigratingCluster, node: int) -> int:
        """Who has another metadata than an initiator (a mask): by its answer, or by gossip."""
        at = s.nodes[node]
        return (at.unlike | s.old & s.where(lambda n: n.facts != at.facts)) & ~s.skipped(node)

    @action(
        each=lambda m, s: s.where(lambda n: n.answered),
        says=lambda m, *_: (
            "{node} writes the first epochs of the log: the point of no return. "
            + ("{node} alone is the CMS." if m.fresh else "Gossip no longer rules metadata.")
        ),
    )
    @purpose("From here on, one log puts all changes in order.")
    def begin_log(self, s: MigratingCluster, node: Node) -> Next:
        """The initiator writes epoch 1, and all that gossip brought as epoch 2."""
        skipped = s.skipped(node)
        if missing := self.unanswered(s, node):
            return refused("not all nodes have answered", self.named(missing))
        open_ = s.where(lambda n: n.is_old and not n.frozen) & ~skipped
        if open_ and self.metadata_switch:
            return refused("an old node can still change metadata", self.named(open_))
        if self.equal_metadata and (unlike := self.mismatched(s, node)):
            return refused("mismatching cluster metadata", self.named(unlike))
        if self.no_second_log and not may_be_ignored(s, node, self.edition, self.original):
            return refused(f"{self.named(skipped)[0]} might already have begun a log")
        owed = s.owed & s.facts_on(s.there & ~skipped)
        logs = (*s.logs, MetadataLog(node, s.nodes[node].facts, skipped))
        return s.but(logs=logs, owed=owed).learn(node, len(logs), INITIALIZED)

    def is_stuck(self, s: MigratingCluster, node: int) -> bool:
        """Whether the migration in which a node takes part cannot go on.

        Its initiator forgot whom it asked, found a mismatch, or misses somebody who is lost, or who
        takes part in another migration or log.
        """
        first = s.nodes[node].initiator
        assert first is not None
        if not s.nodes[first].answered:
            return True
        missing = chosen(s.nodes, self.unanswered(s, first))
        elsewhere = any(n.status == "lost" or n.log or n.initiator is not None for n in missing)
        return elsewhere or bool(self.equal_metadata and s.nodes[first].unlike)

    @action(
        label="abort the migration on {node}",
        each=lambda m, s: s.where(lambda n: n.waits_for_log and n.initiator is not None),
        says=lambda m, *_: (
            ("The nodes give up the election" if m.fresh else "The operator aborts the migration")
            + " of {initiator}: every node that is up forgets it."
        ),
        relied=lambda m, s, act: m.is_stuck(s, m.number(act.node)),
    )
    @purpose("A migration that cannot finish must not block the cluster forever.")
    def abort(self, s: MigratingCluster, node: Node) -> Next:
        """Every node that is up forgets who asked, and can take part in another migration."""
        first = s.nodes[node].initiator
        assert first is not None
        if self.initiator_answers and not may_be_aborted(s, first):
            return refused(f"{self.names[first]} might have begun the log", self.named(1 << first))
        for each in nodes_in(s.where(lambda n: n.initiator == first and n.waits_for_log)):
            s = s.at(each, initiator=None, **FORGOTTEN)
        return s

    # -- the new world ---------------------------------------------------------------------------

    def members_heard(self, s: MigratingCluster, node: int) -> int:
        """The members of the CMS, as the peer that is farthest knows them (a mask)."""
        peers = (n for n in chosen(s.nodes, s.nodes[node].met & s.up) if n.log != NO_LOG)
        return max(peers, key=lambda n: n.epoch, default=s.nodes[node]).knows

    def asks_members(self, before: MigratingCluster, act: Any, _: Any) -> Iterator[Travel]:
        """All known peers are asked; only those of the new version answer."""
        met = before.nodes[self.number(act.node)].met
        for name, peer in zip(self.names, before.nodes, strict=True):
            if peer.is_up and name != act.node and met >> self.number(name) & 1:
                said = "CMS?" if peer.is_new else "CMS?: ignored"
                yield Travel("request", act.node, name, said, leg=0)
                if peer.log != NO_LOG:
                    members = ", ".join(self.named(peer.knows))
                    yield Travel("answer", name, act.node, f"CMS {members}", leg=1)

    @action(
        each=lambda m, s: where(
            n.waits_for_log and n.initiator is None and m.members_heard(s, i) != n.knows
            for i, n in enumerate(s.nodes)
        ),
        travels=asks_members,
    )
    @purpose("A node that is upgraded later was not asked when the log began.")
    def ask_members(self, s: MigratingCluster, node: Node) -> Next:
        """{node} asks {peers} which nodes keep the log: {members}."""
        return s.at(node, knows=self.members_heard(s, node))

    def source(self, s: MigratingCluster, node: int) -> int | None:
        """From whom a node gets the log, or more of it: who is farthest of those it knows.

        One that takes part in a migration gets only the log of that.
        """
        at = s.nodes[node]
        if not at.is_up:
            return None
        if at.log != NO_LOG:
            able = s.where(lambda n: n.is_up and n.log == at.log and n.epoch > at.epoch)
        elif at.initiator is None:
            able = at.knows & s.up  # whoever is a member has the log
        else:
            begun = [i for i, log in enumerate(s.logs, 1) if log.founder == at.initiator]
            able = s.where(lambda n: n.is_up and n.log in begun)
        return max(nodes_in(able), key=lambda i: s.nodes[i].epoch, default=None)

    @action(
        each=lambda m, s: where(m.source(s, i) is not None for i in range(len(s.nodes))),
        travels=[Travel("entry", "{sender}", "{node}", "log")],
    )
    @purpose("Every node applies the same entries in the same order.")
    def catch_up(self, s: MigratingCluster, node: Node) -> Next:
        """{node} takes the log up to epoch {epoch} from {sender}."""
        source = self.source(s, node)
        assert source is not None
        return s.learn(node, s.nodes[source].log, s.nodes[source].epoch)

    def growing(self, s: MigratingCluster) -> int:
        """The nodes that may become members while the CMS is smaller than it is to be (a mask)."""
        few = {
            number: members
            for number, log in enumerate(s.logs, 1)
            if (members := log.members_at(log.top)).bit_count() < self.size
        }
        return s.up & where(not few.get(n.log, -1) >> i & 1 for i, n in enumerate(s.nodes))

    @action(each=growing, travels=lambda m, before, act, after: m.pushes(after, m.number(act.node)))
    @purpose("A single member is too easily lost.")
    def grow(self, s: MigratingCluster, node: Node) -> Next:
        """The operator grows the CMS: {node} is a member from epoch {epoch} on."""
        at = s.nodes[node]
        if at.epoch < s.logs[at.log - 1].top:
            return refused(f"{self.names[node]} has to catch up first")
        return self.without_quorum(s, at.log) or s.commit(node, "member", node)

    # -- faults ----------------------------------------------------------------------------------

    @action(fault=True, spends="crashes", each=lambda m, s: s.up, hand=declared.off_stage)
    @purpose("Any step of a migration can be the last one before a crash.")
    def crash(self, s: MigratingCluster, node: Node) -> Next:
        """{node} goes down but keeps its disk."""
        return s.at(node, status="down", **FORGOTTEN)

    @action(each=lambda m, s: s.where(lambda n: n.status == "down"))
    @purpose("A node's disk decides in which state the node comes back.")
    def restart(self, s: MigratingCluster, node: Node) -> Next:
        """{node} is up again, with what is on its disk."""
        without = any(log.ignored >> node & 1 for log in s.logs)
        if self.metadata_switch and s.nodes[node].is_old and without:
            return refused("a log has begun without it: it has to come back with the new version")
        return s.at(node, status="up")

    @action(
        fault=True,
        spends="deaths",
        each=lambda m, s: s.there if s.there.bit_count() > 1 else 0,
        hand=declared.off_stage,
    )
    @purpose("A node that never comes back must not stop the others.")
    def die(self, s: MigratingCluster, node: Node) -> Next:
        """{node} is lost for good, and so is what only its disk held."""
        lost = s.at(node, status="lost", initiator=None, **FORGOTTEN)
        return lost.but(owed=lost.owed & lost.facts_on(lost.there))

    # -- what must hold --------------------------------------------------------------------------

    @declared.always("INV-LOG")
    def one_log(self, s: MigratingCluster) -> str | None:
        """The cluster has one log, and each epoch has one entry."""
        logs = {n.log: name for name, n in zip(self.names, s.nodes, strict=True)
                if n.is_there and n.log != NO_LOG}  # fmt: skip
        return f"{' and '.join(logs.values())} follow separate logs" if len(logs) > 1 else None

    @declared.always("INV-SCHEMA")
    def one_metadata(self, s: MigratingCluster) -> str | None:
        """Once there is a log, every node has the log's metadata."""
        living = [n for n in s.nodes if n.is_there and n.log != NO_LOG]
        for name, node in zip(self.names, s.nodes, strict=True):
            if log := s.log_of(node):
                if node.facts != log.facts_at(node.epoch):
                    return f"{name} at epoch {node.epoch} has metadata that differs from the log"
            elif living and node.is_old:
                log = s.logs[living[0].log - 1]
                if not log.ignored >> self.number(name) & 1 and node.facts != log.facts_at(log.top):
                    return f"{name} has changes from gossip, but the log has others"
        return None

    @declared.always("INV-LIN")
    def nothing_lost(self, s: MigratingCluster) -> str | None:
        """Once all nodes follow the log, it holds every acknowledged change."""
        logs = [s.log_of(n) for n in s.nodes if n.is_there]
        if not all(logs):
            return None
        held = next((log.facts_at(log.top) for log in logs if log), s.owed)
        lost = s.owed & ~held
        return f"change {lost.bit_length()} was acknowledged, but no node has it" if lost else None

    @declared.step(
        on=(gossip, inject), title="Gossip changes nothing on a node that follows the log"
    )
    def deaf_to_gossip(
        self, before: MigratingCluster, act: Any, after: MigratingCluster
    ) -> str | None:
        """What gossip brings concerns only nodes without a log."""
        for name, was, now in zip(self.names, before.nodes, after.nodes, strict=True):
            if was.log != NO_LOG and was != now:
                return f"gossip changed {name}"
        return None

    @declared.step(
        on=(abort, begin_log, catch_up, restart), title="There is no way back from the log"
    )
    def no_return(self, before: MigratingCluster, act: Any, after: MigratingCluster) -> str | None:
        """A node that follows the log does so for ever, and its epoch never goes back."""
        for name, was, now in zip(self.names, before.nodes, after.nodes, strict=True):
            if (now.log, now.epoch) < (was.log, was.epoch):
                return f"{name} went back"
        return None

    @declared.sometimes()
    def migrated(self, s: MigratingCluster) -> bool:
        """All nodes follow the log, and the CMS has grown."""
        if any(n.log == NO_LOG for n in s.nodes if n.is_there):
            return False
        log = s.logs[-1]
        return log.members_at(log.top).bit_count() == min(self.size, self.nodes)

    @declared.sometimes(when=lambda m: m.edition == "documents" and not m.fresh)
    def mixed_log(self, s: MigratingCluster) -> bool:
        """The log has begun while a node runs the old version."""
        return bool(s.logs and s.old)

    @declared.sometimes(when=lambda m: m.changes and not m.fresh)
    def found_unlike(self, s: MigratingCluster) -> bool:
        """An initiator finds a node with different metadata."""
        return any(n.unlike for n in s.nodes)

    @declared.goal("INV-PROGRESS")
    def ends(self, s: MigratingCluster) -> bool:
        """All nodes follow the log to its end, or the CMS is lost and has to be recovered."""
        there = chosen(s.nodes, s.there)
        for each in filter(None, {s.log_of(n) for n in there}):
            members = each.members_at(each.top)
            if not is_majority(members & s.there, members):
                return True
        return all((log := s.log_of(n)) and n.is_up and n.epoch == log.top for n in there)

    # -- words -----------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """Where its node is after a step, whom it knows, who had asked it, who sent the log."""
        place = self.number(action.node)
        former, node = before.nodes[place], after.nodes[place]
        asked_by, source = former.initiator, self.source(before, place)
        return {
            "epoch": node.epoch,
            "members": ", ".join(self.named(node.knows)),
            "peers": "the nodes that it has found" if self.fresh else "its upgraded peers",
            "initiator": NOBODY if asked_by is None else self.names[asked_by],
            "sender": NOBODY if source is None else self.names[source],
        }

    def suggest(self, s: MigratingCluster) -> Any | None:
        """The steps that nodes take by themselves; then the operator goes on from node to node.

        A migration that cannot go on is aborted first.
        """
        turn = (*("abort", "freeze", "restart", "gossip", "answer", "begin log", "ask members"),
                *("catch up", "inject", "discover", "initialize", "upgrade", "grow"))  # fmt: skip
        able = (each for each in self.actions(s) if self.kind(each) in turn)
        may = (each for each in able if self.kind(each) != "abort" or self.relied(s, each))
        return min(may, key=lambda each: turn.index(self.kind(each)), default=None)

    def milestone(self, before: MigratingCluster, act: Any, after: MigratingCluster) -> str | None:
        """Versions mix, a mismatch is found, the log begins, all run by it."""
        if len(after.logs) > len(before.logs):
            return "the point of no return"
        if after.is_mixed and not before.is_mixed:
            return "versions are mixed"
        if any(n.unlike for n in after.nodes) and not any(n.unlike for n in before.nodes):
            return "a mismatch is found"
        if after.logs and not after.old and before.old:
            return "all nodes are upgraded"
        return "all nodes follow the log" if self.migrated(after) > self.migrated(before) else None

    def readable(self, s: MigratingCluster) -> dict[str, str]:
        """Every node, and the logs."""
        nodes = dict(zip(self.names, map(in_a_line, s.nodes), strict=True))
        logs = (", ".join(log.text_of(e, self.names) for e in range(1, log.top + 1))
                for log in s.logs)  # fmt: skip
        return {**nodes, "log": "; ".join(logs) or "none"}


def numbered(facts: int) -> str:
    """Changes in words: ``1, 2``."""
    return ", ".join(str(i + 1) for i in range(facts.bit_length()) if facts >> i & 1)


def in_a_line(node: MigratingNode) -> str:
    """The metadata that a node runs by, in a line."""
    if not node.is_up:
        return node.status
    version = "new version" if node.is_new else "old version"
    rules = f"log at epoch {node.epoch}" if node.log else "gossip"
    frozen = ", switch set" if node.frozen else ""
    return f"{version}, {rules}{frozen}, changes {numbered(node.facts) or 'none'}"


_ALL = ("upgrade A", "upgrade B", "upgrade C")


def _refinement(parameters: Any) -> Refinement:
    """The first epochs and all that follows are entries of one log, which nodes apply in turn.

    A log that is lost with everybody who ran by it is no log any more: another one may begin.
    """
    fine = Migration(parameters)

    def known(s: MigratingCluster) -> list[tuple[Any, ...]]:
        alive = {n.log for n in s.nodes if n.is_there}
        logs = (s.log_of(n) if n.log in alive else None for n in s.nodes)
        return [
            ((FIRST,), (INITIALIZED, log.base), *log.entries)[: n.epoch] if log else ()
            for n, log in zip(s.nodes, logs, strict=True)
        ]

    begins = [(FIRST,), *((INITIALIZED, base) for base in range(1 << fine.changes))]
    follow = [("change", number) for number in range(fine.changes)]
    follow += [("member", node) for node in range(len(fine.names))]
    return refined_by_logs(fine, known, (*begins, *follow), (Migration.die.struct,))


ENTRY = declared.entry(
    Migration,
    refinement=_refinement,
    scenarios=(
        Scenario("to-the-log", (
"Three nodes move to the log. One upgrade after "
"another"
)),
        Scenario(
            "mismatch",
            (
"An old node disagrees. On the server, nothing stops it: the mismatch is "
"found and fixed by hand"
),
            {"edition": "server"},
            script=("upgrade A", "change C schema", "gossip B C", *_ALL[1:], "initialize A",
                    "answer A B", "answer A C", "abort A", "inject B A", "initialize A"),
        ),
        Scenario(
            "without-a-node",
            (
"One node is left out. C is down with a change that only C has: the "
"operator ignores C and loses the change"
),
            {"crashes": 1},
            script=("change C schema", "crash C", "upgrade A", "freeze A B", "initialize A C",
                    "begin-log A", "upgrade C", "ask-members C", "catch-up C"),
        ),
        Scenario(
            "initiator-dies",
            (
"The initiator goes down. On the server, right after the point of no "
"return"
),
            {"edition": "server", "crashes": 1},
            script=(*_ALL, "initialize A", "answer A B", "answer A C", "begin-log A", "crash A",
                    "restart A"),
        ),
        Scenario(
            "dead-old-node",
            (
"An old node is lost. Versions are mixed: only a new one can take its "
"place"
),
            {"deaths": 1, "spares": 1},
            script=("upgrade A", "freeze A B", "freeze A C", "die C", "bring C new", "initialize A",
                    "answer A C", "begin-log A"),
        ),
    ),
    fuzzing=Fuzzing(
        {"nodes": 4, "spares": 1, "changes": 3, "crashes": 2, "deaths": 1, "requested": "every"},
        {"change": 0.1, "crash": 0.05, "die": 0.01, "bring": 0.05, "abort": 0.05},
    ),
)  # fmt: skip
