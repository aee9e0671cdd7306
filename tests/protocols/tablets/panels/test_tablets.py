"""What a student sees of many tablets: the grid, stages with selectors, the table, what travels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.flows import as_timeuuid, flows
from kit.engine.registry import build, entries
from kit.engine.timeline import Timeline
from kit.protocols.tablets.facts import tablets as facts
from kit.protocols.tablets.panels.tablets import standing
from kit.protocols.tablets.rules import replica_sets
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.tablets.tablets import Tablets
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import check_frame, panel_text, scenes, walk

SCENARIOS = [f"tablets/{one.name}" for one in entries()["tablets"].scenarios]


def starting(off: tuple[str, ...] = (), **given: Any) -> Timeline:
    """A cluster with tablets."""
    return Timeline(build("tablets", given, off))


def until(timeline: Timeline, there: Callable[[Any], bool]) -> Timeline:
    """The default schedule, as far as a state."""
    while not there(timeline.state):
        assert timeline.forward() is not None
    return timeline


def stage(name: str) -> Callable[[Any], bool]:
    """The condition that tablet 0 is in a stage."""
    return lambda s: any(each.stage == name for each in s.tablets[0].transitions)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_stage_says_whom_requests_use(edition: Any) -> None:
    """At each stage the selectors and replicas are those of the table of stages."""
    timeline = starting(edition=edition, moves=1)
    seen = []
    while timeline.forward() is not None:
        for each in facts.stages(timeline.model, timeline.state):
            row = TRANSITIONS[edition]["migration"].state(each.stage)
            sets = timeline.state.tablets[0].transitions[0].sets
            assert (each.reads, each.read_from) == (row.reads, sets.chosen(row.reads))
            assert (each.writes, each.written_to) == (row.writes, sets.chosen(row.writes))
            assert [work.name for work in each.work] == [work.name for work in row.work]
            assert f"reads {row.reads} ({replica_sets.words(each.read_from)})" in panel_text(
                timeline, "now"
            )
            seen += [each.stage] if seen[-1:] != [each.stage] else []
    assert seen[0] == "allow_write_both_read_old"
    assert seen[-1] == "end_migration"
    none, *held = panel_text(timeline, "now").splitlines()
    assert none == "  No tablet is in transition."
    assert "  group 0, transition state: null" in held
    assert "  A: normal, coordinator, version 3, fence 1" in held
    # The diagram lights the same way, and ends where the table does.
    assert panel_text(timeline, "stages").splitlines()[0].split(" → ") == [
        "  ●", *seen, "◎"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "notes"),
    [("leave C", ["", "", "leaves", ""]), ("rebuild C", [""] * 4), ("rebuild B", [""] * 4)],
)
def test_a_node_that_asks_to_leave_is_noted_before_anything_is_decided(
    operation: str, notes: list[str]
) -> None:
    """One that asks for something else stays, so that nothing is to be said of it."""
    timeline = starting(operations=(operation,))
    for told in ([""] * 4, notes):
        hosts = facts.grid(timeline.model, timeline.state).hosts
        assert [each.note for each in hosts] == told
        option = timeline.model.find(timeline.state, operation)
        if option is not None:
            timeline.do(option[0])


def test_a_failure_leads_aside_in_the_diagram() -> None:
    """A stream that fails, its target being dead, takes the tablet back: the way has that edge."""
    timeline = until(starting(edition="documents", crashes=1, moves=1), stage("streaming"))
    target = timeline.state.tablets[0].transitions[0].sets.pending[0].host
    for verb in (f"crash {target}", "fail work on 0"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    assert "stream failed" in panel_text(timeline, "now")
    until(timeline, stage("cleanup_target"))
    assert "streaming → cleanup_target" in panel_text(timeline, "stages")


@pytest.mark.spec("E-018")
@pytest.mark.parametrize("fails", [False, True])
def test_a_failure_that_leads_on_lights_its_own_edge(fails: bool) -> None:
    """In the documents a barrier that fails goes on where it would have led: one edge is lit."""
    timeline = until(
        starting(edition="documents", moves=1, failures=1), stage("write_both_read_new")
    )
    option = timeline.model.find(timeline.state, "fail barrier")
    assert option is not None
    if fails:
        timeline.do(option[0])
    until(timeline, stage("use_new"))
    place = standing(scene_of(timeline, timeline.at))
    ways = [way for way in place.diagram.transitions if way[0] == "write_both_read_new"]
    taken = [event for before, event, after in ways if place.took((before, event, after))]
    assert taken == (["error, more new replicas"] if fails else [""])


CHOICES: dict[tuple[str, tuple[str, ...]], str] = {
    ("documents", ()): "3 of old left, 3 of new left → use_new",
    ("documents", ("crash A",)): "2 of old left, 3 of new left → use_new",
    ("documents", ("crash D",)): "3 of old left, 2 of new left → cleanup_target",
    ("documents", ("crash B",)): "2 of old left, 2 of new left → use_new",
    ("server", ()): "0 of old excluded, 0 of new excluded → retried",
    ("server", ("crash D",)): "0 of old excluded, 0 of new excluded → retried",
    ("server", ("crash D", "exclude D")): (
        "0 of old excluded, 1 of new excluded → write_both_read_old_fallback_cleanup"
    ),
    ("server", ("crash A", "exclude A")): "1 of old excluded, 0 of new excluded → retried",
    ("server", ("crash B", "exclude B")): "1 of old excluded, 1 of new excluded → retried",
}


@pytest.mark.spec("E-018")
@pytest.mark.parametrize(("edition", "verbs"), CHOICES, ids=str)
def test_a_diamond_has_both_counts(edition: str, verbs: tuple[str, ...]) -> None:
    """In ``write_both_read_new`` it says what a failure would lead to, by which counts; before and
    after it there is none.
    """
    timeline = starting(edition=edition, moves=1, crashes=1, exclusions=1)
    assert "◇" not in panel_text(until(timeline, stage("streaming")), "now")
    until(timeline, stage("write_both_read_new"))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    assert f"if it fails: ◇ {CHOICES[edition, verbs]}" in panel_text(timeline, "now")
    drawn = next(each for each in for_model(timeline.model).panels if each.name == "now")
    assert f"◇ {CHOICES[edition, verbs]}" in drawn.draw(scene_of(timeline, timeline.at)).text()


def test_the_table_has_the_columns_of_system_tablets() -> None:
    """Within a transition the row has its new replicas, stage, kind and session, else none."""
    timeline = starting(edition="server", moves=1)
    assert panel_text(timeline, "tablets").strip() == (
        "tablet 0: last_token 9223372036854775807; replicas A:0, B:0, C:0"
    )
    until(timeline, stage("streaming"))
    row = panel_text(timeline, "tablets")
    new = timeline.state.tablets[0].transitions[0].new
    named = f"new_replicas {replica_sets.words(new)}"
    for words in (named, "stage streaming", "transition migration", f"session {as_timeuuid(1)}"):
        assert words in row
    assert "session 1: tablet 0 in streaming" in panel_text(timeline, "sessions")


def test_data_goes_from_the_chip_that_leaves_to_the_one_that_comes() -> None:
    """A stream travels from the leaving half to the pending one; a barrier goes round all nodes."""
    timeline = until(starting(edition="documents", moves=1), stage("streaming"))
    model, kinds = timeline.model, set()
    while (moment := timeline.forward()) is not None:
        before = timeline.moments[moment.parent].state
        moved = flows(model, before, moment.action, moment.state)
        if isinstance(moment.action, Tablets.work_on) and moved[0].kind == "data":
            assert (moved[0].from_key, moved[0].to_key) == (
                "tablet:ks.t:0:0",
                "tablet:ks.t:0:0:to:D:0",
            )
        if isinstance(moment.action, Tablets.pass_barrier):
            runs = facts.barrier(model, before)
            assert runs is not None
            assert len(moved) == 2 * len(runs.standing)
        kinds |= {(type(moment.action), flow.kind) for flow in moved}
    assert {(Tablets.work_on.struct, "data"), (Tablets.work_on.struct, "message"),
            (Tablets.pass_barrier.struct, "answer")} <= kinds  # fmt: skip


def test_two_transitions_of_a_tablet_are_both_shown() -> None:
    """With S-25 off the second transition has halves and a line of its own."""
    timeline = starting(("one-transition",), moves=2, nodes=5, tablets=("A B C",))
    until(timeline, lambda s: len(s.tablets[0].transitions) == 1)
    while len(timeline.state.tablets[0].transitions) < 2:
        begins = [a for a in timeline.model.actions(timeline.state)
                  if isinstance(a, Tablets.begin_transition)]  # fmt: skip
        timeline.do(begins[0]) if begins else timeline.forward()
    check_frame(scene_of(timeline, timeline.at))
    assert panel_text(timeline, "now").count("tablet 0, migration") == 2
    assert " and " in panel_text(timeline, "tablets")


def test_hundreds_of_tablets_are_listed_as_far_as_they_matter() -> None:
    """Of many tablets the row that moves is in the table, the others are counted."""
    tablets = tuple(f"{a} {b} {c}" for a, b, c in ("ABC", "BCD", "CDA", "DAB")) * 50
    timeline = until(starting(tablets=tablets, moves=1), lambda s: any(r.transitions
                     for r in s.tablets))  # fmt: skip
    number = next(i for i, row in enumerate(timeline.state.tablets) if row.transitions)
    words = panel_text(timeline, "tablets")
    assert f"tablet {number}:" in words
    assert "and 152 rows more" in words


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ((), "K3"),
        ((0,), "K3"),
        ((1,), "K7"),
        ((2,), "K2"),
        ((3,), "K6"),
        ((1, 2), "K7"),
        ((0, 3), "K3"),
    ],
)
def test_a_sharder_is_asked_for_the_first_key_that_changed(
    changed: tuple[int, ...], key: str
) -> None:
    """By token, tablets have K3, K7 K4, K2 K1 K5 K8, K6; where none changed, it is the first."""
    timeline = starting(tablets=("A:0 B:0",) * 4)
    model: Any = timeline.model
    given = facts.tablet_map(model, timeline.state)
    rows = given.tablets
    tablets = tuple(replace(row, session=1) if n in changed else row for n, row in enumerate(rows))
    newest = replace(given, tablets=tablets)
    assert facts.asked_about(newest, given).key == key
