"""One moment of a group of servers as rows: who is what, and which entry is where."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.engine.machines import MachineState
from kit.masks import majority
from kit.protocols.raft.raft import Raft, leading
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Data
from kit.protocols.raft.state import Candidate, Leader, Server
from kit.protocols.raft.words import configuration_text, data_text, server_text

FULL, OPEN = "■", "□"


class ServerRow(Struct, frozen=True):
    """A server: its role, term and vote, whom it takes for the leader, how long it has waited."""

    name: str
    role: str
    term: int
    vote: str
    leader: str
    wait: str
    last: int
    commit: int
    applied: int
    members: str


class Quorum(Struct, frozen=True):
    """A group of voters, and which of them have done something: ``■■□ 2 of 3``."""

    group: tuple[str, ...]
    done: tuple[str, ...]

    @property
    def needed(self) -> int:
        """How many of them are a majority."""
        return majority(len(self.group))

    @property
    def ticks(self) -> str:
        """A square for each voter, full for one that has done it."""
        squares = FULL * len(self.done) + OPEN * (len(self.group) - len(self.done))
        return f"{squares} {len(self.done)} of {len(self.group)}"


class EntryRow(Struct, frozen=True):
    """An index of the log: what each server has there, and who stores the entry of the leader.

    Without a leader the newest entry is counted. ``entry`` is the key of that entry, ``is_last``
    that no later index is known to be committed.
    """

    index: int
    entry: str
    cells: tuple[str, ...]
    quorums: tuple[Quorum, ...]
    committed: tuple[str, ...]
    is_last: bool


def held_text(data: Data) -> str:
    """What an entry holds: a command, the members, or nothing, by which a term begins."""
    return data_text(data) or "begins"


def role_of(server: Server) -> str:
    """Follower, leader, candidate; one that only asks whether it could win is a pre-candidate."""
    if isinstance(server.role, Candidate):
        return "pre-candidate" if server.role.trial else "candidate"
    return "leader" if isinstance(server.role, Leader) else "follower"


def servers(m: Raft, s: MachineState) -> tuple[ServerRow, ...]:
    """A row for each server."""
    return tuple(_server(m, n.server, down=bool(s.down >> i & 1)) for i, n in enumerate(s.nodes))


def _server(m: Raft, server: Server, *, down: bool) -> ServerRow:
    wait = f"{server.elapsed} of {server.timeout}" if m.clock else ""
    if isinstance(server.role, Leader) or down:
        wait = ""
    return ServerRow(
        server.id,
        "down" if down else role_of(server),
        server.term,
        server.stored.vote,
        server.leader,
        wait and f"{FULL * server.elapsed}{OPEN * (server.timeout - server.elapsed)} {wait}",
        server.log.last_index,
        server.commit,
        server.applied,
        configuration_text(server.configuration),
    )


def newest(s: MachineState, index: int) -> int:
    """The newest term of which some server has an entry at an index; 0: none has one."""
    return max(n.server.log.term(index) or 0 for n in s.nodes)


def first_leader(s: MachineState) -> Server | None:
    """The leader of the newest term; None, where nobody leads."""
    leaders = (server for server, _ in leading(s))
    return max(leaders, key=lambda each: each.term, default=None)


def in_force(s: MachineState) -> Configuration:
    """The members as the leader knows them; without a leader, as the longest log has them."""
    servers = [n.server for n in s.nodes]
    longest = max(servers, key=lambda each: (each.log.last_term, each.log.last_index))
    return (first_leader(s) or longest).configuration


def entries(m: Raft, s: MachineState) -> tuple[EntryRow, ...]:
    """A row for each index, from the first that some server has not in a snapshot."""
    logs = [n.server.log for n in s.nodes]
    held = [log for log in logs if log.last_index]
    first = min((log.first_index for log in held), default=1)
    last = max((log.last_index for log in logs), default=0)
    known = max(n.server.commit for n in s.nodes)
    disks = {name: m.on_disk(s, i).log for i, name in enumerate(m.names)}
    leader, groups = first_leader(s), in_force(s).groups

    def row(index: int) -> EntryRow:
        term = (leader and leader.log.term(index)) or newest(s, index)
        logs = ((name, log) for name, log in disks.items() if index <= log.last_index)
        has = {name for name, log in logs if log.matches(index, term)}
        return EntryRow(
            index,
            f"entry:{index}:{term}",
            tuple(_cell(n.server, index) for n in s.nodes),
            tuple(Quorum(group, tuple(n for n in group if n in has)) for group in groups),
            tuple(n.server.id for n in s.nodes if n.server.commit >= index),
            index == known,
        )

    return tuple(map(row, range(first, last + 1)))


def _cell(server: Server, index: int) -> str:
    if index <= server.log.snapshot.index and not server.log.entry(index):
        return "snapshot ✓"
    entry = server.log.entry(index)
    done = " ✓" if entry and server.commit >= index else ""
    return f"{entry.term}: {held_text(entry.data)}{done}" if entry else ""


def different(s: MachineState) -> Iterator[tuple[int, int]]:
    """Each entry that some log has, by index and term: two of one index exclude each other."""
    yield from sorted({(e.index, e.term) for n in s.nodes for e in n.server.log})


def log_line(row: EntryRow) -> str:
    """``index 2: 1: x ✓, 1: x, –; stored by ■■□ 2 of 3``."""
    cells = ", ".join(each or "–" for each in row.cells)
    stored = " and ".join(each.ticks for each in row.quorums)
    return f"index {row.index}: {cells}; stored by {stored}"


def _servers(m: Raft, s: MachineState, _: str) -> str:
    return "\n".join(f"{n.server.id}: {server_text(n.server)}" for n in s.nodes)


def _log(m: Raft, s: MachineState, _: str) -> str:
    return "\n".join(map(log_line, entries(m, s))) or "all logs are empty"


def _answers(m: Raft, s: MachineState, _: str) -> str:
    return "\n".join(f"{a.request}: {a.outcome}" for a in s.answers) or "nobody has an answer"


OUTPUT = {"servers": _servers, "log": _log, "answers": _answers}
