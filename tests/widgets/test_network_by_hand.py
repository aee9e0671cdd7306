"""A network in the student's hands: every fault by press, by key and by scenario line, alike."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from playwright.sync_api import Page

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from kit.views.actions import mark
from kit.widgets import Player
from tests.model.keeping import keeping
from tests.widgets.browsing import Desk, MakeDesk, serious
from tests.widgets.test_hand import HEAD, drag, middle

pytestmark = pytest.mark.browser

COUNTED = ("crashes", "cuts", "drops", "duplicates", "holds", "ticks", "requests")
OPTIONS: dict[str, Any] = {**dict.fromkeys(COUNTED, 9), "writes_apart": True}
MENU = ".kp-menu:not([hidden]) button"
ENVELOPE = ".kp-picture .envelope[data-of='{}']"
SENT = "A>B keep hello"
VERBS = (
    ("n", "A", "request A hello"),
    ("n", "A", "crash-written A"),
    ("n", "A", "restart A"),
    ("m", SENT, f"duplicate {SENT}"),
    ("m", SENT, f"hold {SENT}"),
    ("m", SENT, f"drop {SENT}"),
    ("m", SENT, f"release {SENT}"),
    ("n", "A", "tick A again"),
    ("g", "A B", "cut A>B"),
    ("", "", "heal"),
    ("g", "A B", "cut A<>B"),
    ("", "", "heal"),
    ("m", SENT, f"deliver {SENT}"),
    ("n", "B", "persist B"),
    ("n", "B", "crash B"),
)
"""What is pressed (a node, a message, a gap between nodes; else the list), and what it does."""


def played(*verbs: str, **options: Any) -> Timeline:
    """A run by the verbs of a scenario."""
    return told(Timeline(keeping(**(options or OPTIONS))), verbs)


def told(timeline: Timeline, verbs: Iterable[str]) -> Timeline:
    """The timeline after these lines of a scenario."""
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


SAID = played(*(verb for *_, verb in VERBS))
"""The run by lines of a scenario."""


def player() -> Player:
    """A word to keep, and everything that may go wrong."""
    return Player(played())


def chosen(table: Desk, verb: str) -> None:
    """In the menu that is open, a button is pressed; and its step is there."""
    steps = len(table.player.timeline.moments)
    table.page.locator(MENU).get_by_text(verb, exact=True).click()
    table.wait_where(f"{steps} / {steps}")


def listed(table: Desk, verb: str) -> None:
    """The button among all actions is pressed."""
    model, state = table.player.model, table.player.state
    option = model.find(state, verb)
    assert option is not None, verb
    steps = len(table.player.timeline.moments)
    table.page.evaluate(
        "(act) => document.querySelector(`.actions [data-act='${act}']`).click()",
        f"do:{mark(model, option[0])}",
    )
    table.wait_where(f"{steps} / {steps}")


def keyed(table: Desk, verb: str) -> None:
    """The button among all actions is reached by keys."""
    model, page = table.player.model, table.page
    option = model.find(table.player.state, verb)
    assert option is not None, verb
    steps = len(table.player.timeline.moments)
    page.focus(".kp-track input")
    page.keyboard.press("a")
    page.focus(f".actions [data-act='do:{mark(model, option[0])}']")
    page.keyboard.press("Enter")
    table.wait_where(f"{steps} / {steps}")
    page.keyboard.press("Escape")


def across(page: Page) -> None:
    """A line is drawn through the gap between A and B."""
    (ax, ay), (bx, by) = middle(page, HEAD.format("A")), middle(page, HEAD.format("B"))
    x, y = (ax + bx) / 2, (ay + by) / 2
    far = 60 if abs(ax - bx) > abs(ay - by) else 0
    drag(page, (x - 60 + far, y - far), (x + 60 - far, y + far))
    page.mouse.up()


def test_every_fault_by_press(desk: MakeDesk) -> None:
    """A node, an envelope or a gap is pressed and its menu does it: the trace is the scenario's."""
    table = desk(player())
    page = table.page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.set_default_timeout(6000)
    page.emulate_media(reduced_motion="reduce")
    for kind, thing, verb in VERBS:
        table.settle()
        if kind == "g":
            across(page)
        elif kind == "n":
            page.mouse.click(*middle(page, HEAD.format(thing)))
        elif kind == "m":
            page.mouse.click(*middle(page, ENVELOPE.format(thing) + " .box"))
        if kind:
            chosen(table, verb)
        else:
            listed(table, verb)
    assert dumps(table.player.timeline.save()) == dumps(
        played(*(verb for *_, verb in VERBS)).save()
    )
    assert serious(page, ".kp-picture") == []
    assert table.errors == []


def test_every_fault_by_key(desk: MakeDesk) -> None:
    """The letter for all actions opens their list, and Enter does the one that has the focus."""
    table = desk(player())
    page = table.page
    page.set_default_timeout(6000)
    for *_, verb in VERBS:
        keyed(table, verb)
    assert dumps(table.player.timeline.save()) == dumps(SAID.save())


RAFT_VERBS = (
    "tick A election",
    "deliver A>B vote 1 0 0 trial",
    "hold B>A voted 1 granted trial",
    "release B>A voted 1 granted trial",
    "drop A>C vote 1 0 0 trial",
    "deliver B>A voted 1 granted trial",
    "persist A",
    "duplicate A>B vote 1 0 0",
    "deliver A>B vote 1 0 0",
    "crash B",
    "restart B",
    "deliver A>B vote 1 0 0",
    "crash-written B",
    "restart B",
    "cut A>B",
    "heal",
    "cut A<>B",
    "heal",
    "partition A | B C",
    "heal",
    "deliver A>C vote 1 0 0",
    "persist C",
    "deliver C>A voted 1 granted",
    "persist A",
    "deliver A>C append 1 0 0 0 1:-",
    "request A x",
    "persist A",
    "tick A repeat",
)
PAXOS_VERBS = (
    "ballot A",
    "persist A",
    "duplicate A>B prepare 1 1A",
    "deliver A>B prepare 1 1A",
    "crash B",
    "restart B",
    "deliver A>B prepare 1 1A",
    "persist B",
    "drop A>C prepare 1 1A",
    "ballot B",
    "persist B",
    "deliver B>A promise 1 1A",
    "crash-written A",
    "restart A",
    "deliver B>C prepare 1 1B",
)
LOGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "raft": (
        {"crashes": 2, "drops": 1, "duplicates": 1, "holds": 1, "cuts": 2, "partitions": 1,
         "writes_apart": True},
        RAFT_VERBS,
    ),
    "paxos": ({"crashes": 2, "losses": 1, "copies": 1, "slow_disks": True}, PAXOS_VERBS),
}  # fmt: skip
"""What may go wrong in a log by messages, and a run in which each of it happens."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", LOGS)
def test_every_fault_of_a_log_by_press_key_and_line(desk: MakeDesk, name: str) -> None:
    """Buttons and keys in turn, and again the other way round: the traces are the scenario's."""
    given, verbs = LOGS[name]
    script = told(Timeline(build(name, given)), verbs)
    for by_key in (0, 1):
        table = desk(Player(Timeline(build(name, given))))
        for number, verb in enumerate(verbs):
            (keyed if number % 2 == by_key else listed)(table, verb)
        assert dumps(table.player.timeline.save()) == dumps(script.save())
        assert table.errors == []


def test_a_refused_fault_says_why_and_loses_nothing(desk: MakeDesk) -> None:
    """A budget that is spent is a grey button with its reason; the run stays as it is."""
    table = desk(Player(played("crash A", crashes=1)))
    page = table.page
    page.mouse.click(*middle(page, HEAD.format("B")))
    page.locator(MENU).get_by_text("crash B", exact=True).click(force=True)
    assert "the budget of crashes is used up" in (page.text_content(".kp-note") or "")
    assert len(table.player.timeline.moments) == 2


def test_a_lane_folds_by_press_and_by_key(desk: MakeDesk) -> None:
    """It becomes a thin line without words; it stays so in the next step; one more press ends it.
    A lane that is not there folds nothing.
    """
    table = desk(Player(played("request A hello", "persist A", "tick A again")))
    page = table.page
    table.turn_to("messages")
    lane, folded = '[data-k="who:B"]', '[data-k="life:B"][data-my-folded]'
    page.click(lane)
    assert page.locator(folded).count() == 1
    assert page.get_attribute(lane, "aria-pressed") == "true"
    assert not page.is_visible('.transit[data-lanes="A|B"] text')
    page.keyboard.press("ArrowLeft")
    assert page.locator(folded).count() == 1
    page.focus(lane)
    page.keyboard.press("Enter")
    assert page.locator("[data-my-folded]").count() == 0
    assert page.evaluate("document.querySelectorAll('[data-lanes=Z]').length") == 0
    assert json.dumps(table.errors) == "[]"


def test_the_run_shows_what_one_node_knows(desk: MakeDesk) -> None:
    """A has said hello to B, who has not heard of it: what A did is away as long as B is chosen, in
    the next step as well, and comes back with everybody.
    """
    table = desk(Player(played("request A hello", "persist A", "tick A again")))
    page = table.page
    table.turn_to("messages")
    choice, away = 'select[data-do="only"]:visible', ".lifelines [hidden]"
    everything = page.locator(".lifelines [data-since]").count()
    assert everything > 0
    page.select_option(choice, "A")
    assert page.locator(away).count() == 0
    page.select_option(choice, "B")
    assert page.locator(away).count() == everything
    page.focus(".kp-picture")
    page.keyboard.press("ArrowLeft")
    assert page.locator(away).count() == page.locator(".lifelines [data-since]").count() > 0
    page.select_option(choice, "")
    assert page.locator(away).count() == 0
    assert json.dumps(table.errors) == "[]"
