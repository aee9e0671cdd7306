"""Exercises whose answer is a run: a list of verbs, replayed step by step on the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kit.check import check
from kit.errors import Refused
from kit.lessons.stills import cluster_of
from kit.lessons.tasks import Case, Marks, Task
from kit.model import Model, always
from kit.registry import build, entries, scenario_of
from kit.tcm import facts
from kit.tcm.rules_metadata import Cancel
from kit.timeline import Timeline


class Course(Struct, frozen=True):
    """Where a run takes place: a scenario's ring (or a model as it is), budgets, safeguards off."""

    scenario: str
    extra: tuple[tuple[str, Any], ...] = ()
    off: tuple[str, ...] = ()

    def model(self) -> Model[Any, Any]:
        """The model to replay on."""
        if self.scenario in entries():
            return build(self.scenario, dict(self.extra), self.off)
        entry, scenario = scenario_of(self.scenario)
        return build(
            entry.name, {**dict(scenario.parameters), **dict(self.extra)}, self.off or scenario.off
        )


def replay(course: Course, verbs: list[str]) -> tuple[Timeline, str | None]:
    """Do the verbs one after the other; with the word on the first that cannot be done."""
    timeline = Timeline(course.model())
    model = timeline.model
    for number, verb in enumerate(verbs, start=1):
        known = [*model.actions(timeline.state), *(a for a, _ in model.waiting(timeline.state))]
        action = next((one for one in known if model.verb(one) == verb.strip()), None)
        if action is None:
            free = ", ".join(model.verb(one) for one in model.actions(timeline.state))
            return (
                timeline,
                f"Step {number}, {verb!r}: nothing like that is there; there is {free}.",
            )
        try:
            timeline.do(action)
        except Refused as refused:
            return timeline, f"Step {number}, {verb!r}, is refused: {refused}."
    return timeline, None


def judged(
    course: Course, goals: tuple[Callable[[Timeline], str | None], ...]
) -> Callable[[list[str]], Marks]:
    """A judge that replays a run and then asks for every goal; a goal says what is missing."""

    def judge(verbs: list[str]) -> Marks:
        timeline, stopped = replay(course, verbs)
        if stopped is not None:
            return Marks((Case(False, stopped), *(Case(False, "") for _ in goals[1:])))
        told = [goal(timeline) for goal in goals]
        return Marks(tuple(Case(text is None, text or "") for text in told))

    return judge


def reaches(epoch: int) -> Callable[[Timeline], str | None]:
    """The goal that an epoch is committed at the end of the run."""

    def goal(timeline: Timeline) -> str | None:
        now = facts.epoch(cluster_of(timeline), timeline.state)
        return None if now == epoch else f"Your run ends at epoch {now}; asked for is {epoch}."

    return goal


def shortest_to(epoch: int) -> Callable[[Timeline], str | None]:
    """The goal that no shorter run gets to an epoch; a search knows how long that is."""

    def goal(timeline: Timeline) -> str | None:
        m = cluster_of(timeline)
        before = always("before", "", lambda s: "" if facts.epoch(m, s) >= epoch else None)
        found = check(m, (before,)).violation
        taken = len(timeline.path()) - 1
        if found is None or taken > len(found.actions):
            return f"Your run has {taken} steps, and there is a shorter one."
        return None if facts.epoch(m, timeline.state) >= epoch else "It does not get there."

    return goal


def breaks_something(timeline: Timeline) -> str | None:
    """The goal that some lamp is red at the end of the run."""
    if any(not lamp.ok for lamp in timeline.lamps()):
        return None
    return f"After your {len(timeline.path()) - 1} steps every lamp is still green."


def finished(timeline: Timeline) -> str | None:
    """The goal that no operation is under way, and one was carried out to its end."""
    m, s = cluster_of(timeline), timeline.state
    if facts.operations(m, s) or not facts.log(m, s):
        return f"At the end of your run, epoch {facts.epoch(m, s)}, the operation is not finished."
    return None


def crashed_between_writes_and_reads(timeline: Timeline) -> str | None:
    """The goal that X crashed after it got writes and before reads were switched to it."""
    m = cluster_of(timeline)
    for moment in timeline.path()[1:]:
        one = timeline.moments[moment]
        if m.verb(one.action) == "crash X":
            then = timeline.moments[one.parent].state
            ours = next((x for x in facts.operations(m, then) if x.node == "X"), None)
            if ours is not None and ours.state == "add-writes":
                return None
    return "X did not crash between the epoch that gives it writes and the one that gives it reads."


def as_without_the_crash(timeline: Timeline) -> str | None:
    """The goal that the tables end as they do in a run in which nothing crashed."""
    m = cluster_of(timeline)
    calm = Timeline(m)
    while calm.forward() is not None:
        pass
    if facts.rows(m, timeline.state) == facts.rows(m, calm.state):
        return None
    return "The tables at the end are not those of a run without a crash."


def cancelled_after_the_read_switch(timeline: Timeline) -> str | None:
    """The goal that an operator cancelled when X was already read from."""
    m = cluster_of(timeline)
    for moment in timeline.path()[1:]:
        one = timeline.moments[moment]
        if isinstance(getattr(one.action, "action", None), Cancel):
            then = timeline.moments[one.parent].state
            if any("X" in row.reads for row in facts.rows(m, then)):
                return None
            return "You cancelled before reads were switched to X."
    return "Nobody has cancelled anything."


def as_before(timeline: Timeline) -> str | None:
    """The goal that nothing is under way and the tables are those of the start."""
    m = cluster_of(timeline)
    if facts.operations(m, timeline.state):
        return "At the end of your run something is still under way."
    if facts.rows(m, timeline.state) == facts.rows(m, timeline.moments[0].state):
        return None
    return "The tables at the end are not those of the start."


_SECOND = 2
TASKS = (
    Task(
        "fewest-steps",
        "as few steps as possible",
        "Bring the worked bootstrap to the epoch in which X gets its first writes, epoch "
        f"{_SECOND}. Give the verbs in order, and no step more than is needed.",
        "verbs",
        "not every node must apply epoch 1. Look at who may answer the barrier of each range, "
        "and at who drives the operation.",
        judged(Course("bootstrap"), (reaches(_SECOND), shortest_to(_SECOND))),
    ),
    Task(
        "light-a-lamp",
        "break it yourself",
        "In the bootstrap with three replicas the safeguard S-06 is off: the old replica stops "
        "taking writes in the very epoch in which reads leave it. Give a run, as verbs or as a "
        "Player, at whose end a lamp is red.",
        "verbs",
        "let everybody follow, stream all there is to stream, and commit the read switch.",
        judged(Course("rf3", off=("old-writer-stays",)), (breaks_something,)),
    ),
    Task(
        "crash-and-resume",
        "a crash in the middle",
        "Let X crash after it was given writes and before it is given reads, and bring the "
        "bootstrap to its end all the same. Give the verbs, or a Player that holds the run.",
        "verbs",
        "build the Player with crashes=1, stop after the epoch that adds write replicas, use "
        "'crash X' and 'restart X', then go on as usual.",
        judged(
            Course("bootstrap", (("crashes", 1),)),
            (finished, crashed_between_writes_and_reads, as_without_the_crash),
        ),
    ),
    Task(
        "way-back",
        "a late way back",
        "In the bootstrap with three replicas, cancel the join when X is read from already, so "
        "that in the end all tables are as they were. Give the verbs, or a Player.",
        "verbs",
        "cancel after the read switch; what comes then is one event more, behind a barrier.",
        judged(Course("cancel"), (cancelled_after_the_read_switch, as_before)),
    ),
)
