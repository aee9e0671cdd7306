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

from msgspec import UNSET
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.storage.actions import (
    CollectTombstones,
    Commit,
    LandLate,
    LateCopy,
    StorageState,
    is_under_way,
)
from kit.protocols.storage.range_model import RangeModel, down, goes_on, put
from kit.protocols.storage.rules.cells import newest
from kit.protocols.storage.rules.masks import holds

STILL_OPEN = "a late copy's session is still open to its target: a tombstone outlives it"


class LateCopyModel(RangeModel):
    """A data range on which copies of earlier steps may still arrive."""

    def _commit(self, s: StorageState, action: Commit) -> StorageState:
        after = super()._commit(s, action)
        if s.late_copies is UNSET or goes_on(self.newest(s).copies, self.newest(after).copies):
            return after
        left = (*s.late_copies, *self._left_behind(s)) if s.late_left else ()
        return replace(after, late_copies=tuple(sorted(set(left))))

    def _left_behind(self, s: StorageState) -> Iterator[LateCopy]:
        session = self.newest(s).session
        for copied, copy in self._copies(s):
            if is_under_way(copied):
                yield LateCopy(copy.source, copy.target, copied, session)

    def _late(self, s: StorageState) -> Iterator[LandLate]:
        assert s.late_copies is not UNSET
        names = self.history.replicas
        return (LandLate(names[x.source], names[x.target], x.session) for x in s.late_copies)

    def _may_land_late(self, s: StorageState, action: LandLate) -> Refusal | None:
        return down(action.target) if holds(s.down, self.code[action.target]) else None

    def late_copy(self, s: StorageState, action: LandLate) -> LateCopy:
        """The copy that arrives."""
        assert s.late_copies is not UNSET
        ends = self.code[action.source], self.code[action.target], action.session
        return next(x for x in s.late_copies if (x.source, x.target, x.session) == ends)

    def lets_in(self, s: StorageState, target: int, session: int) -> bool:
        """Whether a replica takes work with the permit of that session."""
        known = self.history.epochs[self.trails[s.at].nodes[s.known[target]]]
        return not self.history.sessions or known.session == session

    def _land_late(self, s: StorageState, action: LandLate) -> StorageState:
        """It is written, or it is turned away; either way it is over, and so are all, if none may
        come any more.
        """
        assert s.late_copies is not UNSET
        assert s.late_left is not UNSET
        late, left, cells = self.late_copy(s, action), s.late_left - 1, s.cells
        rest = tuple(x for x in s.late_copies if x != late) if left else ()
        if self.lets_in(s, late.target, late.session):
            cells = put(cells, late.target, newest(cells[late.target], late.cell))
        return replace(s, late_copies=rest, late_left=left, cells=cells)

    def _may_collect(self, s: StorageState, action: CollectTombstones) -> Refusal | None:
        """An assumption: the grace of tombstones is longer than the barrier that ends a session."""
        lacking = tuple(dict.fromkeys(self._still_open(s)))
        if lacking:
            return Refusal(STILL_OPEN, missing=lacking)
        return super()._may_collect(s, action)

    def _still_open(self, s: StorageState) -> Iterator[str]:
        """Replicas that live and take the session of a late copy for open."""
        if s.late_copies is UNSET or not self.history.sessions:
            return
        for late in s.late_copies:
            if not holds(s.down, late.target) and self.lets_in(s, late.target, late.session):
                yield self.history.replicas[late.target]
