"""Runs as data: events, epochs, barriers, placements and requests under one fixed schema.

A run is a timeline, or the trace of one; its rows are what the model's own facts say at each step
of one branch. Many runs are many files of the same tables. A run of a cluster (tcm) has no
requests; a run of one data range (dataplane) tells no operations and barriers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kit.dataplane.model import Dataplane
from kit.errors import BadInput
from kit.registry import build
from kit.spark.schemas import MEASURES, PLACEMENT_TABLES, QUORUMS, Schema
from kit.spark.storing import whole_file
from kit.spark.trace_tables import (
    BARRIERS,
    EPOCHS,
    EVENTS,
    OPERATIONS,
    PLACEMENTS,
    REQUESTS,
    RUNS,
    TRACE_TABLES,
)
from kit.storage import facts as data_facts
from kit.tcm import facts
from kit.tcm.cluster import TcmCluster
from kit.timeline import Timeline
from kit.trace import Trace

Row = tuple[Any, ...]
Moments = list[Any]
Cluster = TcmCluster | Dataplane
Makers = dict[Schema, Callable[[str, Any, Moments], Iterator[Row]]]
Tables = dict[str, pa.Table]


def as_tables(source: Timeline | Trace, run: str = "run") -> Tables:
    """The tables of one run, by name: what happened on the branch that is looked at, to its tip.

    Raises:
        BadInput: when the trace does not replay, or is not of a cluster.
    """
    timeline = Timeline.load(source) if isinstance(source, Trace) else source
    model = timeline.model
    if not isinstance(model, TcmCluster | Dataplane):
        raise BadInput("model", model.name, "tcm or dataplane: a run of a cluster")
    moments = [timeline.moments[moment] for moment in timeline.path()]
    makers = OF_A_CLUSTER if isinstance(model, TcmCluster) else OF_A_RANGE
    return {
        schema.name: _filled(schema, makers.get(schema, _nothing)(run, model, moments))
        for schema in TRACE_TABLES
    }


def _nothing(_run: str, _model: Any, _moments: Moments) -> Iterator[Row]:
    return iter(())


def _filled(schema: Schema, rows: Iterator[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def _runs(run: str, m: Cluster, moments: Moments) -> Iterator[Row]:
    parameters = msgspec.json.encode(m.parameters).decode()
    yield run, m.name, parameters, list(m.off), len(moments) - 1, None


def _events(run: str, m: Cluster, moments: Moments) -> Iterator[Row]:
    newest: Callable[[Any, Any], int] = (
        facts.epoch if isinstance(m, TcmCluster) else data_facts.epoch
    )
    for step, moment in enumerate(moments):
        verb, kind = "", "start"
        if moment.action is not None:
            verb, kind = m.verb(moment.action), m.kind(moment.action)
        yield run, step, kind, verb, newest(m, moment.state), moment.say


# -- runs of a cluster -----------------------------------------------------------------------------


def _epochs(run: str, m: TcmCluster, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        newest = facts.epoch(m, moment.state)
        for row in facts.applied(m, moment.state):
            yield run, step, row.node, row.epoch, newest, row.up


def _operations(run: str, m: TcmCluster, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        newest = facts.epoch(m, moment.state)
        for row in facts.operations(m, moment.state):
            yield run, step, row.title, row.state, newest


def _barriers(run: str, m: TcmCluster, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for row in facts.operations(m, moment.state):
            for b in row.barriers:
                place = run, step, row.title, b.keyspace, b.left, b.right
                yield *place, b.epoch, b.needed, len(b.acked), b.met


def _placements(run: str, m: TcmCluster, moments: Moments) -> Iterator[Row]:
    last = moments[-1].state
    for epoch in range(m.parameters.epoch, facts.epoch(m, last) + 1):
        for keyspace in facts.keyspaces(m):
            for row in facts.rows(m, last, keyspace, epoch):
                yield run, epoch, keyspace, row.left, row.right, row.reads, row.writes


# -- runs of a data range with requests ------------------------------------------------------------


def _known(run: str, m: Dataplane, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        newest = data_facts.epoch(m, moment.state)
        for row in data_facts.replicas(m, moment.state):
            yield run, step, row.name, row.epoch, newest, row.up


def _groups(run: str, m: Dataplane, moments: Moments) -> Iterator[Row]:
    keyspace = m.tcm.cluster.keyspaces[0].name
    place = keyspace, m.course.left, m.course.right
    for row in data_facts.epochs(m, moments[-1].state):
        yield run, row.epoch, *place, row.reads, row.writes


def _requests(run: str, m: Dataplane, moments: Moments) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for row in data_facts.requests(m, moment.state):
            judged = (row.enough, row.valid) if row.phase == "open" else (None, None)
            asked = row.title, row.coordinator, row.level, row.phase, row.planned, row.knows
            yield run, step, row.number + 1, *asked, row.answered, *judged, row.result


OF_ALL: Makers = {RUNS: _runs, EVENTS: _events}
OF_A_CLUSTER: Makers = {
    **OF_ALL,
    EPOCHS: _epochs,
    OPERATIONS: _operations,
    BARRIERS: _barriers,
    PLACEMENTS: _placements,
}
OF_A_RANGE: Makers = {**OF_ALL, EPOCHS: _known, PLACEMENTS: _groups, REQUESTS: _requests}


def schema(name: str) -> Schema:
    """A table's schema by its name, of placements or of runs; printed, it explains itself.

    Raises:
        BadInput: for a name that no table has.
    """
    known = {s.name: s for s in (*PLACEMENT_TABLES, MEASURES, QUORUMS, *TRACE_TABLES)}
    if name not in known:
        raise BadInput("table", name, "one of " + ", ".join(known))
    return known[name]


def store(folder: str | Path, *runs: Tables) -> Path:
    """Add runs to a folder of traces: a Parquet file a run in the folder of each table.

    The files of a run come into their places when all are written, each whole: a stream that reads
    the folder sees all of a file or nothing, and a full disk leaves no part of a run.

    Raises:
        BadInput: when a run of that name is there already, or the folder cannot be written.
    """
    for tables in runs:
        name = tables[RUNS.name].column("run")[0].as_py()
        with ExitStack() as places:
            for schema, rows in tables.items():
                path = Path(folder) / schema / f"{name}.parquet"
                pq.write_table(rows, places.enter_context(whole_file(path)))
    return Path(folder)


def drawn(
    seed: int, *, model: str = "tcm", most: int = 500, off: tuple[str, ...] = (), **parameters: Any
) -> Timeline:
    """A run of a model with every choice drawn by a seed, to its end or ``most`` steps.

    The same seed and parameters give the same run on every machine; in which order a model lists
    its actions is of no account.
    """
    chance = random.Random(seed)
    timeline = Timeline(build(model, parameters, off))
    for _ in range(most):
        actions = sorted(timeline.model.actions(timeline.state), key=timeline.model.verb)
        if not actions:
            break
        timeline.do(chance.choice(actions))
    return timeline
