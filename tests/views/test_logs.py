"""The log panel: every line of the run so far, escaped, with what its filters compare."""

from __future__ import annotations

from kit.model.flows import ServerLog
from kit.views.logs import log_panel, nothing
from kit.views.panel import Scene, at_rest, scene_of
from tests.keyed import check_keys
from tests.views.frames import part
from tests.views.logged import LOG, begins, run, writes


def scene(moment: int) -> Scene:
    """A moment of the run."""
    return scene_of(run(), moment)


def test_all_lines_of_the_run_in_their_order() -> None:
    """Those of the start first; words of the kit's own are told from a server's."""
    assert LOG.text(scene(3)).splitlines() == [
        "  TM disk - started",
        "  [voting] RM0 disk - prepared <b>for good</b>",
        "  RM0 network - sent a vote",
        "  [voting] RM1 disk - prepared <b>for good</b>",
        "  RM1 network - sent a vote",
        "  TM network - heard RM0 (in the kit's own words)",
    ]
    assert LOG.text(scene(0)) == "  TM disk - started"


def test_lines_are_escaped_and_tagged() -> None:
    """Markup in a line is text; each line carries its node and component."""
    drawn = LOG.draw(scene(3))
    check_keys(drawn)
    assert "<b>for good" not in drawn.html()
    assert [one.get("data-tags") for one in drawn.walk() if one.tag == "li"] == [
        *(
            "|TM||disk|",
            "|RM0||disk|",
            "|RM0||network|",
            "|RM1||disk|",
            "|RM1||network|",
            "|TM||network|",
        )
    ]
    offered = [one.text() for one in drawn.walk() if one.tag == "option"]
    assert offered == [
        *("of all nodes", "RM0", "RM1", "TM"),
        *("of all components", "disk", "network"),
    ]


def test_lines_of_the_last_step_are_marked() -> None:
    """Of the others none is; at rest nothing is new but the log is there no more or less."""
    drawn = LOG.draw(scene(2))
    marked = [one.get("data-tags") for one in drawn.walk() if one.get("class") == "moved"]
    assert marked == ["|RM1||disk|", "|RM1||network|"]
    old = part(drawn, "log:1")
    assert old is not None
    assert [one.text() for one in old.walk() if one.tag == "small"] == ["1", "1"]


def test_a_run_without_a_line_says_so() -> None:
    """Nothing was written: one sentence, in the picture and in words."""
    silent = log_panel(ServerLog(lambda *step: ()))
    assert silent.draw(scene(2)).text() == nothing()
    assert silent.text(scene(2)) == f"  {nothing()}"
    assert log_panel(ServerLog(writes, begins)).text(at_rest(scene(0))) == "  TM disk - started"
