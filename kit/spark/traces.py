"""Runs as data: events, epochs, barriers, operations and placements under one fixed schema.

A run is a timeline, or the trace of one; its rows are what the model's own facts say at each step
of one branch. Many runs are many files of the same tables.
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

from kit.errors import BadInput
from kit.registry import build
from kit.spark.schemas import MEASURES, PLACEMENT_TABLES, QUORUMS, Schema, table
from kit.spark.storing import whole_file
from kit.tcm import facts
from kit.tcm.cluster import TcmCluster
from kit.timeline import Timeline
from kit.trace import Trace

RUN = "run string: the name of the run"
STEP = "step int: the number of the step within the run, 0 at the start"
RUNS = table(
    "runs",
    "a run",
    RUN,
    "model string: the model that was run",
    "parameters string: its parameters, as JSON",
    "off array<string>: the safeguards that were off",
    "steps int: how many steps it has",
    "problem string: why it could not be read, null when it could",
)
EVENTS = table(
    "events",
    "a step of a run",
    RUN,
    STEP,
    "kind string: the kind of action",
    "verb string: the action, as a line that a script understands",
    "epoch bigint: the newest committed epoch after it",
    "say string: what happened, in words",
)
EPOCHS = table(
    "epochs",
    "how far a node has applied the log after a step",
    RUN,
    STEP,
    "node string: the node",
    "applied bigint: the epoch that it has applied",
    "newest bigint: the newest committed epoch",
    "up boolean: whether the node is up",
)
OPERATIONS = table(
    "operations",
    "an operation under way after a step",
    RUN,
    STEP,
    "operation string: its title",
    "state string: its last committed step",
    "epoch bigint: the newest committed epoch",
)
BARRIERS = table(
    "barriers",
    "a barrier that an operation is behind after a step",
    RUN,
    STEP,
    "operation string: its title",
    "keyspace string: the keyspace",
    "left bigint: left bound of the locked range",
    "right bigint: its right bound",
    "epoch bigint: the epoch that must be applied",
    "needed int: by how many replicas",
    "acked int: by how many it is applied",
    "met boolean: whether that is enough",
)
PLACEMENTS = table(
    "placements",
    "a range with its groups at an epoch of a run",
    RUN,
    "epoch bigint: the epoch",
    "keyspace string: the keyspace",
    "left bigint: the left bound, not in the range",
    "right bigint: the right bound",
    "reads array<string>: the nodes that serve reads",
    "writes array<string>: the nodes that get writes",
)
Row = tuple[Any, ...]
Tables = dict[str, pa.Table]


def as_tables(source: Timeline | Trace, run: str = "run") -> Tables:
    """The tables of one run, by name: what happened on the branch that is looked at, to its tip.

    Raises:
        BadInput: when the trace does not replay, or is not of a cluster.
    """
    timeline = Timeline.load(source) if isinstance(source, Trace) else source
    model = timeline.model
    if not isinstance(model, TcmCluster):
        raise BadInput("model", model.name, "tcm: a run of a cluster")
    moments = [timeline.moments[moment] for moment in timeline.path()]
    return {
        schema.name: _filled(schema, rows(run, model, moments)) for schema, rows in MAKERS.items()
    }


def _filled(schema: Schema, rows: Iterator[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def _runs(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    parameters = msgspec.json.encode(m.parameters).decode()
    yield run, m.name, parameters, list(m.off), len(moments) - 1, None


def _events(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        verb, kind = "", "start"
        if moment.action is not None:
            verb, kind = m.verb(moment.action), m.kind(moment.action)
        yield run, step, kind, verb, facts.epoch(m, moment.state), moment.say


def _epochs(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        newest = facts.epoch(m, moment.state)
        for row in facts.applied(m, moment.state):
            yield run, step, row.node, row.epoch, newest, row.up


def _operations(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        newest = facts.epoch(m, moment.state)
        for row in facts.operations(m, moment.state):
            yield run, step, row.title, row.state, newest


def _barriers(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for row in facts.operations(m, moment.state):
            for b in row.barriers:
                place = run, step, row.title, b.keyspace, b.left, b.right
                yield *place, b.epoch, b.needed, len(b.acked), b.met


def _placements(run: str, m: TcmCluster, moments: list[Any]) -> Iterator[Row]:
    last = moments[-1].state
    for epoch in range(m.parameters.epoch, facts.epoch(m, last) + 1):
        for keyspace in facts.keyspaces(m):
            for row in facts.rows(m, last, keyspace, epoch):
                yield run, epoch, keyspace, row.left, row.right, row.reads, row.writes


MAKERS: dict[Schema, Callable[[str, TcmCluster, list[Any]], Iterator[Row]]] = {
    RUNS: _runs,
    EVENTS: _events,
    EPOCHS: _epochs,
    OPERATIONS: _operations,
    BARRIERS: _barriers,
    PLACEMENTS: _placements,
}
SCHEMAS = {schema.name: schema for schema in MAKERS}


def schema(name: str) -> Schema:
    """A table's schema by its name, of placements or of runs; printed, it explains itself.

    Raises:
        BadInput: for a name that no table has.
    """
    known = {s.name: s for s in (*PLACEMENT_TABLES, MEASURES, QUORUMS, *MAKERS)}
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
