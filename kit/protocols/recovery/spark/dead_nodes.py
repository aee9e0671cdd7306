"""Every set of dead nodes of small clusters: is schema possible, are data available, what to do?

A row is a set of dead nodes of a layout, in an edition, for data with so many replicas at a
consistency level. The rules that ``python -m kit recover`` asks answer it. Source: manual on Raft,
"Handling Failures".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.rules.availability import standings
from kit.protocols.recovery.rules.failure_tables import outcome
from kit.protocols.recovery.rules.layout import ClusterLayout
from kit.protocols.recovery.rules.procedure import which_procedure
from kit.protocols.recovery.rules.quorum import after_deaths, orders_of_deaths
from kit.protocols.recovery.spark.layouts import LayoutBounds, layout_bounds, layouts
from kit.protocols.topology.rules.machines import Edition
from kit.spark.schemas import table
from kit.spark.sessions import Spark
from kit.spark.workers import seeded

DEAD_NODES = table(
    "dead_nodes",
    "a set of dead nodes, for data with so many replicas at a consistency level",
    "layout string: the nodes of each datacenter, such as 3+3+2",
    "racks int: the racks of each datacenter, to which its nodes are dealt in turn",
    "dead string: the names of the dead nodes; A is the first node of the first datacenter",
    "edition string: documents, where all members vote, or server, where at most five do",
    "at_once boolean: whether schema can be changed after all of them died at once",
    "in_turn string: whether so after they died one by one: in orders always, sometimes or never",
    "missing int: how many voters have to come back for that, had they died at once",
    "advice string: the procedure, where they died at once and none comes back",
    "rf int: the replicas in each datacenter; levels count all, a small one lacks some",
    "level string: the consistency level",
    "datacenter string: where it is asked for, if the level is counted there; else empty",
    "data string: available, of some ranges or unavailable",
)
TABLES = (DEAD_NODES,)
_FIELDS, _OF_DATA = list(DEAD_NODES.arrow), DEAD_NODES.arrow.get_field_index("rf")
SIDES = _FIELDS[:_OF_DATA], _FIELDS[_OF_DATA:]
"""The columns that tell of group 0, and those that tell of data."""
PER_BATCH = 256  # sets of dead nodes

Row = tuple[Any, ...]
Orders = tuple[bool, bool]


def dead_nodes(spark: Spark | None, *, tasks: int | None = None, **bounds: Any) -> Any:
    """A Spark frame with every set of dead nodes of every layout, in so many tasks.

    ``bounds`` are the fields of ``kit.protocols.recovery.spark.layouts.LayoutBounds``; each layout
    is a task, if ``tasks`` does not say otherwise. Without Spark (None) it is an Arrow table, made
    here and now. ``kit.spark.description(row)`` is the cluster of a row.

    Raises:
        BadInput: for a bound that is unknown or out of its limits, before any task begins.
    """
    within = layout_bounds(bounds)
    count = len(layouts(within))
    cut = count if tasks is None else tasks
    return seeded(spark, range(count), partial(_batches, within), DEAD_NODES, cut)


def _batches(bounds: LayoutBounds, numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
    every = layouts(bounds)
    for number in numbers:
        layout = every[number]
        in_orders = orders_of_deaths(layout.places)
        sets = range(1 << len(layout.places))
        for first in sets[::PER_BATCH]:
            some = sets[first : first + PER_BATCH]
            yield _joined(
                [row for dead in some for row in _group0(layout, in_orders, dead)],
                [row for dead in some for row in _data(layout, bounds.rf, dead)],
                len(some),
            )


def _joined(group0: list[Row], data: list[Row], sets: int) -> pa.RecordBatch:
    """Of each of so many sets every row of group 0, beside every one of its data."""
    left, right = np.arange(len(group0)).reshape(sets, -1, 1), np.arange(len(data))
    pairs = np.broadcast_arrays(left, right.reshape(sets, 1, -1))
    columns = [
        column.take(pa.array(at.ravel()))
        for rows, fields, at in zip((group0, data), SIDES, pairs, strict=True)
        for column in _columns(rows, fields)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DEAD_NODES.arrow)


def _columns(rows: list[Row], fields: list[pa.Field]) -> Iterator[pa.Array]:
    for column, field in zip(zip(*rows, strict=True), fields, strict=True):
        yield pa.array(column, field.type)


def _group0(layout: ClusterLayout, in_orders: Callable[[int], Orders], dead: int) -> Iterator[Row]:
    """The columns ``layout`` to ``advice`` for a set of dead nodes (a mask), by edition."""
    names = layout.names
    cluster = layout.text, layout.racks, " ".join(names[node] for node in nodes_in(dead))
    for edition in get_args(Edition):
        quorum = after_deaths(edition, layout.places, [dead])
        orders = in_orders(dead) if edition == "server" else (quorum.holds,)
        advice, _ = which_procedure(quorum, 0, dead)
        yield *cluster, edition, quorum.holds, outcome(orders), quorum.missing, advice


def _data(layout: ClusterLayout, factors: Iterable[int], dead: int) -> Iterator[Row]:
    """The columns ``rf`` to ``data`` for a set of dead nodes (a mask), by factor and level."""
    for rf in factors:
        for each in standings(layout.places, dead, layout.factors(rf)):
            yield rf, each.level, each.datacenter, each.standing
