"""What a student sees of each kind of transition, after a loss, and of what operators ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from kit.model.flows import Flow, flows
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.tablets import copies
from kit.protocols.tablets.panels.losses import Boot, boots
from kit.protocols.tablets.rules.stages import PlayedKind
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import CommitDecision, FindImbalance, MakeRequest
from kit.views.fragment import Frag
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
def test_the_drop_down_has_the_five_kinds_of_transitions_with_their_stages(edition: str) -> None:
    """The one that is chosen is shown."""
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
def test_a_rebuild_draws_an_arrow_from_each_replica_that_is_left(edition: str) -> None:
    """The replica of a replaced node is dropped afterwards."""
    for given, target, after in ((REPLACES, "D:0", "A B D"), (ADDS, "C:0", "A B C")):
        timeline = starting(given, rebuild="rebuild", edition=edition)
        [streamed] = [sent for stage, sent in worked(timeline) if stage == "streaming"]
        assert [each.kind for each in streamed] == ["data", "data"], (given, target)
        sources, targets = zip(*((one.text.split(" → ")) for one in streamed), strict=True)
        assert sources == ("A:0", "B:0"), (given, target)
        assert all(text.startswith(target) for text in targets), (given, target)
        [cell] = {each.to_key for each in streamed}
        assert f":to:{target}" in cell, (given, target)
        assert len({each.from_key for each in streamed}) == 2, (given, target)
        assert [each.host for each in timeline.state.tablets[0].replicas] == after.split()


@pytest.mark.spec("E-004")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_rebuild_v2_draws_a_repair_and_then_one_arrow(edition: str) -> None:
    """The repair goes from each replica to the others."""
    for given, target in ((REPLACES, "D:0"), (ADDS, "C:0")):
        timeline = starting(given, rebuild="rebuild_v2", edition=edition)
        done = [each for each in worked(timeline) if each[1] and each[1][0].kind == "data"]
        assert [stage for stage, _ in done] == ["rebuild_repair", "streaming"], (given, target)
        (_, repaired), (_, streamed) = done
        pairs = {(each.from_key, each.to_key) for each in repaired}
        assert pairs == {(b, a) for a, b in pairs}, (given, target)
        assert len(pairs) == 2, (given, target)
        [arrow] = streamed
        assert f":to:{target}" in arrow.to_key, (given, target)
        assert arrow.from_key in {a for a, _ in pairs}, (given, target)


@pytest.mark.spec("E-020")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_move_within_a_node_links_files_and_streams_none(edition: str) -> None:
    """The source keeps its files until the work of cleanup."""
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


# D replaces C, which is dead; the tablets of C are rebuilt on D once C has left.
REPLACE = {
    "nodes": 3,
    "tablets": ("A B C", "B C A", "C A B", "A C B"),
    "moves": 0,
    "crashes": 1,
    "operations": ("replace D C",),
}


def drawn(timeline: Timeline, name: str, key: str) -> Frag | None:
    """A part of a tab's picture."""
    panel, scene = seen(timeline, name)
    return part(panel.draw(scene), key)


def cells(timeline: Timeline, name: str, key: str) -> list[str]:
    """The cells of a row."""
    row = drawn(timeline, name, key)
    assert row is not None, key
    return [" ".join(one.text().split()) for one in row.walk() if one.tag == "td"]


def replacing() -> Timeline:
    """The default schedule, until C has left."""
    timeline = Timeline(build("tablets", REPLACE))
    while timeline.state.control.topology.nodes[2].state != "left":
        assert timeline.forward() is not None
    return timeline


def rebuilt(timeline: Timeline, tablet: int) -> Timeline:
    """The default schedule, until a tablet has a replica on D and is in no transition."""
    while not _is_on_d(timeline.state.tablets[tablet]):
        assert timeline.forward() is not None
    return timeline


def _is_on_d(row: Any) -> bool:
    return not row.transitions and any(each.host == "D" for each in row.replicas)


@pytest.mark.spec("E-033")
def test_the_losses_panel_shows_no_spare_replica_until_the_rebuild() -> None:
    """Each further loss costs a quorum until then."""
    timeline = replacing()
    for tablet in range(4):
        assert cells(timeline, "losses", f"losses:{tablet}") == ["✓", "✓", "✗", "", "! 0"], tablet
    assert cells(timeline, "losses", "lose:A") == ["!", "no quorum: tablets 0, 1, 2, 3"]
    assert cells(timeline, "losses", "lose:D") == ["✓", "every tablet keeps its quorum"]
    rebuilt(timeline, 0)
    assert cells(timeline, "losses", "losses:0") == ["✓", "✓", "", "✓", "✓ 1"]
    left = [n for n, row in enumerate(timeline.state.tablets) if not _is_on_d(row)]
    assert left
    panel, scene = seen(timeline, "losses")
    assert f"lose A  !  no quorum: tablet{'s' * (len(left) > 1)} " in panel.text(scene)
    assert cells(timeline, "losses", "lose:A")[1].endswith(", ".join(map(str, left)))
    for tablet in left:
        rebuilt(timeline, tablet)
    assert cells(timeline, "losses", "lose:A")[1] == "every tablet keeps its quorum"


@pytest.mark.spec("D-004")
def test_a_node_that_has_left_stays_a_replica_without_an_endpoint() -> None:
    """The table shows get_natural_endpoints() until the last rebuild is over."""
    timeline = replacing()
    panel, scene = seen(timeline, "tablets")
    cells = (each for each in panel.draw(scene).walk() if each.tag == "th")
    heads = [each.text().replace("\u200b", "") for each in cells]
    assert [heads[0], *heads[2:4]] == ["tablet", "get_replicas()", "get_natural_endpoints()"]
    assert "  A:0, B:0, C:0  A:0, B:0  null" in panel.text(scene)
    while timeline.forward() is not None:
        panel, scene = seen(timeline, "tablets")
        rows = timeline.state.tablets
        gone = any(each.host == "C" for row in rows for each in row.replicas)
        assert ("get_natural_endpoints()" in panel.text(scene)) >= gone
    assert "endpoints" not in panel.text(scene)
    assert "D:0" in panel.text(scene)


TWO = {"tablets": ("A B C", "B C A"), "moves": 2}


def asked(timeline: Timeline) -> int:
    """The counter of the plan's tab."""
    line = drawn(timeline, "plan", "plan:asked")
    assert line is not None
    return int(line.text().split()[8])


def yields(timeline: Timeline) -> bool:
    """Whether the coordinator has something of the balancer to decide on."""
    actions = timeline.model.actions(timeline.state)
    return any(isinstance(action, Tablets.begin_transition) for action in actions)


@pytest.mark.spec("E-025")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_counter_of_plans_grows_with_each_change_of_a_stage_alone(edition: Edition) -> None:
    """While there is something to begin it is offered."""
    timeline = Timeline(build("tablets", {**TWO, "edition": edition}))
    assert asked(timeline) == 0
    timeline.do(FindImbalance())
    assert (asked(timeline), yields(timeline)) == (1, True)
    calls, offered = 1, 0
    while (moment := timeline.forward()) is not None:
        before = timeline.moments[moment.parent].state
        stages = [
            [[way.stage for way in row.transitions] for row in s.tablets]
            for s in (before, moment.state)
        ]
        changed = isinstance(moment.action, CommitDecision) and stages[0] != stages[1]
        calls += changed
        assert asked(timeline) == calls
        if changed and moment.state.moves:
            assert yields(timeline)
            offered += 1
    assert calls > 10
    assert offered


@pytest.mark.spec("E-025")
def test_the_balancer_is_not_asked_while_a_request_waits() -> None:
    """Stages go on to their end, and nothing begins."""
    timeline = Timeline(
        build("tablets", {**TWO, "edition": "documents", "operations": ("join E",)})
    )
    timeline.do(FindImbalance())
    while not any(row.transitions for row in timeline.state.tablets):
        begin = (a for a in timeline.model.actions(timeline.state)
                 if isinstance(a, (Tablets.begin_transition, CommitDecision)))  # fmt: skip
        timeline.do(next(begin))
    timeline.do(MakeRequest(0))
    calls = asked(timeline)
    while any(row.transitions for row in timeline.state.tablets):
        assert not yields(timeline)
        assert timeline.forward() is not None
        assert asked(timeline) == calls


def length(timeline: Timeline, boot: Boot) -> float:
    """The length of D's bar, which says the same as its words."""
    bar = drawn(timeline, "losses", "boot:D")
    assert bar is not None
    assert ("has replaced C" in bar.text()) == boot.over
    assert ("D boots in place of C" in bar.text()) != boot.over
    wide = [float(each.get("width") or 0) for each in bar.walk() if each.tag == "rect"]
    full, done = (*wide, 0.0)[:2]
    assert done == pytest.approx(full * boot.rebuilt / boot.total)
    return done


@pytest.mark.spec("E-034")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_replace_is_shown_as_finished_with_the_last_rebuilt_tablet(edition: Edition) -> None:
    """D is normal before, and its bar grows with each tablet."""
    timeline = Timeline(build("tablets", {**REPLACE, "edition": edition}))
    assert drawn(timeline, "losses", "boot:D") is None
    waited, lengths, last = 0, [], None
    while timeline.forward() is not None:
        for boot in boots(timeline.model, timeline.state):
            rows = timeline.state.tablets
            left = sum(any(each.host == "C" for each in row.replicas) for row in rows)
            normal = timeline.state.control.topology.nodes[3].state == "normal"
            assert boot == Boot("D", "C", 4 - left, 4, normal and not left)
            waited += normal and not boot.over
            if boot != last:
                lengths.append(length(timeline, boot))
                last = boot
    assert waited
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 5
    panel, scene = seen(timeline, "losses")
    assert "D has booted and has replaced C: 4 of 4 tablets rebuilt." in panel.text(scene)
