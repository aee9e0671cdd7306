"""What the tests of all drills ask: a drill in which lines were typed, and what came of them."""

from __future__ import annotations

from kit.console.drill import Drill, open_drill
from kit.model.timeline import Timeline


def typed(name: str, *lines: str) -> Drill:
    """A drill in which these lines were typed."""
    drill = open_drill(name)
    for line in lines:
        drill.enter(line)
    return drill


def keeps_all(name: str, lines: list[str]) -> None:
    """Each line leaves one entry, an error is one line; the history only grows, and replays."""
    drill = open_drill(name)
    for count, line in enumerate(lines, 1):
        moments = list(drill.timeline.moments)
        entry = drill.enter(line)
        assert drill.timeline.moments[: len(moments)] == moments
        assert len(drill.transcript) == count
        assert "\n" not in entry.error
    drill.grade()
    assert Timeline.load(drill.timeline.save()).state == drill.timeline.state


def replayed(drill: Drill, name: str) -> Drill:
    """A new drill of that name, on a new history of the same run; nothing was typed into it."""
    twin = open_drill(name)
    way = [drill.timeline.moments[at].action for at in drill.timeline.path()[1:]]
    twin.timeline = Timeline.along(drill.timeline.model, way)
    return twin


def passing(name: str, *lines: str) -> int:
    """How many of these lines changed something; they pass, with each step ticked, none refused."""
    done = typed(name, *lines)
    assert errors(done) == []
    assert done.grade().passed
    assert all(step.done for step in done.checklist())
    assert done.grade() == replayed(done, name).grade()
    return sum(entry.changed for entry in done.transcript)


def errors(drill: Drill) -> list[str]:
    """What was refused, and why."""
    return [entry.error for entry in drill.transcript if entry.error]


def failed(drill: Drill) -> dict[str, str]:
    """What does not hold in the grade, and why."""
    return {row.name: row.why for row in drill.grade().rows if row.holds is False}


def printed(drill: Drill) -> str:
    """What the last line printed."""
    return "\n".join(drill.transcript[-1].lines)
