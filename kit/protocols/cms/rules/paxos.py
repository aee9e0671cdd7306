"""Single-decree Paxos for one slot of the log: what an acceptor keeps, promises and accepts.

Ballots are numbers, and the higher one goes first. What a majority has accepted in one ballot is
the value of the slot; every later majority has somebody in it who names that.
Source: CEP-21, "Event Submission Protocol".
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.cms.rules.log import Entry


class Accepted(Struct, frozen=True, cache_hash=True):
    """A value with the ballot in which it was accepted."""

    ballot: int
    entry: Entry


class Slot(Struct, frozen=True, cache_hash=True):
    """What an acceptor keeps of a slot that it has not applied: its promise, what it accepted."""

    epoch: int
    promised: int = 0
    accepted: Accepted | None = None


def promise(slot: Slot, ballot: int) -> Slot:
    """The slot once a ballot is promised."""
    return replace(slot, promised=max(ballot, slot.promised))


def accept(slot: Slot, ballot: int, entry: Entry) -> Slot:
    """The slot once a value is accepted in a ballot."""
    return Slot(slot.epoch, max(ballot, slot.promised), Accepted(ballot, entry))


def newer(first: Accepted | None, second: Accepted | None) -> Accepted | None:
    """Of two accepted values the one of the higher ballot."""
    both = [each for each in (first, second) if each]
    return max(both, key=lambda each: each.ballot, default=None)
