"""Tables as data: every column with its type and what it means.

The same columns stand in Parquet, in Arrow and in Spark.
"""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa
from msgspec import Struct

_ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array<int>": pa.list_(pa.int32()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<string>": pa.list_(pa.string()),
}


class Column(Struct, frozen=True):
    """A column: its name, its type in Spark's words, its meaning."""

    name: str
    type: str
    meaning: str


class Schema(Struct, frozen=True, dict=True):
    """A table: its name, what a row is, its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow types."""
        return pa.schema([(column.name, _ARROW[column.type]) for column in self.columns])

    @property
    def ddl(self) -> str:
        """The columns as Spark reads them, each with its meaning as a comment."""
        return ", ".join(
            f"`{c.name}` {c.type} COMMENT '{c.meaning.replace(chr(39), '’')}'" for c in self.columns
        )

    def __str__(self) -> str:
        wide = max(len(column.name) for column in self.columns)
        kind = max(len(column.type) for column in self.columns)
        lines = [f"  {c.name:<{wide}}  {c.type:<{kind}}  {c.meaning}" for c in self.columns]
        return "\n".join([f"{self.name}: {self.row}", *lines])


def table(name: str, row: str, *columns: str) -> Schema:
    """A schema from lines such as ``node int: its code``."""
    fields = []
    for line in columns:
        head, _, meaning = line.partition(": ")
        column, kind = head.split(" ", 1)
        fields.append(Column(column, kind, meaning))
    return Schema(name, row, tuple(fields))
