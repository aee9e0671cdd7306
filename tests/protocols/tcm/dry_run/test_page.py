"""The dry run's panels in a real browser: a small screen, both themes, a thousand nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import kit
from benchmarks.importing import KEYSPACE, ring_text
from kit.operators.importers.opening import import_texts
from kit.widgets import Player
from tests.protocols.tcm.dry_run.samples import JOIN, cluster
from tests.widgets.browsing import Desk

pytestmark = pytest.mark.browser
FRIDAY = f"decommission 10.20.0.2\n{JOIN}\ndecommission 10.20.0.4"
WIDE = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
BORDER = """(name) => {
  const style = getComputedStyle(document.querySelector(name));
  return [style.borderTopWidth, style.borderTopLeftRadius];
}"""
BACKGROUND = "getComputedStyle(document.querySelector('.kp .bulb.broken')).backgroundColor"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three operations on the lesson's cluster."""
    path = tmp_path_factory.mktemp("pages") / "friday.html"
    kit.rehearse(cluster(), FRIDAY).player.export(path)
    return path


def test_an_operator_steps_through(desk: Callable[..., Desk]) -> None:
    """From the first begin to the end by the keyboard, every frame as Python drew it."""
    rehearsed = kit.rehearse(cluster(), FRIDAY)
    found = desk(rehearsed.player)
    page = found.page
    assert "Most loaded source: 10.20.0.2" in page.inner_text(".panel.traffic")
    assert "must wait" in page.inner_text(".panel.planned")
    assert found.difference() == ""
    page.focus("[data-do=scrub]")
    seen = set()
    for _ in range(40):
        seen.add(page.inner_text(".panel.deaths p"))
        if found.page.input_value("[data-do=scrub]") == page.get_attribute(
            "[data-do=scrub]", "max"
        ):
            break
        told = page.evaluate("window.sent.length")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(told) => window.sent.length > told", arg=told, polling=20)
        found.player.timeline.at = _shown(found)
        found.settle()
        assert found.difference() == ""
    assert page.inner_text(".panel.planned").count("done") == 3
    assert len(seen) >= 2
    assert found.errors == []


def _shown(desk: Desk) -> int:
    """The moment that the page shows: the one at its place among those that are not inner."""
    timeline, rendered = desk.player.timeline, desk.player.rendered
    path = [m for m in timeline.path() if m == timeline.tip or not rendered.moments[m].inner]
    return path[int(desk.page.input_value("[data-do=scrub]"))]


def test_steps_inside_a_run_are_drawn_when_unfolded(desk: Callable[..., Desk]) -> None:
    """Unfolded, the fourteen who apply an epoch are stepped through one by one."""
    rehearsed = kit.rehearse(cluster(), FRIDAY)
    found = desk(rehearsed.player)
    assert rehearsed.player.rendered.undrawn
    found.page.click("[data-do=unfold]")
    found.page.focus("[data-do=scrub]")
    found.page.keyboard.press("ArrowRight")
    found.page.wait_for_function(
        "document.querySelector('.kp .say').textContent.includes('applies')"
    )
    assert re.search(r"10\.\d+\.0\.\d+ applies epoch 1", found.page.inner_text(".kp .say"))
    assert found.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_fits(browser: Browser, exported: Path, scheme: Any) -> None:
    """At 1280 by 720 and on a telephone nothing is cut off; axe finds nothing in either theme."""
    page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme=scheme)
    page.goto(exported.as_uri())
    page.click(".kp-frame [data-tab=deaths]")
    page.wait_for_selector(".kp-frame .panel.deaths")
    page.wait_for_function("document.querySelector('.kp-where').textContent !== '0 / 0'")
    assert page.evaluate(WIDE)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    assert page.evaluate(BACKGROUND) == "rgb(213, 94, 0)"
    page.set_viewport_size({"width": 420, "height": 720})
    assert page.evaluate(WIDE)
    page.close()


def test_colours_that_the_reader_chose(browser: Browser, exported: Path) -> None:
    """With forced colours a broken lamp still differs from a good one, by variant and border."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.emulate_media(forced_colors="active")
    page.goto(exported.as_uri())
    page.click(".kp-frame [data-tab=deaths]")
    page.wait_for_selector(".kp-frame .panel.deaths")
    broken = page.evaluate(BORDER, ".panel.deaths .bulb.broken")
    good = page.evaluate(BORDER, ".promises .bulb:not(.broken)")
    assert broken != good
    page.close()


def test_a_thousand_nodes(desk: Callable[..., Desk]) -> None:
    """Stepping a dry run of 1,000 nodes shows sums in place of rows, and the DOM stays small."""
    given = import_texts([("ring.txt", ring_text(1000, 16))], [KEYSPACE])
    rehearsed = kit.rehearse(given, f"decommission {given.ring.names[3]}")
    found = desk(Player(rehearsed.timeline, controls=False))
    page, last = found.page, found.where().split()[-1]
    words = page.inner_text(".panel.placements")
    assert "16,001 ranges; 95 changed" in words
    assert page.locator("tr").count() < 2000
    assert "1000 nodes" in (page.get_attribute(".ring-drawing", "aria-label") or "")
    page.focus("[data-do=scrub]")
    for _ in range(3):
        page.keyboard.press("Home")
        found.wait_where(f"0 / {last}")
        page.keyboard.press("ArrowRight")
        found.wait_where(f"1 / {last}")
    assert found.errors == []
