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


def test_a_player_that_is_closed_says_nothing_more(desk: MakeDesk) -> None:
    """Where the reader is, which is told a little later, is not told any more."""
    table = desk(walked("tcm/bootstrap", STEPS))
    page = table.page
    looks = "window.sent.filter(({ message }) => message === 'look').length"
    page.wait_for_function(f"{looks} === 1")  # where it was opened
    page.clock.install()
    for leave, told in (("", 1), ("window.leave()", 0)):
        before = page.evaluate(looks)
        page.evaluate(f"document.querySelector('[data-do=back]').click(); {leave}")
        page.clock.run_for(1000)
        assert page.evaluate(looks) - before == told
    assert table.errors == []
