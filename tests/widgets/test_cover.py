"""A run begins with its cover, plays to its end, and says so."""

from __future__ import annotations

import re

import pytest
from msgspec import to_builtins
from playwright.sync_api import Browser, Page, expect

from kit.model.registry import build, entries, scenario_of
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.views.actions import end_words
from kit.views.cover import Story, draw_told
from kit.views.dangers import dangers
from kit.views.headlines import MOST_WORDS, words_of
from kit.views.panel import scene_of
from kit.views.rendered import RenderedTimeline
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, do, serious
from tests.widgets.exporting import Pages, opened, performed

COVER = ".kp-cover:visible"
SAFE = "twophase/commit"


def test_the_first_frame_of_a_story_has_its_cover() -> None:
    """Title, premise, who is who, and how long it takes; no later frame has it."""
    player = Player("tcm/bootstrap")
    first = player.rendered.html(0)
    assert "A node joins, with two copies of each row" in first
    assert "After each one, the two tables match those of CEP-21" in first
    assert "<strong>A</strong> member, at 100 in rack r1" in first
    assert "Watch (22 seconds)" in first
    player.step()
    assert "kp-cover" not in player.rendered.html(1)
    assert "kp-cover" in Player("tcm/bootstrap").rendered.html(0)
    assert "kp-cover" not in Player(build("twophase")).rendered.html(0)


def test_who_is_who_names_characters_once() -> None:
    """Those that are alike in one line; what is on its way is nobody; what is told is no name."""
    cover = Player("discovery/three-nodes").rendered.html(0).partition("kp-cover")[2]
    assert "<strong>C</strong> knows A, C, and has no group" in cover
    assert "ask" not in cover.partition("</ul>")[0].partition("<ul>")[2]
    assert "<strong>RM0, RM1, RM2</strong> working" in Player("twophase/commit").rendered.html(0)
    alike = Player("gossip_join/one-join").rendered.html(0)
    assert "<strong>B, C</strong> member without the range" in alike


def test_a_page_of_any_run_has_a_cover() -> None:
    """Of one without a name it has the model's, and it counts the steps of the run."""
    timeline = Timeline(build("twophase"))
    timeline.forward()
    rendered = RenderedTimeline(timeline, closed="read only")
    assert "Watch (1 second)" in rendered.html(0)
    assert timeline.model.title in rendered.html(0)


def test_the_end_is_told_kindly() -> None:
    """What went well is told as the end; what waits for somebody is told so."""
    timeline = performed(SAFE)
    scene = scene_of(timeline, timeline.tip)
    told = " ".join(part.text() for part in filter(None, draw_told(scene)))
    assert told == (
        "Every manager commits, and no promise was broken 1 promise held in 10 steps. "
        "On the way: 2 milestones, and 1 wait for others. "
        "The last step: RM2 reads the decision: committed."
    )
    stuck = performed("raft_upgrade/node-dies-halfway")
    assert end_words(scene_of(stuck, stuck.tip)).startswith(
        "This is the end. Nothing more happens on its own: "
    )


ENDS = [f"{name}/{story}" for name in entries() for story in words_of(name).ends]


@pytest.mark.parametrize("story", ENDS)
def test_a_story_ends_with_what_it_has_shown(story: str) -> None:
    """In a few words, and why it came so."""
    entry, told = scenario_of(story)
    timeline = Timeline(build(entry.name, told.parameters, told.off), told.script)
    while timeline.forward() is not None:
        pass
    scene, (head, why) = scene_of(timeline, timeline.tip), words_of(entry.name).ends[told.name]
    said = [part.text() for part in filter(None, draw_told(scene, Story(told.title)))]
    assert said[:2] == [head, f"{why}."]
    assert len(head.split()) <= MOST_WORDS


def test_a_run_that_left_its_story_tells_its_own_end() -> None:
    """Nobody says that all three committed where one has aborted."""
    _, told = scenario_of(SAFE)
    timeline = Timeline(build("twophase"), ["give-up RM0"])
    while timeline.forward() is not None:
        pass
    said, *_ = draw_told(scene_of(timeline, timeline.tip), Story(told.title))
    assert said
    assert said.text() == "Every manager aborts, and no promise was broken"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [*entries()])
def test_a_cover_says_what_is_at_stake(name: str) -> None:
    """What could go wrong, by a safeguard against it; else what must hold."""
    model = build(name)
    known = {each for safeguard in model.safeguards for each in safeguard.protects}
    assert known <= dangers().keys()
    cover = covered(Timeline(model))
    stakes = r"Without this rule \(S-\d+\), .* could .*\.|What must always hold: .*\."
    assert re.search(stakes, cover)
    for safeguard in model.safeguards:
        if safeguard.protects:
            told = covered(Timeline(build(name, off=(safeguard.name,))))
            assert f"With {safeguard.id} off, " in told
            assert f"<p>{safeguard.title.split()[0]} " in told


def covered(timeline: Timeline) -> str:
    """The cover of a page with no more than its start."""
    html = RenderedTimeline(timeline, closed="read only").html(0)
    return html[html.index('data-k="cover"') :]


def test_a_cover_tells_whether_the_run_breaks_a_promise() -> None:
    """An exercise does not: you shall; another run does, and you watch."""
    exercise = Player("dataplane/no-barrier").rendered.html(0)
    assert "With S-01 off, an acknowledged write could be lost." in exercise
    assert "This story breaks no promise. Choose other actions until a promise breaks." in exercise
    told = Player("gossip_join/two-shadow-rounds").rendered.html(0)
    assert "Watch what happens." in told
    assert "This run" not in told
    whole = Player(open_file(file_named("tcm/off-progress-barrier"))).rendered
    assert "Watch (3 seconds)" in whole.html(0)
    assert "Watch what happens." in whole.html(0)


def test_a_cover_tells_of_no_other_run() -> None:
    """What a story says of itself is not said of a run under other rules."""
    timeline = open_file(file_named("tcm/bootstrap"))
    premise = "X joins at token 150 in four epochs."
    assert premise in timeline.premise
    assert premise in covered(timeline)
    given = to_builtins(timeline.model.parameters)
    timeline.switch(build("tcm", given, off=("write-before-read",)))
    while not timeline.breaches(timeline.tip) and timeline.forward() is not None:
        pass
    assert timeline.breaches(timeline.tip)
    alone = Timeline.along(timeline.here, timeline.actions(timeline.tip))
    alone.tell(timeline.story, timeline.premise)
    for told in (covered(timeline), covered(alone)):
        assert "This story breaks no promise." not in told
    assert premise not in covered(timeline)
    assert "Watch what happens." in covered(alone)


@pytest.mark.browser
def test_a_story_begins_with_two_ways_to_go_on(desk: MakeDesk) -> None:
    """One steps, or closes the card; the first frame shows it again."""
    table = desk(SAFE, cover=True)
    page = table.page
    assert page.is_visible(COVER)
    assert serious(page, ".kp-cover") == []
    page.click("text=Step by hand")
    table.wait_where("1 / 1")
    assert not page.is_visible(COVER)
    page.keyboard.press("Home")
    table.wait_where("0 / 1")
    assert page.is_visible(COVER)
    page.keyboard.press("Escape")
    assert not page.is_visible(COVER)
    page.keyboard.press("Home")
    assert page.is_visible(COVER)
    page.keyboard.press("a")
    expect(page.locator(".kp-cover")).to_be_hidden()  # what can happen opens in its place
    assert table.errors == []


@pytest.mark.browser
def test_one_can_begin_whatever_the_cover_says(desk: MakeDesk) -> None:
    """In the smallest board, and in the projector, both buttons are in sight."""
    for name in ("dataplane/no-barrier", "topology/five-of-seven-vote"):
        table = desk(name, cover=True)
        table.page.set_viewport_size({"width": 840, "height": 560})
        for _ in range(2):
            for button in ("watch", "myself"):
                expect(table.page.locator(f".kp-cover [data-do={button}]")).to_be_in_viewport(
                    ratio=1
                )
            table.do("projector")


@pytest.mark.browser
def test_watching_plays_to_the_end(desk: MakeDesk) -> None:
    """Play shows that it can be paused; at the end it stops and one may look again."""
    player = Player(SAFE)
    table = desk(player, cover=True)
    page = table.page
    page.select_option("[data-do=speed]", "5", force=True)
    page.click("text=Watch")
    assert page.get_attribute("[data-do=play]", "aria-label") == "pause"
    page.wait_for_selector(".kp-next.rest")
    page.wait_for_selector("[data-do=play][aria-label=play]")
    assert page.text_content(".kp-said h2") == words_of("twophase").ends["commit"][0]
    page.click("text=Watch again")
    assert page.is_visible(COVER)


@pytest.mark.browser
def test_the_slider_has_the_steps_to_come(desk: MakeDesk) -> None:
    """They are there as dashes; one cannot be dragged there before they are made."""
    table = desk(SAFE)
    page = table.page
    steps = table.player.stage.steps
    slider, dashes = page.locator(".kp-track input"), page.locator(".kp-ticks>i:not(.past, .now)")
    assert slider.get_attribute("max") == str(steps)
    expect(dashes).to_have_count(steps)
    page.keyboard.press("j")
    do(page, "step")
    table.wait_where("1 / 1")
    expect(dashes).to_have_count(steps - 1)
    slider.evaluate(
        "(one) => { one.value = one.max; one.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.wait_for_function("() => document.querySelector('.kp-track input').value === '1'")


@pytest.mark.browser
def test_a_page_opens_at_its_cover_and_plays(reader: Page, pages: Pages) -> None:
    """Its controls are alive from the start; an address may name another step."""
    opened(reader, pages(SAFE), at_end=False)
    assert reader.is_visible(COVER)
    assert (reader.text_content(".kp-where") or "").startswith("0 /")
    for name in ("play", "step"):
        assert reader.get_attribute(f".kp-keys [data-do={name}]", "aria-disabled") == "false"
    reader.click("text=Step by hand")
    reader.wait_for_function("() => document.querySelector('.kp-where').textContent[0] !== '0'")
    assert not reader.is_visible(COVER)


@pytest.mark.browser
def test_watching_needs_no_motion(browser: Browser, pages: Pages) -> None:
    """A reader who wants none is shown the steps one by one."""
    context = browser.new_context(reduced_motion="reduce", offline=True)
    page = context.new_page()
    try:
        opened(page, pages(SAFE), at_end=False)
        page.click("text=Watch")
        page.wait_for_function("() => document.querySelector('.kp-where').textContent[0] !== '0'")
        assert page.evaluate("document.getAnimations().length") == 0
    finally:
        context.close()
