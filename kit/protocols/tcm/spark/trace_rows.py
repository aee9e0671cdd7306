"""The rows of a run of a cluster: epochs, operations, barriers and placements at each step."""

from collections.abc import Iterator
from typing import Any

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.spark import schemas


def _nodes(m: TcmCluster, s: Any) -> Iterator[tuple[str, int, bool]]:
    return ((row.node, row.epoch, row.up) for row in facts.applied(m, s))


def _operations(m: TcmCluster, s: Any) -> Iterator[schemas.Row]:
    newest = m.newest_epoch(s)
    return ((row.title, row.state, newest) for row in facts.operations(m, s))


def _barriers(m: TcmCluster, s: Any) -> Iterator[schemas.Row]:
    for row in facts.operations(m, s):
        sequence = m.tcm.sequence(s.tcm, row.node)
        assert sequence is not None
        for b in facts.awaiting(m, s, sequence, None).rows:
            range_ = row.title, b.keyspace, b.left, b.right
            yield *range_, b.epoch, b.needed, len(b.acked), b.met


def _placements(run: str, m: TcmCluster, moments: schemas.Moments) -> Iterator[schemas.Row]:
    last = moments[-1].state
    for epoch in range(m.parameters.epoch, m.newest_epoch(last) + 1):
        for keyspace in facts.keyspaces(m):
            for row in facts.rows(m, last, keyspace, epoch):
                yield run, epoch, keyspace, row.left, row.right, row.reads, row.writes


ROWS: schemas.Makers = {
    schemas.EPOCHS: schemas.epochs_with(_nodes),
    schemas.OPERATIONS: schemas.of_states(_operations),
    schemas.BARRIERS: schemas.of_states(_barriers),
    schemas.PLACEMENTS: _placements,
}
