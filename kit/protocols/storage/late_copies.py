"""What streaming leaves behind: copies that arrive after the step that they were begun in.

A step that fails is not told to who streams for it, so that a copy may come much later. It brings
along the session of its step as a permit, and its target lets it in only while that session is the
one that the target knows to be open. A tombstone outlives what may come under such a session, for
the next barrier ends it; without sessions nothing says how late a copy may come, and no tombstone
waits for it. Any of those that were under way may be the one that comes; a budget bounds how many
do. Source: Topology over Raft, "Topology guards".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from kit.engine.declared import action
from kit.protocols.storage.events import Copied, Happened
from kit.protocols.storage.moving import Moving
from kit.protocols.storage.ranges import (
    LateCopy,
    Next,
    Replica,
    StorageState,
    is_under_way,
    put,
    travels,
)
from kit.protocols.storage.rules.requests import newest


class LateCopies(Moving):
    """A data range on which copies of earlier steps may still arrive: ``late`` of them."""

    late: int = 0

    def happened(
        self, before: StorageState, action: Any, after: StorageState
    ) -> tuple[Happened, ...]:
        """What comes late, too: it shows its permit, and may be turned away for it."""
        if not isinstance(action, LandLate):
            return super().happened(before, action, after)
        late = self.late_copy(before, action)
        turned_away = not self.lets_in(before, late.target, late.session)
        ends, brings = (action.source, action.target), self.cell_text(before, late.cell)
        return (Copied(*ends, brings, True, None, late.session, True, turned_away),)

    def left_behind(self, before: StorageState, after: StorageState) -> StorageState:
        """Copies that were on their way when their step ended may come late."""
        if before.late_copies is UNSET:
            return after
        session, left = self.newest(before).session, before.late_copies
        if before.late_left:
            left += tuple(
                LateCopy(copy.source, copy.target, copied, session)
                for copied, copy in self._copies(before)
                if is_under_way(copied)
            )
        else:
            left = ()
        return after.but(late_copies=tuple(sorted(set(left))))

    def late_copy(self, s: StorageState, action: Any) -> LateCopy:
        """The copy that arrives."""
        ends = self.code[action.source], self.code[action.target]
        return self._late_copy(s, *ends, action.session)

    def _late_copy(self, s: StorageState, *ends: int) -> LateCopy:
        assert s.late_copies is not UNSET
        return next(x for x in s.late_copies if (x.source, x.target, x.session) == ends)

    def lets_in(self, s: StorageState, target: int, session: int) -> bool:
        """Whether a replica takes work with the permit of that session."""
        known = self.history.epochs[self.trails[s.trail].nodes[s.known[target]]]
        return not self.history.sessions or known.session == session

    def still_open(self, s: StorageState) -> tuple[str, ...]:
        """Replicas that live and take the session of a late copy for open."""
        if s.late_copies is UNSET or not self.history.sessions:
            return ()
        names = (
            self.history.replicas[late.target]
            for late in s.late_copies
            if not s.down >> late.target & 1 and self.lets_in(s, late.target, late.session)
        )
        return tuple(dict.fromkeys(names))

    def _late(self, s: StorageState) -> Iterator[tuple[int, int, int]]:
        assert s.late_copies is not UNSET
        return ((x.source, x.target, x.session) for x in s.late_copies)

    def _came_late(self, before: StorageState, action: Any, after: StorageState) -> str:
        late, target = self.late_copy(before, action), action.target
        brings = self.cell_text(before, late.cell)
        does = f"for {target} that session is not open, so it turns the copy away"
        if self.lets_in(before, late.target, late.session):
            does = f"{target} takes it"
        return f"A copy of session {late.session} arrives late, with {brings}: {does}."

    @action(
        each=_late,
        when=lambda m: m.late > 0,
        kind="stream",
        verb="late copy of session {session}, {source} to {target}",
        says=_came_late,
        travels=travels,
    )
    def land_late(self, s: StorageState, source: Replica, target: Replica, session: int) -> Next:
        """A copy that outlived its session arrives, with the permit of that session.

        It is written, or it is turned away; either way it is over, and so are all, if none may
        come any more.
        """
        if s.down >> target & 1:
            return self.is_down[target]
        assert s.late_copies is not UNSET
        assert s.late_left is not UNSET
        late, left, cells = self._late_copy(s, source, target, session), s.late_left - 1, s.cells
        rest = tuple(x for x in s.late_copies if x != late) if left else ()
        if self.lets_in(s, target, session):
            cells = put(cells, target, newest(cells[target], late.cell))
        return s.but(late_copies=rest, late_left=left, cells=cells)


LandLate = LateCopies.land_late.struct
