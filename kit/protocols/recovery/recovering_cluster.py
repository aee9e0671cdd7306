"""A cluster that recovers: what nodes run by, which group can commit, who takes whose gossip.

Source: Topology over Raft, "Raft topology recovery".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Literal

from msgspec import Struct

from kit.masks import is_majority, nodes_in
from kit.model.declared import State
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD, LostState
from kit.protocols.topology.rules import work
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry, RequestEntry, Setting
from kit.protocols.topology.rules.machines import Edition

NodeStatus = Literal["up", "down", "dead", "returned", "removed"]
"""*dead* and *returned* nodes are given up; *removed* ones are out of the cluster."""
LEAVES = "decommissioning"
ENDS = {"none": "", "done": "left", "rolled back": "normal"}
"""No operation, or how it ended: what its node became."""


class HalfDone(Struct, frozen=True):
    """The next steps of the new coordinator on the operation that it found, by the tables.

    ``after`` is the state that the next edge leads to, or how it ends the operation; the state of
    now, while a barrier that is tried again waits for ``missing`` nodes (a mask). ``failed`` is the
    work that waits, or that fails and leads back. The barrier of the state, if it has one, goes to
    the ``addressed`` nodes (a mask).
    """

    after: str
    failed: str
    missing: int
    addressed: int


@lru_cache(maxsize=1 << 10)
def next_of_operation(
    state: str, subject: int, normal: int, dead: int, alive: int, edition: Edition
) -> HalfDone:
    """The next edge of a node's decommission that the majority's death left in a transition state.

    It is the coordinator's own machine: the ``subject`` leaves, the others of the ``normal`` nodes
    are there, ``dead`` nodes (masks) are in ``ignore_nodes``, and those that are not ``alive`` do
    not answer. Source: Topology over Raft, "Topology coordinator during recovery".
    """
    rows = tuple(
        NodeEntry(
            state=LEAVES if i == subject else "normal" if normal >> i & 1 else "left",
            request_id=int(i == subject),
        )
        for i in range(max(normal.bit_length(), subject + 1))
    )
    setting = Setting(edition)
    topology = ClusterTopology(
        nodes=rows,
        requests=(RequestEntry("leave", subject),),
        transition=state,
        ignored=dead,
        members=normal | 1 << subject,
    )
    operation = work.TopologyOperation(LEAVES, subject, state)
    pieces, at, addressed = work.state_of(operation, setting).work, 0, 0
    edge = work.machine_of(operation, setting).edge(state, "happy")
    failed, missing = "", 0
    while (at := work.still_to_do(topology, operation, setting, at)) < len(pieces):
        piece = pieces[at]
        needs = work.addressees(topology, operation, piece)
        addressed = needs if piece.barrier else addressed
        back = work.failure(operation, piece, setting)
        if needs & ~alive and (back or piece.on_failure == "retry"):
            edge, failed, missing = back, piece.name, needs & ~alive
            break
        at += 1
    ended = {became: how for how, became in ENDS.items()}
    after = state if edge is None else ended[edge.becomes] if edge.becomes else edge.target
    return HalfDone(after, failed, missing, addressed)


class GossipDigest(Struct, frozen=True):
    """The gossip of a node about itself in each message: its group, and its option.

    ``recovery_leader`` is the node that the option names (``NOBODY``: it is not set);
    ``walled_off`` whether a firewall lies between this node and those that recover.
    """

    group: int
    recovery_leader: int = NOBODY
    walled_off: bool = False


def reception(sender: GossipDigest, receiver: GossipDigest, edition: Edition) -> tuple[bool, str]:
    """Whether the receiver takes the message, and why.

    Other group ids are tolerated while either recovers. By the documents it does not matter which
    leader is named (Q-52); a server of edition ``server`` drops what names another one. Sources:
    Topology over Raft, "Gossip during recovery"; published code, ``gms/gossiper.cc``
    (``handle_syn_msg``).
    """
    options = {sender.recovery_leader, receiver.recovery_leader}
    if sender.walled_off != receiver.walled_off:
        return False, "a firewall is between them"
    if edition == "server" and NOBODY not in options and len(options) == 2:
        return False, "their recovery_leader options differ"
    if sender.group == receiver.group:
        return True, "their group ids are the same"
    if options != {NOBODY}:
        return True, "their group ids differ, but recovery_leader is set"
    return False, "their group ids differ"


class RecoveryNode(State, frozen=True, cache_hash=True):
    """A node: what it runs by, and what it has persisted.

    ``group`` is the group 0 that it runs in (``NO_GROUP`` while it is not up), ``group_id`` the
    persisted one, ``option`` the node that its ``recovery_leader`` names. ``columns`` are the
    entries that its schema holds, ``data`` those columns in which it stores data (masks).
    ``old_rows``: Raft's rows of a former group are there.
    """

    status: NodeStatus
    group: int
    group_id: int
    option: int = NOBODY
    columns: int = 0
    data: int = 0
    old_rows: bool = True

    @property
    def looks_for_group(self) -> bool:
        """Whether its next start does: its group id and discovery state are removed together."""
        return self.group_id == NO_GROUP

    @property
    def index(self) -> int:
        """Its commit index: how many entries it knows."""
        return self.columns.bit_count()

    @property
    def standing(self) -> NodeStatus:
        """Whether it is given up, and how."""
        return self.status

    @property
    def takes_part(self) -> bool:
        """Whether the operator counts on it."""
        return self.status in ("up", "down")


NEW_NODE = RecoveryNode("up", NO_GROUP, NO_GROUP, old_rows=False)
REMOVED_NODE = NEW_NODE.but(status="removed")


class RecoveryState(LostState, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and what the operator knows.

    ``groups`` are the members of each group (masks), ``voters`` those who vote (none are told where
    all members do). Groups up to ``abandoned`` are given up (``NO_GROUP``:
    none is). ``leader`` is the one chosen, ``indexes_read`` whether commit indexes were.
    ``operation`` is the transition state of the one that was under way, or how it ended.
    ``entries`` counts all entries ever; ``acknowledged`` gives each group the entries that it
    reported since the disaster (masks). What follows counts what may still happen.
    """

    nodes: tuple[RecoveryNode, ...] = ()
    groups: tuple[int, ...] = ()
    voters: tuple[int, ...] = ()
    acknowledged: tuple[int, ...] = (0,)
    entries: int = 0
    abandoned: int = OLD
    leader: int = NOBODY
    indexes_read: bool = False
    isolated: bool = False
    operation: str = "none"
    crashes: int
    deaths: int
    returns: int
    changes: int
    writes: int

    @property
    def serving(self) -> int:
        """The nodes that serve data and are counted on (a mask)."""
        return self.where(lambda n: n.status == "up")

    @property
    def answering(self) -> int:
        """The same, and those that are back although they were given up (a mask)."""
        return self.where(lambda n: n.status in ("up", "returned"))

    @property
    def can_change_schema(self) -> bool:
        """Whether a group that nodes which are counted on run in has a majority."""
        return any(
            self.may_commit(group) for group in {n.group for n in self.nodes if n.takes_part}
        )

    @property
    def is_under_way(self) -> bool:
        """Whether the operation that they died in has not ended."""
        return self.operation not in ENDS

    # Groups: who runs in which, which of them can commit

    def running(self, group: int, walled_off: bool = False) -> int:
        """The members of a group that run in it on one side of the firewall (a mask)."""
        there = self.where(lambda n: n.group == group and self.is_walled_off(n) == walled_off)
        return there & self.groups[group]

    def company(self, node: int) -> int:
        """The members that run in a node's group and that it can reach, itself among them."""
        return self.running(self.nodes[node].group, self.is_walled_off(self.nodes[node]))

    def may_commit(self, group: int, walled_off: bool = False) -> bool:
        """Whether a majority of a group's voters runs in it and can reach one another."""
        has_members = group != NO_GROUP
        return has_members and is_majority(self.running(group, walled_off), self.voters_of(group))

    @property
    def recoverable(self) -> int:
        """The newest group after those abandoned that still can get a majority; or ``NO_GROUP``."""
        for group in range(len(self.groups) - 1, self.abandoned, -1):
            if is_majority(self.live, self.voters_of(group)):
                return group
        return NO_GROUP

    @property
    def new_group(self) -> int:
        """The group that goes on: the old one until it is given up, then the leader's new one."""
        if self.abandoned == NO_GROUP:
            return OLD  # nothing is given up: it goes on
        leads = self.leader != NOBODY and self.nodes[self.leader].status == "up"
        group = self.nodes[self.leader].group if leads else NO_GROUP
        return group if group > self.abandoned else NO_GROUP

    def leftover(self, node: RecoveryNode) -> bool:
        """Whether a node has Raft rows of a group that is given up."""
        return node.old_rows and self.abandoned != NO_GROUP

    @property
    def needs_leader(self) -> bool:
        """Whether to choose one: at first, after its death, when the new group is lost, too."""
        if self.leader == NOBODY or not self.nodes[self.leader].takes_part:
            return True
        return len(self.groups) - 1 > self.abandoned and self.recoverable == NO_GROUP

    @property
    def is_together(self) -> bool:
        """Whether all nodes that are counted on run in one new group."""
        group = self.new_group
        return group != NO_GROUP and all(n.group == group for n in self.nodes if n.takes_part)

    @property
    def has_ids(self) -> bool:
        """Whether a node that is counted on has a group id."""
        return any(n.takes_part and n.group_id != NO_GROUP for n in self.nodes)

    # Gossip: who takes whose

    def digest_of(self, number: int) -> GossipDigest:
        """The gossip of a node that is up about itself."""
        node = self.nodes[number]
        return GossipDigest(node.group, node.option, self.is_walled_off(node))

    def up_in_pairs(self) -> Iterator[tuple[int, int]]:
        """Every two nodes that are up."""
        up = (i for i, node in enumerate(self.nodes) if node.group != NO_GROUP)
        return combinations(up, 2)

    def talking(self, edition: Edition) -> Iterator[tuple[int, int]]:
        """Every pair of nodes that are up and take each other's gossip."""
        for first, second in self.up_in_pairs():
            if reception(self.digest_of(first), self.digest_of(second), edition)[0]:
                yield first, second

    def as_one_cluster(self, edition: Edition) -> Iterator[tuple[int, int]]:
        """The same without those that are cut off: they are no part of this cluster any more."""
        pairs = self.talking(edition)
        return (pair for pair in pairs if not self.is_walled_off(self.nodes[pair[0]]))

    def hears(self, node: int, edition: Edition) -> bool:
        """Whether another node, which is counted on, and this one take each other's gossip."""
        others = ({*pair} - {node} for pair in self.talking(edition) if node in pair)
        return any(self.nodes[other].takes_part for [other] in others)

    def in_two_groups(self, edition: Edition) -> tuple[int, int] | None:
        """Two nodes that talk to each other in different groups outside a recovery's restarts.

        Tolerated are nodes that take part, of which one still runs in a group that was abandoned.
        """
        for first, second in self.as_one_cluster(edition):
            a, b = self.nodes[first], self.nodes[second]
            restarts = a.takes_part and b.takes_part and min(a.group, b.group) <= self.abandoned
            if a.group != b.group and not restarts:
                return first, second
        return None

    # How a node comes by its group and its schema

    def latest(self, nodes: int) -> int:
        """The newest schema among nodes (a mask)."""
        return max((self.nodes[i].columns for i in nodes_in(nodes)), key=int.bit_count)

    def having(self, nodes: int, columns: int) -> RecoveryState:
        """The state in which these nodes (a mask) have a schema."""
        there = enumerate(self.nodes)
        changed = (n.but(columns=columns) if nodes >> i & 1 else n for i, n in there)
        return self.but(nodes=tuple(changed))

    def synchronized(self, node: int) -> RecoveryState:
        """With a majority all members that run in the node's group have its newest schema."""
        at = self.nodes[node]
        if not self.may_commit(at.group, self.is_walled_off(at)):
            return self
        company = self.company(node)
        return self.having(company, self.latest(company))

    def to_join(self, node: int) -> int:
        """The group that a node without an id joins; ``NO_GROUP`` if it creates one.

        The recovery leader creates one. Others join the group of the node that their option names,
        or, without the option, one that discovery finds.
        """
        option = self.nodes[node].option
        if option == node:
            return NO_GROUP
        able = [n for n in self.nodes if n.takes_part]
        known = able if option == NOBODY else [self.nodes[option]]
        return max((n.group for n in known if n.group > self.abandoned), default=NO_GROUP)

    def created(self, node: int) -> RecoveryState:
        """A node founds a group of its own; what it has persisted is the group's first state."""
        group = len(self.groups)
        more = self.but(groups=(*self.groups, 1 << node), acknowledged=(*self.acknowledged, 0))
        return more.at(node, group=group, group_id=group)

    def joined(self, node: int, group: int) -> RecoveryState:
        """A node joins a group: its state reaches the node as a snapshot, whatever it had."""
        columns = self.latest(self.running(group))
        members = self.groups[group] | 1 << node
        groups = (*self.groups[:group], members, *self.groups[group + 1 :])
        return self.but(groups=groups).at(node, group=group, group_id=group, columns=columns)

    def with_node(self, node: int, fresh: RecoveryNode) -> RecoveryState:
        """Another one in the place of a node, which leaves every group that goes on."""
        stays = ~(1 << node)
        groups = (
            mask & stays if i > self.abandoned else mask for i, mask in enumerate(self.groups)
        )
        return self.put(node, fresh).but(groups=tuple(groups))
