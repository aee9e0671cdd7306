"""The tab of sessions: each tablet that streams has one of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.model.registry import build
from kit.views.panel import Scene
from kit.views.registry import for_model

TO_STREAMING = ("commit", "barrier", "decide", "commit", "barrier", "decide", "commit")


@pytest.mark.spec("F-004")
def test_tablets_that_stream_side_by_side_have_two_sessions() -> None:
    """The tab names the session of each, with its stage; the cluster's own session is none."""
    model: Any = build("tablets", {"tablets": ("A", "B"), "moves": 2, "nodes": 3})
    state = model.start()
    for verb in (
        *("imbalance", "migrate 0 A:0 C:0", *TO_STREAMING),
        *("migrate 1 B:0 C:0", *TO_STREAMING),
    ):
        option = model.find(state, verb)
        assert option is not None
        state = model.act(state, option[0])
    (panel,) = (each for each in for_model(model).panels if each.name == "sessions")
    text = panel.text(Scene(model, state))
    found = re.findall(r"session (\d+): tablet (\d) in streaming", text)
    assert [tablet for _, tablet in found] == ["0", "1"]
    assert len({session for session, _ in found}) == 2
    assert not state.control.topology.session
