"""Leases: what is searched, what a run leaves as rows, and the Player in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.engine.check import check
from kit.engine.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk


def test_the_fence_keeps_writes_in_order() -> None:
    """Every run keeps writes in order with the fence, and some run does not without it."""
    assert check(build("lease")).violation is None
    violation = check(build("lease", off=("fence",))).violation
    assert violation is not None
    assert violation.property == "in-order"


@pytest.mark.browser
def test_leases_are_played_in_a_browser(desk: Callable[..., Desk]) -> None:
    """The Player opens the family's scenario, and a press of its step does the first action."""
    page = desk(Player("lease/slept"))
    page.do("step")
    page.wait_where("1 / 1")
    assert "C0 takes lease 1." in page.page.inner_text(".kp-frame")
    assert not page.errors
