"""Placements of whole rings against a published driver, and one join against doing all again.

Every figure is a ratio of two times measured side by side in this run; the best of some rounds.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from cassandra import metadata as driver

from kit.ring.movement import changes, movement
from kit.ring.natural import replicas
from kit.ring.placements import at_rest
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


def against_the_driver(ring: Ring, tokens: int, replication: Replication) -> str:
    """One line: times of both, ratio, and that all sets are equal."""
    hosts = [Host(code, node) for code, node in enumerate(ring.nodes)]
    line = ring.tokens.tolist()
    owner = {t: hosts[code] for t, code in zip(line, ring.owners.tolist(), strict=True)}
    strategy = theirs(replication)
    large = len(line) > 100_000
    slow = best(3 if large else 5, lambda: strategy.make_token_replica_map(owner, line))
    fast = best(5 if large else 20, lambda: replicas(ring, replication))
    found = strategy.make_token_replica_map(owner, line)
    ours = replicas(ring, replication, ring.tokens).tolist()
    same = all(
        {host.code for host in found[token]} == {code for code in codes if code >= 0}
        for token, codes in zip(line, ours, strict=True)
    )
    name = type(replication).__name__
    return (
        f"{len(ring.nodes):5} nodes x {tokens:3} tokens  {name:24} driver {slow * 1e3:8.1f} ms"
        f"  kit {fast * 1e3:7.2f} ms  ratio {slow / fast:6.1f}  sets equal: {same}"
    )


def after_one_join(ring: Ring, count: int, replication: Replication) -> str:
    """One line: the rows that a join changes, against computing the new ring's placement anew."""
    chance = random.Random(3)
    own = set(ring.tokens.tolist())
    tokens = tuple(t for t in chance.sample(range(-(2**61), 2**61), count) if t not in own)
    node = Node("joiner", tokens, "dc1", "r1")
    after = ring.join(node)
    full = best(5, lambda: at_rest(after, replication))
    rows = best(20, lambda: changes(ring, after, replication))
    plan = best(5, lambda: [delta for _, delta in movement(ring, after, replication).steps])
    join = best(5, lambda: ring.join(node))
    return (
        f"join with {count:3} tokens  {type(replication).__name__:24} all {full * 1e3:7.2f} ms"
        f"  changed rows {rows * 1e3:7.3f} ms  ratio {full / rows:6.1f}"
        f"  (as deltas {plan * 1e3:.2f} ms; the ring's own columns {join * 1e3:.2f} ms)"
    )


def main() -> None:
    """Print all ratios, in less than a minute."""
    print(f"placements of a whole ring, aim {AIM_WHOLE} at 1000 x 256")
    for nodes, tokens in SIZES:
        ring = a_ring(nodes, tokens)
        for replication in (SimpleStrategy(3), NETWORK):
            print(against_the_driver(ring, tokens, replication), flush=True)
    print(f"placement after one join at 1000 x 256, aim {AIM_JOIN}")
    for replication in (SimpleStrategy(3), NETWORK):
        for count in (1, 16, 256):
            print(after_one_join(ring, count, replication), flush=True)


if __name__ == "__main__":
    sys.exit(main())
