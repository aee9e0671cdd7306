"""A thing in the picture is pressed: its menu says what is known of it and what may be done."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, Page

from kit.views.actions import concerned
from kit.widgets import Player
from tests.widgets.browsing import Desk, MakeDesk, serious, walked
from tests.widgets.exporting import Pages, opened

pytestmark = pytest.mark.browser

NODE = ".kp-picture .spot[data-of=X]"
MENU = ".kp-menu:not([hidden])"
WITHIN = """() => {
  const [menu, board] = [".kp-menu", ".kp-board"]
    .map((one) => document.querySelector(one).getBoundingClientRect());
  return menu.left >= board.left && menu.right <= board.right
    && menu.top >= board.top && menu.bottom <= board.bottom;
}"""


def texts(page: Page, selector: str) -> list[str]:
    """The texts of what is in the menu."""
    return page.locator(f"{MENU} {selector}").all_text_contents()


def shown(desk: MakeDesk) -> Desk:
    """X has begun to join, and A lags."""
    table = desk(walked("tcm/bootstrap", 5))
    table.page.set_viewport_size({"width": 840, "height": 560})
    return table


def test_a_press_on_a_node_offers_what_it_may_do(desk: MakeDesk) -> None:
    """Facts, then the actions that name it; a refused one is grey and says why."""
    table = shown(desk)
    page = table.page
    page.click(NODE)
    assert "dc1, rack r1, joining" in texts(page, "li")
    assert texts(page, "button")[-1] == "apply X"
    assert texts(page, "small") == ["X has applied every committed epoch."]
    assert page.get_attribute(f"{MENU} button:last-of-type", "aria-disabled") == "true"
    assert page.evaluate(WITHIN)
    assert serious(page, ".kp-menu") == []
    page.click(f"{MENU} button:last-of-type", force=True)
    assert "X has applied every" in (page.text_content(".kp-note") or "")
    page.click(f"{MENU} button >> nth=0")
    table.wait_where("6 / 6")
    assert not page.is_visible(MENU)
    assert table.errors == []


def test_the_menu_closes_and_gives_the_focus_back(desk: MakeDesk) -> None:
    """By Escape, by another press on the thing, by a press beside it, and by a step."""
    page = shown(desk).page
    page.click(NODE)
    page.keyboard.press("Escape")
    assert not page.is_visible(MENU)
    assert page.evaluate("document.activeElement.dataset.of") == "X"
    page.click(NODE)
    page.click(NODE)
    assert not page.is_visible(MENU)
    page.click(NODE)
    page.click(".kp-said", position={"x": 20, "y": 10})
    assert not page.is_visible(MENU)
    page.click(NODE)
    page.keyboard.press("ArrowLeft")
    assert not page.is_visible(MENU)


def test_keys_open_the_menu_walk_it_and_act(desk: MakeDesk) -> None:
    """Enter on the focused node; arrows move among its actions; Enter does one."""
    table = shown(desk)
    page = table.page
    page.focus(NODE)
    page.keyboard.press("Enter")
    assert texts(page, "strong") == ["X at 150"]
    assert "add write replicas" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "apply X"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    table.wait_where("6 / 6")


def offered(desk: MakeDesk, run: str, steps: int, part: str) -> tuple[str, list[str], list[str]]:
    """What the menu of a part of a picture is called, its facts, its actions."""
    table = desk(walked(run, steps))
    table.page.set_default_timeout(9000)
    thing = table.page.locator(f".kp-picture [data-k='{part}']").first
    if part.startswith("sent:"):
        box = thing.bounding_box()
        assert box is not None
        table.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    else:
        thing.dispatch_event("click")
    table.page.wait_for_selector(MENU)
    assert table.errors == []
    return texts(table.page, "strong")[0], texts(table.page, "li"), texts(table.page, "button")


@pytest.mark.parametrize(
    ("run", "steps", "part", "name", "fact", "action"),
    [
        ("twophase/commit", 4, "n:TM", "transaction manager", "undecided", "decide abort"),
        ("twophase/commit", 4, "sent:RM1:TM:prepared", "RM1 → TM", "prepared", "receive-prepared"),
        ("twophase/commit", 4, "label:sent:RM1:TM:prepared", "RM1 → TM", "prepared", ""),
        ("group0/schema", 9, "log:1", "1", "1 create", ""),
        ("failures/cut-in-two", 2, "wall:D,E,:cut", "cut", "D, E", "rejoin"),
        ("recovery_mode/recovery-mode", 4, "n:A", "A", "set to recovery", "start A"),
        ("resize/table-splits", 12, "host:group0", "group0", "group 0: split", "commit map"),
    ],
)
def test_each_kind_of_thing_has_its_menu(
    desk: MakeDesk, run: str, steps: int, part: str, name: str, fact: str, action: str
) -> None:
    """Nodes, envelopes and the words at them, cards of the log, what parts groups, group 0 itself:
    its name, facts, and what concerns it, or what concerns nothing else.
    """
    called, facts, actions = offered(desk, run, steps, part)
    assert called == name
    assert any(one.startswith(fact) for one in facts)
    assert any(one.startswith(action) for one in actions) or not action


def test_a_picture_without_tab_stops_is_walked_to_a_menu(desk: MakeDesk) -> None:
    """The brackets walk to a part, Enter opens its menu."""
    table = desk("failures/cut-in-two")
    page = table.page
    page.focus(".kp-track input")
    page.keyboard.press("]")
    page.keyboard.press("Enter")
    assert page.is_visible(MENU)
    assert table.errors == []


def test_a_press_by_mouse_draws_no_frame_around_the_picture(desk: MakeDesk) -> None:
    """The focus is seen where keys brought it, and only there."""
    page = shown(desk).page
    outline = f"getComputedStyle(document.querySelector('{NODE}')).outlineStyle"
    page.click(NODE)
    page.click(NODE)
    assert page.evaluate(outline) == "none"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(outline) == "solid"


def test_a_finger_opens_the_menu_of_an_exported_page(browser: Browser, pages: Pages) -> None:
    """What may be done is grey there, and the page says how to act."""
    context = browser.new_context(has_touch=True, offline=True)
    page = context.new_page()
    try:
        opened(page, pages("tcm/bootstrap"), at_end=False)
        page.tap("text=Step by hand")
        page.wait_for_selector(".kp-cover", state="hidden")
        page.tap(NODE)
        assert page.is_visible(MENU)
        assert "open the trace" in " ".join(texts(page, "small"))
    finally:
        context.close()


@pytest.mark.parametrize(
    ("model", "verb", "thing"),
    [
        ("twophase", "prepare RM0", "RM0"),
        ("balance", "move 0 A:0 B:0", "B"),
        ("balance", "move 0 A:0 B:0", "tablet ks.t 0"),
    ],
)
def test_actions_name_the_things_that_they_concern(model: str, verb: str, thing: str) -> None:
    """A node by its name, a shard with its node, a tablet by table and number."""
    opened_model = Player(model).model
    found = opened_model.find(opened_model.start(), verb)
    assert found is not None
    assert thing in json.loads(concerned(opened_model, found[0]))
