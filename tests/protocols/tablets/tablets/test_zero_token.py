"""A node without tokens is no place for a tablet, whatever else there is."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
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


@pytest.mark.spec("D-035")
@pytest.mark.parametrize("edition", EDITIONS)
def test_it_has_no_row_of_its_own_in_any_table_of_replicas(edition: Edition) -> None:
    """Its card names the option, and through a whole run no row of the table has it, no chip is in
    its row of the grid, and the balancer says why.
    """
    given = {"nodes": 3, "tablets": ("A B", "B C"), "moves": 2}
    words = ("join D --zero-token",)
    timeline = Timeline(build("tablets", {"edition": edition, **given, "operations": words}))
    panels = {each.name: each for each in for_model(timeline.model).panels}
    timeline.do(timeline.model.find(timeline.state, "join D --zero-token")[0])
    forwarded(timeline)
    for at in range(len(timeline.moments)):
        scene = scene_of(timeline, at)
        assert "D:" not in panels["tablets"].text(scene)
        keys = [each.key or "" for each in panels["grid"].draw(scene).walk()]
        assert not [key for key in keys if key.startswith("tablet:") and ":D:" in key]
    scene = scene_of(timeline, timeline.at)
    assert "no tokens (join_ring=false)" in panels["nodes"].text(scene)
    assert "no tokens" in panels["grid"].draw(scene).text()
    moved = sum(
        row.replicas != first.replicas
        for row, first in zip(
            timeline.state.tablets, timeline.moments[0].state.tablets, strict=True
        )
    )
    assert moved > 0
    assert timeline.model.roles(timeline.state)[3] == "zero-token"
