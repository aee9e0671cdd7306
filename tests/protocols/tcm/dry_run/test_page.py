"""The dry run's panels in a real browser: a small screen, both themes, a thousand nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import kit
from benchmarks.importing import KEYSPACE, ring_text
from kit.operators.importers.opening import import_texts
from kit.protocols.tcm.lessons.rehearsals import DryRun
from kit.widgets import Player
from tests.protocols.tcm.dry_run.samples import JOIN, cluster
from tests.widgets.browsing import Desk, serious, turn_to

pytestmark = pytest.mark.browser
FRIDAY = f"decommission 10.20.0.2\n{JOIN}\ndecommission 10.20.0.4"
WIDE = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
BACKGROUND = "getComputedStyle(document.querySelector('.kp .bulb.alarm')).backgroundColor"


@pytest.fixture(scope="module")
def played() -> tuple[DryRun, int]:
    """Three operations on the lesson's cluster, and the moment at which the player opens."""
    dry_run = kit.rehearse(cluster(), FRIDAY)
    return dry_run, dry_run.player.timeline.at


@pytest.fixture
def friday(played: tuple[DryRun, int]) -> DryRun:
    """The same, its player where it opened."""
    dry_run, opened_at = played
    dry_run.player.goto(opened_at)
    dry_run.player.stage.pack = dry_run.player.rendered.pack().compressed()
    return dry_run


@pytest.fixture(scope="module")
def exported(played: tuple[DryRun, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    path = tmp_path_factory.mktemp("pages") / "friday.html"
    played[0].player.export(path)
    return path


def test_an_operator_steps_through_a_dry_run_by_keyboard(
    friday: DryRun, desk: Callable[..., Desk]
) -> None:
    """Every frame of the page is as Python drew it."""
    found = desk(friday.player)
    page = found.page
    assert "Most loaded source: 10.20.0.2" in page.inner_text(".panel.traffic")
    assert "must wait" in page.inner_text(".panel.planned")
    assert found.difference() == ""
    page.focus("[data-do=scrub]")
    first, last = map(int, page.inner_text(".kp-where").split(" / "))
    seen = {page.inner_text(".panel.deaths p")}
    for step in range(first + 1, last + 1):
        page.keyboard.press("ArrowRight")
        found.wait_where(f"{step} / {last}")
        friday.player.timeline.at = _shown(found)
        found.settle()
        assert found.difference() == "", step
        seen.add(page.inner_text(".panel.deaths p"))
    assert last - first > 10
    assert page.inner_text(".panel.planned").count("done") == 3
    assert len(seen) >= 2
    assert found.errors == []


def _shown(desk: Desk) -> int:
    """The moment that the page shows: the one at its place among those that are not inner."""
    timeline, rendered = desk.player.timeline, desk.player.rendered
    path = [m for m in timeline.path() if m == timeline.tip or not rendered.moments[m].inner]
    return path[int(desk.page.input_value("[data-do=scrub]"))]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_exported_dry_run_is_accessible_and_fits_small_screens(
    browser: Browser, exported: Path, scheme: Any
) -> None:
    """Axe finds nothing serious in either theme, and a telephone needs no scrolling sideways."""
    page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme=scheme)
    page.goto(exported.as_uri())
    page.click("[data-do=uncover]")
    turn_to(page, "deaths")
    page.wait_for_selector(".kp-frame .panel.deaths")
    page.wait_for_function("document.querySelector('.kp-where').textContent !== '0 / 0'")
    assert page.evaluate(WIDE)
    assert serious(page) == []
    ink = {"light": "rgb(20, 24, 31)", "dark": "rgb(238, 240, 243)"}
    assert page.evaluate(BACKGROUND) == ink[scheme]
    page.set_viewport_size({"width": 420, "height": 720})
    page.wait_for_function(f"window.innerWidth === 420 && {WIDE}")  # it is laid out later
    page.close()


def test_a_dry_run_of_a_thousand_nodes_shows_sums_in_place_of_rows(
    desk: Callable[..., Desk],
) -> None:
    """The page has fewer than 2,000 table rows."""
    given = import_texts([("ring.txt", ring_text(1000, 16))], [KEYSPACE])
    rehearsed = kit.rehearse(given, f"decommission {given.ring.names[3]}")
    found = desk(Player(rehearsed.timeline, controls=False))
    page, last = found.page, found.where().split()[-1]
    page.focus("[data-do=scrub]")
    for step in (2, 3):  # all apply the epoch that prepares, and the next one begins
        page.keyboard.press("ArrowRight")
        found.wait_where(f"{step} / {last}")
    words = page.inner_text(".panel.placements")
    assert "16,001 ranges, 95 changed" in words
    assert page.locator("tr").count() < 2000
    assert "1,000 nodes" in (page.get_attribute(".ring-drawing", "aria-label") or "")
    for _ in range(3):
        page.keyboard.press("Home")
        found.wait_where(f"0 / {last}")
        page.keyboard.press("ArrowRight")
        found.wait_where(f"1 / {last}")
    assert found.errors == []
