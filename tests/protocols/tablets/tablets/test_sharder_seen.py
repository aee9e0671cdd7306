"""What a student sees of the sharder: its answers beside the map's, the static ones, two kinds."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.tablets import keys
from kit.protocols.tablets.rules.availability import static_shard_of
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from tests.views.frames import classed, part

WITHIN = {"kinds": ("intranode_migration",), "shards": 3, "tablets": ("A:0 B:1 C:2", "A:2 B:0 D:1")}
MOVE = ("imbalance", "migrate-within 0 A:0 A:1")
BETWEEN = {"shards": 3, "tablets": ("A:1 B:2 C:0",)}


def done(timeline: Timeline, *verbs: str) -> Timeline:
    """The same timeline after some verbs."""
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def started(given: dict[str, Any], *verbs: str) -> Timeline:
    """The model after some verbs."""
    return done(Timeline(build("tablets", given)), *verbs)


def seen(timeline: Timeline) -> tuple[Panel, Scene]:
    """The tab, and the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "sharder"]
    return panel, scene_of(timeline, timeline.at)


def row(timeline: Timeline, key: str) -> list[str]:
    """The cells of a row."""
    panel, scene = seen(timeline)
    drawn = part(panel.draw(scene), key)
    assert drawn is not None, key
    return [one.text() for one in drawn.walk() if one.tag == "td"]


def until(timeline: Timeline, stage: str) -> Timeline:
    """The default schedule, until a tablet has entered a stage."""
    while stage not in [each.stage for row in timeline.state.tablets for each in row.transitions]:
        assert timeline.forward() is not None
    return timeline


def at_rest(timeline: Timeline) -> Timeline:
    """The default schedule, until no tablet is in transition any more."""
    while any(row.transitions for row in timeline.state.tablets):
        assert timeline.forward() is not None
    return timeline


@pytest.mark.spec("E-061")
def test_each_host_can_be_asked_for_the_shard_of_a_key() -> None:
    """A drop-down has every host; outside a transition its one replica's shard is the answer, and
    shard 0 where it has none.
    """
    timeline = started(BETWEEN)
    panel, scene = seen(timeline)
    drawn = panel.draw(scene)
    [chooser] = [one for one in drawn.walk() if one.tag == "select"]
    hosts = [one.text() for one in chooser.walk() if one.tag == "option"]
    assert hosts == ["A", "B", "C", "D"]
    shown = [one for one in drawn.walk() if one.get("data-choice")]
    assert [one.get("hidden") is None for one in shown] == [True, False, False, False]
    for host, shard in zip(hosts, "1200", strict=True):
        for key in keys(1):
            _, _, reads, writes, _, _ = row(timeline, f"shards:{host}:{key.key}")
            assert (reads, writes) == (shard, shard if host != "D" else "{}")


@pytest.mark.spec("E-065")
def test_the_map_and_the_sharder_answer_in_one_row() -> None:
    """A pending replica is one for ``has_replica()``, and no shard of the sharder yet; of a host
    without any the sharder names shard 0 for reads, and none for writes. Both rows have the sign.
    """
    timeline = started(WITHIN, *MOVE)
    until(timeline, "allow_write_both_read_old")
    own = [each.key for each in keys(2) if each.tablet == 0]
    other = [each.key for each in keys(2) if each.tablet == 1]
    assert row(timeline, f"shards:A:{own[0]}")[1:4] == ["0, 1", "0", "0"]
    assert row(timeline, f"shards:A:{own[0]}")[-1] == "≠"
    assert row(timeline, f"shards:D:{own[0]}")[1:4] == ["no", "0", "{}"]
    assert row(timeline, f"shards:D:{own[0]}")[-1] == "≠"
    assert row(timeline, f"shards:A:{other[0]}")[1:4] == ["2", "2", "2"]
    assert row(timeline, f"shards:A:{other[0]}")[-1] == ""
    panel, scene = seen(timeline)
    assert (
        f"A, {own[0]} of tablet 0: has_replica() 0, 1, shard_for_reads() 0, shard_for_writes() 0,"
        in panel.text(scene)
    )


@pytest.mark.spec("E-005")
def test_a_keys_shard_changes_and_neighbours_lie_apart() -> None:
    """Before and after a move within A the keys of its tablet have another shard, and the step's
    rows are marked; beside it the static shards stay. Neighbours by token are on shards 1 and 2.
    """
    timeline = started(WITHIN)
    rows = [f"shards:A:{each.key}" for each in keys(2)]
    before = [row(timeline, key) for key in rows]
    until(done(timeline, *MOVE), "use_new")
    panel, scene = seen(timeline)
    changed = [one.key for one in classed(panel.draw(scene), "moved")]
    assert {key for key in changed if key and key.startswith("shards:A:")} <= set(rows)
    after = [row(at_rest(timeline), key) for key in rows]
    tablets = [each.tablet for each in keys(2)]
    assert [cells[2] for cells in before] == ["02"[tablet] for tablet in tablets]
    assert [cells[2] for cells in after] == ["12"[tablet] for tablet in tablets]
    static = [str(static_shard_of(each.token, 3)) for each in keys(2)]
    assert [cells[4] for cells in before] == [cells[4] for cells in after] == static
    assert len(set(static)) == 3


def _kinds(timeline: Timeline, host: str) -> dict[str, list[str]]:
    kinds = ("holding", "auto_refreshing")
    return {kind: row(timeline, f"sharder:{host}:{kind}") for kind in kinds}


@pytest.mark.spec("E-060")
def test_two_sharders_stand_side_by_side() -> None:
    """Made a version ago, the holding one answers as then and a barrier waits for it; the other
    follows the map, nothing waits, and it needs a guard. There is no comparison before.
    """
    timeline = started(WITHIN, *MOVE)
    panel, scene = seen(timeline)
    assert "once there is a second map" in panel.text(scene)
    assert not _sharders(panel.draw(scene))
    until(timeline, "write_both_read_new")
    both = _kinds(timeline, "A")
    assert both["holding"] == ["4", "0", "0, 1", "! waits for map 4"]
    assert both["auto_refreshing"] == ["5", "1", "0, 1", "doesn't wait (a guard is needed)"]
    assert _kinds(timeline, "B")["holding"][1:3] == ["1", "1"]
    panel, scene = seen(timeline)
    own = next(each.key for each in keys(2) if each.tablet == 0)
    line = f"A, {own}, holding its map: map 4, shard_for_reads() 0, shard_for_writes() 0, 1; "
    line += "a barrier ! waits"
    assert line in panel.text(scene)


def _sharders(drawn: Frag) -> list[str]:
    return [one.key for one in drawn.walk() if one.key and one.key.startswith("sharder:")]
