"""What a picture needs to know of one step: who sent what to whom, and which epoch went with it.

A space-time diagram is drawn of these, a step after the other. All of it is plain data; epochs are
absolute, ``None`` where messages carry none.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.protocols.storage.coordinating import Coordinating
from kit.protocols.storage.disks import named_shards
from kit.protocols.storage.facts.moment import QuotaRow, quota_rows
from kit.protocols.storage.rules.exchange import sent
from kit.protocols.storage.rules.masks import mask_of
from kit.protocols.storage.rules.requests import AT_WORK, DONE, OPEN, REPAIRING
from kit.protocols.storage.storage import (
    Admit,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Crash,
    Fetch,
    Finish,
    Land,
    LandLate,
    Lose,
    Serve,
    Start,
    Storage,
    StorageState,
    TimeOut,
    WriteBack,
)


class Sent(Struct, frozen=True):
    """A coordinator, at ``epoch``, sends a request to its replicas; ``carries`` is in the message.

    ``again``: a plan that went stale was made again. ``back`` is the cell that a read has found
    and writes back, else empty.
    """

    request: int
    title: str
    coordinator: str
    level: str
    epoch: int
    carries: int | None
    targets: tuple[str, ...]
    again: bool = False
    back: str = ""

    @property
    def first(self) -> bool:
        """Whether the request begins with it."""
        return not (self.again or self.back)


class Delivered(Struct, frozen=True):
    """A message reaches a replica, and the answer its coordinator.

    ``epoch`` is the message's, ``had`` what the replica knew before and ``knows`` afterwards, which
    goes with the answer. ``error`` is the reason of an answer that refuses, else empty; ``did``
    says what the replica did. ``late``: the client has its answer already. ``adopted`` is the epoch
    that the coordinator catches up to because of the answer, None when it learns nothing.
    """

    request: int
    title: str
    coordinator: str
    replica: str
    epoch: int | None
    had: int
    knows: int
    error: str
    did: str
    late: bool
    adopted: int | None

    @property
    def caught_up(self) -> bool:
        """Whether the message made the replica catch up first."""
        return self.knows > self.had

    @property
    def answers(self) -> int | None:
        """The epoch that goes with the answer."""
        return None if self.epoch is None else self.knows


class Completed(Struct, frozen=True):
    """A request is answered; ``result`` is what its client is told.

    ``plan`` is the replica plan that the answer rests on: what the level needs by the epoch at
    which the coordinator judges, and the answers that count. ``back`` is the cell that a read
    writes back in the same step, ``repaired`` are the replicas that had an older one.
    """

    request: int
    title: str
    coordinator: str
    epoch: int
    ok: bool
    result: str
    plan: tuple[QuotaRow, ...] = ()
    back: str = ""
    repaired: tuple[str, ...] = ()


class EpochCommitted(Struct, frozen=True):
    """An epoch is committed; ``unit`` is what people call it."""

    epoch: int
    title: str
    unit: str = "epoch"


class Applied(Struct, frozen=True):
    """A node applies an epoch by itself."""

    node: str
    epoch: int


class Copied(Struct, frozen=True):
    """A copy is read at its source, or arrives at its target; ``cell`` is what it brings.

    ``epoch`` is the one that its source has applied by then; None where messages carry none.
    ``session`` is its permit, 0 where there are none; one that comes ``late`` may be ``refused``.
    """

    source: str
    target: str
    cell: str
    landed: bool
    epoch: int | None = None
    session: int = 0
    late: bool = False
    refused: bool = False


class DiskEvent(Struct, frozen=True):
    """Something happened on a replica: ``what`` is *fails*, *cleans up*, *collects* or *begins*."""

    replica: str
    what: str

    @property
    def begins(self) -> bool:
        """Whether it has begun what it will end later."""
        return self.what.startswith("begins")


Happened = Sent | Delivered | Completed | EpochCommitted | Applied | Copied | DiskEvent


def happened(
    m: Any, before: StorageState, action: Any, after: StorageState
) -> tuple[Happened, ...]:
    """What a step was; one that answers by sending again is two things."""
    match action:
        case Start(number, _):
            return (_sent(m, after, number),)
        case Admit() | Serve() | WriteBack():
            return (_met(m, before, action, after),)
        case Finish(number) | TimeOut(number):
            if after.requests[number].phase in AT_WORK:
                begins = before.requests[number].phase == OPEN != after.requests[number].phase
                return (_sent(m, after, number, again=not begins),)
            return (_ended(m, before, number, after),)
        case Commit():
            newest = m.newest(after)
            return (EpochCommitted(newest.epoch, newest.title, m.history.unit),)
        case ApplyEpoch(node):
            return (_applied(m, after, node),)
        case Fetch(source, target) | Land(source, target):
            landed = isinstance(action, Land)
            way = next(
                i
                for i, copy in enumerate(m.newest(before).copies)
                if (m.history.replicas[copy.source], m.history.replicas[copy.target])
                == (source, target)
            )
            cell = (before if landed else after).copies[way]
            known = _applied_epoch(m, before, source)
            text, session = m.cell_text(before, cell), m.newest(before).session
            return (Copied(source, target, text, landed, known, session),)
        case LandLate(source, target, session):
            late = m.late_copy(before, action)
            refused = not m.lets_in(before, late.target, session)
            brings = m.cell_text(before, late.cell)
            return (Copied(source, target, brings, True, None, session, True, refused),)
        case Lose(number, replica):
            return (DiskEvent(replica, f"never gets {m.title_of(number)}"),)
        case Crash(replica):
            return (DiskEvent(replica, "fails"),)
        case Cleanup(replica):
            return (DiskEvent(replica, "cleans up"),)
        case CollectTombstones(replica):
            return (DiskEvent(replica, "collects the tombstone"),)
    return ()


def _sent(m: Coordinating, after: StorageState, number: int, *, again: bool = False) -> Sent:
    request, ask = after.requests[number], m.workload[number]
    return Sent(
        number,
        m.title_of(number),
        ask.coordinator,
        ask.level,
        m.epoch(after, request.epoch),
        _carried(m, after, number),
        m.history.names(request.in_flight),
        again,
        m.cell_text(after, request.newest_seen) if request.phase == REPAIRING else "",
    )


def _carried(m: Coordinating, s: StorageState, number: int) -> int | None:
    """The epoch in a request's messages; None when messages carry none."""
    if not m.switches.safeguards.epoch_exchange:
        return None
    return m.epoch(s, sent(m.views(s), s.requests[number].epoch, m.switches))


def _met(
    m: Storage, before: StorageState, action: Admit | Serve | WriteBack, after: StorageState
) -> Delivered | DiskEvent:
    number, i = action.request, m.code[action.replica]
    request, ask = before.requests[number], m.workload[number]
    answer = m.answer(before, action)
    if isinstance(action, Admit) and answer.verdict == "ok":
        return DiskEvent(action.replica, f"begins {m.title_of(number)}")
    late = request.phase not in AT_WORK
    now = after.requests[number].coordinator_epoch
    error = {
        "ok": "",
        "not-a-member": f"no {'write' if m.writing(before, number) else 'read'} replica",
        "coordinator-behind": "coordinator is behind",
        "stale": "the request is stale",
    }[answer.verdict]
    did = "answers an error" if error else _did(m, before, after, action)
    return Delivered(
        number,
        _brought(m, before, action),
        ask.coordinator,
        action.replica,
        _carried(m, before, number),
        m.epoch(before, before.known[i]),
        m.epoch(before, answer.known),
        error,
        did,
        late,
        m.epoch(after, now) if not late and now > request.coordinator_epoch else None,
    )


def _brought(m: Storage, before: StorageState, action: Admit | Serve | WriteBack) -> str:
    """What a message is: its request, or the cell that a read writes back."""
    if isinstance(action, WriteBack):
        return f"{m.cell_text(before, m.mutation(before, action.request))} back"
    return m.title_of(action.request)


def _did(
    m: Storage, before: StorageState, after: StorageState, action: Admit | Serve | WriteBack
) -> str:
    i, number = m.code[action.replica], action.request
    writes = m.writing(before, number)
    on = named_shards(m.on_shards(before, i, number, write=writes))
    if not writes:
        return f"returns {m.cell_text(before, m.returned(before, i, number))}{on}"
    held, brought = m.returned(before, i, number), m.mutation(before, number)
    if held == brought:
        return f"has {m.cell_text(before, held)} already"
    if held > brought:
        return f"keeps {m.cell_text(before, held)}, which is newer"
    return f"takes {m.cell_text(before, brought)}{on}"


def _ended(m: Coordinating, before: StorageState, number: int, after: StorageState) -> Completed:
    request, ask = after.requests[number], m.workload[number]
    ok = request.phase == DONE
    if not ok:
        result = "failed"
    elif ask.writes:
        result = "done"
    else:
        result = f"returned {m.cell_text(after, request.newest_seen)}"
    epoch = m.epoch(before, before.requests[number].coordinator_epoch)
    cells = zip(before.cells, after.cells, strict=True)
    repaired = mask_of(i for i, (had, has) in enumerate(cells) if had != has)
    wanted = m.wanted(before, number, m.judged_by(before, number))
    plan = quota_rows(m, wanted, m.valid(before, number))
    return Completed(
        number,
        m.title_of(number),
        ask.coordinator,
        epoch,
        ok,
        result,
        plan,
        m.cell_text(before, before.requests[number].newest_seen) if repaired else "",
        m.history.names(repaired),
    )


def _applied_epoch(m: Storage, s: StorageState, replica: str) -> int | None:
    """The epoch that a replica would send along; None where messages carry none."""
    if not m.switches.safeguards.epoch_exchange:
        return None
    return m.epoch(s, s.known[m.code[replica]])


def _applied(m: Storage, after: StorageState, node: str) -> Applied:
    i = m.code[node]
    known = (
        after.known[i]
        if i < m.replicas
        else after.requests[m.serving(after, node)].coordinator_epoch
    )
    return Applied(node, m.epoch(after, known))
