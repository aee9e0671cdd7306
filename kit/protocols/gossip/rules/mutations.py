"""The schema as every node stores it: cells with timestamps, of which the newest stays.

Nobody puts changes in an order. Nodes merge each other's cells: of two for the same place the one
with the greater timestamp wins, and what is dropped leaves a tombstone. The version of the whole
schema is a hash of all cells, tombstones included, so that it costs more with every change.
Source: "Group 0 schema versioning"; CEP-21, "Schema Management".
"""

from __future__ import annotations

import hashlib

from msgspec import Struct, msgpack

DIGITS = 6
"""Hex digits of a version: short enough to be read, long enough to differ."""


class SchemaCell(Struct, frozen=True, cache_hash=True, order=True):
    """A cell of the schema's tables: what stands at a place, and since when.

    The place is ``name`` (``id``, ``replication``, ``column c``) of a table, or of a keyspace where
    ``table`` is empty. An empty ``value`` is a tombstone; with an empty ``name``, too, it is one of
    the whole table or keyspace and covers every cell there that is not newer.
    """

    keyspace: str
    table: str
    name: str
    timestamp: int
    value: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Where it stands: two cells of one place are never both there."""
        return self.keyspace, self.table, self.name

    @property
    def rank(self) -> tuple[int, bool, str]:
        """The greater one wins: by time, then a tombstone, then by what it says."""
        return self.timestamp, not self.value, self.value


Mutations = tuple[SchemaCell, ...]
"""All cells of a node, sorted by place."""


def merged(mine: Mutations, theirs: Mutations) -> Mutations:
    """The cells of a node that has merged those of another one; the order does not matter."""
    newest: dict[tuple[str, str, str], SchemaCell] = {}
    for cell in (*mine, *theirs):
        other = newest.get(cell.place)
        if other is None or other.rank < cell.rank:
            newest[cell.place] = cell
    covers = {cell.place: cell.timestamp for cell in newest.values() if not cell.name}
    return tuple(sorted(cell for cell in newest.values() if not _covered(cell, covers)))


def _covered(cell: SchemaCell, covers: dict[tuple[str, str, str], int]) -> bool:
    """Whether a tombstone of its table or its keyspace makes a cell void."""
    wider = [(cell.keyspace, "", "")] if cell.table or cell.name else []
    wider += [(cell.keyspace, cell.table, "")] if cell.table and cell.name else []
    return any(covers.get(place, cell.timestamp - 1) >= cell.timestamp for place in wider)


def version_of(cells: Mutations) -> str:
    """The version of the whole schema: a hash of all cells that a node has."""
    return hashlib.blake2b(msgpack.encode(cells), digest_size=DIGITS // 2).hexdigest()


def table_version(cells: Mutations, keyspace: str, table: str) -> str:
    """The version of one table: a hash of its cells alone."""
    own = tuple(cell for cell in cells if (cell.keyspace, cell.table) == (keyspace, table))
    return version_of(own)


def hashed_cells(cells: Mutations) -> int:
    """What a version costs: the cells that the hash goes over, tombstones included."""
    return len(cells)
