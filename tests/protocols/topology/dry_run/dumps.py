"""Dumps to ask the coordinator about, written by us, each of one situation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kit.protocols.topology.dry_run.report import TopologyReport, coordinator
from tests.operators.topology_printing import as_csv, node, table, timeuuid, uuid

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "topology"
NORMAL = tuple(node(number) for number in (1, 2, 3))


def dumped(folder: Path, nodes: Sequence[Mapping[str, Any]], /, **statics: Any) -> Path:
    """A CSV dump with these nodes."""
    path = folder / "topology.csv"
    path.write_text(as_csv(table(nodes, **statics)), "utf-8")
    return path


def said(
    folder: Path, *nodes: Mapping[str, Any], asking: Mapping[str, Any] | None = None, **statics: Any
) -> TopologyReport:
    """What is said of three normal nodes and these."""
    return coordinator(dumped(folder, [*NORMAL, *nodes], **statics), **(asking or {}))


def joining(state: str, number: int = 4, /, **columns: Any) -> dict[str, Any]:
    """A node that joins or replaces another one, in this state."""
    tokens = None if state == "none" else [str(number * 1000)]
    asks = "join" if state == "none" else None
    given = {"node_state": state, "tokens": tokens, "topology_request": asks}
    given |= {"cleanup_status": None, "request_id": timeuuid(0x20)}
    return node(number, **{**given, **columns})


def leaving(state: str, number: int = 4, /, **columns: Any) -> dict[str, Any]:
    """A node that leaves or is removed."""
    return node(number, **{"node_state": state, "request_id": timeuuid(0x20), **columns})


def hosts(*numbers: int) -> tuple[str, ...]:
    """Host ids."""
    return tuple(map(uuid, numbers))
