"""Frames of a large dry run: what the kernel does from one step of a 1,000-node ring to the next.

Each step of the dry run of a decommission and a join is drawn again and put into a store
that holds all the others, as when somebody steps. Times are wall time, so a busy machine is
part of them. Beside it, what it costs only to ask for the same moment's placements as Python rows,
which is the least that a player which draws every row would have to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.figures import Figure, seconds, show, spoken
from benchmarks.importing import KEYSPACE, ring_text
from benchmarks.painting import painted
from kit.model.timeline import Timeline
from kit.operators.importers.opening import Imported, import_texts
from kit.protocols.tcm.lessons.rehearsals import DryRun, rehearse
from kit.protocols.tcm.rules.operations import Operation
from kit.views.rendered import RenderedTimeline

SIZES = ((1000, 16), (1000, 256))
AIM = 0.150  # seconds per frame, 95 of 100
AIM_OPEN = 3.0  # seconds
STEPS = 12


def newcomer(given: Imported, tokens: int) -> Operation:
    """A node that takes a part of so many ranges all over the ring."""
    every = len(given.ring.tokens) // tokens
    own = tuple(int(token) + 7 for token in given.ring.tokens[::every][:tokens])
    return Operation("bootstrap", "10.9.9.9", own, dc="dc1", rack="r1")


def frames(timeline: Timeline) -> list[float]:
    """The time of the frame of every step, in ascending order, each drawn for the second time."""
    rendered = RenderedTimeline(timeline)
    steps = [at for at, node in enumerate(rendered.moments) if not node.inner]
    for at in steps:
        rendered.draw(at)
    return sorted(seconds(partial(rendered.draw, at)) for at in steps)


def all_rows(timeline: Timeline) -> float:
    """The time of giving every row of one table its names."""
    model: Any = timeline.model
    reads = model.snapshot(timeline.state).placements[0].reads
    return seconds(lambda: reads.rows(model.names))


def figures() -> Iterator[Figure]:
    """The frames of each size; the larger one is opened and painted, too."""
    yield framed(rehearsed(*SIZES[0])[0].timeline, *SIZES[0])
    nodes, tokens = SIZES[1]
    run, whole, bare = rehearsed(nodes, tokens)
    yield Figure(
        f"dry run, opened, {nodes} × {tokens}, two operations",
        spoken(whole),
        f"import alone {spoken(bare)}",
        whole / bare,
        f"< {AIM_OPEN:.0f} s",
        whole < AIM_OPEN,
    )
    yield framed(run.timeline, nodes, tokens)
    yield painted(f"dry run, step to painted, {nodes} × {tokens}", run.player, STEPS)


def framed(timeline: Timeline, nodes: int, tokens: int) -> Figure:
    """The frame of a step, over all drawn moments of the dry run."""
    times, rows = frames(timeline), all_rows(timeline)
    most, middle = times[int(0.95 * (len(times) - 1))], times[len(times) // 2]
    return Figure(
        f"dry run, frame at {nodes} × {tokens} (p50 {spoken(middle)})",
        spoken(most),
        f"names of all rows {spoken(rows)}",
        most / rows,
        f"< {AIM * 1000:.0f} ms at p95",
        most < AIM,
    )


def rehearsed(nodes: int, tokens: int) -> tuple[DryRun, float, float]:
    """A decommission and, beside or behind it, a join, on a ring of two datacenters.

    With the seconds from the text of ``nodetool ring`` to the Player, and those of the import.
    """
    text, runs, read = ring_text(nodes, tokens), list[DryRun](), list[Imported]()
    bare = seconds(lambda: read.append(import_texts([("ring.txt", text)], [KEYSPACE])))
    leaves = Operation("decommission", read[0].ring.names[3])
    lines = [leaves, newcomer(read[0], tokens)]
    whole = seconds(lambda: runs.append(rehearse(text, lines, keyspaces=KEYSPACE)))
    return runs[0], whole, bare


if __name__ == "__main__":
    show(figures())
