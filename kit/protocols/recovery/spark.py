"""Every set of dead nodes of small clusters: is schema possible, are data available, what to do?

A row is a set of dead nodes of a layout, in an edition, for data with so many replicas at a
consistency level. The rules that ``python -m kit recover`` asks answer it. From a row one comes to
the adviser's report, or to the Player. Source: manual on Raft, "Handling Failures".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, get_args

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta, Struct

from kit.errors import BadInput
from kit.masks import nodes_in
from kit.model.registry import bounds_of, build
from kit.model.timeline import Timeline
from kit.protocols.group0.rules.quorum import extremes
from kit.protocols.group0.rules.voters import NEWEST_RULES
from kit.protocols.recovery.failures import MOST_NODES
from kit.protocols.recovery.rules.availability import (
    ClusterLayout,
    after_deaths,
    orders_of_deaths,
    outcome,
    standings,
)
from kit.protocols.recovery.rules.procedure import NOT_KNOWN, which_procedure
from kit.protocols.topology.rules.machines import Edition
from kit.spark.schemas import table
from kit.spark.sessions import Spark
from kit.spark.workers import seeded

MOST_IN_ALL = 12
Nodes = Annotated[int, Meta(ge=1, le=MOST_IN_ALL)]


class LayoutBounds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which clusters are looked at.

    ``least`` and ``most`` bound the nodes, ``datacenters`` is the most of these, ``largest`` the
    most nodes of one, ``racks`` the most racks of one. ``rf`` are the replication factors, each one
    that of every datacenter.
    """

    least: Nodes = 1
    most: Nodes = 6
    datacenters: Nodes = 3
    largest: Nodes = MOST_IN_ALL
    racks: Nodes = 3
    rf: Annotated[tuple[Nodes, ...], Meta(min_length=1, max_length=MOST_IN_ALL)] = (1, 2, 3)


def layout_bounds(given: Mapping[str, Any]) -> LayoutBounds:
    """The bounds from plain values.

    Raises BadInput for an unknown one, or one out of its limits.
    """
    bounds = bounds_of(LayoutBounds, "bounds", given, "the numbers of nodes, datacenters and racks")
    if bounds.least > bounds.most:
        raise BadInput("least", bounds.least, f"at most {bounds.most}, the value of most")
    if len(set(bounds.rf)) < len(bounds.rf):
        raise BadInput("rf", list(bounds.rf), "each factor once")
    return bounds


def layouts(bounds: LayoutBounds) -> tuple[ClusterLayout, ...]:
    """Every layout within the bounds, but for the order of its datacenters: large ones first."""
    return tuple(
        ClusterLayout(nodes, bounds.racks)
        for count in range(bounds.least, bounds.most + 1)
        for nodes in _shares(count, bounds.datacenters, bounds.largest)
    )


def _shares(count: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    if not count:
        yield ()
    if not count or not parts:
        return
    for first in range(min(count, largest), 0, -1):
        for others in _shares(count - first, parts - 1, first):
            yield first, *others


DEAD_NODES = table(
    "dead_nodes",
    "a set of dead nodes, for data with some number of replicas at a consistency level",
    "layout string: the number of nodes in each datacenter, such as 3+3+2",
    "racks int: the racks in each datacenter; its nodes are assigned to them in turn",
    "dead string: the names of the dead nodes; A is the first node of the first datacenter",
    "edition string: documents (all members vote) or server (a few vote; ties go by name)",
    "at_once boolean: whether the schema can be changed, whichever nodes vote, if all "
    "the dead nodes died at once",
    "in_turn string: whether it can be changed if they died one by one: always, "
    "sometimes or never, over all orders",
    "missing int: how many voters have to come back at worst, if they died at once",
    "advice string: the procedure if they died at once and none comes back, or not known",
    "rf int: the replicas in each datacenter; levels count them all, even those that "
    "a small datacenter lacks",
    "level string: the consistency level",
    "datacenter string: the request coordinator's datacenter if the level counts "
    "replicas only there; else empty",
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
    """Return a Spark frame with every set of dead nodes of every layout.

    ``bounds`` are the fields of ``kit.protocols.recovery.spark.LayoutBounds``. Each layout is a
    task, unless ``tasks`` gives another number of tasks. Without Spark (None) the result is an
    Arrow table, made at once. ``kit.spark.description(row)`` describes the cluster of a row.

    Raises BadInput for a bound that is unknown or out of its limits, before any task begins.
    """
    within = layout_bounds(bounds)
    count = len(layouts(within))
    do = partial(_batches, within)
    return seeded(spark, range(count), do, DEAD_NODES, count if tasks is None else tasks)


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
    left, right = np.arange(len(group0)).reshape(sets, -1, 1), np.arange(len(data))
    pairs = np.broadcast_arrays(left, right.reshape(sets, 1, -1))
    columns = [
        column.take(pa.array(at.ravel()))
        for rows, fields, at in zip((group0, data), SIDES, pairs, strict=True)
        for column in map(pa.array, zip(*rows, strict=True), (field.type for field in fields))
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DEAD_NODES.arrow)


def _group0(layout: ClusterLayout, in_orders: Callable[[int], Orders], dead: int) -> Iterator[Row]:
    names = layout.names
    cluster = layout.text, layout.racks, " ".join(names[node] for node in nodes_in(dead))
    everybody = (1 << len(names)) - 1
    for edition in get_args(Edition):
        if edition == "server":
            ends = extremes(layout.places, everybody, 0, dead, NEWEST_RULES, together=True)
            orders = in_orders(dead)
        else:
            ends = (after_deaths(edition, layout.places, [dead]),) * 2
            orders = (ends[0].holds,) * 2
        left = dead != everybody
        worst, advices = ends[0], [which_procedure(each, 0, dead, left=left)[0] for each in ends]
        advice = advices[0] if len(set(advices)) == 1 else NOT_KNOWN
        yield *cluster, edition, worst.holds, outcome(orders), worst.missing, advice


def _data(layout: ClusterLayout, factors: Iterable[int], dead: int) -> Iterator[Row]:
    for rf in factors:
        for each in standings(layout.places, dead, layout.factors(rf)):
            yield rf, each.level, each.datacenter, each.standing


OPENED = f"a row with at most {MOST_NODES} nodes and RF; for others, use kit.spark.description"


def description(row: Any) -> str:
    """Return the cluster of a row of ``dead_nodes`` as a file for ``python -m kit recover``.

    The dead nodes of the row died at once and are lost for good.

    Raises BadInput for another row.
    """
    if (layout := _layout(row)) is None:
        raise BadInput("row", row, "a row of table dead_nodes")
    dead = row["dead"].split()
    nodes = [
        {"name": name, "dc": dc, "rack": rack, "status": "lost" if name in dead else "up"}
        for name, (dc, rack) in zip(layout.names, layout.places, strict=True)
    ]
    keyspaces = {"data": layout.factors(int(row["rf"]))}
    cluster = {"nodes": nodes, "keyspaces": keyspaces, "deaths": [dead] if dead else []}
    return msgspec.json.format(msgspec.json.encode(cluster)).decode()


def opened(row: Any) -> Timeline | None:
    """The history of a row's cluster, for the Player; None for a row of another table.

    A recovery at its beginning where one datacenter lost its quorum, by who votes in the row's
    edition. Else the cluster with those nodes down, which failed at once.

    Raises BadInput for more nodes, or a larger RF, than these models take.
    """
    if (layout := _layout(row)) is None:
        return None
    nodes, dead, rf = len(layout.names), row["dead"].split(), int(row["rf"])
    if max(nodes, rf) > MOST_NODES:
        raise BadInput("row", f"{row['layout']}, rf {rf}", OPENED)
    given = {"edition": row["edition"], "rf": rf}
    lives = nodes - len(dead)
    if not row["at_once"] and len(layout.nodes) == 1 and lives:
        racks = tuple("/".join(place) for place in layout.places)
        recovery = {"commit_indexes": (1,) * nodes, "dead": row["dead"], "racks": racks}
        return Timeline(build("recovery", given | recovery))
    failures = {
        "datacenters": layout.nodes,
        "racks": min(layout.racks, MOST_NODES),
        "together": " ".join(dead) if len(dead) > 1 else "",
    }
    timeline = Timeline(build("failures", given | failures))
    if dead:
        option = timeline.model.find(timeline.state, f"stop {', '.join(dead)}")
        assert option is not None, dead
        timeline.do(option[0])
    return timeline


def _layout(row: Any) -> ClusterLayout | None:
    try:
        values = {name: row[name] for name in DEAD_NODES.arrow.names}
        nodes = tuple(map(int, values["layout"].split("+")))
        return ClusterLayout(nodes, int(values["racks"]))
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
