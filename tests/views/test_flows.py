"""What travels in a step is stored with it, once for equal steps, and said in its text form."""

from __future__ import annotations

import gzip
import json

from kit.model.flows import Flow
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.frame import draw_flows, frame_text
from kit.views.rendered import LONGEST_LIVE, RenderedTimeline
from kit.views.wire import DrawnMoment
from kit.widgets import Player
from tests.views.frames import walk

NASTY = '<img src=x onerror="alert(1)">'


def walked(steps: int) -> Timeline:
    """A bootstrap, some steps along."""
    timeline = walk("tcm/bootstrap")
    for _ in range(steps):
        timeline.forward()
    return timeline


def test_each_moment_has_the_list_of_what_travels() -> None:
    """The start has none; the first steps are a commit, then an entry to each node."""
    rendered = RenderedTimeline(walked(2))
    start, begun, applied = rendered.moments
    assert start.flows is None
    assert begun.flows is not None
    assert applied.flows is not None
    assert rendered.store.texts[applied.flows] == draw_flows(rendered.scene(2).flows()).html()
    assert 'data-from="log" data-to="n:A:100"' in rendered.store.texts[applied.flows]


def test_equal_flows_are_one_text() -> None:
    """Another branch that does the same again adds no list to the store."""
    timeline = walked(3)
    once = len(RenderedTimeline(timeline).store)
    timeline.goto(1)
    for verb in ("apply C", "apply B"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    rendered = RenderedTimeline(timeline)
    lists = [moment.flows for moment in rendered.moments if moment.flows is not None]
    assert len(lists) == 5
    assert len({*lists}) == 4
    assert len(rendered.store) > once


def test_nothing_in_a_list_is_markup() -> None:
    """Labels, sentences and keys are escaped, whatever a node is called."""
    flow = Flow("data", f"n:{NASTY}", "log", NASTY, f"{NASTY} → log: all")
    html = draw_flows([flow]).html()
    assert "<img" not in html
    assert html.count("&lt;img") == 3


def test_a_step_says_what_travels() -> None:
    """The text form of a moment has its sentence, then a line for everything that moves."""
    player = Player("tcm/bootstrap")
    while not player.step().say.startswith("B streams data"):
        pass
    assert player.text().splitlines()[1] == "B → X: streams (0, 100], (300, 400]"
    scene = player.rendered.scene(0)
    assert "→" not in frame_text(scene, ())


def test_a_long_run_tells_what_travels_before_it_is_drawn() -> None:
    """The inner steps of a folded run have their lists, though their frames are not drawn yet."""
    model = build("tcm", {"nodes": LONGEST_LIVE + 4})
    timeline = Timeline(model)
    timeline.forward()
    timeline.run([action for action in model.actions(timeline.state)
                  if model.kind(action) == "apply"])  # fmt: skip
    inner = [moment for moment in RenderedTimeline(timeline).moments if moment.inner]
    assert len(inner) > LONGEST_LIVE
    assert all(moment.root is None and moment.flows is not None for moment in inner)


def test_a_page_gets_the_lists_with_the_moments() -> None:
    """The pack that is sent holds each moment's number of a text."""
    rendered = RenderedTimeline(walked(4))
    sent = json.loads(gzip.decompress(rendered.pack().compressed()))
    place = DrawnMoment.__struct_fields__.index("flows")
    lists = [sent["texts"][moment[place]] for moment in sent["moments"][1:]]
    assert [text.count("<li") for text in lists] == [1, 1, 1, 1]
