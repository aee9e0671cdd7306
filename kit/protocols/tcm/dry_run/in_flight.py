"""Operations that the tools of a cluster show in progress, as operations of the protocol."""

from __future__ import annotations

from kit.errors import BadInput, Refusal
from kit.operators.importers.opening import Imported, InFlight
from kit.protocols.tcm.rules.operations import Operation


def operation_of(seen: InFlight) -> Operation | None:
    """The operation to rehearse; None when its tokens are not known."""
    if not seen.complete:
        return None
    if seen.kind == "bootstrap":
        return Operation("bootstrap", seen.node, seen.tokens, dc=seen.dc, rack=seen.rack)
    return Operation(seen.kind, seen.node, seen.tokens)


def operations_of(given: Imported) -> tuple[Operation, ...]:
    """Those of an import that can be rehearsed, in its order."""
    operations = (operation_of(seen) for seen in given.in_flight)
    return tuple(operation for operation in operations if operation is not None)


def check_begins(operation: Operation, refusal: Refusal | None) -> None:
    """What the tools show in flight must have been able to begin.

    Raises:
        BadInput: naming the operation, with the reason of the refusal.
    """
    if refusal is not None:
        allowed = f"one that may begin ({refusal.reason})"
        raise BadInput("operation in flight", operation.text, allowed)
