"""What a driver sees of a recovery: the newest schema version, and where it goes back."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import verdicts
from kit.protocols.recovery.panels.recovery import driver_points
from tests.protocols.recovery.runs import SEED_STEPS, after, played
from tests.views.frames import panel_text

LOST: dict[str, Any] = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}
ALL_KNEW: dict[str, Any] = {"commit_indexes": (12, 12, 12, 12, 12), "dead": "C D E"}


@pytest.mark.spec("G-041")
def test_the_newest_version_goes_back_where_an_entry_was_lost_and_no_promise_is_broken() -> None:
    """Entry 12 died with C, D and E: the plot dips from 12 to 11, and says that it is expected."""
    timeline = after(LOST, *SEED_STEPS, "restart B", "restart A")
    text = panel_text(timeline, "driver")
    assert "before the majority was lost: 12" in text
    assert (
        "the version goes back from 12 to 11 (an effect outside the recovery, not a broken" in text
    )
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]
    _, start = played(LOST)
    assert [point.version for point in driver_points([start])] == [12, 11]


def test_it_does_not_go_back_where_nothing_was_lost() -> None:
    """All knew of entry 12; a change after the recovery is a newer version."""
    timeline = after({**ALL_KNEW, "changes": 1}, *SEED_STEPS, "restart B", "restart A", "alter A")
    text = panel_text(timeline, "driver")
    assert "goes back" not in text
    assert text.splitlines()[-1].endswith(": 13")


def test_a_wrong_leader_takes_a_version_back_that_was_there_after_the_disaster() -> None:
    """B had 11 when A, with 10, led: once B is in the new group the driver sees 10."""
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    timeline = after(LOST, *steps, "restart B", off=("latest-index",))
    assert "the version goes back from 11 to 10" in panel_text(timeline, "driver")


def test_nobody_answers_while_all_are_down() -> None:
    """The version seen before is what the next one is compared with."""
    _, start = played({**ALL_KNEW, "crashes": 2})
    _, none = played({**ALL_KNEW, "crashes": 2}, "crash A", "crash B")
    points = driver_points([start, none, start])
    assert [point.version for point in points] == [12, 12, None, 12]
    assert not any(point.goes_back for point in points)
