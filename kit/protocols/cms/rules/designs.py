"""From when a node may use an epoch: as designed, and in the two designs that were given up.

All three look at one run: in which step work on an entry began, when it was committed, when each
node applied it. *In two steps* one first admits an event to a pending stage and commits it by a
second entry, so a second round follows, as long as the first. With *hidden epochs* a node may not
use an epoch before a majority of those concerned, here of all nodes, has acknowledged it.
Source: CEP-21, "Rejected Alternatives", "Consistency Guarantees".
"""

from __future__ import annotations

from msgspec import Struct

CHOSEN, HIDDEN, TWICE = "as designed", "hidden epochs", "in two steps"
DESIGNS = (CHOSEN, HIDDEN, TWICE)


class EntryTimes(Struct, frozen=True):
    """The steps of an entry: work began, it was committed, each node applied it (None: not yet)."""

    epoch: int
    begun: int
    committed: int
    applied: tuple[int | None, ...]


def committed(times: EntryTimes, design: str) -> int:
    """The step in which the entry is committed in a design."""
    second_round = times.committed - times.begun if design == TWICE else 0
    return times.committed + second_round


def usable(times: EntryTimes, design: str) -> tuple[int | None, ...]:
    """The step from which each node may use the epoch in a design; None where that is to come."""
    applied = times.applied
    if design == HIDDEN:
        known = sorted(step for step in applied if step is not None)
        majority = len(applied) // 2
        heard = known[majority] if len(known) > majority else None
        return tuple(None if None in (x, heard) else max(x, heard) for x in applied)  # type: ignore[type-var]  # no None is left
    later = committed(times, design) - times.committed
    return tuple(None if step is None else step + later for step in applied)
