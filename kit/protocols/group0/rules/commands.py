"""The commands of group 0: the state ids that they name, which count, how far a node has gone.

A state id is a TIMEUUID in the real system: greater than the one before it, and no other node's.
Here it is a small whole number with the same two properties, so that searches meet equal states.

Whoever changes group 0 holds a guard from reading the state until the outcome is known, in eight
steps. A command that was built on another state than the newest one does nothing: two commands
built on one state never both take effect, and the same command never takes effect twice. Every node
finds that out for itself, and keeps in ``group0_history`` which commands took effect.
Sources: "Using Group 0 to perform schema changes"; "Raft application in Scylla", table ``raft``;
published code, ``service/raft``: group 0 client, ``db/system_keyspace`` (commit index).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

FIRST_STATE = 0
"""The state id of a group that has applied nothing."""


class Command(Struct, frozen=True, cache_hash=True):
    """One entry of group 0's log.

    ``change`` is what it does to the tables, an immutable value that its state machine knows.
    ``previous`` is the state id that it was built on (None: on whatever there is, it always
    applies), ``new`` the id of the state that it leads to. ``creator`` is the node that made it,
    ``description`` what the history says of it. History rows below ``forgets`` go when it is
    applied: they are older than the history is kept.
    """

    change: Any
    previous: int | None
    new: int
    creator: str
    description: str = ""
    forgets: int = FIRST_STATE


def next_state_id(newest: int, given: int, place: int, places: int) -> int:
    """The smallest id above ``newest`` and ``given`` that only this node can give.

    ``newest`` is the newest id of the node's history, ``given`` the greatest one that it gave
    itself. ``place`` is its number among ``places`` nodes, from 0; each has its own residue class.
    """
    least = max(newest, given) + 1
    return least + (place + 1 - least) % places


class Group0Safeguards(Struct, frozen=True, kw_only=True):
    """The switches that rules of commands ask for; each has the name of its safeguard."""

    state_id_check: bool = True
    """Off, a node applies a command whatever state it was built on."""
    commit_with_guard: bool = True
    """Off, a command does not say what state it was built on."""
    same_id_on_retry: bool = True
    """Off, a command that is submitted once more gets a state id of its own."""


class Indexes(Struct, frozen=True, cache_hash=True):
    """How far one node is in the log: what it stores, what it knows to be committed, what it
    applied.

    Each is at most the one before it; all survive a crash. They count entries, so index 2 means the
    first two.
    """

    stored: int = 0
    commit: int = 0
    applied: int = 0

    def storing(self, index: int) -> Indexes:
        """The node stores the log up to ``index``."""
        return Indexes(max(self.stored, index), self.commit, self.applied)

    def knowing(self, index: int) -> Indexes:
        """The node stores the log up to ``index``, and knows that it is committed."""
        return Indexes(max(self.stored, index), max(self.commit, index), self.applied)

    def applying(self) -> Indexes:
        """The node has applied one more command; there is one to apply."""
        return Indexes(self.stored, self.commit, self.applied + 1)


def snapshot_index(entries: int, applied: int, kept: int) -> int:
    """Up to where a leader has dropped the log of ``entries`` and has its own state in their place.

    It keeps the last ``kept`` entries (0: all), and drops none that it has not ``applied``.
    """
    return max(0, min(entries - kept, applied)) if kept else 0


STEPS = (
    "take the local lock",
    "read barrier",
    "read the newest state id",
    "make a greater one",
    "validate",
    "submit",
    "wait until it is applied here",
    "look up the outcome",
)
"""What a node does for one change, in order."""


def command_of(
    change: Any,
    observed: int,
    new: int,
    creator: str,
    safeguards: Group0Safeguards,
    forgets: int = 0,
) -> Command:
    """The command to submit, as state id ``new``: it names the state that was ``observed``."""
    previous = observed if safeguards.commit_with_guard else None
    return Command(change, previous, new, creator, forgets=forgets)


def retried(command: Command, fresh: int, safeguards: Group0Safeguards) -> Command:
    """The command that is submitted once more while the outcome is unknown: the very same.

    ``fresh`` is the id that it would get otherwise.
    """
    return command if safeguards.same_id_on_retry else replace(command, new=fresh)


Outcome = Literal["applied", "no-op", "unknown"]


class StateHistory(Struct, frozen=True, cache_hash=True):
    """``group0_history`` on one node: the state ids that it applied, the newest last."""

    rows: tuple[int, ...] = ()

    @property
    def newest(self) -> int:
        """The id of the node's state."""
        return self.rows[-1] if self.rows else FIRST_STATE

    def recorded(self, command: Command) -> StateHistory:
        """One row more after a command took effect, and without those that it forgets; the newest
        row always stays.
        """
        kept = tuple(row for row in self.rows if row >= command.forgets)
        return replace(self, rows=(*kept, command.new))


def takes_effect(newest: int, command: Command, safeguards: Group0Safeguards) -> bool:
    """Whether a node whose newest state id is ``newest`` applies a command; else it is a no-op."""
    if command.previous is None or not safeguards.state_id_check:
        return True
    return command.previous == newest


def outcome(history: StateHistory, new: int, expired: int = FIRST_STATE) -> Outcome:
    """The outcome of a command with state id ``new`` that this node has gone through.

    ``expired`` is the greatest state id that is older than the history is kept (published code: one
    hour). Of a command that old a missing row tells nothing. The text keeps rows for ever:
    ``FIRST_STATE``.
    """
    if new in history.rows:
        return "applied"
    return "unknown" if new <= expired else "no-op"
