"""A record of what happened, to step through: each step reads on, and nothing is computed."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from kit.errors import Refusal
from kit.model.model import Model, Rule
from kit.model.timeline import Timeline


class RecordState(Struct, frozen=True):
    """How many entries were read."""

    read: int = 0


class ReadOn(Struct, frozen=True, tag="read"):
    """Read the next entry."""


class Record(Model[RecordState, ReadOn]):
    """Entries one after the other; a kind of record says what each one is.

    ``ends`` is what is said where there are no more.
    """

    State = RecordState
    Action = ReadOn
    ends: str

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = tuple(entries)
        only, last = ((ReadOn(), None),), len(self.entries)

        def read(s: RecordState, given: None) -> RecordState | Refusal:
            return RecordState(s.read + 1) if s.read < last else Refusal(self.ends)

        self.rules = (
            Rule(ReadOn, "read", choices=lambda s: only, outcome=read, given=lambda action: None),
        )

    def start(self) -> RecordState:
        """Nothing is read yet."""
        return RecordState()

    def verb(self, action: ReadOn) -> str:
        """There is one."""
        return "read on"

    def read_through(self) -> Timeline:
        """The whole record as a timeline, looked at from its start."""
        timeline = Timeline(self)
        while timeline.forward() is not None:
            pass
        timeline.goto(0)
        return timeline
