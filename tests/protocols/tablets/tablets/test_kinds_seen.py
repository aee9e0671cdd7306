"""What a student sees of each kind of transition: what travels and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from kit.model.flows import Flow, flows
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.tablets import copies
from kit.protocols.tablets.rules.stages import PlayedKind
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from tests.views.frames import part

FIVE = ["migration", "intranode_migration", "rebuild", "rebuild_v2", "repair"]
MOVES = {"shards": 2, "tablets": ("A:0 B:1",), "kinds": ("migration", "intranode_migration")}
WITHIN = {**MOVES, "kinds": ("intranode_migration",)}
ADDS = {"nodes": 3, "tablets": ("A B",), "kinds": ("add_tablet_replica",)}
REPLACES = {"nodes": 3, "tablets": ("A B C",), "moves": 0, "operations": ("replace D C",)} | {
    "crashes": 1
}


def starting(given: dict[str, Any], **more: Any) -> Timeline:
    """A cluster with tablets."""
    return Timeline(build("tablets", {**given, **more}))


def seen(timeline: Timeline, name: str) -> tuple[Panel, Scene]:
    """A panel, and the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel, scene_of(timeline, timeline.at)


def worked(timeline: Timeline) -> Iterator[tuple[str, tuple[Flow, ...]]]:
    """The default schedule to its end: for each step of work on a tablet its stage and flows."""
    model = timeline.model
    while (moment := timeline.forward()) is not None:
        before = timeline.moments[moment.parent].state
        if isinstance(moment.action, Tablets.work_on):
            [way] = before.tablets[0].transitions
            yield way.stage, flows(model, before, moment.action, moment.state)


@pytest.mark.spec("E-001")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_drop_down_has_the_five_kinds(edition: str) -> None:
    """It has these five and no other; the one that is chosen is shown with its stages."""
    assert list(get_args(PlayedKind)) == FIVE
    panel, scene = seen(starting({}, edition=edition), "kinds")
    drawn = panel.draw(scene)
    [chooser] = [one for one in drawn.walk() if one.tag == "select"]
    assert [one.text() for one in chooser.walk() if one.tag == "option"] == FIVE
    shown = {each: part(drawn, f"kind:{each}") for each in FIVE}
    assert [each for each, one in shown.items() if one and one.get("hidden") is None] == FIVE[:1]
    stages = {
        each: [cell.text() for cell in one.walk() if cell.get("scope") == "row"]
        for each, one in shown.items()
        if one is not None
    }
    assert stages["repair"] == ["repair", "end_repair"]
    assert stages["migration"] == stages["rebuild"] == stages["intranode_migration"]
    assert set(stages["rebuild_v2"]) - set(stages["rebuild"]) == {"rebuild_repair"}


@pytest.mark.spec("E-003")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rebuild_streams_from_all_that_there_are(edition: str) -> None:
    """An arrow from each replica that is left leads to the new cell. Of a replaced node the
    replica is dropped afterwards; where one more replica is made none is.
    """
    for given, target, after in ((REPLACES, "D:0", "A B D"), (ADDS, "C:0", "A B C")):
        timeline = starting(given, rebuild="rebuild", edition=edition)
        [streamed] = [sent for stage, sent in worked(timeline) if stage == "streaming"]
        assert [each.kind for each in streamed] == ["data", "data"]
        sources, targets = zip(*((one.text.split(" → ")) for one in streamed), strict=True)
        assert sources == ("A:0", "B:0")
        assert all(text.startswith(target) for text in targets)
        [cell] = {each.to_key for each in streamed}
        assert f":to:{target}" in cell
        assert len({each.from_key for each in streamed}) == 2
        assert [each.host for each in timeline.state.tablets[0].replicas] == after.split()


@pytest.mark.spec("E-004")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rebuild_v2_repairs_first_and_has_one_source(edition: str) -> None:
    """First data go from each replica to the others, then one arrow leads to the new cell."""
    for given, target in ((REPLACES, "D:0"), (ADDS, "C:0")):
        timeline = starting(given, rebuild="rebuild_v2", edition=edition)
        done = [each for each in worked(timeline) if each[1] and each[1][0].kind == "data"]
        assert [stage for stage, _ in done] == ["rebuild_repair", "streaming"]
        (_, repaired), (_, streamed) = done
        pairs = {(each.from_key, each.to_key) for each in repaired}
        assert pairs == {(b, a) for a, b in pairs}
        assert len(pairs) == 2
        [arrow] = streamed
        assert f":to:{target}" in arrow.to_key
        assert arrow.from_key in {a for a, _ in pairs}


@pytest.mark.spec("E-020")
@pytest.mark.parametrize("edition", EDITIONS)
def test_within_a_node_files_are_linked(edition: str) -> None:
    """The counter of links goes up and none of streams does; nothing leaves the node. The source
    keeps its files until the work of ``cleanup``, and has none afterwards.
    """
    timeline = starting(WITHIN, edition=edition)
    source = None
    held = set()
    for stage, sent in worked(timeline):
        row = timeline.state.tablets[0]
        if stage == "streaming":
            [link] = sent
            source = row.transitions[0].sets.leaving[0]
            assert f"{source} → {source.host}:" in link.text
            assert "hard links" in link.label
        held.add((stage, source in row.some))
    assert held == {("streaming", True), ("cleanup", False)}
    panel, scene = seen(timeline, "badges")
    assert "1 linked, 0 streamed" in panel.draw(scene).text()
    between = starting(MOVES, edition=edition, kinds=("migration",))
    assert [len(sent) for stage, sent in worked(between) if stage == "streaming"] == [1]
    _, scene = seen(between, "badges")
    assert copies(between.model, scene.way()) == (0, 1)
