"""The start notebook's Player in JupyterLab: every control there is, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from playwright.sync_api import ElementHandle, Error, Page
from playwright.sync_api import TimeoutError as Late

from tests.widgets.browsing import do, serious
from tests.widgets.laboratory import ANSWERED, ROOT, open_notebook, run_opened

pytestmark = pytest.mark.browser

START = "00-start-here.ipynb"
CELL = 'player = Player("bootstrap"'
PAGES = {"Ring and model": "nodes", "Safeguards": "S-05", "Files": "Save trace"}
# Where each control is tried: two branches, and steps before and behind the one that is shown.
WAY = (
    ("[data-do=step]", "1 / 1"),
    (".actions [data-act='macro:catch-up']", "2 / 2"),
    ("[data-do=step]", "3 / 3"),
    ("[data-do=step]", "4 / 4"),
    ("[data-do=back]", "3 / 4"),
    (".actions button:text-is('apply C')", "4 / 4"),
)
SHEETS = ("promises", "waiting", "more", "kp-more", "compared")

# Everything on the stage, or around it, that can take the focus now.
CONTROLS = """(root, around) => [...root.querySelectorAll(
  "button,input,select,textarea,summary,a[href],[tabindex]:not([tabindex='-1']),[data-roving]"
)].filter((one) => one.offsetParent !== null || one.ownerSVGElement)
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert]"))
  .filter((one) => !one.matches("[data-tab][aria-pressed=true]"))
  .filter((one) => (root.querySelector("details.kp-pop[open]") ?? root).contains(one))
  .filter((one) => !around || !one.closest(".kp"))"""

NAME = """(one) => {
  const near = one.closest("[data-k]")?.dataset.k ?? "";
  const label = one.closest(".widget-inline-hbox, .widget-checkbox")?.textContent ?? "";
  return [one.tagName, one.type ?? "", one.dataset.do ?? "", near, one.getAttribute("aria-label")
    ?? one.textContent.slice(0, 40) ?? "", label.slice(0, 40)].join("|");
}"""

NAMES = f"""(root, around) => [...new Set(({CONTROLS})(root, around).map({NAME}))]"""
NAMED = f"""(root, [around, name]) =>
  ({CONTROLS})(root, around).findLast((one) => ({NAME})(one) === name) ?? null"""

FOUND = f"""([root, name]) => ({NAMED})(root, [true, name])"""

LOOKS = """(root) => root.outerHTML + JSON.stringify(
  [...root.querySelectorAll("input,select")].map((one) => [one.value, one.checked]))"""
LOOK = f"""(root) => {{ window.looked = ({LOOKS})(root); }}"""
CHANGED = f"""(root) => ({LOOKS})(root) !== window.looked"""

# A state is a tab or a sheet over it: what the others hold cannot be seen meanwhile.
RESTORE = """([root, state]) => {
  const $ = (name) => root.querySelector(`[data-do="${name}"]`);
  for (const name of ["predict", "projector", "unfold", "story", "play", "setup"])
    if ($(name).getAttribute("aria-pressed") === "true") $(name).click();
  for (const name of ["help", "film"])
    if (!root.querySelector(`.kp-${name}`).hidden) $(name).click();
  if (!root.querySelector(".kp-side").hidden) $("alone").click();
  root.querySelector(".kp-note").hidden = true;
  const tab = root.querySelector(`[data-tab="${state}"]`) ?? root.querySelector("[data-tab]");
  tab.click();
  for (const one of root.querySelectorAll("details"))
    if (!one.matches(".kp-pop")) one.open = true;
    else if (one.open !== one.matches(`.${state}`)) one.querySelector("summary").click();
  if (state === "compared") root.querySelector("[data-do=compare]")?.click();
  const range = $("scrub");
  range.value = "4";
  range.dispatchEvent(new Event("input", { bubbles: true }));
}"""

SETTLED = """([root, state]) => {
  const open = root.querySelector(`details.${state}`);
  return root.querySelector(".kp-where").textContent.startsWith("4 /")
    && (open ? open.open : true)
    && (state !== "compared" || !root.querySelector(".kp-side").hidden)
    && !document.fullscreenElement;
}"""


STANDING = """([root, state]) => ({
  where: root.querySelector(".kp-where").textContent,
  open: root.querySelector(`details.${state}`)?.open ?? null,
  side: root.querySelector(".kp-side").hidden,
  full: document.fullscreenElement?.className ?? null,
  pressed: [...root.querySelectorAll("[aria-pressed=true]")].map((one) => one.dataset.do),
  said: root.querySelector(".kp-note").textContent,
})"""


@pytest.fixture(scope="module")
def notebook(lab_page: Page, lab: tuple[Path, str]) -> Page:
    """The start notebook as it is shipped, but that the Player waits to be stepped here."""
    folder, address = lab
    shipped = (ROOT / "notebooks" / START).read_text(encoding="utf-8")
    (folder / START).write_text(shipped.replace(", play=True", ""), encoding="utf-8")
    open_notebook(lab_page, address, START)
    return lab_page


@pytest.fixture
def page(notebook: Page) -> Page:
    """Its first Player run, anew for each test, and brought some steps on."""
    run_opened(notebook, START, CELL)
    where(notebook, "0 / 0")
    for control, place in WAY:
        if control.startswith(".actions"):
            notebook.click(".kit-player .more > summary")
        if control.startswith("[data-do"):
            do(notebook, control[9:-1])
        else:
            notebook.click(f".kit-player {control}")
        where(notebook, place)
    return notebook


def where(page: Page, text: str) -> None:
    """Wait for the counter of steps to show ``text``."""
    page.wait_for_function(
        "(text) => document.querySelector('.kp-where').textContent === text", arg=text, polling=20
    )


def names(root: ElementHandle, around: bool = False) -> list[str]:
    """The names of all controls that can take the focus now, on the stage or around it."""
    return [str(name) for name in root.evaluate(NAMES, around)]


def named(root: ElementHandle, name: str, around: bool = False) -> ElementHandle | None:
    """A control by its name; None when there is none now."""
    return root.evaluate_handle(NAMED, [around, name]).as_element()


def changed(page: Page, root: ElementHandle) -> bool:
    """Whether the Player looks different from when it was last looked at, within a while."""
    try:
        page.wait_for_function(CHANGED, arg=root, timeout=30_000, polling=30)
    except Late:
        return False
    return True


def kind(control: ElementHandle) -> str:
    """What sort of control it is."""
    return str(
        control.evaluate(
            "(one) => one.tagName === 'INPUT' ? one.type : one.tagName === 'SELECT' ? 'select'"
            " : one.matches('[role=region],.scroll,.kp-sheet') ? 'region' : 'button'"
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
        control.click(position={"x": 4, "y": box["height"] / 2}, force=True)
    elif what in ("text", "number", "search"):
        control.click()
        control.fill("5" if what == "number" else "other.json")
        control.evaluate("(one) => one.blur()")
    else:  # a node is where its letter is
        (control.query_selector(".disc") or control).click(force=True)


def focus(control: ElementHandle) -> None:
    """Give a control the focus, which JupyterLab may just have taken for itself."""
    for _ in range(20):
        control.focus()
        if control.evaluate("(one) => document.activeElement === one"):
            return
    raise AssertionError(f"{control.evaluate(NAME)} never gets the focus")


def by_key(page: Page, control: ElementHandle) -> None:
    """Use a control with the keyboard alone."""
    focus(control)
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


def restore(page: Page, root: ElementHandle, state: str) -> None:
    """Bring the stage back to where each control is tried, once all answers are there."""
    page.evaluate(ANSWERED, START)
    page.evaluate(RESTORE, [root, state])
    try:
        page.wait_for_function(SETTLED, arg=[root, state], polling=20, timeout=30_000)
    except Late:
        standing = page.evaluate(STANDING, [root, state])
        raise AssertionError(f"{state} is not restored: {standing}") from None


def exercise(page: Page, root: ElementHandle, control: ElementHandle, way: str) -> bool:
    """Use a control and tell whether anything happened; a scrolled region only takes the focus.

    A busy JupyterLab may lose a key or a click; it is tried once more, as people do.
    """
    root.evaluate(LOOK)
    for _ in range(2):
        control.scroll_into_view_if_needed()
        if way == "mouse":
            by_mouse(control)
        else:
            by_key(page, control)
        if kind(control) == "region" or changed(page, root):
            return True
    return False


def tabs(page: Page) -> list[str]:
    """The names of the tabs."""
    told = page.locator(".kp-stage [data-tab]").evaluate_all(
        "(all) => all.map((one) => one.dataset.tab)"
    )
    return [str(name) for name in told]


def used(page: Page, states: Iterable[str], way: str) -> set[str]:
    """The controls of the stage, with these tabs and sheets: each is used, and does something."""
    root = page.query_selector(".kit-player .kp")
    assert root is not None
    seen: set[str] = set()
    idle = []
    for state in states:
        restore(page, root, state)
        while left := [name for name in names(root) if name not in seen]:
            control = named(root, left[0])
            seen.add(left[0])
            assert control is not None, left[0]
            if not exercise(page, root, control, way):
                idle.append(left[0])
            restore(page, root, state)
    assert idle == []
    return seen


def test_every_control_of_one_tab_is_used_by_keys(page: Page) -> None:
    """All that can take the focus beside a tab, and in the sheet of actions, works by keyboard."""
    assert len(used(page, (tabs(page)[0], "more"), "keys")) > 30


@pytest.mark.parametrize("way", ["mouse", pytest.param("keys", marks=pytest.mark.deep)])
def test_every_control_of_the_stage_does_something(page: Page, way: str) -> None:
    """All that can take the focus on the stage is used in turn; each use changes what is shown."""
    seen = used(page, (*tabs(page), *SHEETS), way)
    assert len(seen) > 60
    for name in ("first", "back", "play", "step", "milestone", "fork", "scrub", "speed", "show",
                 "compare", "alone", "unfold", "predict", "film", "projector", "help", "setup",
                 "zoom-in", "zoom-out"):  # fmt: skip
        assert any(f"|{name}|" in one for one in seen), name


@pytest.mark.parametrize("way", [pytest.param("mouse", marks=pytest.mark.deep), "keys"])
def test_every_control_around_the_stage_does_something(page: Page, way: str) -> None:
    """Drop-downs, figures, switches and buttons above the stage are used; each does its work."""
    root = page.query_selector(".kit-player")
    assert root is not None
    do(page, "setup")
    page.wait_for_selector(".kit-drawer[data-my-open]")
    seen: set[str] = set()
    idle = []
    for title, word in PAGES.items():
        opener = page.locator(f".kit-player button:has-text('{title}')")
        if "mod-active" not in (opener.get_attribute("class") or ""):
            opener.click()
        inner = ".kit-drawer > .widget-vbox"
        page.wait_for_selector(f"{inner} :text('{word}')")
        for name in names(root, around=True):
            late = title != "Files" and ("Scenario" in name or "Reset" in name)
            off = "Zoom in" in name  # until a step that has a finer run is shown
            if name in seen or late or off or any(f"|{other}|" in name for other in PAGES):
                continue
            if "Reset" in name:
                stepped(page)
            seen.add(name)
            if not patiently(page, root, name, way):
                idle.append(name)
    assert idle == []
    assert len(seen) > 20
    assert any("Search for a violation" in name for name in seen)


def stepped(page: Page) -> None:
    """Do the first step of a Player that an earlier control was perhaps building anew."""
    page.evaluate(ANSWERED, START)
    if page.text_content(".kp-where") != "1 / 1":
        do(page, "step")
    where(page, "1 / 1")


def patiently(page: Page, root: ElementHandle, name: str, way: str) -> bool:
    """Use a control by name; begin again when it was replaced by its like meanwhile."""
    for _ in range(20):
        page.evaluate(ANSWERED, START)
        try:
            return exercise(page, root, settled(page, root, name), way)
        except Error as error:
            if "not attached" not in str(error):
                raise
    raise AssertionError(f"{name} never keeps still")


def settled(page: Page, root: ElementHandle, name: str) -> ElementHandle:
    """A control by name, as soon as it is there: some rebuild the others."""
    found = page.wait_for_function(FOUND, arg=[root, name], polling=30).as_element()
    assert found is not None
    return found


IN_SIGHT = """() => {
  const [reason, drawer] = [".kit-wrong", ".kit-drawer"].map(
    (one) => document.querySelector(one)?.getBoundingClientRect());
  return reason?.height && reason.top >= drawer.top && reason.bottom <= drawer.bottom + 1;
}"""


def test_the_reason_of_a_refusal_is_in_sight(page: Page) -> None:
    """The last figure of a drawer that is scrolled goes back, and why is to be read there."""
    do(page, "setup")
    opener = page.locator(".kit-player button:has-text('Ring and model')")
    if "mod-active" not in (opener.get_attribute("class") or ""):
        opener.click()
    field = page.locator(".kit-drawer input[type=number]").last
    good = field.input_value()
    field.fill("999")
    field.press("Enter")
    page.wait_for_function(IN_SIGHT, polling=50)
    assert field.input_value() == good


def cells(page: Page) -> list[str]:
    """What kind each cell of the notebook is, in order."""
    kinds = "(all) => all.map((one) => one.className.match(/jp-(Code|Markdown|Raw)Cell/)[0])"
    found = page.locator(".jp-Notebook .jp-Cell").evaluate_all(kinds)
    assert len(found) > 10
    return [str(one) for one in found]


def test_letters_stay_in_the_player(page: Page) -> None:
    """JupyterLab's single-letter shortcuts do not act while the focus is in the player."""
    before = cells(page)
    # In a list of models a letter chooses one that begins with it, as everywhere; these begin none.
    do(page, "setup")
    for place, keys in (("[data-do=play]", "ddabxm"), (".kit-drawer select", "abxm")):
        page.focus(place)
        for key in keys:
            page.keyboard.press(key)
    page.focus("[data-do=play]")
    page.keyboard.press("k")
    where(page, "3 / 4")
    assert cells(page) == before


def test_axe_finds_nothing_serious_in_the_notebook(page: Page) -> None:
    """The player within JupyterLab has no serious finding, in the light and in the dark theme."""
    do(page, "setup")
    for theme in ("false", "true"):
        page.evaluate("(value) => { document.body.dataset.jpThemeLight = value; }", theme)
        assert serious(page, ".kit-player") == []
