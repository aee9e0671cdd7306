"""One moment of a group of servers as rows: who is what, and which entry is where."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kit.model.machines import MachineState
from kit.protocols.raft.raft import Raft
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Data
from kit.protocols.raft.state import Leader, Server
from kit.protocols.raft.words import configuration_text, data_text, role_of

FULL, OPEN = "■", "□"
RESTFUL = ("leader", "down")
"""Who waits for nobody."""


class ServerRow(Struct, frozen=True):
    """A server: its role, term and vote, whom it takes for the leader, how long it has waited."""

    name: str
    role: str
    term: int
    vote: str
    leader: str
    wait: str
    members: str
    server: Server


class EntryRow(Struct, frozen=True):
    """An index of the log: what each server has there, and who stores the entry of the leader.

    That is counted in each group of voters: ``■■□ 2 of 3``. Without a leader the newest entry is.
    ``entry`` is the key of that entry, ``is_last`` that no later index is known to be committed.
    """

    index: int
    entry: str
    cells: tuple[str, ...]
    quorums: tuple[str, ...]
    is_last: bool


def _counted(done: int, of: int) -> str:
    return f"{FULL * done}{OPEN * (of - done)} {done} of {of}"


def held_text(data: Data) -> str:
    """The content of an entry: a command, the members, or nothing, by which a term begins."""
    return data_text(data) or "begins"


def servers(m: Raft, s: MachineState) -> tuple[ServerRow, ...]:
    """A row for each server."""
    return tuple(_server(m, n.server, down=bool(s.down >> i & 1)) for i, n in enumerate(s.nodes))


def _server(m: Raft, server: Server, *, down: bool) -> ServerRow:
    role = "down" if down else role_of(server)
    wait = _counted(server.elapsed, server.timeout) * (m.clock and role not in RESTFUL)
    vote, members = server.stored.vote, configuration_text(server.configuration)
    return ServerRow(server.id, role, server.term, vote, server.leader, wait, members, server)


def first_leader(servers: Iterable[Server]) -> Server | None:
    """The leader of the newest term among servers of one group; None, where nobody leads."""
    leaders = (each for each in servers if isinstance(each.role, Leader))
    return max(leaders, key=lambda each: each.term, default=None)


def longest(servers: Sequence[Server]) -> Server:
    """The server with the longest log of the newest term."""
    return max(servers, key=lambda each: (each.log.last_term, each.log.last_index))


def members_of(servers: Sequence[Server]) -> Configuration:
    """The members as the leader knows them; without a leader, as the longest log has them."""
    return (first_leader(servers) or longest(servers)).configuration


def in_force(s: MachineState) -> Configuration:
    """The members of the one group of a state."""
    return members_of([n.server for n in s.nodes])


def entries(m: Raft, s: MachineState) -> tuple[EntryRow, ...]:
    """A row for each index, from the first that some server has not in a snapshot."""
    logs = [n.server.log for n in s.nodes]
    held = [log for log in logs if log.last_index]
    first = min((log.first_index for log in held), default=1)
    last = max(log.last_index for log in logs)
    known = max(n.server.commit for n in s.nodes)
    disks = {name: m.on_disk(s, i).log for i, name in enumerate(m.names)}
    leader, groups = first_leader(n.server for n in s.nodes), in_force(s).groups

    def row(index: int) -> EntryRow:
        terms = (log.term(index) or 0 for log in logs)
        term = (leader and leader.log.term(index)) or max(terms)
        has = {name for name, log in disks.items() if log.matches(index, term)}
        return EntryRow(
            index,
            f"entry:{index}:{term}",
            tuple(cell(n.server, index) for n in s.nodes),
            tuple(_counted(sum(n in has for n in group), len(group)) for group in groups),
            index == known,
        )

    return tuple(map(row, range(first, last + 1)))


def cell(server: Server, index: int) -> str:
    """The entry of a server at an index: ``1: x ✓``."""
    if index <= server.log.snapshot.index and not server.log.entry(index):
        return "snapshot ✓"
    entry = server.log.entry(index)
    done = " ✓" if server.commit >= index else ""
    return f"{entry.term}: {held_text(entry.data)}{done}" if entry else ""


def log_line(row: EntryRow) -> str:
    """``index 2: 1: x ✓, 1: x, –; stored by ■■□ 2 of 3``."""
    cells = ", ".join(each or "–" for each in row.cells)
    stored = " and ".join(row.quorums)
    return f"index {row.index}: {cells}; stored by {stored}"


OUTPUT = {
    "servers": lambda m, s, _: "\n".join(
        f"{name}: {text}" for name, text in m.readable(s).items() if name in m.names
    ),
    "log": lambda m, s, _: "\n".join(map(log_line, entries(m, s))) or "all logs are empty",
    "answers": lambda m, s, _: (
        "\n".join(f"{a.request}: {a.outcome}" for a in s.answers) or "no client has an answer yet"
    ),
}
