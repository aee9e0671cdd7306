"""What an operation came to, once its last event is committed.

Source: CEP-21, "Node Level Changes"; cancelled ones, "Failure and Cancellation".
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.tcm.rules.metadata import StreamTask
from kit.protocols.tcm.rules.operations import Operation


class Completion(Struct, frozen=True):
    """The end of an operation: its epochs, the ranges it moved, the epochs at which quorums missed.

    ``epochs`` are those that it committed itself; ``missed`` may be others' between them. One that
    was ``undone`` moved nothing.
    """

    operation: Operation
    epochs: int
    moved: int
    missed: tuple[int, ...] = ()
    undone: bool = False

    @property
    def text(self) -> str:
        """``X is a member: 4 epochs, 3 ranges moved, nothing missed``, as a sentence."""
        moved = "all is as before" if self.undone else f"{_counted(self.moved, 'range')} moved"
        parts = (_counted(self.epochs, "epoch"), moved, _missed(self.missed))
        return f"{self._became}: {', '.join(parts)}."

    @property
    def _became(self) -> str:
        node, title = self.operation.node, self.operation.title
        if self.undone:
            return f"{title[0].upper()}{title[1:]} is undone"
        match self.operation.kind:
            case "bootstrap":
                return f"{node} is a member"
            case "decommission":
                return f"{node} has left"
            case "move":
                return f"{node} has moved"
            case "replace":
                return f"{node} is a member in place of {self.operation.target}"
            case _:
                return f"{node} is removed"


def moved_ranges(tasks: tuple[StreamTask, ...]) -> int:
    """How many ranges got a new replica: each once for every group of keyspaces."""
    return len({(part.group, part.range) for task in tasks for part in task.transfers})


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _missed(epochs: tuple[int, ...]) -> str:
    if not epochs:
        return "nothing missed"
    named = ", ".join(map(str, epochs))
    return f"but a read could miss a write at epoch{'s' * (len(epochs) > 1)} {named}"
