"""What the servers of a run write into their logs, worked out of the run: no state holds a line.

A family says in a ``ServerLog`` which lines each step writes; whatever shows or searches logs asks
it for the lines of a whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep

OWN_WORDS = "in words of this kit's own"


class ServerHost(Struct, frozen=True):
    """A node as tools name it."""

    address: str
    host_id: str
    dc: str = "dc1"
    rack: str = "r1"


def host_id(number: int) -> str:
    """The host id of a node, made of the number that a model has: the same run prints the same."""
    return f"{10 + number:08x}-0000-4000-8000-{10 + number:012x}"


def as_uuid(number: int) -> str:
    """A number as a UUID is written, such as a schema version."""
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


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
