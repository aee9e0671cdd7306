"""The state of a table that is resized: its map, what replicas hold, who goes by which map."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica

Phase = Literal["", "barrier", "commit", "after"]
"""Where ``tablet_resize_finalization`` is: before its barrier, before the new map is committed,
before the second barrier; empty: the cluster is not in it."""


class Store(Struct, frozen=True, cache_hash=True):
    """What a replica of a tablet holds.

    ``parts`` are the parts of the line of tokens (a mask) whose data it finds. ``divided``: its
    storage is in two halves. ``number`` is the ``resize_seq_number`` that it has copied.
    """

    replica: TabletReplica
    parts: int
    divided: bool = False
    number: int = 0


Stores = tuple[tuple[Store, ...], ...]
"""The stores of each tablet's replicas, tablet by tablet."""


class TableView(Struct, frozen=True, cache_hash=True):
    """What a node goes by: count and decision of the map, and whether a resize is finalized now."""

    count: int
    resize_type: str = "none"
    number: int = 0
    finalizing: bool = False


class RepairRun(Struct, frozen=True, cache_hash=True):
    """A repair at work: on which node, on which tablet of a map with ``count`` tablets."""

    node: int
    tablet: int
    count: int


class ResizeState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """A table while it is resized.

    ``map`` is group 0's. ``stores`` belong to its tablets. ``views[i]`` is what node ``i`` goes by.
    ``size`` is that of one copy of the table, in hundredths of the target size. ``grows`` and the
    like count what may still happen.
    """

    map: TabletMap
    stores: Stores
    views: tuple[TableView, ...]
    size: int
    phase: Phase = ""
    repair: RepairRun | None = None
    grows: int = 0
    shrinks: int = 0
    moves: int = 0
    repairs: int = 0

    @property
    def view(self) -> TableView:
        """What group 0 says now."""
        return TableView(
            self.map.count,
            self.map.resize_type,
            self.map.resize_seq_number,
            self.phase != "",
        )


def numbers(s: ResizeState) -> dict[tuple[int, TabletReplica], int]:
    """The number that each replica of each tablet has copied."""
    return {
        (index, store.replica): store.number
        for index, stores in enumerate(s.stores)
        for store in stores
    }


def with_stores(s: ResizeState, tablet: int, stores: tuple[Store, ...]) -> ResizeState:
    """The state with other stores of one tablet."""
    return replace(s, stores=(*s.stores[:tablet], stores, *s.stores[tablet + 1 :]))


def with_view(s: ResizeState, node: int, view: TableView) -> ResizeState:
    """The state in which a node goes by something else."""
    return replace(s, views=(*s.views[:node], view, *s.views[node + 1 :]))
