"""A replica that has the range on more than one of its shards, and says which do what it is asked.

Coordinators know the node alone. It reads on one shard and writes on one or on both, by the epoch
that *it* knows; a request that takes time stays with the shards that it began on. Its shards are
listed among the replicas for what they hold; they learn of epochs and die with their node.
Source: Topology over Raft, "Sharding with tablets", "Shard assignment stability".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from kit.protocols.storage.actions import (
    Admit,
    ApplyEpoch,
    ReplicaCrash,
    RequestOptions,
    StorageState,
)
from kit.protocols.storage.played import PlayedStorage
from kit.protocols.storage.range_model import put
from kit.protocols.storage.rules.cells import NOTHING, newest
from kit.protocols.storage.rules.exchange import Answer
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.masks import holds, members
from kit.protocols.storage.rules.requests import ClientRequest, Request


class ShardedStorage(PlayedStorage):
    """Requests on one data range that one of its replicas has on several shards.

    What is promised is that of ``kit.protocols.storage.model.Storage``.
    """

    def __init__(
        self, history: RangeHistory, workload: tuple[ClientRequest, ...], options: RequestOptions
    ) -> None:
        """The requests of ``workload`` on the range of ``history``, which has such a replica.

        Raises:
            BadInput: when the history has too many ways.
        """
        assert history.sharded is not None
        self.node, self.shards = history.sharded.node, history.sharded.shards
        self.nodes_alone = {
            name for i, name in enumerate(history.replicas) if not holds(self.shards, i)
        }
        super().__init__(history, workload, options)

    def chosen(self, s: StorageState, number: int | None, *, write: bool) -> int:
        """The shards (a mask) of a request of the node that is at work, or of one that begins."""
        begun = s.requests[number].begun if number is not None else UNSET
        if begun is not UNSET and begun & self.shards:
            return begun & self.shards
        choice = self.views(s)[s.known[self.node]].shards
        assert choice is not None
        return choice.writes if write else choice.reads

    def stored(
        self, s: StorageState, i: int, cell: int, number: int | None = None
    ) -> tuple[int, ...]:
        """The node's write is on all shards that take it."""
        if i != self.node:
            return super().stored(s, i, cell, number)
        cells = s.cells
        for shard in members(self.chosen(s, number, write=True)):
            cells = put(cells, shard, newest(cells[shard], cell))
        return cells

    def returned(self, s: StorageState, i: int, number: int | None = None) -> int:
        """The node returns what the shard has that it reads."""
        if i != self.node:
            return super().returned(s, i, number)
        shards = members(self.chosen(s, number, write=False))
        return max((s.cells[shard] for shard in shards), default=NOTHING)

    def on_shards(
        self, s: StorageState, i: int, number: int | None = None, *, write: bool
    ) -> tuple[str, ...]:
        """The node's shards that a request uses."""
        return self.history.names(self.chosen(s, number, write=write)) if i == self.node else ()

    def applied(self, s: StorageState, i: int, index: int) -> StorageState:
        """Shards know what their node knows."""
        after = super().applied(s, i, index)
        if i != self.node:
            return after
        known = after.known
        for shard in members(self.shards):
            known = put(known, shard, index)
        return replace(after, known=known)

    def _laggards(self, s: StorageState) -> Iterator[ApplyEpoch]:
        shards = self.history.names(self.shards)
        return (each for each in super()._laggards(s) if each.node not in shards)

    def _upright(self, s: StorageState) -> Iterator[ReplicaCrash]:
        return (each for each in super()._upright(s) if each.replica in self.nodes_alone)

    def _crash(self, s: StorageState, action: ReplicaCrash) -> StorageState:
        after = super()._crash(s, action)
        if self.code[action.replica] != self.node:
            return after
        return replace(after, down=after.down | self.shards)

    def _admit(self, s: StorageState, action: Admit) -> StorageState:
        after, number = super()._admit(s, action), action.request
        if not self.begun(after, number, self.history.replicas[self.node]):
            return after
        shards = self.chosen(s, number, write=self.writing(s, number))
        request: Any = after.requests[number]
        return self._with(after, number, replace(request, begun=request.begun | shards))

    def answered(self, s: StorageState, number: int, i: int, answer: Answer, seen: int) -> Request:
        """The shards are done with a request when their node is."""
        request = super().answered(s, number, i, answer, seen)
        if i != self.node or request.begun is UNSET:
            return request
        return replace(request, begun=request.begun & ~self.shards)
