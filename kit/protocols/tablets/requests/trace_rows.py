"""The rows of a run of one tablet's requests: versions, replicas, requests."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.trace_rows import node_rows, request_rows
from kit.protocols.tablets.requests.model import TabletRequests
from kit.spark.trace_tables import (
    EPOCHS,
    EVENTS,
    PLACEMENTS,
    REQUESTS,
    Makers,
    Moments,
    Row,
    epochs_with,
    events_with,
)

KEYSPACE = "ks"
"""The one tablet is that of a keyspace of its own."""


def _groups(run: str, m: TabletRequests, moments: Moments) -> Iterator[Row]:
    """A row per version; events that share their version leave the last one."""
    place = KEYSPACE, m.history.left, m.history.right
    rows = {row.epoch: row for row in facts.epochs(m, moments[-1].state)}
    for row in rows.values():
        yield run, row.epoch, *place, row.reads, row.writes


ROWS: Makers = {
    EVENTS: events_with(facts.epoch),
    EPOCHS: epochs_with(facts.epoch, node_rows),
    PLACEMENTS: _groups,
    REQUESTS: request_rows,
}
