"""What a scenario file shows of a moment: a few lines of plain text, short enough for a slide."""

from collections.abc import Callable, Sequence
from typing import Any

from kit.console.server import aligned
from kit.errors import BadInput
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts

MARKS = {"done": "x", "next": ">", "pending": " "}


def columns(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of cells, each column as wide as its widest cell."""
    return [*aligned(lines, "   ")]


def rows(m: TcmCluster, s: Any, keyspace: str) -> list[str]:
    """Both tables of a keyspace (the first one when none is named), in the focus."""
    shown = [row for row in facts.rows(m, s, keyspace or None) if facts.touches(m, row)]
    lines = [("range", "reads", "writes")] if shown else []
    return columns([*lines, *((x.label, ",".join(x.reads), ",".join(x.writes)) for x in shown)])


def log(m: TcmCluster, s: Any, _: str) -> list[str]:
    """Every committed epoch."""
    return columns([(str(line.epoch), line.text, line.operation.title) for line in facts.log(m, s)])


def epochs(m: TcmCluster, s: Any, _: str) -> list[str]:
    """Who has applied which epoch."""
    known = [
        f"{row.node} {row.epoch}"
        + (f" (holds back {', '.join(map(str, row.held))})" if row.held else "")
        + ("" if row.up else " (down)")
        for row in facts.applied(m, s)
    ]
    return [", ".join(known)]


def barrier(m: TcmCluster, s: Any, node: str) -> list[str]:
    """The barriers before the next step of each operation (of one node's, when it is named)."""
    asks = [each.asks for each in _operations(m, s, node) if each.asks]
    return asks + columns(
        [
            (
                row.where,
                f"epoch {row.epoch}",
                f"{len(row.acked)} of {','.join(row.replicas)}",
                f"needs {row.needed}",
                "met" if row.met else f"lacks {','.join(row.missing)}",
            )
            for operation in _operations(m, s, node)
            for row in operation.barriers
            if facts.touches(m, row)
        ]
    )


def streams(m: TcmCluster, s: Any, node: str) -> list[str]:
    """What is copied before reads may switch."""
    return columns(
        [
            (x.label, f"{','.join(x.sources) or 'nobody'} -> {x.target}", "done" if x.done else "")
            for operation in _operations(m, s, node)
            for x in operation.streams
            if facts.touches(m, x)
        ]
    )


def steps(m: TcmCluster, s: Any, node: str) -> list[str]:
    """The steps of each operation: done, next, still to do."""
    return [
        f"{operation.title}: "
        + " ".join(f"[{MARKS[step.status]}] {step.name}" for step in operation.steps)
        for operation in _operations(m, s, node)
    ]


def locks(m: TcmCluster, s: Any, node: str) -> list[str]:
    """What each operation has locked."""
    return [
        f"{operation.title}: " + " ".join(dict.fromkeys(lock.label for lock in operation.locks))
        for operation in _operations(m, s, node)
    ]


def nodes(m: TcmCluster, s: Any, _: str) -> list[str]:
    """Every node, what it owns and does."""
    return columns(
        [
            (row.name, row.status, ",".join(map(str, row.tokens)), "" if row.up else "down")
            for row in facts.nodes(m, s)
        ]
    )


def _operations(m: TcmCluster, s: Any, node: str) -> tuple[facts.OperationRow, ...]:
    if node and node not in m.names:
        raise BadInput("node", node, "one of " + ", ".join(m.names[:20]))
    return tuple(row for row in facts.operations(m, s) if node in ("", row.node))


Shown = Callable[[Any, Any, str], list[str]]


def _or_none(shown: Shown, none: str = "") -> Callable[[Any, Any, str], str]:
    return lambda m, s, what: "\n".join(shown(m, s, what)) or none


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "rows": _or_none(rows, "no rows"),
    "log": _or_none(log, "nothing is committed"),
    "epochs": _or_none(epochs),
    "barrier": _or_none(barrier, "no barrier"),
    "streams": _or_none(streams, "nothing to stream"),
    "steps": _or_none(steps, "no operation is under way"),
    "locks": _or_none(locks, "nothing is locked"),
    "nodes": _or_none(nodes),
}
