"""A topology of many nodes: stepped in time that grows with the nodes, drawn in few rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology.rules.requests import MOST_NODES, plan_of
from kit.protocols.topology.topology import AnswerBarrier, TopologyParameters
from kit.views.panel import scene_at
from kit.views.rendered import RenderedTimeline

NODES = 200
LISTED = 60  # rows of a panel at most, its static ones included


def cluster(nodes: int, *operations: str) -> Any:
    """A cluster that is asked for these operations."""
    return build("topology", {"nodes": nodes, "operations": list(operations)})


def test_members_beyond_the_alphabet_have_numbers() -> None:
    """And no more than MOST_NODES are allowed."""
    assert cluster(28, "leave N28").names == (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "N27", "N28")
    with pytest.raises(BadInput, match=f"nodes: got {MOST_NODES + 1}"):
        cluster(MOST_NODES + 1, "cleanup")


def test_the_barriers_of_a_join_take_three_answers_a_node() -> None:
    """In a cluster of any size."""
    steps = []
    for nodes in (20, 40, 80):
        timeline = Timeline(cluster(nodes, "join X1"))
        played_out(timeline)
        assert timeline.state.topology.requests[0].done
        steps.append(sum(type(moment.action) is AnswerBarrier for moment in timeline.moments))
    assert [after - before for before, after in pairwise(steps)] == [60, 120]


def middle() -> Timeline:
    """A join of a large cluster within a barrier: some have answered."""
    timeline = Timeline(cluster(NODES, "join X1"))
    while len(timeline.moments) < NODES + NODES // 2:
        timeline.do(timeline.suggest(), fold=1)
    return timeline


@pytest.mark.parametrize("name", ["nodes", "barrier", "table", "configuration"])
def test_a_panel_lists_few_rows_and_counts_the_others(name: str) -> None:
    """Every node is listed or counted; the picture and its words agree."""
    timeline = middle()
    [panel] = [panel for panel in RenderedTimeline(timeline).panels if panel.name == name]
    scene = scene_at(timeline, timeline.at)
    words = panel.text(scene).splitlines()
    told = [int(line.split()[0].replace(",", "")) for line in words if " more: " in line]
    named = {word.rstrip(":").split(".")[0] for line in words for word in line.split()}
    named &= set(scene.model.names)
    assert len(named) < LISTED
    # X1 has a row in the tables already, but is no member yet.
    assert sum(told) + len(named) >= NODES
    drawn = panel.draw(scene)
    assert sum(part.tag in ("tr", "li") for part in drawn.walk()) < LISTED
    assert [line for line in drawn.lines() if " more: " in line] == [
        line.strip() for line in words if " more: " in line
    ]


@pytest.mark.parametrize(
    ("members", "operations", "refused"),
    [
        (MOST_NODES, ("leave B",), False),
        (MOST_NODES - 1, ("join X1",), False),
        (MOST_NODES, ("join X1",), True),
        (MOST_NODES - 1, ("join X1", "join X2"), True),
        (MOST_NODES, ("replace X1 B",), True),
    ],
)
def test_members_and_joiners_together_are_limited(
    members: int, operations: tuple[str, ...], refused: bool
) -> None:
    """Even for a replacement."""
    given = TopologyParameters(nodes=members, operations=operations)
    if not refused:
        joiners = sum(not each.startswith("leave") for each in operations)
        assert len(plan_of(given).names) == members + joiners
        return
    words = f"^operations: got {MOST_NODES + 1}; .*at most {MOST_NODES} nodes in total"
    with pytest.raises(BadInput, match=words):
        plan_of(given)
