"""Table versions on requests, and what it costs to make one.

A coordinator sends its version of the table with each request. A replica whose schema is older
fetches it first. Source: "Group 0 schema versioning"; blog post on 6.0, "Linearizable schema
version".
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.schema import SchemaState

VersionSource = Literal["hash", "timestamp"]
LARGE = 10_000
"""Tables for which the figures of the blog post are drawn here; it names no number."""
HASHING = (10.0, 20.0)
"""Seconds of one schema change there while the version was a hash of all schema mutations."""
STAMPING = 1.0
"""Seconds of one schema change with a timestamp, at most, however many tables there are."""


class CostRange(Struct, frozen=True):
    """Seconds of one schema change: between ``least`` and ``most``."""

    least: float
    most: float


def version_of(schema: SchemaState, keyspace: str, table: str) -> int:
    """The version of a table by this schema; of one that it lacks, how new the schema is."""
    row = schema.table(keyspace, table)
    return row.version if row is not None else schema.version


def is_new_enough(schema: SchemaState, keyspace: str, table: str, version: int) -> bool:
    """Whether a replica with this schema may serve a request that carries ``version``."""
    return version_of(schema, keyspace, table) >= version


def change_cost(source: VersionSource, tables: int) -> CostRange:
    """What one schema change takes in a cluster with so many tables.

    The hash goes over the mutations of every table, so that it grows with their number; it is never
    quicker than the timestamp, whose change costs the same with any number.
    """
    if source == "timestamp":
        return CostRange(STAMPING, STAMPING)
    share = tables / LARGE
    return CostRange(*(max(STAMPING, seconds * share) for seconds in HASHING))


def total_cost(source: VersionSource, tables: int) -> float:
    """Seconds, at most, to create so many tables one after the other."""
    return sum(change_cost(source, count).most for count in range(1, tables + 1))
