"""The rows that nodes and requests leave in the tables of a run, whatever moves their range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.model import Storage


def node_rows(m: Storage, s: Any) -> Iterator[tuple[str, int, bool]]:
    """Each replica's name, the epoch that it knows, and whether it is up."""
    return ((row.name, row.epoch, row.up) for row in facts.replicas(m, s))


def request_rows(run: str, m: Storage, moments: list[Any]) -> Iterator[tuple[Any, ...]]:
    """A row per step and request, in the order of the columns of the table ``requests``."""
    for step, moment in enumerate(moments):
        for row in facts.requests(m, moment.state):
            judged = (row.enough, row.valid) if row.phase == "open" else (None, None)
            request = row.title, row.coordinator, row.level, row.phase, row.planned, row.knows
            yield run, step, row.number + 1, *request, row.answered, *judged, row.result
