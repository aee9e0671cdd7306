"""Things are taken by hand: a tablet to another shard, a node off, a line between groups."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from kit import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, MakeDesk

pytestmark = pytest.mark.browser

CHIP = '.kp-picture [data-k="tablet:ks.t:{}:0"]'
CELL = '.kp-picture [data-k="shard:{}"]'
HEAD = ".kp-picture .character[data-of={}] .head"
LIT = """() => [...document.querySelectorAll("[data-my-over]")]
  .map(({ dataset }) => dataset.k || dataset.of || "picture")"""
SIGNS = """() => [...document.querySelectorAll(".kp-ghost")].map((one) => one.textContent)"""


def middle(page: Page, selector: str) -> tuple[float, float]:
    """The middle of a part of the page."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, *spots: tuple[float, float]) -> None:
    """Press at the first spot and move by mouse to all others; the button stays down."""
    page.mouse.move(*spots[0])
    page.mouse.down()
    for x, y in spots[1:]:
        page.mouse.move(x, y, steps=8)


def note(page: Page) -> str:
    """What the Player says beside what was used."""
    shown = page.locator(".kp-note:not([hidden])")
    return (shown.text_content() or "") if shown.count() else ""


@pytest.fixture
def cluster(desk: MakeDesk) -> Desk:
    """Six tablets on four nodes; the planner would move the second one from A:1 to D:0."""
    table = desk("balance/by-hand")
    table.page.set_viewport_size({"width": 1280, "height": 720})
    table.page.set_default_timeout(9000)
    return table


def test_a_tablet_is_dragged_to_another_shard(cluster: Desk) -> None:
    """While it is held each place says whether it takes it, and a ghost where the planner would."""
    page = cluster.page
    drag(page, middle(page, CHIP.format(1)), middle(page, CELL.format("D:0")))
    assert page.evaluate(LIT) == ["shard:D:0"]
    assert sorted(page.evaluate(SIGNS)) == sorted("★✗✗✓✓✓✓")
    assert note(page) == "move 1 A:1 D:0: suggested"
    page.mouse.up()
    cluster.wait_where("1 / 1")
    assert "D:0" in map(str, cluster.player.state.replicas[1])
    assert page.evaluate(SIGNS) == page.evaluate(LIT) == []
    assert cluster.errors == []


def test_a_forbidden_shard_says_why(cluster: Desk) -> None:
    """In the model's own words; the tablet goes back, and so it does beside every shard."""
    page = cluster.page
    drag(page, middle(page, CHIP.format(0)), middle(page, CELL.format("B:1")))
    why = "the target's node has a replica of the tablet, on shard 0."
    assert note(page) == f"move 0 A:0 B:1: {why}"
    page.mouse.up()
    assert note(page) == why
    drag(page, middle(page, CHIP.format(0)), middle(page, ".kp-said"))
    assert page.evaluate(LIT) == []
    page.mouse.up()
    assert note(page) == "That has no effect."
    drag(page, middle(page, CHIP.format(0)), middle(page, CELL.format("C:1")))
    page.keyboard.press("Escape")
    page.mouse.up()
    assert page.evaluate(SIGNS) == []
    assert page.get_attribute(CHIP.format(0), "style") in ("", None)
    assert cluster.where() == "0 / 0"


def test_a_press_that_does_not_move_opens_the_menu(cluster: Desk) -> None:
    """The menu holds the same moves in words; after a drag there is none."""
    page = cluster.page
    page.click(CHIP.format(0))
    assert "move 0 A:0 C:1" in page.locator(".kp-menu button").all_text_contents()
    page.keyboard.press("Escape")
    drag(page, middle(page, CHIP.format(0)), middle(page, CELL.format("C:1")))
    page.mouse.up()
    cluster.wait_where("1 / 1")
    assert not page.is_visible(".kp-menu")
    cluster.settle()
    page.click(CHIP.format(0))
    assert page.is_visible(".kp-menu")


def test_keys_do_what_a_drag_does(cluster: Desk) -> None:
    """``m`` takes up what is suggested, arrows choose, Escape gives up, Enter lets go."""
    page = cluster.page
    page.focus(".kp-track input")
    page.keyboard.press("m")
    assert note(page) == "move 1 A:1 D:0: suggested"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(LIT) == ["shard:C:1"]
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == page.evaluate(SIGNS) == []
    page.keyboard.press("m")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    cluster.wait_where("1 / 1")
    assert "D:1" in map(str, cluster.player.state.replicas[1])


def test_keys_take_up_what_was_walked_to(cluster: Desk) -> None:
    """The brackets walk to a chip, ``m`` takes that one."""
    page = cluster.page
    page.focus(".kp-track input")
    lit = "document.querySelector('.kp-picture [data-my-lit]')?.dataset.k"
    while page.evaluate(lit) != "tablet:ks.t:0:0":
        page.keyboard.press("]")
    page.keyboard.press("m")
    assert note(page).startswith("move 0 A:0 ")


def test_a_finger_drags_without_scrolling(cluster: Desk) -> None:
    """A touch that begins on a chip takes it, and no motion is left to a reader who wants none."""
    page = cluster.page
    page.emulate_media(reduced_motion="reduce")
    client = page.context.new_cdp_session(page)
    client.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    (x, y), (right, down) = middle(page, CHIP.format(0)), middle(page, CELL.format("D:1"))

    def touch(kind: str, *spots: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in spots]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for share in (0.2, 0.5, 0.8, 1.0):
        touch("touchMove", (x + (right - x) * share, y + (down - y) * share))
    assert page.evaluate(LIT) == ["shard:D:1"]
    touch("touchEnd")
    cluster.wait_where("1 / 1")
    assert page.evaluate("document.getAnimations().length") == 0
    client.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    client.detach()


def test_a_line_between_groups_cuts_the_network(desk: MakeDesk) -> None:
    """From side to side between two datacenters; one beside them cuts nothing."""
    table = desk("failures/cut-in-two")
    page = table.page
    heads = [middle(page, HEAD.format(name)) for name in "ABCDE"]
    left, right = min(x for x, _ in heads) - 80, max(x for x, _ in heads) + 40
    above = page.locator(".kp-picture .character[data-of=A]").bounding_box()
    assert above is not None
    between = above["y"] + above["height"] + 12
    drag(page, (left, heads[0][1] - 30), (right, heads[0][1] - 32))
    page.mouse.up()
    assert note(page) == "That has no effect."
    drag(page, (left, between), (right, between))
    assert page.evaluate(LIT) == ["n:D", "n:E"]
    assert note(page) == "cut off dc2: suggested"
    page.mouse.up()
    table.wait_where("1 / 1")
    assert table.player.model.named(table.player.state.apart) == ("D", "E")
    assert page.get_attribute(".kp-stroke path", "d") == ""
    assert table.errors == []


def test_keys_cut_the_network_at_a_node(desk: MakeDesk) -> None:
    """A node that has the light is taken up: off, or on its own side of a cut."""
    table = desk(Player(build("failures", {"datacenters": (3,)}), controls=False))
    page = table.page
    page.mouse.click(*middle(page, HEAD.format("B")))
    page.focus(".kp-track input")
    page.keyboard.press("m")
    assert note(page) == "stop B: possible"
    page.keyboard.press("ArrowRight")
    assert note(page) == "cut off B: possible"
    page.keyboard.press("Enter")
    table.wait_where("1 / 1")
    assert table.player.model.named(table.player.state.apart) == ("B",)


def test_a_node_is_dragged_off(desk: MakeDesk) -> None:
    """Out of the picture: it is down."""
    table = desk(Player(build("failures", {"datacenters": (3,)}), controls=False))
    page = table.page
    drag(page, middle(page, HEAD.format("C")), middle(page, ".kp-said"))
    assert page.evaluate(LIT) == ["picture"]
    page.mouse.up()
    table.wait_where("1 / 1")
    assert table.player.model.named(table.player.state.up) == ("A", "B")
