"""Exercises whose answer is a run of the epoch protocol."""

from __future__ import annotations

from collections.abc import Callable

from kit.engine.check import check
from kit.engine.model import always
from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.lessons.replays import Ground, after_its_steps, judged
from kit.lessons.tasks import Task
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.protocols.tcm.rules.metadata import Cancel


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
        shortest = check(m, (before,)).violation
        taken = len(timeline.path()) - 1
        if shortest is None or taken > len(shortest.actions):
            return f"Your run has {taken} steps, and there is a shorter one."
        return None if facts.epoch(m, timeline.state) >= epoch else "It does not get there."

    return goal


def breaks_something(timeline: Timeline) -> str | None:
    """The goal that a promise is broken at the end of the run."""
    if any(not verdict.ok for verdict in timeline.verdicts()):
        return None
    return f"{after_its_steps(timeline)} every promise still holds."


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
        step = timeline.moments[moment]
        if m.verb(step.action) == "crash X":
            then = timeline.moments[step.parent].state
            ours = next((x for x in facts.operations(m, then) if x.node == "X"), None)
            if ours is not None and ours.state == "add-writes":
                return None
    return "X did not crash between the epoch that gives it writes and the one that gives it reads."


def as_without_the_crash(timeline: Timeline) -> str | None:
    """The goal that the tables end as they do in a run in which nothing crashed."""
    m = cluster_of(timeline)
    calm = played_out(Timeline(m))
    if facts.rows(m, timeline.state) == facts.rows(m, calm.state):
        return None
    return "The tables at the end are not those of a run without a crash."


def cancelled_after_the_read_switch(timeline: Timeline) -> str | None:
    """The goal that an operator cancelled when X was already read from."""
    m = cluster_of(timeline)
    for moment in timeline.path()[1:]:
        step = timeline.moments[moment]
        if isinstance(getattr(step.action, "action", None), Cancel):
            then = timeline.moments[step.parent].state
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
        "not every node must apply epoch 1. In each locked row a majority of those who hold it "
        "before or after must, and X as well, since it commits its own events.",
        judged(Ground("bootstrap"), (reaches(_SECOND), shortest_to(_SECOND))),
    ),
    Task(
        "light-a-lamp",
        "break it yourself",
        "In the bootstrap with three replicas the safeguard S-06 is off: the old replica stops "
        "taking writes in the very epoch in which reads leave it. Give a run, as verbs or as a "
        "Player, at whose end a promise is broken.",
        "verbs",
        "let everybody follow, stream all there is to stream, and commit the read switch.",
        judged(Ground("rf3", off=("old-writer-stays",)), (breaks_something,)),
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
            Ground("bootstrap", {"crashes": 1}),
            (finished, crashed_between_writes_and_reads, as_without_the_crash),
        ),
    ),
    Task(
        "way-back",
        "a late way back",
        "In the bootstrap with three replicas, cancel the bootstrap when X is read from already, "
        "so that in the end all tables are as they were. Give the verbs, or a Player.",
        "verbs",
        "cancel after the read switch; what comes then is one event more, after a barrier.",
        judged(Ground("cancel"), (cancelled_after_the_read_switch, as_before)),
    ),
)
