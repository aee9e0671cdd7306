"""A promise breaks in the Player: what one sees, may ask, and gets to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from kit.errors import BadInput, Refused
from kit.model.registry import build, entries
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.views.export import export_html
from kit.views.rendered import RenderedTimeline
from kit.widgets import Player
from tests.views.test_breaks import BREAKS
from tests.widgets.browsing import Desk, MakeDesk, serious, walked
from tests.widgets.legible import FAINT_WORDS

WORDS = ".kp-break:visible"
DIM = ".kp-picture [data-my-dim]"


def broken(name: str = "group0", safeguard: str = "S-30", *, at_end: bool = True) -> Player:
    """A run that breaks a promise without a safeguard, at its last step or the one before."""
    off = next(each for each in entries()[name].safeguards if each.id == safeguard)
    model = build(name, off.smallest, (off.name,))
    found = check(model).violation
    assert found is not None
    player = Player(Timeline.along(model, found.actions))
    if not at_end:
        player.goto(player.timeline.path()[-2])
    return player


def test_a_cell_asks_what_the_buttons_ask() -> None:
    """The cause, since when, the diagram, what a node has seen: by methods of the Player."""
    player = broken()
    steps = len(player.timeline.path()) - 1
    cause = player.why()
    assert cause.steps[-1] == steps - 1
    assert player.became_possible(progress=None).step == 0
    assert player.mermaid().startswith("sequenceDiagram\n")
    assert any("create table ks.t" in verb for verb in player.seen_by("A"))
    html = player.rendered.html(player.timeline.at)
    assert f"The smallest cause: {len(cause.steps)} of {steps} steps" in html
    assert "The break is possible from the start" in html
    assert "Go to where it became possible" in html
    with pytest.raises(BadInput, match=r"node.*one of A, B"):
        player.seen_by("Z")
    player.goto(0)
    for ask in (player.why, player.put_back, lambda: player.became_possible(progress=None)):
        with pytest.raises(Refused, match="No promise is broken"):
            ask()


def test_a_safeguard_is_put_back_on_a_branch() -> None:
    """The run is done again with it; the reader stays where they are, and nothing is done twice."""
    player = broken("dataplane", "S-07")
    at, known = player.timeline.at, len(player.timeline.moments)
    again = player.put_back()
    assert (again.safeguard, again.broken) == ("S-07", ())
    assert [number for number, _ in again.left_out] == [at - 1]
    assert player.timeline.at == at
    assert len(player.timeline.moments) == known + at - 1
    assert player.timeline.model_at(again.tip).off == ()
    assert player.put_back("S-07") is again
    assert "With S-07 on, step 9 is refused: streaming is not complete" in player.text()
    with pytest.raises(BadInput, match=r"safeguard.*one that is off: S-07"):
        player.put_back("S-01")
    twin = player.copy()
    assert twin.timeline.model_at(again.tip).off == ()
    player.goto(again.tip)
    with pytest.raises(Refused, match="streaming is not complete"):
        player.act(player.timeline.moments[at].action)


def test_a_safeguard_that_changes_the_start_is_not_put_back() -> None:
    """Such a run is no branch of this one: it says so, and the history stays as it was."""
    player = broken("tablets", "S-27")
    known = len(player.timeline.moments)
    with pytest.raises(Refused, match="With S-27 on, the run starts differently"):
        player.put_back()
    assert len(player.timeline.moments) == known


def test_a_page_does_not_ask_for_what_there_is_not() -> None:
    """An unknown question is refused, and one about a run that breaks nothing."""
    player = broken()
    for control, why in (("nothing", "control"), ("back:S-01", "safeguard")):
        with pytest.raises(BadInput, match=why):
            player.breaks.perform(control)
    player.goto(0)
    with pytest.raises(Refused, match="No promise is broken"):
        player.breaks.perform("why")


def found(table: Desk) -> None:
    """Wait for what a thread of the Player finds, and bring it to the page."""
    thread = table.player.breaks.work.thread
    if thread is not None:
        thread.join()
    table.flush()


@pytest.mark.browser
def test_a_break_is_an_event(desk: MakeDesk) -> None:
    """The picture stands still, all but the culprits dims, the words say what contradicts what."""
    table = desk(broken(at_end=False))
    page = table.page
    assert not page.is_visible(WORDS)
    page.keyboard.press("Home")
    page.keyboard.press("End")
    table.do("step")
    page.wait_for_selector(WORDS)
    page.wait_for_selector(DIM, state="attached")
    assert page.query_selector(".kp[data-my-still]") is None
    assert "built on state 1, and changes state 2" in page.inner_text(".kp-break h2")
    assert page.locator('.kp-picture [data-of="A"][data-my-dim]').count() == 0
    assert page.locator('.kp-picture [data-of="B"][data-my-dim]').count() == 1
    assert serious(page, ".kp-break") == []
    page.keyboard.press("Escape")
    assert page.is_visible(WORDS)
    assert page.locator(DIM).count() == 0
    table.open("promises")
    page.click("text=show the break")
    page.wait_for_selector(WORDS)
    page.keyboard.press("ArrowLeft")
    table.wait_where("13 / 14")
    assert not page.is_visible(WORDS)
    assert page.locator(DIM).count() == 0
    assert table.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_culprits_can_be_read(desk: MakeDesk, theme: Literal["light", "dark"]) -> None:
    """What a culprit says stands out from what is behind it, also where that is new."""
    table = desk(walked("gossip/both-sides", 2))
    table.page.emulate_media(color_scheme=theme)
    table.do("step")
    table.page.wait_for_selector(".kp-picture svg [data-my-lit]")
    assert table.page.evaluate(FAINT_WORDS) == []


@pytest.mark.browser
def test_the_picture_keeps_its_frame(desk: MakeDesk) -> None:
    """Heads that stay where a picture is scrolled are where they were, opaque, and can be read."""
    framed = 0
    for name, safeguard in BREAKS:
        if "data-pinned" not in RenderedTimeline(Timeline(build(name))).html(0):
            continue
        framed += 1
        table = desk(broken(name, safeguard, at_end=False))
        before = table.page.evaluate(HEADS)
        table.do("step")
        table.page.wait_for_selector(DIM, state="attached")
        assert table.page.evaluate(HEADS) == before, name
        assert {opacity for *_, opacity in before.values()} <= {1}
    assert framed > 1


HEADS = """() => {
  const seen = (part) => part.matches(".kp-picture") ? 1
    : getComputedStyle(part).opacity * seen(part.parentNode);
  const which = ".kp-picture [data-pinned] :is(.paper,[data-of]:not([data-of^=request]))";
  const heads = [...document.querySelectorAll(which)];
  return Object.fromEntries(heads.reverse().map((part) => {
    const own = part.querySelector(".head") ?? part;
    const { x, y } = own.getBoundingClientRect();  // its tag may get a mark around it
    return [part.dataset.of || "paper", [Math.round(x), Math.round(y), seen(part)]];
  }));
}"""
"""Where each part of the heads is, and how opaque; what a client sends comes after its head."""


@pytest.mark.browser
def test_a_break_holds_whatever_runs(desk: MakeDesk) -> None:
    """Play at its fastest, a run to the next milestone, a key that is held down, presses ahead."""
    player = Player(open_file(file_named("tcm/off-pending-in-metadata")))
    table = desk(player)
    page = table.page
    page.select_option("[data-do=speed]", "5", force=True)
    page.click("[data-do=play]")
    page.wait_for_selector(WORDS)
    page.wait_for_selector("[data-do=play][aria-label=play]")
    table.wait_where("4 / 6")
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    table.wait_where("4 / 6")
    page.keyboard.press("Home")
    for _ in range(12):
        page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    table.wait_where("4 / 6")
    page.keyboard.press("ArrowRight")
    table.wait_where("5 / 6")
    assert table.errors == []


@pytest.mark.browser
def test_a_break_holds_what_the_kernel_plays(desk: MakeDesk) -> None:
    """Where nobody has stepped yet: play, and presses that wait their turn."""
    for go, times in (("play", 1), ("milestone", 5), ("step", 5)):
        table = desk(Player("gossip/both-sides"))
        page = table.page
        page.select_option("[data-do=speed]", "5", force=True)
        page.evaluate(PRESS, [f".kp-keys [data-do={go}]", times])
        page.wait_for_selector(WORDS)
        page.wait_for_function("window.calls === 0")
        assert page.inner_text(".kp-where").startswith("3 /")
        assert page.get_attribute("[data-do=play]", "aria-label") == "play"
        assert len(table.player.timeline.moments) == 4


PRESS = """([which, times]) => {
  for (let i = 0; i < times; i += 1) document.querySelector(which).click();
}"""


@pytest.mark.browser
def test_nothing_stands_still_where_motion_is_unwanted(desk: MakeDesk) -> None:
    """With reduced motion the words and the dimmed picture are there at once."""
    table = desk(broken(at_end=False))
    page = table.page
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(WATCH)
    table.do("step")
    table.wait_where("14 / 14")
    page.wait_for_selector(WORDS)
    assert page.locator(DIM).count() > 0
    assert page.evaluate("window.stood") == 0
    page.emulate_media(reduced_motion="no-preference")
    table.do("back")
    table.do("step")
    page.wait_for_selector(WORDS)
    assert page.evaluate("window.stood") > 0


WATCH = """() => {
  window.stood = 0;
  const root = document.querySelector(".kp");
  new MutationObserver(() => { window.stood += root.hasAttribute("data-my-still"); })
    .observe(root, { attributes: true, attributeFilter: ["data-my-still"] });
}"""


@pytest.mark.browser
def test_why_shows_the_steps_that_are_needed(desk: MakeDesk) -> None:
    """By key; the list goes to a step, a filter shows what one node knows, the text is copied."""
    player = broken("group0", "S-30")
    table = desk(player)
    page = table.page
    page.wait_for_selector(WORDS)
    page.focus(".kp input[type=range]")
    page.keyboard.press("w")
    page.wait_for_function("window.calls === 0")
    found(table)
    page.wait_for_selector(".kp-cause:visible")
    assert "With S-30 on, " in page.inner_text(".kp-cause")
    page.click(".kp-cause summary")
    needed = page.locator(".kp-cause ol .needed").count()
    assert needed == len(player.why().steps)
    table.flush()
    assert page.locator(".kp-ticks .cause").count() == needed
    before = page.locator(".kp-cause ol li:visible").count()
    page.select_option("[data-do=only]", "B")
    assert 0 < page.locator(".kp-cause ol li:visible").count() < before
    assert page.locator('.kp-picture [data-of="A"][data-my-dim]').count() == 1
    assert page.locator('.kp-picture [data-of="B"][data-my-dim]').count() == 0
    page.select_option("[data-do=only]", "")
    assert page.locator(".kp-cause ol li:visible").count() == before
    page.click(".kp-cause >> text=Copy as Mermaid")
    page.wait_for_selector(".kp-note:visible")
    assert page.evaluate("String(getSelection())").startswith("sequenceDiagram")
    assert serious(page, ".kp-break") == []
    page.click(".kp-cause ol li:first-child button")
    table.wait_where("1 / 14")
    page.keyboard.press("End")
    table.wait_where("14 / 14")
    assert page.is_visible(".kp-cause")
    page.keyboard.press("w")
    assert not page.is_visible(".kp-cause")
    assert table.errors == []


@pytest.mark.browser
def test_where_it_became_possible_and_what_a_safeguard_would_do(desk: MakeDesk) -> None:
    """A search tells where; a safeguard put back stands beside the run."""
    table = desk(broken("dataplane", "S-07"))
    page = table.page
    page.wait_for_selector(WORDS)
    page.click("text=When did it become possible?")
    page.wait_for_function("window.calls === 0")
    found(table)
    page.click("text=Go to where it became possible")
    table.wait_where("0 / 9")
    page.keyboard.press("End")
    table.wait_where("9 / 9")
    page.click("text=Put the rule back and compare")
    page.wait_for_selector(".kp-side .kp-picture")
    assert "With S-07 on, step 9 is refused" in page.inner_text(WORDS)
    assert "nothing more there" in page.inner_text(".kp-parts")
    assert "step 9" in page.inner_text(".kp-parts")
    page.click("[data-do=alone]")
    page.wait_for_selector(WORDS)
    assert "With S-07 on, step 9 is refused" in page.inner_text(".kp-break")
    page.click("text=Compare with S-07 on")
    page.wait_for_selector(".kp-side .kp-picture")
    assert table.errors == []


@pytest.mark.browser
def test_a_search_says_how_far_it_is_and_stops(desk: MakeDesk) -> None:
    """While it works there is a line and a button; whoever presses it gets what is known."""
    table = desk(broken())
    page, player = table.page, table.player
    player.tell_progress("4,096 states searched from step 3")
    table.flush()
    page.wait_for_selector(".kp-stop:visible")
    assert page.inner_text(".kp-told") == "4,096 states searched from step 3"
    page.click(".kp-stop")
    page.wait_for_function("window.calls === 0")
    assert player.breaks.work._halt.is_set()
    player.tell_progress("")
    table.flush()
    assert not page.is_visible(".kp-stop")


@pytest.mark.browser
def test_an_exported_page_tells_it_too(browser: Browser, tmp_path: Path) -> None:
    """The words, the cause and the filter need no kernel; what does says so."""
    made = export_html(broken("recovery", "S-49").timeline, tmp_path / "page.html")
    page: Page = browser.new_page()
    try:
        page.goto(f"{made.path.as_uri()}#step=8")
        page.wait_for_selector(WORDS)
        page.click("text=Why?")
        page.wait_for_selector(".kp-cause:visible")
        page.click("text=Put the rule back and compare", force=True)
        assert "This page is an export" in page.inner_text(".kp-note")
        page.keyboard.press("Escape")
        assert serious(page, ".kp-break") == []
    finally:
        page.close()
