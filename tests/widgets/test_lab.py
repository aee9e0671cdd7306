"""The Player in a real JupyterLab: every control there is, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ElementHandle, Error, Page
from playwright.sync_api import TimeoutError as Late

from tests.widgets.laboratory import notebook, run_all, server

pytestmark = pytest.mark.browser

SETUP = """from kit.widgets import Player
player = Player('tcm/bootstrap')
player.step(); player.run('catch-up'); player.step(); player.step()
player.goto(6); player.act('apply C')
player"""
PAGES = {"Ring and model": "nodes", "Safeguards": "S-05", "Files": "Save trace"}
CELLS = (SETUP, "print('last cell')")

CONTROLS = """(root) => [...root.querySelectorAll(
  "button,input,select,textarea,summary,a[href],[tabindex]:not([tabindex='-1']),[data-roving]"
)].filter((one) => one.offsetParent !== null || one.ownerSVGElement)
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))"""

NAME = """(one) => {
  const near = one.closest("[data-k]")?.dataset.k ?? "";
  const label = one.closest(".widget-inline-hbox, .widget-checkbox")?.textContent ?? "";
  return [one.tagName, one.type ?? "", one.dataset.do ?? "", near, one.getAttribute("aria-label")
    ?? one.textContent.slice(0, 40) ?? "", label.slice(0, 40)].join("|");
}"""

LOOKS = """(root) => root.innerHTML + JSON.stringify(
  [...root.querySelectorAll("input,select")].map((one) => [one.value, one.checked]))"""

RESTORE = """(root) => {
  const $ = (name) => root.querySelector(`[data-do="${name}"]`);
  for (const name of ["predict", "projector", "unfold", "play"])
    if ($(name).getAttribute("aria-pressed") === "true") $(name).click();
  if (!root.querySelector(".kp-help").hidden) $("help").click();
  root.querySelector(".kp-note").hidden = true;
  for (const one of root.querySelectorAll("details")) one.open = true;
  const put = (box, value, kind) => {
    box.value = value; box.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  put($("compare"), "-1", "change");
  put($("scrub"), "4", "input");
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that has the notebook."""
    folder = tmp_path_factory.mktemp("lab")
    notebook(folder, *CELLS)
    with server(folder) as address:
        yield address


@pytest.fixture
def page(browser: Browser, lab: str) -> Iterator[Page]:
    """The notebook, run, with the Player in view."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(30_000)
    made = context.new_page()
    run_all(made, lab, "player.ipynb", ".kp-frame")
    made.wait_for_function(
        "document.querySelector('.kp-where').textContent === '4 / 4'", polling=50
    )
    yield made
    context.close()


def controls(page: Page, root: ElementHandle, which: str = "") -> dict[str, ElementHandle]:
    """Everything that can take the focus now, by name."""
    found = root.evaluate_handle(CONTROLS + which)
    handles = [one.as_element() for one in found.get_properties().values()]
    return {str(one.evaluate(NAME)): one for one in handles if one is not None}


def changed(page: Page, root: ElementHandle, before: str) -> bool:
    """Whether the Player looks different from before, within a while."""
    check = f"([root, before]) => ({LOOKS})(root) !== before"
    try:
        page.wait_for_function(check, arg=[root, before], timeout=8000, polling=30)
    except Late:
        return False
    return True


def kind(control: ElementHandle) -> str:
    """What sort of control it is."""
    return str(
        control.evaluate(
            "(one) => one.tagName === 'INPUT' ? one.type : one.tagName === 'SELECT' ? 'select'"
            " : one.matches('[role=region]') ? 'region' : 'button'"
        )
    )


def by_mouse(control: ElementHandle) -> None:
    """Use a control with the mouse."""
    what = kind(control)
    if what == "select":
        control.click()
        count = control.evaluate("(one) => one.options.length")
        chosen = control.evaluate("(one) => one.selectedIndex")
        control.select_option(index=(chosen + 1) % count)
    elif what == "range":
        box = control.bounding_box()
        assert box is not None
        control.click(position={"x": 4, "y": box["height"] / 2})
    elif what in ("text", "number", "search"):
        control.click()
        control.fill("5" if what == "number" else "other.json")
        control.evaluate("(one) => one.blur()")
    else:
        control.click(force=True)


def by_key(page: Page, control: ElementHandle) -> None:
    """Use a control with the keyboard alone."""
    control.focus()
    assert control.evaluate("(one) => document.activeElement === one")
    what = kind(control)
    if what == "select":
        last = control.evaluate("(one) => one.selectedIndex === one.options.length - 1")
        page.keyboard.press("ArrowUp" if last else "ArrowDown")
    elif what == "range":
        page.keyboard.press("ArrowLeft")
    elif what == "checkbox":
        page.keyboard.press("Space")
    elif what == "number":
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")
    elif what in ("text", "search"):
        page.keyboard.type("x")
        page.keyboard.press("Tab")
    elif what != "region":
        page.keyboard.press("Enter")


def restore(page: Page, root: ElementHandle) -> None:
    """Bring the stage back to where each control is tried; an answer may still be on its way."""
    for _ in range(10):
        page.evaluate(RESTORE, root)
        with suppress(Late):
            page.wait_for_function(
                "document.querySelector('.kp-where').textContent.startsWith('4 /')",
                polling=20,
                timeout=3_000,
            )
            return
    raise AssertionError("the player does not come back to its fourth step")


def exercise(page: Page, root: ElementHandle, control: ElementHandle, way: str) -> bool:
    """Use a control and tell whether anything happened; a scrolled region only takes the focus."""
    before = root.evaluate(LOOKS)
    control.scroll_into_view_if_needed()
    if way == "mouse":
        by_mouse(control)
    else:
        by_key(page, control)
    return kind(control) == "region" or changed(page, root, before)


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_every_control_of_the_stage_does_something(page: Page, way: str) -> None:
    """All that can take the focus on the stage is used in turn; each use changes what is shown."""
    root = page.query_selector(".kit-player .kp")
    assert root is not None
    restore(page, root)
    seen: set[str] = set()
    idle = []
    while True:
        here = controls(page, root)
        left = [name for name in here if name not in seen]
        if not left:
            break
        seen.add(left[0])
        if not exercise(page, root, here[left[0]], way):
            idle.append(left[0])
        restore(page, root)
    assert idle == []
    assert len(seen) > 40
    for name in ("first", "back", "play", "step", "milestone", "fork", "scrub", "speed", "branch",
                 "compare", "unfold", "predict", "projector", "help"):  # fmt: skip
        assert any(f"|{name}|" in one for one in seen), name


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_every_control_around_the_stage_does_something(page: Page, way: str) -> None:
    """Drop-downs, figures, switches and buttons above the stage are used; each does its work."""
    root = page.query_selector(".kit-player")
    assert root is not None
    seen: set[str] = set()
    idle = []
    for title, word in PAGES.items():
        opener = page.locator(f".kit-player button:has-text('{title}')")
        if "mod-active" not in (opener.get_attribute("class") or ""):
            opener.click()
        inner = ".kit-player > .widget-vbox > .widget-vbox"
        page.wait_for_selector(f"{inner} :text('{word}')")
        for name in outer(page, root):
            late = title != "Files" and ("Scenario" in name or "Reset" in name)
            if name in seen or late or any(f"|{other}|" in name for other in PAGES):
                continue
            if "Reset" in name:
                page.click("[data-do=step]")
                page.wait_for_function(
                    "document.querySelector('.kp-where').textContent === '1 / 1'", polling=20
                )
            seen.add(name)
            if not patiently(page, root, name, way):
                idle.append(name)
    assert idle == []
    assert len(seen) > 20


def outer(page: Page, root: ElementHandle) -> dict[str, ElementHandle]:
    """The controls that are not on the stage."""
    return controls(page, root, ".filter((one) => !one.closest('.kp'))")


def patiently(page: Page, root: ElementHandle, name: str, way: str) -> bool:
    """Use a control by name; begin again when it was replaced by its like meanwhile."""
    for _ in range(5):
        try:
            return exercise(page, root, settled(page, root, name), way)
        except Error as error:
            if "not attached" not in str(error):
                raise
    raise AssertionError(f"{name} never keeps still")


def settled(page: Page, root: ElementHandle, name: str) -> ElementHandle:
    """A control by name, as soon as it is there: some rebuild the others."""
    for _ in range(100):
        found = outer(page, root)
        if name in found:
            return found[name]
        page.wait_for_function("() => true")
    raise AssertionError(f"{name} is gone")


def test_letters_stay_in_the_player(page: Page) -> None:
    """JupyterLab's single-letter shortcuts do not act while the focus is in the player."""
    count = page.locator(".jp-Cell").count()
    for place in ("[data-do=step]", ".kit-player select"):
        page.focus(place)
        for key in ("d", "d", "a", "b", "x", "m"):
            page.keyboard.press(key)
    page.focus("[data-do=step]")
    page.keyboard.press("k")
    page.wait_for_function(
        "document.querySelector('.kp-where').textContent === '3 / 4'", polling=20
    )
    assert page.locator(".jp-Cell").count() == count
    assert page.locator(".jp-Cell.jp-MarkdownCell").count() == 0


def test_axe_finds_nothing_serious_in_the_notebook(page: Page) -> None:
    """The player within JupyterLab has no serious finding, in the light and in the dark theme."""
    for theme in ("true", "false"):
        page.evaluate("(value) => { document.body.dataset.jpThemeLight = value; }", theme)
        found = Axe().run(page, context=".kit-player").response["violations"]
        serious = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert serious == []
