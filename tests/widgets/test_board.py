"""The board at every width: nothing is cut off, all is reached; its sheets, its size, its keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, FloatRect, Page

from kit.playing.opening import open_named
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, serious, turn_to, walked
from tests.widgets.exporting import Pages, opened
from tests.widgets.test_letters import FIRST

pytestmark = pytest.mark.browser

# Without the barrier a read misses a write; after that all is well again.
MISSED = (
    "write 1 at epoch 99", "write 1 reaches B", "bootstrap X --tokens 150", "apply X", "commit X",
    "apply X", "copy A to X", "write 1 reaches A", "answer write 1", "land A to X", "commit X",
    "read 2 at epoch 102", "read 2 reaches C", "read 2 reaches X", "answer read 2",
)  # fmt: skip

# Parts that cut what does not fit, beside the region that only readers who listen get.
CUT = """() => [...document.querySelectorAll(".kp *")].filter((one) => {
  const { overflowX, overflowY, display } = getComputedStyle(one);
  if (one.closest(".kp-live, svg, .kp-ticks") || display === "inline") return false;
  const hides = (way) => way === "hidden" || way === "clip";
  return (hides(overflowX) && one.scrollWidth > one.clientWidth + 1)
    || (hides(overflowY) && one.scrollHeight > one.clientHeight + 1);
}).map((one) => one.className)"""

# What stands out of the slot that it belongs to, where the slot does not scroll.
OUT = """() => {
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflow);
  const out = [];
  for (const slot of document.querySelectorAll(".kp-board > *, .kp-frame > *")) {
    const outer = slot.getBoundingClientRect();
    if (!outer.height || slot.matches(".kp-sheet")) continue;
    for (const one of slot.querySelectorAll("button, summary, p, h3, input, select, li")) {
      const box = one.getBoundingClientRect();
      const sheltered = one.closest(".kp-sheet") || !box.height;
      let around = one;
      while (around !== slot.parentNode && !scrolls(around)) around = around.parentNode;
      if (sheltered || around !== slot.parentNode) continue;
      const stands = box.bottom > outer.bottom + 2 || box.right > outer.right + 2;
      if (stands) out.push(one.outerHTML.slice(0, 90));
    }
  }
  return out;
}"""

WIDER = """(width) =>
  document.querySelector(".kp-picture svg").getBoundingClientRect().width > width + 1"""

TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"

STYLED = """(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);
  document.adoptedStyleSheets = [sheet]; }"""

SPACED = """* { line-height: 1.5 !important; letter-spacing: .12em !important;
  word-spacing: .16em !important } p { margin-bottom: 2em !important }"""


# Words that end within: of a caption, a heading; half a tab, half a line of a legend.
BROKEN_OFF = """() => {
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const box = (one) => one.getBoundingClientRect();
  const shown = (which) => [...document.querySelectorAll(`.kp-stage ${which}`)].filter(seen);
  const long = (one) => getComputedStyle(one).textOverflow === "ellipsis"
    && one.scrollWidth > one.clientWidth + 1;
  const halved = (one) => {
    const [inner, outer] = [one, one.parentNode].map(box);
    const apart = inner.top >= outer.bottom - 1 || inner.bottom <= outer.top + 1
      || inner.left >= outer.right;
    return !apart && (inner.bottom > outer.bottom + 1 || inner.right > outer.right + 1);
  };
  return [
    ...shown(".kp-said>:is(h2, p)").filter((one) => one.textContent.includes("…")),
    ...shown("*").filter((one) => one.textContent && long(one)),
    ...shown(".kp-marks>summary>span").filter(halved),
  ].map((one) => one.textContent);
}"""


@pytest.mark.sweep(6)
@pytest.mark.parametrize(
    "name", [*FIRST, "tcm/two-datacenters", "topology/coordinator-dies", "gossip/both-sides"]
)
def test_nothing_is_cut_off(reader: Page, pages: Pages, name: str) -> None:
    """At every width what does not fit scrolls, also with the spacing that a reader may set."""
    reader.emulate_media(reduced_motion="reduce")
    for width in (400, 639, 700, 840, 1280, 1920):
        reader.set_viewport_size({"width": width, "height": 720})
        opened(reader, pages(name))
        for style in ("", SPACED):
            reader.evaluate(STYLED, style)
            for _ in range(3):
                reader.keyboard.press("Shift+ArrowLeft")
                assert style or width < 840 or reader.evaluate(BROKEN_OFF) == [], width
            assert reader.evaluate(CUT) == [], (width, style)
            assert reader.evaluate(OUT) == [], (width, style)
            assert reader.evaluate(TOO_WIDE) <= 0, (width, style)
    reader.emulate_media(reduced_motion="no-preference")


SCROLLED = """(share) => {
  const page = [...document.querySelectorAll(".kp-page")].find((one) => one.checkVisibility());
  const most = page.scrollWidth - page.clientWidth;
  page.scrollLeft = share * most;
  const { right, bottom } = page.getBoundingClientRect();
  const wide = [...page.querySelectorAll("table")];
  const [widest] = wide.sort((a, b) => b.offsetWidth - a.offsetWidth);
  const first = widest.querySelector("tbody th").getBoundingClientRect();
  return { most, corner: [right, bottom], first: first.left, drawn: page.scrollLeft };
}"""


def shaded(reader: Page, corner: tuple[float, float]) -> bool:
    """Whether the edge of a pane is another colour than the board."""
    clip: FloatRect = {"x": corner[0] - 6, "y": corner[1] - 20, "width": 4, "height": 4}
    seen = reader.screenshot(clip=clip)
    reader.evaluate(STYLED, ".kp-page { background: none !important }")
    bare = reader.screenshot(clip=clip)
    reader.evaluate(STYLED, "")
    return seen != bare


@pytest.mark.parametrize(("name", "tab"), [("topology/coordinator-dies", "table")])
def test_a_wide_table_shows_that_there_is_more(
    reader: Page, pages: Pages, name: str, tab: str
) -> None:
    """Its edge is shaded until one has scrolled to its end; the names of its rows stay in sight."""
    reader.set_viewport_size({"width": 840, "height": 560})
    opened(reader, pages(name))
    turn_to(reader, tab)
    begin = reader.evaluate(SCROLLED, 0)
    assert begin["most"] > 20
    assert shaded(reader, begin["corner"])
    end = reader.evaluate(SCROLLED, 1)
    assert end["drawn"] == pytest.approx(end["most"], abs=1)
    assert not shaded(reader, end["corner"])
    assert end["first"] == pytest.approx(begin["first"], abs=1)


@pytest.mark.parametrize("name", ["twophase/commit", "join/join-handshake", "paxos/one-value"])
def test_a_table_that_fits_is_not_shaded(reader: Page, pages: Pages, name: str) -> None:
    """There is no more of it, in any step."""
    reader.set_viewport_size({"width": 840, "height": 560})
    opened(reader, pages(name))
    reader.click(".kp-stage .kp-tabs>[data-tab]:text-is('Table')")
    assert not shaded(reader, reader.evaluate(SCROLLED, 0)["corner"])
    for _ in range(int(reader.get_attribute("[data-do=scrub]", "max") or 0)):
        assert reader.evaluate(SCROLLED, 0)["most"] == 0
        reader.keyboard.press("k")


def test_a_narrow_board_is_one_column(reader: Page, pages: Pages) -> None:
    """Below 640 pixels the words stand above the picture, and the actions below; from there on both
    stand beside it.
    """
    opened(reader, pages("tcm/bootstrap"))
    for width, beside in ((420, False), (660, False), (664, True), (840, True)):
        reader.set_viewport_size({"width": width, "height": 720})
        words, picture, acts = (
            reader.locator(f".kp-stage .kp-{n}").bounding_box() for n in ("said", "picture", "acts")
        )
        assert words is not None
        assert picture is not None
        assert acts is not None
        assert (picture["x"] + picture["width"] <= min(words["x"], acts["x"])) is beside, width
        assert (words["y"] + words["height"] <= picture["y"]) is not beside, width
        assert (picture["y"] + picture["height"] <= acts["y"]) is not beside, width


def test_the_picture_grows_with_the_window(reader: Page, pages: Pages) -> None:
    """On a large screen the picture takes the room; the rows around it grow as their words do."""
    opened(reader, pages("tcm/bootstrap"))
    areas, around = [], []
    for width, height in ((840, 560), (1280, 720), (1920, 1080)):
        reader.set_viewport_size({"width": width, "height": height})
        box = reader.locator(".kp-picture").bounding_box()
        assert box is not None
        areas.append(box["width"] * box["height"] / (width * height))
        around.append(height - box["height"])
    assert areas[0] < areas[1] < areas[2]
    assert around[0] == around[1]
    assert around[2] == pytest.approx(1.4 * around[1], abs=1)


def test_presses_in_a_burst_are_all_obeyed(desk: MakeDesk) -> None:
    """Twelve presses at the end of a branch, faster than any answer, make twelve steps."""
    table = desk("tcm/bootstrap")
    table.page.evaluate(
        "() => { const root = document.querySelector('.kp'); for (let i = 0; i < 12; i += 1)"
        " root.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })); }"
    )
    table.wait_where("12 / 12")
    table.settle()
    assert len(table.player.timeline.path()) == 13
    assert table.difference() == ""


BURSTS = {
    "the key 1": "() => { for (let i = 0; i < 6; i += 1) document.querySelector('.kp')"
    ".dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true })); }",
    "the next action": "() => { for (let i = 0; i < 6; i += 1)"
    " document.querySelector('.kp-next').click(); }",
}


@pytest.mark.parametrize("burst", BURSTS)
def test_so_are_presses_of_the_next_action(desk: MakeDesk, burst: str) -> None:
    """Six presses of the large button, or of its digit, make six steps of one branch."""
    table = desk("topology/join-with-coordinator")
    table.page.evaluate(BURSTS[burst])
    table.wait_where("6 / 6")
    table.settle()
    assert len(table.player.timeline.moments) == 7
    assert table.difference() == ""


def test_what_is_refused_swallows_no_press(desk: MakeDesk) -> None:
    """At the end of a run nothing goes on; the presses back that follow are obeyed."""
    player = Player("twophase/commit")
    while player.timeline.suggest() is not None:
        player.step()
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    last = len(player.timeline.path()) - 1
    table.page.evaluate(
        "() => { for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'k'])"
        " document.querySelector('.kp').dispatchEvent("
        "new KeyboardEvent('keydown', { key, bubbles: true })); }"
    )
    table.wait_where(f"{last - 2} / {last}")


def test_a_double_click_acts_once_and_two_actions_fork_nothing(desk: MakeDesk) -> None:
    """What can be done once is not asked for again; another action waits its turn."""
    table = desk(walked("tcm/bootstrap", 2))
    model, timeline = table.player.model, table.player.timeline
    verbs = [model.verb(action) for action in model.actions(timeline.state)][:2]
    table.open("more")
    table.page.evaluate(
        "(verbs) => { const named = (verb) => [...document.querySelectorAll('.actions button')]"
        ".find((one) => one.textContent === verb); const [one, two] = verbs.map(named);"
        " one.click(); one.click(); two.click(); }",
        verbs,
    )
    table.wait_where("4 / 4")
    table.settle()
    assert [model.verb(one.action) for one in timeline.moments[3:]] == verbs
    assert table.page.locator(".kp-note").is_hidden()


def test_arrows_step_where_a_choice_has_the_focus(desk: MakeDesk) -> None:
    """Left and right go on and back; up and down choose."""
    table = desk(walked("tcm/bootstrap", 3))
    page = table.page
    table.open("kp-more")
    page.focus("[data-do=speed]")
    page.keyboard.press("ArrowLeft")
    table.wait_where("2 / 3")
    page.keyboard.press("ArrowRight")
    table.wait_where("3 / 3")
    assert page.input_value("[data-do=speed]") == "1"


def test_digits_do_the_actions_that_carry_them(desk: MakeDesk) -> None:
    """1 is the next action, the others follow as they are numbered on the board."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.focus("[data-do=scrub]")
    page.keyboard.press("1")
    table.wait_where("1 / 1")
    table.settle()
    third = page.locator(".kp-stage .actions [data-key='3']").text_content()
    page.keyboard.press("3")
    table.wait_where("2 / 2")
    table.settle()
    model, now = table.player.model, table.player.timeline.now
    assert third == model.verb(now.action)
    assert third != model.verb(table.player.timeline.moments[1].action)


def test_one_sheet_is_open_and_escape_gives_the_focus_back(desk: MakeDesk) -> None:
    """Opening a sheet closes the other; Escape closes it, and the focus is where it came from."""
    table = desk(walked("tcm/bootstrap", 6))
    page = table.page
    for name in ("promises", "waiting", "more"):
        page.focus(f".kp .{name} > summary")
        page.keyboard.press("Enter")
        page.wait_for_selector(f".kp .{name}[open]")
        page.wait_for_function("document.querySelectorAll('.kp details.kp-pop[open]').length === 1")
    page.focus(".kp .more input")
    page.keyboard.press("Escape")
    assert page.locator(".kp details.kp-pop[open]").count() == 0
    assert page.evaluate("document.activeElement.parentNode.className") == "kp-pop more"
    page.keyboard.press("?")
    assert page.locator(".kp-help").is_visible()
    page.mouse.click(200, 300)
    assert page.locator(".kp-help").is_hidden()


def test_tabs_are_marked_by_what_the_step_changed(desk: MakeDesk) -> None:
    """A step that only an acknowledgement changes marks the tabs that show it, and no others."""
    table = desk(walked("tcm/bootstrap", 2))
    page = table.page
    marked = page.locator(".kp-stage .changed-tab[data-tab]").evaluate_all(
        "(all) => all.map((one) => one.dataset.tab)"
    )
    assert set(marked) == {"epochs", "operation"}
    page.click(".kp-more > summary")
    page.click("[data-do=tables]")
    tab = page.locator(".kp-stage .kp-tabs .kp-sheet [data-tab=epochs]")
    assert tab.get_attribute("aria-label") == "Epochs and barriers: changed in this step"
    tab.focus()
    page.keyboard.press("Space")
    assert tab.get_attribute("aria-pressed") == "true"
    assert page.get_attribute("[data-do=play]", "aria-pressed") == "false"
    assert page.locator(".panel.epochs").is_visible()
    assert page.locator(".panel.placements").is_hidden()


def test_a_promise_once_broken_stays_marked(desk: MakeDesk) -> None:
    """The time bar, the badge and the lamp all name the step, also where all is well again."""
    player = Player(open_named("dataplane/no-barrier").timeline, controls=False)
    for verb in MISSED:
        player.act(verb)
    step = len(MISSED)
    assert player.timeline.breaches(player.timeline.tip)
    player.act("write 1 reaches C")
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    assert f"broken at step {step}" in table.page.inner_text(".promises > summary")
    bad = table.page.locator(".kp-ticks .bad")
    assert bad.count() == 1
    at = (
        "(one) => { const { left, width } = one.getBoundingClientRect(); return left + width / 2; }"
    )
    dash = table.page.locator(".kp-ticks i:not(.cause, .bad)").nth(step - 1)
    assert bad.evaluate(at) == pytest.approx(dash.evaluate(at), abs=2)
    table.open("promises")
    assert f"broken at step {step}" in table.page.inner_text(".promises .lamp.bad")


def test_the_picture_can_be_made_larger(desk: MakeDesk) -> None:
    """Keys, buttons, and the wheel while the reader is in the picture change its size."""
    table = desk("tcm/bootstrap")
    page = table.page

    def width() -> float:
        box = page.locator(".kp-picture svg").bounding_box()
        assert box is not None
        return box["width"]

    plain = width()
    page.mouse.move(200, 250)
    page.mouse.wheel(0, -100)
    assert width() == plain
    page.click(".kp-more>summary")
    page.click("[data-do=zoom-in]")
    larger = width()
    assert larger > plain
    page.focus(".kp-picture .panel")
    page.keyboard.press("+")
    assert width() > larger
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert width() == pytest.approx(plain)
    page.mouse.move(200, 250)
    page.mouse.wheel(0, -100)
    page.wait_for_function(WIDER, arg=plain)
    page.keyboard.press("0")
    assert width() == pytest.approx(plain)


@pytest.mark.parametrize(
    ("name", "drawn"), [("group0/race", "svg.stage"), ("dataplane/write-and-read", ".lanes svg")]
)
def test_pictures_that_scroll_can_be_made_larger(desk: MakeDesk, name: str, drawn: str) -> None:
    """A stage and a run in space and time fill their slot first, and grow and shrink from there."""
    table = desk(walked(name, 12))
    page = table.page

    def height() -> float:
        box = page.locator(f".kp-picture {drawn}").first.bounding_box()
        assert box is not None
        return box["height"]

    plain = height()
    page.click(".kp-more>summary")
    page.click("[data-do=zoom-in]")
    assert height() == pytest.approx(1.25 * plain, rel=0.02)
    page.click("[data-do=zoom-out]")
    page.click("[data-do=zoom-out]")
    assert height() < 0.9 * plain


def test_the_projector_fills_the_screen(desk: MakeDesk) -> None:
    """Full screen, most of it the picture, the headline at 40 pixels."""
    table = desk(walked("tcm/bootstrap", 6))
    page = table.page
    table.do("projector")
    page.wait_for_function("document.fullscreenElement?.matches('.kp')")
    box = page.locator(".kp-picture").bounding_box()
    assert box is not None
    assert box["width"] > 0.62 * page.evaluate("innerWidth")
    size = "parseFloat(getComputedStyle(document.querySelector('.kp-said>h2')).fontSize)"
    assert page.evaluate(size) >= 40
    assert page.evaluate(OUT) == []
    assert serious(page) == []
    page.evaluate("document.exitFullscreen()")
    page.wait_for_selector(".kp:not([data-my-large])")
    assert page.get_attribute("[data-do=projector]", "aria-pressed") == "false"


def test_parts_without_buttons_are_walked_too(desk: MakeDesk) -> None:
    """In a space-time picture brackets go from part to part and say each."""
    table = desk(walked("dataplane/write-and-read", 6))
    said = []
    table.page.focus("[data-do=scrub]")
    for key in ("]", "]", "["):
        table.page.keyboard.press(key)
        said.append(table.page.text_content(".kp-note") or "")
    assert said[0] == said[2] != said[1]
    assert all(said)
    lit = table.page.locator(".kp-picture [data-my-lit]")
    assert len(set(lit.evaluate_all("(all) => all.map(({ dataset }) => dataset.of)"))) == 1


@pytest.mark.parametrize("name", ["gossip/both-sides", "tablets/one-tablet-moves"])
def test_a_walk_lights_what_it_says(desk: MakeDesk, name: str) -> None:
    """A node that is reached by a bracket is lit in the picture and in its panel, until Escape."""
    table = desk(walked(name, 4))
    page = table.page
    page.focus("[data-do=scrub]")
    lit = page.locator("[data-my-lit]")
    for _ in range(8):
        page.keyboard.press("]")
        if page.locator(".kp-page [data-my-lit]").count():
            break
    within = "(all) => all.map((one) => one.closest('.kp-picture, .kp-page').className)"
    places = lit.evaluate_all(within)
    assert any("kp-picture" in place for place in places)
    assert any("kp-page" in place for place in places)
    page.keyboard.press("Escape")
    assert lit.count() == 0


def test_a_finger_is_enough(browser: Browser, pages: Pages) -> None:
    """On a touch screen steps, tabs, sheets and nodes are tapped, and controls are large enough."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720}, has_touch=True, offline=True
    )
    page = context.new_page()
    opened(page, pages("tcm/bootstrap"))
    page.tap(".kp-more summary")
    page.tap("[data-do=first]")
    page.tap("[data-do=step]")
    assert page.text_content(".kp-where") == "1 / 22"
    page.tap(".kp-more summary")
    page.tap("[data-do=tables]")
    page.tap(".kp-stage .kp-tabs .kp-sheet [data-tab=log]")
    assert page.locator(".panel.log").is_visible()
    page.tap(".kp-stage .kp-tabs>[data-tab]")
    page.tap(".kp .waiting > summary")
    page.wait_for_selector(".kp .waiting[open]")
    page.tap(".kp-title")
    page.wait_for_selector(".kp .waiting:not([open])")
    page.tap("[data-k='n:A:100']")
    assert page.get_attribute("[data-k='n:A:100']", "aria-pressed") == "true"
    small = page.evaluate(
        "[...document.querySelectorAll('.kp button, .kp summary, .kp select')].filter((one) => {"
        " const box = one.getBoundingClientRect();"
        " return box.height && (box.height < 23.5 || box.width < 23.5);"
        "}).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert small == []
    context.close()
