"""The tab that asks a host: which shard has a key, by the map, by the sharder, statically."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kit.protocols.tablets.facts import sharding as facts
from kit.protocols.tablets.facts.sharding import HeldVersion, ShardAnswer
from kit.protocols.tablets.facts.tracks import tablet_map
from kit.protocols.tablets.rules.maps import TabletMap
from kit.views.declared import Choice, Column, Note, Part, Table, panel_of
from kit.views.panel import Scene

KINDS = {"holding": "holding its map", "auto_refreshing": "auto-refreshing"}
NO_VERSION = "Two sharders are compared once there is a second map."
COLUMNS = (
    Column("key", "key.key"),
    Column("tablet", "key.tablet"),
    Column("has_replica()", "holds", none="no"),
    Column("reads", "reads"),
    Column("writes", "writes", none=""),
    Column("static", "static"),
    Column("differs", lambda each: "≠" if each.differs else "", none=""),
)


def _parts(scene: Scene, host: str) -> Iterator[Part]:
    """A row for each key; then both kinds of sharder, made before the newest version."""
    maps, table = _versions(scene), scene.model.parameters.tables[0]
    yield Table(
        partial(_answers, host),
        f"shards:{host}:{{0.key.key}}",
        COLUMNS,
        caption=f"shards of {host}, by the token of the key",
        of=f"tablet {table} {{0.key.tablet}}",
        line=partial(_answer, host),
    )
    if len(maps) < 2:
        yield Note(NO_VERSION)
        return
    key = facts.asked_about(maps[-1], maps[-2])
    yield Table(
        lambda scene: facts.both_kinds(scene.model, maps, host, key),
        f"sharder:{host}:{{0.kind}}",
        (
            Column("sharder", lambda each: KINDS[each.kind]),
            Column("map", "version"),
            Column("reads", "reads"),
            Column("writes", "writes"),
            Column("a barrier", _waits),
        ),
        caption=f"two sharders of {host}, made of map {len(maps) - 1}, asked for {key.key}",
        line=partial(_sharder, f"{host}, {key.key}"),
        marked=False,
    )


def _answers(host: str, scene: Scene) -> tuple[ShardAnswer, ...]:
    return facts.answers(scene.model, scene.of(tablet_map), host)


def _answer(host: str, each: ShardAnswer) -> str:
    tablet, holds, reads, writes, static, sign = (column.cell(each) for column in COLUMNS[1:])
    return (
        f"{host}, {each.key.key} of tablet {tablet}: has_replica() {holds}, "
        f"reads {reads}, writes {writes}, static {static} {sign}"
    ).rstrip()


def _versions(scene: Scene) -> tuple[TabletMap, ...]:
    return scene.once("versions", lambda: facts.versions(scene.model, scene.state, scene.way()))


def _waits(each: HeldVersion) -> str:
    if each.holds is not None:
        return f"! waits for map {each.holds}"
    return "does not wait: a guard is needed"


def _sharder(what: str, each: HeldVersion) -> str:
    writes = ", ".join(map(str, each.writes))
    return (
        f"{what}, {KINDS[each.kind]}: map {each.version}, reads {each.reads}, "
        f"writes {writes}; a barrier {_waits(each)}"
    )


def _lines(scene: Scene) -> Iterator[str]:
    """A line for each host and key, then one for each kind of sharder."""
    for host in facts.asked_hosts(scene.model):
        for part in _parts(scene, host):
            if isinstance(part, Table):
                yield from part.words(scene)
    if len(_versions(scene)) < 2:
        yield NO_VERSION


SHARDER = panel_of(
    "sharder",
    "Sharder",
    Choice(
        "asked-host", "ask host", lambda s: facts.asked_hosts(s.model), _parts, _lines, "shards"
    ),
    optional=True,
    tab="Sharder",
)
