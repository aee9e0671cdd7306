"""Placements of whole rings against a published driver, and one join against doing all again.

Every figure is a ratio of two times measured side by side in this run; the best of some rounds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from cassandra import metadata as driver

from benchmarks.figures import Figure, show, spoken
from kit.ring.natural import replicas
from kit.ring.nearby import changes
from kit.ring.placements import stable_placement
from kit.ring.replication import NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.topology import Node, Ring

SIZES = ((10, 16), (10, 256), (100, 16), (100, 256), (1000, 16), (1000, 256))
NETWORK = NetworkTopologyStrategy((("dc1", 3), ("dc2", 3)))
AIM_WHOLE = 20
AIM_JOIN = 100


class Host:
    """A host as the driver's strategies see it."""

    def __init__(self, code: int, node: Node) -> None:
        self.code, self.datacenter, self.rack = code, node.dc, node.rack


def best(rounds: int, work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def a_ring(nodes: int, tokens: int) -> Ring:
    """A ring with random tokens, two datacenters of three racks."""
    chance = random.Random(2)
    drawn = chance.sample(range(-(2**61), 2**61), nodes * tokens)
    return Ring.of(
        Node(
            f"n{i}",
            tuple(drawn[i * tokens : (i + 1) * tokens]),
            f"dc{i % 2 + 1}",
            f"r{i // 2 % 3 + 1}",
        )
        for i in range(nodes)
    )


def theirs(replication: Replication) -> driver.ReplicationStrategy:
    """The driver's strategy of the same factors."""
    if isinstance(replication, SimpleStrategy):
        return driver.SimpleStrategy({"replication_factor": str(replication.replication_factor)})
    assert isinstance(replication, NetworkTopologyStrategy)
    return driver.NetworkTopologyStrategy({dc: str(rf) for dc, rf in replication.factors})


def against_the_driver(ring: Ring, tokens: int, replication: Replication) -> Figure:
    """Times of the driver and of the kit; all sets must be equal."""
    hosts = [Host(code, node) for code, node in enumerate(ring.nodes)]
    line = ring.tokens.tolist()
    owner = {t: hosts[code] for t, code in zip(line, ring.owners.tolist(), strict=True)}
    strategy = theirs(replication)
    large = len(line) > 100_000
    slow = best(3 if large else 5, lambda: strategy.make_token_replica_map(owner, line))
    found = strategy.make_token_replica_map(owner, line)
    fast = best(5 if large else 20, lambda: replicas(forgotten(ring), replication))
    ours = replicas(ring, replication)[: len(line)].tolist()
    assert all(
        {host.code for host in found[token]} == {code for code in codes if code >= 0}
        for token, codes in zip(line, ours, strict=True)
    )
    return Figure(
        f"placements, {len(ring.nodes):,} x {tokens} tokens, {strategy_name(replication)}",
        spoken(fast),
        f"driver {spoken(slow)}",
        slow / fast,
        f"at least {AIM_WHOLE}" if large else "",
        slow / fast >= AIM_WHOLE if large else None,
    )


def strategy_name(replication: Replication) -> str:
    """``simple`` or ``network``."""
    return type(replication).__name__.removesuffix("Strategy").removesuffix("Topology").lower()


def forgotten(ring: Ring) -> Ring:
    """A ring of which all is worked out again: else only a look-up is timed."""
    ring.walked.clear()
    return ring


def after_one_join(ring: Ring, count: int, replication: Replication) -> Figure:
    """The rows that a join changes, against computing the new ring's placement anew.

    The aim is for a node with one token: with 256 of them a join changes much more.
    """
    chance = random.Random(3)
    own = set(ring.tokens.tolist())
    tokens = tuple(t for t in chance.sample(range(-(2**61), 2**61), count) if t not in own)
    node = Node("joiner", tokens, "dc1", "r1")
    after = ring.join(node)
    full = best(5, lambda: stable_placement(forgotten(after), replication))
    rows = best(20, lambda: changes(forgotten(ring), forgotten(after), replication))
    return Figure(
        f"rows changed by a join with {count} tokens, {strategy_name(replication)}",
        spoken(rows),
        f"all anew {spoken(full)}",
        full / rows,
        f"at least {AIM_JOIN}" if count == 1 else "",
        full / rows >= AIM_JOIN if count == 1 else None,
    )


def figures() -> Iterator[Figure]:
    """Every ratio, in less than a minute; the last ring, the largest, is the one that is joined."""
    for nodes, tokens in SIZES:
        ring = a_ring(nodes, tokens)
        for replication in (SimpleStrategy(3), NETWORK):
            yield against_the_driver(ring, tokens, replication)
    for replication in (SimpleStrategy(3), NETWORK):
        for count in (1, 16, 256):
            yield after_one_join(ring, count, replication)


if __name__ == "__main__":
    show(figures())
