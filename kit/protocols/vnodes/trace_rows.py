"""The rows of a run of a range under the coordinator: versions, groups, requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.trace_rows import request_rows
from kit.protocols.vnodes.model import Vnodes
from kit.spark.trace_tables import (
    EPOCHS,
    EVENTS,
    PLACEMENTS,
    REQUESTS,
    Makers,
    Row,
    epochs_with,
    events_with,
)

KEYSPACE = "ks"
"""The generated ring has one keyspace."""


def _nodes(m: Vnodes, s: Any) -> Iterator[tuple[str, int, bool]]:
    return ((row.name, row.epoch, row.up) for row in facts.replicas(m, s))


def _groups(run: str, m: Vnodes, moments: list[Any]) -> Iterator[Row]:
    """A row per version; events that share their version leave the last one."""
    place = KEYSPACE, m.history.left, m.history.right
    rows = {row.epoch: row for row in facts.epochs(m, moments[-1].state)}
    for row in rows.values():
        yield run, row.epoch, *place, row.reads, row.writes


ROWS: Makers = {
    EVENTS: events_with(facts.epoch),
    EPOCHS: epochs_with(facts.epoch, _nodes),
    PLACEMENTS: _groups,
    REQUESTS: request_rows,
}
