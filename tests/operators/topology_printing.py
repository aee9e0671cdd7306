"""Printing ``system.topology`` as cqlsh does, in our own words, for tests to read back.

Collections as CQL literals: texts and timestamps in single quotes, UUIDs and numbers without.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kit.operators.importers.cql import CqlType, cql_type
from kit.operators.importers.system_tables import REQUESTS, TOPOLOGY

Rows = Sequence[Mapping[str, Any]]


def uuid(number: int) -> str:
    """A UUID that is easy to tell from others."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def timeuuid(number: int) -> str:
    """A UUID of version 1; a larger number is later."""
    return f"{number:08x}-0000-11f0-8000-000000000001"


def literal(kind: CqlType, value: Any) -> str:
    """A value within a collection as CQL writes it."""
    match kind.name:
        case "set":
            return "{" + ", ".join(literal(kind.of[0], one) for one in value) + "}"
        case "tuple":
            parts = zip(kind.of, value, strict=True)
            return "(" + ", ".join(literal(one, given) for one, given in parts) + ")"
        case "map":
            key, inner = kind.of
            pairs = (f"{literal(key, k)}: {literal(inner, v)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case "text" | "timestamp":
            return "'" + str(value).replace("'", "''") + "'"
        case _:
            return str(value)


def cell(name: str, value: Any) -> str:
    """A field of CSV: empty for null."""
    column = TOPOLOGY.get(name) or REQUESTS.get(name)
    if value is None or value in ([], {}):
        return ""
    kind = cql_type(column.type) if column else cql_type("text")
    return str(value) if not kind.of else literal(kind, value)


def as_csv(rows: Rows) -> str:
    """What ``COPY … TO … WITH HEADER = TRUE`` writes."""
    names = list(rows[0])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", escapechar="\\", doublequote=False)
    writer.writerow(names)
    writer.writerows([cell(name, row[name]) for name in names] for row in rows)
    return text.getvalue()


def as_select(rows: Rows) -> str:
    """What cqlsh shows for ``SELECT JSON *``: backslashes doubled, as in all its tables."""
    lines = [json.dumps(row).replace("\\", "\\\\") for row in rows]
    rule = "-" * max(map(len, lines), default=6)
    return "\n".join(["", " [json]", rule, *(f" {line}" for line in lines), ""]) + (
        f"\n({len(rows)} rows)\n"
    )


def node(number: int, /, **columns: Any) -> dict[str, Any]:
    """A row's own columns: a normal node with two tokens."""
    return {
        "host_id": uuid(number),
        "datacenter": "dc1",
        "rack": f"r{number % 3 + 1}",
        "node_state": "normal",
        "num_tokens": 2,
        "tokens": [str(1000 * number), str(-1000 * number)],
        "release_version": "3.0.8",
        "shard_count": 8,
        "ignore_msb": 12,
        "cleanup_status": "clean",
        "supported_features": ["SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES", "TABLETS"],
        "request_id": timeuuid(number),
        **columns,
    }


def table(nodes: Rows, /, **statics: Any) -> list[dict[str, Any]]:
    """The rows of ``system.topology``: every column of the schema, the static ones in each."""
    features = ["SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES", "TABLETS"]
    given = {"version": 12, "fence_version": 12, "upgrade_state": "done", **statics}
    given.setdefault("enabled_features", features)
    rows = []
    for one in nodes:
        row: dict[str, Any] = dict.fromkeys(TOPOLOGY)
        row |= {"key": "topology", **given, **one}
        rows.append(row)
    return rows
