"""The rows that requests on one range leave in the tables of a run, whatever moves the range."""

from collections.abc import Callable, Iterator
from typing import Any

from kit.protocols.storage import facts
from kit.protocols.storage.storage import Storage
from kit.spark import schemas


def range_rows(keyspace: Callable[[Any], str]) -> schemas.Makers:
    """Makers of rows for a family on the storage model; ``keyspace(model)`` names the range's."""

    def groups(run: str, m: Storage, moments: schemas.Moments) -> Iterator[schemas.Row]:
        """A row per version; events that share their version leave the last one."""
        place = keyspace(m), m.history.left, m.history.right
        rows = {row.epoch: row for row in facts.epochs(m, moments[-1].state)}
        for row in rows.values():
            yield run, row.epoch, *place, row.reads, row.writes

    def nodes(m: Storage, s: Any) -> Iterator[tuple[str, int, bool]]:
        return ((row.name, row.epoch, row.up) for row in facts.replicas(m, s))

    return {
        schemas.EPOCHS: schemas.epochs_with(nodes),
        schemas.PLACEMENTS: groups,
        schemas.REQUESTS: _requests,
    }


def _requests(run: str, m: Storage, moments: schemas.Moments) -> Iterator[schemas.Row]:
    for step, moment in enumerate(moments):
        for row in facts.requests(m, moment.state):
            judged = (row.enough, row.valid) if row.phase == "open" else (None, None)
            request = row.title, row.coordinator, row.level, row.phase, row.planned, row.knows
            yield run, step, row.number + 1, *request, row.answered, *judged, row.result
