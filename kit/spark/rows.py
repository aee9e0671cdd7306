"""From a row of a table to the run behind it: the one way from Spark to the Player."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from kit.errors import BadInput, BadType
from kit.model.family import families
from kit.model.timeline import Timeline
from kit.model.trace import loads
from kit.search.fuzz import CLEAN, shrink
from kit.spark.schemas import Schema
from kit.spark.sessions import arrow_of


def timeline(row: Any, *, small: bool = False) -> Timeline:
    """The run of a row, replayed step by step without Spark and compared with what it recorded.

    ``row`` is a row of Spark's, of pandas' or a mapping: of a sweep, of violations, or of a table
    that a family makes and whose runs it can repeat. With ``small`` a run that fails is shrunk
    first. ``kit.Player(kit.spark.timeline(row))`` shows it. BadType for a whole table. BadInput for
    a row without a run, or naming the first step that differs.
    """
    if isinstance(row, pd.DataFrame | pa.Table):
        raise BadType("row", row, "one row of a table")
    text = _value(row, "trace")
    run = Timeline.load(loads(text)) if text else _of_families("repeats", row)
    if run is None:
        raise BadInput("row", row, "a row of a sweep or of simulations, with its trace or its seed")
    verdict = _value(row, "verdict")
    if not small or verdict in (None, CLEAN):
        return run
    smaller = _of_families("shrinks", row, run)
    if smaller is not None:
        return smaller
    actions, _ = shrink(run.model, run.actions(), verdict)
    return Timeline.along(run.model, actions)


def dicts(table: Any) -> list[dict[str, Any]]:
    """The rows of a table of Spark's, Arrow's or pandas' as dictionaries; BadType for others."""
    rows: list[dict[str, Any]]
    if isinstance(table, pd.DataFrame):
        rows = table.to_dict("records")
    elif isinstance(table, pa.Table):
        rows = table.to_pylist()
    elif hasattr(table, "toArrow"):
        rows = arrow_of(table).to_pylist()
    else:
        raise BadType("table", table, "a Spark, Arrow or pandas table")
    return rows


def columns_of(field: str, table: Any, schema: Schema, *names: str) -> pa.Table:
    """Some columns of a table of a schema as an Arrow table; without names all of them.

    ``table`` is one of Spark's, of Arrow's or of pandas', or a list of its rows; ``field`` is what
    the caller calls it. BadType when it is none of these; BadInput for a column that does not fit.
    """
    wanted = pa.schema([schema.arrow.field(name) for name in names or schema.arrow.names])
    is_rows = isinstance(table, list) and all(isinstance(row, Mapping) for row in table)
    of = table if is_rows else [getattr(table, "column_names", getattr(table, "columns", ()))]
    if not all(name in columns for columns in of for name in wanted.names):
        allowed = f"a table of {schema.name}, or its rows, with {', '.join(wanted.names)}"
        raise BadType(field, table, allowed)
    try:
        if is_rows:
            return pa.Table.from_pylist(table, schema=wanted)
        if isinstance(table, pd.DataFrame):
            return pa.Table.from_pandas(table, schema=wanted, preserve_index=False)
        picked = table.select(wanted.names)
        return (picked if isinstance(picked, pa.Table) else arrow_of(picked)).cast(wanted)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise BadInput(field, table, f"columns with the types of {schema.name} ({error})") from None


def _of_families(what: str, *given: Any) -> Timeline | None:
    for family in families():
        for place in getattr(family, what):
            run: Timeline | None = family.load(place)(*given)
            if run is not None:
                return run
    return None


def _value(row: Any, name: str) -> Any:
    try:
        return row[name]
    except (KeyError, ValueError, TypeError, IndexError):
        return None
