"""The panels of the topology, and what the coordinator says that it is at."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology.facts import run_ids
from kit.protocols.topology.panels.states import LEGEND, UNDRAWN, diagrams, legend
from kit.protocols.topology.panels.tables import OF_ROWS, STATIC, TABLE, texts
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.frame import frame
from kit.views.panel import Scene, is_shown, scene_at, scene_of
from kit.views.registry import for_model
from tests.protocols.topology.test_seen import in_state, press, starting, until
from tests.views.frames import classed, part

RUNS: tuple[dict[str, Any], ...] = (
    {"operations": ("join D",)},
    {"operations": ("leave C", "join E"), "nodes": 4},
    {"operations": ("remove C",), "nodes": 4},
    {"operations": ("replace D C",)},
    {"operations": ("rebuild C", "cleanup", "new_cdc_generation")},
    {"operations": ("join D --zero-token", "lock")},
    {"operations": ("leave C",), "nodes": 4, "edition": "documents"},
)


@cache
def _played(number: int) -> Timeline:
    timeline = Timeline(build("topology", RUNS[number]))
    return played_out(timeline)


def scenes(timeline: Timeline) -> list[Scene]:
    """The scenes of every moment."""
    return [scene_at(timeline, moment) for moment in timeline.path(timeline.tip)]


def after(timeline: Timeline, kinds: Iterable[type]) -> Timeline:
    """The timeline gone on with the schedule, but for these actions as soon as they are there."""
    for kind in kinds:
        while True:
            ready = [a for a in timeline.model.actions(timeline.state) if isinstance(a, kind)]
            if ready:
                timeline.do(ready[0])
                break
            assert timeline.forward() is not None, kind
    return timeline


def test_the_drawing_of_a_machine_has_every_edge_of_its_table() -> None:
    """And knows those that lead back."""
    drawn = {one.name: one for one in diagrams()}
    for edition in EDITIONS:
        for name, machine in MACHINES[edition].items():
            if name in UNDRAWN:
                continue
            one = drawn.get(f"state-topology-{name}") or drawn[f"state-topology-{name}-{edition}"]
            assert len(one.transitions) == len(machine.edges), one.name
            back = [event for _, event, _ in one.transitions if event in one.rollbacks]
            assert len(back) == sum(edge.kind != "happy" for edge in machine.edges), one.name


@pytest.mark.spec("D-038")
def test_the_table_has_every_column_and_marks_changed_cells() -> None:
    """At each moment of a bootstrap."""
    timeline = _played(0)
    for scene in scenes(timeline)[1:]:
        ids = run_ids(scene.way())
        edition = scene.model.edition
        now, was = (
            texts(s.topology, scene.model.names, ids, edition) for s in (scene.state, scene.before)
        )
        assert {name for _, name in now} == {*OF_ROWS, *STATIC}
        drawn = TABLE.draw(scene)
        changed = [place for place, text in now.items() if was.get(place, "null") != text]
        static = [name for host, name in changed if not host]
        for name in static:
            row = part(drawn, f"column:{name}")
            assert row is not None, name
            assert len(classed(row, "changed")) == 1, name
        assert bool(classed(drawn, "changed")) == bool(changed), changed


@pytest.mark.spec("D-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_legend_has_every_transition_state(edition: Edition) -> None:
    """With what passes it, and which it is now."""
    timeline = Timeline(build("topology", {"operations": ("leave C",), "edition": edition}))
    seen = set()
    while True:
        scene = scene_at(timeline, timeline.at)
        rows = {name: (passed_by, now) for name, passed_by, now in legend(scene)}
        assert {name for name, (_, now) in rows.items() if now} == {
            timeline.state.topology.transition
        } - {""}
        seen |= {name for name, (_, now) in rows.items() if now}
        if timeline.forward() is None:
            break
    draining = {"tablet_draining"} if edition == "documents" else set()
    assert seen == draining | {"write_both_read_old", "write_both_read_new", "left_token_ring"}
    documented = {
        *("join_group0", "commit_cdc_generation", "write_both_read_old", "write_both_read_new"),
        *("left_token_ring", "rollback_to_normal", "lock"),
        *("tablet_migration", "tablet_resize_finalization"),
    }
    assert documented | draining <= set(rows)
    assert "decommissioning" in rows["rollback_to_normal"][0]
    assert "tablets" in rows["tablet_resize_finalization"][0]
    assert "tablet_resize_finalization  tablets" in LEGEND.text(scene)


def test_a_node_that_is_behind_has_the_ring_of_what_it_applied_and_no_other_has() -> None:
    """Its page lists what the log says of a range instead, and leads back."""
    timeline = until(starting("join D"), in_state("write_both_read_old"))
    views, scene = for_model(timeline.model), scene_of(timeline, timeline.at)
    board = frame(scene, views.panels, views.macros, views)
    offered = {each.get("data-tab"): each.get("data-names") for each in board.walk()}
    assert offered["as-B"] == '["B"]'
    assert "as-A" not in offered
    page = part(board, "panel:as-B")
    assert page is not None
    assert "C, D] B writes to A; by the log: A, D" in page.text()
    assert "B goes by state 4; the log is at state 5." in page.text()
    assert views.picture in {each.get("data-tab") for each in page.walk()}
    press(timeline, "apply B")
    later = frame(scene_of(timeline, timeline.at), views.panels, views.macros, views)
    assert part(later, "panel:as-B") is None


@pytest.mark.parametrize("nodes", [3, 25])
def test_the_ring_stands_beside_the_stage_or_in_a_tab_and_never_in_both(nodes: int) -> None:
    """It says by which state it is, and to whom that is known."""
    timeline = Timeline(build("topology", {"operations": ("join Z",), "nodes": nodes}))
    until(timeline, in_state("write_both_read_old"))
    scene, named = scene_of(timeline, timeline.at), for_model(timeline.model).panels
    [picture, tab] = [each for each in named if each.name in ("stage", "token-ring")]
    drawn = picture.draw(scene)
    assert is_shown(tab, scene) is not bool(classed(drawn, "ring-drawing"))
    assert is_shown(tab, scene) is (nodes > 24)
    if nodes == 3:
        assert "who holds what, by state 5" in drawn.text()
        assert "known to A" in drawn.text()
