"""Requests on the screen: epochs on arrows, who is asked to catch up, plans, leftovers, gossip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.lessons import both_worlds
from kit.model.registry import build
from kit.model.scenario import file_named, files, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.events import Completed, Delivered
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.panels.spacetime import SPACETIME, events, run_of, sentences
from kit.protocols.storage.storage import Start
from kit.ring import natural
from kit.search.check import check
from kit.search.fuzz import Walker
from kit.spark import sweep
from kit.views.panel import Scene, scene_at
from kit.widgets import Player
from tests.protocols.dataplane.test_search import missed_between

FILES = [path for name, path in files().items() if name.startswith("dataplane/")]


def scenes(path: Path) -> list[Scene]:
    """The scenes of a scenario file."""
    timeline = open_file(path)
    timeline.goto(timeline.tip)
    return [scene_at(timeline, moment) for moment in timeline.path(timeline.tip)]


@pytest.mark.sweep(3)
@pytest.mark.spec("A-005")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_serving_requests_computes_no_placement(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table counts one computation for the start and one for each committed epoch."""
    timeline = open_file(path)
    asked: list[int] = []
    monkeypatch.setattr(natural, "clockwise", lambda *_: asked.append(1))
    timeline.goto(timeline.tip)
    again = Timeline.along(timeline.model, [s.action for s in _steps(timeline)])
    assert asked == []
    for moment in again.path(again.tip):
        scene = scene_at(again, moment)
        epochs = scene.model.newest_epoch(scene.state) - scene.model.history.epochs[0].epoch
        times = 1 + epochs
        assert f"Placements computed: {times}." in GROUPS.text(scene), moment


def _steps(timeline: Timeline) -> list[Any]:
    return [timeline.moments[moment] for moment in timeline.path(timeline.tip)[1:]]


@pytest.mark.sweep(3)
@pytest.mark.spec("A-015", "B-027", "B-032")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_arrow_of_a_story_carries_the_epoch_of_its_sender(path: Path) -> None:
    """So do answers and copies. Where epochs are not exchanged the label is a dash."""
    last = scenes(path)[-1]
    told, drawn = run_of(last), SPACETIME.draw(last).text()
    is_told = last.model.switches.safeguards.epoch_exchange
    for label in (each.label for each in told.arrows if not each.label.endswith(" back")):
        assert "@" in label
        assert ("@–" not in label) is is_told
    for step, event in events(last):
        if isinstance(event, Delivered):
            epochs = event.epoch, event.answers
            carried, answered = (f"@{'–' if each is None else each}" for each in epochs)
            met = {each.target: each.label for each in told.arrows if each.ended_at == step + 1}
            assert met[event.replica].endswith(carried)
            assert event.late or met[event.coordinator].endswith(answered)
            assert step < told.first or met[event.replica] in drawn


@pytest.mark.sweep(3)
@pytest.mark.spec("A-016", "B-033", "B-038")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_coordinator_catches_up_to_the_epoch_of_the_replica_that_answers(path: Path) -> None:
    """The sentence names replica and epoch, and so does a mark at the coordinator."""
    last = scenes(path)[-1]
    marks = run_of(last).marks
    for step, event in events(last):
        if isinstance(event, Delivered) and event.adopted is not None:
            assert event.adopted == event.answers
            said, unit = sentences(last)[step], last.model.history.unit
            assert f"{event.replica}, at " in said
            assert f"{event.coordinator} hears of {unit} {event.adopted} and catches up." in said
            mark = event.coordinator, step + 1, f"↑{event.adopted} from {event.replica}"
            assert mark in {(each.node, each.at, each.label) for each in marks}


def test_the_story_plan_revalidated_shows_a_coordinator_catch_up() -> None:
    """So the test above has an answer with a newer epoch to judge."""
    text = SPACETIME.text(scenes(file_named("dataplane/plan-revalidated"))[-1])
    assert "B, at epoch 101, takes write 1; K1 hears of epoch 101 and catches up." in text


@pytest.mark.spec("A-027")
def test_the_worked_bootstrap_leaves_data_on_its_former_replica() -> None:
    """C is no replica of (100, 150], and no step but a cleanup by hand removes the write."""
    path = file_named("dataplane/not-owned-worked-example")
    last = scenes(path)[-1]
    model: Any = last.model
    assert model.history.label == "(100, 150]"
    rows = {row.name: row for row in facts.replicas(model, last.state)}
    assert (rows["C"].role, rows["C"].cell, rows["C"].not_owned) == ("no replica", "write 1", True)
    assert not any(rows[name].not_owned for name in "BX")
    [said] = [line for line in LANES.text(last).splitlines() if line.startswith("  C: ")]
    assert "holds w1" in said
    assert said.endswith("data not owned: no longer a replica, nothing cleans it up automatically")
    todo = [last.state]
    for _ in range(6):  # whatever happens next, it stays
        todo = [after for state in todo for _, after in model.successors(state)]
        code = model.code["C"]
        assert all(state.cells[code] == last.state.cells[code] for state in todo)


@pytest.mark.sweep(3)
@pytest.mark.spec("B-026")
@pytest.mark.parametrize(("written", "read"), [(103, 101), (100, 102)])
@pytest.mark.parametrize("delay", [1, 4])
def test_by_gossip_a_read_misses_a_write_planned_two_epochs_apart(
    written: int, read: int, delay: int
) -> None:
    """A longer RING_DELAY does not help: the run just has more ticks."""
    model = build("dataplane", {"rf": 1, "mode": "gossip", "ring_delay": delay})
    found = check(model, (), monitors=(missed_between(model, written, read),))
    assert found.violation is not None
    verbs = [model.verb(action) for action in found.violation.actions]
    assert f"write 1 at epoch {written}" in verbs
    assert f"read 2 at epoch {read}" in verbs
    assert verbs.count("tick") >= delay


@pytest.mark.spec("B-026")
@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("gossip-invisible-write", (103, {"C", "X"}), (101, {"A", "B"})),
        ("gossip-lost-write", (100, {"A", "B"}), (102, {"C", "X"})),
    ],
)
def test_the_gossip_stories_show_both_anomalies_with_their_epochs_and_quorums(
    name: str, write: Any, read: Any
) -> None:
    """Write and read both succeed. Mode and delay are controls of the Player."""
    timeline = open_file(file_named(f"dataplane/{name}"))
    timeline.goto(timeline.tip)
    assert [verdict.name for verdict in timeline.verdicts() if not verdict.ok] == ["visible"]
    starts = [one.action for one in _steps(timeline) if isinstance(one.action, Start)]
    assert [start.epoch for start in starts] == [write[0], read[0]]
    ended = [e for one in scenes(file_named(f"dataplane/{name}"))[1:] for e in _events(one)]
    ends = [event for event in ended if isinstance(event, Completed)]
    assert [event.ok for event in ends] == [True, True]
    assert [set(event.plan[0].counted) for event in ends] == [write[1], read[1]]
    controls = Player(timeline).controls
    assert controls is not None
    assert {value for _, value in controls.fields["mode"].options} == {"log", "gossip"}
    assert controls.fields["mode"].value == "gossip"
    assert controls.fields["ring_delay"].value == 1


def _events(scene: Scene) -> tuple[Any, ...]:
    return scene.model.happened(scene.before, scene.action, scene.state)


@pytest.mark.spec("B-028", "B-035")
def test_the_player_offers_the_last_relevant_epoch_and_a_retry_as_controls() -> None:
    """The default is the newest epoch, and no retry."""
    controls = Player(Timeline(build("dataplane"))).controls
    assert controls is not None
    exchange, retry = controls.fields["exchange"], controls.fields["retry"]
    assert "relevant" in [value for _, value in exchange.options]
    assert exchange.value == "epoch"
    assert (retry.description, retry.value) == ("retry a stale plan", False)


@pytest.mark.spec("B-036")
def test_a_request_fails_with_a_log_and_succeeds_below_its_level_by_gossip() -> None:
    """Both worlds answer the same commands. Only the one by gossip breaks a promise."""
    worlds = both_worlds("gossip-below-its-level")
    rows = {command: (log, gossip) for command, log, gossip in worlds.rows}
    both = [command for command in rows if command.startswith("write 1")]
    assert all(rows[command][0] == rows[command][1] for command in both)
    log, gossip = rows["answer write 1"]
    assert log.endswith(
        "QUORUM is 3 of A, B, C, X, and it counts the answers from A, B. The request fails."
    )
    told = "tells its client: write 1 is done."
    assert gossip == f"K1, at epoch 101, has answers from A, B and {told}"
    log, gossip = rows["verdicts"]
    assert log == "all 6 promises hold"
    assert "at which QUORUM needs more than A, B" in gossip
    assert rows["tick"][0] == ""
    assert worlds.headings == ("command", "with a log", "by gossip")


@pytest.mark.sweep(3)
@pytest.mark.spec("B-039")
@pytest.mark.parametrize("lag", range(5))
def test_no_lag_of_a_coordinator_breaks_a_promise(lag: int) -> None:
    """Coordinators plan up to "lag" epochs behind, and the search is complete."""
    model: Any = build("dataplane", {"rf": 2, "lag": lag})
    found = check(model)
    assert found.violation is None, found
    assert found.complete, found
    behind = {
        model.newest_epoch(state) - action.epoch
        for state in _planned(model)
        for action in model.actions(state)
        if isinstance(action, Start)
    }
    assert behind == set(range(lag + 1))
    controls = Player(Timeline(model)).controls
    assert controls is not None
    numbers = [value for _, value in controls.fields["lag"].options]
    assert (numbers[:6], controls.fields["lag"].value) == ([None, 0, 1, 2, 3, 4], lag)


def _planned(model: Any) -> list[Any]:
    """The states after each committed epoch, nobody having asked anything."""
    timeline: Any = Timeline(model)
    states = [timeline.state]
    while model.newest_epoch(timeline.state) < model.history.epochs[0].epoch + 4:
        ready = [a for a in model.actions(timeline.state) if model.kind(a) != "request"]
        commits = [a for a in ready if model.kind(a) == "commit"]
        timeline.do((commits or ready)[0])
        if commits:
            states.append(timeline.state)
    return states


@pytest.mark.spec("B-039")
def test_without_the_barrier_the_anomaly_needs_a_lag_of_two_epochs() -> None:
    """With a lag of one a read at 101 misses no write at 103."""
    for lag in (1, 2):
        model = build("dataplane", {"rf": 1, "lag": lag}, ("progress-barrier",))
        found = check(model, (), monitors=(missed_between(model, 103, 101),))
        assert (found.violation is not None) is (lag == 2), lag


@pytest.mark.sweep(4)
@pytest.mark.spec("B-082")
@pytest.mark.parametrize("seed", range(40))
def test_each_success_of_a_random_run_counts_enough_replicas_of_its_plan(seed: int) -> None:
    """The counted replicas are in the plan, and have done what was asked."""
    asks = ("K1 write QUORUM", "K2 read QUORUM", "K1 write ALL", "K2 read ONE")
    given = {"requests": asks, "cancels": 1, "crashes": 1, "together": True}
    model: Any = build("dataplane", given)
    actions = Walker(model, steps=80).walk(seed).actions
    timeline = Timeline.along(model, actions)
    did: dict[int, set[str]] = {}
    for moment in timeline.path(timeline.tip)[1:]:
        scene = scene_at(timeline, moment)
        for event in _events(scene):
            if isinstance(event, Delivered) and not event.error:
                did.setdefault(event.request, set()).add(event.replica)
            elif isinstance(event, Completed) and event.ok:
                assert event.plan
                for quota in event.plan:
                    assert set(quota.counted) <= set(quota.replicas) & did[event.request]
                    assert len(quota.counted) >= quota.needed
                assert " Plan: " in sentences(scene)[-1]


@pytest.mark.spec("B-082")
def test_a_sweep_of_seeds_is_clean_only_with_every_safeguard() -> None:
    """Each seed has one row with its verdict."""
    seeds = range(5, 105)
    for off, clean in (((), True), (("write-before-read",), False)):
        rows = sweep(None, "dataplane", seeds, parameters={"rf": 1}, off=off).to_pylist()
        assert [row["seed"] for row in rows] == list(seeds), (off, clean)
        assert all(row["verdict"] == "clean" for row in rows) is clean, off
