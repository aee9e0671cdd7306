"""What the tests of all drills ask: a drill in which lines were typed, and what came of them."""

from __future__ import annotations

from kit.engine.drill import Drill, open_drill


def typed(name: str, *lines: str) -> Drill:
    """A drill in which these lines were typed."""
    drill = open_drill(name)
    for line in lines:
        drill.enter(line)
    return drill


def errors(drill: Drill) -> list[str]:
    """What was refused, and why."""
    return [entry.error for entry in drill.transcript if entry.error]


def failed(drill: Drill) -> dict[str, str]:
    """What does not hold in the grade, and why."""
    return {row.name: row.why for row in drill.grade().rows if row.holds is False}


def printed(drill: Drill) -> str:
    """What the last line printed."""
    return "\n".join(drill.transcript[-1].lines)
