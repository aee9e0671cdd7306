"""How the commit logs are drawn: a log for each shard, that of the metadata, and their disk."""

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.raft.commit_log import DISK, Segment, buffered, listed, on_disk, size
from kit.views.declared import Badges, Column, Note, Table, panel_of
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.stage import Character, Stage, stage_panel

QUEUED = 2
"""Pieces of work that are named on the disk; others are counted."""


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    names = m.names if m.own_log else (*m.names[: m.shards], DISK)
    logs = (_log(name, log, up=s.up) for name, log in zip(names[:-1], s.logs, strict=False))
    turn = [f"{piece.work} {piece.log}" for piece in m.in_turn(s)]
    more = [f"{len(turn) - QUEUED} more"] * (len(turn) > QUEUED)
    work = ", ".join(turn) or "idle"
    disk = Character(
        DISK,
        m.spot(DISK),
        tag=counted(len(turn), "piece") if turn else "idle",
        holds=(*turn[:QUEUED], *more),
        title=f"disk: {work}; SSTables: {listed(s.sstables)}",
    )
    writes, lost = counted(m.writes - s.writes, "write"), [*m.lost(s)]
    changes = f"{s.change or s.rejected or listed(s.answered[-2:])}"
    clients = Character(
        "clients",
        m.spot("clients"),
        tag="! no room" if s.rejected else f"{s.change} waits" if s.change else "all answered",
        holds=(writes, f"lost here: {len(lost)}" if lost else changes),
        title=f"clients: {writes}; change {changes}; lost on this node {listed((*lost,))}",
        kind="client",
    )
    return Stage(names, (*logs, disk), (clients,), lines=3)


def _log(name: str, log: tuple[Segment, ...], *, up: bool) -> Character:
    """A log: its segments, and how much of it is on disk."""
    memory, safe = buffered(log), on_disk(log)
    total = len(memory) + len(safe)
    return Character(
        name,
        f"n:{name}",
        "up" if up else "down",
        tag=f"{len(safe)} of {total} synced" if total else "empty",
        holds=tuple(f"{each.number}: {_records(each)}" for each in log[-2:]),
        fill=len(safe) / total if total else None,
        title=f"log {name}: on disk {listed(safe)}; in memory {listed(memory)}",
    )


def _records(segment: Segment) -> str:
    """What a segment holds; what is in memory only stands in brackets."""
    safe, memory = segment.records[: segment.synced], segment.records[segment.synced :]
    return " ".join((*safe, *(f"({record})" for record in memory))) or "–"


def _gates(scene: Scene) -> Iterator[Gate]:
    """A change waits for the disk."""
    m, s = scene.model, scene.state
    if s.change and not m.is_durable(s, s.change):
        yield Gate(m.spot("clients"), f"{s.change} is on disk", "synced", (), (DISK,), 1)


def _segments(scene: Scene) -> Iterator[tuple[str, Segment, int]]:
    """Each segment with its log, and how large it may be."""
    m = scene.model
    for place, (name, log) in enumerate(zip(m.names, scene.state.logs, strict=False)):
        yield from ((name, each, m.room(place)) for each in log if m.own_log or place < m.shards)


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    yield "disk", f"{len(s.disk)} in the disk's queue", "busy" if s.disk else ""
    yield "waited", f"{s.change} waited {s.waited}" if s.change else "", "busy"
    yield "down", "" if s.up else "the node is down", "broken"
    gone = [*m.lost(s)]
    yield "lost", f"{len(gone)} lost here" if gone else "", "plain"


VIEWS = staged(
    _badges,
    stage_panel(
        "logs",
        "Commit logs and their disk",
        _stage,
        gates=_gates,
        meanings={
            "M": "the metadata commit log, on shard 0; D0, D1: data logs of shards",
            "1: w1 (w2)": "segment 1: w1 is on disk, w2 is in memory",
            "t1, r2": "a table definition, an entry of Raft's log",
            "blue": "share of a log that is on disk",
        },
    ),
    panel_of(
        "segments",
        "Segments",
        Table(
            _segments,
            "segment:{0[0]}:{0[1].number}",
            (
                "log",
                Column("segment", lambda row: row[1].number),
                Column("on disk", lambda row: row[1].records[: row[1].synced]),
                Column("in memory", lambda row: row[1].records[row[1].synced :]),
                Column("used", lambda row: f"{sum(map(size, row[1].records))} of {row[2]}"),
            ),
            caption="Segments of the logs: a full one is discarded once it is flushed",
            of="{0[0]}",
            line=lambda row: f"{row[0]} segment {row[1].number}: {_records(row[1])}",
        ),
        Note(lambda scene: f"SSTables: {listed(scene.state.sstables)}", key="sstables"),
        still=True,
        tab="Segments",
    ),
)
