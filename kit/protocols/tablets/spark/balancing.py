"""The balancer over seeds: a row for each plan, from a drawn cluster until nothing is left to move.

Between two plans all moves are done. The same seeds give the same rows on every engine and however
they are cut into tasks. Sources: Topology over Raft, "Load balancing", read by Q-26; the published
allocator.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import edition_of
from kit.protocols.tablets.rules.balance.cluster import (
    SMALLEST,
    BalancerInput,
    BalancerNode,
    TabletRows,
)
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.spark.sizes import BALANCING, TabletsSize, placed_at_random, size_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.spark.rows import columns_of
from kit.spark.sessions import Spark
from kit.spark.workers import seeded

MOST_PLANS = 10_000
CAPACITY = 2**43  # bytes of a node's disk: 8 TiB


def balancing(
    spark: Spark | None,
    seeds: Sequence[int],
    *,
    edition: Edition = "documents",
    equal: bool = False,
    tasks: int | None = None,
    **sizes: Any,
) -> Any:
    """A Spark frame with a row for each plan of each seed's cluster, made when it is used.

    ``sizes`` are the fields of ``kit.protocols.tablets.spark.sizes.TabletsSize``; ``equal``: all
    tablets are of the target size. Without Spark (None) it is an Arrow table, made here and now.
    BadInput for an unknown edition or size, one out of its limits, seeds that are no range from 0
    on; before any task begins.
    """
    edition = edition_of(edition, EDITIONS)
    small = {"nodes": 12, "shards": 2, "tables": 4, "tablets": 32, **sizes}
    rows = partial(_batches, size_of(small), edition, equal)
    return seeded(spark, seeds, rows, BALANCING, tasks)


def convergence_of(frame: Any) -> pd.DataFrame:
    """A row for each cluster of rows of ``balancing``: plans until nothing was left to move, moves
    in all and the least that even counts need, loads at first and at last. BadInput for another
    table.
    """
    rows = columns_of("frame", frame, BALANCING).to_pandas()
    keys = ["edition", "nodes", "shards", "replicas", "seed"]
    clusters = rows.sort_values([*keys, "plan"]).groupby(keys)
    first, last, total = clusters.first(), clusters.last(), clusters[["moves", "bytes"]].sum()
    return pd.DataFrame(
        {
            "plans": last["plan"],
            "moves": total["moves"],
            "needed": first["needed"],
            "bytes": total["bytes"],
            "most_before": first["most"],
            "most_after": last["most"],
            "least_after": last["least"],
        }
    ).reset_index()


def drawn_input(seed: int, size: TabletsSize, *, equal: bool = False) -> BalancerInput:
    """The balancer's view of a cluster drawn from a seed, with no tablet in transition."""
    chance = np.random.default_rng((seed, size.seed))
    count = size.tables * size.tablets
    places, shards = placed_at_random(chance, size, count)
    drawn = size.target_size * chance.uniform(0.25, 1.75, (count, 1))
    sizes = np.full_like(drawn, size.target_size) if equal else drawn
    nodes = tuple(
        BalancerNode(f"n{code + 1}", "dc1", f"r{code % size.racks + 1}", size.shards, CAPACITY)
        for code in range(size.nodes)
    )
    streams = np.zeros(size.nodes * size.shards, np.int32)
    held = np.repeat(sizes.astype(np.int64), size.replicas, axis=1)
    rows = TabletRows(
        np.repeat(np.arange(size.tables, dtype=np.int32), size.tablets),
        np.tile(np.arange(size.tablets, dtype=np.int32), size.tables),
        np.zeros(count, np.bool_),
        places,
        shards,
        *(held, np.maximum(held, size.target_size // SMALLEST)),
        np.ones(places.shape, np.int32),
    )
    names = tuple(f"ks.t{number}" for number in range(size.tables))
    return BalancerInput(nodes, names, rows, streams, streams.copy(), target_size=size.target_size)


def after(given: BalancerInput, moves: Iterable[TabletMove]) -> BalancerInput:
    """The balancer's view once these moves are done."""
    nodes, shards = given.rows.nodes.copy(), given.rows.shards.copy()
    codes = {node.host: code for code, node in enumerate(given.nodes)}
    first = np.searchsorted(given.rows.table, np.arange(len(given.tables)))
    tables = {name: int(first[number]) for number, name in enumerate(given.tables)}
    for move in moves:
        for tablet in move.tablets:
            row = tables[move.table] + tablet
            column = int(np.flatnonzero(nodes[row] == codes[move.source.host])[0])
            nodes[row, column] = codes[move.target.host]
            shards[row, column] = move.target.shard
    return replace(given, rows=replace(given.rows, nodes=nodes, shards=shards))


def plans(given: BalancerInput, edition: Edition) -> Iterator[tuple[BalancerInput, BalancePlan]]:
    """Each plan, with the cluster once it is done, until there is nothing to move. BadInput for a
    cluster in which something is left to do after ``MOST_PLANS`` plans.
    """
    for _ in range(MOST_PLANS):
        step = plan(given, edition)
        if not step.moves:
            return
        given = after(given, step.moves)
        yield given, step
    raise BadInput("plans", MOST_PLANS, "a cluster in which nothing is left to move at the end")


def needed(given: BalancerInput) -> int:
    """The least moves that bring every shard to the mean, rounded up or down, where all may take
    all: so many must leave fuller ones, or come to emptier ones.
    """
    counts = Loads(given, "documents").held
    mean = counts.mean()
    over, under = counts - np.ceil(mean), np.floor(mean) - counts
    return int(max(np.maximum(over, 0).sum(), np.maximum(under, 0).sum()))


def _batches(
    size: TabletsSize, edition: Edition, equal: bool, seeds: Iterable[int]
) -> Iterator[pa.RecordBatch]:
    for seed in seeds:
        given = drawn_input(seed, size, equal=equal)
        reached = [(given, BalancePlan(())), *plans(given, edition)]
        yield BALANCING.batch(_row(seed, edition, at, *each) for at, each in enumerate(reached))


def _row(
    seed: int, edition: Edition, number: int, given: BalancerInput, step: BalancePlan
) -> tuple[Any, ...]:
    loads = Loads(given, edition)
    relative = loads.shard_load / loads.shard_load.mean()
    return (
        *(seed, edition, len(given.nodes), loads.count, int(loads.present.sum()), number),
        *(sum(len(move.tablets) for move in step.moves), step.bytes),
        *(float(relative.min()), float(relative.max()), needed(given)),
    )
