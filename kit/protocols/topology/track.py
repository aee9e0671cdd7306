"""The tablet track as one piece of work: transitions come to their end, all or some of them.

On which nodes tablets are then may be open (``placing``), for models that play the transitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.topology import actions as act
from kit.protocols.topology.rules.tablets import drained, tablets_moved, tablets_placed
from kit.protocols.topology.state import ControlState, majority_refusal, with_topology

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


def rule(model: Topology) -> Rule[ControlState, Any]:
    """The rule of tablets that move."""
    return model.rule(
        act.MoveTablets,
        "tablets",
        lambda s: _moves(s, model),
        lambda s, a: _may_move(s, a, model),
        lambda s, a: _moved(s, a, model),
    )


def _moves(s: ControlState, model: Topology) -> Iterable[act.MoveTablets]:
    if s.topology.tablets != "moving":
        return ()
    if not model.parameters.placing:
        return (act.MoveTablets(),)
    sets = (model.named(mask) for mask in range(1 << len(model.names)))
    return (act.MoveTablets(on, more) for on in sets for more in (False, True))


def _may_move(s: ControlState, action: act.MoveTablets, model: Topology) -> Refusal | None:
    # What others go on after may have been decided by an earlier coordinator.
    blocked = majority_refusal(s, action) if action.more else model.busy(s)
    if blocked is not None:
        return blocked
    track = s.topology.transition in ("tablet_migration", "tablet_draining")
    if not track and model.setting.safeguards.tablet_track_excludes:
        return Refusal("a node operation holds the state machine")
    if action.on is None or action.more or not _drains(s, model):
        return None
    left = drained(s.topology) & model.plan.mask(action.on, "on")
    return Refusal("tablets are left", missing=model.named(left)) if left else None


def _drains(s: ControlState, model: Topology) -> bool:
    """Whether the track drains who is to leave: edition ``documents`` does so in a state of its
    own.
    """
    return model.limited or s.topology.transition == "tablet_draining"


def _moved(s: ControlState, action: act.MoveTablets, model: Topology) -> ControlState:
    if action.on is None:
        return with_topology(s, tablets_moved(s.topology))
    on = model.plan.mask(action.on, "on")
    return with_topology(s, tablets_placed(s.topology, on, more=action.more))
