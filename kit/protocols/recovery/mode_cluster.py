"""A cluster in which RECOVERY mode is used: what nodes run by, who hears whom, which group commits.

Sources: Raft in Scylla, "Group 0 schema versioning" and "Discovery"; published code of the servers
that still had RECOVERY mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, count
from typing import Any, Literal

from kit.masks import is_majority, mask_of, nodes_in
from kit.model.declared import State
from kit.model.flows import as_uuid
from kit.protocols.recovery.lost_majority import NO_GROUP, OLD, LostState, listed_columns
from kit.protocols.topology.rules.machines import Edition

Value = Literal[
    "", "use_pre_raft_procedures", "synchronize", "use_post_raft_procedures", "recovery", "unknown"
]
"""``group0_upgrade_state`` in ``system.scylla_local``; empty: there is no row."""

Mode = Literal["down", "group 0", "upgrade", "synchronize", "recovery"]
"""What a node runs by since it started: a value that is written later waits for a restart."""

MODES: dict[Value, Mode] = {
    "": "upgrade",
    "use_pre_raft_procedures": "upgrade",
    "synchronize": "synchronize",
    "use_post_raft_procedures": "group 0",
    "recovery": "recovery",
    "unknown": "recovery",
}
"""The mode in which a node starts, by the value that it reads."""

Standing = Literal["live", "dead", "returned", "removed"]
"""Whether the operator counts on a node; *returned* ones were given up and are back."""

Command = tuple[int, int]
"""An entry of a group's log: the state id that it builds on (0: none), and its own."""
HASHED = 1 << 100
"""What tells a schema version that is a hash from one that group 0 wrote."""


class ModeNode(State, frozen=True, cache_hash=True, kw_only=True):
    """A node: what it runs by, and what it has persisted.

    ``group`` is the group 0 that its Raft server runs in, ``group_id`` the persisted value of
    ``raft_group0_id``. ``discovery`` are the peers in ``system.discovery`` (a mask), ``history`` is
    the newest state id in ``system.group0_history`` (0: the table is empty). ``columns`` are the
    entries that its schema holds (a mask). ``version`` names the change that last wrote
    ``group0_schema_version``: positive where group 0 wrote it, negative where a tombstone did.
    ``applied`` counts the entries of its group's log that it has gone through.
    """

    standing: Standing
    mode: Mode
    value: Value
    group: int
    group_id: int
    discovery: int
    history: int
    columns: int
    version: int
    applied: int

    @property
    def takes_part(self) -> bool:
        """Whether the operator counts on it."""
        return self.standing == "live"

    @property
    def is_up(self) -> bool:
        """Whether its server runs."""
        return self.mode != "down"

    @property
    def hashed(self) -> bool:
        """Whether its schema version is a hash: the entry has a tombstone."""
        return self.version <= 0

    @property
    def schema_version(self) -> tuple[bool, int]:
        """The schema version that it gossips: a hash of its mutations, or the entry's value."""
        return (True, self.columns) if self.hashed else (False, self.version)

    @property
    def version_id(self) -> str:
        """The same, as tools print it."""
        return as_uuid(self.columns + HASHED if self.hashed else self.version)

    @property
    def version_text(self) -> str:
        """A schema version and where it comes from: the columns' hash, or written by group 0."""
        columns = listed_columns(self.columns, "+") or "none"
        return f"hash of columns {columns}" if self.hashed else f"v{self.version} of group 0"

    @property
    def mode_text(self) -> str:
        """The mode that it runs in."""
        return {"recovery": "RECOVERY mode", "upgrade": "Raft upgrade"}.get(self.mode, self.mode)

    @property
    def waits_for_group(self) -> bool:
        """Whether the Raft upgrade has yet to bring it into a group."""
        return self.mode in ("upgrade", "synchronize") and self.group == NO_GROUP

    def applying(self, before: int, own: int) -> ModeNode:
        """A command takes effect where the newest state id is the one that it builds on."""
        if self.history != before:
            return self
        return self.but(history=own, columns=self.columns | 1 << own - 1, version=own)


class ModeState(LostState, frozen=True, cache_hash=True, kw_only=True):
    """Every node, every group, and what the operator has done and seen.

    ``groups`` are the members of each group (masks), ``voters`` those who vote (none are told where
    all members do), ``logs`` its entries; group 0 is the one that lost its majority. ``entries``
    counts all schema changes ever, ``answered`` are the columns of those that a group 0 answered
    since the disaster (a mask). What follows counts what may still happen.
    """

    nodes: tuple[ModeNode, ...] = ()
    groups: tuple[int, ...] = ()
    voters: tuple[int, ...] = ()
    logs: tuple[tuple[Command, ...], ...] = ()
    entries: int = 0
    answered: int = 0
    isolated: bool = False
    logs_read: bool = False
    compared: bool = False
    crashes: int
    deaths: int
    returns: int
    changes: int
    mistypes: int

    @property
    def answering(self) -> int:
        """The nodes that serve data (a mask), also those that are back although given up."""
        return self.where(lambda n: n.is_up)

    @property
    def can_change_schema(self) -> bool:
        """Whether a live node runs in a group 0 with a majority."""
        return any(
            self.nodes[i].mode == "group 0" and self.may_commit(i) for i in nodes_in(self.live)
        )

    # Who hears whom, which group can commit

    def hears(self, node: int, other: int) -> bool:
        """Whether two nodes reach each other: both are up, on one side of the firewall."""
        a, b = self.nodes[node], self.nodes[other]
        return a.is_up and b.is_up and self.is_walled_off(a) == self.is_walled_off(b)

    def heard(self, node: int, others: int) -> int:
        """Those of ``others`` (a mask) that a node reaches, itself among them if it is up."""
        return mask_of(i for i in nodes_in(others) if self.hears(node, i))

    def unheard(self, node: int, others: int) -> int:
        """Those of ``others`` that a node which is up does not reach; it reaches itself."""
        return others & ~self.heard(node, others)

    def running(self, node: int) -> int:
        """The members that run in a node's group and that it hears, itself among them."""
        group = self.nodes[node].group
        return self.heard(node, self.where(lambda n: n.group == group) & self.groups[group])

    def may_commit(self, node: int) -> bool:
        """Whether a node runs in a group and hears a majority of it."""
        group = self.nodes[node].group
        return group != NO_GROUP and is_majority(self.running(node), self.voters_of(group))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every two nodes that reach each other and are in the cluster."""
        return (pair for pair in combinations(nodes_in(self.peers), 2) if self.hears(*pair))

    def in_two_groups(self, edition: Edition) -> tuple[int, int] | None:
        """Two nodes that reach each other and run in different groups; so it is in each edition."""
        for first, second in self.pairs():
            if len({self.nodes[first].group, self.nodes[second].group} - {NO_GROUP}) > 1:
                return first, second
        return None

    @property
    def in_recovery_mode(self) -> bool:
        """Whether every live node runs in RECOVERY mode."""
        return all(n.mode == "recovery" for n in self.nodes if n.standing == "live")

    @property
    def is_half_recovered(self) -> bool:
        """Whether a live node is in RECOVERY mode, or will be, beside one that runs in a group.

        That comes of a mistyped value: the procedure has to be gone through by all nodes again.
        """
        live = [node for node in self.nodes if node.standing == "live"]
        recovers = any("recovery" in (MODES[node.value], node.mode) for node in live)
        return recovers and any(node.group != NO_GROUP for node in live)

    @property
    def is_whole(self) -> bool:
        """Whether all live nodes run in one group 0 without any dead, after the Raft upgrade."""
        nodes = [node for node in self.nodes if node.standing == "live"]
        if self.dead or len({node.group for node in nodes}) > 1:
            return False
        upgraded = all(n.mode == "group 0" and n.value == "use_post_raft_procedures" for n in nodes)
        return upgraded and self.may_commit(next(nodes_in(self.live)))

    @property
    def remover(self) -> int | None:
        """The live node that can remove others: in RECOVERY mode, or of a group with a majority."""
        nodes = [*nodes_in(self.live)]
        legacy = (i for i in nodes if self.nodes[i].mode == "recovery")
        by_group = (i for i in nodes if self.nodes[i].mode == "group 0" and self.may_commit(i))
        return next(legacy, next(by_group, None))

    # Discovery: how a node that upgrades finds its group

    def contacts(self, node: int) -> int:
        """All nodes that a node's discovery asks, itself apart: its peers, and whom they name.

        It begins with the peers of the cluster and those that ``system.discovery`` has kept, and
        goes on to all that they know.
        """
        reached, waiting = 0, [node]
        while waiting:
            named = self.nodes[waiting.pop()].discovery | self.peers
            for other in nodes_in(named & ~reached):
                reached |= 1 << other
                if self.hears(node, other) and self.nodes[other].waits_for_group:
                    waiting.append(other)
        return reached & ~(1 << node)

    def found_group(self, node: int) -> int:
        """The group of the first one that answers, a new one before the old; or ``NO_GROUP``.

        Who answers first no document says. Numbers of groups are no ages: they decide nothing.
        """
        answering = nodes_in(self.heard(node, self.contacts(node)))
        there = [self.nodes[i].group for i in answering if self.nodes[i].group != NO_GROUP]
        return next((group for group in there if group != OLD), OLD if there else NO_GROUP)

    # How a node comes by its group and its schema

    def started(self, node: int) -> ModeState:
        """A node reads its value; outside RECOVERY mode it runs in the group of its id."""
        was = self.nodes[node]
        mode = MODES[was.value]
        group = NO_GROUP if mode == "recovery" else was.group_id
        return self.at(node, mode=mode, group=group).caught_up(node)

    def caught_up(self, node: int) -> ModeState:
        """With a majority all members that run in a node's group go through its log.

        An entry that was committed is on one of them, whoever knows that it is committed.
        """
        if not self.may_commit(node):
            return self
        log, nodes = self.logs[self.nodes[node].group], [*self.nodes]
        for member in nodes_in(self.running(node)):
            for command in log[nodes[member].applied :]:
                nodes[member] = nodes[member].applying(*command)
            nodes[member] = nodes[member].but(applied=len(log))
        return self.but(nodes=tuple(nodes))

    def merged(self, node: int, source: int) -> ModeState:
        """Mutations of two schemas are merged; of ``group0_schema_version`` the newest stays."""
        mine, theirs = self.nodes[node], self.nodes[source]
        version = max(mine.version, theirs.version, key=abs)
        return self.at(node, columns=mine.columns | theirs.columns, version=version)

    def in_group(self, group: int, members: int, log: tuple[Command, ...]) -> ModeState:
        """The state in which a group, which may be a new one, has these members and this log."""
        groups = (*self.groups[:group], members, *self.groups[group + 1 :])
        return self.but(groups=groups, logs=(*self.logs[:group], log, *self.logs[group + 1 :]))

    @property
    def known_groups(self) -> set[int]:
        """The numbers that nodes know; the old group's is always taken."""
        return {OLD, *(n.group_id for n in self.nodes), *(n.group for n in self.nodes)}

    def created(self, node: int) -> ModeState:
        """A node founds a group, which takes the first number that no node knows."""
        group = next(number for number in count() if number not in self.known_groups)
        founded = self.in_group(group, 1 << node, ())
        return founded.at(node, group=group, group_id=group, applied=0)

    def forgetting(self) -> ModeState:
        """The state without what is known of groups that no node knows any more.

        Else an operator who begins again for ever would lead to ever new states.
        """
        known = self.known_groups
        if {*range(len(self.groups))} <= known:
            return self
        last = max(known) + 1

        def kept(each: tuple[Any, ...], nothing: Any = 0) -> tuple[Any, ...]:
            return tuple(value if i in known else nothing for i, value in enumerate(each[:last]))

        return self.but(
            groups=kept(self.groups), voters=kept(self.voters), logs=kept(self.logs, ())
        )

    def renumbered(self) -> tuple[ModeState, dict[int, int]]:
        """The state that stands for all that differ in the numbers of groups, and the new numbers.

        A group gets the first number that no node knows, so that the same thing may come by other
        numbers. The old group keeps its own; the others count from there in the order in which
        nodes know them.
        """
        known = dict.fromkeys((OLD, *(at for n in self.nodes for at in (n.group_id, n.group))))
        order = [group for group in known if group != NO_GROUP]
        numbers = {group: at for at, group in enumerate(order)}
        if order == list(range(len(self.groups))):
            return self, numbers
        to = {**numbers, NO_GROUP: NO_GROUP}
        nodes = (n.but(group=to[n.group], group_id=to[n.group_id]) for n in self.nodes)
        groups = tuple(self.groups[at] for at in order)
        logs = tuple(self.logs[at] for at in order)
        voters = tuple(self.voters[at] for at in order if self.voters)
        return self.but(nodes=tuple(nodes), groups=groups, voters=voters, logs=logs), numbers
