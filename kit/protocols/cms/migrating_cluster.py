"""From gossip to the metadata log: what a node believes, what a log holds, who may be passed over.

A change of metadata is a bit: what it says does not matter here, only who has it. A log begins with
an empty first epoch; the second one holds all that gossip had brought until then.
Sources: CEP-21, "Migration Plan"; published code, ``tcm/migration`` (``Election``,
``CMSInitializationRequest``), ``Startup``; release notes on the upgrade.
"""

from __future__ import annotations

from typing import Any, Literal

from kit.masks import chosen, is_majority, members, union
from kit.model.declared import State

Status = Literal["up", "down", "lost", "absent"]
Edition = Literal["documents", "server"]
EntryKind = Literal["change", "member"]

NO_LOG = 0
"""Gossip rules the metadata of the node; logs are numbered from 1 as they are begun."""
FIRST, INITIALIZED = 1, 2
"""The epoch that comes before all, and the one that takes over what gossip knew."""
FORGOTTEN: dict[str, Any] = {"ignored": 0, "answered": 0, "unlike": 0}
"""Of an initiator that remembers nothing of its migration."""


class MigratingNode(State, frozen=True, cache_hash=True):
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


class MetadataLog(State, frozen=True, cache_hash=True):
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
        return self._taken("change", self.base, epoch)

    def members_at(self, epoch: int) -> int:
        """The members of the CMS at an epoch (a mask): the founder, and who was added."""
        return self._taken("member", 1 << self.founder, epoch)

    def _taken(self, kind: EntryKind, mask: int, epoch: int) -> int:
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


class MigratingCluster(State, frozen=True, cache_hash=True, kw_only=True):
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
