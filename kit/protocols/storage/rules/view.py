"""Who reads and writes a data range at one epoch."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Acknowledgement = Literal["union", "joint", "quorum-plus-pending"]
AnyAcknowledgement = Acknowledgement | Literal["natural"]
"""With ``natural``: pending replicas are not waited for, which no protocol here does."""


class View(Struct, frozen=True):
    """The range's replicas at one epoch, as bit masks.

    ``old_replicas`` and ``new_replicas`` are its owners before and after the operation under way
    (equal to both groups where none is). ``fence`` is how many epochs back a request may have been
    planned, where a fence stands (None: it bars nothing yet). ``last_modified`` is the index of the
    last event that changed the row; a trail sets it, for it depends on the way.
    """

    reads: int
    writes: int
    old_replicas: int
    new_replicas: int
    last_modified: int = 0
    fence: int | None = None

    def group(self, write: bool) -> int:
        """Whom a request asks: the write replicas, or the read replicas."""
        return self.writes if write else self.reads
