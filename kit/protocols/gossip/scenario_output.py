"""What a scenario file shows of a moment: a few lines of plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.protocols.gossip.facts import moment as facts


def versions(m: Any, s: Any, _: str) -> str:
    """Each node's version, and what it has heard of the others."""
    return "\n".join(
        f"{row.name}: {row.version}; heard "
        + ", ".join(f"{each.endpoint} {each.version}" for each in row.heard)
        for row in facts.versions(m, s)
    )


def schemas(m: Any, s: Any, _: str) -> str:
    """What each node says of each keyspace, table and column."""
    return "\n".join(
        f"{'≠' if row.differs else '='} {row.name}: "
        + ", ".join(
            f"{node.name} {value or '–'}" for node, value in zip(s.nodes, row.values, strict=True)
        )
        for row in facts.schemas(m, s)
    )


def changes(m: Any, s: Any, _: str) -> str:
    """What became of each change that was done."""
    lines = (
        f"{row.text}: timestamp {row.timestamp}, known to {', '.join(row.known) or 'nobody'}"
        + (f", overwritten on {', '.join(row.overwritten)}" if row.overwritten else "")
        for row in facts.changes(m, s)
        if row.timestamp is not None
    )
    return "\n".join(lines) or "nothing was asked for"


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "versions": versions,
    "schemas": schemas,
    "changes": changes,
}
