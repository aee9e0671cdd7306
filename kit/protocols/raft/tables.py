"""The node-local tables in which a node keeps its groups: three of them, by group id.

Columns are those of the server. ``address`` is the documents': they keep where a member is reached
beside its id, in any format. Source: Scylla, Raft in Scylla, "Raft application in Scylla".
"""

from typing import TypeAlias

from msgspec import Struct

from kit.protocols.raft.rules.configuration import Configuration, Member
from kit.protocols.raft.rules.log import Data, Entry, Log, Snapshot
from kit.protocols.raft.state import Stored, Written

Group: TypeAlias = str
"""The id of a group: a UUID as text."""
DISPOSITIONS = ("CURRENT", "PREVIOUS")


class RaftRow(Struct, frozen=True):
    """A row of ``raft``: an entry; the last four are static, one for each group."""

    group_id: Group
    index: int | None
    term: int | None
    data: Data
    vote_term: int
    vote: str
    snapshot_id: str
    commit_idx: int


class SnapshotRow(Struct, frozen=True):
    """A row of ``raft_snapshots``: the descriptor of the newest snapshot of a group."""

    group_id: Group
    snapshot_id: str
    idx: int
    term: int


class ConfigurationRow(Struct, frozen=True):
    """A row of ``raft_snapshot_config``: a member at the time of the snapshot."""

    group_id: Group
    disposition: str
    server_id: str
    can_vote: bool
    address: str


class RaftTables:
    """The three tables of a node: a ``Persistence`` for any number of groups.

    What a snapshot holds is the state machine's; ``states`` finds it by ``snapshot_id``.
    """

    def __init__(self) -> None:
        self.static: dict[Group, tuple[int, str, str, int]] = {}
        self.entries: dict[Group, dict[int, Entry]] = {}
        self.raft_snapshots: dict[Group, SnapshotRow] = {}
        self.raft_snapshot_config: dict[Group, tuple[ConfigurationRow, ...]] = {}
        self.states: dict[str, str] = {}

    def store(self, group: Group, written: Written, stored: Stored) -> None:
        """Change the rows that differ."""
        rows, snapshot = self.entries.setdefault(group, {}), stored.log.snapshot
        if written.cut:
            for index in [each for each in rows if each >= written.cut]:
                del rows[index]
        rows |= {entry.index: entry for entry in written.entries}
        if written.snapshot:
            for index in [each for each in rows if each < stored.log.first_index]:
                del rows[index]
            self.raft_snapshots[group] = snapshot_row(group, snapshot)
            self.raft_snapshot_config[group] = configuration_rows(group, snapshot.configuration)
            self.states[self.raft_snapshots[group].snapshot_id] = snapshot.state
        named = self.raft_snapshots[group].snapshot_id
        self.static[group] = (stored.term, stored.vote, named, stored.commit)

    def load(self, group: Group) -> Stored | None:
        """The stored data in the rows of a group."""
        if group not in self.static:
            return None
        term, vote, named, commit = self.static[group]
        head = self.raft_snapshots[group]
        members: dict[str, list[Member]] = {each: [] for each in DISPOSITIONS}
        for row in self.raft_snapshot_config[group]:
            members[row.disposition].append(Member(row.server_id, row.address, row.can_vote))
        configuration = Configuration(*map(tuple, members.values()))
        log = Log(Snapshot(head.idx, head.term, configuration, self.states[named]))
        for entry in self.entries[group].values():  # what is stored later is behind it
            log = log.appended(entry)
        return Stored(term, vote, log, commit)


def snapshot_id(group: Group, snapshot: Snapshot) -> str:
    """The id of a snapshot, with its term and index at the end; real servers draw one."""
    return f"{group[:24]}{snapshot.term:04x}{snapshot.index:08x}"


def configuration_rows(group: Group, held: Configuration) -> tuple[ConfigurationRow, ...]:
    """The members of a configuration: those that it has, and in a joint one those that it had."""
    return tuple(
        ConfigurationRow(group, disposition, member.id, member.can_vote, member.address)
        for disposition, members in zip(DISPOSITIONS, (held.current, held.previous), strict=True)
        for member in members
    )


def raft_rows(group: Group, stored: Stored) -> tuple[RaftRow, ...]:
    """The rows of ``raft``; one without an index where the log has no entries."""
    named = snapshot_id(group, stored.log.snapshot)
    static = stored.term, stored.vote, named, stored.commit
    rows = (RaftRow(group, e.index, e.term, e.data, *static) for e in stored.log)
    return tuple(rows) or (RaftRow(group, None, None, None, *static),)


def snapshot_row(group: Group, snapshot: Snapshot) -> SnapshotRow:
    """The row of ``raft_snapshots``."""
    return SnapshotRow(group, snapshot_id(group, snapshot), snapshot.index, snapshot.term)


def rows_of(table: str, group: Group, stored: Stored) -> tuple[Struct, ...]:
    """The rows of a table by its name; of ``members`` those of the configuration that counts."""
    if table == "raft":
        return raft_rows(group, stored)
    if table == "raft_snapshots":
        return (snapshot_row(group, stored.log.snapshot),)
    log = stored.log
    held = log.configuration if table == "members" else log.snapshot.configuration
    return configuration_rows(group, held)
