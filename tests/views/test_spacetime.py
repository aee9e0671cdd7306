"""Space-time diagrams: what they draw of plain data, and of any run of actors on a network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.default import ACTORS
from kit.views.fragment import Frag, keys
from kit.views.panel import Scene, scene_at
from kit.views.promises import draw_lamps
from kit.views.registry import for_model
from kit.views.spacetime import (
    LATEST,
    MESSAGES,
    SHOWN,
    TOP,
    Arrow,
    Mark,
    Spacetime,
    draw_spacetime,
    drawn,
    leg,
    run_of,
    spacetime_text,
    y,
)
from kit.views.spacetime import arrows as arrows_of
from kit.views.static import static_html
from tests.keyed import check_keys
from tests.model.counting import counting
from tests.model.keeping import keeping
from tests.views.frames import classed, part

RUN = Spacetime(
    ("A", "B", "C"),
    5,
    (
        Arrow("A", "B", "ping 1", 0, 1, "received"),
        Arrow("A", "C", "ping 1", 0, 3, "lost"),
        Arrow("B", "A", "ack 1", 1),
        Arrow("B", "A", "ack 1", 1, copied_at=2),
        Arrow("C", "C", "wake", 2, 5, "received"),
        Arrow("B", "C", "ping 2", 1, fate="held"),
    ),
    (Mark("C", 2, "clock 1"), Mark("", 4, "partition A | B C"), Mark("", 5, "it woke", alarm=True)),
)
WORDS = """\
 start  A sends to B: ping 1; A sends to C: ping 1
     1  B receives from A: ping 1 (sent at the start); B sends to A: ack 1; B sends to C: ping 2
     2  ack 1 from B to A is copied; C: clock 1; C sends to C: wake
     3  ping 1 from A to C is lost (sent at the start)
     4  partition A | B C
!    5  C receives from C: wake (sent at step 2); it woke
in flight: ack 1 from B to A ×2
held: ping 2 from B to C"""
VERBS = (
    "duplicate A>B add 1", "deliver A>B add 1", "hold A>B add 2", "deliver A>B add 1",
    "drop A>B add 3", "duplicate B>A done 1", "partition A | B", "heal", "release A>B add 2",
)  # fmt: skip


def svg(frag: Frag) -> Frag:
    """The drawing of a panel."""
    return next(kid for kid in frag.walk() if kid.tag == "svg")


def walked(verbs: tuple[str, ...] = VERBS, **options: Any) -> Timeline:
    """A run of the counting toy along these verbs."""
    faults = {"drops": 1, "duplicates": 2, "holds": 1, "partitions": 1, **options}
    timeline = Timeline(counting(adds=3, **faults))
    for verb in verbs:
        model, state = timeline.model, timeline.state
        timeline.do(next(action for action in model.actions(state) if model.verb(action) == verb))
    return timeline


# -- plain data ------------------------------------------------------------------------------------


def test_a_run_in_words() -> None:
    """The text form has a line per step, a sign where a promise broke, and what is on its way."""
    assert spacetime_text(RUN) == WORDS
    assert spacetime_text(Spacetime(("A",), 0)) == "nothing has happened yet"


def test_the_drawing_says_the_same_to_who_cannot_see_it() -> None:
    """The text alternative holds every event of the text form."""
    label = svg(draw_spacetime(RUN)).get("aria-label") or ""
    for line in WORDS.splitlines():
        assert line.strip("! 012345").removeprefix("start").strip() in label


def test_everything_has_its_lifeline_row_and_shape() -> None:
    """Each node has a lifeline and a name, each step a row, each fate a shape of its own."""
    frag = draw_spacetime(RUN)
    check_keys(frag)
    wanted = {f"{what}:{name}" for name in RUN.nodes for what in ("life", "who")}
    wanted |= {f"step:{step}" for step in range(6)}
    assert wanted <= set(keys(frag))
    shapes = {
        fate: [kid.get("class") or kid.tag for kid in transit.kids if isinstance(kid, Frag)]
        for fate in ("received", "lost", "in-flight", "held")
        for transit in classed(frag, fate)[:1]
    }
    assert {fate: names[:2] for fate, names in shapes.items()} == {
        "received": ["message", "dot"],
        "lost": ["message", "cross"],
        "in-flight": ["message away", "tag"],
        "held": ["message dashed", "bars"],
    }


def test_time_runs_down_the_page() -> None:
    """Later steps are lower, arrows point down, what waits ends below the last step."""
    frag = svg(draw_spacetime(RUN))
    rows = [part(frag, f"step:{step}") for step in range(6)]
    heights = [float(kid.get("y") or 0) for row in rows if row for kid in row.walk() if kid != row]
    assert len(heights) == 6
    assert heights == sorted(heights)
    assert all(arrow.end > arrow.arrow.sent_at for arrow in drawn(RUN))
    assert all(arrow.end > 5 for arrow in drawn(RUN) if arrow.arrow.ended_at is None)


def test_alike_messages_are_one_arrow_with_their_number() -> None:
    """A message and its copy, both in flight, are drawn once and counted; then each by itself."""
    transit = part(draw_spacetime(RUN), "msg:B>A:1:0")
    assert transit is not None
    assert "ack 1 ×2" in transit.text()
    assert part(draw_spacetime(RUN), "msg:B>A:1:1") is None
    received = Arrow("B", "A", "ack 1", 1, 5, "received")
    later = Spacetime(RUN.nodes, 5, (received, *RUN.arrows[3:4]))
    assert [arrow.key for arrow in drawn(later)] == ["msg:B>A:1:0", "msg:B>A:1:1"]
    assert "×" not in svg(draw_spacetime(later)).text()


def test_a_long_run_shows_its_end_and_counts_the_rest() -> None:
    """The window moves with the run: what ended before is left out and counted, in words only."""
    arrows = [Arrow("A", "B", f"m{i}", i - 1, i, "received") for i in range(1, 41)]
    run = Spacetime(("A", "B"), 40, (Arrow("B", "A", "slow", 0), *arrows))
    frag = svg(draw_spacetime(run))
    assert (frag.get("aria-label") or "").startswith("space-time diagram: 25 earlier steps; ")
    shown = [key for key in keys(frag) if key.startswith("msg:")]
    assert shown == ["msg:B>A:0:0", *(f"msg:A>B:{i}:0" for i in range(24, 40))]
    assert len(spacetime_text(run).splitlines()) == 42
    assert sum(key.startswith("step:") for key in keys(frag)) == SHOWN
    before = svg(draw_spacetime(Spacetime(run.nodes, 39, run.arrows[:-1])))
    assert part(before, "msg:A>B:30:0") == part(frag, "msg:A>B:30:0")


def test_what_was_sent_before_the_window_leaves_its_sender_at_the_top() -> None:
    """So one sees whose it is; what was sent within the window is as it was, and all point down."""
    arrows = (Arrow("A", "B", "slow", 1, 39, "received"), Arrow("B", "A", "late", 0),
              Arrow("A", "B", "new", 38, 40, "received"))  # fmt: skip
    run = Spacetime(("A", "B"), 40, arrows)
    legs = [leg(run, each) for each in drawn(run)]
    top = run.top + TOP
    assert [(each.x1, each.y1) for each in legs] == [
        (run.x("A"), top), (run.x("B"), top), (run.x("A"), y(38))
    ]  # fmt: skip
    ended = replace(run, arrows=(Arrow("A", "B", "old", 1, 3, "received"),))
    assert all(leg(ended, each).y1 < leg(ended, each).y2 for each in arrows_of(ended))


def test_an_alarm_and_a_mark_stand_at_their_step() -> None:
    """A broken promise has its sign and words, a node's mark stands on its lifeline."""
    frag = draw_spacetime(RUN)
    alarm, mark = part(frag, "alarm:5"), part(frag, "mark:2:0")
    assert alarm is not None
    assert mark is not None
    assert (alarm.text(), mark.text()) == ("! it woke", "clock 1")
    assert classed(alarm, "fails")


def test_any_text_is_only_text() -> None:
    """Names and labels that look like markup are shown as they are."""
    run = Spacetime(("<b>", "B"), 1, (Arrow("<b>", "B", '"><script>', 0, 1, "received"),))
    html = draw_spacetime(run).html()
    assert "<script" not in html
    assert "&lt;b&gt;" in html


# -- actors on a network ---------------------------------------------------------------------------


def test_the_panel_of_a_run() -> None:
    """A run with every fault is told step by step, from its states and actions alone."""
    timeline = walked()
    assert MESSAGES.text(scene_at(timeline, timeline.at)) == (
        " start  A sends to B: add 1; A sends to B: add 2; A sends to B: add 3\n"
        "     1  add 1 from A to B is copied\n"
        "     2  B receives from A: add 1 (sent at the start); B sends to A: done 1\n"
        "     4  B receives from A: add 1 (sent at the start, copied at step 1); "
        "B sends to A: done 1\n"
        "     5  add 3 from A to B is lost (sent at the start)\n"
        "     6  done 1 from B to A is copied\n"
        "     7  partition A | B\n"
        "     8  heal\n"
        "in flight: add 2 from A to B, done 1 from B to A ×3"
    )


@pytest.mark.parametrize("options", [{}, {"fifo": True}, {"duplicates": None}], ids=str)
def test_every_message_of_the_bag_is_drawn(options: dict[str, Any]) -> None:
    """At every moment the arrows on their way are the messages in the bag, one for one, and keys
    are unique and stay those of the same messages.
    """
    timeline = Timeline(counting(adds=3, **{"drops": 1, "duplicates": 1, "holds": 1, **options}))
    former: tuple[str, ...] = ()
    for number in range(14):
        scene = scene_at(timeline, timeline.at)
        run, n = run_of(scene), scene.state.network
        for fate, bag in (("in flight", n.in_flight), ("held", n.held)):
            drawn_as = sorted(arrow.what for arrow in run.arrows if arrow.fate == fate)
            assert drawn_as == sorted(
                Arrow(e.source, e.target, f"{e.message.__struct_config__.tag} {e.message.number}",
                      0).what for e in bag)  # fmt: skip
        check_keys(MESSAGES.draw(scene))
        now = tuple(arrow.what for arrow in run.arrows)
        assert now[: len(former)] == former
        former = now
        enabled = list(timeline.model.actions(timeline.state))
        if not enabled:
            break
        timeline.do(enabled[number * 7 % len(enabled)])


def test_a_scene_without_its_past_shows_its_last_step() -> None:
    """Where nobody kept the steps before, the diagram begins with the last one."""
    timeline = walked()
    now = timeline.now
    last = Scene(timeline.model, now.state, timeline.before, now.action)
    assert run_of(last).steps == 1
    start = Scene(timeline.model, timeline.moments[0].state)
    assert MESSAGES.text(start).startswith(" start  A sends to B: add 1")


def test_the_message_that_breaks_a_promise_is_marked() -> None:
    """The delivery after which an addition is counted twice is red; its lamp lights it alone."""
    timeline = Timeline(counting(adds=1, off=("de-duplication",), duplicates=1))
    for verb in ("duplicate A>B add 1", "deliver A>B add 1", "deliver A>B add 1"):
        enabled = timeline.model.actions(timeline.state)
        timeline.do(next(action for action in enabled if timeline.model.verb(action) == verb))
    scene = scene_at(timeline, timeline.at)
    frag = MESSAGES.draw(scene)
    [guilty] = classed(frag, "guilty")
    title = next(kid for kid in guilty.walk() if kid.tag == "title")
    assert title.text() == "B receives from A: add 1 (sent at the start, copied at step 1)"
    [lamp] = classed(draw_lamps(scene), "bad")
    assert lamp.get("data-of") == "broken:counted-once"
    assert json.loads(lamp.get("data-names") or "") == [guilty.get("data-of")]
    assert "!    3" in MESSAGES.text(scene)


def test_a_model_of_actors_has_the_panel_at_once() -> None:
    """Nobody registered views for the toy; its player draws nodes, state, messages, verdicts."""
    panels = for_model(counting()).panels
    assert [panel.name for panel in panels] == ["actors", "state", "messages", "lamps"]
    timeline = walked(VERBS[:4])
    html = static_html(MESSAGES.draw(scene_at(timeline, timeline.at)))
    assert "B receives from A: add 1" in html
    assert "<img" in html


# -- disks, crashes, long runs ---------------------------------------------------------------------


def test_a_lifeline_has_a_gap_while_its_node_is_down() -> None:
    """Writing, crashes, restarts, timers and clients have signs of their own; what waits for a disk
    has no arrow yet.
    """
    timeline = Timeline(keeping(crashes=1, ticks=1, writes_apart=True))
    for verb in ("request A hello", "persist A", "tick A again", "crash A", "restart A"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
        if verb == "request A hello":
            assert run_of(scene_at(timeline, timeline.at)).arrows == ()
    run = run_of(scene_at(timeline, timeline.at))
    assert [(mark.node, mark.sign) for mark in run.marks] == [
        ("A", sign) for sign in ("request", "persist", "tick", "crash", "restart")
    ]
    assert [*run.lives("A")] == [(0, 4), (5, 7)]
    assert [*run.lives("B")] == [(0, 7)]
    life = part(draw_spacetime(run), "life:A")
    assert life is not None
    assert str(life.get("d")).count("M") == 2


def test_a_long_run_is_seen_by_its_end_and_whole_beside_it() -> None:
    """Beyond the window there is the whole run, small; words tell of the last steps; and a moment
    that was drawn after others is drawn as it is alone.
    """
    arrows = tuple(Arrow("A", "B", f"ping {n}", n, n + 1, "received") for n in range(1000))
    run = Spacetime(("A", "B"), 1000, arrows)
    assert part(draw_spacetime(run), "overview") is not None
    assert part(draw_spacetime(RUN), "overview") is None
    assert len(spacetime_text(run).splitlines()) < 250
    timeline = walked()
    runs = [run_of(scene_at(timeline, moment)) for moment in range(len(timeline.moments))]
    LATEST.clear()
    alone = [run_of(scene_at(timeline, moment)) for moment in range(len(timeline.moments))[::-1]]
    assert runs == alone[::-1]


def test_a_network_in_hand_is_drawn_as_it_is() -> None:
    """What waits for a disk has not gone, a one-way cut has a bar and an arrow, who is down is
    hollow; and the words say so.
    """
    timeline = Timeline(keeping(crashes=1, cuts=1, writes_apart=True))
    for verb in ("request A hello", "cut A>B", "crash B"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    scene = scene_at(timeline, timeline.at)
    frag, said = ACTORS.draw(scene), ACTORS.text(scene)
    assert classed(frag, "envelope")[0].get("class") == "envelope waits h-a"
    assert len(classed(frag, "wall")) == 1
    assert len(classed(frag, "tip")) == 1
    assert part(frag, "n:B") is not None
    assert (part(frag, "n:B") or frag).get("class") == "character down h-b"
    assert "keep hello (not sent yet: its sender still has to write)" in said
    assert "cut: nothing passes from A to B" in said


def test_a_node_knows_what_reached_it() -> None:
    """A has heard of B's answer; B of what A did up to its request, and nobody of C's timeout."""
    timeline = Timeline(build("raft"))
    for verb in ("tick A election", "deliver A>B", "tick C election", "deliver B>A"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    run = run_of(scene_at(timeline, timeline.at))
    assert run.known == {
        "A": {"A": 4, "B": 2, "C": 0},
        "B": {"A": 1, "B": 2, "C": 0},
        "C": {"A": 0, "B": 0, "C": 3},
    }
    drawing = svg(draw_spacetime(run))
    assert json.loads(drawing.get("data-known") or "") == run.known
    asked = next(part for part in drawing.walk() if (part.key or "").startswith("msg:A>B:1"))
    assert (asked.get("data-lanes"), asked.get("data-since")) == ("A|B", "1")
    assert [part.get("value") for part in draw_spacetime(run).walk() if part.tag == "option"] == [
        "", "A", "B", "C"
    ]  # fmt: skip
