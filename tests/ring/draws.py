"""What property tests draw: small and Murmur3 rings, replications and changes of a ring."""

from __future__ import annotations

from hypothesis import strategies as st

from kit.ring.deltas import Delta
from kit.ring.movement import Movement
from kit.ring.replication import (
    EverywhereStrategy,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring

SPACES = (small(30), small(400), small(20, -20), MURMUR3)
DATACENTERS = ("dc1", "dc2", "dc3")
RACKS = ("r1", "r2", "r3", "r4")


def token_lists(space: TokenSpace, most: int) -> st.SearchStrategy[list[int]]:
    """Distinct tokens; the two ends of the line are drawn often."""
    ends = st.sampled_from((space.low, space.high))
    anywhere = st.integers(space.low, space.high)
    return st.lists(st.one_of(anywhere, anywhere, ends), min_size=1, max_size=most, unique=True)


@st.composite
def rings(draw: st.DrawFn, most_nodes: int = 8, least_nodes: int = 1) -> Ring:
    """Rings of up to ``most_nodes`` nodes with several tokens each; some own none."""
    space = draw(st.sampled_from(SPACES))
    tokens = draw(token_lists(space, min(3 * most_nodes, 24)))
    count = draw(st.integers(least_nodes, most_nodes))
    owners = draw(st.lists(st.integers(0, count - 1), min_size=len(tokens), max_size=len(tokens)))
    owned: list[list[int]] = [[] for _ in range(count)]
    for token, owner in zip(tokens, owners, strict=True):
        owned[owner].append(token)
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(DATACENTERS), st.sampled_from(RACKS)),
            min_size=count,
            max_size=count,
        )
    )
    nodes = [Node(f"n{i}", tuple(owned[i]), *places[i]) for i in range(count)]
    return Ring.of(nodes, space)


def networks() -> st.SearchStrategy[NetworkTopologyStrategy]:
    """Factors a datacenter; some name a datacenter that has no node."""
    factors = st.dictionaries(
        st.sampled_from((*DATACENTERS, "dc9")), st.integers(0, 5), min_size=1, max_size=4
    )
    return factors.map(lambda f: NetworkTopologyStrategy(tuple(sorted(f.items()))))


def replications() -> st.SearchStrategy[Replication]:
    """Every strategy, factors above the number of nodes included."""
    simple = st.integers(1, 6).map(SimpleStrategy)
    rest = st.sampled_from((EverywhereStrategy(), LocalStrategy()))
    return st.one_of(simple, networks(), rest)


@st.composite
def changed(draw: st.DrawFn, ring: Ring) -> Ring:
    """The ring after one change: join, leave, move or replace."""
    free = draw(token_lists(ring.space, 4))
    own = set(ring.tokens.tolist())
    tokens = tuple(token for token in free if token not in own)
    place = draw(st.sampled_from(DATACENTERS)), draw(st.sampled_from((*RACKS, "new")))
    code = draw(st.integers(0, len(ring.names) - 1))
    match draw(st.sampled_from(("bootstrap", "decommission", "move", "replace"))):
        case "bootstrap":
            return ring.join(Node("x", tokens, *place))
        case "decommission":
            return ring.leave(code)
        case "move":
            return ring.move(code, tokens)
        case _:
            return ring.join(Node("x", (), *place)).replace(code, len(ring.names))


def probes(*some: Ring) -> list[int]:
    """Tokens that meet every row of these rings: each bound, and the token after it."""
    space = some[0].space
    bounds = {space.low, space.high}.union(*(ring.tokens.tolist() for ring in some))
    near = {token + 1 for token in bounds if token < space.high}
    return sorted((bounds | near) - {space.low})


def steps(plan: Movement) -> tuple[tuple[str, Delta], ...]:
    """The five deltas of a plan with their names, in order; some may be empty."""
    names = ("split", "add", "switch", "drop", "merge")
    return tuple((name, getattr(plan, name)) for name in names)
