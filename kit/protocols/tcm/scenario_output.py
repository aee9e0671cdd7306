"""What a scenario file shows of a moment: a few lines of plain text, short enough for a slide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kit.errors import BadInput
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import BarrierRow, StreamRow

GAP = "   "


def rows(m: TcmCluster, s: Any, keyspace: str) -> str:
    """Both tables of a keyspace (the first one when none is named), in the focus."""
    shown = [row for row in facts.rows(m, s, keyspace or None) if _in_focus(m, row)]
    lines = [("range", "reads", "writes")]
    lines += [(row.label, ",".join(row.reads), ",".join(row.writes)) for row in shown]
    return _columns(lines) if shown else "no rows"


def log(m: TcmCluster, s: Any, _: str) -> str:
    """Every committed epoch."""
    lines = [(str(line.epoch), line.text, line.operation) for line in facts.log(m, s)]
    return _columns(lines) or "nothing is committed"


def epochs(m: TcmCluster, s: Any, _: str) -> str:
    """Who has applied which epoch."""
    return ", ".join(
        f"{row.node} {row.epoch}"
        + (f" (holds back {', '.join(map(str, row.held))})" if row.held else "")
        + ("" if row.up else " (down)")
        for row in facts.applied(m, s)
    )


def barrier(m: TcmCluster, s: Any, node: str) -> str:
    """The barriers before the next step of each operation (of one node's, when it is named)."""
    lines = [
        (
            f"{row.label} {row.dc}" if row.dc else row.label,
            f"epoch {row.epoch}",
            f"{len(row.acked)} of {','.join(row.replicas)}",
            f"needs {row.needed}",
            "met" if row.met else f"lacks {','.join(row.missing)}",
        )
        for operation in _operations(m, s, node)
        for row in operation.barriers
        if _in_focus(m, row)
    ]
    return _columns(lines) or "no barrier"


def streams(m: TcmCluster, s: Any, node: str) -> str:
    """What is copied before reads may switch."""
    lines = [
        (
            row.label,
            f"{','.join(row.sources) or 'nobody'} -> {row.target}",
            "done" if row.done else "",
        )
        for operation in _operations(m, s, node)
        for row in operation.streams
        if _in_focus(m, row)
    ]
    return _columns(lines) or "nothing to stream"


def steps(m: TcmCluster, s: Any, node: str) -> str:
    """The steps of each operation: done, next, still to do."""
    marks = {"done": "x", "next": ">", "pending": " "}
    return (
        "\n".join(
            f"{operation.title}: "
            + " ".join(f"[{marks[step.status]}] {step.name}" for step in operation.steps)
            for operation in _operations(m, s, node)
        )
        or "no operation is under way"
    )


def locks(m: TcmCluster, s: Any, node: str) -> str:
    """What each operation has locked."""
    return (
        "\n".join(
            f"{operation.title}: " + " ".join(dict.fromkeys(lock.label for lock in operation.locks))
            for operation in _operations(m, s, node)
        )
        or "nothing is locked"
    )


def nodes(m: TcmCluster, s: Any, _: str) -> str:
    """Every node, what it owns and does."""
    return _columns(
        [
            (row.name, row.status, ",".join(map(str, row.tokens)), "" if row.up else "down")
            for row in facts.nodes(m, s)
        ]
    )


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "rows": rows,
    "log": log,
    "epochs": epochs,
    "barrier": barrier,
    "streams": streams,
    "steps": steps,
    "locks": locks,
    "nodes": nodes,
}


def _operations(m: TcmCluster, s: Any, node: str) -> tuple[facts.OperationRow, ...]:
    operations = facts.operations(m, s)
    if node and node not in m.names:
        raise BadInput("node", node, "one of " + ", ".join(m.names[:20]))
    return tuple(row for row in operations if node in ("", row.node))


def _in_focus(m: TcmCluster, row: facts.RangeRow | BarrierRow | StreamRow) -> bool:
    focus = facts.focus(m)
    return focus is None or (row.left < focus.right and focus.left < row.right)


def _columns(lines: Sequence[tuple[str, ...]]) -> str:
    """Lines of cells, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
