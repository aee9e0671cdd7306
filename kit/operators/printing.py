"""What the tools of a cluster print: the columns of nodetool and of cqlsh, made of given facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

STATUS_HEAD = ("--", "Address", "Load", "Tokens", "Owns", "Host ID", "Rack")
TITLES = ("Status=Up/Down", "|/ State=Normal/Leaving/Joining/Moving")
NULL = "null"
Row = Mapping[str, Any]
"""Cells by their columns."""


class PrintedHost(Protocol):
    """What ``nodetool status`` tells of a host."""

    @property
    def address(self) -> str:
        """Its address."""

    @property
    def host_id(self) -> str:
        """Its host id."""

    @property
    def dc(self) -> str:
        """Its datacenter."""

    @property
    def rack(self) -> str:
        """Its rack."""


def status_lines(hosts: Iterable[tuple[PrintedHost, str]]) -> Iterator[str]:
    """The lines of ``nodetool status`` for hosts that are up (U) or down (D).

    A second letter tells the state: normal (N, if none is given), joining (J).
    """
    there = sorted(hosts, key=lambda pair: pair[0].dc)
    for dc, members in groupby(there, key=lambda pair: pair[0].dc):
        heading = f"Datacenter: {dc}"
        yield from (heading, "=" * len(heading), *TITLES)
        rows = [STATUS_HEAD]
        for host, health in members:
            shown = health.ljust(2, "N")
            rows.append((shown, host.address, "?", "1", "?", host.host_id, host.rack))
        yield from aligned(rows)


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


def aligned(rows: Sequence[Sequence[str]], gap: str = " ") -> Iterator[str]:
    """Rows of cells in columns, as nodetool prints them, or with more between them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield gap.join(cells).rstrip()


def cql_rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Rows as cqlsh prints them: a heading, a line, the rows, their count."""
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    heading, *lines = (f" {line}" for line in aligned([columns, *cells], " | "))
    yield heading
    yield "-" + "-+-".join("-" * width for width in widths)
    yield from (*lines, "", count(len(rows)))


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
