"""Consistency levels: which answers are enough.

A level is a list of quotas, each so many of a set of replicas. While a range has more write
replicas than it will have, there are two readings of what a write needs, and both are kept:
``whole-group`` counts the level over the whole write group (3 of {A, B, C, X}), ``both-sets``
wants it among the old owners and among the new ones, each for itself. Source: CEP-21,
"Consistency Guarantees", for the first; the topology document's reading for the second.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.storage.rules.history import View

Level = Literal["ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL"]
LEVELS: tuple[Level, ...] = (
    "ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL",
)  # fmt: skip
Reading = Literal["whole-group", "both-sets"]
READINGS: tuple[Reading, ...] = ("whole-group", "both-sets")
_COUNTS = {"ONE": 1, "TWO": 2, "THREE": 3}


class Quota(Struct, frozen=True):
    """``needed`` answers from ``replicas`` (a mask)."""

    replicas: int
    needed: int

    def met(self, answered: int) -> bool:
        """Whether the answers (a mask) are enough."""
        return (self.replicas & answered).bit_count() >= self.needed


def majority(group: int) -> int:
    """More than half of a group (a mask)."""
    return group.bit_count() // 2 + 1


def quotas(level: Level, group: int, dcs: tuple[int, ...], home: int) -> tuple[Quota, ...]:
    """What a level wants of one group.

    ``dcs`` holds the replicas of each datacenter (masks), ``home`` the coordinator's own.
    """
    match level:
        case "QUORUM":
            return (Quota(group, majority(group)),)
        case "LOCAL_QUORUM":
            return (Quota(group & dcs[home], majority(group & dcs[home])),)
        case "EACH_QUORUM":
            return tuple(Quota(group & dc, majority(group & dc)) for dc in dcs if group & dc)
        case "ALL":
            return (Quota(group, group.bit_count()),)
        case _:
            return (Quota(group, _COUNTS[level]),)


def read_quotas(level: Level, view: View, dcs: tuple[int, ...], home: int) -> tuple[Quota, ...]:
    """What a read needs: the level among the read replicas. Pending replicas never count."""
    return quotas(level, view.reads, dcs, home)


def write_quotas(
    level: Level, view: View, dcs: tuple[int, ...], home: int, reading: Reading
) -> tuple[Quota, ...]:
    """What a write needs, in one of the two readings."""
    if reading == "both-sets" and view.writes == view.olds | view.news != view.olds:
        return quotas(level, view.olds, dcs, home) + quotas(level, view.news, dcs, home)
    return quotas(level, view.writes, dcs, home)


def enough(wanted: tuple[Quota, ...], answered: int) -> bool:
    """Whether the answers meet every quota."""
    return all(quota.met(answered) for quota in wanted)


def promised(write: Level, read: Level, same_datacenter: bool, factors: tuple[int, ...]) -> bool:
    """Whether a read at one level always sees a write at the other, whatever moves.

    That is: whether every set of answers enough for the one meets every set enough for the other,
    and both are majorities somewhere. (ALL and ONE meet at rest; but while replicas change, a
    single answer may come from one that lags, whereas of every majority one has heard.)
    ``factors`` are the replicas in each datacenter; ``same_datacenter`` says that both coordinators
    share one (its replicas are then counted first).
    """
    if {write, read} & {"ONE", "TWO", "THREE"}:
        return False
    groups = tuple(_dense(factors))
    whole = sum(groups)
    view = View(whole, whole, whole, whole)
    homes = (0, 0) if same_datacenter or len(groups) < 2 else (0, 1)
    ours = write_quotas(write, view, groups, homes[0], "whole-group")
    theirs = read_quotas(read, view, groups, homes[1])
    return not any(
        enough(ours, acks) and enough(theirs, whole & ~acks) for acks in range(whole + 1)
    )


def _dense(factors: tuple[int, ...]) -> list[int]:
    """Masks of so many replicas each, side by side."""
    found, first = [], 0
    for factor in factors:
        found.append(((1 << factor) - 1) << first)
        first += factor
    return found
