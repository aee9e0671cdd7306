"""What travels in a step, in the browser: markers that move forwards, for who wants motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, MakeDesk, serious, walked

pytestmark = pytest.mark.browser

MARKERS = """() => [...document.querySelectorAll(".kp-flow")].map((marker) => [
  marker.dataset.kind, marker.textContent, marker.getAnimations()[0]?.playState ?? "none"])"""
# From now on what travels waits for the test to move it on.
HOLD = """() => {
  const { animate } = Element.prototype;
  Element.prototype.animate = function held(...how) {
    const animation = animate.apply(this, how);
    if (this.matches(".kp-flow")) animation.pause();
    return animation;
  };
}"""
MOVE = """(share) => document.querySelectorAll(".kp-flow").forEach((marker) => {
  const [animation] = marker.getAnimations();
  const { delay, duration } = animation.effect.getTiming();
  animation.currentTime = delay + share * duration;
})"""
STILL = "() => document.getAnimations().every((one) => one.playState !== 'running')"
# How far a marker is from the middle of a part, in pixels.
FAR = """([kind, key]) => {
  const place = (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const [x, y] = place(document.querySelector(`.kp-flow.${kind} path`));
  const part = document.querySelector(`[data-k="${key}"]`);
  const [x2, y2] = place(part.querySelector(".disc") ?? part);
  return Math.hypot(x - x2, y - y2);
}"""
MIDDLE = """(which) => {
  const { x, y, width, height } = document.querySelector(which).getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""
STREAM, COMMIT = 12, 13  # steps of the bootstrap
DRAINED = 32  # steps until the tablets of a removed node are at others
LONGEST = 900  # milliseconds that what travels in a step takes


def shown(desk: Desk) -> Any:
    """The markers that are on the page: kind, label, and whether they are under way."""
    return desk.page.evaluate(MARKERS)


def at(desk: Desk, key: str, where: str) -> None:
    """Press a key and wait for the counter."""
    desk.page.keyboard.press(key)
    desk.wait_where(where)


def waiting(desk: MakeDesk, name: str, steps: int) -> Desk:
    """A player of so many steps, standing before the last."""
    table = held(desk(walked(name, steps)))
    at(table, "k", f"{steps - 1} / {steps}")
    table.page.wait_for_function(STILL)
    return table


def held(table: Desk) -> Desk:
    """The same, with what travels held and the keys at the slider."""
    table.page.evaluate(HOLD)
    table.page.focus("[data-do=scrub]")
    return table


def test_a_stream_moves_along_the_ring_and_is_gone(desk: MakeDesk) -> None:
    """A marker with its label begins at the source and ends at the new replica, round the middle;
    then the page is the frame again.
    """
    table = waiting(desk, "tcm/bootstrap", STREAM)
    at(table, "j", f"{STREAM} / {STREAM}")
    assert shown(table) == [["data", "(100, 150]", "paused"]]
    far = []
    for share in (0.0, 0.5, 0.999):
        table.page.evaluate(MOVE, share)
        places = [table.page.evaluate(FAR, ["data", key]) for key in ("n:C:300", "n:X:150")]
        far.append((*places, table.page.evaluate(FAR, ["data", "ring"])))
    assert far[0][0] < 1
    assert far[2][1] < 1
    radius = far[0][2]
    assert radius > 50
    assert all(abs(one[2] - radius) < 2 for one in far)
    table.page.evaluate("document.getAnimations().forEach((one) => one.finish())")
    table.page.wait_for_function("() => !document.querySelector('.kp-flow')")
    assert table.difference(STREAM) == ""
    assert table.errors == []


def test_a_request_is_answered_after_it_arrived(desk: MakeDesk) -> None:
    """What follows in a step moves later, and all of it takes at most 900 ms."""
    table = waiting(desk, "dataplane/write-and-read", 2)
    at(table, "j", "2 / 2")
    assert [one[:2] for one in shown(table)] == [
        ["request", "write 1"],
        ["answer", "takes write 1"],
    ]
    times = table.page.evaluate(
        "() => [...document.querySelectorAll('.kp-flow')].map((marker) => {"
        " const { delay, duration } = marker.getAnimations()[0].effect.getTiming();"
        " return [delay, delay + duration]; })"
    )
    assert times[0][0] == 0
    assert times[1][0] == times[0][1]
    assert 200 <= times[1][1] <= LONGEST


def test_a_burst_of_presses_skips_what_travels(desk: MakeDesk) -> None:
    """Each press takes what still moves away and does its own work; none is lost."""
    table = held(desk(walked("tcm/bootstrap", COMMIT)))
    for key in ["Home", *["j"] * COMMIT, "k", "j"]:
        table.page.keyboard.press(key)
    table.wait_where(f"{COMMIT} / {COMMIT}")
    assert [one[0] for one in shown(table)] == ["request"]
    table.page.keyboard.press("Shift")
    assert shown(table) == []
    assert table.difference(COMMIT) == ""


def test_a_press_of_the_mouse_skips_it(desk: MakeDesk) -> None:
    """Anywhere on the player."""
    table = waiting(desk, "tcm/bootstrap", STREAM)
    at(table, "j", f"{STREAM} / {STREAM}")
    assert shown(table)
    table.page.dispatch_event(".kp-stage", "pointerdown")
    assert shown(table) == []


def test_nothing_travels_backwards_or_while_one_drags(desk: MakeDesk) -> None:
    """A step back, the ends and the slider show frames alone."""
    table = waiting(desk, "tcm/bootstrap", STREAM)
    at(table, "j", f"{STREAM} / {STREAM}")
    assert shown(table)
    for key, where in (("k", STREAM - 1), ("Home", 0), ("End", STREAM)):
        at(table, key, f"{where} / {STREAM}")
        assert shown(table) == []
    for step in (STREAM - 1, STREAM):
        table.page.evaluate(
            "(at) => { const range = document.querySelector('[data-do=scrub]');"
            " range.value = at; range.dispatchEvent(new Event('input', { bubbles: true })); }",
            step,
        )
        table.wait_where(f"{step} / {STREAM}")
        assert shown(table) == []


def test_a_run_shows_all_that_travelled_in_it(desk: MakeDesk) -> None:
    """A folded run is one step: the entry goes to every node at once."""
    table = held(desk("tcm/bootstrap"))
    at(table, "j", "1 / 1")
    table.choose("catch up all")
    table.wait_where("2 / 2")
    assert [one[:2] for one in shown(table)] == [["entry", "epoch 1"]] * 4


def test_a_milestone_shows_all_that_travelled_on_the_way(desk: MakeDesk) -> None:
    """On to the next epoch: its entry to every node, and the commit of the next one."""
    table = held(desk(walked("tcm/bootstrap", STREAM)))
    for key, where in (("Home", 0), ("j", 1), ("Shift+ArrowRight", 6)):
        at(table, key, f"{where} / {STREAM}")
    assert [one[:2] for one in shown(table)] == [["entry", "epoch 1"]] * 4 + [
        ["request", "epoch 2"]
    ]


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("dataplane/write-and-read", 2, "→ A: write 1"),
        ("tcm/bootstrap", STREAM, "C → X: streams"),
        ("tablets/removenode-rebuilds", DRAINED, "version 2"),
    ],
)
def test_who_wants_no_motion_reads_the_picture(
    desk: MakeDesk, name: str, step: int, said: str
) -> None:
    """Nothing moves or flies over the picture: it has trails of its own, and words say the same."""
    table = waiting(desk, name, step)
    table.page.emulate_media(reduced_motion="reduce")
    at(table, "j", f"{step} / {step}")
    assert shown(table) == []
    assert table.page.evaluate("document.getAnimations().length") == 0
    assert table.page.locator(".kp-picture .way, .kp-picture .message, .kp-picture .moved").count()
    table.page.wait_for_function(
        "(said) => document.querySelector('.kp-live').textContent.includes(said)", arg=said
    )
    assert serious(table.page) == []


def test_what_is_not_on_the_page_is_said(desk: MakeDesk) -> None:
    """Where the player has no ring nothing moves; readers who listen hear of it all the same."""
    player = Player(walked("tcm/bootstrap", STREAM).timeline, panels=("placements", "log"))
    table = held(desk(player))
    at(table, "k", f"{STREAM - 1} / {STREAM}")
    table.page.wait_for_function(STILL)
    at(table, "j", f"{STREAM} / {STREAM}")
    assert shown(table) == []
    table.page.wait_for_function(
        "() => document.querySelector('.kp-live').textContent"
        ".endsWith('C → X: streams (100, 150].')"
    )


def test_a_node_that_leaves_commits_from_where_it_was(desk: MakeDesk) -> None:
    """Its part is gone with the step, but what it sent begins there."""
    player = Player(build("tcm", {"nodes": 4, "operations": ("decommission D",)}))
    while player.timeline.suggest() is not None:
        player.step()
    last = max(moment.id for moment in player.timeline.moments if moment.milestone)
    player.goto(last)
    player.fork()
    player.stage.pack = player.rendered.pack().compressed()
    table = held(desk(player))
    at(table, "k", f"{last - 1} / {last}")
    table.page.wait_for_function(STILL)
    there = table.page.evaluate(MIDDLE, '[data-k^="n:D:"] .disc')
    at(table, "j", f"{last} / {last}")
    assert table.page.locator('[data-k^="n:D:"]').count() == 0
    table.page.evaluate(MOVE, 0.0)
    start = table.page.evaluate(MIDDLE, ".kp-flow path")
    assert start == pytest.approx(there, abs=1)


def test_an_exported_page_shows_it_too(context: BrowserContext, tmp_path: Path) -> None:
    """Without a kernel what travels moves as well: it is stored with the steps."""
    path = walked("tcm/bootstrap", STREAM).export(tmp_path / "page.html").path
    page = context.new_page()
    page.goto(f"{path.as_uri()}#step-{STREAM - 1}")
    expect(page.locator(".kp-where")).to_have_text(f"{STREAM - 1} / {STREAM}")
    page.evaluate(HOLD)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".kp-flow.data")).to_have_text("(100, 150]")
    page.keyboard.press("Shift")
    expect(page.locator(".kp-flow")).to_have_count(0)


def test_a_nasty_label_is_text(desk: MakeDesk) -> None:
    """A node named like an image tag travels as text; no script of it runs."""
    nasty = "<img src=x onerror=alert(1)>"
    table = held(desk(Player(build("tcm", {"operations": [f"bootstrap '{nasty}' --tokens 150"]}))))
    table.page.on("dialog", lambda dialog: table.errors.append(dialog.message))
    at(table, "j", "1 / 1")
    assert shown(table) == [["request", "epoch 1", "paused"]]
    table.page.wait_for_function(
        "(name) => document.querySelector('.kp-live').textContent.includes(`${name} → log`)",
        arg=nasty,
    )
    assert table.page.locator("img").count() == 0
    assert table.errors == []
