"""Who coordinates: the lead of group 0 changes, and what the last leader decided comes late.

A coordinator that is up is deposed only as often as the budget has it; one that is dead or not
heard is followed freely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.state import ControlState, majority_refusal, voting

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """The election of a coordinator, and the late command of the one before."""
    return (
        model.rule(
            act.CommitDeposed,
            "deposed",
            lambda s: (act.CommitDeposed(),) if s.deposed is not None else (),
            majority_refusal,
            lambda s, a: _commit_deposed(s, model),
        ),
        model.rule(
            act.ElectCoordinator,
            "elect",
            lambda s: model.each(act.ElectCoordinator, _electable(s)),
            majority_refusal,
            lambda s, a: _elect(s, a, model),
        ),
    )


def _commit_deposed(s: ControlState, model: Topology) -> ControlState:
    assert s.deposed is not None
    s = work.committed(replace(s, deposed=None), s.deposed, model.setting)
    # It may be the fence of the very barrier that the new coordinator has the answers to.
    return s if s.coordinator == NOBODY else work.advanced(s, model.setting)


def _leads(s: ControlState) -> bool:
    return s.coordinator != NOBODY and bool(s.reachable >> s.coordinator & 1)


def _electable(s: ControlState) -> int:
    """The voters that can be the next leader (a mask)."""
    if _leads(s) and not s.faults.changes:
        return 0
    others = voting(s) & s.reachable
    return others if s.coordinator == NOBODY else others & ~(1 << s.coordinator)


def _elect(s: ControlState, action: act.ElectCoordinator, model: Topology) -> ControlState:
    if _leads(s):
        s = replace(s, faults=replace(s.faults, changes=s.faults.changes - 1))
    return work.elected(s, model.number[action.node], model.setting)
