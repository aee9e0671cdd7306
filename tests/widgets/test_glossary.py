"""A word of the glossary in the Player: a press says what it means, where the reader looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kit.catalogue.glossary import lesson_title, words
from kit.views.export import export_html
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, serious, walked

pytestmark = pytest.mark.browser

STORY, STEPS = "topology/join-with-coordinator", 20  # the step that moves the fence
WORD = ".kp-stage .kp-said .kp-word"
LINE = ".kp-stage .kp-said>:is(h2,p) .kp-word"


def says_what_a_fence_is(page: Page) -> None:
    """By mouse and by key: meaning and lesson below the word, and spoken; Escape ends it."""
    note, word = page.locator(".kp-note"), page.locator(WORD, has_text="fence")
    told = [words()["fence"].means, lesson_title(words()["fence"].lesson), 'kit.glossary("fence")']
    word.focus()
    for press in (lambda: page.keyboard.press("Enter"), word.click):
        press()
        for text in told:
            expect(note).to_contain_text(text)
            expect(page.locator(".kp-live")).to_contain_text(text)
        below, of = note.bounding_box(), word.bounding_box()
        assert below
        assert of
        assert 0 <= below["y"] - of["y"] - of["height"] < 12
        assert serious(page, ".kp-said") == serious(page, ".kp-note") == []
        page.keyboard.press("Escape")
        expect(note).to_be_hidden()
        expect(word).to_be_focused()


def played() -> Player:
    """The story at the step that moves the fence."""
    return walked(STORY, STEPS)


def test_a_press_on_a_word_explains_it(desk: MakeDesk) -> None:
    """In a notebook, without a step of the story."""
    table = desk(played())
    table.wait_where(f"{STEPS} / {STEPS}")
    says_what_a_fence_is(table.page)
    table.wait_where(f"{STEPS} / {STEPS}")
    assert table.errors == []


PLAIN = """(word) => {
  const line = word.closest("h2,p");
  const before = line.offsetHeight;
  for (const one of line.querySelectorAll(".kp-word")) one.replaceWith(one.textContent);
  return [before, line.offsetHeight];
}"""


def test_a_word_makes_its_line_no_higher(desk: MakeDesk) -> None:
    """There is room for a finger around it, and the line below is whole as without it."""
    table = desk(played())
    table.wait_where(f"{STEPS} / {STEPS}")
    with_words, plain = table.page.locator(LINE).first.evaluate(PLAIN)
    assert with_words == plain


def test_an_exported_page_explains_its_words(browser: Browser, tmp_path: Path) -> None:
    """Without a kernel it says the same; a word of the legend is explained, too."""
    made = export_html(played().timeline, tmp_path / "fence.html")
    page = browser.new_page()
    page.goto(f"{made.path.as_uri()}#step={STEPS}")
    says_what_a_fence_is(page)
    page.locator(".kp-marks summary").click()
    word = page.locator(".kp-marks .kp-word").first
    name = word.inner_text()
    word.click()
    expect(page.locator(".kp-note")).to_contain_text(f"{name.casefold()}: ")
    page.close()
