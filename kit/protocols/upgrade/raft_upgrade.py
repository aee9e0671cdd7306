"""The Raft upgrade: an operator's rolling restart, then five phases on each node.

A comparison of schema versions with all peers is one step: where it counts nobody takes changes,
and schemas only grow. An entry of group 0 reaches all members in reach at once: what Raft does
between them is the matter of ``group0``. Changes that come by gossip add columns of different
names; which of two for one name wins is the matter of ``gossip``: they are cells of that family,
and the schema version is the hash of them all. With group 0 it is the newest command that a node
has applied, so nodes that began with different cells show equal versions of different definitions:
that is what S-52 prevents.
Sources: manual on Raft, "Enabling Raft", "Verifying", and its two logs; published code,
``raft_group0``. Lines of logs that the documents give in full words are in words of the kit's own.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from string import ascii_uppercase
from typing import Annotated, Any, Literal, Self, TypeAlias

from kit.errors import BadInput, Refusal, are
from kit.masks import is_majority, mask_of, nodes_in
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, budget, parameter, purpose, refused
from kit.model.flows import ServerLine
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.gossip.rules import Mutations, SchemaChange, cells_of, merged, version_of
from kit.protocols.upgrade import rules

SLIP = "use_raft"
"""A value of the row that no node knows."""
MOST = 9

NO_OPTION = refused("the installed version does not know the option")
SWITCHING = refused(
    "Cannot perform schema or topology changes during this time; the cluster is currently "
    "upgrading to use Raft for schema operations."
)
"""What a server answers; source: manual on Raft, "Verifying that the procedure finishes"."""
REFUSES_TO_START = "refuses to start: consistent_cluster_management must stay on"

PHASES = ("join group 0", "equal schema", "enter synchronize", "equal schema again", "finish")
RUNS: dict[rules.UpgradeState, str] = {
    rules.PRE: "its schema changes spread by gossip",
    rules.SYNCHRONIZE: "schema changes are off",
    rules.POST: "group 0 manages its schema",
    rules.RECOVERY: "RECOVERY mode, so it attempts no upgrade",
}

UPGRADE, GROUP0 = "raft_group0_upgrade", "raft_group0"
SLOW_AT = 2
"""After some retries a node also says that this is taking long."""
SLOW = "Raft upgrade procedure taking longer than expected"
PEERS = "wait_for_peers_to_enter_synchronize_state"
SYNC = "synchronize_schema"

Releases = Literal["5.1 to 5.2", "2022.x to 2023.1"]
"""The rolling upgrades that may turn the option on; source: manual on Raft, "Enabling Raft"."""
ADVICE = (
    "check that all nodes are alive and the network is healthy",
    "if it makes no progress, do a rolling restart",
    "if that does not help, or a node is lost, do a manual recovery",
)
"""What the line about a slow upgrade advises, in the kit's words, in its order."""
Beginning = Literal["without Raft", "older version", "new cluster"]
Value: TypeAlias = Annotated[str, declared.Each((rules.RECOVERY, SLIP))]

NO_GROUP = 0
"""No group 0; groups are numbered from 1 as they are created."""

PROBLEM = 1
"""The bit of the definition that no other node can take over."""

KEYSPACE, TABLE, TYPE = "ks", "t", "int"

Position = Literal[0, 1, 2, 3, 4, 5]
"""How many of the five phases are behind a node."""


class UpgradingNode(declared.State, frozen=True, cache_hash=True):
    """A node: what it has persisted, what it runs by, and what it remembers.

    ``installed`` and ``configured`` (the newer version, ``consistent_cluster_management``) take
    effect at a restart, as ``row`` does; ``runs_new``, ``enabled`` and ``state`` are what it runs
    by, or ran by last. ``has_feature``: the cluster feature is enabled here, for good. ``compared``
    is what a crash takes: the schema comparison of this phase was good. ``schema`` are the changes
    that came by gossip (a mask), ``applied`` counts the commands of its group. ``by_group0``: the
    version of its schema is group 0's, no hash. Until it ``serves`` a node catches up. ``tries``
    counts how often it said that it waits.
    """

    status: Literal["up", "down", "lost"] = "up"
    installed: bool = True
    runs_new: bool = True
    configured: bool = False
    enabled: bool = False
    has_feature: bool = False
    row: str | None = None
    state: rules.UpgradeState = rules.PRE
    group: int = NO_GROUP
    compared: bool = False
    schema: int = 0
    applied: int = 0
    by_group0: bool = False
    serves: bool = True
    tries: int = 0

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.status == "up"

    @property
    def has_finished(self) -> bool:
        """Whether Raft manages its schema."""
        return self.state == rules.POST

    @property
    def needs_restart(self) -> bool:
        """Whether what it has persisted differs from what it runs by."""
        running = (self.runs_new, self.enabled, self.state)
        return (self.installed, self.configured, rules.state_at_start(self.row)) != running

    @property
    def position(self) -> Position:
        """How many of the five phases are behind it."""
        if self.state == rules.POST:
            return 5
        if self.state == rules.SYNCHRONIZE:
            return 4 if self.compared else 3
        if self.state == rules.RECOVERY or self.group == NO_GROUP:
            return 0
        return 2 if self.compared else 1

    def is_upgrading(self, *positions: int) -> bool:
        """Whether the upgrade goes on here, with so many phases behind it."""
        goes_on = (
            self.has_feature
            and self.state in (rules.PRE, rules.SYNCHRONIZE)
            and self.status == "up"
        )
        return goes_on and self.position in positions

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that changes have added: ``c1`` by gossip, ``g1`` by group 0."""
        by_gossip = (f"c{number}" for number in nodes_in(self.schema))
        return (*by_gossip, *(f"g{number + 1}" for number in range(self.applied)))

    @property
    def version(self) -> str:
        """Its schema version as logs and tools print it: the newest command, or a hash of cells."""
        if self.by_group0:
            return f"command {self.applied}"
        known: Mutations = ()
        for column in self.columns:
            change = SchemaChange("alter", KEYSPACE, TABLE, column=column, type=TYPE)
            known = merged(known, cells_of(change, int(column[1:]), ""))
        return version_of(known)


class Cluster(declared.State, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and the pairs that have no connection.

    ``entries`` are the commands of each group so far, ``made`` counts all schema changes. What
    follows counts what may still happen.
    """

    nodes: tuple[UpgradingNode, ...] = ()
    cut: tuple[tuple[int, int], ...] = ()
    entries: tuple[int, ...] = ()
    made: int = 0
    changes: int
    crashes: int
    deaths: int
    cuts: int
    turns: int
    restarts: int
    edits: int

    @property
    def up(self) -> int:
        """The nodes that run (a mask)."""
        return self.where(lambda n: n.status == "up")

    @property
    def left(self) -> int:
        """The nodes that are not lost (a mask)."""
        return self.where(lambda n: n.status != "lost")

    def linked(self, node: int) -> int:
        """The other nodes that a node reaches: both are up, and have a connection (a mask)."""
        if not self.nodes[node].is_up:
            return 0
        there = self.up & ~(1 << node)
        for pair in self.cut:
            if node in pair:
                there &= ~(1 << pair[0] | 1 << pair[1])
        return there

    def in_turn(self, node: int, nodes: int) -> list[int]:
        """Nodes (a mask) in their order, from the one behind ``node`` on."""
        return sorted(nodes_in(nodes), key=lambda i: (i < node, i))

    def company(self, node: int) -> int:
        """The members of a node's group that it reaches, and itself (a mask)."""
        group = self.nodes[node].group
        there = self.where(lambda n: n.group == group and n.state != rules.RECOVERY)
        return there & self.linked(node) | 1 << node

    def members_of(self, group: int) -> int:
        """The members of a group (a mask)."""
        return self.where(lambda n: n.group == group)

    def has_majority(self, node: int) -> bool:
        """Whether a node reaches a majority of its group."""
        group = self.nodes[node].group
        return group != NO_GROUP and is_majority(self.company(node), self.members_of(group))

    def is_behind(self, node: UpgradingNode) -> bool:
        """Whether a node's group has commands that the node has not applied."""
        return node.group != NO_GROUP and node.applied < self.entries[node.group - 1]

    def to_pull(self, node: int, source: int) -> int:
        """The schema changes that gossip would bring from another node (a mask)."""
        new = self.nodes[source].schema & ~self.nodes[node].schema & ~PROBLEM
        able = not self.nodes[node].has_finished and self.linked(node) >> source & 1
        return new if able else 0

    @property
    def has_begun(self) -> bool:
        """Whether the upgrade has started by itself."""
        return any(node.has_feature for node in self.nodes)

    @property
    def is_finished(self) -> bool:
        """Whether every node that is not lost runs by Raft, and serves."""
        return not self.left & ~self.where(lambda n: n.has_finished and n.serves)

    @property
    def needs_recovery(self) -> bool:
        """Whether only manual recovery leads on: begun, after a loss, or with two groups."""
        if len(self.entries) > 1 or any(n.state == rules.RECOVERY for n in self.nodes):
            return True
        left = self.left.bit_count() < len(self.nodes)
        return left and any(not self.nodes[i].has_finished for i in nodes_in(self.left))

    def beside_finished(self) -> Iterator[tuple[int, int]]:
        """A node that has finished, and one that talks to it.

        None once a node is in RECOVERY mode: there gossip spreads changes again, to members that
        are still in ``synchronize``, too (a search finds that).
        """
        if not self.where(lambda n: n.state == rules.RECOVERY):
            for first in nodes_in(self.where(lambda n: n.state == rules.POST)):
                for second in nodes_in(self.linked(first)):
                    yield first, second

    def with_feature(self) -> Self:
        """The feature is enabled on whoever is up, once every node runs with the option.

        A node that is down counts with what it ran by last. The row is written here (the documents
        do not say when it is).
        """
        if not all(node.enabled for node in self.nodes):
            return self
        nodes = (
            n.but(has_feature=True, row=n.row or rules.PRE) if n.is_up else n for n in self.nodes
        )
        return self.but(nodes=tuple(nodes))


Next: TypeAlias = Cluster | Refusal | None


class RaftUpgrade(declared.NodeModel[Cluster]):
    """A cluster of ``nodes`` on the way into Raft."""

    name, title, State = "raft_upgrade", "The Raft upgrade", Cluster
    premise = (
        "The schema moves from gossip to Raft while the cluster keeps serving. Each "
        "node goes through five phases and waits for the others in each one."
    )
    about = "A cluster that is moving to Raft, and what can go wrong."
    rests_at_goals = True

    nodes: int = parameter(3, "how many nodes the cluster has", ge=2, le=9)
    beginning: Beginning = parameter(
        "without Raft", "nodes without the option, nodes with an older version, or a new cluster"
    )
    releases: Releases = parameter("5.1 to 5.2", "the earlier release and the one with the option")
    schema_problem: bool = parameter(
        False, "whether the last node has a definition that no other node can copy"
    )
    changes: int = budget(0, "how many changes clients request", title="schema changes", le=MOST)
    crashes: int = budget(0, "how many times a node can go down", le=MOST)
    deaths: int = budget(0, "how many nodes can be lost for good", le=MOST)
    cuts: int = budget(0, "how many times a pair can lose its connection", le=MOST)
    turns: int = budget(
        0, "how many times the option can be turned off again", title="options turned off", le=MOST
    )
    restarts: int = budget(0, "how many times a node can restart without needing to", le=MOST)
    edits: int = budget(0, "how many times an operator can write the row by hand", le=MOST)
    retries: int = budget(
        0, "how many times each node reports that it is waiting", le=MOST, own=False
    )

    schema_synchronization: bool = declared.safeguard(
        "S-52",
        "The Raft upgrade ends only when all nodes have one schema",
        ("INV-SCHEMA", "INV-RAFT"),
        smallest={"nodes": 2, "changes": 1},
        wider={"INV-RAFT": {"changes": 2}},
    )
    all_alive: bool = declared.safeguard(
        "S-62",
        "The Raft upgrade starts only when all nodes are alive",
        ("INV-ONEGROUP", "INV-SCHEMA"),
        smallest={"nodes": 2, "crashes": 1},
        wider={"INV-SCHEMA": {"changes": 1}},
    )

    def set_up(self) -> None:
        """All nodes have a name. Raises BadInput for a new cluster with an old problem."""
        if self.schema_problem and self.beginning == "new cluster":
            raise BadInput(
                "schema_problem", True, "false, since a new cluster has no older definitions"
            )
        self.names = tuple(ascii_uppercase[: self.nodes])

    @property
    def under_way(self) -> str:
        """The node that goes into Raft, and from where."""
        return f"{', '.join(self.names)} move to Raft (start: {self.beginning})"

    def start(self) -> Cluster:
        """Nodes without the option or of an older version; a new cluster has Raft at once."""
        is_new, has_new = self.beginning == "new cluster", self.beginning == "without Raft"
        plain = UpgradingNode(installed=has_new, runs_new=has_new)
        if is_new:
            plain = UpgradingNode(
                "up", True, True, True, True, True, row=rules.POST, state=rules.POST, group=1
            )
        last = plain.but(schema=PROBLEM) if self.schema_problem else plain
        nodes = (*[plain] * (self.nodes - 1), last)
        return super().start().but(nodes=nodes, entries=(0,) if is_new else ())

    # For whom a node waits

    def peers(self, s: Cluster, node: int) -> int:
        """The nodes that a node waits for: all others; without S-62 those that it reaches."""
        return (1 << len(s.nodes)) - 1 & ~(1 << node) if self.all_alive else s.linked(node)

    def not_known(self, s: Cluster, node: int, holds: Callable[[UpgradingNode], bool]) -> int:
        """The peers of which a node does not know that something holds."""
        return self.peers(s, node) & ~(s.linked(node) & s.where(holds))

    def unready(self, s: Cluster, node: int) -> int:
        """Peers that are not ready to start."""
        return self.not_known(s, node, lambda n: n.state != rules.RECOVERY)

    def outside(self, s: Cluster, node: int) -> int:
        """Peers that are not known as members of the node's group."""
        return self.not_known(s, node, lambda n: n.group == s.nodes[node].group)

    def unsynchronized(self, s: Cluster, node: int) -> int:
        """Peers that are not known to be in ``synchronize`` or past it."""
        return self.not_known(s, node, lambda n: n.state in (rules.SYNCHRONIZE, rules.POST))

    def mismatched(self, s: Cluster, node: int) -> int:
        """Peers whose schema version is another one, or cannot be read."""
        own = s.nodes[node]
        return self.not_known(s, node, lambda n: (n.schema, n.applied) == (own.schema, own.applied))

    def awaited(self, s: Cluster, node: int) -> int:
        """For whom a node waits in its phase (a mask)."""
        at = s.nodes[node]
        if at.is_upgrading(0):
            return self.unready(s, node)
        if not at.is_upgrading(1, 3):
            return 0
        missing = self.outside(s, node) if at.position == 1 else self.unsynchronized(s, node)
        return missing or (self.mismatched(s, node) if self.schema_synchronization else 0)

    def waits_for(self, s: Cluster, node: int) -> str:
        """For whom a node waits, and what for."""
        names = self.named(self.awaited(s, node))
        missing, verb = ", ".join(names), are(len(names))
        match s.nodes[node].position:
            case 0:
                return f"{missing} {verb} not ready to start"
            case 1 if self.outside(s, node):
                return f"{missing} {verb} not known to be in group 0"
            case 3 if self.unsynchronized(s, node):
                return f"{missing} {verb} not known to be in synchronize"
            case _:
                return f"the schema is different on {missing}"

    # The operator goes from node to node

    @action(each=lambda m, s: s.where(lambda n: not n.installed and n.status != "lost"))
    @purpose("All nodes must support group 0 before it is used.")
    def install(self, s: Cluster, node: Node) -> Next:
        """The newer version is installed on {node} and runs after a restart."""
        return s.at(node, installed=True)

    @action(each=lambda m, s: s.where(lambda n: not n.configured and n.status != "lost"))
    @purpose("A node uses Raft only if the option is on.")
    def configure(self, s: Cluster, node: Node) -> Next:
        """The option is now on in {node}'s configuration{differ}."""
        return s.at(node, configured=True) if s.nodes[node].installed else NO_OPTION

    def _says_restart(self, before: Cluster, act: Any, after: Cluster) -> str:
        node = after.nodes[self.number(act.node)]
        fires = " Every node now runs with the option: the Raft upgrade starts on its own."
        fired = fires if after.has_begun and not before.has_begun else ""
        if node.row not in (None, node.state):
            return f"{{node}} does not recognize {node.row}, so it starts in {node.state}.{fired}"
        catches = "; it catches up before it serves requests" if not node.serves else ""
        return f"{{node}} starts: {RUNS[node.state]}{catches}.{fired}"

    def _logs_restart(self, before: Cluster, act: Any, after: Cluster) -> Iterator[ServerLine]:
        """A node that goes on with its state, then whoever gets the feature by this restart."""
        name, number = act.node, self.number(act.node)
        node = after.nodes[number]
        if node.state == rules.RECOVERY:
            yield ServerLine(name, "group0_client", "RECOVERY mode")
            skipped = "setup_group0: Raft RECOVERY mode, skipping group 0 setup"
            yield ServerLine(name, GROUP0, skipped)
            yield ServerLine(name, UPGRADE, "RECOVERY mode. Not attempting upgrade")
        elif before.nodes[number].has_feature and not node.has_finished:
            yield upgrade_line(f"starting in `{node.state}` state")
        fired = after.where(lambda n: n.has_feature) & ~before.where(lambda n: n.has_feature)
        for number in nodes_in(fired):
            name, state = self.names[number], after.nodes[number].state
            enabled = "Feature SUPPORTS_RAFT_CLUSTER_MANAGEMENT is enabled"
            yield ServerLine(name, "features", enabled)
            yield ServerLine(name, GROUP0, "Starting internal upgrade-to-raft procedure")
            yield ServerLine(name, UPGRADE, f"starting in `{state}` state")
            yield ServerLine(name, UPGRADE, "waits until every node is ready to start", own=True)

    @action(
        each=lambda m, s: s.where(
            lambda n: s.restarts > 0 or n.needs_restart if n.status == "up" else n.status == "down"
        ),
        says=_says_restart,
        logs=_logs_restart,
    )
    @purpose("A server loads its version and options when it starts.")
    def restart(self, s: Cluster, node: Node) -> Next:
        """A node starts from what it has persisted; the last node to start triggers the upgrade."""
        # Once the feature is enabled, a node without the option refuses to start. So does one that
        # was down then, because the others tell it what the cluster has enabled.
        at = s.nodes[node]
        if not at.configured and s.has_begun:
            return refused(f"{self.names[node]} {REFUSES_TO_START}")
        if at.is_up and not at.needs_restart:
            s = s.but(restarts=s.restarts - 1)
        state = rules.state_at_start(at.row)
        s = s.at(node, status="up", runs_new=at.installed, enabled=at.configured, state=state)
        return s.at(node, serves=state != rules.POST, compared=False, tries=0).with_feature()

    @action(each=lambda m, s: s.cut)
    @purpose("The upgrade needs to reach all peers.")
    def heal(self, s: Cluster, first: Node, second: Node) -> Next:
        """The network between {first} and {second} works again."""
        return s.but(cut=tuple(pair for pair in s.cut if pair != (first, second)))

    # The five phases, which nodes go through by themselves

    def pulls(self, s: Cluster) -> Iterator[tuple[int, int]]:
        """The pairs of nodes of which one would learn something of the other by gossip."""
        for pair in combinations(range(len(s.nodes)), 2):
            yield from (way for way in (pair, pair[::-1]) if s.to_pull(*way))

    @action(kind="gossip", each=pulls, travels=[Travel("data", "{source}", "{node}", "schema")])
    @purpose("Without Raft, nodes copy schema changes from each other.")
    def pull(self, s: Cluster, node: Node, source: Node) -> Next:
        """{node} copies the schema that {source} has."""
        schema = s.nodes[node].schema | s.to_pull(node, source)
        return s.at(node, schema=schema, by_group0=False)  # the version is a hash again

    def _asks_member(self, before: Cluster, act: Any, after: Cluster) -> Iterator[Travel]:
        """To a member that it reaches, and back; who creates the group has asked all."""
        number = self.number(act.node)
        group, linked = after.nodes[number].group, before.linked(number)
        there = before.where(lambda n: n.group == group) & linked
        peers = before.in_turn(number, there)[:1] or nodes_in(linked)
        for name in map(self.names.__getitem__, peers):
            answer = f"group {group}" if there else "no group"
            yield from declared.there_and_back(act.node, name, "discovery", answer)

    @action(
        kind="phase",
        each=lambda m, s: s.where(lambda n: n.is_upgrading(0)),
        says=lambda m, before, action, after: (
            "{node} creates group 0."
            if len(after.entries) > len(before.entries)
            else "{node} joins group 0."
        ),
        travels=_asks_member,
        logs=lambda m, before, action, after: (
            upgrade_line("Joining group 0", phase=1),
            ServerLine(
                "{node}", GROUP0, f"joined group 0 with group id {m.acting(after, action).group}"
            ),
            upgrade_line("waits until every peer has joined", own=True),
        ),
    )
    @purpose("All nodes must be in one group before the group manages the schema.")
    def join_group(self, s: Cluster, node: Node) -> Next:
        """A node joins the group of a node that it reaches, or creates one if there is none."""
        # Every peer is alive and ready to start (S-62).
        if unready := self.unready(s, node):
            return refused("not every node is alive and ready to start", self.named(unready))
        group = max((s.nodes[i].group for i in nodes_in(s.linked(node))), default=NO_GROUP)
        if group == NO_GROUP:
            s = s.but(entries=(*s.entries, 0))
            group = len(s.entries)
        return s.at(node, group=group, tries=0)

    def _asks_reached(self, before: Cluster, act: Any, after: Cluster) -> Iterator[Travel]:
        peers = before.linked(self.number(act.node))
        return self._asks(before, act, peers, "version?", lambda node: node.version)

    def _asks(
        self, s: Cluster, act: Any, peers: int, what: str, answer: Callable[[UpgradingNode], str]
    ) -> Iterator[Travel]:
        """All these peers are asked; those in reach answer."""
        number = self.number(act.node)
        in_turn = s.in_turn(number, peers)
        for i in in_turn:
            yield Travel("request", act.node, self.names[i], what, leg=0)
        for i in in_turn:
            if s.linked(number) >> i & 1:
                yield Travel("answer", self.names[i], act.node, answer(s.nodes[i]), leg=1)

    def _says_compared(self, before: Cluster, act: Any, after: Cluster) -> str:
        number = self.number(act.node)
        if differing := self.named(self.mismatched(before, number)):
            those = ", ".join(differing)
            return f"{{node}} carries on although its schema differs from that of {those}."
        waited = {act.node, *self.named(self.peers(before, number))}
        passed = [name for name in self.names if name not in waited]
        without = f" It does not wait for {', '.join(passed)}." if passed else ""
        return f"{{node}} has the schema version of its peers.{without}"

    def _logs_compared(self, before: Cluster, act: Any, after: Cluster) -> Iterator[ServerLine]:
        number = self.number(act.node)
        if before.nodes[number].state == rules.SYNCHRONIZE:
            yield upgrade_line("All peers in synchronize state", phase=4)
            yield upgrade_line(f"{SYNC}: collecting schema versions")
            yield upgrade_line(f"{SYNC}: collected remote schema versions")
        else:
            yield upgrade_line("every peer is a member of group 0", own=True)
            yield upgrade_line("waits for equal schema in group 0", phase=2, own=True)
        yield from self.logs_mismatches(before, number)
        yield upgrade_line(f"{SYNC}: finished")

    def logs_mismatches(self, s: Cluster, node: int) -> Iterator[ServerLine]:
        """The version of a node, and who has another one."""
        yield upgrade_line(f"{SYNC}: my version: {s.nodes[node].version}")
        those = ", ".join(map(address, s.in_turn(node, self.mismatched(s, node))))
        others = self.peers(s, node) & ~self.mismatched(s, node)
        same = f"{1 + others.bit_count()} nodes had a matching version."
        # A line is a template.
        yield upgrade_line(f"{SYNC}: schema mismatches: {{{{{those}}}}}. {same}")

    @action(
        kind="phase",
        each=lambda m, s: s.where(lambda n: n.is_upgrading(1, 3)),
        says=_says_compared,
        travels=_asks_reached,
        logs=_logs_compared,
    )
    @purpose("The group starts with one schema, so all nodes must have the same schema.")
    def compare(self, s: Cluster, node: Node) -> Next:
        """A node finds that its schema version is the same as that of its peers (S-52)."""
        # All peers have reached the same phase.
        if s.nodes[node].state == rules.SYNCHRONIZE:
            said, behind = "peers are not known to be in synchronize", self.unsynchronized(s, node)
        else:
            said, behind = "peers are not known to be in group 0", self.outside(s, node)
        if behind:
            return refused(said, self.named(behind))
        differing = self.schema_synchronization and self.mismatched(s, node)
        if differing:
            return refused("schema versions differ", self.named(differing))
        return s.at(node, compared=True, tries=0)

    @action(
        kind="phase",
        each=lambda m, s: s.where(lambda n: n.is_upgrading(2)),
        logs=lambda m, before, action, after: (
            upgrade_line("Entering synchronize state", phase=3),
            upgrade_line(
                "schema changes are off; if a failure stops the upgrade, it may take manual "
                "recovery",
                own=True,
            ),
            upgrade_line("waits until all peers are in synchronize", own=True),
        ),
    )
    @purpose("The schema must not change during the handover.")
    def synchronize(self, s: Cluster, node: Node) -> Next:
        """{node} enters synchronize: it refuses schema changes."""
        # The state is persisted before it counts.
        return s.at(node, row=rules.SYNCHRONIZE, state=rules.SYNCHRONIZE, compared=False, tries=0)

    @action(
        kind="phase",
        each=lambda m, s: s.where(lambda n: n.is_upgrading(4)),
        logs=lambda m, before, action, after: (
            upgrade_line("Schema synchronized", phase=5),
            upgrade_line("Raft upgrade finished"),
        ),
    )
    @purpose("One log now orders all schema changes.")
    def finish(self, s: Cluster, node: Node) -> Next:
        """{node} has finished: from now on, it changes its schema through group 0."""
        return s.at(node, row=rules.POST, state=rules.POST, compared=False)

    def catching_up(self, s: Cluster) -> int:
        """Who does not serve yet, and who reaches a majority that has more commands."""
        able = s.where(lambda n: n.is_up and n.state != rules.RECOVERY)
        behind = (i for i in nodes_in(able) if s.is_behind(s.nodes[i]) and s.has_majority(i))
        return able & s.where(lambda n: not n.serves) | mask_of(behind)

    def _newest_schema(self, before: Cluster, act: Any, after: Cluster) -> Iterator[Travel]:
        """From a member that has it; nothing where there is nothing newer."""
        number = self.number(act.node)
        if before.nodes[number].applied != after.nodes[number].applied:
            reached = before.in_turn(number, before.linked(number))
            newest = max(reached, key=lambda i: before.nodes[i].applied)
            yield Travel("data", self.names[newest], act.node, "newest schema")

    @action(
        each=catching_up,
        says=lambda m, before, action, after: (
            "{node} finds nothing newer on the nodes it reaches, and serves requests."
            if m.acting(before, action).applied == m.acting(after, action).applied
            else "{node} gets the newest schema from its group and serves requests."
        ),
        travels=_newest_schema,
    )
    @purpose("A node that was away lacks the changes that were made in the meantime.")
    def catch_up(self, s: Cluster, node: Node) -> Next:
        """A node gets its group's newest schema if it reaches a majority, or else keeps its own
        (Q-27).
        """
        at = s.nodes[node]
        if not s.has_majority(node) or not s.is_behind(at):
            return s.at(node, serves=True)
        members = (s.nodes[i] for i in nodes_in(s.company(node)))
        schema = at.schema | max(members, key=lambda n: n.applied).schema
        applied = s.entries[at.group - 1]
        return s.at(node, serves=True, schema=schema, applied=applied, by_group0=True)

    def retrying(self, s: Cluster) -> int:
        """The nodes that wait, and may still say so."""
        able = nodes_in(s.where(lambda n: n.tries < self.retries))
        return mask_of(i for i in able if self.awaited(s, i))

    def _asks_awaited(self, before: Cluster, act: Any, after: Cluster) -> Iterator[Travel]:
        peers = self.awaited(before, self.number(act.node))
        return self._asks(before, act, peers, "state?", lambda node: node.state)

    def _logs_retry(self, before: Cluster, act: Any, after: Cluster) -> Iterator[ServerLine]:
        """For whom it waits; from time to time that it takes long."""
        number = self.number(act.node)
        node, behind = after.nodes[number], self.unsynchronized(before, number)
        if node.position == 3 and behind:
            for i in before.in_turn(number, behind):
                yield upgrade_line(f"{PEERS}: node {address(i)} not in synchronize state yet")
            yield upgrade_line(f"{PEERS}: retrying in a while")
        elif node.position in (1, 3) and not self.outside(before, number):
            yield from self.logs_mismatches(before, number)
            yield upgrade_line("tries again in a while", own=True)
        else:
            awaited = before.in_turn(number, self.awaited(before, number))
            reached = "a member yet" if node.position else "ready yet"
            those = ", ".join(map(address, awaited))
            yield upgrade_line(f"not {reached}: {those}; tries again in a while", own=True)
        if node.tries % SLOW_AT == 0:
            yield upgrade_line(SLOW)
            yield from (upgrade_line(each, own=True) for each in ADVICE)

    @action(
        each=retrying,
        says=lambda m, before, action, after: (
            f"{{node}} checks again: {m.waits_for(before, m.number(action.node))}."
        ),
        travels=_asks_awaited,
        logs=_logs_retry,
    )
    @purpose("The upgrade needs every peer, so a node can only ask again.")
    def retry(self, s: Cluster, node: Node) -> Next:
        """A node that is waiting checks again and says which nodes it is waiting for."""
        return s.at(node, tries=s.nodes[node].tries + 1)

    # What clients do, and what goes wrong

    def _says_change(self, before: Cluster, act: Any, after: Cluster) -> str:
        was = self.acting(before, act)
        if was.state == rules.RECOVERY:
            return (
                "{node} changes its schema on its own: a tombstone for "
                "group0_schema_version and committed_by_group0 = false make its version a hash "
                "again."
            )
        if not was.has_finished:
            return "{node} changes its schema on its own; gossip spreads the change."
        apply = ", ".join(self.named(applying(before, after)))
        return f"Group 0 (id {was.group}) commits the schema change. It is applied by {apply}."

    @action(
        spends="changes",
        each=lambda m, s: s.up,
        says=_says_change,
        travels=lambda m, before, action, after: (
            Travel("entry", action.node, name, f"command {m.acting(after, action).applied}")
            for name in m.named(applying(before, after))
        ),
    )
    @purpose("Clients carry on while the cluster is upgraded.")
    def alter(self, s: Cluster, node: Node) -> Next:
        """With gossip, a node changes its own schema; with Raft, all reachable members apply a
        command.

        No node may do this in ``synchronize``; with Raft, it takes a majority.
        """
        at = s.nodes[node]
        if at.state == rules.SYNCHRONIZE:
            return SWITCHING
        made = s.made + 1
        if not at.has_finished:
            return s.but(made=made).at(node, schema=at.schema | 1 << made, by_group0=False)
        if not at.serves:
            return refused(f"{self.names[node]} is catching up")
        reached = s.company(node)
        if not is_majority(reached, s.members_of(at.group)):
            return refused(f"{self.names[node]} cannot reach a majority of group 0")
        count = s.entries[at.group - 1] + 1
        entries = (*s.entries[: at.group - 1], count, *s.entries[at.group :])
        nodes = tuple(
            n.but(applied=count, by_group0=True) if reached >> i & 1 else n
            for i, n in enumerate(s.nodes)
        )
        return s.but(nodes=nodes, entries=entries, made=made)

    @action(
        spends="turns", each=lambda m, s: s.where(lambda n: n.configured and n.status != "lost")
    )
    @purpose("An option takes effect the next time the node starts.")
    def turn_off(self, s: Cluster, node: Node) -> Next:
        """The option is now off in {node}'s configuration."""
        return s.at(node, configured=False)

    @action(
        fault=True,
        spends="edits",
        each=lambda m, s: (
            (i, value)
            for i in nodes_in(s.up)
            for value in (rules.RECOVERY, SLIP)
            if s.nodes[i].row != value
        ),
        says="group0_upgrade_state of {node} is now {value}; {node} keeps running as before.",
    )
    @purpose("A row written by hand takes effect the next time the node starts.")
    def update(self, s: Cluster, node: Node, value: Value) -> Next:
        """An operator writes the row ``group0_upgrade_state`` by hand."""
        return s.at(node, row=value)

    @action(fault=True, spends="crashes", each=lambda m, s: s.up, hand=declared.off_stage)
    @purpose("The upgrade waits for every node, including this one.")
    def crash(self, s: Cluster, node: Node) -> Next:
        """{node} goes down but keeps its disk."""
        return s.at(node, status="down", compared=False, serves=False, tries=0)

    @action(
        fault=True,
        spends="deaths",
        each=lambda m, s: s.left if s.left.bit_count() > 1 else 0,  # another one stays
    )
    @purpose("The upgrade waits for every node, but this one will never answer.")
    def die(self, s: Cluster, node: Node) -> Next:
        """{node} is lost for good."""
        return s.at(node, status="lost", compared=False, serves=False, tries=0)

    @action(
        fault=True,
        spends="cuts",
        each=lambda m, s: (p for p in combinations(range(len(s.nodes)), 2) if p not in s.cut),
        hand=lambda m, s, a: ((a.first,), (a.second,)),
    )
    @purpose("Nodes that cannot reach each other cannot agree.")
    def cut(self, s: Cluster, first: Node, second: Node) -> Next:
        """The network between {first} and {second} is cut."""
        return s.but(cut=tuple(sorted((*s.cut, (first, second)))))

    # What must hold

    @always("INV-ONEGROUP", title="One group 0, with all nodes in it once any has finished")
    def one_group(self, s: Cluster) -> str | None:
        """There is only one group, and no node outside it talks to a node that has finished."""
        if len(s.entries) > 1:
            return f"{len(s.entries)} groups were created"
        for first, second in s.beside_finished():
            group = s.nodes[second].group
            if s.nodes[first].group != group:
                where = f"group {group}" if group else "no group"
                return f"{self.names[second]} is in {where}, but {self.names[first]} has finished"
        return None

    @always("INV-SCHEMA")
    def one_schema(self, s: Cluster) -> str | None:
        """Once Raft manages the schema, all nodes have the same schema."""
        for first, second in s.beside_finished():
            if s.nodes[first].schema != s.nodes[second].schema:
                pair = self.names[first], self.names[second]
                return f"{pair[0]} has finished, but {pair[1]} has a different schema"
        return None

    @always("INV-RAFT")
    def one_base(self, s: Cluster) -> str | None:
        """The same commands produce the same schema."""
        for first, second in permutations(range(len(s.nodes)), 2):
            a, b = s.nodes[first], s.nodes[second]
            same = a.group == b.group and a.applied == b.applied > 0
            if same and a.has_finished and b.has_finished and a.schema != b.schema:
                both = f"{self.names[first]} and {self.names[second]}"
                return f"{both} applied the same commands to different schemas"
        return None

    @declared.step("INV-RAFT", on=(alter,))
    def majority(self, before: Cluster, act: Any, after: Cluster) -> str | None:
        """A majority of group 0 commits a schema change."""
        number = self.number(act.node)
        at = before.nodes[number]
        reached = before.company(number)
        if not at.has_finished or is_majority(reached, before.members_of(at.group)):
            return None
        return f"{act.node} changed the schema without reaching a majority of group 0"

    @declared.step(
        on=(synchronize, finish, restart), title="group0_upgrade_state follows its order"
    )
    def in_order(self, before: Cluster, act: Any, after: Cluster) -> str | None:
        """A node moves to the next state or into RECOVERY mode."""
        for name, was, now in zip(self.names, before.nodes, after.nodes, strict=True):
            if now.state in (was.state, rules.RECOVERY):
                continue
            if not rules.leads(rules.RAFT_EDGES, was.state, now.state):
                return f"{name} went from {was.state} to {now.state}"
        return None

    @declared.sometimes(when=lambda m: not m.schema_problem)
    def finished(self, s: Cluster) -> bool:
        """The upgrade ends."""
        return s.is_finished

    @declared.goal(
        "INV-PROGRESS", title="The upgrade ends, or manual recovery or support is needed"
    )
    @declared.sometimes(
        name="held", title="Unequal schemas hold up the upgrade", when=lambda m: m.schema_problem
    )
    def ends(self, s: Cluster) -> bool:
        """The upgrade ends, or needs manual recovery or support to end."""
        if s.is_finished or s.needs_recovery:
            return True
        return self.schema_problem and all(n.group and n.is_up for n in s.nodes)

    # What is said

    def acting(self, s: Cluster, act: Any) -> UpgradingNode:
        """The node of an action."""
        return s.nodes[self.number(act.node)]

    def suggest(self, s: Cluster) -> Any | None:
        """The operator goes from node to node; then the nodes go on by themselves."""
        enabled = list(self.actions(s))
        for name, node in zip(self.names, s.nodes, strict=True):
            for each in enabled:
                if isinstance(each, (Install, Configure, Restart)) and each.node == name:
                    free = isinstance(each, Restart) and node.is_up
                    if not free or node.needs_restart:
                        return each
        kinds = ("heal", "gossip", "phase", "catch up", "retry")
        return next((each for kind in kinds for each in enabled if self.kind(each) == kind), None)

    def milestone(self, before: Cluster, action: Any, after: Cluster) -> str | None:
        """The start, a phase that all nodes have behind them, the end."""
        if after.has_begun and not before.has_begun:
            return "the Raft upgrade starts"
        was, now = (min(n.position for n in s.nodes) for s in (before, after))
        return f"on all nodes: {PHASES[now - 1]}" if now > was else None

    def words(self, before: Cluster, action: Any, after: Cluster) -> dict[str, str]:
        """A warning where the operator begins with unequal schema."""
        versions = len({(n.schema, n.applied) for n in before.nodes if n.is_up})
        shows = (
            f". nodetool describecluster shows {versions} schema versions: get them to agree first"
        )
        return {"differ": "" if versions == 1 else shows}

    def readable(self, s: Cluster) -> dict[str, str]:
        """Every node, and the pairs without a connection."""
        cut = ", ".join(f"{self.names[i]}–{self.names[j]}" for i, j in s.cut)
        nodes = dict(zip(self.names, map(in_a_line, s.nodes), strict=True))
        return {**nodes, "no connection": cut or "–"}


def applying(before: Cluster, after: Cluster) -> int:
    """The nodes that apply a command in a step (a mask)."""
    pairs = enumerate(zip(before.nodes, after.nodes, strict=True))
    return mask_of(i for i, (was, now) in pairs if now.applied > was.applied)


def in_a_line(node: UpgradingNode) -> str:
    """The metadata that a node runs by, in a line."""
    if not node.is_up:
        return node.status
    group = f"group {node.group}" if node.group != NO_GROUP else "no group"
    option = "on" if node.enabled else "off"
    catching = "" if node.serves else ", catching up"
    return f"{node.state}, {group}, option {option}{catching}"


def upgrade_line(text: str, phase: int = 0, own: bool = False) -> ServerLine:
    """A line that the node of the action writes; ``phase`` is the one that it opens, from 1 on."""
    return ServerLine("{node}", UPGRADE, text, own, PHASES[phase - 1] if phase else "")


def address(number: int) -> str:
    """The address by which nodes name a peer."""
    return f"127.90.69.{number + 1}"


(
    Install, Configure, Restart, Heal, Pull, JoinGroup, Compare, Synchronize, Finish, CatchUp,
    Retry, Alter, TurnOff, Update, Crash, Die, Cut,
) = RaftUpgrade.acts  # fmt: skip
LOG = RaftUpgrade.server_log()

ROLLING = tuple(f"{word} {name}" for name in "ABC" for word in ("configure", "restart"))
JOINED = tuple(f"join-group {name}" for name in "ABC")
ENTRY = declared.entry(
    RaftUpgrade,
    scenarios=(
        Scenario("into-raft", (
"Three nodes turn to Raft. They get the option one by "
"one; the last restart starts the upgrade"
)),
        Scenario(
            "version-by-version",
            "A rolling upgrade turns Raft on. The newer version does so by itself",
            {"beginning": "older version"},
        ),
        Scenario(
            "new-cluster",
            (
"A new cluster uses Raft from the start. A majority is enough for a "
"schema change"
),
            {"beginning": "new cluster", "changes": 2, "crashes": 2},
            script=("alter A", "crash C", "alter A", "restart C", "catch-up C"),
        ),
        Scenario(
            "node-dies-halfway",
            (
"A node is lost halfway. It has not entered synchronize: the others wait "
"with schema changes off"
),
            {"deaths": 1, "changes": 1, "retries": 4},
            script=(*ROLLING, *JOINED, "compare A", "synchronize A", "compare B", "synchronize B",
                    "die C", *["retry B"] * 4),
        ),
        Scenario(
            "schema-never-agrees",
            (
"The schemas never agree. All nodes are up and a rolling restart is "
"done, but one definition still differs"
),
            {"schema_problem": True, "retries": 2, "restarts": 3},
            script=(*ROLLING, *JOINED, "retry A", "retry A",
                    *(f"restart {name}" for name in "ABC")),
        ),
    ),
    fuzzing=Fuzzing(
        {"nodes": 3, "beginning": "older version", "turns": 1, "restarts": 1, "edits": 1}
        | {"changes": 9, "crashes": 5, "deaths": 1, "cuts": 3, "retries": 1},
        {"alter": 0.02, "crash": 0.02, "cut": 0.01, "turn off": 0.01}
        | {"die": 0.001, "update": 0.001},
    ),
)  # fmt: skip
