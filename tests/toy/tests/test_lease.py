"""Leases: what is searched, what a run leaves as rows, and the Player in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.widgets import Player
from tests.widgets.browsing import Desk


def test_the_fence_keeps_writes_in_order() -> None:
    """Every run keeps writes in order with the fence, and some run does not without it."""
    assert check(build("lease")).violation is None
    violation = check(build("lease", off=("fence",))).violation
    assert violation is not None
    assert violation.property == "in-order"


def test_a_lease_and_a_write_travel() -> None:
    """The number goes to the client and with its write to the store; the end of a lease is told to
    nobody.
    """
    timeline = Timeline(build("lease"))
    model: Any = timeline.model
    texts = []
    for verb in ("take C0", "lapse", "write C0"):
        option = model.find(timeline.state, verb)
        moment = timeline.do(option[0])
        texts += [one.text for one in flows(model, timeline.before, moment.action, moment.state)]
    assert texts == ["service → C0: lease 1", "C0 → store: number 1"]


@pytest.mark.browser
def test_leases_are_played_in_a_browser(desk: Callable[..., Desk]) -> None:
    """The Player opens the family's scenario, and a press of its step does the first action."""
    page = desk(Player("lease/slept"))
    page.do("step")
    page.wait_where("1 / 1")
    lit = "[...document.querySelectorAll('.kp-picture .lit')].map((one) => one.dataset.k)"
    assert page.page.evaluate(lit) == ["states:state:given"]
    assert page.page.locator(".kp-picture .taken").count() == 1
    assert "C0 takes lease 1" in page.page.inner_text(".kp-frame")
    assert not page.errors
