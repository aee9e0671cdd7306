"""One thing is lit wherever it is shown; labels of drawings are legible and do not overlap."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.protocols.tcm.facts.moment import about, range_key
from kit.views.promises import scene_verdicts
from kit.widgets import Player
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import played, printed
from tests.widgets.browsing import MakeDesk, turn_to, walked

pytestmark = pytest.mark.browser

LIT = "[...document.querySelectorAll('[data-my-lit]')].map((one) => one.dataset.k)"

# Boxes of the texts of the drawings in sight, a little smaller than they are, so that what only
# touches does not count. What is scrolled below names that stay is not in sight.
TEXTS = """(slot) => {
  const pinned = [...document.querySelectorAll(`${slot} svg [data-pinned]`)];
  const below = (one) => !one.closest("[data-pinned]") && pinned.some((names) =>
    names.getBoundingClientRect().right > one.getBoundingClientRect().left);
  return [...document.querySelectorAll(`${slot} svg text`)]
    .filter((one) => one.checkVisibility() && one.textContent.trim() && !below(one))
    .map((one) => {
      const box = one.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(one).fontSize);
      const scale = Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b);
      return { text: one.textContent, size: size * scale, left: box.left + 1, right: box.right - 1,
        top: box.top + 3, bottom: box.bottom - 3 };
    });
}"""

OVERLAPS = f"""(slot) => {{
  const boxes = ({TEXTS})(slot);
  return boxes.flatMap((a, i) => boxes.slice(i + 1)
    .filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
    .map((b) => `${{a.text}} over ${{b.text}}`));
}}"""


ARROWS = OVERLAPS.replace("`${slot} svg text`", "`${slot} svg text, .kp-flows svg text`")


# At each step: what covers what, and the size of the smallest letters.
STEPS = f"""(most) => {{
  const root = document.querySelector(".kp");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const look = () => [({ARROWS})(".kp-picture"),
    Math.min(...({TEXTS})(".kp-picture").map(({{ size }}) => size))];
  const seen = [];
  for (press("Home"); seen.length < most; press("j")) seen.push(look());
  return seen;
}}"""


def smallest(page: Page, slot: str) -> float:
    """The size in pixels of the smallest letters in the drawings of a slot."""
    return min(one["size"] for one in page.evaluate(TEXTS, slot))


def test_an_arc_and_its_row_are_lit_together(desk: MakeDesk) -> None:
    """Pointing at a row lights its arc and the other way, and the gate of that range; a press
    keeps it; Escape ends it.
    """
    page = desk(walked("tcm/bootstrap", 7)).page
    key = range_key(100, 150)
    row, drawn = f'tr[data-of="{key}"]', f'.arc[data-of="{key}"]'
    turn_to(page, "placements")
    page.hover(f"{row} th")
    assert set(page.evaluate(LIT)) == {"row:ks:150", f"arc:ks:{key}", f"gate:{key}"}
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == []
    page.keyboard.press("t")
    page.focus(drawn)
    assert set(page.evaluate(LIT)) == {"row:ks:150", f"arc:ks:{key}", f"gate:{key}"}
    page.keyboard.press("Enter")
    page.focus('[data-do="scrub"]')
    page.keyboard.press("k")
    assert {"row:ks:150", f"arc:ks:{key}"} <= set(page.evaluate(LIT))
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == []


def test_the_gate_opens_and_each_range_has_its_own(desk: MakeDesk) -> None:
    """Each range has a row below the name of the step, lit with it; each node that applies the
    epoch goes behind it, and at the last one that is needed it opens.
    """
    table = desk(walked("tcm/rf3", 3))
    page = table.page
    seen = "[...document.querySelectorAll('.gate')].filter((one) => one.checkVisibility())"
    ranges = page.locator(".gate[data-of^='range:']")
    assert len(page.evaluate(f"{seen}.map((one) => one.textContent)")) == ranges.count() > 1
    assert ranges.and_(page.locator(":not(.open)")).count() > 1
    row = ranges.nth(1).get_attribute("data-of")
    page.focus(f'.arc[data-of="{row}"]')
    lit = f"{seen}.filter((one) => one.matches('[data-my-lit]')).map((one) => one.dataset.of)"
    assert page.evaluate(lit) == [row]
    page.keyboard.press("Escape")
    assert page.evaluate(lit) == []
    table.do("step")
    table.wait_where("4 / 4")
    assert page.locator(".gate.open").count() == ranges.count() > 1


def test_who_is_missing_does_its_step_by_keys(desk: MakeDesk) -> None:
    """Enter on one before the gate does its step; a step back it is there again, a stop of Tab."""
    table = desk(walked("tcm/bootstrap", 1))
    page = table.page
    page.focus(".gate .missing")
    name = page.evaluate("document.activeElement.dataset.of")
    waits = page.locator(f".gate .missing[data-of='{name}'][tabindex='0']")
    page.keyboard.press("Enter")
    table.wait_where("2 / 2")
    assert waits.count() == 0
    page.focus("[data-do=scrub]")
    page.keyboard.press("k")
    table.wait_where("1 / 2")
    assert waits.count() == 1
    waits.focus()
    assert page.evaluate("document.activeElement.dataset.of") == name


def test_a_broken_promise_lights_what_it_names(desk: MakeDesk) -> None:
    """A broken lamp lights the arcs, rows and nodes of its own witness."""
    entry, scenario = scenario_of("tcm/rf3")
    timeline = Timeline(build(entry.name, scenario.parameters, ("old-writer-stays",)))
    while not timeline.breaches(timeline.at):
        assert timeline.forward() is not None
    table = desk(Player(timeline))
    page = table.page
    page.click(".promises > summary")
    [verdict] = [v for v in scene_verdicts(table.player.rendered.scene(timeline.at)) if not v.ok]
    named = about(timeline.model, timeline.state, verdict.witness or "")
    page.hover(".lamp.bad span:nth-child(2)")
    lit = set(page.evaluate(LIT))
    things = "[...document.querySelectorAll('[data-my-lit]')].map((one) => one.dataset.of)"
    assert (
        {f"broken:{verdict.name}"}
        < set(page.evaluate(things))
        <= {f"broken:{verdict.name}", *named}
    )
    marked = page.evaluate("[...document.querySelectorAll('.guilty')].map((one) => one.dataset.k)")
    assert {key.split(":")[0] for key in marked} >= {"arc", "row", "n"}
    assert set(marked) <= lit


@pytest.mark.parametrize("name", ["tcm/two-datacenters", "dataplane/write-and-read"])
def test_labels_of_the_picture_are_legible_and_apart(desk: MakeDesk, name: str) -> None:
    """At every step, in the smallest board, no label covers another, be it of the ring, of lanes or
    of an arrow that stands for what travels; none is below 11 pixels.
    """
    timeline = open_named(name).timeline
    while timeline.forward() is not None:
        pass
    page = desk(Player(timeline)).page
    page.set_viewport_size({"width": 840, "height": 560})
    page.emulate_media(reduced_motion="reduce")
    seen = page.evaluate(STEPS, min(40, len(timeline.moments) - 1))
    assert [overlaps for overlaps, _ in seen if overlaps] == []
    assert min(round(size, 1) for _, size in seen) >= 11


@pytest.mark.parametrize("width", [700, 840, 1280])
def test_diagrams_are_legible(desk: MakeDesk, width: int) -> None:
    """The letters of a state diagram are never below 11 pixels, however narrow its tab."""
    table = desk(walked("tcm/bootstrap", 7))
    table.page.set_viewport_size({"width": width, "height": 560})
    table.turn_to("operation")
    assert smallest(table.page, ".kp-pane") >= 11
    assert table.page.evaluate(OVERLAPS, ".kp-pane") == []


def test_a_node_of_a_real_ring_is_chosen_and_its_row_comes_into_sight(desk: MakeDesk) -> None:
    """Its address is cut to what tells it apart; a press or Enter lights its row in the table,
    which is in sight once the table is shown.
    """
    hosts = [
        Host(f"10.20.0.{i}", tuple(1000 * (16 * t + i) for t in range(16)), host_id=host_id(i))
        for i in range(1, 13)
    ]
    player = Player(played(printed(hosts), "decommission 10.20.0.2"), controls=False)
    page = desk(player).page
    page.set_viewport_size({"width": 840, "height": 560})
    seen = """(name) => { const row = document.querySelector(`.kp-page tr[data-of="${name}"]`);
      const [inner, outer] = [row, row.closest(".kp-page")].map((o) => o.getBoundingClientRect());
      return row.matches("[data-my-lit]") && inner.top >= outer.top && inner.bottom <= outer.bottom
    }"""
    assert page.text_content('.spot[data-spot="10.20.0.11"] .let') == "11"
    page.click('.spot[data-spot="10.20.0.11"]')
    turn_to(page, "rehearsal")
    assert page.evaluate(seen, "10.20.0.11")
    page.keyboard.press("t")
    page.focus('.spot[data-spot="10.20.0.5"]')
    page.keyboard.press("Enter")
    turn_to(page, "rehearsal")
    assert page.evaluate(seen, "10.20.0.5")


SHOWN_LIT = """() => [...document.querySelectorAll(".kp-picture [data-my-lit]")].map((one) => {
  const seen = (part) => Object.values({ ...getComputedStyle(part) }).join();
  const looks = () => [one, ...one.querySelectorAll("*")].map(seen).join();
  const lit = looks();
  one.removeAttribute("data-my-lit");
  const dark = looks();
  one.setAttribute("data-my-lit", "");
  return lit !== dark;
})"""
WALKED = (
    *("recovery/manual-order", "join/join-handshake", "topology/join-with-coordinator"),
    *("tablet/small-tablet-moves", "tablets/one-tablet-moves", "resize/table-splits"),
)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", WALKED)
def test_every_part_is_lit_to_be_seen_and_kept_by_enter(desk: MakeDesk, name: str) -> None:
    """Brackets light each part of a picture, whatever it is about, so that it looks otherwise;
    Enter keeps it lit and opens its menu, if it has one, until Escape ends both.
    """
    page = desk(walked(name, 6)).page
    page.focus("[data-do=scrub]")
    for _ in range(8):
        page.keyboard.press("]")
        shown = page.evaluate(SHOWN_LIT)
        assert shown
        assert all(shown)
    kept = page.evaluate(LIT)
    page.keyboard.press("Enter")
    page.mouse.move(640, 60)
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == kept
    page.keyboard.press("Escape")
    page.mouse.move(640, 60)
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == []
