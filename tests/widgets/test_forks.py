"""The map of branches on the time bar, two of them side by side, and the film of the milestones."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from kit.model.parameters import plainly
from kit.model.registry import build
from kit.views.rendered import RenderedTimeline
from kit.widgets import Player
from tests.widgets.browsing import NORMAL, Desk, MakeDesk, serious, walked
from tests.widgets.exporting import Pages, opened
from tests.widgets.test_board import MISSED

pytestmark = pytest.mark.browser

LINES = ".kp-fork"
GO, COMPARE = "[data-do=show]", "[data-do=compare]"


def forked(name: str, steps: int, at: int, *verbs: str) -> Player:
    """A Player of a scenario, so many steps on, with another branch that begins at a step."""
    player = walked(name, steps)
    player.goto(at)
    for verb in verbs:
        player.act(verb)
    player.stage.pack = player.rendered.pack().compressed()
    return player


def names(page: Page) -> list[str]:
    """What the lines of the map are called."""
    return page.locator(f"{LINES} {GO}").all_inner_texts()


@pytest.mark.parametrize(
    ("name", "steps", "at", "verbs", "called"),
    [
        ("tcm/bootstrap", 8, 2, ("apply C", "apply B"), "B first"),
        ("tcm/bootstrap", 8, 2, ("apply C",), "apply B"),
        ("twophase/commit", 6, 2, ("give-up RM2",), "prepare RM2"),
    ],
)
def test_a_branch_is_named_by_what_it_does_otherwise(
    desk: MakeDesk, name: str, steps: int, at: int, verbs: tuple[str, ...], called: str
) -> None:
    """By who acts first where both do the same in another order, else by its own first action."""
    table = desk(forked(name, steps, at, *verbs))
    [line] = names(table.page)
    table.page.hover(f"{LINES} {COMPARE}")
    expect(table.page.locator(".kp-peek")).to_be_hidden()
    assert line.removesuffix("✓").strip() == called
    dash = table.page.locator(".kp-ticks>i:not(.cause, .bad)").nth(at - 1).bounding_box()
    left = table.page.locator(f"{LINES}>i").bounding_box()
    assert left is not None
    assert dash is not None
    assert left["x"] == pytest.approx(dash["x"] + dash["width"] / 2, abs=2)


def test_a_branch_is_named_by_the_safeguards_it_is_without(desk: MakeDesk) -> None:
    """Where the same is done without one; seen from there, the other branch is with it."""
    player = walked("tcm/bootstrap", 6)
    timeline = player.timeline
    safeguard = next(each for each in player.model.safeguards)
    other = build(player.model.name, plainly(player.model.parameters), (safeguard.name,))
    player.after(lambda: timeline.again(other, 6))
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    page = table.page
    assert names(page) == [f"with {safeguard.id}"]
    page.click(f"{LINES} {GO}")
    table.settle()
    assert names(page) == [f"without {safeguard.id}"]


@pytest.mark.parametrize("at", [0, 3])
def test_a_switch_is_a_line_named_so_wherever_one_stands(desk: MakeDesk, at: int) -> None:
    """Before the first step and later, by the drawer's own switch: the other run is compared."""
    player = Player("tcm/bootstrap")
    assert player.controls is not None
    for _ in range(at):
        player.step()
    safeguard = player.model.safeguards[0]
    table = desk(player)
    page = table.page
    assert names(page) == []
    player.controls.switches[safeguard.name].value = False
    table.flush()
    table.settle()
    assert [name.removesuffix("✓") for name in names(page)] == [f"with {safeguard.id}"]
    page.click(f"{LINES} {COMPARE}")
    table.settle()
    assert page.get_attribute(f"{LINES} {COMPARE}", "aria-pressed") == "true"
    page.click(f"{LINES} {GO}")
    expect(page.locator(f"{LINES} {GO}")).to_contain_text(f"without {safeguard.id}")


def test_each_branch_begins_by_its_own_safeguards(desk: MakeDesk) -> None:
    """The start of a branch without one is drawn without it, in exported pages, too."""
    player = Player("schema/two-changes")
    assert player.controls is not None
    table = desk(player)
    page, rendered = table.page, player.rendered
    player.controls.switches["ordered"].value = False
    table.flush()
    page.keyboard.press("Home")
    table.settle()
    assert "version of the schema" in page.inner_text(".kp-stage .kp-kicker")
    start = rendered.moments[player.timeline.path()[1]].start
    assert start is not None
    assert page.evaluate(NORMAL, rendered.store.flat(start)) == ""
    assert table.difference(0) != ""
    page.click(f"{LINES} {GO}")
    page.keyboard.press("Home")
    expect(page.locator(".kp-where")).to_have_text(re.compile("^0 / "))
    expect(page.locator(".kp [aria-busy=true]")).to_have_count(0)
    assert table.difference(0) == ""
    pack = RenderedTimeline(player.timeline, closed="closed").pack().ordered()
    [start] = [one.start for one in pack.moments if one.start is not None]
    assert pack.texts[start] != pack.texts[pack.moments[0].root or 0]


def three(desk: MakeDesk) -> Desk:
    """A run that ended, one that broke a promise, and one that has just begun, which is shown."""
    player = forked("dataplane/no-barrier", 29, 0, *MISSED)
    player.goto(2)
    player.act("write 1 reaches C")
    player.stage.pack = player.rendered.pack().compressed()
    return desk(player)


def test_a_line_says_how_its_branch_ended(desk: MakeDesk) -> None:
    """By a sign and in words: all went well, or a promise broke."""
    page = three(desk).page
    said = [one.get_attribute("aria-label") or "" for one in page.locator(GO).all()]
    assert [name.split()[-1] for name in names(page)] == ["B✓", "B!"]
    assert said == [
        "go to: write 1 reaches B, 29 steps, ended well",
        f"go to: write 1 reaches B, {len(MISSED)} steps, a promise broke",
    ]


def test_a_press_goes_to_the_first_difference_and_again_back(desk: MakeDesk) -> None:
    """The key that goes there keeps the focus on the line that leads back."""
    table = three(desk)
    page = table.page
    page.keyboard.press("Home")
    page.focus(f"{LINES} {GO}")
    page.keyboard.press("Enter")
    table.wait_where("3 / 29")
    table.settle()
    assert page.evaluate("document.activeElement.innerText") == "write 1 reaches C"
    page.keyboard.press("Enter")
    table.wait_where("3 / 3")
    table.settle()
    assert table.difference() == ""


def test_a_line_shows_where_it_leads(desk: MakeDesk) -> None:
    """A pointer or the focus brings the picture of its end, captioned; Escape takes it away."""
    page = three(desk).page
    peek = page.locator(".kp-peek")
    expect(peek).to_be_hidden()
    for show, hide in (
        (lambda: page.hover(f"{LINES} {GO}"), lambda: page.hover(".kp-said")),
        (lambda: page.focus(f"{LINES} {GO}"), lambda: page.keyboard.press("Escape")),
    ):
        show()
        expect(peek).to_be_visible()
        expect(peek.locator("figcaption")).to_have_text(re.compile("^Step 29[.,] "))
        assert peek.locator("svg").count()
        hide()
        expect(peek).to_be_hidden()


@pytest.mark.parametrize("target", [".kp-stage .kp-picture", f"{LINES}:nth-child(2)"])
def test_a_line_that_is_dragged_on_another_compares_them(desk: MakeDesk, target: str) -> None:
    """On the picture, this branch stands beside the one that was dragged, else that other one."""
    table = three(desk)
    page = table.page
    first, onto = (page.locator(one).first.bounding_box() for one in (f"{LINES} {GO}", target))
    assert first is not None
    assert onto is not None
    page.mouse.move(first["x"] + 9, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(onto["x"] + 200, onto["y"] + 11, steps=4)
    assert page.locator("[data-my-over]").count() == 1
    page.mouse.up()
    expect(page.locator(".kp-side .kp-picture")).to_be_visible()
    last, there_does = (3, "B") if "picture" in target else (len(MISSED), "A")
    expect(page.locator(".kp-parts")).to_contain_text(f"write 1 reaches {there_does} there.")
    table.wait_where(f"3 / {last}")
    assert page.locator("[data-my-held], [data-my-over]").count() == 0


def test_two_branches_are_compared_by_keys(desk: MakeDesk) -> None:
    """What differs is tinted, down to the word; the same key takes the other picture away."""
    table = desk(forked("tcm/bootstrap", 8, 2, "apply C", "apply B"))
    page = table.page
    page.keyboard.press("Escape")
    page.focus(f"{LINES} {COMPARE}")
    page.keyboard.press("Enter")
    expect(page.locator(".kp-side .kp-picture")).to_be_visible()
    assert page.get_attribute(f"{LINES} {COMPARE}", "aria-pressed") == "true"
    page.focus("[data-do=scrub]")
    page.keyboard.press("ArrowLeft")
    table.wait_where("3 / 4")
    marked = page.locator(".kp-stage .kp-picture text[data-my-diff]").all_text_contents()
    assert sorted(marked) == ["0", "1", "knows 0", "knows 1"], (
        "the epochs that B and C have applied, and no name"
    )
    page.focus(f"{LINES} {COMPARE}")
    page.keyboard.press("Enter")
    expect(page.locator(".kp-side")).to_be_hidden()


def test_closing_a_comparison_leaves_the_focus_at_the_branch(desk: MakeDesk) -> None:
    """Keys go on; until then the words of where they part lie over no picture."""
    table = desk(forked("tcm/bootstrap", 8, 2, "apply C", "apply B"))
    page = table.page
    page.keyboard.press("Escape")
    page.click(f"{LINES} {COMPARE}")
    heads = page.locator(".kp-picture:visible")
    expect(heads).to_have_count(2)
    box = page.locator(".kp-diff").bounding_box()
    tops = [head.bounding_box() for head in heads.all()]
    assert box is not None
    assert all(top is not None and top["y"] >= box["y"] + box["height"] for top in tops)
    page.focus("[data-do=alone]")
    page.keyboard.press("Enter")
    expect(page.locator(".kp-side")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.do") == "show"
    page.keyboard.press("ArrowLeft")
    table.wait_where("3 / 4")


def test_the_film_shows_each_milestone_and_leads_there(reader: Page, pages: Pages) -> None:
    """A key opens it; its cards are the start, what the time bar marks, and the end."""
    opened(reader, pages("gossip/both-sides"))
    names = ".kp-ticks>b:not(:empty)"
    reader.locator(names).first.wait_for(state="attached")
    reader.keyboard.press("Home")
    reader.keyboard.press("o")
    cards = reader.locator(".kp-film figure")
    said = cards.locator("button").all_inner_texts()
    assert len(said) >= reader.locator(names).count() + 1
    assert [one for one in said if "a promise broke" in one]
    assert cards.locator("svg").count() >= len(said)
    assert reader.evaluate("document.activeElement.parentNode.parentNode.className") == "kp-small"
    for _ in range(2):  # time goes on behind it, and keys are heard as before
        reader.keyboard.press("ArrowRight")
    expect(reader.locator(".kp-where")).to_have_text(re.compile("^2 / "))
    assert reader.evaluate("document.activeElement.dataset.do") == "frame"
    reader.keyboard.press("Home")
    reader.keyboard.press("Tab")
    step = said[1].removeprefix("Step ").split(",")[0]
    reader.keyboard.press("Enter")
    expect(reader.locator(".kp-where")).to_have_text(re.compile(f"^{step} / "))
    expect(reader.locator(".kp-film")).to_be_hidden()
    reader.keyboard.press("o")
    reader.keyboard.press("Escape")
    expect(reader.locator(".kp-film")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(desk: MakeDesk, scheme: str) -> None:
    """Neither on the map with a preview, nor beside another branch, nor in the film."""
    page = three(desk).page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # parametrised
    page.focus(f"{LINES} {GO}")
    assert serious(page) == []
    page.click(f"{LINES} {COMPARE}")
    assert serious(page) == []
    page.keyboard.press("o")
    page.wait_for_selector(".kp-film figure")
    assert serious(page) == []


CUT = """() => {
  const map = document.querySelector(".kp-map").getBoundingClientRect();
  return [...document.querySelectorAll(".kp-fork button")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width < 24 || left < map.left || right > map.right
      || one.scrollHeight > one.clientHeight + 4;
  }).map((one) => one.textContent);
}"""


@pytest.mark.parametrize("width", [420, 700, 840, 1280])
def test_every_branch_is_named_on_the_map(desk: MakeDesk, width: int) -> None:
    """However narrow the window, no name and no button of the map is cut off."""
    page = desk(forked("topology/join-with-coordinator", 25, 23, "apply B")).page
    page.set_viewport_size({"width": width, "height": 720})
    assert page.locator(LINES).count() == 1
    assert page.evaluate(CUT) == []


def test_a_branch_that_goes_on_is_not_called_the_same(desk: MakeDesk) -> None:
    """Where one branch ends, what the other one does next is the difference."""
    player = walked("tcm/bootstrap", 6)
    player.goto(3)
    player.fork()
    player.stage.pack = player.rendered.pack().compressed()
    page = desk(player).page
    page.click(f"{LINES} {COMPARE}")
    expect(page.locator(".kp-parts")).to_have_text(
        re.compile("part at step 4: nothing more here, apply")
    )
