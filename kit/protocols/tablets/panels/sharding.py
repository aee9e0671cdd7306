"""The tab that asks a host: which shard has a key, by the map, by the sharder, statically."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kit.protocols.tablets.facts import sharding as facts
from kit.protocols.tablets.facts.sharding import HeldVersion, ShardAnswer
from kit.protocols.tablets.facts.tracks import tablet_map
from kit.protocols.tablets.rules.maps import TabletMap
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved

COLUMNS = ("key", "tablet", "has_replica()", "reads", "writes", "static", "differs")
KINDS = {"holding": "holding its map", "auto_refreshing": "auto-refreshing"}
NO_VERSION = "Two sharders are compared once there is a second map."


def draw_sharder(scene: Scene) -> Frag:
    """Draw a drop-down of hosts, and for the chosen host a row for each key."""
    hosts = facts.asked_hosts(scene.model)
    options = [h("option", name, value=name) for name in hosts]
    return h(
        "div",
        h("label", "ask host ", h("select", options, data_choose="asked-host"), class_="choose"),
        [_host(scene, name, hidden=name != hosts[0]) for name in hosts],
    )


def _host(scene: Scene, host: str, *, hidden: bool) -> Frag:
    m, was = scene.model, scene.before
    given = scene.once("map", lambda: tablet_map(m, scene.state))
    before = given if was is None else scene.once("was", lambda: tablet_map(m, was))
    pairs = zip(*(facts.answers(m, each, host) for each in (given, before)), strict=True)
    return h(
        "div",
        h(
            "table",
            h("caption", f"shards of {host}, by the token of the key"),
            heads(*COLUMNS),
            h("tbody", [_row(given.table, host, *pair) for pair in pairs]),
        ),
        list(_both(scene, host)),
        k=f"shards:{host}",
        data_choice=json.dumps(["asked-host", host]),
        hidden=hidden,
    )


def _row(table: str, host: str, each: ShardAnswer, before: ShardAnswer) -> Frag:
    return h(
        "tr",
        h("th", each.key.key, scope="row"),
        [h("td", words) for words in _cells(each)],
        k=f"shards:{host}:{each.key.key}",
        class_=moved(each != before),
        data_of=f"tablet {table} {each.key.tablet}",
    )


def _cells(each: ShardAnswer) -> tuple[str, ...]:
    return (
        str(each.key.tablet),
        _shards(each.holds) or "no",
        str(each.reads),
        _shards(each.writes),
        str(each.static),
        "≠" if each.differs else "",
    )


def _shards(shards: tuple[int, ...]) -> str:
    return ", ".join(map(str, shards))


def _both(scene: Scene, host: str) -> Iterator[Frag]:
    """Both kinds of sharder, made before the newest version, side by side."""
    maps = _versions(scene)
    if len(maps) < 2:
        yield h("p", NO_VERSION, class_="soft")
        return
    key = facts.asked_about(maps[-1], maps[-2])
    yield h(
        "table",
        h(
            "caption",
            f"two sharders of {host}, made of map {len(maps) - 1}, asked for {key.key}",
        ),
        heads("sharder", "map", "reads", "writes", "a barrier"),
        h(
            "tbody",
            [
                h(
                    "tr",
                    h("th", KINDS[each.kind], scope="row"),
                    [h("td", words) for words in _held(each)],
                    k=f"sharder:{host}:{each.kind}",
                )
                for each in facts.both_kinds(scene.model, maps, host, key)
            ],
        ),
    )


def _versions(scene: Scene) -> tuple[TabletMap, ...]:
    maps: tuple[TabletMap, ...] = scene.once(
        "versions", lambda: facts.versions(scene.model, scene.state, scene.way())
    )
    return maps


def _held(each: HeldVersion) -> tuple[str, ...]:
    waits = "does not wait: a guard is needed"
    if each.holds is not None:
        waits = f"! waits for map {each.holds}"
    return str(each.version), str(each.reads), _shards(each.writes), waits


def sharder_text(scene: Scene) -> str:
    """Write a line for each host and key, then one for each kind of sharder."""
    return "\n".join(f"  {line}" for line in _lines(scene))


def _lines(scene: Scene) -> Iterator[str]:
    maps = _versions(scene)
    for host in facts.asked_hosts(scene.model):
        for each in facts.answers(scene.model, tablet_map(scene.model, scene.state), host):
            tablet, holds, reads, writes, static, sign = _cells(each)
            yield (
                f"{host}, {each.key.key} of tablet {tablet}: has_replica() {holds}, "
                f"reads {reads}, writes {writes}, static {static} {sign}"
            ).rstrip()
        if len(maps) < 2:
            continue
        key = facts.asked_about(maps[-1], maps[-2])
        for sharder in facts.both_kinds(scene.model, maps, host, key):
            version, reads, writes, waits = _held(sharder)
            yield (
                f"{host}, {key.key}, {KINDS[sharder.kind]}: map {version}, reads {reads}, "
                f"writes {writes}; a barrier {waits}"
            )
    if len(maps) < 2:
        yield NO_VERSION


SHARDER = Panel("sharder", "Sharder", draw_sharder, sharder_text, optional=True, tab="Sharder")
