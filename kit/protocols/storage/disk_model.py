"""What replicas store and return, each on its one disk; a node with shards has another rule."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from kit.protocols.storage.actions import StorageState
from kit.protocols.storage.plan_model import PlanModel
from kit.protocols.storage.range_model import put
from kit.protocols.storage.rules.cells import newest
from kit.protocols.storage.rules.masks import holds, members
from kit.protocols.storage.rules.requests import Request


class DiskModel(PlanModel):
    """A data range, the plans of the requests on it, and the disks of its replicas."""

    def stored(
        self, s: StorageState, i: int, cell: int, number: int | None = None
    ) -> tuple[int, ...]:
        """The cells once replica ``i`` has stored one, as a request asked, or of its own accord."""
        return put(s.cells, i, newest(s.cells[i], cell))

    def returned(self, s: StorageState, i: int, number: int | None = None) -> int:
        """The cell that replica ``i`` returns to a request, or would return by now."""
        return s.cells[i]

    @property
    def all_shards(self) -> int:
        """The shards that are listed among the replicas (a mask)."""
        return self.history.sharded.shards if self.history.sharded else 0

    def shards_at_work(self, s: StorageState, number: int) -> int:
        """The shards (a mask) on which a node that lives is at work, where that takes time."""
        begun = s.requests[number].begun
        return 0 if begun is UNSET else begun & self.all_shards & ~s.down

    def on_shards(
        self, s: StorageState, i: int, number: int | None = None, *, write: bool
    ) -> tuple[str, ...]:
        """The shards of replica ``i`` that such a request uses, by name, where it has several."""
        return ()

    def repaired_at_once(self, s: StorageState, request: Request) -> tuple[int, ...]:
        """What was found is written to those that answered, as far as they still take writes."""
        views = self._views[s.at]
        for i in members(request.acked & ~s.down):
            if holds(views[s.known[i]].writes, i):
                s = replace(s, cells=self.stored(s, i, request.newest_seen))
        return s.cells
