"""What must hold of a tablet's stages: what each asks for, how far views are apart, who holds data.

Source: Topology over Raft, "Tablet transitions" (the preconditions of stages, INV-TABL-1), "Shard
assignment stability" (at most one stage apart), "Tablet replica placement vs sharding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kit.engine.model import Property, always, step
from kit.protocols.storage.actions import Admit, Commit, Serve, StorageState, WriteBack
from kit.protocols.storage.model import Storage
from kit.protocols.storage.rules.cells import NOTHING
from kit.protocols.storage.rules.masks import holds
from kit.protocols.storage.rules.requests import AT_WORK
from kit.protocols.storage.rules.view import ShardChoice
from kit.protocols.tablets.requests.history import stage_of


def stage_asks(model: Storage, excluded: str) -> Property:
    """What a stage is committed for is true; nodes that are ``excluded`` are not waited for."""
    return step(
        "stage-asks",
        "A stage is committed when what it asks for is true",
        partial(_missing, model, excluded),
        "INV-STAGE",
        on=(Commit,),
    )


def one_stage_apart(model: Storage, excluded: str) -> Property:
    """Coordinator and replica of an accepted request: stages are told apart by their selectors.

    Not every stage has a barrier, and where reads and writes are for the same replicas two nodes
    may be further apart; requests cannot tell such stages apart.
    """
    return step(
        "one-stage-apart",
        "Coordinator and replica are one stage apart at most; those with equal selectors are one",
        partial(_too_far_apart, model, excluded),
        "INV-ONESTAGE",
        on=(Admit, Serve, WriteBack),
    )


def replicas_hold(model: Storage, excluded: str) -> Property:
    """Outside a transition the tablet's data is on its replicas alone."""
    return always(
        "replicas-hold",
        "Outside a transition only replicas hold data",
        partial(_elsewhere, model, excluded),
        "INV-TABL-1",
    )


def found_there(model: Storage, excluded: str) -> Property:
    """Nobody is asked who finds no replica of the tablet on itself."""
    return step(
        "found-there",
        "Whoever is asked has a replica of the tablet",
        partial(_not_there, model, excluded),
        "INV-AVAIL",
        on=(Admit, Serve, WriteBack),
    )


# -- stages ---------------------------------------------------------------------------------------


def _missing(
    model: Storage, excluded: str, before: StorageState, action: Any, after: StorageState
) -> str | None:
    if not isinstance(action, Commit) or model.newest(after).quiet:
        return None
    stage = stage_of(model.newest(after))
    if stage == stage_of(model.newest(before)) or stage not in _ASKS:
        return None
    lacking = _ASKS[stage](model, excluded, before, after)
    return f"{stage} is committed, but {lacking}" if lacking else None


def _unready(
    model: Storage, excluded: str, before: StorageState, after: StorageState
) -> str | None:
    """All old and new replicas see the transition, and so have a replica to write to."""
    wanted = model.newest(after).view
    involved = (wanted.stores or 0) & ~before.down
    for i, name in enumerate(model.history.replicas):
        known = model.views(before)[before.known[i]]
        if holds(involved, i) and name != excluded and not known.holds_it(i, write=True):
            return f"{name} has no replica of the tablet yet"
    return None


def _under_way(model: Storage, excluded: str, s: StorageState) -> Iterator[tuple[int, int]]:
    """Requests that may still have an effect, and whom their messages are on their way to."""
    out = s.down | sum(1 << i for i, name in enumerate(model.history.replicas) if name == excluded)
    for number, request in enumerate(s.requests):
        if model.workload[number].coordinator != excluded:
            reached = request.in_flight & ~out
            if reached or request.phase in AT_WORK:
                yield number, reached


def _writes_old_set(
    model: Storage, excluded: str, before: StorageState, after: StorageState
) -> str | None:
    """Every write of a successful request reaches its level in both sets."""
    wanted = model.newest(after).view
    for number, _ in _under_way(model, excluded, before):
        if not model.writing(before, number):
            continue
        planned = model.views(before)[before.requests[number].epoch]
        if planned.writes != wanted.writes:
            group = ", ".join(model.history.names(planned.writes))
            return f"{model.title_of(number)} goes to {group} alone"
        shards = model.shards_at_work(before, number)
        if shards and wanted.written_at & ~shards & model.all_shards:
            return f"{model.title_of(number)} is at work on {_named(model, shards)} alone"
    name, own = _own_choice(model, excluded, before)
    if own is not None and wanted.written_at & ~own.writes & model.all_shards:
        return f"{name} writes to {_named(model, own.writes)} alone"
    return None


def _reads_old_set(
    model: Storage, excluded: str, before: StorageState, after: StorageState
) -> str | None:
    """Reads that start from now on use the new set."""
    views, reads = model.views(before), model.newest(after).view.read_at
    for number, _ in _under_way(model, excluded, before):
        request = before.requests[number]
        if not model.mutations[number] and views[request.epoch].read_at != reads:
            return f"{model.title_of(number)} reads the old set"
    for name, known in zip(model.coordinators, after.known[model.replicas :], strict=True):
        if name != excluded and views[known].read_at != reads:
            return f"{name} may still read the old set"
    node, own = _own_choice(model, excluded, before)
    if own is not None and reads & model.all_shards & ~own.reads:
        return f"{node} still reads {_named(model, own.reads)}"
    return None


def _reaches_others(
    model: Storage, excluded: str, before: StorageState, after: StorageState
) -> str | None:
    """No write can reach a replica outside the new set."""
    view = model.newest(after).view
    for number, reached in _under_way(model, excluded, before):
        outside = reached & ~view.writes
        outside |= model.shards_at_work(before, number) & ~view.written_at
        if model.writing(before, number) and outside:
            return f"{model.title_of(number)} is on its way to {_named(model, outside)}"
    return None


# -- the shards of one node -----------------------------------------------------------------------


def _named(model: Storage, replicas: int) -> str:
    return ", ".join(model.history.names(replicas))


def _own_choice(model: Storage, excluded: str, s: StorageState) -> tuple[str, ShardChoice | None]:
    """The node that has shards, if it is waited for, and what it makes of requests by now."""
    sharded = model.history.sharded
    if sharded is None or holds(s.down, sharded.node):
        return "", None
    name = model.history.replicas[sharded.node]
    choice = model.views(s)[s.known[sharded.node]].shards
    return name, choice if name != excluded else None


_ASKS: dict[str, Callable[[Storage, str, StorageState, StorageState], str | None]] = {
    "write_both_read_old": _unready,
    "rebuild_repair": _writes_old_set,
    "streaming": _writes_old_set,
    "use_new": _reads_old_set,
    "cleanup": _reaches_others,
}
"""What the documents ask for as a stage is committed. What ``write_both_read_new`` asks for is the
promise of streaming (``INV-STREAM``)."""


# -- views and data -------------------------------------------------------------------------------


def _too_far_apart(
    model: Storage, excluded: str, before: StorageState, action: Any, after: StorageState
) -> str | None:
    """Adjacent stages differ in one selector at most; those that differ in none count as one."""
    if not isinstance(action, Admit | Serve | WriteBack) or action.replica == excluded:
        return None
    number, i = action.request, model.code[action.replica]
    if (
        model.workload[number].coordinator == excluded
        or model.answer(before, action).verdict != "ok"
    ):
        return None
    views, planned, known = model.views(before), before.requests[number].epoch, before.known[i]
    ours, theirs = views[planned], views[known]
    if ours.read_at == theirs.read_at or ours.written_at == theirs.written_at:
        return None
    return (
        f"{action.replica}, at {model.called(before, known)}, does {model.title_of(number)}, "
        f"planned at {model.called(before, planned)}: more than one stage apart"
    )


def _elsewhere(model: Storage, excluded: str, s: StorageState) -> str | None:
    view = model.views(s)[-1]
    kept = view.writes | view.written_at
    if view.stores != kept:
        return None
    outside = [
        name
        for i, name in enumerate(model.history.replicas)
        if s.cells[i] != NOTHING and not holds(kept | s.down, i) and name != excluded
    ]
    return (
        f"{', '.join(outside)} holds data of a tablet that it has no replica of"
        if outside
        else None
    )


def _not_there(
    model: Storage, excluded: str, before: StorageState, action: Any, after: StorageState
) -> str | None:
    if not isinstance(action, Admit | Serve | WriteBack) or action.replica == excluded:
        return None
    if model.answer(before, action).verdict != "not-a-member":
        return None
    i, request = model.code[action.replica], before.requests[action.request]
    return (
        f"{action.replica}, at {model.called(before, before.known[i])}, has no replica of the "
        f"tablet for {model.title_of(action.request)}, planned at "
        f"{model.called(before, request.epoch)}"
    )
