"""How far a leader knows each follower to be, and what it may send it next.

A *probe* looks for the place where both logs agree: one message with one entry, until it is
answered or the clock ticks. A *pipeline* sends on without waiting, a few messages ahead. While a
*snapshot* is on its way no entries are sent. Source: Scylla, Raft in Scylla.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace


class Progress(Struct, frozen=True, cache_hash=True):
    """A follower, as its leader sees it."""

    id: str
    next: int  # the first entry to send
    match: int = 0  # up to here its log is known to agree
    mode: Literal["probe", "pipeline", "snapshot"] = "probe"
    in_flight: tuple[int, ...] = ()  # last indexes of messages without an answer; of a probe, one
    commit: int = 0  # what it has said to know as committed
    read: int = 0  # the newest read barrier that it has answered


def may_send(p: Progress, most_in_flight: int) -> bool:
    """Whether the flow to a follower lets one more message go."""
    if p.mode == "pipeline":
        return len(p.in_flight) < most_in_flight
    return p.mode == "probe" and not p.in_flight


def sent(p: Progress, entries: int) -> Progress:
    """A message with so many entries has gone: a pipeline counts on its arrival."""
    if p.mode == "probe":
        return replace(p, in_flight=(p.next,))
    following = p.next + entries
    flying = (*p.in_flight, following - 1) if entries else p.in_flight
    return replace(p, in_flight=flying, next=following)


def accepted(p: Progress, last: int) -> Progress:
    """The follower's log agrees up to an index: from now on entries flow."""
    match, following = max(p.match, last), max(p.next, last + 1)
    if p.mode == "snapshot" and last < p.next - 1:  # one that brings more is waited for
        return replace(p, match=match)
    flying = tuple(i for i in p.in_flight if i > last) if p.mode == "pipeline" else ()
    return replace(p, match=match, next=following, mode="pipeline", in_flight=flying)


def is_stray(p: Progress, mismatch: int, last: int) -> bool:
    """Whether a rejection is an old one, which says nothing of the follower's log any more."""
    if mismatch <= p.match or last < p.match:
        return True
    return p.mode == "snapshot" or (p.mode == "probe" and mismatch != p.next - 1)


def rejected(p: Progress, mismatch: int, last: int) -> Progress:
    """The logs differ at an index, and may agree up to ``last``: probe there."""
    return replace(p, mode="probe", in_flight=(), next=max(min(mismatch, last + 1), p.match + 1))


def sending_snapshot(p: Progress, index: int) -> Progress:
    """A snapshot is on its way."""
    return replace(p, mode="snapshot", in_flight=(), next=index + 1)


def snapshot_done(p: Progress) -> Progress:
    """No snapshot is on its way any more: look where the logs agree, from the next entry on."""
    return replace(p, mode="probe", in_flight=()) if p.mode == "snapshot" else p


def ticked(p: Progress, most_in_flight: int) -> Progress:
    """A tick has passed: one more probe may go, and a full pipeline counts one message as lost."""
    if p.mode == "pipeline":
        return replace(p, in_flight=p.in_flight[max(len(p.in_flight) - most_in_flight + 1, 0) :])
    return replace(p, in_flight=())
