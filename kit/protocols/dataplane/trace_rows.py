"""The rows of a run of a data range with requests: who knows which epoch, groups, requests."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.dataplane.model import Dataplane
from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.trace_rows import node_rows, request_rows
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


def _groups(run: str, m: Dataplane, moments: Moments) -> Iterator[Row]:
    keyspace = m.tcm.cluster.keyspaces[0].name
    place = keyspace, m.history.left, m.history.right
    for row in facts.epochs(m, moments[-1].state):
        yield run, row.epoch, *place, row.reads, row.writes


ROWS: Makers = {
    EVENTS: events_with(facts.epoch),
    EPOCHS: epochs_with(facts.epoch, node_rows),
    PLACEMENTS: _groups,
    REQUESTS: request_rows,
}
