"""What a tcm model is built from: a ring, its keyspaces, the operations at hand, the switches."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tcm.rules.operations import Operation, parse_operation, register, validate
from kit.protocols.tcm.rules.steps import SHAPES, Shape
from kit.ring.ranges import Range
from kit.ring.replication import (
    LARGEST_FACTOR,
    EverywhereStrategy,
    Keyspace,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.sizes import Stored
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring

STEP = 100
MOST_NODES = 1000
MOST_TOKENS = 256
STRATEGIES = ("simple", "network", "everywhere")
BRINGS = ("join", "replace")


class TcmParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a tcm model.

    A generated ring has ``nodes`` nodes with ``tokens`` evenly spread tokens each (100, 200, …),
    dealt round robin to ``dcs`` datacenters of ``racks`` racks, and one keyspace ``ks`` with
    ``rf`` replicas (a datacenter, for strategy ``network``). ``members`` and ``keyspaces`` give
    another ring instead; then ``low`` and ``high`` are the ends of its token space (None:
    Murmur3's). ``operations`` are lines such as ``join X --tokens 150``; none means one join into
    the middle of the second range; they may also be about nodes that others of them bring.
    ``menu`` adds what else one may try. ``shape`` is ``cep`` or ``implementation``; ``epoch`` that
    of the first state; ``crashes`` and ``cancels`` are budgets
    for such actions; ``window`` is how far ahead of a gap an entry may arrive (1: never);
    ``peers`` lets nodes ask one another for the log, ``holds`` a test hold any commit back, and
    the way of events to any node.
    ``barrier`` False lets steps go on without one, ``merge`` False leaves equal neighbours as they
    are at the end of an operation. ``focus`` is the part of the line that the
    worked example shows. ``stored`` tells that this is somebody's own ring, and how many bytes it
    holds as far as that is known.
    """

    nodes: int = 3
    tokens: int = 1
    rf: int = 2
    strategy: str = "simple"
    dcs: int = 1
    racks: int = 1
    members: tuple[Node, ...] = ()
    keyspaces: tuple[Keyspace, ...] = ()
    low: int | None = None
    high: int | None = None
    operations: tuple[str, ...] = ()
    menu: bool = False
    shape: Shape = "cep"
    epoch: int = 0
    crashes: int = 0
    cancels: int = 0
    window: int = 1
    peers: bool = False
    holds: bool = False
    barrier: bool = True
    merge: bool = True
    focus: tuple[int, int] | None = None
    stored: Stored | None = None


class Cluster(Struct, frozen=True):
    """A checked configuration: the ring at rest and what may be done to it.

    ``names`` are all nodes that may ever take part, members first.
    """

    ring: Ring
    keyspaces: tuple[Keyspace, ...]
    operations: tuple[Operation, ...]
    names: tuple[str, ...]
    focus: Range | None


def cluster(given: TcmParameters) -> Cluster:
    """The configuration that the parameters describe.

    Raises:
        BadInput: naming the parameter that is out of its limits.
    """
    _check_limits(given)
    ring = Ring.of(given.members, _space(given)) if given.members else _generated(given)
    keyspaces = given.keyspaces or (Keyspace("ks", _replication(given)),)
    _check_keyspaces(ring, keyspaces)
    operations = tuple(parse_operation(text) for text in given.operations)
    if not operations:
        operations = (_newcomer(ring),)
    if given.menu:
        operations = _menu(ring, operations)
    brought = {operation.node for operation in operations if operation.kind in BRINGS}
    for operation in operations:
        if _about(operation) in brought:
            for place, token in enumerate(operation.tokens):
                ring.space.check(token, f"tokens[{place}]")
        else:
            validate(ring, keyspaces, operation)
    # Nodes that come later are known from the start, so that a node keeps its code for ever.
    for operation in operations:
        ring = register(ring, operation)
    focus = Range(*given.focus) if given.focus else None
    return Cluster(ring, keyspaces, operations, ring.names, focus)


def _about(operation: Operation) -> str | None:
    """The member that an operation is about; another of the list may have to bring it first."""
    if operation.kind == "replace":
        return operation.target
    return None if operation.kind == "join" else operation.node


def _check_limits(given: TcmParameters) -> None:
    limits = {
        "nodes": (given.nodes, 1, MOST_NODES),
        "tokens": (given.tokens, 1, MOST_TOKENS),
        "rf": (given.rf, 1, MOST_NODES),
        "dcs": (given.dcs, 1, given.nodes),
        "racks": (given.racks, 1, MOST_NODES),
        "crashes": (given.crashes, 0, 1000),
        "cancels": (given.cancels, 0, 1000),
        "window": (given.window, 1, 64),
        "epoch": (given.epoch, -(2**62), 2**63 - 1),
    }
    for field, (value, least, most) in limits.items():
        if not least <= value <= most:
            raise BadInput(field, value, f"a number from {least} to {most}")
    if given.strategy not in STRATEGIES:
        raise BadInput("strategy", given.strategy, "one of " + ", ".join(STRATEGIES))
    if given.shape not in SHAPES:
        raise BadInput("shape", given.shape, "one of " + ", ".join(SHAPES))
    for field, end in (("low", given.low), ("high", given.high)):
        if end is not None and not given.members:
            raise BadInput(field, end, "an end of the line only together with members")
    if given.focus is not None and given.focus[0] >= given.focus[1]:
        raise BadInput("focus", given.focus, "a left bound below a right bound")


def _check_keyspaces(ring: Ring, keyspaces: tuple[Keyspace, ...]) -> None:
    names = [keyspace.name for keyspace in keyspaces]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput("keyspaces", twice, "each keyspace once")
    known = sorted({node.dc for node in ring.nodes if node.tokens})
    for keyspace in keyspaces:
        _check_factors(keyspace)
        if isinstance(keyspace.replication, NetworkTopologyStrategy):
            for dc, _ in keyspace.replication.factors:
                if dc not in known:
                    raise BadInput(f"keyspace {keyspace.name}", dc, "one of " + ", ".join(known))


def _check_factors(keyspace: Keyspace) -> None:
    """Parameters may come from a trace, which nobody read as strictly as a ring file."""
    factors: tuple[tuple[str, int], ...] = ()
    least = 0
    if isinstance(keyspace.replication, SimpleStrategy):
        factors, least = (("replication_factor", keyspace.replication.replication_factor),), 1
    elif isinstance(keyspace.replication, NetworkTopologyStrategy):
        factors = keyspace.replication.factors
    for name, factor in factors:
        if not least <= factor <= LARGEST_FACTOR:
            allowed = f"a number from {least} to {LARGEST_FACTOR}"
            raise BadInput(f"keyspace {keyspace.name}: {name}", factor, allowed)


def _space(given: TcmParameters) -> TokenSpace:
    if given.low is None and given.high is None:
        return MURMUR3
    low, high = given.low or 0, given.high
    if high is None or low >= high:
        raise BadInput("high", high, f"a last token above low ({low})")
    return small(high, low)


def _generated(given: TcmParameters) -> Ring:
    """Evenly spread tokens, dealt to the nodes in turn."""
    count = given.nodes
    nodes = tuple(
        Node(
            node_name(i, count),
            tuple(STEP * (turn * count + i + 1) for turn in range(given.tokens)),
            f"dc{i % given.dcs + 1}",
            f"r{i // given.dcs % given.racks + 1}",
        )
        for i in range(count)
    )
    return Ring.of(nodes, small(STEP * (count * given.tokens + 1)))


def node_name(i: int, count: int) -> str:
    """A, B, C… in small rings (X, Y and Z are left for newcomers), n1, n2… in large ones."""
    return "ABCDEFGHIJKLMNOPQRSTUVW"[i] if count <= 23 else f"n{i + 1}"


def _replication(given: TcmParameters) -> Replication:
    match given.strategy:
        case "network":
            return NetworkTopologyStrategy(
                tuple((f"dc{i + 1}", given.rf) for i in range(given.dcs))
            )
        case "everywhere":
            return EverywhereStrategy()
        case _:
            return SimpleStrategy(given.rf)


def _newcomer(ring: Ring, name: str = "X", gap: int = 0) -> Operation:
    """A join into the middle of ranges spread over the ring, as many as the first node owns."""
    rights = [int(token) for token in ring.tokens]
    if len(rights) < 2:
        low = rights[0] if rights else ring.space.low
        return Operation("join", name, ((low + ring.space.high + 1) // 2,))
    wanted = len(ring.nodes[0].tokens) or 1
    every = max(1, len(rights) // wanted)
    tokens = []
    for i in range(gap, len(rights) - 1, every):
        middle = (rights[i] + rights[i + 1]) // 2
        if rights[i] < middle:
            tokens.append(middle)
    if not tokens:
        raise BadInput("tokens", "no free token between neighbours", "operations of your own")
    return Operation("join", name, tuple(tokens[:wanted]))


def _menu(ring: Ring, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The given operations and, for every member, what else one may do to it."""
    members = [node for node in ring.nodes if node.tokens]
    found = list(operations)
    for kind in ("leave", "remove", "assassinate"):
        found += [Operation(kind, node.name) for node in members]
    taken = {token for operation in operations for token in operation.tokens}
    taken |= set(ring.tokens.tolist())
    for node in members:
        tokens = tuple(token + STEP // 4 for token in node.tokens)
        if len(tokens) == 1 and not taken & set(tokens) and max(tokens) <= ring.space.high:
            found.append(Operation("move", node.name, tokens))
    newcomers = [operation.node for operation in operations]
    if "Z" not in newcomers:
        found += [Operation("replace", "Z", target=node.name) for node in members]
    return tuple(dict.fromkeys(found))
