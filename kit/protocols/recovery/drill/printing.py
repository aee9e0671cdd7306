"""What the tools print of a recovery: the columns of nodetool and of cqlsh."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kit.engine.drill import DrillMoment
from kit.protocols.recovery import groups
from kit.protocols.recovery.facts.machines import ServerHost, machines, schema_version

STATUS_HEAD = ("--", "Address", "Load", "Tokens", "Owns", "Host ID", "Rack")
TITLES = ("Status=Up/Down", "|/ State=Normal/Leaving/Joining/Moving")
NULL = "null"
Row = Mapping[str, Any]
"""Cells by their columns."""


def reached(now: DrillMoment, number: int) -> set[int]:
    """The nodes whose gossip a node takes, itself among them."""
    pairs = [pair for pair in groups.talking(now.state) if number in pair]
    return {number, *(node for pair in pairs for node in pair)}


def status(now: DrillMoment, number: int) -> Iterator[str]:
    """``nodetool status``, as a node sees the others; what is not known is ``?``."""
    up = reached(now, number)
    yield from status_lines(
        (each, "U" if at in up else "D")
        for at, each in enumerate(machines(now.model, now.run))
        if now.state.nodes[at].status != "removed"
    )


def status_lines(hosts: Iterable[tuple[ServerHost, str]]) -> Iterator[str]:
    """The lines of ``nodetool status`` for hosts that are up (U) or down (D)."""
    there = sorted(hosts, key=lambda pair: pair[0].dc)
    for dc, members in groupby(there, key=lambda pair: pair[0].dc):
        heading = f"Datacenter: {dc}"
        yield from (heading, "=" * len(heading), *TITLES)
        rows = [STATUS_HEAD, *(_status_row(machine, health) for machine, health in members)]
        yield from aligned(rows)


def _status_row(machine: ServerHost, health: str) -> tuple[str, ...]:
    return (f"{health}N", machine.address, "?", "1", "?", machine.host_id, machine.rack)


def describe_cluster(now: DrillMoment, number: int) -> Iterator[str]:
    """``nodetool describecluster``: the schema versions of those that are reached."""
    up = reached(now, number)
    versions: dict[str, list[str]] = {}
    unreachable = []
    for at, machine in enumerate(machines(now.model, now.run)):
        node = now.state.nodes[at]
        if at in up:
            versions.setdefault(schema_version(node.columns), []).append(machine.address)
        elif node.status != "removed":
            unreachable.append(machine.address)
    yield from cluster_lines(versions, unreachable)


def cluster_lines(versions: Mapping[str, list[str]], unreachable: list[str]) -> Iterator[str]:
    """The lines of ``nodetool describecluster``: addresses by schema version."""
    yield "Cluster Information:"
    yield "\tName: drill"
    yield "\tPartitioner: org.apache.cassandra.dht.Murmur3Partitioner"
    yield "\tSchema versions:"
    for version, addresses in sorted(versions.items()):
        yield f"\t\t{version}: [{', '.join(addresses)}]"
    if unreachable:
        yield f"\t\tUNREACHABLE: [{', '.join(unreachable)}]"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells in columns, as nodetool prints them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield " ".join(cells).rstrip()


def cql_rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Rows as cqlsh prints them: a heading, a line, the rows, their count."""
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]

    def line(texts: Sequence[str]) -> str:
        padded = (text.ljust(width) for text, width in zip(texts, widths, strict=True))
        return " " + " | ".join(padded).rstrip()

    yield line(columns)
    yield "-" + "-+-".join("-" * width for width in widths)
    yield from map(line, cells)
    yield from ("", count(len(rows)))


def json_rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """The same as ``SELECT JSON`` shows them."""
    texts = [json.dumps({name: row.get(name) for name in columns}) for row in rows]
    yield " [json]"
    yield "-" * (2 + max(map(len, texts), default=6))
    yield from (f" {text}" for text in texts)
    yield from ("", count(len(rows)))


def count(number: int) -> str:
    """``(1 rows)``, as cqlsh counts."""
    return f"({number} rows)"


def _cell(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, list):
        return "{" + ", ".join(f"'{each}'" for each in value) + "}"
    return str(value)
