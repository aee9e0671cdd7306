"""Runs as data: events, epochs, barriers, placements and requests under one fixed schema.

A run is a timeline, or the trace of one; its rows are what the model's own facts say at each step
of one branch. Many runs are many files of the same tables. A run of a cluster (tcm) has no
requests; a run of one data range (dataplane) tells no operations and barriers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kit.edge.arguments import text, whole_number
from kit.engine.family import families
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.engine.trace import Trace
from kit.engine.walking import MOST_STEPS
from kit.errors import BadInput, one_line
from kit.spark.rows import columns_of
from kit.spark.schemas import Schema
from kit.spark.storing import whole_file
from kit.spark.trace_tables import RUNS, TRACE_TABLES, Makers, Moments, Row

Tables = dict[str, pa.Table]


def as_tables(source: Timeline | Trace, run: str = "run") -> Tables:
    """The tables of one run, by name: what happened on the branch that is looked at, to its tip.

    Raises:
        BadInput: when the trace does not replay, or is not of a cluster.
    """
    timeline = Timeline.load(source) if isinstance(source, Trace) else source
    model = timeline.model
    makers = _makers(model.name)
    if makers is None:
        known = " or ".join(name for family in families() for name in family.trace_tables)
        raise BadInput("model", model.name, f"{known}: a run of a cluster")
    moments = [timeline.moments[moment] for moment in timeline.path()]
    makers = {RUNS: _runs, **makers}
    return {
        schema.name: _filled(schema, makers.get(schema, _nothing)(run, model, moments))
        for schema in schemas().values()
    }


def _nothing(_run: str, _model: Any, _moments: Moments) -> Iterator[Row]:
    return iter(())


def _filled(schema: Schema, rows: Iterator[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def _runs(run: str, m: Any, moments: Moments) -> Iterator[Row]:
    parameters = msgspec.json.encode(m.parameters).decode()
    yield run, m.name, parameters, list(m.off), len(moments) - 1, None


def _makers(model: str) -> Makers | None:
    """The makers of rows that a model's family declares; None where it declares none."""
    for family in families():
        if model in family.trace_tables:
            makers: Makers = family.load(family.trace_tables[model])
            return makers
    return None


@cache
def schemas() -> dict[str, Schema]:
    """Every table of runs, by name: the fixed ones, then those that families add."""
    known = {schema.name: schema for schema in TRACE_TABLES}
    for family in families():
        for place in family.trace_tables.values():
            known |= {schema.name: schema for schema in family.load(place)}
    return known


def _other_tables() -> dict[str, Schema]:
    """The tables of the families' pipelines."""
    declared = [family.load(place) for family in families() for place in family.pipeline_tables]
    return {schema.name: schema for tables in declared for schema in tables}


def schema(name: str) -> Schema:
    """A table's schema by its name, of placements or of runs; printed, it explains itself.

    Raises:
        BadInput: for a name that no table has.
    """
    known = {**_other_tables(), **schemas()}
    if name not in known:
        raise BadInput("table", name, "one of " + ", ".join(known))
    return known[name]


def store(folder: str | Path, *runs: Tables) -> Path:
    """Add runs to a folder of traces: a Parquet file a run in the folder of each table.

    A run is what ``as_tables`` makes of it.

    The files of a run come into their places when all are written, each whole: a stream that reads
    the folder sees all of a file or nothing, and a full disk leaves no part of a run.

    Raises:
        BadInput: for what are no tables of a run, when a run of that name is there already, or the
            folder cannot be written.
    """
    whole = [_whole(f"runs[{place}]", tables) for place, tables in enumerate(runs)]
    for name, tables in whole:
        with ExitStack() as places:
            for schema, rows in tables.items():
                path = Path(folder) / schema / f"{name}.parquet"
                pq.write_table(rows, places.enter_context(whole_file(path)))
    return Path(folder)


def _whole(field: str, tables: Tables) -> tuple[str, Tables]:
    """A run's name, which names its files, and its tables, each under its schema."""
    known = schemas()
    if RUNS.name not in tables or not tables.keys() <= known.keys():
        named = ", ".join(map(str, tables)) or "no table"
        raise BadInput(field, named, f"the tables of a run, {RUNS.name} among them")
    cast = {n: columns_of(f"{field}[{n}]", rows, known[n]) for n, rows in tables.items()}
    names = cast[RUNS.name].column("run").to_pylist()
    name = text(f"{field}: run", names[0] if len(names) == 1 else None)
    if Path(name).name != name or name[:1] in ("", ".", "_"):
        raise BadInput(f"{field}: run", name, "the name of a file that is not hidden (by . or _)")
    return name, cast


def stored(path: Path, schema: Schema) -> pa.Table:
    """The rows of a table's file, or of all files in its folder.

    Raises:
        BadInput: when one of them cannot be read, or holds another table.
    """
    try:
        return pq.read_table(path, schema=schema.arrow)
    except (pa.ArrowException, OSError) as error:
        allowed = f"files as store() writes them ({one_line(str(error))})"
        raise BadInput(f"table {schema.name}", str(path), allowed) from None


def drawn(
    seed: int,
    *,
    model: str | None = None,
    most: int = 500,
    off: tuple[str, ...] = (),
    **parameters: Any,
) -> Timeline:
    """A run of a model with every choice drawn by a seed, to its end or ``most`` steps.

    Without a model it is the first that has rows for these tables.

    The same seed and parameters give the same run on every machine; in which order a model lists
    its actions is of no account.

    Raises:
        BadInput: for more steps than any walk may take, or less than none.
    """
    whole_number("most", most, most=MOST_STEPS)
    chance = random.Random(seed)
    first = next(name for family in families() for name in family.trace_tables)
    timeline = Timeline(build(model or first, parameters, off))
    for _ in range(most):
        actions = sorted(timeline.model.actions(timeline.state), key=timeline.model.verb)
        if not actions:
            break
        timeline.do(chance.choice(actions))
    return timeline
