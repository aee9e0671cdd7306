"""How the commit logs are drawn: a log for each shard, that of the metadata, and their disk."""

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.raft.commit_log import DISK, Log, Records, text_of
from kit.views.declared import Badges, Note, Table, panel_of
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.stage import Character, Stage, Tile, stage_panel

QUEUED = 2
"""Pieces of work that are named on the disk; others are counted."""


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    names = m.names if m.own_log else (*m.names[: m.shards], DISK)
    logs = (_log(scene, name) for name in names[:-1])
    turn = [f"{work} {log}" for log, work in m.in_turn(s)]
    more = [f"{len(turn) - QUEUED} more"] * (len(turn) > QUEUED)
    stored = f"SSTables: {' '.join(s.sstables)}" if s.sstables else "no SSTables"
    disk = Character(
        DISK,
        m.spot(DISK),
        tag=f"next: {turn[0]}" if turn else "idle",
        holds=(*turn[1:QUEUED], *more, stored),
        title=f"disk: {', '.join(turn) or 'idle'}; SSTables: {text_of(s.sstables)}",
        kind="part",
    )
    writes, answered = counted(m.writes - s.writes, "write"), counted(len(s.answered), "change")
    gone = f"; lost: {text_of(lost)}" if (lost := m.lost(s)) else ""
    is_due = not m.sync_each or m.is_durable(s, s.change)
    tag = f"{s.change}: {'answer is due' if is_due else 'waits for disk'}"
    clients = Character(
        "clients",
        m.spot("clients"),
        tag="! no room" if s.rejected else tag if s.change else "all answered",
        holds=(f"{writes}{gone}",),
        title=f"clients: {writes}, {answered} answered{gone}",
        kind="client",
    )
    return Stage(names, (*logs, disk), (clients,))


def _log(scene: Scene, name: str) -> Character:
    log: Log = scene.state.logs[scene.model.number(name)]
    safe = [row for row in _segments(scene) if row[0] == name and row[2]]
    tag = "not synced" if log.buffered else "synced" if log.records else "empty"
    return Character(
        name,
        f"n:{name}",
        "up" if scene.state.up else "down",
        tag=tag if scene.state.up else "down",
        holds=(
            *[Tile(" ".join(log.buffered), open=True)] * bool(log.buffered),
            *(Tile(" ".join(there)) for _, _, there, _ in safe[-1:]),
        ),
        title=f"{name}: a log; on disk {text_of(log.on_disk)}; in memory {text_of(log.buffered)}",
        kind="part",
    )


def _segments(scene: Scene) -> Iterator[tuple[str, int, Records, Records]]:
    m = scene.model
    for place, log in enumerate(scene.state.logs[: m.shards + m.own_log]):
        for number, records in enumerate(log.segments(m.room(place)), log.first):
            safe = tuple(each for each in records if each in log.on_disk)
            yield m.names[place], number, safe, records[len(safe) :]


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    yield "down", "" if s.up else "the node is down", "alarm"
    gone = m.lost(s)
    yield "lost", f"{len(gone)} lost here" if gone else "", ""
    queue = f"{len(s.disk)} in the disk's queue" if s.disk else "the disk is idle"
    yield "disk", queue, "busy" if s.disk else ""
    work = f"{s.waited} done since {s.change}"
    yield "waited", work if s.change else "", "busy"


VIEWS = staged(
    _badges,
    stage_panel(
        "logs",
        "Commit logs and their disk",
        _stage,
        meanings={
            "D0": "a data log of the node",
            "M": "its metadata log",
            "open": "in memory only",
            "t1": "a table definition",
            "r2": "an entry of Raft's log",
        },
    ),
    panel_of(
        "segments",
        "Segments",
        Table(
            _segments,
            "segment:{0[0]}:{0[1]}",
            ("log", "segment", "on disk", "in memory"),
            caption="Segments of the logs: a full segment is discarded once it is flushed",
            of="{0[0]}",
        ),
        Note(lambda scene: f"SSTables: {text_of(scene.state.sstables)}", key="sstables"),
        still=True,
        tab="Segments",
    ),
)
