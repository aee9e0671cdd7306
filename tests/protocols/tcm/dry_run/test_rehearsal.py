"""The one screen of a rehearsal: its four answers agree with what the tabs tell in full."""

from __future__ import annotations

import re

import pytest

import kit
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.dry_run import MOST_CHANGED, MOST_LOADS, draw_rehearsal
from kit.views.frame import frame
from kit.views.panel import scene_at
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import played, printed

NODES, TOKENS = 12, 16


@pytest.fixture(scope="module")
def history() -> Timeline:
    """Twelve nodes of sixteen tokens each, two of which shall leave."""
    hosts = [
        Host(
            f"10.20.0.{i}",
            tuple(1000 * (t * NODES + i) for t in range(TOKENS)),
            load=f"{i}.00 GiB",
            host_id=host_id(i),
        )
        for i in range(1, NODES + 1)
    ]
    return played(printed(hosts), "decommission 10.20.0.2", "decommission 10.20.0.7")


def test_each_moment_says_what_the_facts_say(history: Timeline) -> None:
    """Every operation, the verdict on one more death, the most loaded nodes, the changed ranges."""
    changed_somewhere = 0
    for moment in history.path():
        scene = scene_at(history, moment)
        model, state = scene.model, scene.state
        drawn = draw_rehearsal(scene)
        check_keys(drawn)
        words = drawn.text()
        for planned in facts.planned(model, state):
            assert planned.operation.title in words
        loads = facts.traffic(model, state)
        assert len(re.findall(r"rehearsed load:", drawn.html())) == min(len(loads), MOST_LOADS)
        for loss in facts.losses(model, state):
            assert all(f'data-of="{name}"' in drawn.html() for name, _ in loss.nodes)
        now = facts.rows(model, state, "ks")
        then = now if scene.before is None else facts.rows(model, scene.before, "ks")
        changed = [
            row
            for row in now
            if any(
                (set(row.reads), set(row.writes)) != (set(was.reads), set(was.writes))
                for was in then
                if was.left < row.right and row.left < was.right
            )
        ]
        told = re.search(r"(\d+) ranges? changed", words)
        assert (int(told[1]) if told else 0) == len(changed)
        assert drawn.html().count("rehearsed row:") == min(len(changed), MOST_CHANGED)
        changed_somewhere += bool(changed)
    assert changed_somewhere > 4


def test_it_is_the_first_tab_of_a_ring_of_ones_own_only(history: Timeline) -> None:
    """It stands beside the ring; a worked example has its placements there."""
    for timeline, first in (
        (history, "rehearsal"),
        (kit.Player("bootstrap").timeline, "placements"),
    ):
        views = for_model(timeline.model)
        drawn = frame(scene_at(timeline, 0), views.panels, views.macros, views).html()
        found = re.search(r'data-tab="(\w+)"', drawn)
        assert found is not None
        assert found[1] == first
