"""What goes wrong while a node joins: crashes, new coordinators, a removed node that is back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.actors import ActorState
from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.topology.handshake import actions as act
from kit.protocols.topology.handshake.actors import MemberState
from kit.protocols.topology.handshake.messages import JOINER, REMOVED
from kit.protocols.topology.handshake.state import (
    joiner,
    member,
    members,
    removed,
    tables,
    up,
    with_member,
    with_tables,
)
from kit.protocols.topology.rules.joining import FEATURE

if TYPE_CHECKING:
    from kit.protocols.topology.handshake.model import Join


def rules(model: Join) -> tuple[Rule[ActorState, Any], ...]:
    """Crashes and restarts, as far as there is a budget for them."""
    given = model.given

    def starts(s: ActorState) -> list[act.StartAgain]:
        # A member tells the others of a change of its features first, which is not played.
        drops = given.downgrades and FEATURE in joiner(s).features and not joiner(s).attempt
        return [act.StartAgain(False), *([act.StartAgain(True)] if drops else [])]

    def may_start(s: ActorState, action: act.StartAgain) -> Refusal | None:
        state = joiner(s)
        if state.status == "normal":
            return Refusal("it has joined: its restarts are no part of the handshake")
        left = given.restarts + state.disk - state.boot
        return None if left > 0 else Refusal("the budget of restarts is spent")

    def may_wipe(s: ActorState, action: act.WipeAndStart) -> Refusal | None:
        if joiner(s).status != "stopped":
            return Refusal("it has not stopped")
        spent = joiner(s).disk > given.wipes
        return Refusal("the budget of wipes is spent") if spent else None

    def mortal(s: ActorState) -> list[act.MemberRestarts]:
        return [act.MemberRestarts(name) for name in up(s)] if given.outages else []

    def may_restart(s: ActorState, action: act.MemberRestarts) -> Refusal | None:
        spent = sum(each.outages for each in members(s))
        return None if spent < given.outages else Refusal("the budget of outages is spent")

    return (
        paired(
            act.StartAgain,
            "crash",
            starts,
            may_start,
            lambda s, a: model.advance(s, JOINER, a),
        ),
        paired(
            act.WipeAndStart,
            "wipe",
            lambda s: (act.WipeAndStart(),) if given.wipes else (),
            may_wipe,
            lambda s, a: model.advance(s, JOINER, a),
        ),
        paired(act.MemberRestarts, "outage", mortal, may_restart, _restarted),
        paired(
            act.TakeTheLead,
            "elect",
            lambda s: [] if tables(s).coordinator else [act.TakeTheLead(n) for n in up(s)],
            lambda s, a: None,
            lambda s, a: with_tables(s, replace(tables(s), coordinator=a.node)),
        ),
        paired(
            act.WakeUp,
            "wake",
            _sleeping,
            lambda s, a: None,
            lambda s, a: model.advance(s, REMOVED, a),
        ),
    )


def _restarted(s: ActorState, action: act.MemberRestarts) -> ActorState:
    """A member forgets what it was at; a coordinator is none any more."""
    had = member(s, action.node)
    again = MemberState(had.name, banned=had.banned, stored=had.stored, outages=had.outages + 1)
    s = with_member(s, again)
    if tables(s).coordinator != action.node:
        return s
    return with_tables(s, replace(tables(s), coordinator=""))


def _sleeping(s: ActorState) -> tuple[Any, ...]:
    state = removed(s)
    return (act.WakeUp(),) if state is not None and not state.awake else ()
