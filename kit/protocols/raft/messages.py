"""What servers of a group say to one another. Sources: Raft paper, figures 2 and 13; Ongaro's
thesis, sections 3.10, 6.4 and 9.6; Scylla, Raft in Scylla.
"""

from typing import ClassVar, TypeAlias

from msgspec import Struct

from kit.protocols.raft.rules.log import Entry, Snapshot


class Append(Struct, frozen=True, tag="append", cache_hash=True):
    """Entries behind the one of ``before`` (its index) and ``before_term``; none: a heartbeat."""

    why: ClassVar = "The leader sends its entries; an empty append says that it still leads."
    term: int
    before: int
    before_term: int
    commit: int
    entries: tuple[Entry, ...] = ()


class Accepted(Struct, frozen=True, tag="accepted", cache_hash=True):
    """My log agrees with yours up to ``last``."""

    why: ClassVar = "The leader counts who stores an entry: with a majority it is committed."
    term: int
    commit: int
    last: int


class Rejected(Struct, frozen=True, tag="rejected", cache_hash=True):
    """I do not have the entry at ``mismatch``. The last one of mine up to there that you may have,
    too, is at ``last`` and of ``last_term``. All 0: who leads?
    """

    why: ClassVar = "The leader learns that its entries do not fit, or that its term is over."
    term: int
    commit: int
    mismatch: int
    last: int
    last_term: int = 0


class VoteRequest(Struct, frozen=True, tag="vote", cache_hash=True):
    """Vote for me in ``term``; my log ends with this entry.

    Of a ``trial`` (a pre-vote) nobody's term changes. ``forced``: the leader has asked for it.
    """

    why: ClassVar = "A majority of votes makes a leader; a pre-vote asks whether it would get one."
    term: int
    last: int
    last_term: int
    trial: bool = False
    forced: bool = False


class VoteReply(Struct, frozen=True, tag="voted", cache_hash=True):
    """Whether you have my vote."""

    why: ClassVar = "Each server has one vote per term, so no two win. A pre-vote is not binding."
    term: int
    granted: bool
    trial: bool = False


class Install(Struct, frozen=True, tag="snapshot", cache_hash=True):
    """Take this snapshot: I no longer have the entries that you lack."""

    why: ClassVar = "The entries missing here are gone from the log: a snapshot replaces them."
    term: int
    snapshot: Snapshot


class Installed(Struct, frozen=True, tag="installed", cache_hash=True):
    """Whether I have taken the snapshot."""

    why: ClassVar = "The leader stops waiting for it, and looks where the logs agree."
    term: int
    success: bool


class TimeoutNow(Struct, frozen=True, tag="lead", cache_hash=True):
    """Begin an election at once: I hand over to you."""

    why: ClassVar = "A leader that hands over names the next one: no timeout is needed."
    term: int


class ReadQuorum(Struct, frozen=True, tag="barrier", cache_hash=True):
    """Do you still follow me? Read barriers up to this number wait for that."""

    why: ClassVar = "Another server might lead by now: does a majority still follow?"
    term: int
    commit: int
    number: int


class ReadQuorumReply(Struct, frozen=True, tag="follows", cache_hash=True):
    """I follow you."""

    why: ClassVar = "If a majority still follows, no other leader has committed anything newer."
    term: int
    commit: int
    number: int


class Forward(Struct, frozen=True, tag="forward", cache_hash=True):
    """Take this command into the log for me."""

    why: ClassVar = "Only the leader appends to the log: the others send it their commands."
    request: str
    command: str


class ForwardReply(Struct, frozen=True, tag="taken", cache_hash=True):
    """Your command is at this index (0: I don't lead; ``leader`` does, as far as I know)."""

    why: ClassVar = "The server learns the index of the command, or that it has none."
    request: str
    term: int
    index: int
    leader: str = ""


class ReadRequest(Struct, frozen=True, tag="read", cache_hash=True):
    """How far must I have applied the log before I may read?"""

    why: ClassVar = "Only the leader knows how much of the log a reader must have applied."
    request: str


class ReadReply(Struct, frozen=True, tag="readable", cache_hash=True):
    """Up to this index; None: I cannot tell, for I don't lead or have just begun to."""

    why: ClassVar = "The client reads once the log is applied that far, or has to ask again."
    request: str
    index: int | None
    leader: str = ""


Message: TypeAlias = (
    Append | Accepted | Rejected | VoteRequest | VoteReply | Install | Installed | TimeoutNow
    | ReadQuorum | ReadQuorumReply | Forward | ForwardReply | ReadRequest | ReadReply
)  # fmt: skip
