"""What the servers of a run write into their logs, worked out of the run: no state holds a line.

A family says in a ``ServerLog`` which lines each step writes; whatever shows or searches logs asks
it for the lines of a whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.engine.drill import DrillMoment
from kit.engine.forms import Given

OWN_WORDS = "in words of this kit's own"


class ServerLine(Struct, frozen=True):
    """A line of a node's log: which component of the server wrote it, and its text.

    ``own``: the words are the kit's, since no document gives the server's. ``phase`` is the part of
    a procedure that begins with this line, if one does.
    """

    node: str
    component: str
    text: str
    own: bool = False
    phase: str = ""

    def __str__(self) -> str:
        return f"{self.component} - {self.text}"

    @property
    def marked(self) -> str:
        """The line, and behind it that its words are the kit's, if they are."""
        return f"{self} ({OWN_WORDS})" if self.own else str(self)


def no_lines(model: Any, state: Any) -> tuple[ServerLine, ...]:
    """Nothing was written before a run."""
    return ()


class ServerLog(Struct, frozen=True):
    """Which lines are written: ``writes(model, before, action, after)`` in a step.

    ``begins(model, state)`` are those that are there at the start of a run.
    """

    writes: Callable[[Any, Any, Any, Any], Iterable[ServerLine]]
    begins: Callable[[Any, Any], Iterable[ServerLine]] = no_lines

    def lines(
        self, model: Any, start: Any, way: Sequence[PassedStep]
    ) -> tuple[tuple[ServerLine, ...], ...]:
        """The lines of a run in their order: those of its ``start``, then those of each step."""
        steps = (tuple(self.writes(model, step.before, step.action, step.after)) for step in way)
        return (tuple(self.begins(model, start)), *steps)


def searched(now: DrillMoment, log: ServerLog, given: Given) -> tuple[str, ...]:
    """The lines of this node's log that hold the words of ``pattern``; without it all.

    Behind each line stands whether its words are the kit's own.
    """
    pattern = str(given.get("pattern", "")).casefold()
    steps = [PassedStep(a.state, b.action, b.state, ()) for a, b in pairwise(now.run)]
    written = log.lines(now.model, now.run[0].state, steps)
    mine = (line for each in written for line in each if line.node == now.place)
    return tuple(line.marked for line in mine if pattern in str(line).casefold())
