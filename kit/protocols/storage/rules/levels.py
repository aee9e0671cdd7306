"""Consistency levels: which answers are enough.

A level is a list of quotas, each so many of a set of replicas. While a range has pending replicas,
three rules say what acknowledges a write, and all are kept: ``union`` counts the level over old and
pending replicas together (3 of {A, B, C, X}), ``joint`` wants it among the old replicas and among
the new ones, each for itself, ``quorum-plus-pending`` wants as many as the level says of the old
ones, and one more for each pending replica, of all together. Source: CEP-21, "Consistency
Guarantees", for the first; the document of topology changes for the second; the published code's
count for the third.

Four kinds of read repair say what a read writes back before its client has the answer:

- ``none``: nothing. Two reads, one after the other, may see a write and then not see it.
- ``answered``: the newest cell goes to those that answered, at once. They are a read quorum of the
  plan by which the read is judged, no pending replica among them: what was read may be gone when
  reads move.
- ``mismatch``: only when answers differ, the cell is written by the plan that the coordinator knows
  now, pending replicas included, and the read waits for a write quorum of it; whoever returned the
  cell counts. Equal answers write nothing, also where they are no write quorum.
- ``blocking``: the same whenever those that returned the cell are no write quorum of the plan. With
  it the quorum reads of a key never go back in time.

Source: the published code's ``BlockingReadRepair`` and its write plan (``mismatch``: equal digests
repair nothing); for what ``answered`` loses, scylladb/scylladb, issue 20458; M. Herlihy and J. Wing
on one order of all requests, H. Attiya, A. Bar-Noy and D. Dolev (1995) on reads that write back.
"""

from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct

from kit.masks import union
from kit.protocols.storage.rules.view import Acknowledgement, AnyAcknowledgement, View

Level = Literal["ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL"]
LEVELS: tuple[Level, ...] = get_args(Level)
ACKNOWLEDGEMENTS: tuple[Acknowledgement, ...] = ("union", "joint", "quorum-plus-pending")
_COUNTS = {"ONE": 1, "TWO": 2, "THREE": 3}


class AnswerQuota(Struct, frozen=True, cache_hash=True):
    """``needed`` answers from ``replicas`` (a mask)."""

    replicas: int
    needed: int


Quotas = tuple[AnswerQuota, ...]


def majority(group: int) -> int:
    """More than half of a group (a mask)."""
    return group.bit_count() // 2 + 1


def quotas(level: Level, group: int, dcs: tuple[int, ...], home: int) -> Quotas:
    """The quotas of a level for a group, with each datacenter's replicas (masks) and one's own."""
    match level:
        case "QUORUM":
            return (AnswerQuota(group, majority(group)),)
        case "LOCAL_QUORUM":
            return (AnswerQuota(group & dcs[home], majority(group & dcs[home])),)
        case "EACH_QUORUM":
            return tuple(AnswerQuota(group & dc, majority(group & dc)) for dc in dcs if group & dc)
        case "ALL":
            return (AnswerQuota(group, group.bit_count()),)
        case _:
            return (AnswerQuota(group, _COUNTS[level]),)


def read_quotas(level: Level, view: View, dcs: tuple[int, ...], home: int) -> Quotas:
    """The needs of a read: the level among the read replicas. Pending replicas never count."""
    return quotas(level, view.reads, dcs, home)


def write_quotas(
    level: Level, view: View, dcs: tuple[int, ...], home: int, acknowledgement: AnyAcknowledgement
) -> Quotas:
    """The needs of a write, by one of the three rules, or with none for pending replicas."""
    old, new = view.old_replicas, view.new_replicas
    if acknowledgement == "union" or not view.writes == old | new != old:
        return quotas(level, view.writes, dcs, home)
    if acknowledgement == "natural":
        return quotas(level, old, dcs, home)
    if acknowledgement == "joint":
        return quotas(level, old, dcs, home) + quotas(level, new, dcs, home)
    pending = new & ~old if acknowledgement == "quorum-plus-pending" else 0
    both = []
    for quota in quotas(level, view.writes, dcs, home):
        of_old = quotas(level, quota.replicas & old, dcs, home)  # none of a place without any
        more = (quota.replicas & pending).bit_count()
        both.append(AnswerQuota(quota.replicas, sum(each.needed for each in of_old) + more))
    return tuple(both)


def enough(wanted: Quotas, answered: int) -> bool:
    """Whether the answers meet every quota."""
    return all((quota.replicas & answered).bit_count() >= quota.needed for quota in wanted)


@lru_cache(1024)
def promised(write: Level, read: Level, same_datacenter: bool, factors: tuple[int, ...]) -> bool:
    """Whether a read at one level always sees a write at the other, whatever moves.

    That is: whether every set of answers enough for the one meets every set enough for the other,
    and both are majorities somewhere. (ALL and ONE meet while all is stable; but while replicas
    change, a single answer may come from one that lags, whereas of every majority one has heard.)
    ``factors`` are the replicas in each datacenter; ``same_datacenter`` says that both coordinators
    share one. The writing one's is the first, the other's the last; with one there is no other.
    """
    if {write, read} & {"ONE", "TWO", "THREE"}:
        return False
    groups = tuple(_dense(factors))
    whole = sum(groups)
    view = View(whole, whole, whole, whole)
    ours = write_quotas(write, view, groups, 0, "union")
    theirs = read_quotas(read, view, groups, 0 if same_datacenter else -1)
    return not any(enough(ours, acks) and enough(theirs, whole & ~acks) for acks in range(whole))


def _dense(factors: tuple[int, ...]) -> list[int]:
    masks, first = [], 0
    for factor in factors:
        masks.append(((1 << factor) - 1) << first)
        first += factor
    return masks


ReadRepair = Literal["none", "answered", "mismatch", "blocking"]
WAITING_KINDS: tuple[ReadRepair, ...] = ("mismatch", "blocking")
"""The kinds in which a read waits until what it found is written back."""


def waits(kind: ReadRepair, wanted: Quotas, holders: int, kept: int, answered: int) -> bool:
    """Whether a read with enough answers must write back before its client has the answer.

    That is asked only of the kinds in which one may have to. ``wanted`` is what a write of the
    read's level needs now; ``answered``, ``holders`` and ``kept`` (masks) are who answered, who of
    them returned the newest cell, and whose holding it counts.
    """
    return not ((kind == "mismatch" and holders == answered) or enough(wanted, kept))


def targets(wanted: Quotas) -> int:
    """To whom the cell is sent, unless they are known to hold it: all that could count (a mask)."""
    return union(quota.replicas for quota in wanted)


def holding(holders: int, newest_seen: int, seen: int, own: int) -> int:
    """Who returned the newest cell (a mask), after replica ``own`` returned the cell ``seen``."""
    if seen < newest_seen:
        return holders
    return own if seen > newest_seen else holders | own
