"""What goes wrong with tablets: work that fails, RPCs that are late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import working
from kit.protocols.tablets.tracks.coordinating import busy, data_work, piece_of
from kit.protocols.tablets.tracks.state import (
    LateRpc,
    TracksState,
    with_tablet,
    with_transition,
)

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

NO_FAULT = Refusal("no work may fail by itself any more")


def fails_by_itself(s: TracksState, piece: working.Piece) -> bool:
    """Whether a piece of work cannot succeed as things are: nobody needs to make it fail."""
    return bool(piece.hosts & ~s.control.reachable) or not piece.possible


def _with_failure(s: TracksState, piece: working.Piece) -> TracksState:
    if not fails_by_itself(s, piece):
        s = replace(s, failures=s.failures - 1)
    return _failed(s, piece)


def _failed(s: TracksState, piece: working.Piece) -> TracksState:
    failed = replace(piece.transition, failed=True)
    row = with_transition(s.tablets[piece.tablet], piece.place, failed)
    return with_tablet(s, piece.tablet, row)


def _may_fail(model: Tracks, s: TracksState, piece: working.Piece) -> Refusal | None:
    blocked = busy(model, s)
    if blocked is not None:
        return blocked
    if working.error_edge(model, s, piece.transition) is None:
        return Refusal("it is tried again until it succeeds")
    return None if fails_by_itself(s, piece) or s.failures else NO_FAULT


def _goes_on(model: Tracks, s: TracksState, piece: working.Piece) -> bool:
    """Whether the failure of a barrier leads on: past who is down, and past nobody else.

    Else a node could be two stages behind another one (INV-ONESTAGE).
    """
    edge = working.error_edge(model, s, piece.transition)
    return edge is not None and edge.kind == "proceed"


def _failing(model: Tracks, s: TracksState) -> Iterator[int]:
    """The tablets whose data work may fail; of very many, those where it cannot but fail."""
    if model.planner is None:
        yield from data_work(model, s)
        return
    hopeless = (p for p in working.pieces(model, s) if not p.work.barrier)
    yield from dict.fromkeys(p.tablet for p in hopeless if fails_by_itself(s, p))


def rules(model: Tracks) -> tuple[Rule[TracksState, Any], ...]:
    """Failures of barriers and of data work, and RPCs that come late."""

    def barriers(s: TracksState) -> list[working.Piece]:
        waiting = (piece for piece in working.pieces(model, s) if piece.work.barrier)
        return [p for p in waiting if working.error_edge(model, s, p.transition) is not None]

    def may_fail_barrier(s: TracksState, action: act.FailBarrier) -> Refusal | None:
        refused = _may_fail(model, s, barriers(s)[0])
        if refused is not None or not model.parameters.answering:
            return refused
        unheard = working.barrier_nodes(s) & s.control.reachable & ~s.answered
        on = any(_goes_on(model, s, piece) for piece in barriers(s))
        if unheard and on:
            return Refusal("who is up answers first", missing=working.named(model, unheard))
        return None

    def fail_barrier(s: TracksState, action: act.FailBarrier) -> TracksState:
        first, *others = barriers(s)
        s = _with_failure(s, first)
        for piece in others:
            s = _failed(s, piece)
        return s

    def may_fail_work(s: TracksState, action: act.FailTablet) -> Refusal | None:
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        return _may_fail(model, s, piece)

    def fail_work(s: TracksState, action: act.FailTablet) -> TracksState:
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        return _with_failure(s, piece)

    def delays(s: TracksState) -> Any:
        return map(act.DelayRpc, data_work(model, s)) if s.lates and s.late is None else ()

    def may_delay(s: TracksState, action: act.DelayRpc) -> Refusal | None:
        blocked = busy(model, s)
        if blocked is not None:
            return blocked
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        _, written = working.involved(model, s, piece.transition, piece.work.name)
        return None if written and not fails_by_itself(s, piece) else Refusal("no RPC is sent")

    def delay(s: TracksState, action: act.DelayRpc) -> TracksState:
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        _, written = working.involved(model, s, piece.transition, piece.work.name)
        stage, session = piece.transition.stage, piece.transition.session
        late = LateRpc(action.tablet, piece.work.name, written, stage, session)
        return replace(s, late=late, lates=s.lates - 1)

    def arrive(s: TracksState, action: act.ArriveLate) -> TracksState:
        late = s.late
        assert late is not None
        if late.sealed and model.setting.safeguards.sessions:
            return replace(s, late=None)
        return replace(_with_effect(s), late=replace(late, runs=True))

    def _with_effect(s: TracksState) -> TracksState:
        late = s.late
        assert late is not None
        row = working.effect(s.tablets[late.tablet], late.work, late.targets)
        return with_tablet(s, late.tablet, row)

    return (
        model.rule(
            act.FailBarrier,
            "fault",
            lambda s: (act.FailBarrier(),) if barriers(s) else (),
            may_fail_barrier,
            fail_barrier,
        ),
        model.rule(
            act.FailTablet,
            "fault",
            lambda s: map(act.FailTablet, _failing(model, s)),
            may_fail_work,
            fail_work,
        ),
        model.rule(act.DelayRpc, "late fault", delays, may_delay, delay),
        model.rule(
            act.ArriveLate,
            "late",
            lambda s: (act.ArriveLate(),) if s.late and not s.late.runs else (),
            lambda s, a: None,  # who is down gets none: ``Tracks.settled`` drops it
            arrive,
        ),
        model.rule(
            act.EndLate,
            "late",
            lambda s: (act.EndLate(),) if s.late and s.late.runs else (),
            lambda s, a: None,
            lambda s, a: replace(_with_effect(s), late=None),
        ),
    )
