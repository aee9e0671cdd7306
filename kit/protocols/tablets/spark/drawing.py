"""Clusters with tablets, drawn from seeds as columns: large ones to add up, small ones to balance.

Nodes are dealt to racks in turn. The replicas of a tablet lie on different racks, each on a node
and a shard drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from kit.engine.bounds import bounds_of
from kit.errors import BadInput
from kit.protocols.tablets.rules.balance.cluster import UNKNOWN, Bytes, Codes
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import TARGET_SIZE, is_growing

CHUNK = 2**16
"""So many tablets of a table are drawn from one seed, so that tasks may cut tables anywhere."""
Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class TabletsSize(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How large a cluster is drawn; ``tablets`` are those of each table.

    ``empty`` nodes, the last ones, hold nothing at first. Of a hundred tables ``colocated`` share
    the tablets of the one before, and ``unknown`` have a replica whose size is not known.
    """

    nodes: Count = 3000
    racks: Annotated[int, Meta(ge=1, le=1000)] = 3
    shards: Annotated[int, Meta(ge=1, le=1024)] = 16
    tables: Annotated[int, Meta(ge=1, le=10_000)] = 50
    tablets: Count = 100_000
    replicas: Annotated[int, Meta(ge=1, le=9)] = 3
    empty: Annotated[int, Meta(ge=0)] = 0
    colocated: Annotated[int, Meta(ge=0, le=100)] = 10
    unknown: Annotated[int, Meta(ge=0, le=100)] = 4
    target_size: Annotated[int, Meta(ge=1, le=2**50)] = TARGET_SIZE
    seed: Annotated[int, Meta(ge=0, le=2**32)] = 1


class DrawnTable(Struct, frozen=True):
    """What the cluster knows of a table beside its tablets; ``base`` is itself unless co-located.

    ``mean`` is the size around which its replicas' sizes lie, ``unknown`` the tablet whose first
    replica's size is not known; None: all are.
    """

    number: int
    base: int
    mean: int
    unknown: int | None
    resize_type: ResizeType
    resize_seq_number: int
    initial: int
    growing: bool


class ReplicaColumns(Struct, frozen=True, eq=False):
    """Replicas as columns, (n, k): nodes, shards, bytes."""

    nodes: Codes
    shards: Codes
    bytes: Bytes


def size_of(given: Mapping[str, Any]) -> TabletsSize:
    """The size from plain values.

    Raises:
        BadInput: for an unknown one, one out of its limits, too few racks or nodes for replicas.
    """
    size = bounds_of(TabletsSize, "size", given, "whole numbers of a cluster's parts")
    if size.racks < size.replicas:
        raise BadInput("racks", size.racks, f"at least {size.replicas}, one for each replica")
    if size.nodes - size.empty < size.racks:
        allowed = f"at least {size.racks} that are not empty, one in each rack"
        raise BadInput("nodes", size.nodes, allowed)
    return size


def drawn_tables(size: TabletsSize) -> tuple[DrawnTable, ...]:
    """The tables of a cluster."""
    chance = np.random.default_rng((size.seed, 0))
    tables: list[DrawnTable] = []
    for number in range(size.tables):
        shares = bool(tables) and bool(chance.integers(100) < size.colocated)
        base = tables[-1].base if shares else number
        initial = size.tablets >> int(chance.integers(3))
        kinds: tuple[ResizeType, ...] = ("none", "none", "split", "merge")
        tables.append(
            DrawnTable(
                number,
                base,
                int(size.target_size * 2.0 ** chance.uniform(-3, 3)),
                int(chance.integers(size.tablets)) if chance.integers(100) < size.unknown else None,
                kinds[int(chance.integers(len(kinds)))],
                int(chance.integers(9)),
                initial,
                is_growing(size.tablets, initial),
            )
        )
    return tuple(tables)


def drawn_chunk(size: TabletsSize, table: DrawnTable, chunk: int) -> ReplicaColumns:
    """The tablets from ``chunk * CHUNK`` on of a table; those that are co-located lie together."""
    first = chunk * CHUNK
    count = min(CHUNK, size.tablets - first)
    placed = placed_at_random(np.random.default_rng((size.seed, 1, table.base, chunk)), size, count)
    chance = np.random.default_rng((size.seed, 2, table.number, chunk))
    tablet = table.mean * chance.uniform(0.5, 1.5, (count, 1))
    sizes = (tablet * chance.uniform(0.98, 1.02, (count, size.replicas))).astype(np.int64)
    if table.unknown is not None and first <= table.unknown < first + count:
        sizes[table.unknown - first, 0] = UNKNOWN
    return ReplicaColumns(placed[0], placed[1], sizes)


def placed_at_random(
    chance: np.random.Generator, size: TabletsSize, count: int
) -> tuple[Codes, NDArray[np.int32]]:
    """Nodes and shards of the replicas of so many tablets: (count, replicas) each."""
    holding = size.nodes - size.empty
    rack = (chance.integers(size.racks, size=(count, 1)) + np.arange(size.replicas)) % size.racks
    members = (holding - rack + size.racks - 1) // size.racks  # the nodes of a rack
    nodes = rack + size.racks * (chance.random(rack.shape) * members).astype(np.int64)
    shards = chance.integers(size.shards, size=rack.shape, dtype=np.int32)
    return nodes.astype(np.int32), shards
