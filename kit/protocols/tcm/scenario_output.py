"""What a scenario file shows of a moment: rows of cells, few enough for a slide."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kit.console.server import aligned
from kit.errors import BadInput
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts

MARKS = {"done": "x", "next": ">", "pending": " "}
Cells = Iterator[tuple[str, ...]]


def rows(m: TcmCluster, s: Any, keyspace: str) -> Cells:
    """Both tables of a keyspace (the first one when none is named), in the focus."""
    shown = [row for row in facts.rows(m, s, keyspace or None) if facts.touches(m, row)]
    if shown:
        yield "range", "reads", "writes"
    for row in shown:
        yield row.label, ",".join(row.reads), ",".join(row.writes)


def log(m: TcmCluster, s: Any, _: str) -> Cells:
    """Every committed epoch."""
    for line in facts.log(m, s):
        yield str(line.epoch), line.text, line.operation.title


def epochs(m: TcmCluster, s: Any, _: str) -> Cells:
    """The epoch that each node has applied."""
    known = []
    for row in facts.applied(m, s):
        held = f" (holds back {', '.join(map(str, row.held))})" if row.held else ""
        known.append(f"{row.node} {row.epoch}{held}{'' if row.up else ' (down)'}")
    yield (", ".join(known),)


def barrier(m: TcmCluster, s: Any, node: str) -> Cells:
    """The barriers before the next step of each operation (of one node's, when it is named)."""
    for row in (row for each in _operations(m, s, node) for row in each.barriers):
        if facts.touches(m, row):
            acked = f"{len(row.acked)} of {','.join(row.replicas)}"
            met = "met" if row.met else f"lacks {','.join(row.missing)}"
            yield row.where, f"epoch {row.epoch}", acked, f"needs {row.needed}", met


def levels(m: TcmCluster, s: Any, node: str) -> Cells:
    """Whose answers those ask for, where it is not what the edition asks for."""
    yield from ((each.asks,) for each in _operations(m, s, node) if each.asks)


def streams(m: TcmCluster, s: Any, node: str) -> Cells:
    """The copies that are made before reads may switch."""
    for row in (row for each in _operations(m, s, node) for row in each.streams):
        if facts.touches(m, row):
            way = f"{','.join(row.sources) or 'nobody'} -> {row.target}"
            yield row.label, way, "done" if row.done else ""


def steps(m: TcmCluster, s: Any, node: str) -> Cells:
    """The steps of each operation: done, next, still to do."""
    for operation in _operations(m, s, node):
        marked = (f"[{MARKS[step.status]}] {step.name}" for step in operation.steps)
        yield (f"{operation.title}: {' '.join(marked)}",)


def locks(m: TcmCluster, s: Any, node: str) -> Cells:
    """The ranges that each operation has locked."""
    for operation in _operations(m, s, node):
        held = dict.fromkeys(lock.label for lock in operation.locks)
        yield (f"{operation.title}: {' '.join(held)}",)


def nodes(m: TcmCluster, s: Any, _: str) -> Cells:
    """Every node, what it owns and does."""
    for row in facts.nodes(m, s):
        yield row.name, row.status, ",".join(map(str, row.tokens)), "" if row.up else "down"


def _operations(m: TcmCluster, s: Any, node: str) -> Iterable[facts.OperationRow]:
    if node and node not in m.names:
        raise BadInput("node", node, "one of " + ", ".join(m.names[:20]))
    return (row for row in facts.operations(m, s) if node in ("", row.node))


def _shown(*parts: Callable[[Any, Any, str], Cells], none: str = "") -> Callable[..., str]:
    """Each part in columns of its own; ``none`` where there is nothing in any."""

    def text(m: TcmCluster, s: Any, what: str) -> str:
        lines = [line for part in parts for line in aligned([*part(m, s, what)], "   ")]
        return "\n".join(lines) or none

    return text


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "rows": _shown(rows, none="no rows"),
    "log": _shown(log, none="nothing is committed"),
    "epochs": _shown(epochs),
    "barrier": _shown(levels, barrier, none="no barrier"),
    "streams": _shown(streams, none="nothing to stream"),
    "steps": _shown(steps, none="no operation is under way"),
    "locks": _shown(locks, none="nothing is locked"),
    "nodes": _shown(nodes),
}
