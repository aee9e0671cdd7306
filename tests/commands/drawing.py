"""What property tests draw: ring files of 1 to 64 nodes, and operations on them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.commands.oracle import HIGH, LOW, Node, Op

DATACENTERS = ("dc1", "dc2", "dc3")
RACKS = ("r1", "r2", "r3", "r4")
ALL = ("bootstrap", "decommission", "move", "replace", "removenode", "assassinate")


def tokens(most: int, least: int = 1) -> st.SearchStrategy[list[int]]:
    """Distinct tokens, dense or spread over the whole line; its ends are drawn often."""
    spots = st.one_of(
        st.integers(-60, 60), st.integers(LOW, HIGH), st.sampled_from((LOW, HIGH, LOW + 1))
    )
    return st.lists(spots, min_size=least, max_size=most, unique=True)


@st.composite
def clusters(draw: st.DrawFn, most_nodes: int = 8, most_tokens: int = 3) -> list[Node]:
    """Nodes with one to ``most_tokens`` tokens each, in up to three datacenters."""
    count = draw(st.integers(1, most_nodes))
    counts = draw(st.lists(st.integers(1, most_tokens), min_size=count, max_size=count))
    pool = draw(tokens(sum(counts), sum(counts)))
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(DATACENTERS), st.sampled_from(RACKS)),
            min_size=count,
            max_size=count,
        )
    )
    nodes = []
    for i, (number, (dc, rack)) in enumerate(zip(counts, places, strict=True)):
        nodes.append(Node(f"n{i}", tuple(pool[:number]), dc, rack))
        pool = pool[number:]
    return nodes


@st.composite
def keyspaces(draw: st.DrawFn, nodes: list[Node], most: int = 5) -> dict[str, dict[str, Any]]:
    """One to three keyspaces of every strategy; factors may be above the number of nodes.

    With ``most`` below 3 none of them spans the whole ring.
    """
    there = sorted({node.dc for node in nodes})
    simple = st.integers(1, most).map(
        lambda rf: {"class": "SimpleStrategy", "replication_factor": rf}
    )
    network = st.dictionaries(st.sampled_from(there), st.integers(0, most - 1), min_size=1).map(
        lambda factors: {"class": "NetworkTopologyStrategy", **factors}
    )
    rest = st.just({"class": "LocalStrategy"})
    if most > 2:
        rest |= st.just({"class": "EverywhereStrategy"})
    found = draw(
        st.lists(st.one_of(simple, simple, network, network, rest), min_size=1, max_size=3)
    )
    return {f"k{i}": replication for i, replication in enumerate(found)}


@st.composite
def operations(
    draw: st.DrawFn, nodes: list[Node], newcomer: str = "x", kinds: tuple[str, ...] = ALL
) -> Op:
    """An operation that speaks of this ring; whether it is permitted is another question."""
    kind = draw(st.sampled_from(kinds))
    node = draw(st.sampled_from(nodes))
    owned = {token for one in nodes for token in one.tokens}
    if kind == "bootstrap":
        free = [t for t in draw(tokens(3)) if t not in owned] or [_unowned(owned)]
        dc = draw(st.sampled_from(sorted({one.dc for one in nodes})))
        return Op("bootstrap", newcomer, tuple(free), dc, draw(st.sampled_from((*RACKS, "new"))))
    if kind == "move":
        wanted = len(node.tokens)
        drawn = draw(tokens(2 * wanted, wanted))
        free = [t for t in drawn if t not in owned or t in node.tokens][:wanted]
        while len(free) < wanted or set(free) == set(node.tokens):
            free = [_unowned(owned | set(free)), *free][:wanted]
        return Op("move", node.name, tuple(free))
    if kind == "replace":
        return Op("replace", newcomer, node.tokens, node.dc, node.rack, target=node.name)
    return Op(kind, node.name, force=draw(st.sampled_from((False, False, True))))


def _unowned(owned: set[int]) -> int:
    return next(token for token in range(1000, 2000) if token not in owned)
