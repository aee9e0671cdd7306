"""A long history opens with the frame that is shown: the page asks for the others, or steps on."""

from __future__ import annotations

import pytest

import kit
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.rendered import RenderedTimeline
from tests.widgets.browsing import Desk, MakeDesk, do

STEPS = 20
NEEDED = "window.sent.filter((each) => each.message === 'need').map((each) => each.moment)"


@pytest.fixture(autouse=True)
def _one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first frame the rest of them wait."""
    monkeypatch.setattr("kit.views.rendered.MOST_AT_ONCE", 1)


def history(at: int, steps: int = STEPS) -> Timeline:
    """A bootstrap that was gone through, looked at in its midst."""
    timeline = open_named("bootstrap").timeline
    for _ in range(steps):
        timeline.forward()
    timeline.goto(at)
    return timeline


def drawn(rendered: RenderedTimeline) -> list[int]:
    """The moments that have a frame."""
    return [at for at, moment in enumerate(rendered.moments) if moment.root is not None]


def wait_for(table: Desk, count: int) -> None:
    """Until the page has asked for so many frames and has them."""
    table.page.wait_for_function(f"{NEEDED}.length === {count} && window.calls === 0")


def test_only_the_frame_that_is_shown_is_drawn_at_once() -> None:
    """An exported page gets all of them, whatever they weigh."""
    assert drawn(RenderedTimeline(history(7))) == [7]
    assert drawn(RenderedTimeline(history(7), closed="a page")) == list(range(STEPS + 1))


def test_no_scenario_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened at its start, and what a step adds, is there at once."""
    monkeypatch.undo()
    player = kit.Player(history(0))
    assert player.rendered.undrawn == 0
    player.goto(STEPS)
    player.step()
    assert player.rendered.undrawn == 0


@pytest.mark.browser
def test_a_page_at_rest_asks_for_what_is_near(desk: MakeDesk) -> None:
    """What comes next first, one frame after the other, and none that is far away."""
    table = desk(kit.Player(history(7)))
    wait_for(table, 12 + 7)
    assert table.page.evaluate(NEEDED) == [*range(8, 20), *range(6, -1, -1)]


@pytest.mark.browser
def test_a_step_into_what_is_not_drawn(desk: MakeDesk) -> None:
    """It is shown as Python draws it, and what travels in it travels."""
    table = desk(kit.Player(history(7)))
    table.page.focus("[data-do=scrub]")
    for step in (8, 9, 10):
        table.page.keyboard.press("ArrowRight")
        table.wait_where(f"{step} / {STEPS}")
        table.player.timeline.at = step
        table.settle()
        assert table.difference(step) == ""
    table.page.keyboard.press("Home")
    table.wait_where(f"0 / {STEPS}")
    assert table.difference(0) == ""
    assert table.errors == []


@pytest.mark.browser
def test_a_question_about_what_is_not_drawn(desk: MakeDesk) -> None:
    """The next step is asked about, though its frame has still to come."""
    table = desk(kit.Player(history(0)))
    table.page.click("[data-do=predict]")
    do(table.page, "step")
    table.page.wait_for_selector(".kp-ask:not([hidden])")
    assert table.page.text_content(".kp-where") == f"0 / {STEPS}"


@pytest.mark.browser
def test_a_branch_that_is_not_drawn_is_compared(desk: MakeDesk) -> None:
    """Beside this one stands the frame of the other, once it has come."""
    timeline = history(2)
    timeline.do(list(timeline.model.actions(timeline.state))[-1])
    table = desk(kit.Player(timeline))
    table.branch("compare", STEPS)
    table.page.wait_for_selector(".kp-side .kp-picture")
    assert table.errors == []


@pytest.mark.browser
def test_without_a_kernel_only_what_is_drawn_is_a_step(desk: MakeDesk) -> None:
    """A saved notebook walks through the frames that it holds."""
    table = desk(kit.Player(history(0)))
    wait_for(table, 12)
    table.page.evaluate("document.querySelector('main').className = 'jupyter-widgets-disconnected'")
    table.do("story")
    table.do("story")
    table.wait_where("0 / 13")
    table.page.focus("[data-do=scrub]")
    for step in range(1, 13):
        table.page.keyboard.press("ArrowRight")
        table.wait_where(f"{step} / 13")
    assert table.difference(12) == ""
    table.page.keyboard.press("ArrowRight")
    table.page.wait_for_selector(".kp-note:not([hidden])")
    assert "Run this cell again" in (table.page.text_content(".kp-note") or "")
