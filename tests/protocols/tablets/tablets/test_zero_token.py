"""A node without tokens is no place for a tablet, whatever else there is."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.views.panel import scene_of
from kit.views.registry import for_model


def forwarded(timeline: Timeline[Any, Any]) -> None:
    """Go on as long as the default schedule does."""
    while timeline.forward() is not None:
        pass


CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {"nodes": 3, "operations": ("join D --zero-token",), "moves": 1, "failures": 1},
    {"nodes": 3, "operations": ("replace D B --zero-token",), "moves": 0, "changes": 1},
    {"nodes": 3, "operations": ("join D --zero-token", "leave B"), "moves": 0},
)


@pytest.mark.spec("D-035")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("given", CONFIGURATIONS, ids=lambda given: " ".join(given["operations"]))
def test_no_tablet_comes_to_a_node_without_tokens(edition: Edition, given: dict[str, Any]) -> None:
    """It joins, or takes another's place, while tablets move, are made again or are drained: none
    has a replica on it, and it owns no tokens.
    """
    result = check(build("tablets", {"edition": edition, "tablets": ("A B",), **given}))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


@pytest.mark.spec("D-035")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_drain_has_no_place_where_the_other_node_has_no_tokens(edition: Edition) -> None:
    """C is normal and empty, and still B may not leave: its request fails; no tablet is on C."""
    given = {"nodes": 2, "tablets": ("A B",), "moves": 0, "undone": 1}
    words = ("join C --zero-token", "leave B")
    timeline = Timeline(build("tablets", {"edition": edition, **given, "operations": words}))
    forwarded(timeline)
    timeline.do(timeline.model.find(timeline.state, "fail")[0])
    forwarded(timeline)
    topology = timeline.state.control.topology
    assert [each.state for each in topology.nodes] == ["normal"] * 3
    assert [each.error for each in topology.requests] == [False, True]
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "tablets"]
    assert "replicas A:0, B:0" in panel.text(scene_of(timeline, timeline.at))
