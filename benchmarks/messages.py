"""A long run of five nodes on a network: how soon it is drawn, how much memory it takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from time import perf_counter

from msgspec import Struct

from benchmarks.figures import Figure, show, spoken
from kit.engine.actors import Post, receives
from kit.engine.machines import MachineModel, MachineOptions, Turn
from kit.engine.network import Envelope
from kit.engine.timeline import Timeline
from kit.views.panel import scene_at
from kit.views.spacetime import MESSAGES, run_of

NAMES = ("A", "B", "C", "D", "E")
MESSAGES_SENT, STEPS = 20_000, 10_000
AIM_OPEN, AIM_MEMORY = 1.0, 100.0  # seconds, MB


class Word(Struct, frozen=True, cache_hash=True, tag="word"):
    """A word with its number."""

    number: int


class Handing(MachineModel):
    """Each node writes down the highest number that it has heard, and hands on a higher one."""

    name, title = "handing", "A number that is handed on"

    def set_up(self) -> None:
        """Five nodes, any of which may crash."""
        self.connect(NAMES, MachineOptions(crashes=None, writes_apart=self.apart))

    apart = False

    def begin(self, node: str) -> Turn:
        """The first one has a number."""
        return 0, (Post("B", Word(1)),) if node == "A" else ()

    @receives(Word)
    def heard(self, state: int, envelope: Envelope[Word]) -> Turn:
        """It goes on to the next node."""
        number = envelope.message.number
        after = NAMES[(NAMES.index(envelope.target) + 1) % len(NAMES)]
        return max(state, number), (Post(after, Word(number + 1)),)


class Writing(Handing):
    """The same, with each write a step of its own."""

    apart = True


def run(model: Handing, steps: int) -> Timeline:
    """So many steps of what it suggests."""
    timeline = Timeline(model)
    while len(timeline.moments) <= steps:
        timeline.forward()
    return timeline


def figures() -> Iterator[Figure]:
    """The rows of this benchmark."""
    timeline = run(Handing(), MESSAGES_SENT)
    times = []
    for _ in range(3):
        scene = scene_at(timeline, timeline.at)
        gc.collect()
        began = perf_counter()
        MESSAGES.draw(scene)
        times.append(perf_counter() - began)
    sent = len(run_of(scene).arrows)
    yield Figure(
        f"messages: a diagram of {sent:,} messages, drawn", spoken(min(times)), "", None,
        "1 s", min(times) <= AIM_OPEN,
    )  # fmt: skip
    del timeline, scene
    gc.collect()
    tracemalloc.start()
    kept = run(Writing(), STEPS)
    gc.collect()
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    yield Figure(
        f"messages: memory of {len(kept.moments) - 1:,} steps of five nodes",
        f"{megabytes:.1f} MB", "", None, "100 MB", megabytes <= AIM_MEMORY,
    )  # fmt: skip


if __name__ == "__main__":
    show(figures())
