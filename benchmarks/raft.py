"""Raft as a model: its elections by search and by SPIN, random walks, and long runs in a Player.

SPIN has a model of its own (``spin_raft``), and counts the same states; ours without and with the
reductions. The long run is five servers that bring one command after another to all.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

from benchmarks import spin
from benchmarks.figures import Figure, seconds, show, spoken
from benchmarks.spin_raft import promela
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.views.panel import scene_at
from kit.views.spacetime import MESSAGES, run_of
from kit.widgets import Player

TERMS, FLIGHT = 1, 4
ELECTION = {"requests": (), "terms": TERMS, "most_in_flight": FLIGHT}
ROUNDS = 2
SEEDS = 100
FIVE = {"nodes": 5, "members": "A B C D E"}
STEPS, MEGABYTES = 10_000, 100
OPENED, DRAWN = 8.0, 1.0  # seconds
MESSAGES_SENT, A_COMMAND = 20_000, 8
"""A command to five servers takes four messages and four answers."""


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    yield from elections()
    yield walks()
    yield memory()
    yield from long_run()


def elections() -> Iterator[Figure]:
    """An election of three voters, to the end: ours, with symmetry, and SPIN."""
    model = build("raft", ELECTION)
    whole, alike, both = (
        check(model, symmetry=joins, partial_order=waits)
        for joins, waits in ((False, False), (True, False), (True, True))
    )
    assert whole.complete
    assert alike.complete
    assert both.complete
    ours = whole.seconds
    name = f"an election of Raft, to the end ({whole.states:,} states)"
    reason = spin.why_not()
    if reason is not None:
        yield Figure(name, spoken(ours), f"SPIN: {reason}")
    else:
        best = spin.searched(promela(TERMS, FLIGHT), ROUNDS)
        assert (best.states, best.errors) == (whole.states, 0)
        against = f"SPIN {best.version} {spoken(best.search)}"
        yield Figure(name, spoken(ours), against, best.search / ours)
        yield Figure("before it searches, SPIN generates and compiles", "", spoken(best.making))
    fewer = f"without {spoken(ours)}"
    for name, less in (("symmetry", alike), ("symmetry and order", both)):
        times = f"the same by {name} ({less.states:,} states)"
        yield Figure(times, spoken(less.seconds), fewer, ours / less.seconds)


def walks() -> Figure:
    """Seeds a minute of walks with all faults, each promise judged after each step."""
    fuzzing = entry_of("raft").fuzzing
    found = fuzz(build("raft", fuzzing.parameters), range(SEEDS), weights=fuzzing.weights)
    assert found.findings == ()
    name = f"seeds a minute, Raft of 5 with all faults ({found.steps / SEEDS:.0f} steps each)"
    return Figure(name, f"{60 * SEEDS / found.seconds:,.0f}", "")


def run(steps: int) -> Timeline:
    """So many steps of five servers; each is kept."""
    requests = tuple(f"x{number}" for number in range(steps // A_COMMAND))
    timeline = Timeline(build("raft", {**FIVE, "requests": requests}))
    while len(timeline.moments) <= steps and timeline.forward() is not None:
        pass
    return timeline


def memory() -> Figure:
    """What a long history of five servers takes."""
    run(A_COMMAND)  # what is loaded or kept for good counts for nothing
    gc.collect()
    tracemalloc.start()
    kept = run(STEPS)
    gc.collect()
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    name = f"memory of {len(kept.moments) - 1:,} steps of Raft with 5 servers"
    return Figure(
        name, f"{megabytes:.0f} MB", "", None, f"below {MEGABYTES} MB", megabytes < MEGABYTES
    )


def long_run() -> Iterator[Figure]:
    """A Player over a long run, and its diagram of 20,000 messages."""
    timeline = run(MESSAGES_SENT * (A_COMMAND + 1) // A_COMMAND + 1)
    opened = seconds(lambda: Player(timeline))
    steps = len(timeline.moments) - 1
    yield Figure(
        f"a Player over {steps:,} steps of Raft, opened", spoken(opened), "", None,
        f"at most {OPENED:.0f} s", opened <= OPENED,
    )  # fmt: skip
    scene = scene_at(timeline, timeline.at)
    drawn = seconds(lambda: MESSAGES.draw(scene))
    sent = len(run_of(scene).arrows)
    yield Figure(
        f"its diagram of {sent:,} messages, drawn", spoken(drawn), "", None,
        f"below {DRAWN:.0f} s", drawn < DRAWN,
    )  # fmt: skip


if __name__ == "__main__":
    show(figures())
