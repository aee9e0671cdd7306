"""From a row of ``dead_nodes`` to what shows it: the adviser's report, or the Player."""

from __future__ import annotations

from typing import Any

import msgspec

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.errors import BadInput
from kit.protocols.recovery.spark.dead_nodes import DEAD_NODES
from kit.protocols.recovery.spark.layouts import ClusterLayout

OPENED = "a row of one datacenter whose majority is lost; of others kit.spark.description tells"


def description(row: Any) -> str:
    """The cluster of a row of ``dead_nodes`` as a file that ``python -m kit recover`` reads.

    Its dead nodes died at once and are lost for good.

    Raises:
        BadInput: for another row.
    """
    layout = _layout(row)
    if layout is None:
        raise BadInput("row", row, "a row of dead_nodes")
    dead = row["dead"].split()
    nodes = [
        {"name": name, "dc": dc, "rack": rack, "status": "lost" if name in dead else "up"}
        for name, (dc, rack) in zip(layout.names, layout.places, strict=True)
    ]
    keyspaces = {"data": layout.factors(int(row["rf"]))}
    cluster = {"nodes": nodes, "keyspaces": keyspaces, "deaths": [dead] if dead else []}
    return msgspec.json.format(msgspec.json.encode(cluster)).decode()


def opened(row: Any) -> Timeline | None:
    """The recovery of a row's cluster, at its beginning; None for a row of another table.

    In the model all members vote, and there are no datacenters.

    Raises:
        BadInput: for a row whose group 0 goes on, in the model too; for several datacenters.
    """
    layout = _layout(row)
    if layout is None:
        return None
    if row["at_once"] or len(layout.nodes) > 1:
        raise BadInput("row", f"{row['layout']}, dead {row['dead'] or 'nobody'}", OPENED)
    parameters = {
        "edition": row["edition"],
        "commit_indexes": (1,) * len(layout.names),
        "dead": row["dead"],
        "rf": int(row["rf"]),
    }
    return Timeline(build("recovery", parameters))


def _layout(row: Any) -> ClusterLayout | None:
    """The layout of a row; None for what is no row of ``dead_nodes``."""
    try:
        values = {name: row[name] for name in DEAD_NODES.arrow.names}
        nodes = tuple(map(int, values["layout"].split("+")))
        return ClusterLayout(nodes, int(values["racks"]))
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
