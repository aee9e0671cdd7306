"""Questions and tables on splits and merges: what is decided, what a resize waits for."""

from __future__ import annotations

from collections.abc import Sequence

from kit.edge.arguments import finite, whole_number
from kit.engine.timeline import Timeline
from kit.errors import counted
from kit.lessons.questions import PosedQuestion, model_of
from kit.lessons.stills import still
from kit.protocols.tablets.facts import resizing as facts
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import (
    THRESHOLDS,
    ResizeDecision,
    TableSize,
    Thresholds,
    decide,
    is_growing,
    resize_said,
)
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.parts import volume
from kit.views.question import Question
from kit.views.static import Sheet

NAME = "the model resize"
KINDS: tuple[ResizeType, ...] = ("none", "split", "merge")
SAID = {"none": "no resize", "split": "a split", "merge": "a merge"}

MOST_ROWS = 1000  # of a sheet


def resize_wanted(timeline: Timeline) -> PosedQuestion:
    """What would the planner decide on the table now?"""
    m = model_of(timeline, Resize, NAME)
    now = facts.line(m, timeline.state)
    count = counted(timeline.state.map.count, "tablet")
    question = Question(
        f"{count}, on average at {now.average} % of the target size; under way: "
        f"{SAID[now.decided]}. What does the planner decide now?",
        tuple(SAID.values()),
        (SAID[now.asks],),
        f"Merge below {now.merge_below} %, split above {now.split_above} %: {now.reason}.",
    )
    return PosedQuestion(question, still(timeline, "resize"))


def waits_for(timeline: Timeline) -> PosedQuestion:
    """For which replicas, or for which tablets, does the resize wait?"""
    m = model_of(timeline, Resize, NAME)
    s: ResizeState = timeline.state
    blocked = m.blocked(s)
    missing = () if blocked is None else blocked.evidence
    choices = _all_that_may_lack(s)
    because = "Nothing: it may be finalized." if blocked is None else f"{blocked.reason}."
    question = Question(
        f"{SAID[s.map.resize_type].capitalize()} is decided. What does it still wait for?",
        choices,
        tuple(each for each in choices if each in missing),
        because[0].upper() + because[1:],
    )
    return PosedQuestion(question, still(timeline, "grid", "readiness"))


def _all_that_may_lack(s: ResizeState) -> tuple[str, ...]:
    if s.map.resize_type == "split":
        return tuple(
            f"tablet {index} on {store.replica}"
            for index, stores in enumerate(s.stores)
            for store in stores
        )
    return tuple(f"tablets {even} and {even + 1}" for even in range(0, s.map.count - 1, 2))


def decision_on(
    average: int, under_way: ResizeType, count: int, initial: int, edition: Edition = "server"
) -> ResizeDecision:
    """What is decided on a table whose average tablet is at so many percent of the target size."""
    usual = THRESHOLDS[edition]
    size = TableSize(
        "", count, 1, average * count, under_way, 0, initial, is_growing(count, initial)
    )
    return decide(size, Thresholds(100, usual.split_percent, usual.merge_percent))


def thresholds() -> Sheet:
    """When tables are split and merged, in both editions."""
    heads = ("edition", "target size", "merge below", "split above", "a split is revoked below",
             "a merge is revoked above")  # fmt: skip
    rows = tuple((each, *map(volume, _bounds(THRESHOLDS[each]))) for each in EDITIONS)
    return Sheet("The average tablet against the thresholds", heads, rows)


def _bounds(limits: Thresholds) -> tuple[int, ...]:
    return (
        limits.target,
        limits.merge_below,
        limits.split_above,
        limits.split_ends_below,
        limits.merge_ends_above,
    )


def decisions(
    averages: Sequence[int],
    *,
    under_way: ResizeType = "none",
    count: int = 4,
    initial: int = 0,
    edition: Edition = "server",
) -> Sheet:
    """The decision on tables that differ by their average tablet, in percent of the target size.

    Raises:
        BadInput: for a percentage or an initial count below 0, fewer tablets than one, or more
            tables than a sheet shows.
    """
    averages = finite("averages", averages, MOST_ROWS)
    for place, average in enumerate(averages):
        whole_number(f"averages[{place}]", average)
    whole_number("count", count, 1)
    whole_number("initial", initial)
    made = [decision_on(each, under_way, count, initial, edition) for each in averages]
    rows = tuple(
        (f"{average} %", each.resize_type, resize_said(each.reason))
        for average, each in zip(averages, made, strict=True)
    )
    first = f", {initial} at first" if initial else ""
    title = f"{counted(count, 'tablet')}{first}; under way: {SAID[under_way]}"
    return Sheet(title, ("average", "decision", "because"), rows)
