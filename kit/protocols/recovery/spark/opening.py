"""From a row of ``dead_nodes`` to what shows it: the adviser's report, or the Player."""

from __future__ import annotations

from typing import Any

import msgspec

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.errors import BadInput
from kit.protocols.recovery.failures import MOST_NODES
from kit.protocols.recovery.rules.layout import ClusterLayout
from kit.protocols.recovery.spark.dead_nodes import DEAD_NODES

OPENED = f"a row of at most {MOST_NODES} nodes and that RF; of others kit.spark.description tells"


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
    """What the Player shows of a row's cluster; None for a row of another table.

    A recovery at its beginning where one datacenter lost its quorum, by who votes in the row's
    edition. Else the cluster with those nodes down, which failed at once.

    Raises:
        BadInput: for more nodes, or a larger RF, than these models take.
    """
    layout = _layout(row)
    if layout is None:
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
    return _failed(given, layout, dead)


def _failed(given: dict[str, Any], layout: ClusterLayout, dead: list[str]) -> Timeline:
    """The cluster in model ``failures`` after these nodes failed at once."""
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
    """The layout of a row; None for what is no row of ``dead_nodes``."""
    try:
        values = {name: row[name] for name in DEAD_NODES.arrow.names}
        nodes = tuple(map(int, values["layout"].split("+")))
        return ClusterLayout(nodes, int(values["racks"]))
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
