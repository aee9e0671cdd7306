"""A topology of 1,000 nodes: joins one after another, and frames of the Player.

A join takes three steps per node and a few more, so its time should grow with the nodes and no
faster, and what stays in memory of a join should not grow with those before it. Times are CPU
time; memory is what Python holds.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterator

from msgspec import Struct

from benchmarks.figures import Figure, seconds, show, spoken
from benchmarks.painting import painted
from benchmarks.player import at
from kit.model.timeline import Timeline
from kit.protocols.topology.topology import Topology, TopologyParameters
from kit.views.rendered import RenderedTimeline
from kit.widgets import Player

NODES, SMALLER, TRACED = 1000, 125, 50
JOINS, HELD = 12, 30
FRAMES = 40
AIM_FRAME = 0.150  # seconds per frame, 95 of 100
MOST_GROWTH = 2.0


class TimedJoin(Struct, frozen=True):
    """One join: CPU seconds, steps, and the bytes that Python holds after it (0: not traced)."""

    seconds: float
    steps: int
    held: int = 0


def cluster(nodes: int, joins: int) -> Topology:
    """A cluster in which so many nodes ask to join, one after the other."""
    asked = tuple(f"join X{number}" for number in range(1, joins + 1))
    return Topology(TopologyParameters(nodes=nodes, operations=asked))


def joined(model: Topology, *, traced: bool = False) -> Iterator[TimedJoin]:
    """Each join, stepped as the model suggests."""
    s, done, steps, began = model.start(), 0, 0, time.process_time()
    while (action := model.suggest(s)) is not None:
        s, steps = model.apply(s, action), steps + 1
        if sum(request.done for request in s.topology.requests) > done:
            took, held = time.process_time() - began, 0
            if traced:
                gc.collect()
                held = tracemalloc.get_traced_memory()[0]
            yield TimedJoin(took, steps, held)
            done, steps, began = done + 1, 0, time.process_time()


def joins() -> Iterator[Figure]:
    """A join's time by node in a large cluster and in a smaller one; the growth of memory."""
    large, small = (list(joined(cluster(nodes, JOINS))) for nodes in (NODES, SMALLER))
    a, b = (sorted(join.seconds for join in each)[JOINS // 2] for each in (large, small))
    ratio = (a / NODES) / (b / SMALLER)
    yield Figure(
        f"topology: a join by node, {NODES:,} nodes ({large[0].steps:,} steps, {spoken(a)})",
        spoken(a / NODES),
        f"{SMALLER} nodes {spoken(b / SMALLER)}",
        ratio,
        f"at most {MOST_GROWTH:.0f}",
        ratio <= MOST_GROWTH,
    )
    tracemalloc.start()
    held = [join.held for join in joined(cluster(TRACED, HELD), traced=True)]
    tracemalloc.stop()
    half = HELD // 2
    first, last = (held[end] - held[begin] for begin, end in ((4, half), (half + 4, HELD - 1)))
    a, b = first / (half - 4), last / (half - 5)
    yield Figure(
        f"topology: memory kept by a join, the last of {HELD}",
        f"{b / 1000:.1f} kB",
        f"the first {a / 1000:.1f} kB",
        b / a,
        f"at most {MOST_GROWTH:.0f}",
        b / a <= MOST_GROWTH,
    )


def within_the_barrier() -> Timeline:
    """A join at its second barrier: half of the nodes have answered."""
    timeline = Timeline(cluster(NODES, 1))
    fold, last = 1, 3 * NODES // 2
    while len(timeline.moments) <= last:
        timeline.do(timeline.suggest(), fold=fold)
    return timeline


def frames() -> Iterator[Figure]:
    """The frame of a step in Python, and until it is painted."""
    timeline = within_the_barrier()
    rendered = RenderedTimeline(timeline)
    times = []
    for _ in range(FRAMES):
        timeline.do(timeline.suggest())
        times.append(seconds(rendered.draw_new))
    most = at(times, 0.95)
    yield Figure(
        f"topology: a frame at {NODES:,} nodes (p50 {spoken(at(times, 0.5))})",
        spoken(most),
        f"{len(rendered.html(timeline.at)) / 1000:.0f} kB of HTML",
        None,
        f"< {AIM_FRAME * 1000:.0f} ms at p95",
        most < AIM_FRAME,
    )
    player = Player(timeline, controls=False)
    yield painted(f"topology: step to painted, {NODES:,} nodes", player, FRAMES)


def figures() -> Iterator[Figure]:
    """Every row."""
    yield from joins()
    yield from frames()


if __name__ == "__main__":
    show(figures())
