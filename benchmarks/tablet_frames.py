"""Frames of a cluster with very many tablets: a dump of them opened as a Player, and its steps.

The tablets are drawn from a seed, and a node is decommissioned while loads are evened out. Beside
each frame, what it costs only to count the replicas of every shard in plain Python: the least that
a picture of loads has to know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure, seconds, show, spoken
from kit.model.timeline import Timeline
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.dump import DumpedTable, TabletDump
from kit.protocols.tablets.spark.sizes import TabletsSize, drawn_chunk, drawn_tables
from kit.protocols.tablets.tablets import Tablets
from kit.views.rendered import RenderedTimeline

CLUSTERS = ((1_000, 30), (100_000, 300))
"""Tablets and nodes; a table has at most 10,000 of them."""
TABLE, SHARDS = 10_000, 16
STEPS = 1


def dump_of(tablets: int, nodes: int) -> Tablets.Parameters:
    """A drawn cluster as a dump describes it, with a node that is to leave."""
    tables = max(1, tablets // TABLE)
    size = TabletsSize(nodes=nodes, shards=SHARDS, tables=tables, tablets=tablets // tables)
    texts: list[str] = []
    for table in drawn_tables(size):
        held, shards, _ = drawn_chunk(size, table, 0)
        pairs = zip(held.tolist(), shards.tolist(), strict=True)
        texts += (
            " ".join(f"n{node}:{shard}" for node, shard in zip(*each, strict=True))
            for each in pairs
        )
    return Tablets.Parameters(
        nodes=nodes,
        names=tuple(f"n{node}" for node in range(nodes)),
        racks=tuple(f"dc1/r{node % size.racks}" for node in range(nodes)),
        tablets=tuple(texts),
        moves=1,
        operations=("decommission n0",),
        dump=TabletDump(
            shards=(SHARDS,) * nodes,
            tables=tuple(DumpedTable(f"ks.t{table}", size.tablets) for table in range(tables)),
        ),
    )


def counts(s: TabletsState) -> Counter[tuple[str, int]]:
    """The replicas of every shard."""
    return Counter(place for row in s.tablets for place in row.replicas)


def _open(given: Tablets.Parameters, made: list[RenderedTimeline]) -> None:
    made.append(RenderedTimeline(Timeline(Tablets(given))))


def figures() -> Iterator[Figure]:
    """For each cluster: until it is shown, and the slowest frame of its first steps."""
    for tablets, nodes in CLUSTERS:
        given = dump_of(tablets, nodes)
        made: list[RenderedTimeline] = []
        opening = seconds(partial(_open, given, made))
        [rendered] = made
        for _ in range(STEPS):
            rendered.timeline.forward()
        rendered.draw_new()
        bare = seconds(partial(counts, rendered.timeline.state))
        slowest = max(seconds(partial(rendered.draw, at)) for at in range(1, STEPS + 1))
        against = f"replicas counted {spoken(bare)}"
        what = f"{tablets:,} tablets on {nodes} nodes"
        yield Figure(f"tablets, opened: {what}", spoken(opening), against, opening / bare)
        yield Figure(f"tablets, frame: {what}", spoken(slowest), against, slowest / bare)


if __name__ == "__main__":
    show(figures())
