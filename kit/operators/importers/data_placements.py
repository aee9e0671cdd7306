"""Who reads and writes each range, as a node has it: rows of ``system_views.data_placements``.

JSON, or CSV with a header. Replicas are numbers of the directory. Source: published virtual table.
"""

from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.operators.importers import dumps
from kit.operators.importers.cql import parse_set
from kit.operators.importers.nodetool import token_of
from kit.ring.tokens import MURMUR3

COLUMNS = ("keyspace_name", "range_start", "range_end", "read_replicas", "write_replicas")


class PlacedRange(Struct, frozen=True):
    """A range of a keyspace, ``(left, right]``; its replicas are numbers of nodes.

    ``where`` is its place in the file, in words.
    """

    where: str
    keyspace: str
    left: int
    right: int
    reads: frozenset[int]
    writes: frozenset[int]


def is_placements(text: str) -> bool:
    """Whether a text, or its beginning, looks like rows of the table."""
    if dumps.is_json(text):
        return all(f'"{name}"' in text for name in COLUMNS)
    return set(COLUMNS) <= dumps.header_names(text)


def parse_placements(text: str, source: str) -> tuple[PlacedRange, ...]:
    """The ranges in the order of the file.

    Raises BadInput for a row that lacks a column, a token or a number that is none, an empty range.
    """
    return tuple(_placed(where, row) for where, row in dumps.parse_rows(text, source))


def _placed(where: str, row: Any) -> PlacedRange:
    keyspace = dumps.name_in(row, "keyspace_name", where)
    left, right = (_token(row, name, where) for name in ("range_start", "range_end"))
    # The published line ends where it begins: its least token closes the last range.
    right = MURMUR3.high if right == MURMUR3.low else right
    if left >= right:
        raise BadInput(f"{where} range_end", row["range_end"], f"a token above {left}")
    reads, writes = (_numbers(row, f"{name}_replicas", where) for name in ("read", "write"))
    return PlacedRange(where, keyspace, left, right, reads, writes)


def _token(row: Any, name: str, where: str) -> int:
    value = row.get(name)
    token = value if type(value) is int else token_of(value) if type(value) is str else None
    if token is None:
        raise BadInput(f"{where} {name}", value, "a token")
    return token


def _numbers(row: Any, name: str, where: str) -> frozenset[int]:
    value = row.get(name)
    given = parse_set(value, f"{where} {name}") if isinstance(value, str) else value
    if not isinstance(given, list) or not all(type(each) is int and each > 0 for each in given):
        raise BadInput(f"{where} {name}", value, "a set of node numbers")
    return frozenset(given)
