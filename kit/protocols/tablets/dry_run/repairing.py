"""What repairs leave out: tablets of nodes that left, tablets not repaired within the grace."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.rules.availability import skipped_by_primary_repair, unrepaired_in_time
from kit.protocols.tablets.rules.maps import TabletMap, group

GRACE = 864_000
"""Seconds: ``gc_grace_seconds`` of a table of which the schema says nothing."""

BY_AGE = ("timeout", "")
"""Tombstone modes in which a tombstone goes by its age alone; empty: nothing tells of one."""


class RepairLine(Struct, frozen=True):
    """A table, or one of a group of co-located ones, as a repair finds it.

    ``skipped`` are the tablets that a primary-range repair on all nodes passes over, since their
    primary replica is on a node that has left. ``never`` counts the tablets that were not repaired
    yet, ``late`` are those to be warned of: in mode ``timeout`` their tombstones go after
    ``gc_grace_seconds``, repaired or not. ``gc_mode`` is empty where nothing tells, and then judged
    as ``timeout``.
    """

    table: str
    tablets: int
    skipped: tuple[int, ...]
    gc_mode: str
    gc_grace_seconds: int
    never: int
    late: tuple[int, ...]


class RepairReport(Struct, frozen=True):
    """The tables at a moment, and the nodes that have left but still have replicas."""

    at: str
    left: tuple[str, ...]
    tables: tuple[RepairLine, ...]


def repair_plan(opened: OpenedTablets, at: datetime) -> RepairReport:
    """What a primary-range repair would leave out, and what is late at a moment."""
    return RepairReport(
        at.isoformat(timespec="seconds"),
        tuple(sorted(opened.left)),
        tuple(_lines(opened, opened.left, at)),
    )


def _lines(opened: OpenedTablets, left: frozenset[str], at: datetime) -> Iterator[RepairLine]:
    places = {node.host: (node.datacenter, node.rack) for node in opened.nodes}
    for base, given in opened.maps.items():
        if given.base_table:
            continue
        skipped = skipped_by_primary_repair(given, left, places)
        for table in group(base, opened.maps):
            yield _line(opened, table, given, skipped, at)


def _line(
    opened: OpenedTablets, table: str, given: TabletMap, skipped: tuple[int, ...], at: datetime
) -> RepairLine:
    """One table of a group: the repairs are those of the base table's tablets."""
    described = None if opened.schema is None else opened.schema.tables.get(table)
    mode = "" if described is None else described.gc_mode
    seconds = GRACE
    if described is not None and described.gc_grace_seconds is not None:
        seconds = described.gc_grace_seconds
    repairs = opened.repairs.get(given.table, {})
    repaired = {tablet: int(when.timestamp()) for tablet, when in repairs.items()}
    late = unrepaired_in_time(given, repaired, int(at.timestamp()), seconds)
    return RepairLine(
        table,
        given.count,
        skipped,
        mode,
        seconds,
        given.count - len(repaired),
        late if mode in BY_AGE else (),
    )
