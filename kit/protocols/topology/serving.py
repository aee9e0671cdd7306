"""What nodes do beside the coordinator: clients' requests by a version, RPCs left behind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.topology import actions as act
from kit.protocols.topology.rules.cluster import NOBODY, mask_of
from kit.protocols.topology.rules.fence import is_drained, is_open, is_served, local_view
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.work import TRUNCATES, state_of, under_way
from kit.protocols.topology.state import ControlState, view_of

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

TRUNCATE = "truncate_table"
SERVING_STATES = ("normal", "decommissioning", "removing", "rebuilding")
"""The states in which a node takes requests of clients."""


def drain_refusal(s: ControlState, node: int, setting: Setting) -> Refusal | None:
    """Why a node does not answer a barrier yet: older requests, or work of a closed session."""
    view = local_view(s.topology)
    if s.client == node and not is_drained(s.client_version, view, setting.safeguards):
        return Refusal("a request by an older version still runs here")
    if s.leftover_at == node and not is_open(s.leftover, view, setting.safeguards):
        return Refusal("work of a session that is closed still runs here")
    return None


def served(s: ControlState, replica: int, setting: Setting) -> bool:
    """Whether the replica serves the client's request, or finds it below its fence."""
    return is_served(s.client_version, view_of(s, replica), setting.safeguards)


def let_in(s: ControlState, node: int, setting: Setting) -> bool:
    """Whether a node lets in what was left behind, by the permit of its session."""
    return is_open(s.leftover, view_of(s, node), setting.safeguards)


def is_truncating(s: ControlState, setting: Setting) -> bool:
    """Whether the coordinator's next piece of work is to send the RPCs of a truncate."""
    operation = under_way(s.topology)
    if operation is None or operation.machine != TRUNCATE or s.coordinator == NOBODY:
        return False
    rows = state_of(operation, setting).work[s.attempted.step :]
    return bool(s.topology.session and rows and rows[0].name == TRUNCATES)


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """Requests of clients, and RPCs of sessions that were left behind."""
    setting, number = model.setting, model.number

    def takes_clients(s: ControlState) -> Iterable[Any]:
        if s.client != NOBODY or not s.faults.clients:
            return ()
        serving = mask_of(s.topology, *SERVING_STATES) & s.up
        return model.each(act.BeginRequest, serving)

    def begin(s: ControlState, action: act.BeginRequest) -> ControlState:
        node = number[action.node]
        left = replace(s.faults, clients=s.faults.clients - 1)
        version = view_of(s, node).version
        return replace(s, client=node, client_version=version, faults=left)

    def replicas(s: ControlState) -> Iterable[Any]:
        if s.client == NOBODY:
            return ()
        return model.each(act.ServeRequest, s.topology.members & s.up)

    def hears(s: ControlState, action: act.ServeRequest) -> Refusal | None:
        apart = s.apart & (1 << s.client | 1 << number[action.replica])
        alone = number[action.replica] == s.client
        return Refusal("one of the two is not heard") if apart and not alone else None

    def over(s: ControlState, action: act.ServeRequest) -> ControlState:
        return replace(s, client=NOBODY, client_version=0)

    def sends(s: ControlState) -> bool:
        """Whether an RPC of the session is on its way: a part of a stream, a truncate."""
        return s.attempted.streaming or is_truncating(s, setting)

    def may_leave_behind(s: ControlState, action: act.LeaveBehind) -> Refusal | None:
        return None if s.leftover == 0 else Refusal("an RPC of a session was left behind already")

    def leave_behind(s: ControlState, action: act.LeaveBehind) -> ControlState:
        left = replace(s.faults, late=s.faults.late - 1)
        return replace(s, leftover=s.topology.session, leftover_at=NOBODY, faults=left)

    def arrivals(s: ControlState) -> Iterable[Any]:
        if not s.leftover or s.leftover_at != NOBODY:
            return ()
        return model.each(act.LateArrival, s.topology.members & s.reachable)

    def arrive(s: ControlState, action: act.LateArrival) -> ControlState:
        node = number[action.node]
        if let_in(s, node, setting):
            return replace(s, leftover_at=node)
        return replace(s, leftover=0, sealed=False)

    def end(s: ControlState, action: act.EndLeftover) -> ControlState:
        return replace(s, leftover=0, leftover_at=NOBODY, sealed=False)

    def always(s: ControlState, action: Any) -> None:
        return None

    behind, ended = (act.LeaveBehind(),), (act.EndLeftover(),)
    return (
        model.rule(act.BeginRequest, "client", takes_clients, always, begin),
        model.rule(act.ServeRequest, "client", replicas, hears, over),
        model.rule(
            act.LeaveBehind,
            "late fault",
            lambda s: behind if s.faults.late and sends(s) else (),
            may_leave_behind,
            leave_behind,
        ),
        model.rule(act.LateArrival, "late", arrivals, always, arrive),
        model.rule(
            act.EndLeftover,
            "late",
            lambda s: ended if s.leftover_at != NOBODY else (),
            always,
            end,
        ),
    )
