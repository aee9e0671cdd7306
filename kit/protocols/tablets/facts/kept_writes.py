"""What the replicas that leave had as streaming began, write by write, and whether it has arrived.

Source: Topology over Raft, "Tablet transitions", the precondition of ``write_both_read_new``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.storage.actions import Commit, StorageState
from kit.protocols.storage.rules.cells import timestamp
from kit.protocols.storage.rules.masks import holds
from kit.protocols.tablets.facts.stages_in_use import path
from kit.protocols.tablets.requests.history import stage_of
from kit.protocols.tablets.requests.model import TabletRequests
from kit.protocols.tablets.requests.moves import WITHIN_NODE

STREAMING, SWITCH = "streaming", "write_both_read_new"


class KeptWrite(Struct, frozen=True):
    """A write, which stands for the key that it writes: who had it then, who has it by now.

    ``had`` are the leaving replicas that it, or a later one, had reached as streaming began;
    ``has`` the new replicas that hold it or a later one. ``owed``: it had reached one of the first,
    so that it has to be on all of the second.
    """

    write: str
    had: tuple[str, ...]
    has: tuple[str, ...]
    owed: bool
    kept: bool


class KeptWrites(Struct, frozen=True):
    """The comparison for the latest transition.

    ``leaving`` and ``coming`` are its replicas; a repair has neither. ``begun``: its streaming
    began; ``due``: its reads are switched, or on their way back.
    """

    leaving: tuple[str, ...]
    coming: tuple[str, ...]
    begun: bool
    due: bool
    writes: tuple[KeptWrite, ...]


def kept_writes(m: TabletRequests, s: StorageState, steps: Sequence[PassedStep]) -> KeptWrites:
    """Write by write: the leaving replicas as streaming began beside the new ones now."""
    way = path(m, s)
    if way.kind == "repair":
        return KeptWrites((), (), True, False, ())
    began = next((each.after for each in reversed(steps) if _enters(m, each)), None)
    if began is None or STREAMING not in way.stages:
        return KeptWrites((), (), False, False, ())
    view = m.newest(began).view
    leaving = _numbers(m, view.old_replicas & ~view.new_replicas)
    coming = _numbers(m, view.new_replicas & ~view.old_replicas)
    if way.kind == WITHIN_NODE:
        leaving, coming = (
            _numbers(m, each)
            for each in (view.read_at & ~view.reads, view.written_at & ~view.read_at)
        )
    writes = (_kept(m, began, s, n, leaving, coming) for n in range(len(s.requests)))
    return KeptWrites(
        *(_names(m, leaving), _names(m, coming), True, SWITCH in way.stages),
        tuple(each for each, is_write in zip(writes, m.mutations, strict=True) if is_write),
    )


def _enters(m: TabletRequests, step: PassedStep) -> bool:
    """Whether a step commits the stage of streaming."""
    if not isinstance(step.action, Commit):
        return False
    before, after = (stage_of(m.newest(each)) for each in (step.before, step.after))
    return after == STREAMING and before != STREAMING


def _kept(
    m: TabletRequests,
    began: StorageState,
    s: StorageState,
    number: int,
    leaving: tuple[int, ...],
    coming: tuple[int, ...],
) -> KeptWrite:
    when = number + 1  # its timestamp
    had = tuple(i for i in leaving if timestamp(began.cells[i]) >= when)
    has = tuple(i for i in coming if timestamp(s.cells[i]) >= when)
    return KeptWrite(
        *(m.title_of(number), _names(m, had), _names(m, has)),
        owed=bool(had),
        kept=not had or has == coming,
    )


def _numbers(m: TabletRequests, mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(m.replicas) if holds(mask, i))


def _names(m: TabletRequests, numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(m.history.replicas[i] for i in numbers)
