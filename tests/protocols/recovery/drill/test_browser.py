"""The drill in a browser: a whole and a wrong walk, typed; what keys do; small pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize

from kit.protocols.recovery.rules.procedure import NEW_STEPS, OLD_STEPS
from kit.widgets import DrillBoard
from tests.protocols.recovery.drill.walks import (
    DELETE,
    DRILL,
    ISOLATE,
    MODE_WALK,
    READ,
    WHOLE,
    host,
    lead,
)
from tests.widgets.browsing import serious
from tests.widgets.drilling import FIELD, DrillDesk

pytestmark = pytest.mark.browser
SMALL: ViewportSize = {"width": 840, "height": 600}
LARGE: ViewportSize = {"width": 1280, "height": 720}
FITS = """() => {
  const { bottom, right } = document.querySelector(".kit-terminal").getBoundingClientRect();
  const line = document.querySelector(".kit-line").getBoundingClientRect();
  const player = document.querySelector(".kit-player").getBoundingClientRect();
  return { right: right <= innerWidth, line: line.bottom <= Math.min(bottom, innerHeight),
    beside: player.right <= line.left, scrolls: document.body.scrollWidth > innerWidth };
}"""
CUT = """() => [...document.querySelectorAll(".kit-typed pre, .kit-task")]
  .filter((one) => one.scrollWidth > one.clientWidth
    || one.matches(".kit-task") && one.scrollHeight > one.clientHeight).length"""
MakeDrill = Callable[..., DrillDesk]


@pytest.fixture
def drilling(browser: Browser, tmp_path: Path) -> Iterator[MakeDrill]:
    """Put a drill on a page of its own, of a size, in light or dark."""
    contexts = []

    def make(
        edition: str = "documents", size: ViewportSize = LARGE, scheme: str = "light"
    ) -> DrillDesk:
        context = browser.new_context(viewport=size, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.emulate_media(
            color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce"
        )
        return DrillDesk(page, DrillBoard(DRILL[edition]), tmp_path)

    yield make
    for context in contexts:
        context.close()


def steps_of(desk: DrillDesk) -> list[str]:
    """The steps of the checklist in the browser, in order, each with its sign: ``✓ isolate``."""
    items = desk.page.locator("[data-part=side] li").all_text_contents()
    named = {f"{sign} {step.name}" for step in desk.board.drill.checklist() for sign in "✓○"}
    return [begun for item in items if (begun := item.partition(":")[0]) in named]


@pytest.mark.spec("G-026")
@pytest.mark.sweep(2)
@pytest.mark.parametrize("edition", WHOLE)
def test_the_whole_procedure_is_walked_by_keyboard(drilling: MakeDrill, edition: str) -> None:
    """Typed line by line; picture, checklist and grade follow."""
    desk = drilling(edition)
    names = [step.name for step in NEW_STEPS[edition]]
    assert steps_of(desk) == [f"○ {name}" for name in names]
    desk.into_the_field()
    for line in WHOLE[edition]:
        desk.type(line)
        checked = desk.board.drill.checklist()
        assert steps_of(desk) == [f"{'○✓'[step.done]} {step.name}" for step in checked]
    assert desk.board.grade().passed
    assert "! " not in desk.output()
    assert "commit index 11" in desk.page.inner_text(".kp-picture")
    assert "group 2" in desk.page.inner_text(".kp-picture")
    [drawn] = desk.page.locator(".kp-picture svg:has(.character)").all()
    assert "removed" in drawn.locator("text").all_text_contents()
    assert "dead" not in " ".join(drawn.locator("text").all_text_contents())
    for key in ("Tab", "Tab", "Enter"):  # the second sheet behind the field
        desk.press(key)
    assert "Grade: ✓ Passed" in desk.page.inner_text("[data-part=side]")
    assert steps_of(desk)[-1] == "✓ clean"
    assert not desk.errors


@pytest.mark.spec("G-023")
def test_the_procedure_by_recovery_mode_is_walked_by_keyboard(drilling: MakeDrill) -> None:
    """Line by line; the checklist has a tick for each of the documents' steps."""
    desk = drilling("mode", SMALL)
    desk.into_the_field()
    for line in MODE_WALK:
        desk.type(line)
    assert desk.board.grade().passed
    for key in ("Tab", "Tab", "Enter"):
        desk.press(key)
    side = desk.page.inner_text("[data-part=side]")
    assert side.count("✓") == len(OLD_STEPS) + 4  # the grade itself, and the three that are judged
    assert "○" not in side
    assert not desk.errors


def test_keys_complete_and_recall(drilling: MakeDrill) -> None:
    """Tab goes on as far as one can and lists the rest; arrows bring lines back; letters stay."""
    desk = drilling()
    desk.into_the_field()
    desk.page.keyboard.type("nodet")
    desk.press("Tab")
    assert desk.value() == "nodetool "
    desk.press("Tab")
    assert desk.page.inner_text(".kit-options").split() == [
        "status",
        "describecluster",
        "removenode",
    ]
    desk.type("status")
    assert host("A") in desk.output()
    desk.type("cat /etc/scylla/scylla.yaml")
    desk.press("ArrowUp")
    desk.press("ArrowUp")
    assert desk.value() == "nodetool status"
    desk.press("ArrowDown")
    assert desk.value() == "cat /etc/scylla/scylla.yaml"
    desk.press("ArrowDown")
    assert desk.value() == ""
    desk.page.keyboard.type("zzz")
    desk.press("Tab")
    assert desk.page.inner_text(".kit-options") == "no command continues this"
    desk.press("Escape")
    desk.press("Tab")
    assert not desk.page.evaluate(FIELD)


def test_buttons_do_what_lines_do(drilling: MakeDrill) -> None:
    """Whoever does not type presses; a form without few values begins a line."""
    desk = drilling()
    desk.page.click("summary:text-is('Commands')")
    desk.page.click("button:text-is('nodetool status')")
    desk.settle()
    assert host("A") in desk.output()
    desk.page.click("button:text-is('restart A')")
    desk.settle()
    assert "A starts with its own state" in desk.output()
    assert desk.page.evaluate("() => document.activeElement.textContent") == "restart A"


@pytest.mark.spec("G-022")
@pytest.mark.parametrize(
    "walled",
    [
        pytest.param(True, id="cut off", marks=pytest.mark.deep),
        pytest.param(False, id="not cut off"),
    ],
)
def test_the_dead_return_by_a_button(drilling: MakeDrill, walled: bool) -> None:
    """They are kept out by the firewall, which is a button, too; else two groups talk."""
    desk = drilling()
    desk.into_the_field()
    for line in [*READ, *DELETE, *lead(), "restart B", "restart A"]:
        desk.type(line)
    desk.page.click("summary:text-is('Commands')")
    if walled:
        desk.page.click(f"button:text-is('{ISOLATE[0]}')")
        desk.settle()
    desk.page.click("button:text-is('happen return C')")
    desk.settle()
    assert "C\nback\ncommit index 12" in desk.page.inner_text(".kp-picture")
    wrong = [row.name for row in desk.board.grade().rows if row.holds is False]
    assert ("one group" in wrong) is not walled


def test_what_is_typed_is_text(drilling: MakeDrill) -> None:
    """Markup is shown as it was typed, and a very long line is told as such."""
    desk = drilling()
    desk.into_the_field()
    desk.type("<img src=x onerror=alert(1)><b>bold</b>")
    assert "<b>bold</b>" in desk.output()
    assert desk.page.locator(".kit-typed img").count() == 0
    desk.page.fill(".kit-line input", "x" * 100_000)
    desk.press("Enter")
    assert "100,000 characters" in desk.output()
    assert desk.page.input_value(".kit-line input") == ""
    assert not desk.errors


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        pytest.param(SMALL, "light", id="840-light"),
        pytest.param(LARGE, "dark", id="1280-dark"),
        pytest.param(SMALL, "dark", id="840-dark", marks=pytest.mark.deep),
        pytest.param(LARGE, "light", id="1280-light", marks=pytest.mark.deep),
    ],
)
def test_picture_and_terminal_stand_side_by_side(
    drilling: MakeDrill, size: ViewportSize, scheme: str
) -> None:
    """Nothing is cut off; the field stays in sight with a sheet open; axe finds nothing
    serious in the terminal.
    """
    desk = drilling("documents", size, scheme)
    desk.into_the_field()
    for line in ("nodetool status", "nodetool describecluster", "help", "removenode"):
        desk.type(line)
    assert desk.page.evaluate(CUT) == 0
    fine = {"right": True, "line": True, "beside": True, "scrolls": False}
    assert desk.page.evaluate(FITS) == fine
    for sheet in ("Commands", "Checklist and grade"):
        desk.page.click(f"summary:text-is('{sheet}')")
        assert desk.page.evaluate(FITS) == fine
        assert serious(desk.page, ".kit-terminal") == []
    assert desk.page.locator(".kit-terminal details[open]").count() == 1
