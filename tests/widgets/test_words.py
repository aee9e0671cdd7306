"""The interface in another language: none of its words is left in English, and longer ones fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from playwright.sync_api import BrowserContext, Page

from kit.engine.drill import CheckedStep, CommandReply, Drill, DrillKind, Grade, GradeRow
from kit.engine.forms import Form
from kit.engine.timeline import Timeline
from kit.views import registry
from kit.views.export import export_html
from kit.widgets import DrillBoard, Player, drilling
from tests.widgets.browsing import MakeDesk
from tests.widgets.drilling import DrillDesk
from tests.widgets.exporting import opened, performed
from tests.widgets.greek import VIEWS, Greek
from tests.widgets.legible import FLAWS
from tests.widgets.pseudo import marked, spoken

pytestmark = pytest.mark.browser

OWN = ("help", "hint", "history", "clear", "exit", "checklist", "grade", "Α$")
"""What is typed, which is the same in every language."""
SIZES = ((1280, 720), (840, 560))
LATIN = """() => {
  const found = new Set();
  const named = ["title", "aria-label", "aria-valuetext", "placeholder", "alt", "data-my-count"];
  const look = (one, text) => {
    const isLatin = /[A-Za-z]/.test(text.replace(/\\b[A-Za-z]\\b/g, "")); // a key is no word
    if (isLatin && !one.closest("script, style, kbd, .kit-error")) found.add(text.trim());
  };
  for (const one of document.querySelectorAll("body, body *")) {
    for (const node of one.childNodes) if (node.nodeType === 3) look(one, node.data);
    for (const name of named) look(one, one.getAttribute(name) ?? "");
  }
  return [...found];
}"""
TIGHT = """() => {
  const found = [];
  const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const words = "button, summary, label, legend, h3, h4, .badge, .kp-parts, .kp-where, small, kbd";
  const named = (one) => one.textContent.trim().slice(0, 60);
  for (const one of document.querySelectorAll(`.kp :is(${words})`)) {
    if (!seen(one) || !one.textContent.trim() || one.closest("svg, .kp-page, .kp-sheet")) continue;
    const { width, right, left } = one.getBoundingClientRect();
    // A legend's summary shows whole marks (below); a press shows the rest.
    const cuts = getComputedStyle(one).overflowX !== "visible" && !one.closest(".kp-marks");
    if (cuts && one.scrollWidth > one.clientWidth + 1) found.push(`cut: ${named(one)}`);
    const board = one.closest(".kp").getBoundingClientRect();
    const line = one.closest(".kp-line, .kp-badges>.scroll");
    if (!line && width && (right > board.right + 1 || left < board.left - 1))
      found.push(`beyond the board: ${named(one)}`);
  }
  for (const mark of document.querySelectorAll(".kp-marks>summary>span")) {
    const [a, b] = [mark, mark.parentNode].map((each) => each.getBoundingClientRect());
    const isIn = a.left < b.right - 1 && a.top < b.bottom - 1;
    const isOut = a.right > b.right + 1 || a.bottom > b.bottom + 1;
    if (isIn && (isOut || mark.scrollWidth > a.width + 1)) found.push(`cut mark: ${named(mark)}`);
  }
  const rows = ".kp-modes, .kp-acts, .kp-top, .kp-time";
  for (const row of document.querySelectorAll(rows)) {
    if (!seen(row)) continue;
    if (row.scrollWidth > row.clientWidth + 1) found.push(`cut: ${row.className}`);
    const kids = [...row.children].filter((one) => seen(one) && one.getBoundingClientRect().width);
    kids.forEach((one, i) => kids.slice(i + 1).forEach((two) => {
      const [a, b] = [one, two].map((each) => each.getBoundingClientRect());
      const across = a.left < b.right - 1 && b.left < a.right - 1;
      if (across && a.top < b.bottom - 1 && b.top < a.bottom - 1)
        found.push(`${named(one)} over ${named(two)}`);
    }));
  }
  return found;
}"""


@pytest.fixture
def pseudo(tmp_path: Path) -> Iterator[None]:
    """The interface speaks the language of ``tests.widgets.pseudo``."""
    with spoken(tmp_path):
        yield


@pytest.fixture
def greek(pseudo: None, monkeypatch: pytest.MonkeyPatch) -> Greek:
    """A model whose own words are Greek, with its pictures."""
    monkeypatch.setitem(registry._VIEWS, Greek.name, VIEWS)
    return Greek()


def latin(page: Page) -> set[str]:
    """What a page shows or says in Latin letters without marks."""
    return set(page.evaluate(LATIN))


def test_the_marks_are_seen(desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """In English, the words of the interface are found on the page of the Greek model."""
    monkeypatch.setitem(registry._VIEWS, Greek.name, VIEWS)
    assert {"Predict", "All actions", "next"} <= latin(desk(Player(Greek())).page)
    assert marked("close {n} tabs") == "ććłłóśé {n} ťťááƀś"


def test_no_word_of_a_player_is_left_in_english(greek: Greek, desk: MakeDesk) -> None:
    """Whatever is pressed: steps, branches, compared ones, questions, menus, sheets, keys."""
    timeline = Timeline(greek)
    timeline.tell("Διάλογος", "Γιατί;", None)
    table = desk(Player(timeline, controls=False), cover=True)
    page = table.page
    page.set_default_timeout(10_000)
    left = latin(page)
    page.click("[data-do=myself]")
    for name in ("step", "step", "help", "predict", "step"):
        table.do(name)
        left |= latin(page)
    page.keyboard.press("a")
    for control in ("vote", "answer"):
        if page.locator(f".kp-ask [data-do={control}]").is_visible():
            page.click(f".kp-ask [data-do={control}]")
        left |= latin(page)
    table.do("predict")
    for name in ("fork", "back", "back"):
        table.do(name)
        left |= latin(page)
    table.choose("μίλα Δ")
    table.settle()
    left |= latin(page)
    table.do("film")
    left |= latin(page)
    table.do("film")
    page.locator("[data-do=compare]").first.click()
    left |= latin(page)
    for sheet in ("more", "waiting", "promises"):
        table.open(sheet)
        left |= latin(page)
    page.keyboard.press("Escape")
    page.locator(".kp-picture svg [data-of]").first.click(force=True)
    left |= latin(page)
    for _ in range(6):
        table.do("step")
        left |= latin(page)
    page.set_default_timeout(180_000)
    assert left == set()
    assert table.errors == []


def test_no_word_of_an_exported_page_is_left_in_english(
    greek: Greek, reader: Page, tmp_path: Path
) -> None:
    """Nor what is left out, or what is said to a reader who wants to act."""
    timeline = Timeline(greek)
    timeline.tell("Διάλογος", "Γιατί;", None)
    for _ in range(4):
        timeline.forward()
    path = export_html(timeline, tmp_path / "greek.html").path
    opened(reader, path, at_end=False)
    left = latin(reader)
    for key in ("End", "?", "f", "1", "Escape", "Home", "p", "p"):
        reader.keyboard.press(key)
        left |= latin(reader)
    assert left == set()


def test_no_word_of_the_drawer_is_left_in_english(greek: Greek) -> None:
    """Buttons, fields and hints of the controls, and what a search finds."""
    player = Player(greek)
    left = set()

    def walk(widget: Any) -> None:
        for trait in ("description", "tooltip", "placeholder"):
            text = getattr(widget, trait, None) or ""
            left.update(re.findall(r"[A-Za-z]+.*", text))
        for kid in getattr(widget, "children", ()):
            walk(kid)

    assert player.controls is not None
    walk(player.controls.box)
    for page in player.controls.pages.values():
        walk(page)
    assert isinstance(player.controls.box, ipywidgets.Widget)
    assert left == set()


DRILL = DrillKind(
    title="Διάλογος",
    task="Μίλα.",
    forms=(Form("λόγος", "μιλά", lambda now, given: CommandReply(("ναι",))),),
    slots={},
    opened=lambda model: model,
    starts_at=lambda model: "Α",
    checklist=lambda now: (CheckedStep("πρώτο", "μίλα", True),),
    grade=lambda now: Grade((GradeRow("πρώτο", True, "ναι"),)),
)


def test_no_word_of_a_drill_is_left_in_english(
    greek: Greek, context: BrowserContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame of the terminal, its list of commands, what is said beside what was typed."""
    monkeypatch.setattr(drilling, "open_drill", lambda name: Drill(DRILL, greek))
    desk = DrillDesk(context.new_page(), DrillBoard("διάλογος"), tmp_path)
    page = desk.page
    for summary in page.locator(".kit-sheets summary").all():
        summary.click()
    left = latin(page)
    desk.into_the_field()
    desk.type("λόγος")
    for line in ("history", "grade", "checklist", "exit", "hint"):
        desk.type(line)
    desk.page.keyboard.type("τίποτα")
    desk.press("Tab")
    left |= latin(page)
    assert {line for line in left if not line.startswith(OWN)} == set()


PLAYED = (
    *("twophase/commit", "tcm/bootstrap"),
    *("topology/join-with-coordinator", "tablets/one-tablet-moves"),
)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PLAYED)
def test_longer_words_fit(
    pseudo: None, reader: Page, tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    """Nothing is cut or lies over anything else on the page of a scenario, from cover to end."""
    path = export_html(performed(name), tmp_path / "page.html").path
    reader.set_viewport_size({"width": size[0], "height": size[1]})
    reader.emulate_media(reduced_motion="reduce")  # what travels arrives at once
    opened(reader, path, at_end=False)
    reader.evaluate("() => new Promise(requestAnimationFrame)")
    found = set(reader.evaluate(TIGHT))
    for key in ("End", "Home", "j", "j", "j", "j", "?"):
        reader.keyboard.press(key)
        reader.evaluate("() => new Promise(requestAnimationFrame)")
        found |= {*reader.evaluate(TIGHT), *reader.evaluate(FLAWS)}
    reader.emulate_media(reduced_motion="no-preference")
    # Longer words of a button may need a second line.
    assert {flaw for flaw in found if not flaw.endswith(": in lines")} == set()


@pytest.mark.parametrize("size", SIZES)
def test_longer_words_fit_in_a_drill(
    pseudo: None, context: BrowserContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    """The Player and the terminal beside it or below."""
    page = context.new_page()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    desk = DrillDesk(page, DrillBoard("raft_upgrade/into-raft"), tmp_path)
    desk.into_the_field()
    desk.type("help")
    found = {*page.evaluate(TIGHT), *page.evaluate(TIGHT.replace(".kp ", ".kit-terminal "))}
    assert found == set()
