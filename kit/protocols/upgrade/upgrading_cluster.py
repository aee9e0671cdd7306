"""A cluster on its way into Raft: what nodes run by, who reaches whom, which schema each has.

Every change adds a column. What gossip brought are cells of family ``gossip``, and the version is
the hash of them all; with group 0 it is the newest command that a node has applied. So nodes that
began with different cells show equal versions of different definitions: that is what S-52 prevents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kit.masks import is_majority, nodes_in
from kit.model.declared import State
from kit.protocols.gossip.rules import Mutations, SchemaChange, cells_of, merged, version_of
from kit.protocols.upgrade import rules

NO_GROUP = 0
"""No group 0; groups are numbered from 1 as they are created."""

PROBLEM = 1
"""The bit of the definition that no other node can take over."""

KEYSPACE, TABLE, TYPE = "ks", "t", "int"

Position = Literal[0, 1, 2, 3, 4, 5]
"""How many of the five phases are behind a node."""


class UpgradingNode(State, frozen=True, cache_hash=True):
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


class Cluster(State, frozen=True, cache_hash=True, kw_only=True):
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

    def with_feature(self) -> Cluster:
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
