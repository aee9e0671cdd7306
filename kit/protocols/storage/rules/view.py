"""Who reads and writes a data range at one epoch; sets of replicas are bit masks.

Where a search asks hundreds of thousands of times (who serves, who learns), the bit is tested in
place: the calls would cost it three hundredths of its time.
"""

from typing import Literal

from msgspec import Struct

Acknowledgement = Literal["union", "joint", "quorum-plus-pending"]
AnyAcknowledgement = Acknowledgement | Literal["natural", "either"]
"""With ``natural`` pending replicas are not waited for; with ``either`` any replicas count, so many
as the level wants of the old ones. No protocol here does so."""


class ShardChoice(Struct, frozen=True, cache_hash=True):
    """Which shards of a ``node`` answer what it is asked (all are masks).

    The node is asked, ``reads`` answers its reads and ``writes`` store; both are empty where it has
    no replica.
    """

    node: int
    reads: int
    writes: int

    def placed(self, group: int, shards: int) -> int:
        """A group in which these shards stand for the node, if it is there."""
        return group & ~self.node | shards if group & self.node else group


class View(Struct, frozen=True, cache_hash=True):
    """The range's replicas at one epoch, as bit masks.

    ``old_replicas`` and ``new_replicas`` are its owners before and after the operation under way
    (equal to both groups where none is). ``serves`` and ``stores`` are those that find a replica of
    the range on themselves at this epoch, to read and to write (None: nobody asks). ``fence`` is
    how many epochs back a request may have been planned, where a fence stands (None: it bars
    nothing yet). ``last_modified`` is the index of the last event that changed the row; a trail
    sets it, for it depends on the way. ``shards`` says what the one node that has several shards of
    the range makes of a request, at this epoch (None: there is no such node).
    """

    reads: int
    writes: int
    old_replicas: int
    new_replicas: int
    last_modified: int = 0
    fence: int | None = None
    serves: int | None = None
    stores: int | None = None
    shards: ShardChoice | None = None

    @property
    def read_at(self) -> int:
        """Where reads are answered: the read replicas, or the shard of the one that has several."""
        choice = self.shards
        return self.reads if choice is None else choice.placed(self.reads, choice.reads)

    @property
    def written_at(self) -> int:
        """Where writes are stored: the write replicas, or the shards of the one with several."""
        choice = self.shards
        return self.writes if choice is None else choice.placed(self.writes, choice.writes)

    def holds_it(self, replica: int, write: bool) -> bool:
        """Whether ``replica`` finds the range on itself."""
        holders = self.stores if write else self.serves
        return holders is None or bool(holders >> replica & 1)

    def group(self, write: bool) -> int:
        """The nodes that a request asks: the write replicas, or the read replicas."""
        return self.writes if write else self.reads
