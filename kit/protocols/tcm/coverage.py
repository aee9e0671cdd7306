"""The transitions of the tcm tables: the kinds of action, and each operation's state diagram."""

from __future__ import annotations

from typing import Any

from kit.engine.model import TransitionRows
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.rules.history import finished_step
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel, Sequence
from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.rules.steps import BEFORE, transitions

KINDS = ("begin", "stream", "commit", "cancel", "crash", "restart", "apply", "deliver")


def rows(model: TcmCluster) -> TransitionRows:
    """The kinds of action, and the diagrams of the kinds of operation that the model can begin."""
    kinds = dict.fromkeys(operation.kind for operation in model.tcm.cluster.operations)
    drawn = {
        (kind, state, event): f"{kind}: {state} - {event}"
        for kind in kinds
        for state, event, _ in transitions(kind, model.parameters.edition)
    }

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        own = action.action
        kind = model.kind(action)
        if not isinstance(own, Begin | Advance | Cancel):
            return (kind,)
        row = drawn.get(_row(model, after))
        return (kind,) if row is None else (kind, row)

    return TransitionRows((*KINDS, *drawn.values()), taken)


def _row(model: TcmCluster, after: Any) -> tuple[Kind, str, str]:
    """The kind of operation, its state before the last event, and the step that the event does."""
    event = model.tcm.committed(after.tcm.events)
    kind = event.operation.kind
    return kind, BEFORE[kind] if event.before is None else _state(event.before), event.step


def _state(sequence: Sequence) -> str:
    """The state of an operation in its diagram."""
    return "reads back" if sequence.undoing else finished_step(sequence).name
