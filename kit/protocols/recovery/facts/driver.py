"""The newest schema version that a driver sees during a recovery, step by step.

A recovery may lose an entry that was committed. Then that version goes back, outside of what the
procedure is about. Source: Topology over Raft, "Raft topology recovery", its last remark.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kit.protocols.recovery.state import NO_GROUP, RecoveryState


class DriverPoint(Struct, frozen=True):
    """A moment: its step, and the newest version that is seen then.

    Step 0 is the start, when the majority is lost; -1 is before that. A version is a count of
    entries; None where nobody answers. ``was`` is what was seen before.
    """

    step: int
    version: int | None
    was: int | None

    @property
    def goes_back(self) -> bool:
        """Whether a driver has seen a newer version before."""
        return self.version is not None and self.was is not None and self.version < self.was


def driver_points(states: Iterable[RecoveryState]) -> tuple[DriverPoint, ...]:
    """What a driver sees in each state of a run, after what it saw before the disaster."""
    points: list[DriverPoint] = []
    last: int | None = None
    for at, s in enumerate(states):
        if not at:
            points.append(DriverPoint(-1, s.entries, None))
            last = s.entries
        answering = (n.index for n in s.nodes if n.takes_part and n.group != NO_GROUP)
        version = max(answering, default=None)
        points.append(DriverPoint(at, version, last))
        last = last if version is None else version
    return tuple(points)
