"""The edge: the names in an operation become node codes here, once.

Rules get the codes. A node keeps its code for ever, so newcomers are registered before anything
begins; whether an operation makes sense is asked of the ring of the moment (``validate``).
"""

from __future__ import annotations

from collections.abc import Iterable

from kit.protocols.tcm.rules.operations import (
    BRINGS,
    Operation,
    ResolvedOperation,
    no_member,
    place,
)
from kit.ring.topology import Node, Ring


def register(ring: Ring, operations: Iterable[Operation]) -> Ring:
    """The ring in which the newcomers of operations are known, still without tokens.

    Unless its operation says where, a replacement is put where the replaced node is; a joining
    node where it was before, or beside the ring's first one.
    """
    for operation in operations:
        if operation.kind in BRINGS:
            ring = _registered(ring, operation)
    return ring


def _registered(ring: Ring, operation: Operation) -> Ring:
    codes = {name: code for code, name in enumerate(ring.names)}
    beside = ring.nodes[codes.get(operation.target or operation.node, 0)]
    where = place(operation, beside)
    if operation.node in codes:
        return ring.placed(codes[operation.node], *where)
    return ring.join(Node(operation.node, (), *where))


def resolve(ring: Ring, operation: Operation) -> ResolvedOperation:
    """The operation by node codes; its newcomer is registered.

    Raises:
        BadInput: for a name that no node of the ring has.
    """
    codes = {name: code for code, name in enumerate(ring.names)}
    for name in operation.involved:
        if name not in codes:
            raise no_member(ring, name)
    target = None if operation.target is None else codes[operation.target]
    return ResolvedOperation(operation, codes[operation.node], target)


def enter(
    ring: Ring, operations: Iterable[Operation]
) -> tuple[Ring, tuple[ResolvedOperation, ...]]:
    """The ring that knows the newcomers of operations, and these by node codes.

    Raises:
        BadInput: for a name that no node of the ring has.
    """
    given = tuple(operations)
    ring = register(ring, given)
    return ring, tuple(resolve(ring, operation) for operation in given)
