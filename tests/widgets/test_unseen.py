"""Pages that nobody sees follow once what is seen is painted; who turns to one sees it as it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.widgets.browsing import MakeDesk, walked

pytestmark = pytest.mark.browser

STEPS = 12
# In one task, before anything is painted: to the first step, and then to each of some tabs.
FIRST = """([page, tabs]) => {
  const stage = document.querySelector(".kp-stage");
  const read = () => stage.querySelector(`[data-k="panel:${page}"]`).textContent;
  const was = read();
  document.querySelector("[data-do=first]").click();
  for (const tab of tabs) stage.querySelector(`[data-tab="${tab}"]`).click();
  return { busy: stage.ariaBusy, isOld: read() === was };
}"""
TIMERS = """() => {
  const { setTimeout: set, clearTimeout: clear } = window, waiting = new Set();
  const kept = (id) => { waiting.add(id); return id; };
  window.setTimeout = (...given) => kept(set(...given));
  window.clearTimeout = (id) => { waiting.delete(id); clear(id); };
  document.querySelector("[data-do=back]").click();
  const open = waiting.size > 0;
  window.leave();
  Object.assign(window, { setTimeout: set, clearTimeout: clear });
  return { open, left: waiting.size };
}"""
LOG = ".kp-stage [data-k='panel:log']"


def to_the_first(desk: MakeDesk, *tabs: str) -> tuple[Any, Any]:
    """A table that went to its first step and to some tabs, and what one saw before the paint."""
    table = desk(walked("tcm/bootstrap", STEPS))
    return table, table.page.evaluate(FIRST, ["log", tabs])


def test_a_page_that_nobody_sees_follows_after_the_paint(desk: MakeDesk) -> None:
    """The step leaves it as it was and says that more is to come; then it is the frame, too."""
    table, found = to_the_first(desk)
    assert found == {"busy": "true", "isOld": True}
    table.wait_where(f"0 / {STEPS}")
    assert table.page.get_attribute(".kp-stage", "aria-busy") == "false"
    assert table.difference(0) == ""
    assert table.errors == []


def test_who_turns_to_a_page_sees_it_as_it_is(desk: MakeDesk) -> None:
    """A tab that is pressed at once shows the step that is shown, not one before."""
    table, found = to_the_first(desk, "log")
    assert found == {"busy": "false", "isOld": False}
    assert table.page.is_visible(LOG)
    assert table.difference(0) == ""


def test_what_one_looks_at_is_never_late(desk: MakeDesk) -> None:
    """The page that is seen goes with the step itself."""
    table = desk(walked("tcm/bootstrap", STEPS))
    table.turn_to("log")
    found = table.page.evaluate(FIRST, ["log", ()])
    assert found == {"busy": "true", "isOld": False}


def test_a_player_that_is_closed_has_nothing_left_to_do(desk: MakeDesk) -> None:
    """What it would tell the kernel a little later, or speak, is given up."""
    table = desk(walked("tcm/bootstrap", STEPS))
    assert table.page.evaluate(TIMERS) == {"open": True, "left": 0}
    assert table.errors == []
