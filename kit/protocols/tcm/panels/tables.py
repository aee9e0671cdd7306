"""The epoch log, ranges as logical replicas, majorities against each other; the status line.

A record of logical replicas shows one that moves as both its nodes. Source: CEP-21, "Future Work"
(a range as start, end, read owners and write owners, where one logical write replica may list
several nodes that must all answer).
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import Majorities, length, majorities, rows_of
from kit.protocols.tcm.facts.moment import RangeRow, kept_rows
from kit.protocols.tcm.panels.dry_run import fragile, own_ring
from kit.ring.columns import np
from kit.views.declared import Badges, Column, Drawn, Note, Several, Table, panel_of, status
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import soft
from kit.views.promises import judged

LOGICAL_ROWS, MOST_ROWS = 24, 200


class LogicalRow(Struct, frozen=True):
    """A range with its logical write replicas: one of two nodes moves from the first to the second,
    and both must answer. Each read replica is one node.
    """

    row: RangeRow
    writes: tuple[tuple[str, ...], ...]


@kept_rows("tcm.events")
def logical(m: TcmCluster, s: Any, keyspace: str) -> Iterator[LogicalRow]:
    """A keyspace's logical replicas; of more than ``MOST_ROWS`` rows only so many that move."""
    snapshot = m.snapshot(s)
    group = snapshot.metadata.group_of(keyspace)
    moves = [
        (transfer.range, m.names[transfer.displaced], m.names[transfer.target])
        for sequence in snapshot.metadata.sequences
        for transfer in sequence.plan.transfers
        if transfer.group == group and transfer.displaced is not None
    ]
    if (length(m, s, keyspace) or 0) <= MOST_ROWS:
        known = facts.rows(m, s, keyspace)
    else:
        known = rows_of(m, s, keyspace, (held.right for held, _, _ in moves), MOST_ROWS)
    lefts = np.array([held.left for held, _, _ in moves], np.int64)
    rights = np.array([held.right for held, _, _ in moves], np.int64)
    for row in known:
        there = np.flatnonzero((lefts < row.right) & (rights > row.left)).tolist()
        pairs = {
            old: new
            for _, old, new in map(moves.__getitem__, there)
            if old in row.writes and new in row.writes
        }
        targets = set(pairs.values())
        writes = ((x, pairs[x]) if x in pairs else (x,) for x in row.writes if x not in targets)
        yield LogicalRow(row, tuple(writes))


LAST = 30
BOTH = "Nodes joined by “and” are one replica on the move: both of them must answer a write."
MOST_PAIRED, MOST_REPLICAS = 16, 6
"""Ranges, and replicas of one, of which every pair of majorities can be read."""


# -- the log: a line per committed event, beside the counter of epochs -----------------------------


def _draw_log(scene: Scene) -> list[Frag | None]:
    lines = scene.of(facts.log)
    entries = [
        h(
            "li",
            h("b", str(line.epoch)),
            h("span", line.text),
            h("small", line.operation.title),
            [h("small", words) for words in _groups(scene, line.epoch)],
            k=f"log:{line.epoch}",
            class_="entry",
        )
        for line in reversed(lines[-LAST:])
    ]
    counter = h("b", f"epoch {scene.model.newest_epoch(scene.state)}")
    return [
        h("p", counter, f" · {len(lines)} committed", class_="counter"),
        soft(_computed(scene), "log:computed"),
        h("ol", entries, class_="log"),
        soft(f"and {counted(len(lines) - LAST, 'earlier epoch')}" if len(lines) > LAST else ""),
    ]


def _computed(scene: Scene) -> str:
    times = 1 + len(scene.state.tcm.events)
    return f"placement computations: {times}, one at the start and one per epoch"


def _groups(scene: Scene, epoch: int) -> list[str]:
    part = facts.focus(scene.model)
    return [
        f"{row.label}: reads {', '.join(row.reads)}; writes {', '.join(row.writes)}"
        for row in (facts.rows(scene.model, scene.state, at=epoch) if part else ())
        if part and (row.left, row.right) == (part.left, part.right)
    ]


# -- logical replicas: one that moves counts as both its nodes -------------------------------------


def _logical(scene: Scene) -> tuple[LogicalRow, ...]:
    return logical(scene.model, scene.state, facts.keyspaces(scene.model)[0])


def _rows_to_show(scene: Scene) -> list[LogicalRow]:
    rows = _logical(scene)
    return [row for row in rows if any(len(pair) > 1 for pair in row.writes)] or list(rows)


def _ranges(scene: Scene) -> Iterator[Table]:
    name = facts.keyspaces(scene.model)[0]

    def writes(line: LogicalRow) -> list[Kid]:
        kinds = {1: "chip", 2: "chip added"}
        return [h("span", " and ".join(pair), class_=kinds[len(pair)]) for pair in line.writes]

    yield Table(
        lambda scene: _rows_to_show(scene)[:LOGICAL_ROWS],
        lambda line: f"logical:{name}:{line.row.left}:{line.row.right}",
        (
            Column("range", "row.label"),
            Column("reads", lambda line: " ".join(line.row.reads), none=""),
            Column("writes", writes),
        ),
        caption=f"{name}: logical replicas",
    )


def _not_listed(scene: Scene) -> str:
    rest = len(_logical(scene)) - len(_rows_to_show(scene)[:LOGICAL_ROWS])
    return f"Not listed: {counted(rest, 'unchanged range')}." if rest else ""


# -- each read majority against each write majority, with the nodes in both ------------------------


def _few(scene: Scene) -> bool:
    names = facts.keyspaces(scene.model)
    if any((length(scene.model, scene.state, name) or 0) > MOST_PAIRED for name in names):
        return False
    rows = (row for name in names for row in facts.rows(scene.model, scene.state, name))
    return all(len(row.writes) <= MOST_REPLICAS for row in rows)


def _in_transition(scene: Scene) -> Iterator[tuple[str, Majorities]]:
    for name in facts.keyspaces(scene.model):
        there = majorities(scene.model, scene.state, name)
        there = tuple(each for each in there if facts.inside(scene.model, each.row))
        moving = [each for each in there if set(each.row.reads) != set(each.row.writes)]
        yield from ((name, each) for each in moving or there)


def _matrices(scene: Scene) -> list[Frag]:
    none = h("p", "None of the ranges shown is replicated.", class_="soft")
    return [_matrix(*each) for each in _in_transition(scene)] or [none]


def _matrix(keyspace: str, row: Majorities) -> Frag:
    head = [h("th", ", ".join(writing), scope="col") for writing in row.writes]
    body = [
        h(
            "tr",
            h("th", ", ".join(reading), scope="row"),
            [h("td", ", ".join(both) if both else h("strong", "nobody")) for both in line],
        )
        for reading, line in zip(row.reads, row.shared, strict=True)
    ]
    return h(
        "table",
        h("caption", f"{keyspace} {row.row.label}: {_verdict(row)}"),
        h("thead", h("tr", h("th", "read by \\ written to", scope="col"), head)),
        h("tbody", body),
        k=f"meet:{keyspace}:{row.row.left}:{row.row.right}",
        class_="majorities",
    )


def _verdict(row: Majorities) -> str:
    if row.meet:
        return "every read majority meets every write majority"
    return "! a read majority and a write majority share no node"


# -- badges: the epoch, whether all is stable, whom a ring of one's own needs ----------------------


def resting(scene: Scene) -> bool:
    """Whether reads equal writes everywhere and no operation is under way."""
    return scene.of(facts.stable) and not scene.of(facts.operations)


def _badges(scene: Scene) -> Badges:
    yield "epoch", f"epoch {scene.model.newest_epoch(scene.state)}", "plain"
    stable = ("reads equal writes", "") if resting(scene) else ("in transition", "busy")
    yield "rest", *stable
    if not own_ring(scene):
        return
    nodes, broken = fragile(scene)
    if broken:
        yield "deaths", f"! {counted(broken, 'range')} without a quorum", "alarm"
    elif nodes:
        yield "deaths", f"! {counted(nodes, 'node')} must not die", "busy"
    else:
        yield "deaths", "✓ survives any one death", ""


def _status(scene: Scene) -> str:
    rest = "stable" if resting(scene) else "in transition"
    return f"epoch {scene.model.newest_epoch(scene.state)}, {rest}, {judged(scene)}"


STATUS = status(_badges, wording=_status)
LOG = panel_of("log", "Epoch log", Drawn(_draw_log), tab="Log")
LOGICAL = panel_of(
    "logical",
    "Logical replicas",
    Several(_ranges),
    Note(BOTH),
    Note(_not_listed),
    optional=True,
    tab="Logical",
)
MAJORITIES = panel_of(
    "majorities",
    "Read and write majorities",
    Drawn(_matrices),
    optional=True,
    shown=_few,
    tab="Majorities",
)
