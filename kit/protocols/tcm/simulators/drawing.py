"""What a simulated cluster is drawn from: a seed, its size, and how much may go on at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from kit.engine.bounds import bounds_of
from kit.engine.chance import Chance
from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.operations import EDITIONS, Edition, Operation
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.topology import Node

SPREAD = 1000  # tokens of the line for each token that is ever owned
MOST_NODES, MOST_FACTOR, MOST_AT_ONCE, MOST_TOKENS = 200, 12, 32, 16
STRATEGIES = ("simple", "network")
ENOUGH = 1000  # cancels: more than there is occasion for


class Size(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is simulated.

    The cluster grows at random up to ``nodes`` nodes with ``tokens`` tokens each and shrinks again.
    ``rf`` replicas (for strategy ``network`` in each of ``dcs`` datacenters of ``racks`` racks);
    ``parallelism`` operations may be under way at once. ``cancelling`` is the chance, at each turn,
    that one of them is cancelled. ``edition`` is the protocol's.
    """

    nodes: int = 12
    rf: int = 3
    parallelism: int = 3
    strategy: str = "simple"
    dcs: int = 1
    racks: int = 1
    tokens: int = 1
    cancelling: float = 0.06
    edition: Edition = "documents"

    @property
    def fewest(self) -> int:
        """The nodes that there are at the start, and no fewer ever: one more than is needed."""
        return (self.rf + 1) * (self.dcs if self.strategy == "network" else 1)


def size_of(given: Mapping[str, Any]) -> Size:
    """A size from its fields by name.

    Raises:
        BadInput: for an unknown field, or a value of another type or out of its limits.
    """
    return checked(bounds_of(Size, "size", given, "as a size has it"))


def checked(size: Size) -> Size:
    """The size itself.

    Raises:
        BadInput: naming what is out of its limits.
    """
    limits = {
        "rf": (size.rf, 1, MOST_FACTOR),
        "parallelism": (size.parallelism, 1, MOST_AT_ONCE),
        "tokens": (size.tokens, 1, MOST_TOKENS),
        "dcs": (size.dcs, 1, 4),
        "racks": (size.racks, 1, 12),
    }
    for field, (value, least, most) in limits.items():
        if not least <= value <= most:
            raise BadInput(field, value, f"a number from {least} to {most}")
    for field, word, known in (
        ("strategy", size.strategy, STRATEGIES),
        ("edition", size.edition, tuple(EDITIONS)),
    ):
        if word not in known:
            raise BadInput(field, word, one_of(word, list(known)))
    if not size.fewest <= size.nodes <= MOST_NODES:
        allowed = f"a number from {size.fewest} (one more than the replicas) to {MOST_NODES}"
        raise BadInput("nodes", size.nodes, allowed)
    if not 0 <= size.cancelling < 1:
        raise BadInput("cancelling", size.cancelling, "a chance from 0 to below 1")
    return size


class DrawnCluster(Struct, frozen=True):
    """A cluster at its start, and the operations that will be tried on it, in this order."""

    parameters: TcmParameters
    growing: tuple[Operation, ...]
    shrinking: tuple[Operation, ...]


def draw(seed: int, size: Size, off_menu: tuple[str, ...] = ()) -> DrawnCluster:
    """A cluster and its operations.

    While it grows nodes join, and now and then one moves or is replaced; while it shrinks nodes
    leave, are removed or (seldom) assassinated. ``off_menu`` leaves out kinds of operations.
    """
    chance = Chance(seed)
    names = [f"n{i + 1}" for i in range(size.nodes)]
    fresh = _tokens(chance, size, 4 * size.nodes * size.tokens)
    members = tuple(
        Node(name, fresh.pop(), *_place(i, size)) for i, name in enumerate(names[: size.fewest])
    )
    growing, known = [], [node.name for node in members]
    for i, name in enumerate(names[size.fewest :], size.fewest):
        dc, rack = _place(i, size)
        growing.append(Operation("bootstrap", name, fresh.pop(), dc=dc, rack=rack))
        known.append(name)
        if chance.under(0.5):
            growing.append(_stir(chance, known, fresh, len(growing)))
    shrinking: list[Operation] = []
    going = list(known)
    while len(going) > size.fewest:
        going.remove(name := chance.pick(going))
        kind: Literal["decommission", "removenode", "assassinate"] = "decommission"
        if chance.under(0.4):
            kind = "assassinate" if chance.under(0.2) else "removenode"
        shrinking.append(Operation(kind, name))
        if going and chance.under(0.2):
            shrinking.append(_stir(chance, going, fresh, size.nodes + len(shrinking)))
    on_menu = [tuple(x for x in some if x.kind not in off_menu) for some in (growing, shrinking)]
    texts = tuple(x.text for operations in on_menu for x in operations)
    return DrawnCluster(_parameters(size, members, texts), *on_menu)


def _stir(chance: Chance, known: list[str], fresh: list[tuple[int, ...]], number: int) -> Operation:
    """A move of some node, or the replacement of one, whose name then stands for its place."""
    name = chance.pick(known)
    if chance.under(0.6):
        return Operation("move", name, fresh.pop())
    known[known.index(name)] = newcomer = f"r{number + 1}"
    return Operation("replace", newcomer, target=name)


def _parameters(
    size: Size, members: tuple[Node, ...], operations: tuple[str, ...]
) -> TcmParameters:
    replication: Replication = SimpleStrategy(size.rf)
    if size.strategy == "network":
        factors = tuple((f"dc{i + 1}", size.rf) for i in range(size.dcs))
        replication = NetworkTopologyStrategy(factors)
    return TcmParameters(
        members=members,
        keyspaces=(Keyspace("ks", replication),),
        low=0,
        high=_end(size),
        operations=operations,
        edition=size.edition,
        cancels=ENOUGH,
    )


def _place(i: int, size: Size) -> tuple[str, str]:
    """Nodes are dealt to datacenters in turn, and within these to racks."""
    return f"dc{i % size.dcs + 1}", f"r{i // size.dcs % size.racks + 1}"


def _end(size: Size) -> int:
    return SPREAD * 4 * size.nodes * size.tokens


def _tokens(chance: Chance, size: Size, count: int) -> list[tuple[int, ...]]:
    """Tokens for as many nodes as will ever want some, all different; now and then MIN."""
    tokens: dict[int, None] = {0: None} if chance.under(0.5) else {}
    while len(tokens) < count:
        tokens.setdefault(chance.below(_end(size)))
    order = list(tokens)
    for i in range(len(order) - 1, 0, -1):
        j = chance.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return [tuple(order[i : i + size.tokens]) for i in range(0, count, size.tokens)]
