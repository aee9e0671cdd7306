"""What an operator only looks at: lines of logs, and the marks of what was seen.

No model tells what somebody has read. So it is noted in marks of the drill, which a checklist asks.
"""

from __future__ import annotations

from itertools import pairwise

from kit.engine.breaches import PassedStep
from kit.engine.drill import DrillMoment
from kit.engine.forms import Given
from kit.engine.server_log import ServerLog

COMPARED = "compared"
"""The mark of one schema version, seen on all live nodes while all were in RECOVERY mode."""


def searched(now: DrillMoment, log: ServerLog, given: Given) -> tuple[str, ...]:
    """The lines of this node's log that hold the words of ``pattern``; without it all.

    Behind each line stands whether its words are the kit's own.
    """
    pattern = str(given.get("pattern", "")).casefold()
    steps = [PassedStep(a.state, b.action, b.state, ()) for a, b in pairwise(now.run)]
    written = log.lines(now.model, now.run[0].state, steps)
    mine = (line for each in written for line in each if line.node == now.place)
    return tuple(line.marked for line in mine if pattern in str(line).casefold())


def noted_id(group_id: str) -> str:
    """The mark of a group's id that was read where a node has it persisted."""
    return f"noted {group_id}"


def seen_in_log(number: int, group: int) -> str:
    """The mark of a group's id that was read in a node's log."""
    return f"seen {number} {group}"
