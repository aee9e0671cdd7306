"""Single-decree Paxos for one slot of a log: what is promised, accepted, proposed and chosen.

Ballots are numbers, and the higher one goes first. What a majority has accepted in one ballot is
the value of the slot; every later majority has somebody in it who names that. The next free slot is
taken by compare-and-set: who comes second finds it taken.
Sources: Paxos Made Simple, 2.2 to 2.4; CEP-21, "Event Submission Protocol".
"""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import majority

V = TypeVar("V")


class Accepted(Struct, Generic[V], frozen=True, cache_hash=True):
    """A value with the ballot in which it was accepted."""

    ballot: int
    entry: V


class Slot(Struct, Generic[V], frozen=True, cache_hash=True):
    """The slot of an acceptor that it has not applied: its promise, what it accepted."""

    epoch: int
    promised: int = 0
    accepted: Accepted[V] | None = None


def next_ballot(above: int, place: int, size: int) -> int:
    """The lowest ballot above another one that the proposer at a place of ``size`` has.

    No two proposers have one in common: of three, A has 1, 4, 7 (1A, 2A, 3A) and B has 2, 5, 8.
    """
    return above + 1 + (place - above) % size


def refuses(slot: Slot[V], ballot: int) -> bool:
    """Whether an acceptor refuses a ballot: it has promised a higher one."""
    return slot.promised > ballot


def promise(slot: Slot[V], ballot: int) -> Slot[V]:
    """The slot once a ballot is promised."""
    return replace(slot, promised=max(ballot, slot.promised))


def accept(slot: Slot[V], ballot: int, entry: V) -> Slot[V]:
    """The slot once a value is accepted in a ballot."""
    return Slot(slot.epoch, max(ballot, slot.promised), Accepted(ballot, entry))


def newer(first: Accepted[V] | None, second: Accepted[V] | None) -> Accepted[V] | None:
    """Of two accepted values the one of the higher ballot."""
    return max(filter(None, (first, second)), key=lambda each: each.ballot, default=None)


def to_propose(newest: Accepted[V] | None, own: V | None) -> V | None:
    """The value to be proposed after a majority of promises: the newest that they named.

    Only where they named none a proposer is free to propose its own; a repair has none.
    """
    return newest.entry if newest else own


def is_quorum(having: int, electorates: Iterable[int]) -> bool:
    """Whether a set of nodes holds a majority of each electorate (masks)."""
    return all((having & each).bit_count() >= majority(each.bit_count()) for each in electorates)


def chosen_value(accepted: Mapping[int, Accepted[V] | None], electorate: int) -> V | None:
    """The value that a majority has accepted in one ballot, by what each node has accepted."""
    for each in filter(None, accepted.values()):
        same = sum(1 << place for place, other in accepted.items() if other == each)
        if is_quorum(same, (electorate,)):
            return each.entry
    return None


def appended(log: tuple[V, ...], epoch: int, entry: V) -> tuple[V, ...]:
    """The log once an entry is chosen for an epoch: longer if that is the next one, or the same."""
    return (*log, entry) if epoch == len(log) + 1 else log


def to_repair(log: tuple[V, ...], epoch: int, newest: Accepted[V] | None) -> V | None:
    """The value that a repair brings to a majority of the new members for an epoch; None: no value.

    An epoch of the log is decided, of one above it the newest accepted value may have been.
    """
    return log[epoch - 1] if epoch <= len(log) else to_propose(newest, None)
