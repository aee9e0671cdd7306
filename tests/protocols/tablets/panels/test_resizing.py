"""What a student sees of a resize: average and thresholds, readiness, the map that nodes go by."""

from __future__ import annotations

import pytest

from kit.engine.flows import flows
from kit.engine.registry import entries
from kit.protocols.tablets.facts import resize as facts
from kit.protocols.tablets.resize import Resize
from kit.protocols.tablets.rules.resize import THRESHOLDS
from kit.views.registry import for_model
from tests.views.frames import check_frame, panel_text, part, scenes, walk

SCENARIOS = [f"resize/{one.name}" for one in entries()["resize"].scenarios]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


def test_the_line_has_the_average_and_both_thresholds() -> None:
    """The average lies where it stands to the thresholds of the edition, in every step."""
    for scene in scenes(walk("resize/split-is-revoked")):
        now = facts.line(scene.model, scene.state)
        limits = THRESHOLDS["documents"]
        assert (now.merge_below, now.split_above) == (limits.merge_percent, limits.split_percent)
        [panel] = [one for one in for_model(scene.model).panels if one.name == "resize"]
        drawn = panel.draw(scene)
        mark = part(drawn, "average")
        assert mark is not None
        x = float((mark.get("transform") or "").removeprefix("translate(").split()[0])
        ends = [float(one.get("x") or 0) for one in drawn.walk() if one.tag == "rect"]
        assert (x < ends[1]) == (now.average < now.merge_below)
        assert (x > ends[2]) == (now.average > now.split_above)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("resize/table-splits", ("75", "300")), ("resize/table-merges", ("75", "18"))],
)
def test_nodes_show_how_large_their_tablets_are(name: str, sizes: tuple[str, str]) -> None:
    """By the map that each goes by: all when the table grows or shrinks, later one by one."""
    first, second, *_ = scenes(walk(name))
    for scene, size in zip((first, second), sizes, strict=True):
        picture = next(p for p in for_model(scene.model).panels if p.name == "grid").draw(scene)
        for host in scene.model.names:
            node = part(picture, f"host:{host}")
            assert node is not None
            words = {each.text(): each for each in node.walk() if each.tag == "text"}
            assert f"size {size} %" in words
            assert any(each.get("class") == "moved" for each in node.walk()) == (scene is second)
    *_, last = scenes(walk(name))
    final = facts.grid(last.model, last.state)
    assert {host.tag for host in final.hosts} == {f"size {last.state.average} %"}


def test_a_split_waits_for_the_number_of_every_replica() -> None:
    """One after the other the replicas are ready; then nothing is waited for any more. So it goes
    in both splits, of one tablet and of two.
    """
    timeline = walk("resize/table-splits")
    ready = []
    while timeline.forward() is not None:
        now = facts.line(timeline.model, timeline.state)
        if now.decided == "split":
            ready.append(sum(each.is_ready for each in now.readiness))
            seen = now.polled == now.number
            assert bool(now.waits) == (not seen)
            assert ready[-1] == len(now.readiness) or not seen
            told = f"ready: {ready[-1]} of {len(now.readiness)} replicas"
            assert told in panel_text(timeline, "resize")
    assert sorted(set(ready)) == [0, 1, 2, 3, 4]


def test_the_sibling_travels_to_where_the_other_one_is() -> None:
    """A move before a merge goes from disk to disk; a node with an older map says so."""
    timeline = walk("resize/table-merges")
    moved, behind = [], set()
    while (moment := timeline.forward()) is not None:
        before = timeline.moments[moment.parent].state
        if isinstance(moment.action, Resize.move):
            moved += flows(timeline.model, before, moment.action, moment.state)
        grid = facts.grid(timeline.model, timeline.state)
        behind |= {host.note for host in grid.hosts}
    assert [(flow.kind, flow.from_key, flow.to_key) for flow in moved] == [
        ("data", "tablet:ks.t:1:1", "tablet:ks.t:1:1:to:B:0")
    ]
    assert {"", "behind"} <= behind
