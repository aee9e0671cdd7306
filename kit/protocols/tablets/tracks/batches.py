"""Steps for a cluster with very many tablets: all of a plan begins, all are worked on at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import balancing, planning, working
from kit.protocols.tablets.tracks.coordinating import begins_track, busy, decided, planned_on
from kit.protocols.tablets.tracks.state import (
    TabletCommand,
    TabletTransition,
    TracksState,
    with_tablets,
)
from kit.protocols.topology.coordinator import IN_HAND

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


def rules(model: Tracks) -> tuple[Rule[TracksState, Any], ...]:
    """How a plan begins, and how its tablets are worked on."""
    return _begin_plan(model), _work_on_all(model)


def _begin_plan(model: Tracks) -> Rule[TracksState, Any]:
    """The rule by which the coordinator decides on the balancer's next plan."""

    def candidates(s: TracksState) -> tuple[act.BeginPlan, ...]:
        return (act.BeginPlan(),) if planned_on(model, s) and any(balancing.plan(model, s)) else ()

    def condition(s: TracksState, action: act.BeginPlan) -> Refusal | None:
        if not begins_track(model, s):
            return busy(model, s)
        if s.command is not None or not s.control.started:
            return IN_HAND
        end = decided(model, s)
        return end if isinstance(end, Refusal) else None

    def effect(s: TracksState, action: act.BeginPlan) -> TracksState:
        begins = tuple(_transitions(model, s))
        joint = begins_track(model, s)
        control: Any = decided(model, s) if joint else s.control
        return replace(s, control=control, command=TabletCommand(begins=begins, joint=joint))

    return model.rule(act.BeginPlan, "decide", candidates, condition, effect)


def _transitions(model: Tracks, s: TracksState) -> Iterator[tuple[int, TabletTransition]]:
    for each in balancing.plan(model, s):
        row = s.tablets[each.tablet]
        new = planning.replaced(row, each.source, each.target)
        yield each.tablet, TabletTransition(each.kind, "", row.replicas, new)


def _work_on_all(model: Tracks) -> Rule[TracksState, Any]:
    """The rule by which the next piece of data work is done on all tablets."""

    def candidates(s: TracksState) -> tuple[act.WorkOnAll, ...]:
        waits = any(not piece.work.barrier for piece in working.pieces(model, s))
        return (act.WorkOnAll(),) if waits else ()

    def condition(s: TracksState, action: act.WorkOnAll) -> Refusal | None:
        blocked = busy(model, s)
        if blocked is not None:
            return blocked
        if any(_possible(s, piece) for piece in _data_pieces(model, s)):
            return None
        missing = 0
        for piece in _data_pieces(model, s):
            missing |= piece.hosts & ~s.control.reachable
        if missing:
            return Refusal("a replica is not heard", missing=working.named(model, missing))
        return Refusal("nobody is left to stream from")

    def effect(s: TracksState, action: act.WorkOnAll) -> TracksState:
        rows = {
            piece.tablet: working.worked_row(model, s, piece)
            for piece in _data_pieces(model, s)
            if _possible(s, piece)
        }
        return with_tablets(s, rows)

    return model.rule(act.WorkOnAll, "work", candidates, condition, effect)


def _data_pieces(model: Tracks, s: TracksState) -> Iterator[working.Piece]:
    """The pieces of data work that come next."""
    return (piece for piece in working.pieces(model, s) if not piece.work.barrier)


def _possible(s: TracksState, piece: working.Piece) -> bool:
    return piece.possible and not piece.hosts & ~s.control.reachable
