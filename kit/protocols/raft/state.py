"""One server of a group: what it has stored, what it is now, and what an event makes of it.

Sources: Raft paper, figure 2; Scylla, Raft in Scylla.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from kit.protocols.raft.messages import Message
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress

Edition: TypeAlias = Literal["documents", "server"]
Wanted: TypeAlias = Literal["committed", "applied", "read"]
Outcome: TypeAlias = Literal["committed", "applied", "read", "dropped", "unknown", "refused"]


class RaftSafeguards(Struct, frozen=True, cache_hash=True):
    """The rules that can be switched off, each of which prevents a harm."""

    majority: bool = True
    stored_vote: bool = True
    newest_log: bool = True
    joint: bool = True
    own_term: bool = True
    one_change: bool = True
    own_entry_first: bool = True
    step_down: bool = True
    pre_vote: bool = True
    read_quorum: bool = True
    old_terms: bool = True
    own_leader: bool = True
    own_disk: bool = True


class Options(Struct, frozen=True, cache_hash=True):
    """How servers of a group behave.

    Edition ``documents``: leaders send heartbeats, and who hears one grants no vote. Edition
    ``server``: a failure detector outside says who is alive, the commit index is stored, and every
    change of members is a joint one. ``election`` and ``heartbeat`` are in ticks; without
    ``timers`` the caller says when a timeout has run out. ``in_flight`` bounds messages to a
    follower, ``batch`` entries of one (0: all). A snapshot keeps ``trailing`` entries before it.
    Where it ``writes_apart``, an event ends before its entries are on disk: ``core.written``.
    """

    edition: Edition = "server"
    election: int = 10
    heartbeat: int = 2
    timers: bool = True
    in_flight: int = 10
    batch: int = 0
    trailing: int = 0
    writes_apart: bool = False
    safeguards: RaftSafeguards = RaftSafeguards()

    @property
    def hears(self) -> bool:
        """Whether a server knows its leader to live by its messages (edition ``documents``)."""
        return self.edition == "documents"


class Stored(Struct, frozen=True, cache_hash=True):
    """The part that survives a crash: term, the vote in it (empty: none), log, commit index."""

    term: int = 0
    vote: str = ""
    log: Log = Log()
    commit: int = 0


class Follower(Struct, frozen=True, tag="follower", cache_hash=True):
    """Follows ``leader``; empty: nobody that it knows."""

    leader: str = ""


class Candidate(Struct, frozen=True, tag="candidate", cache_hash=True):
    """Asks for votes; ``trial``: whether it would get them (pre-vote)."""

    trial: bool
    granted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Read(Struct, frozen=True, cache_hash=True):
    """A read barrier that waits for a majority: its number, the index, who asked, with what."""

    number: int
    index: int
    source: str
    request: str


class Transfer(Struct, frozen=True, cache_hash=True):
    """Leadership is being handed over, to ``target`` (empty: whoever has all entries first)."""

    target: str = ""
    heir: str = ""  # who was told to lead
    left: int | None = None  # ticks until it is given up; None: never


class Leader(Struct, frozen=True, tag="leader", cache_hash=True):
    """Leads: how far each other member is, which reads wait, who has answered of late."""

    progress: tuple[Progress, ...] = ()
    reads: tuple[Read, ...] = ()
    barrier: int = 0  # the number of the last read barrier
    transfer: Transfer | None = None
    heard: tuple[str, ...] = ()
    ticks: int = 0  # they count up to a heartbeat


Role: TypeAlias = Follower | Candidate | Leader


class Waiting(Struct, frozen=True, cache_hash=True):
    """A client of this server waits until this entry is committed or applied, or may be read."""

    request: str
    until: Wanted
    term: int = 0
    index: int = 0  # 0: nobody has said yet which it is


class Server(Struct, frozen=True, cache_hash=True):
    """A server: what it has stored, its role, how far its state machine is, who waits for it."""

    id: str
    stored: Stored = Stored()
    role: Role = Follower()
    applied: int = 0
    elapsed: int = 0  # ticks of the timeout, without a sign of life
    timeout: int = 0
    waiting: tuple[Waiting, ...] = ()

    @property
    def term(self) -> int:
        """Its term."""
        return self.stored.term

    @property
    def log(self) -> Log:
        """Its log."""
        return self.stored.log

    @property
    def commit(self) -> int:
        """The index up to which it knows entries to be committed."""
        return self.stored.commit

    @property
    def configuration(self) -> Configuration:
        """The newest one in its log, committed or not: it holds once it is there."""
        return self.log.configuration

    @property
    def leader(self) -> str:
        """The leader as it knows it, be it itself; empty: nobody."""
        if isinstance(self.role, Follower):
            return self.role.leader
        return self.id if isinstance(self.role, Leader) else ""


class Answer(Struct, frozen=True, cache_hash=True):
    """The answer to a client's request.

    ``dropped``: another entry stands at its index, and it may try again. ``unknown``: nobody can
    tell. ``refused``: nothing was done; ``leader`` may help.
    """

    request: str
    outcome: Outcome
    index: int = 0
    leader: str = ""


class Sent(Struct, frozen=True, cache_hash=True):
    """A message and whom it is for."""

    target: str
    message: Message


class Written(Struct, frozen=True):
    """The data to be written before anything is sent; None, 0 or nothing: that stays as it was."""

    term_and_vote: tuple[int, str] | None = None
    snapshot: Snapshot | None = None
    cut: int = 0  # entries from here on go first
    entries: tuple[Entry, ...] = ()  # these are added then
    commit: int | None = None


class Output(Struct, frozen=True):
    """The outcome of an event: the new ``server``, and what it causes, in this order.

    ``written`` is stored, then ``messages`` are sent; the state machine loads a new ``snapshot``
    and applies ``committed`` entries; clients get ``answers``. ``aborted``: a transfer ended.
    """

    before: Server
    server: Server
    messages: tuple[Sent, ...]
    answers: tuple[Answer, ...]
    aborted: bool

    @property
    def written(self) -> Written:
        """The difference from what was stored before."""
        was, now = self.before.stored, self.server.stored
        votes = (now.term, now.vote) if (now.term, now.vote) != (was.term, was.vote) else None
        snapshot = now.log.snapshot if now.log.snapshot != was.log.snapshot else None
        commit = now.commit if now.commit != was.commit else None
        agreed = min(now.log.last_index, last := was.log.last_index)
        while (held := now.log.entry(agreed)) and was.log.entry(agreed) != held:
            agreed -= 1
        cut = agreed + 1 if agreed < last else 0
        return Written(votes, snapshot, cut, now.log.part(agreed + 1), commit)

    @property
    def snapshot(self) -> Snapshot | None:
        """What the state machine has to load: it lacks entries that the log no longer has."""
        held = self.server.log.snapshot
        return held if held.index > self.server.applied else None

    @property
    def committed(self) -> tuple[Entry, ...]:
        """The entries that the state machine has to apply then, in order."""
        log, commit = self.server.log, self.server.commit
        first = max(self.server.applied, log.snapshot.index) + 1
        return log.part(first, commit - first + 1) if commit >= first else ()
