"""What servers of a group say to one another. Sources: Raft paper, figures 2 and 13; Ongaro's
thesis, sections 3.10, 6.4 and 9.6; Scylla, Raft in Scylla.
"""

from typing import ClassVar, TypeAlias

from msgspec import Struct

from kit.protocols.raft.rules.log import Entry, Snapshot


class OfTerm(Struct, frozen=True, cache_hash=True):
    """A message that counts in the sender's term alone."""

    term: int


class WithCommit(OfTerm, frozen=True, cache_hash=True):
    """One that tells up to which index its sender knows entries to be committed."""

    commit: int


class Append(OfTerm, frozen=True, tag="append", cache_hash=True):
    """Entries behind the one of ``before`` (its index) and ``before_term``; none: a heartbeat."""

    why: ClassVar = "The leader sends its entries; an empty append says that it still leads."
    before: int
    before_term: int
    commit: int
    entries: tuple[Entry, ...] = ()


class Accepted(WithCommit, frozen=True, tag="accepted", cache_hash=True):
    """My log agrees with yours up to ``last``."""

    why: ClassVar = "The leader counts who stores an entry: with a majority it is committed."
    last: int


class Rejected(WithCommit, frozen=True, tag="rejected", cache_hash=True):
    """I lack the entry at ``mismatch``; we may share mine up to ``last``. All 0: who leads?"""

    why: ClassVar = "The leader learns that its entries do not fit, or that its term is over."
    mismatch: int
    last: int
    last_term: int = 0


class VoteRequest(OfTerm, frozen=True, tag="vote", cache_hash=True):
    """Vote for me in ``term``; my log ends with this entry."""

    why: ClassVar = "A majority of votes makes a leader. A pre-vote asks whether it would get one."
    last: int
    last_term: int
    trial: bool = False  # a pre-vote, of which nobody's term changes
    forced: bool = False  # the leader has asked for it


class VoteReply(OfTerm, frozen=True, tag="voted", cache_hash=True):
    """Whether you have my vote."""

    why: ClassVar = "Each server has one vote per term, so no two win. A pre-vote is not binding."
    granted: bool
    trial: bool = False


class Install(OfTerm, frozen=True, tag="snapshot", cache_hash=True):
    """Take this snapshot: I no longer have the entries that you lack."""

    why: ClassVar = "The entries missing here are gone from the log: a snapshot replaces them."
    snapshot: Snapshot


class Installed(OfTerm, frozen=True, tag="installed", cache_hash=True):
    """Whether I have taken the snapshot."""

    why: ClassVar = "The leader stops waiting for it, and looks where the logs agree."
    success: bool


class TimeoutNow(OfTerm, frozen=True, tag="lead", cache_hash=True):
    """Begin an election at once: I hand over to you."""

    why: ClassVar = "A leader that hands over names the next one: no timeout is needed."


class ReadQuorum(WithCommit, frozen=True, tag="barrier", cache_hash=True):
    """Do you still follow me? Read barriers up to this number wait for that."""

    why: ClassVar = "Another server might lead by now: does a majority still follow?"
    number: int


class ReadQuorumReply(WithCommit, frozen=True, tag="follows", cache_hash=True):
    """I follow you."""

    why: ClassVar = "If a majority still follows, no other leader has committed anything newer."
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
