"""One state of a truncate as people ask of it: its phases, who holds which rows, what travels."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from kit.engine.flows import Flow, FlowKind, FlowTable, Travels
from kit.protocols.tablets.facts.barriers import barrier_flows
from kit.protocols.tablets.facts.spots import LOG, NETWORK, host_spot
from kit.protocols.tablets.truncate import state as act
from kit.protocols.tablets.truncate.model import Truncate
from kit.protocols.tablets.truncate.state import (
    NEW_ROWS,
    OLD_ROWS,
    TruncateAction,
    TruncatePhase,
    TruncateState,
)

PHASES: tuple[TruncatePhase, ...] = get_args(TruncatePhase)


class TruncatedNode(Struct, frozen=True):
    """A node: the session that it knows (0: none), its rows, what it has to do with the RPC.

    ``is_replica``: it holds rows of the table. ``behind``: group 0 says another session.
    """

    name: str
    is_replica: bool
    session: int
    behind: bool
    old_rows: bool
    new_rows: bool
    answered: bool
    late: bool


def nodes(m: Truncate, s: TruncateState) -> tuple[TruncatedNode, ...]:
    """Every node."""
    return tuple(
        TruncatedNode(
            *(name, name in m.replicas, s.views[i], s.views[i] != s.session),
            *(bool(s.rows[i] & OLD_ROWS), bool(s.rows[i] & NEW_ROWS)),
            *(bool(s.answered >> i & 1), bool(s.late >> i & 1)),
        )
        for i, name in enumerate(m.names)
    )


def _applied(
    m: Truncate, before: TruncateState, action: act.LearnSession, after: TruncateState
) -> tuple[Flow, ...]:
    words = f"session {after.session}" if after.session else "no session"
    text = f"group 0 → {action.node}: {words}"
    return (Flow("entry", LOG, host_spot(action.node), words, text),)


def _passed(
    m: Truncate, before: TruncateState, action: act.PassSessionBarrier, after: TruncateState
) -> tuple[Flow, ...]:
    return barrier_flows(m.names)


def _sent(
    m: Truncate, before: TruncateState, action: act.SendTruncate, after: TruncateState
) -> tuple[Flow, ...]:
    node, spot = action.node, host_spot(action.node)
    return (
        Flow("request", LOG, spot, "truncate", f"coordinator → {node}: truncate"),
        Flow("answer", spot, LOG, "done", f"{node} → coordinator: truncated", 1),
    )


def _delayed(
    m: Truncate, before: TruncateState, action: act.DelayTruncate, after: TruncateState
) -> tuple[Flow, ...]:
    text = f"coordinator → network: truncate for {action.node}"
    return (Flow("message", LOG, NETWORK, "truncate", text),)


def _arrived(
    m: Truncate, before: TruncateState, action: act.ArriveTruncate, after: TruncateState
) -> tuple[Flow, ...]:
    node = action.node
    inside = m.let_in(before, m.number(node))
    words = "let in" if inside else "refused"
    kind: FlowKind = "data" if inside else "refusal"
    text = f"network → {node}: late truncate, {words}"
    return (Flow(kind, NETWORK, host_spot(node), words, text),)


_MOVING: dict[type, Travels] = {
    act.LearnSession: _applied,
    act.PassSessionBarrier: _passed,
    act.SendTruncate: _sent,
    act.DelayTruncate: _delayed,
    act.ArriveTruncate: _arrived,
}
# Commands change group 0 alone; clients and tablets are not drawn.
FLOWS = FlowTable(_MOVING, tuple(kind for kind in get_args(TruncateAction) if kind not in _MOVING))
