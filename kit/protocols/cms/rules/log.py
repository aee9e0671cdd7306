"""The log of metadata as one node keeps it: entries, snapshots, what waits above a gap, an archive.

An entry is an event with its epoch and the id that its submitter gave it. A node applies entries
one by one and holds back what arrives above a gap. A snapshot is an event as well: each node that
applies it stores the metadata of that moment, so it can later serve who is far behind. What is
truncated is served no more, but it stays in an archive. What metadata is, is the caller's
business: a ``Machine`` says where it begins and what an entry makes of it.
Sources: CEP-21, "Event Submission Protocol", "Node Level Changes", "Snapshotting Metadata Log";
published code, ``LocalLog``, ``LogState`` and ``LogReader.getLogState``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput

SNAPSHOT = "snapshot"
"""The event that changes nothing, and at which each node stores a snapshot."""


class Entry(Struct, frozen=True, cache_hash=True):
    """An entry of the log: its epoch, the event, and the id that the submitter gave it."""

    epoch: int
    event: str
    id: str


class Snapshot(Struct, frozen=True, cache_hash=True):
    """The metadata of an epoch, as a node stored it.

    Without the ``ids`` of all entries that it stands for, whoever starts from it could not
    recognise an unknown outcome: a search shows that such an event is committed twice.
    """

    epoch: int
    metadata: Any
    ids: tuple[tuple[str, int], ...] = ()


class Slice(Struct, frozen=True, cache_hash=True):
    """The answer to a node that asks for the log: entries, perhaps on top of a snapshot."""

    snapshot: Snapshot | None
    entries: tuple[Entry, ...]

    @property
    def text(self) -> str:
        """``the snapshot of epoch 2 and epochs 3, 4``."""
        epochs = [str(each.epoch) for each in self.entries]
        entries = f"epoch{'s' * (len(epochs) > 1)} {', '.join(epochs)}" if epochs else ""
        snapshot = f"the snapshot of epoch {self.snapshot.epoch}" if self.snapshot else ""
        return " and ".join(filter(None, (snapshot, entries))) or "nothing"


class Machine(Struct, frozen=True):
    """The first metadata, and what an entry makes of them."""

    initial: Any
    enact: Callable[[Any, Entry], Any]


class NodeLog(Struct, frozen=True, cache_hash=True):
    """The log of a node: entries it applied, snapshots, and entries ``held`` above a gap."""

    entries: tuple[Entry, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()  # who caught up by one lacks the entries below it
    held: tuple[Entry, ...] = ()
    cut: int = 0  # entries up to this epoch are in its archive

    @property
    def epoch(self) -> int:
        """The epoch of the node: that of the newest entry, or of the newest snapshot."""
        last = self.entries[-1].epoch if self.entries else 0
        return max(last, self.snapshots[-1].epoch if self.snapshots else 0)

    def has(self, epoch: int) -> bool:
        """Whether it knows what an epoch brought: by its entry, or by a snapshot of later."""
        return self.entry(epoch) is not None or any(s.epoch >= epoch for s in self.snapshots)

    def entry(self, epoch: int) -> Entry | None:
        """Its entry of an epoch."""
        return next((each for each in self.entries if each.epoch == epoch), None)

    @property
    def ids(self) -> tuple[tuple[str, int], ...]:
        """The ids of all that is committed up to its epoch, each with its own epoch."""
        before = self.snapshots[-1].ids if self.snapshots else ()
        return (*before, *((each.id, each.epoch) for each in self.since_snapshot))

    @property
    def since_snapshot(self) -> tuple[Entry, ...]:
        """The entries that it applied after its newest snapshot."""
        if not self.snapshots:
            return self.entries
        return tuple(each for each in self.entries if each.epoch > self.snapshots[-1].epoch)

    @property
    def archive(self) -> tuple[Entry, ...]:
        """The entries that were truncated."""
        return tuple(each for each in self.entries if each.epoch <= self.cut)


def replay(machine: Machine, entries: Iterable[Entry], start: Snapshot | None = None) -> Any:
    """The metadata that entries make, from the beginning or on top of a snapshot."""
    return reduce(machine.enact, entries, start.metadata if start else machine.initial)


@lru_cache(1 << 16)
def metadata(log: NodeLog, machine: Machine) -> Any:
    """The metadata of a node: its newest snapshot, and the entries that it applied after that."""
    return replay(machine, log.since_snapshot, log.snapshots[-1] if log.snapshots else None)


def applied(log: NodeLog, entry: Entry, machine: Machine) -> NodeLog:
    """The log after one more entry; at a snapshot event the node stores a snapshot."""
    log = replace(log, entries=(*log.entries, entry))
    if entry.event != SNAPSHOT:
        return log
    taken = Snapshot(entry.epoch, metadata(log, machine), log.ids)
    return replace(log, snapshots=(*log.snapshots, taken))


def received(log: NodeLog, entry: Entry, machine: Machine, *, in_order: bool = True) -> NodeLog:
    """The log after an entry has arrived: applied, and those held right behind it, or held back.

    Without the order it is applied at once, and the gap below is never filled.
    """
    if entry.epoch <= log.epoch:
        return log
    if in_order:
        return _with_entries(log, (entry,), machine)
    return _with_entries(applied(log, entry, machine), (), machine)


def _with_entries(log: NodeLog, new: Iterable[Entry], machine: Machine) -> NodeLog:
    by_epoch = {each.epoch: each for each in (*log.held, *new) if each.epoch > log.epoch}
    waiting = tuple(by_epoch[epoch] for epoch in sorted(by_epoch))
    ready = sum(at == each.epoch for at, each in enumerate(waiting, log.epoch + 1))
    first = 0
    for last, each in enumerate(waiting[:ready], 1):
        if each.event == SNAPSHOT or last == ready:  # what lies between changes no snapshot
            run = (*log.entries, *waiting[first : last - 1])
            log, first = applied(replace(log, entries=run), each, machine), last
    return log if log.held == waiting[ready:] else replace(log, held=waiting[ready:])


def caught_up(log: NodeLog, sent: Slice, machine: Machine) -> NodeLog:
    """The log after an answer to "what is above my epoch?": first the snapshot, then entries."""
    if sent.snapshot and sent.snapshot.epoch > log.epoch:
        log = replace(log, snapshots=(*log.snapshots, sent.snapshot))
    return _with_entries(log, sent.entries, machine)


def slice_since(
    log: NodeLog, epoch: int, *, snapshots: bool = True, unreadable: Container[int] = ()
) -> Slice:
    """The slice that a node sends to one that is at ``epoch``.

    Entries alone where they have no gap and at most one snapshot would be skipped: a snapshot is
    taken to cost more. Else the newest snapshot and what follows it, or an older one where the
    newest is ``unreadable`` (epochs). Without a snapshot, whatever entries there are. Raises
    BadInput for a gap where nobody wants ``snapshots``.
    """
    entries = tuple(each for each in log.entries if each.epoch > max(epoch, log.cut))
    newer = [each for each in log.snapshots if each.epoch > epoch]
    epochs = (epoch, *(each.epoch for each in entries))
    is_whole = all(b == a + 1 for a, b in pairwise(epochs)) and epochs[-1] >= log.epoch
    if not (snapshots or is_whole):
        raise BadInput("snapshots", snapshots, f"True: entries after epoch {epoch} are missing")
    sound = [each for each in newer if each.epoch not in unreadable]
    if not sound or not snapshots or (is_whole and len(newer) == 1):
        return Slice(None, entries)
    return Slice(sound[-1], tuple(each for each in entries if each.epoch > sound[-1].epoch))


def snapshots_due(events: int, every: int) -> int:
    """How many snapshots the CMS submits by itself among so many events.

    One is due whenever the epoch that was applied is a multiple of ``every`` (0: never), and is
    itself the next epoch. After each event if that is 1, which leaves snapshots themselves out.
    """
    return (events - 1) // (every - 1) if every > 1 else events * every


def truncated(log: NodeLog) -> NodeLog:
    """The log cut off below its newest snapshot; what is cut goes to the archive."""
    return replace(log, cut=log.snapshots[-1].epoch) if log.snapshots else log


CHOSEN, HIDDEN, TWICE = "as designed", "hidden epochs", "in two steps"
DESIGNS = (CHOSEN, HIDDEN, TWICE)
"""From when a node may use an epoch: the design, and the two that were given up.

*In two steps* one first admits an event to a pending stage and commits it by a second entry, so a
second round follows, as long as the first. With *hidden epochs* a node may not use an epoch before
a majority of those concerned, here of all nodes, has acknowledged it. All three look at one run.
Source: CEP-21, "Rejected Alternatives", "Consistency Guarantees".
"""


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
