"""Forking, walking and acting on long histories of a large cluster, against copying its state."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from msgspec import Struct

from benchmarks.figures import Figure, show, spoken
from kit.model.model import Model, Rule
from kit.model.registry import build
from kit.model.timeline import Timeline

NODES = 1000
MOMENTS = 1000
REPEATS = 50
SHORT, LONG = 100, 10_000
AIM_FORK = 1e-3


class Count(Struct, frozen=True):
    """How often the clock ticked."""

    ticks: int


class Tick(Struct, frozen=True, tag="tick"):
    """The clock ticks."""


class Clock(Model[Count, Any]):
    """The least that a model can be, so that what is timed is the timeline."""

    name = "clock"
    title = "A clock"
    State = Count
    Action = Tick
    rules = (
        Rule(
            *(Tick, "tick", lambda s: ((Tick(), ()),)),
            *(lambda s, given: Count(s.ticks + 1), lambda action: ()),
        ),
    )

    def start(self) -> Count:
        """It has not ticked."""
        return Count(0)


def history(model: Model[Any, Any], moments: int) -> Timeline:
    """What the model suggests, so many moments long."""
    timeline = Timeline(model)
    while len(timeline.moments) < moments and timeline.forward() is not None:
        pass
    return timeline


def median(repeats: int, prepare: Callable[[], object], work: Callable[[], object]) -> float:
    """The median time of one call, in seconds, each after a preparation that is not timed."""
    times = []
    for _ in range(repeats):
        prepare()
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return sorted(times)[repeats // 2]


def forking(timeline: Timeline) -> Iterator[Figure]:
    """Fork in the middle of a history, and act there otherwise than before."""
    tip, state = timeline.tip, timeline.state
    middle = timeline.path()[len(timeline.path()) // 2]

    def back_to_the_tip() -> None:
        timeline.goto(tip)

    def fork() -> None:
        timeline.goto(middle)
        timeline.fork()

    def fork_and_act() -> None:
        fork()
        timeline.do(others.pop())

    copied = median(REPEATS, back_to_the_tip, lambda: copy.deepcopy(state))
    name = f"tcm, {NODES:,} nodes, {len(timeline.moments):,} moments"
    against = f"copying a state {spoken(copied)}"
    timeline.goto(middle)
    others = list(timeline.model.actions(timeline.state))[1:]
    for what, work in (("fork", fork), ("fork and act otherwise", fork_and_act)):
        took = median(min(REPEATS, len(others)), back_to_the_tip, work)
        yield Figure(
            f"{what} ({name})",
            spoken(took),
            against,
            copied / took,
            f"below {spoken(AIM_FORK)}",
            took < AIM_FORK,
        )


def walking() -> Iterator[Figure]:
    """One step back and one forward, at the end of a long history and of a short one."""
    took = []
    for moments in (SHORT, LONG):
        timeline = history(Clock(), moments)

        def there_and_back(walked: Timeline = timeline) -> None:
            walked.back()
            walked.forward()

        took.append(median(REPEATS, lambda: None, there_and_back))
    yield Figure(
        f"back and forward in {LONG:,} moments",
        spoken(took[1]),
        f"in {SHORT} moments {spoken(took[0])}",
        took[0] / took[1],
    )


def figures() -> Iterator[Figure]:
    """Every row."""
    yield from forking(history(build("tcm", {"nodes": NODES, "rf": 3}), MOMENTS))
    yield from walking()


if __name__ == "__main__":
    show(figures())
