"""The balancer of tablets: one plan of a large cluster, and how many moves a balance takes.

Beside it stands the same planner with heaps in plain Python, on the same cluster: both make the
same plan. The lower bound of the moves is what has to leave the shards that have more than the
mean, or to come to those that have less.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from benchmarks.figures import Figure, alternating, show, spoken
from benchmarks.plain_balancer import PlainBalancer
from kit.protocols.tablets.rules.balance.cluster import BalancerInput, BalancerNode, TabletRows
from kit.protocols.tablets.rules.balance.loads import TabletMove
from kit.protocols.tablets.rules.balance.planner import plan

NODES, SHARDS, TABLETS, RF, TABLES = 1000, 16, 200_000, 3, 50
FRESH = 50  # nodes that have just joined
CAPACITY = 10**13  # bytes of a node
SECONDS, MEGABYTES, TIMES, EXCESS = 1.0, 500, 5.0, 1.05
AIM = f"< {SECONDS:.0f} s"


def cluster(nodes: int, shards: int, tablets: int, *, racks: int, fresh: int) -> BalancerInput:
    """Tablets by chance on all nodes but the fresh ones; with racks, each replica in one."""
    chance = np.random.default_rng(1)
    old = np.arange(nodes - fresh)
    groups = [old[old % RF == k] for k in range(RF)]
    held = np.stack([chance.choice(group, tablets) for group in groups], 1).astype(np.int32)
    sizes = np.repeat(chance.integers(2**30, 5 * 2**30, tablets)[:, None], RF, 1)
    table = np.sort(chance.integers(0, TABLES, tablets)).astype(np.int32)
    rows = TabletRows(
        table,
        (np.arange(tablets) - np.searchsorted(table, table)).astype(np.int32),
        np.zeros(tablets, np.bool_),
        held,
        chance.integers(0, shards, (tablets, RF)).astype(np.int32),
        *(sizes, sizes),
        np.ones((tablets, RF), np.int32),
    )
    members = (
        BalancerNode(f"n{at:04}", "dc1", f"r{at % RF % racks}", shards, CAPACITY)
        for at in range(nodes)
    )
    none = np.zeros(nodes * shards, np.int32)
    names = tuple(f"ks.t{number}" for number in range(TABLES))
    return BalancerInput(tuple(members), names, rows, none, none)


def plain_tablets(given: BalancerInput) -> list[list[tuple[int, int]]]:
    """The places of each tablet as the peer takes them."""
    nodes, shards = given.rows.nodes.tolist(), given.rows.shards.tolist()
    return [
        [place for place in zip(*places, strict=True) if place[0] >= 0]
        for places in zip(nodes, shards, strict=True)
    ]


def as_plain(
    given: BalancerInput, moves: Sequence[TabletMove]
) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Moves as the peer gives them: rows and nodes by number."""
    codes = {node.host: code for code, node in enumerate(given.nodes)}
    first = {name: int((given.rows.table < at).sum()) for at, name in enumerate(given.tables)}
    return [
        (
            first[move.table] + move.tablets[0],
            (codes[move.source.host], move.source.shard),
            (codes[move.target.host], move.target.shard),
        )
        for move in moves
    ]


def figures() -> Iterator[Figure]:
    """Plans of both editions, the peer's, memory, and moves against the lower bound."""
    for racks in (1, RF):
        given = cluster(NODES, SHARDS, TABLETS, racks=racks, fresh=FRESH)
        tablets = plain_tablets(given)
        peer = PlainBalancer([at % RF % racks for at in range(NODES)], [SHARDS] * NODES)
        agree = peer.plan(tablets) == as_plain(given, plan(given, "documents").moves)
        ours, plain = alternating(3, partial(plan, given, "documents"), partial(peer.plan, tablets))
        what = f"one plan, {NODES} x {SHARDS}, {TABLETS:,} tablets, {racks} racks"
        yield Figure(
            f"tablets, seed: {what}",
            spoken(ours),
            f"heaps in Python {spoken(plain)}",
            plain / ours,
            f"{TIMES:.0f} times as fast",
            plain / ours >= TIMES and agree,
        )
        yield Figure(f"tablets, seed: {what}", spoken(ours), "", None, AIM, ours < SECONDS)
    [code] = alternating(3, partial(plan, given, "server"))
    yield Figure(f"tablets, code: {what}", spoken(code), "", None, AIM, code < SECONDS)
    peak = _peak(given)
    yield Figure(
        "tablets, seed: memory of that plan",
        f"{peak / 1e6:.0f} MB",
        "",
        None,
        f"< {MEGABYTES} MB",
        peak < MEGABYTES * 1e6,
    )
    yield from _until_balanced()


def _peak(given: BalancerInput) -> int:
    """The most bytes that a plan takes, besides its input."""
    tracemalloc.start()
    try:
        plan(given, "documents")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _until_balanced() -> Iterator[Figure]:
    """Moves of all plans until there is none, against what has to move at the least."""
    given = cluster(100, 8, 20_000, racks=1, fresh=5)
    counts = _counts(given)
    mean = counts.mean()
    excess = np.maximum(counts - np.ceil(mean), 0).sum()
    lack = np.maximum(np.floor(mean) - counts, 0).sum()
    bound = int(max(excess, lack))
    moves = plans = 0
    while step := plan(given, "documents").moves:
        moves, plans = moves + len(step), plans + 1
        given = _after(given, step)
    spread = _counts(given)
    yield Figure(
        f"tablets, seed: moves until balanced, {plans} plans",
        f"{moves:,}",
        f"lower bound {bound:,}",
        moves / bound,
        f"<= {EXCESS}",
        moves / bound <= EXCESS and bool(np.ptp(spread) <= 1),
    )


def _counts(given: BalancerInput) -> np.ndarray:
    shards = given.nodes[0].shards
    places = given.rows.nodes.astype(np.int64) * shards + given.rows.shards
    return np.bincount(places.ravel(), minlength=shards * len(given.nodes))


def _after(given: BalancerInput, moves: Sequence[TabletMove]) -> BalancerInput:
    """The cluster once a plan is done."""
    nodes, shards = given.rows.nodes.copy(), given.rows.shards.copy()
    for row, (source, _), (node, shard) in as_plain(given, moves):
        column = nodes[row].tolist().index(source)
        nodes[row, column], shards[row, column] = node, shard
    return replace(given, rows=replace(given.rows, nodes=nodes, shards=shards))


if __name__ == "__main__":
    show(figures())
