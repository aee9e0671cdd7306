"""Natural replicas: columns, the readable reference, the server's rule, a published driver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cassandra import metadata as driver
from hypothesis import given
from hypothesis import strategies as st

from kit.ring.natural import replicas
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    EverywhereStrategy,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node, Ring
from tests.examples import examples
from tests.ring.draws import networks, replications, rings


def named(ring: Ring, replication: Replication) -> dict[int, tuple[str, ...]]:
    """Replica names by the right bound of each row."""
    found = replicas(ring, replication).tolist()
    return {
        right: tuple(ring.names[code] for code in codes if code >= 0)
        for right, codes in zip(ring.rights.tolist(), found, strict=True)
    }


def driver_map(ring: Ring, strategy: Any) -> dict[int, list[SimpleHost]]:
    """The driver's token map; a host needs no more than name, datacenter and rack."""
    hosts = [SimpleHost(node) for node in ring.nodes]
    tokens = ring.tokens.tolist()
    owner = {t: hosts[code] for t, code in zip(tokens, ring.owners.tolist(), strict=True)}
    return dict(strategy.make_token_replica_map(owner, tokens))


class SimpleHost:
    """A host as the driver's strategies see it; equal only to itself."""

    def __init__(self, node: Node) -> None:
        self.name, self.datacenter, self.rack = node.name, node.dc, node.rack


@pytest.mark.spec("A-011", "A-012", "A-013")
@given(rings(12), replications())
def test_columns_equal_the_reference(ring: Ring, replication: Replication) -> None:
    """Every row of every ring has the replicas of the readable function, in the same order."""
    expected = {
        right: replicas_reference(ring.nodes, replication, right, ring.space)
        for right in ring.rights.tolist()
    }
    assert named(ring, replication) == expected


@pytest.mark.spec("A-011")
@given(rings(64), st.integers(1, 6))
def test_simple_equals_the_driver(ring: Ring, factor: int) -> None:
    """SimpleStrategy gives the driver's list for every token of rings of up to 64 nodes."""
    strategy = driver.SimpleStrategy({"replication_factor": str(factor)})
    theirs = driver_map(ring, strategy)
    found = replicas(ring, SimpleStrategy(factor), ring.tokens).tolist()
    for token, codes in zip(ring.tokens.tolist(), found, strict=True):
        ours = [ring.names[code] for code in codes if code >= 0]
        assert ours == [host.name for host in theirs[token]]


class DatacenterEndpoints:
    """The replicas of one datacenter as a server of Cassandra collects them, statement by statement
    (``NetworkTopologyStrategy.DatacenterEndpoints``): it is offered each token's owner in turn.
    """

    def __init__(self, factor: int, racks: int, nodes: int, found: list[Node]) -> None:
        self.left = min(factor, nodes)
        self.repeats = factor - racks
        self.racks: set[str] = set()
        self.found = found

    def done(self) -> bool:
        """Whether nothing more is wanted here."""
        return self.left == 0

    def offer(self, node: Node) -> None:
        """Take the node, or pass it over."""
        if self.done() or node in self.found:
            return
        if node.rack not in self.racks:
            self.racks.add(node.rack)
        elif self.repeats <= 0:
            return
        else:
            self.repeats -= 1
        self.left -= 1
        self.found.append(node)


def of_the_server(ring: Ring, replication: NetworkTopologyStrategy, start: int) -> list[str]:
    """The replicas that a server lists for the token at an index of the ring."""
    owners = [ring.nodes[code] for code in ring.owners.tolist()]
    found: list[Node] = []
    places = {}
    for dc, factor in replication.factors:
        there = {node for node in owners if node.dc == dc}
        if there and factor:
            racks = {node.rack for node in there}
            places[dc] = DatacenterEndpoints(factor, len(racks), len(there), found)
    for owner in (*owners[start:], *owners[:start]):
        if owner.dc in places:
            places[owner.dc].offer(owner)
    return [node.name for node in found]


@pytest.mark.spec("A-012", "A-013")
@examples(150)
@given(rings(64), networks())
def test_network_equals_the_server(ring: Ring, replication: NetworkTopologyStrategy) -> None:
    """Over all datacenters together the list is the server's, a rack that comes again included."""
    found = replicas(ring, replication, ring.tokens).tolist()
    for start, codes in enumerate(found):
        ours = [ring.names[code] for code in codes if code >= 0]
        assert ours == of_the_server(ring, replication, start)


@pytest.mark.spec("A-012", "A-013")
@examples(150)
@given(rings(64), networks())
def test_network_equals_the_driver(ring: Ring, replication: NetworkTopologyStrategy) -> None:
    """Within each datacenter the set is the driver's, which lists repetitions of a rack later.

    Where a node with several tokens was passed over twice, the driver lists it twice and so finds
    too few: there its nodes are some of ours.
    """
    strategy = driver.NetworkTopologyStrategy({dc: str(rf) for dc, rf in replication.factors})
    theirs = driver_map(ring, strategy)
    found = replicas(ring, replication, ring.tokens).tolist()
    for token, codes in zip(ring.tokens.tolist(), found, strict=True):
        for dc, _ in replication.factors:
            ours = {ring.names[c] for c in codes if c >= 0 and ring.nodes[c].dc == dc}
            listed = [host.name for host in theirs.get(token, []) if host.datacenter == dc]
            assert set(listed) <= ours
            if len(set(listed)) == len(listed):
                assert ours == set(listed)


@pytest.mark.spec("A-012")
def test_racks_come_before_neighbours() -> None:
    """B is nearer than C, but shares A's rack: for two replicas on two racks it is passed over. For
    three, one rack has to come again, and B is where it first does.
    """
    nodes = (Node("A", (1,)), Node("B", (2,)), Node("C", (3,), rack="r2"))
    ring = Ring.of(nodes, small(9))
    two, three = (NetworkTopologyStrategy((("dc1", rf),)) for rf in (2, 3))
    assert named(ring, two)[1] == ("A", "C")
    assert named(ring, three)[1] == ("A", "B", "C")
    assert named(ring, SimpleStrategy(2))[1] == ("A", "B")


@pytest.mark.spec("A-013")
def test_one_walk_over_all_datacenters() -> None:
    """Each datacenter has its own factor; replicas are listed in one clockwise walk."""
    nodes = [Node(f"n{i}", (i * 10,), f"dc{i % 2 + 1}") for i in range(1, 7)]
    ring = Ring.of(nodes, small(99))
    both = NetworkTopologyStrategy((("dc1", 2), ("dc2", 1)))
    assert named(ring, both)[10] == ("n1", "n2", "n4")
    assert named(ring, both)[20] == ("n2", "n3", "n4")
    assert named(ring, NetworkTopologyStrategy((("dc1", 0), ("dc2", 1))))[20] == ("n3",)
    assert named(ring, NetworkTopologyStrategy((("dc9", 3),)))[20] == ()


@pytest.mark.parametrize("replication", [SimpleStrategy(3), EverywhereStrategy()])
def test_factor_above_the_nodes(replication: Replication) -> None:
    """With more replicas asked for than there are nodes, all nodes of the ring replicate."""
    ring = Ring.of([Node("A", (5,)), Node("B", (7,)), Node("C", ())], small(9))
    assert named(ring, replication) == {5: ("A", "B"), 7: ("B", "A"), 9: ("A", "B")}


def test_racks_without_tokens_do_not_count() -> None:
    """A registered node without tokens opens no rack that the walk would wait for."""
    nodes = (Node("A", (1,)), Node("B", (2,)), Node("C", (), rack="r2"), Node("D", (4,)))
    ring = Ring.of(nodes, small(9))
    assert named(ring, NetworkTopologyStrategy((("dc1", 2),)))[1] == ("A", "B")


def test_racks_of_other_datacenters_do_not_count() -> None:
    """Two replicas share the one rack of their datacenter, whatever racks another one has."""
    nodes = (Node("A", (1,)), Node("B", (2,)), Node("Z", (3,), "dc2", "r2"))
    ring, replication = Ring.of(nodes, small(9)), NetworkTopologyStrategy((("dc1", 2),))
    assert replicas_reference(nodes, replication, 1, ring.space) == ("A", "B")
    assert named(ring, replication)[1] == ("A", "B")


@pytest.mark.spec("A-042")
def test_ends_of_the_line() -> None:
    """The owner of MIN begins the walk of the last row, whose tokens come round to it."""
    owned = Ring.of([Node("A", (MURMUR3.low,)), Node("B", (7,))])
    assert named(owned, SimpleStrategy(1)) == {7: ("B",), MURMUR3.high: ("A",)}
    last = Ring.of([Node("A", (MURMUR3.high,)), Node("B", (7,))])
    assert named(last, SimpleStrategy(1)) == {7: ("B",), MURMUR3.high: ("A",)}
    one = Ring.of([Node("A", (7,))])
    assert named(one, SimpleStrategy(3)) == {7: ("A",), MURMUR3.high: ("A",)}


def test_nothing_replicated() -> None:
    """LocalStrategy, and a ring without tokens, give rows without replicas."""
    ring = Ring.of([Node("A", (5,))], small(9))
    assert replicas(ring, LocalStrategy()).shape == (2, 0)
    assert replicas(ring.leave(ring.code("A")), SimpleStrategy(3)).shape == (1, 0)


@pytest.mark.spec("A-010")
@given(rings(), replications())
def test_equal_input_gives_equal_output(ring: Ring, replication: Replication) -> None:
    """Calling twice gives the same and leaves the ring as it was."""
    before = ring.tokens.copy(), ring.owners.copy()
    assert np.array_equal(replicas(ring, replication), replicas(ring, replication))
    assert np.array_equal(ring.tokens, before[0])
    assert np.array_equal(ring.owners, before[1])
