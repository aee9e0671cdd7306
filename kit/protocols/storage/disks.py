"""What replicas store and return: each on its one disk, or on the shards of the one that has some.

Coordinators know the node alone. It reads on one shard and writes on one or on both, by the epoch
that *it* knows; a request that takes time stays with the shards that it began on. Its shards are
listed among the replicas for what they hold; they learn of epochs and die with their node.
Source: Topology over Raft, "Sharding with tablets", "Shard assignment stability".
"""

from __future__ import annotations

from msgspec import UNSET

from kit.protocols.storage.ranges import Range, StorageState, put
from kit.protocols.storage.rules.requests import NOTHING, Request, newest
from kit.protocols.storage.rules.view import members


class Disks(Range):
    """A data range, and the disks of its replicas."""

    def set_up(self) -> None:
        """Which replica has shards: none of them where it is nobody's number."""
        super().set_up()
        self.split = self.history.sharded.node if self.history.sharded else -1

    def chosen(self, s: StorageState, number: int | None, *, write: bool) -> int:
        """The shards (a mask) of a request of the node that is at work, or of one that begins."""
        begun = s.requests[number].begun if number is not None else UNSET
        if begun is not UNSET and begun & self.all_shards:
            return begun & self.all_shards
        choice = self.views(s)[s.known[self.split]].shards
        assert choice is not None
        return choice.writes if write else choice.reads

    def stored(
        self, s: StorageState, i: int, cell: int, number: int | None = None
    ) -> tuple[int, ...]:
        """The cells once replica ``i`` has stored one, as a request asked, or of its own accord.

        The write of a node with shards is on all shards that take it.
        """
        if i != self.split:
            return put(s.cells, i, newest(s.cells[i], cell))
        cells = s.cells
        for shard in members(self.chosen(s, number, write=True)):
            cells = put(cells, shard, newest(cells[shard], cell))
        return cells

    def returned(self, s: StorageState, i: int, number: int | None = None) -> int:
        """The cell that replica ``i`` returns to a request, or would return by now.

        With shards it is what that shard has that it reads.
        """
        if i != self.split:
            return s.cells[i]
        shards = members(self.chosen(s, number, write=False))
        return max((s.cells[shard] for shard in shards), default=NOTHING)

    def shards_at_work(self, s: StorageState, number: int) -> int:
        """The shards (a mask) on which a node that lives is at work, where that takes time."""
        begun = s.requests[number].begun
        return 0 if begun is UNSET else begun & self.all_shards & ~s.down

    def on_shards(
        self, s: StorageState, i: int, number: int | None = None, *, write: bool
    ) -> tuple[str, ...]:
        """The shards of replica ``i`` that such a request uses, by name, where it has several."""
        return self.history.names(self.chosen(s, number, write=write)) if i == self.split else ()

    def repaired_at_once(self, s: StorageState, request: Request) -> tuple[int, ...]:
        """What was found is written to those that answered, as far as they still take writes."""
        views = self._views[s.trail]
        for i in members(request.acked & ~s.down):
            if views[s.known[i]].writes >> i & 1:
                s = s.but(cells=self.stored(s, i, request.newest_seen))
        return s.cells


def named_shards(shards: tuple[str, ...]) -> str:
    """The shards that a node uses, as the end of a sentence; nothing where it has no several."""
    return f" on {' and '.join(shards)}" if shards else ""
