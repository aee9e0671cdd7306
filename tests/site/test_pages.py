"""The site in a real browser: read at once, live soon, below any path, with no network after it.

Its policy forbids ``eval``, so ``wait_for_function``: an element or the address is waited for.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kit.catalogue.course import COURSE
from kit.commands.site import LOOPBACK, server
from kit.commands.site import site as site_command
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.playing.links import link_of, run_of
from kit.search.check import check
from kit.site.worker import whole_story
from tests.house.source import ROOT, python_files
from tests.protocols.tcm.test_drill import LAGS, PASSING
from tests.site.building import BROKEN, COUNTED, MOST, STORY, assert_counted, searched, small_site
from tests.waiting import PATIENCE, until
from tools import core
from tools import site as builder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

from tests.widgets.browsing import do

pytestmark = pytest.mark.browser

MAJORITY = "recovery/majority-is-lost"
LESSON, OWN, LOG = "01-every-run", "91-write-your-own-model", "12-read-a-real-log"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site, two folders below another."""
    if core.fetched() is None:
        pytest.skip("no Python for browsers here: `make programs` brings it")
    root, drills = tmp_path_factory.mktemp("site"), [LAGS, MAJORITY]
    return small_site(root, lessons=[LESSON, OWN, LOG], drills=drills)


@pytest.fixture(scope="session")
def site(folder: Path) -> Iterator[str]:
    """The address of the site, two folders below the root of its server."""
    with server(folder.parents[1]) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://{LOOPBACK}:{running.server_port}/some/where"
        running.shutdown()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with an empty cache that asks for nothing but the site; what is wrong fails."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(1000 * PATIENCE)
    opened, wrong = context.new_page(), list[str]()
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
    assert not wrong


def opened(page: Page, site: str, story: str, said: str = "") -> None:
    """Open the page of a story, and wait until its engine is there."""
    page.goto(f"{site}/stories/{story}.html{said}")
    page.wait_for_selector("body[data-is=live]")


def test_a_story_is_live_without_a_network(page: Page, site: str) -> None:
    """It is read before the engine is there. Then the network is cut: one steps, forks, switches a
    safeguard, and a search comes to the break and shows it.
    """
    page.goto(f"{site}/stories/{BROKEN}.html")
    page.wait_for_selector(".kp[data-my-on]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("input[aria-valuetext^='step 1 of']")
    page.wait_for_selector("body[data-is=live]")
    page.context.set_offline(True)
    page.keyboard.press("f")
    # What is suggested here is not what the story does.
    page.locator(".kp-stage .actions .suggested[data-act]").first.evaluate(
        "(button) => button.click()"
    )
    page.wait_for_selector(".kp-map:not([hidden])")
    do(page, "setup")
    page.click("[data-setup=search]")
    found = page.locator(".kit-found")
    off = build("group0", {"nodes": 2}, ("commit-with-guard",))
    result = check(off, progress=None)
    assert result.violation is not None
    steps = len(result.violation.actions)
    found.get_by_text(f"Broken after {steps} steps (the shortest run; {result.states:,}").wait_for()
    do(page, "setup")  # the drawer has the verdict; beneath it the run stands still
    page.wait_for_selector(".kp[data-my-broken] .kp-break")
    do(page, "setup")
    page.check("[data-switch=commit-with-guard]")
    page.locator(".kit-told").get_by_text("as a branch on the map").wait_for()
    assert found.count() == 0


def test_who_goes_on_before_the_engine_is_there_is_not_thrown_back(page: Page, site: str) -> None:
    """The last step was looked at while the engine opened; once it is live, it goes on from there.

    What it says of the link comes after all that it was told before.
    """
    page.route("**/kit.tar.gz", lambda _: None)  # it waits
    page.goto(f"{site}/stories/{STORY}.html")
    page.wait_for_selector(".kp[data-my-on]")
    page.keyboard.press("End")
    page.wait_for_selector("input[aria-valuetext^='step 5 of 5']")
    assert page.locator("body[data-is=live]").count() == 0
    page.unroute("**/kit.tar.gz")  # it comes, also where it was asked for already
    page.wait_for_selector("body[data-is=live]")
    do(page, "setup")
    page.click("[data-setup=link]")
    page.wait_for_url(lambda address: "run=" in address)
    assert page.locator("input[aria-valuetext^='step 5 of 5']").count() == 1


def seated(page: Page, number: int) -> Locator:
    """A Player of a lesson, once it is there: its packs come in any order."""
    return page.locator(".kit-player").nth(number).and_(page.locator("[data-is=seated]"))


def act(player: Locator) -> None:
    """Do what may be done and is not suggested, by a click alone."""
    able = player.locator(".kp-stage .actions [data-act]:not([data-refused]):not(.suggested)")
    able.first.evaluate("(button) => button.click()")


def test_a_lesson_is_read_and_its_players_come_to_life(page: Page, site: str) -> None:
    """Nobody fetches an engine to read it and to step what is drawn. The first press starts one
    for all its Players; then the network is cut. A link leads to a run of one of them.
    """
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}/lessons/{LESSON}.html")
    first, second = seated(page, 0), seated(page, 1)
    second.locator(".kp-break").wait_for()
    assert page.get_by_role("heading", name="Who chooses?").count() == 1
    assert not [url for url in asked if "/engine/" in url]
    do(first, "step")
    first.locator("input[aria-valuetext^='step 1 of']").wait_for()
    page.wait_for_selector("body[data-is=live]")
    page.context.set_offline(True)
    do(first, "fork")
    act(first)
    first.locator(".kp-map:not([hidden])").wait_for()
    do(second, "setup")
    second.locator("[data-setup=link]").click()
    page.wait_for_url(lambda address: "#part=1&run=" in address)
    page.context.set_offline(False)
    page.reload()
    told = second.locator(".kit-told").get_by_text("This is the run from the link: 1 step")
    told.wait_for(state="attached")


def test_a_model_of_ones_own_lives_on_its_page(page: Page, site: str) -> None:
    """Its cell makes it in both workers: one steps and forks, and a search without its safeguard
    comes to the lost write.
    """
    page.goto(f"{site}/lessons/{OWN}.html")
    own = seated(page, 0)
    do(own, "fork")
    page.wait_for_selector("body[data-is=live]")
    page.context.set_offline(True)
    act(own)
    own.locator(".kp-map:not([hidden])").wait_for()
    do(own, "setup")
    own.locator("[data-switch=compares]").uncheck()
    own.locator("[data-setup=search]").click()
    own.locator(".kit-found").get_by_text("Broken after 4 steps").wait_for()


def test_a_click_alone_starts_the_engine(page: Page, site: str) -> None:
    """A screen reader may press a button without a pointer or a key."""
    page.goto(f"{site}/lessons/{OWN}.html")
    own = seated(page, 0)
    act(own)
    own.locator(".kp-map:not([hidden])").wait_for()
    assert page.locator("body[data-is=live]").count() == 1


def test_a_rehearsal_lives_on_its_page(page: Page, site: str) -> None:
    """A real log is read on; what if an operation goes on from one of its epochs is a Player of the
    model. Both have the files of the notebook.
    """
    page.goto(f"{site}/lessons/{LOG}.html")
    log, what_if = seated(page, 0), seated(page, 1)
    do(log, "step")
    log.locator("input[aria-valuetext^='step 1 of 43']").wait_for()
    do(what_if, "fork")
    what_if.locator(".kp-stage .actions [data-act]:not([data-refused])").first.evaluate(
        "(button) => button.click()"
    )
    what_if.locator("input[aria-valuetext^='step 4 of 4']").wait_for()


def test_an_answer_is_read_once_it_is_asked_for(page: Page, site: str) -> None:
    """Below a bet there is a fold, which a key opens and closes; nobody reads the answer before."""
    page.goto(f"{site}/lessons/{LESSON}.html")
    folds = page.locator(".shown details:not(.code)")
    assert folds.count() >= 3
    for fold in folds.all():
        head, answer = fold.get_by_text("Show the answer"), fold.locator("strong")
        expect(answer).to_be_hidden()
        head.focus()
        page.keyboard.press("Enter")
        expect(answer).to_be_visible()
        page.keyboard.press(" ")
        expect(answer).to_be_hidden()


def test_an_exercise_is_judged_on_its_page(page: Page, site: str) -> None:
    """A wrong answer and a right one; one that never ends is stopped. The browser remembers."""
    page.goto(f"{site}/lessons/{LESSON}.html")
    box = page.locator("[data-exercise=prepared-in-vain]")
    said, check = box.locator(".told"), box.get_by_role("button", name="Check")
    check.click()
    box.locator(".verdict").get_by_text("Not yet.").wait_for()
    program = box.locator("textarea").input_value()
    managers = ("RM0", "RM1", "RM2")
    steps = [f"{verb} {each}" for verb in ("prepare", "receive-prepared") for each in managers]
    verbs = [*steps, "decide abort", *(f"receive-decision {each}" for each in managers)]
    box.locator("textarea").fill(re.sub(r"\[.*\]", str(verbs), program))
    page.context.set_offline(True)
    check.click()
    box.locator(".verdict").get_by_text("✓ Passed.").wait_for()
    said.get_by_text("You have solved it").wait_for()
    box.locator("textarea").fill("while True: pass")
    check.click()
    said.get_by_text("The judge is working").wait_for()
    box.get_by_role("button", name="Stop").click()
    said.get_by_text("nothing was judged").wait_for()
    page.context.set_offline(False)
    page.reload()
    said.get_by_text("You have solved it").wait_for()


def test_a_drill_is_passed_by_typing(page: Page, site: str) -> None:
    """Nobody can type what nobody hears. Lines that are typed before the engine is there wait for
    it; Tab completes one.
    """
    line, closed = page.locator("[data-part=line]"), list[bool]()

    def fetched(route: Route) -> None:
        """The module is there, and waits for the pack before it listens."""
        closed.append(line.is_disabled())
        route.continue_()

    page.route("**/*.pack", fetched)
    page.goto(f"{site}/drills/{LAGS}.html")
    first, *others = PASSING[LAGS]
    line.fill(first)
    line.press("Enter")
    page.wait_for_selector("body[data-is=live]")
    page.context.set_offline(True)
    line.fill("nodetool cm")
    line.press("Tab")
    expect(line).to_have_value(re.compile("cms $"), timeout=1000 * PATIENCE)
    for each in others:
        line.fill(each)
        line.press("Enter")
    page.locator(".kit-passed").get_by_text("✓ Passed").wait_for()
    assert page.locator(".kit-command").count() == len(PASSING[LAGS])
    assert closed == [True]


def test_what_is_typed_is_there_when_a_page_is_loaded_again(page: Page, site: str) -> None:
    """Lines of a drill, unless one begins again; and the answer to an exercise."""
    line, typed = page.locator("[data-part=line]"), page.locator(".kit-command")
    page.goto(f"{site}/drills/{LAGS}.html")
    for each in PASSING[LAGS][:2]:
        line.fill(each)
        line.press("Enter")
    expect(typed).to_have_count(2)
    page.reload()
    expect(typed).to_have_count(2)
    page.click("#again")
    page.wait_for_selector("body[data-is=live]")
    expect(typed).to_have_count(0)
    page.goto(f"{site}/lessons/{LESSON}.html")
    box = page.locator(".answer textarea").first
    box.press_sequentially("# mine\n")
    page.reload()
    expect(box).to_have_value(re.compile("# mine\n"))


def typed(page: Page, *lines: str) -> None:
    """Type lines into the terminal of a drill."""
    for each in lines:
        page.fill("[data-part=line]", each)
        page.press("[data-part=line]", "Enter")


def remembered(page: Page, name: str) -> Any:
    """What the browser remembers of a page under a name that begins so; None: nothing."""
    held = page.evaluate("Object.entries(sessionStorage)")
    return next((json.loads(value) for key, value in held if key.startswith(name)), None)


def looks_back(page: Page) -> bool:
    """Whether the engine has said of a drill that one is before the end of the branch."""
    kept = remembered(page, "kit-drill") or [(0, 0)]
    at, tip, *_ = kept[-1]
    return int(at) < int(tip)


def has_pressed(page: Page) -> bool:
    """Whether the engine has said of a drill that what it did last was a press in the picture."""
    *_, last, _ = remembered(page, "kit-drill")
    return any("message" in said for said in last[2:])


def test_a_drill_comes_again_where_it_was_left(page: Page, site: str) -> None:
    """What was typed in the past of the run, and what was pressed in the picture."""
    shown = page.locator(".kp-where")
    page.goto(f"{site}/drills/{MAJORITY}.html")
    page.wait_for_selector("body[data-is=live]")
    typed(page, "on B", "happen crash B")
    expect(page.locator(".kit-command")).to_have_count(2)
    was = shown.inner_text()
    page.click("[data-do=back]")
    expect(shown).not_to_have_text(was)
    until(lambda: looks_back(page), "the engine hears where one looks")
    typed(page, "happen crash A", "hint")
    expect(page.locator(".kit-command")).to_have_count(4)
    there = page.locator("#room:not(.kit-unasked)")
    there.wait_for()
    do(page, "step")
    expect(shown).not_to_have_text(was)
    until(lambda: has_pressed(page), "the engine has kept the press")
    expect(page.locator(".kp-map:not([hidden])")).to_have_count(1)
    now, story = shown.inner_text(), page.inner_text(".kp-said")
    page.reload()
    expect(page.locator(".kit-command")).to_have_count(4)
    expect(shown).to_have_text(now)
    assert page.inner_text(".kp-said") == story
    expect(page.locator(".kp-map:not([hidden])")).to_have_count(1)


@pytest.fixture
def cut(browser: Browser) -> Iterator[Page]:
    """A page that cannot fetch an engine, until it is told."""
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    opened = context.new_page()
    opened.route("**/engine/*", lambda route: route.abort())
    yield opened
    context.close()


def test_what_had_no_effect_is_not_done_later(cut: Page, site: str) -> None:
    """A drill without an engine says that commands have none, and so it is."""
    cut.goto(f"{site}/drills/{LAGS}.html")
    cut.locator("#engine").get_by_text("Your commands have no effect.").wait_for()
    typed(cut, PASSING[LAGS][0])
    cut.unroute("**/engine/*")
    cut.reload()
    cut.wait_for_selector("body[data-is=live]")
    typed(cut, "help")
    cut.locator(".kit-command").first.wait_for()
    assert cut.locator(".kit-command").count() == 1


def test_a_run_that_no_engine_opens_is_not_lost(cut: Page, site: str) -> None:
    """The page says that this is not the run of its link, and keeps the address."""
    story = whole_story(STORY).model
    first = Timeline(story)
    first.do(next(action for action, why in first.here.options(first.state) if why is None))
    address = f"#run={link_of(first, story)}"
    cut.goto(f"{site}/stories/{STORY}.html{address}")
    cut.locator("#engine").get_by_text("the run of this link is not shown").wait_for()
    do(cut, "step")
    cut.wait_for_selector("input[aria-valuetext^='step 1 of 5']")
    cut.wait_for_timeout(500)  # until a position would be said
    assert cut.evaluate("location.hash") == address
    cut.unroute("**/engine/*")
    cut.reload()
    cut.wait_for_selector("input[aria-valuetext^='step 1 of 1']")


FORGETFUL = """for (const name of ["sessionStorage", "localStorage"])
  Object.defineProperty(self, name, { get() { throw new DOMException("denied"); } });"""


def test_a_browser_that_remembers_nothing_says_so(page: Page, site: str) -> None:
    """In a drill and below an exercise, as soon as there would be something to remember."""
    page.add_init_script(FORGETFUL)
    note = page.locator("#note").get_by_text("This browser remembers nothing")
    page.goto(f"{site}/drills/{LAGS}.html")
    page.wait_for_selector("body[data-is=live]")
    typed(page, PASSING[LAGS][0])
    note.wait_for()
    page.goto(f"{site}/lessons/{LESSON}.html")
    page.locator(".answer textarea").first.press_sequentially("#")
    note.wait_for()


def test_a_run_in_a_lesson_comes_again(page: Page, site: str) -> None:
    """Of each of its Players, where one has left the stored run."""
    page.goto(f"{site}/lessons/{LESSON}.html")
    first = seated(page, 0)
    do(first, "fork")
    page.wait_for_selector("body[data-is=live]")
    act(first)
    first.locator("input[aria-valuetext^='step 1 of 1']").wait_for()
    until(lambda: remembered(page, "kit-run"), "the engine says what to remember")
    page.reload()
    first.locator("input[aria-valuetext^='step 1 of 1']").wait_for()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("part=99&run=abc", "part: got '99', allowed: a number from 0 to 1."),
        ("part=x", "part: got 'x'"),
        ("run=1&step=3", "step: got '3', allowed: part, run."),
        ("foo=1", "foo: got '1'"),
        ("part=0&part=1", "part: got '0, 1', allowed: one value."),
    ],
)
def test_an_address_that_a_lesson_does_not_have_says_so(
    page: Page, site: str, address: str, said: str
) -> None:
    """When it is opened by it, and when one types it there."""
    page.goto(f"{site}/lessons/{LESSON}.html#{address}")
    page.locator("#note").get_by_text(said).wait_for()
    page.evaluate("location.hash = ''")
    expect(page.locator("#note")).to_have_text("")
    page.evaluate("(address) => { location.hash = address; }", address)
    page.locator("#note").get_by_text(said).wait_for()


def test_a_search_is_stopped_and_keeps_nobody_waiting(page: Page, site: str) -> None:
    """While it goes on the engine answers; a stop says what was seen."""
    opened(page, site, STORY)
    do(page, "setup")
    page.fill("[data-change=rms]", "9")
    page.press("[data-change=rms]", "Tab")
    page.wait_for_selector("input[aria-valuetext^='step 0 of 0']")
    page.click("[data-setup=search]")
    page.wait_for_selector(".kit-count:has-text('being examined')")
    do(page, "step")
    page.wait_for_selector("input[aria-valuetext^='step 1 of 1']")
    page.click("[data-setup=stop]")
    page.locator(".kit-found").get_by_text("no violation so far, but nothing is proven").wait_for()


SILENT = """{
  const Begun = Worker;
  let known = 0;
  self.Worker = class extends Begun {
    number = ++known;
    postMessage(said) {
      if (this.number !== 2) super.postMessage(said);
    }
  };
}"""
"""The second worker of the page never hears what it shall do."""


def test_a_cause_is_looked_for_beside_the_page(page: Page, site: str) -> None:
    """While nothing comes of it one goes on, and may stop it; asked again, it is shown."""
    page.add_init_script(SILENT)
    opened(page, site, BROKEN)
    page.keyboard.press("End")
    page.wait_for_selector(".kp[data-my-broken] .kp-break")
    page.click("[data-act='break:possible']")
    page.wait_for_selector(".kp-stop:visible")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".kp:not([data-my-broken])")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".kp[data-my-broken] .kp-break")
    page.click(".kp-stop")
    page.wait_for_selector(".kp:not([data-my-searching])")
    page.keyboard.press("w")
    page.wait_for_selector(".kp-cause")


def opened_by_link(page: Page, site: str) -> Timeline:
    """The run of a first step, whose link a page was opened by."""
    story = whole_story(STORY).model
    first = Timeline(story)
    first.do(next(action for action, why in first.here.options(first.state) if why is None))
    opened(page, site, STORY, f"#run={link_of(first, story)}")
    page.wait_for_selector("input[aria-valuetext^='step 1 of']")
    return first


def test_a_link_leads_to_a_run(page: Page, site: str) -> None:
    """A page that is opened by one stands at the run's end, and gives one for what comes next."""
    first = opened_by_link(page, site)
    do(page, "step")
    page.wait_for_selector("input[aria-valuetext^='step 2 of']")
    do(page, "setup")
    page.click("[data-setup=link]")
    page.locator(".kit-told").get_by_text("leads to this run").wait_for()
    address = page.evaluate("location.hash")
    sent = run_of(address.removeprefix("#run="), first.model)
    assert sent.actions()[:1] == first.actions()
    assert len(sent.actions()) == 2


WAS_INERT = """new MutationObserver((seen) => {
  window.wasInert ||= seen.some(({ target }) => target.id === "player" && target.inert);
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["inert"] })"""


def test_a_run_stays_when_the_page_is_loaded_again(page: Page, site: str) -> None:
    """A link's run, and what one does oneself: its address carries it, also before one asks."""
    story = whole_story(STORY).model
    first = Timeline(story)
    first.do(next(action for action, why in first.here.options(first.state) if why is None))
    page.add_init_script(WAS_INERT)
    page.goto(f"{site}/stories/{STORY}.html#run={link_of(first, story)}")
    page.wait_for_selector("body[data-is=live] #player:not([inert])", timeout=60_000)
    assert page.evaluate("window.wasInert")  # until the run is there nothing else is done
    assert page.input_value("[data-do=scrub]") == "1"
    do(page, "step")
    page.wait_for_selector("input[aria-valuetext^='step 2 of']")
    page.wait_for_function("(was) => location.hash !== was", arg=f"#run={link_of(first, story)}")
    run = run_of(page.evaluate("location.hash").removeprefix("#run="), story)
    assert len(run.actions()) == 2
    page.reload()
    page.wait_for_selector("input[aria-valuetext^='step 2 of 2']", timeout=60_000)


@pytest.mark.parametrize("switched", [False, True])
def test_the_steps_ahead_stay_when_the_page_is_loaded_again(
    page: Page, site: str, switched: bool
) -> None:
    """Who has gone back, with a safeguard off or not, goes on from there."""
    opened(page, site, BROKEN)
    if switched:  # at the start
        do(page, "setup")
        page.check("[data-switch=commit-with-guard]")
        page.locator(".kit-told").get_by_text("as a branch on the map").wait_for()
        do(page, "setup")
    else:
        page.keyboard.press("End")
        page.locator(".kp-stage .actions [data-act]:not([data-refused])").first.evaluate(
            "(button) => button.click()"
        )
    where, last = page.locator(".kp-where"), len(whole_story(BROKEN).path()) - switched
    expect(where).to_have_text(f"0 / {last}" if switched else f"{last} / {last}")
    page.keyboard.press("End")
    expect(where).to_have_text(f"{last} / {last}")
    page.wait_for_url(lambda address: len(address.partition("#run=")[2]) > len("99&step=99"))
    was = page.evaluate("location.hash")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(where).to_have_text(f"{last - 2} / {last}")
    page.wait_for_url(lambda address: not address.endswith(was))
    page.reload()
    expect(where).to_have_text(f"{last - 2} / {last}", timeout=60_000)


def test_a_link_keeps_how_one_looks_at_its_run(page: Page, site: str) -> None:
    """Step, panel, light and Predict are as the address says, and stay when one goes on."""
    story = whole_story(STORY).model
    first = Timeline(story)
    for _ in range(2):
        first.do(next(action for action, why in first.here.options(first.state) if why is None))
    link = link_of(first, story)
    opened(page, site, STORY, f"#run={link}")
    page.wait_for_selector("input[aria-valuetext^='step 2 of 2']")
    tab = page.locator(".kp-pane [data-tab]").last.get_attribute("data-tab")
    lit = page.locator(".kp-stage [data-of]").first.get_attribute("data-of")
    page.goto("about:blank")
    opened(page, site, STORY, f"#run={link}&step=1&tab={tab}&lit={lit}&ask=1")
    page.wait_for_selector("input[aria-valuetext^='step 1 of 2']")
    page.wait_for_selector(f".kp-pane [data-tab='{tab}'][aria-pressed=true]")
    page.wait_for_selector("[data-do=predict][aria-pressed=true]")
    page.wait_for_selector("[data-my-lit]", state="attached")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("input[aria-valuetext^='step 0 of 2']")
    page.wait_for_url(lambda address: f"&tab={tab}" in address and "step" not in address)
    assert page.evaluate("location.hash").endswith("&ask=1")
    page.reload()
    page.wait_for_selector("input[aria-valuetext^='step 0 of 2']")
    page.wait_for_selector(f".kp-pane [data-tab='{tab}'][aria-pressed=true]")
    page.goto("about:blank")
    opened(page, site, STORY, f"#run={link}&tab=no")
    page.locator(".kp-note").get_by_text("tab: got 'no'").wait_for()


def test_after_a_reset_the_address_is_a_place_of_the_story(page: Page, site: str) -> None:
    """As far as one follows it, the page has that stored; then all of it comes again."""
    opened_by_link(page, site)
    do(page, "setup")
    page.click("[data-setup=reset]")
    page.wait_for_url(re.compile("#run=1&step=0$"))
    do(page, "setup")
    do(page, "step")
    page.wait_for_url(re.compile("#run=1&step=1$"))
    page.reload()
    expect(page.locator(".kp-where")).to_have_text("1 / 5")


@pytest.mark.parametrize(("cut", "said"), [(slice(0, -3), "was cut or changed"), (slice(0, 0), "")])
def test_a_link_that_is_cut_says_so(page: Page, site: str, cut: slice, said: str) -> None:
    """The story stays as it is stored, and can be used."""
    story = whole_story(STORY).model
    first = Timeline(story)
    first.do(next(action for action, why in first.here.options(first.state) if why is None))
    page.goto(f"{site}/stories/{STORY}.html#run={link_of(first, story)[cut]}")
    page.wait_for_selector("body[data-is=live] #player:not([inert])", timeout=60_000)
    if said:
        page.locator(".kp-note").get_by_text(said).wait_for()
    assert page.input_value("[data-do=scrub]") == "0"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("run=x", "run: got 'x'"),
        ("run=99", "run: got '99'"),
        ("step=999", "step: got '999'"),
        ("lit=zzz", "lit: got 'zzz'"),
        ("lit=", "lit: got ''"),
        ("ask=0", "ask: got '0', allowed: 1."),
        ("ask=", "ask: got ''"),
        ("run=1&run=2&step=3&step=7", "run: got '1, 2', allowed: one value. step: got '3, 7'"),
        ("step-1=2", "step-1: got '2', allowed: run, step, tab, lit, ask."),
    ],
)
def test_an_address_that_leads_nowhere_says_so(
    page: Page, site: str, address: str, said: str
) -> None:
    """Also once the engine is there."""
    opened(page, site, STORY, f"#{address}")
    page.wait_for_selector("#player:not([inert])")
    page.locator(".kp-note").get_by_text(said).wait_for()


def test_what_an_engine_reads_is_compiled(site: str, page: Page) -> None:
    """Modules are byte code, and text as well only where something reads it; the rest of the
    library stays text.
    """
    page.goto(f"{site}/index.html")
    kit, library = (
        gzip.decompress(page.request.get(f"{site}/engine/{name}.gz").body())
        for name in ("kit.tar", "python_stdlib.zip")
    )
    with tarfile.open(fileobj=io.BytesIO(kit)) as tape:
        names = {*tape.getnames()}
    assert "kit/model/model.pyc" in names
    assert "kit/model/model.py" not in names
    assert {
        f"kit/protocols/raft/{x}" for x in ("family.py", "__pycache__/family.cpython-314.pyc")
    } <= names
    assert not {name for name in names if name.endswith(".py")} - {
        str(path.relative_to(ROOT))
        for path in python_files("kit")
        if path.name == "family.py" or "TYPE_CHECKING" in path.read_text(encoding="utf-8")
    }
    with zipfile.ZipFile(io.BytesIO(library)) as archive:
        assert {"inspect.pyc", "csv.py"} <= {*archive.namelist()}
        assert "inspect.py" not in archive.namelist()


def test_without_a_compiler_pages_have_the_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where that Python cannot be run, one line says so, and sources stay as they are."""
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "model.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    builder.compiled(tmp_path)
    said = capsys.readouterr().out
    assert said == (
        "site: node is not here, and runs the Python of a page: "
        "pages compile the kit themselves, and are live later\n"
    )
    assert [path.name for path in (tmp_path / "kit").iterdir()] == ["model.py"]


@pytest.fixture
def single(folder: Path, tmp_path: Path) -> str:
    """The address of a story's page that is one file, and lies alone in a folder."""
    out = tmp_path / "story.html"
    assert site_command([str(folder), "--single", BROKEN, str(out)]) == 0
    return out.as_uri()


def test_one_file_is_live_from_a_disk(page: Page, single: str) -> None:
    """One steps, switches a safeguard and searches, without any server."""
    page.goto(single)
    page.wait_for_selector("body[data-is=live]")
    do(page, "step")
    page.wait_for_selector("input[aria-valuetext^='step 1 of']")
    do(page, "setup")
    page.click("[data-setup=search]")
    do(page, "setup")  # the drawer has the verdict; beneath it the run stands still
    page.wait_for_selector(".kp[data-my-broken] .kp-break")
    do(page, "setup")
    page.check("[data-switch=commit-with-guard]")
    page.locator(".kit-told").get_by_text("as a branch on the map").wait_for()


def test_one_file_is_read_where_no_engine_starts(browser: Browser, single: str) -> None:
    """A browser without workers shows every step, and says what it cannot do."""
    page = browser.new_page()
    page.add_init_script("delete self.Worker")
    page.goto(single)
    page.wait_for_selector("body[data-is=failed]")
    assert "but not changed" in page.inner_text("#engine")
    do(page, "step")
    page.wait_for_selector("input[aria-valuetext^='step 1 of']")
    page.close()


def test_searches_count_what_they_count_outside(page: Page, site: str) -> None:
    """In four families a complete search sees as many states as one of the command line."""
    models, asked = searched()
    page.goto(f"{site}/index.html")
    assert_counted(models, page.evaluate(COUNTED, [site, asked, MOST]))


def test_the_list_leads_to_every_story_that_was_built(page: Page, site: str) -> None:
    """Its links are below the site's own path, and their pages show their stories."""
    page.goto(f"{site}/index.html")
    page.locator(".gallery img").first.evaluate("(drawing) => drawing.decode()")
    links = page.locator("main section a")
    addresses = links.evaluate_all("(all) => all.map(({ href }) => href)")
    below = tuple(f"{site}/{folder}/" for folder in ("drills", "lessons", "stories"))
    assert all(address.startswith(below) for address in addresses)
    on_the_map = page.locator(".map a").evaluate_all("(all) => all.map((one) => one.href.baseVal)")
    assert {f"lessons/{each.name}.html" for each in COURSE} == {*on_the_map}
    assert {f"{site}/stories/{name}.html" for name in (STORY, BROKEN)} <= {*addresses}
    with zipfile.ZipFile(io.BytesIO(page.request.get(f"{site}/site.zip").body())) as whole:
        assert whole.read("site/index.html").decode() == page.request.get(page.url).text()
        assert f"site/packs/{STORY}.pack" in whole.namelist()
