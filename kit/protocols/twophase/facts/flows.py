"""What travels in a step of two-phase commit.

A message travels in the step in which it is read: until then it is in the network. Who prepares,
decides or gives up moves nothing yet.
"""

from __future__ import annotations

from kit.engine.flows import Flow, FlowTable
from kit.protocols.twophase.facts.moment import decision
from kit.protocols.twophase.model import (
    Decide,
    GiveUp,
    Prepare,
    ReceiveDecision,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseState,
)

DECIDER = "n:TM"


def spot(name: str) -> str:
    """The key of a resource manager in the picture."""
    return f"n:{name}"


def _prepared(
    m: TwoPhase, before: TwoPhaseState, action: ReceivePrepared, after: TwoPhaseState
) -> tuple[Flow, ...]:
    name = f"RM{action.rm}"
    text = f"{name} → transaction manager: prepared"
    return (Flow("message", spot(name), DECIDER, "prepared", text),)


def _decision(
    m: TwoPhase, before: TwoPhaseState, action: ReceiveDecision, after: TwoPhaseState
) -> tuple[Flow, ...]:
    name, label = f"RM{action.rm}", decision(after)
    text = f"transaction manager → {name}: {label}"
    return (Flow("message", DECIDER, spot(name), label, text),)


FLOWS = FlowTable(
    {ReceivePrepared: _prepared, ReceiveDecision: _decision}, (Prepare, Decide, GiveUp)
)
