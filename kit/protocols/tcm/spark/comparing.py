"""Whether two engines say the same, table by table and report by report."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from kit.errors import KitError
from kit.protocols.tcm.spark.pipelines import Pipeline, PlainPipeline
from kit.protocols.tcm.spark.tables import PLACEMENT_TABLES

REPORTS = ("steps", "ownership", "affected", "availability", "streams", "quorums")


def same_as_engine(job: Pipeline, other: Pipeline | None = None) -> str:
    """One line that says how much was compared, when all of it is equal.

    ``other`` is the plain engine on the same history, unless given. For small rings: every table
    is fetched.

    Raises:
        KitError: naming the first table or report that differs.
    """
    engine = other or PlainPipeline(job.history)
    rows = 0
    for schema in PLACEMENT_TABLES:
        ours, theirs = (_sorted(_fetched(run, schema.name)) for run in (job, engine))
        if not ours.equals(theirs):
            raise KitError(f"{schema.name}: {job.engine} and {engine.engine} differ")
        rows += ours.num_rows
    for name in REPORTS:
        if not _report(job, name).equals(_report(engine, name)):
            raise KitError(f"{name}: {job.engine} and {engine.engine} differ")
    return f"same as the {engine.engine}: {rows:,} rows, {len(REPORTS)} reports"


def _fetched(job: Pipeline, name: str) -> pa.Table:
    """A table; small ones need not go to Spark and back."""
    table: Any = job.small.get(name)
    table = job.table(name) if table is None else table
    return table if isinstance(table, pa.Table) else table.toArrow()


def _sorted(table: pa.Table) -> pa.Table:
    """The rows in an order that does not depend on tasks; types as the first engine has them."""
    names = [f.name for f in table.schema if not pa.types.is_list(f.type)]
    return table.sort_by([(name, "ascending") for name in names]).combine_chunks()


def _report(job: Pipeline, name: str) -> pd.DataFrame:
    frame: pd.DataFrame = getattr(job, name)()
    # How many tasks there were is no result.
    return frame.drop(columns="tasks", errors="ignore")
