"""What servers of a group say to one another. Sources: Raft paper, figures 2 and 13; Ongaro's
thesis, sections 3.10, 6.4 and 9.6; Scylla, Raft in Scylla.
"""

from typing import TypeAlias

from msgspec import Struct

from kit.protocols.raft.rules.log import Entry, Snapshot


class Append(Struct, frozen=True, tag="append", cache_hash=True):
    """Entries behind the one of ``before`` (its index) and ``before_term``; none: a heartbeat."""

    term: int
    before: int
    before_term: int
    commit: int
    entries: tuple[Entry, ...] = ()


class Accepted(Struct, frozen=True, tag="accepted", cache_hash=True):
    """My log agrees with yours up to ``last``."""

    term: int
    commit: int
    last: int


class Rejected(Struct, frozen=True, tag="rejected", cache_hash=True):
    """I do not have the entry at ``mismatch``; my log ends at ``last``. Both 0: who leads?"""

    term: int
    commit: int
    mismatch: int
    last: int


class VoteRequest(Struct, frozen=True, tag="vote", cache_hash=True):
    """Vote for me in ``term``; my log ends with this entry.

    Of a ``trial`` (a pre-vote) nobody's term changes. ``forced``: the leader has asked for it.
    """

    term: int
    last: int
    last_term: int
    trial: bool = False
    forced: bool = False


class VoteReply(Struct, frozen=True, tag="voted", cache_hash=True):
    """Whether you have my vote."""

    term: int
    granted: bool
    trial: bool = False


class Install(Struct, frozen=True, tag="snapshot", cache_hash=True):
    """Take this snapshot: I no longer have the entries that you lack."""

    term: int
    snapshot: Snapshot


class Installed(Struct, frozen=True, tag="installed", cache_hash=True):
    """Whether I have taken the snapshot."""

    term: int
    success: bool


class TimeoutNow(Struct, frozen=True, tag="lead", cache_hash=True):
    """Begin an election at once: I hand over to you."""

    term: int


class ReadQuorum(Struct, frozen=True, tag="barrier", cache_hash=True):
    """Do you still follow me? Read barriers up to this number wait for that."""

    term: int
    commit: int
    number: int


class ReadQuorumReply(Struct, frozen=True, tag="follows", cache_hash=True):
    """I follow you."""

    term: int
    commit: int
    number: int


class Forward(Struct, frozen=True, tag="forward", cache_hash=True):
    """Take this command into the log for me."""

    request: str
    command: str


class ForwardReply(Struct, frozen=True, tag="taken", cache_hash=True):
    """Your command is at this index (0: I don't lead; ``leader`` does, as far as I know)."""

    request: str
    term: int
    index: int
    leader: str = ""


class ReadRequest(Struct, frozen=True, tag="read", cache_hash=True):
    """How far must I have applied the log before I may read?"""

    request: str


class ReadReply(Struct, frozen=True, tag="readable", cache_hash=True):
    """Up to this index; None: I cannot tell, for I don't lead or have just begun to."""

    request: str
    index: int | None
    leader: str = ""


Message: TypeAlias = (
    Append | Accepted | Rejected | VoteRequest | VoteReply | Install | Installed | TimeoutNow
    | ReadQuorum | ReadQuorumReply | Forward | ForwardReply | ReadRequest | ReadReply
)  # fmt: skip
