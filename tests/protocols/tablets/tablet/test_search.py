"""Every reachable state of a tablet: all holds; without a safeguard it does not."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.timeline import Timeline
from kit.protocols.storage.storage import ApplyEpoch
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.tablets.tablet import StayingReplicas
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.protocols.dataplane.table import assert_current, parsed
from tests.protocols.storage.proofs import assert_holds, assert_needed
from tests.protocols.tablets.answers import in_session
from tests.protocols.tablets.tablet.runs import (
    AGAIN,
    BROKEN,
    CLEAN,
    GUARDS,
    LARGE,
    ONE,
    REPAIRED,
    SERVER,
    TWO,
    built,
    search,
)
from tests.protocols.tablets.tablet.table import PLACE

MOST_STATES = 1_000_000

LEFT_BEHIND = (
    *("write 1 at version 10", "write 1 reaches A", "write 1 reaches B", "answer write 1"),
    *("delete 2 at version 10", "delete 2 reaches A", "plan repair", "apply A", "apply B"),
    *("copy B to A", "delete 2 reaches B", "answer delete 2", "give up to end_repair"),
)
"""B's old data is on its way to A as both learn of the deletion and the repair is given up."""


@pytest.mark.spec("E-012", "E-013", "E-014", "E-015", "E-016")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CLEAN)
def test_requests_of_a_moving_tablet_break_no_promise(name: str) -> None:
    """The search is complete, ways back included."""
    parameters, states, depth = CLEAN[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_requests_of_a_moving_tablet_break_no_promise_in_large_runs(name: str) -> None:
    """The search is complete, and has at most a million states."""
    parameters, states, depth = LARGE[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)
    assert found.states <= MOST_STATES


@pytest.mark.parametrize("name", BROKEN)
def test_a_tablet_without_one_safeguard_breaks_the_promise_of_that_safeguard(name: str) -> None:
    """The shortest run has as many steps as the table says, and replays to the same violation."""
    found, model = search(dict(GUARDS[name].smallest), name)
    assert_needed(found, model, GUARDS[name], BROKEN[name])


def test_without_sessions_a_late_copy_of_a_failed_repair_comes_after_the_tombstone() -> None:
    """S-24: the repair is given up, the tombstone collected, and then the copy lands."""
    found, model = search(REPAIRED, "sessions")
    steps = verbs(found, model)
    late = steps.index("late copy of session 1, B to A")
    assert steps.index("give up to end_repair") < steps.index("collect-tombstones A") < late


@pytest.mark.deep
def test_a_retried_migration_without_sessions_brings_deleted_data_back() -> None:
    """The shortest run has 46 steps."""
    found, model = search({**AGAIN, "late": 1}, "sessions")
    assert_needed(found, model, GUARDS["sessions"], ("no-resurrection", 46))


def test_a_tombstone_is_not_collected_while_its_session_is_open() -> None:
    """A has not heard that the repair is over. Then it may collect."""
    model = built(REPAIRED)
    timeline = Timeline(model)
    for line in LEFT_BEHIND:
        timeline.do(next(a for a in model.actions(timeline.state) if model.verb(a) == line))
    waiting = {model.verb(a): refusal for a, refusal in model.waiting(timeline.state)}
    assert waiting["collect-tombstones A"].missing == ("A",)
    timeline.do(ApplyEpoch("A"))
    enabled = {model.verb(action) for action in model.actions(timeline.state)}
    assert {"collect-tombstones A", "late copy of session 1, B to A"} <= enabled


@pytest.mark.parametrize("name", BROKEN)
def test_the_smallest_configuration_of_each_safeguard_is_searched_with_all_on(name: str) -> None:
    """So that safeguard, and nothing else, keeps the promise there."""
    wanted = GUARDS[name].smallest
    assert wanted in [parameters for parameters, _, _ in (*CLEAN.values(), *LARGE.values())]


def test_the_table_of_broken_tablets_names_every_safeguard() -> None:
    """A new safeguard needs a run that breaks without it."""
    assert sorted(BROKEN) == sorted(GUARDS)
    assert sorted(guard.id for guard in GUARDS.values()) == [
        "S-20", "S-21", "S-22", "S-23", "S-24", "S-25", "S-46", "S-57", "S-61",
    ]  # fmt: skip


def verbs(found: Any, model: Any) -> list[str]:
    """The steps of a counterexample as lines of a scenario file."""
    return [model.verb(action) for action in found.violation.actions]


def test_the_documents_way_back_past_an_excluded_target_loses_a_write() -> None:
    """Its first sign is that coordinator and replica are more than one stage apart."""
    given = {**ONE, "excluded": "D"}
    found, model = search(given, lost=True)
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert verbs(found, model)[11:14] == [
        "commit write_both_read_new",
        "exclude D",
        "roll back to cleanup_target",
    ]
    # Its first sign is that coordinator and replica are more than one stage apart.
    first, _ = search(given)
    assert first.violation is not None
    assert first.violation.property == "one-stage-apart"


def test_without_fencing_an_old_write_lands_on_a_replica_after_cleanup() -> None:
    """S-20: the write of an excluded coordinator stays on A, which has no replica any more."""
    model = built({**ONE, **SERVER, "excluded": "K1"}, ("fencing",))
    found = check(model, tuple(p for p in model.properties if p.name == "replicas-hold"))
    assert found.violation is not None
    assert "A holds data of a tablet that it has no replica of" in found.violation.witness
    steps = verbs(found, model)
    assert steps.index("write 1 at version 10") < steps.index("exclude K1")
    assert steps.index("cleanup A") < steps.index("write 1 reaches A")


@pytest.mark.spec("E-018")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_way_back_opens_once_more_new_than_old_replicas_are_lost(edition: Edition) -> None:
    """Before that the refusal counts both."""
    model = built({"edition": edition, "excluded": "D"})
    timeline = Timeline(model)
    while stage_of(model.newest(timeline.state)) != "write_both_read_new":
        timeline.forward()
    (back,) = (a for a, _ in model.waiting(timeline.state) if "roll back" in model.verb(a))
    refusal = dict(model.waiting(timeline.state))[back]
    assert refusal.reason == "too few nodes are down or excluded: 0 of B, C, D, 0 of A, B, C"
    (exclude,) = (a for a in model.actions(timeline.state) if model.verb(a) == "exclude D")
    after = model.apply(timeline.state, exclude)
    assert back in list(model.actions(after))
    stage = {"documents": "cleanup_target", "server": "write_both_read_old_fallback_cleanup"}[
        edition
    ]
    assert stage_of(model.newest(model.apply(after, back))) == stage


def test_the_server_refuses_a_write_that_has_quorums_in_both_sets() -> None:
    """Q-48: while a dead replica is rebuilt its place counts, and the target dies as well."""
    given = {"kind": "rebuild_v2", "crashes": 1}
    found, model = search({**given, **SERVER})
    assert found.violation is not None
    assert found.violation.property == "available"
    assert verbs(found, model)[3] == "crash D"
    assert len(found.violation.actions) == 9


def test_a_migration_whose_target_dies_loses_no_write() -> None:
    """Q-09: no read asks the target that made the stage fail."""
    found, _ = search({**ONE, "crashes": 1}, lost=True)
    assert found.violation is None, found
    assert found.complete, found


def test_a_live_coordinator_that_is_excluded_misses_a_write() -> None:
    """A replica that lags admits its read."""
    found, model = search({**ONE, **SERVER, "excluded": "K2"})
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert "exclude K2" in verbs(found, model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_random_walks_of_a_tablet_break_no_promise(kind: str, edition: str) -> None:
    """The walks have lost messages, time-outs, late copies and crashes."""
    given = {"losses": 2, "timeouts": True, "late": 1, "edition": edition, "kind": kind}
    weights = {"commit": 0.3, "lose": 0.05}
    if edition == "server":
        given, weights = {**given, "crashes": 1}, {**weights, "crash": 0.02}
    found = fuzz(built(given), range(100), steps=150, weights=weights)
    assert found.walks == 100
    assert found.findings == ()


def test_the_history_of_a_retried_migration_has_its_fence_and_its_way_back() -> None:
    """The search of that history is complete."""
    model = built({**ONE, "second": "again"})
    met = {edge.verb for epoch in model.history.epochs for edge in epoch.edges}
    assert check(model).complete
    assert {"roll back to cleanup_target", "commit fence_version", "commit no transition"} <= met


def test_a_second_migration_moves_the_replica_that_stayed() -> None:
    """Of two replicas each moves once."""
    history = built({**TWO, "second": "other"}).history
    plans = {edge.verb for epoch in history.epochs for edge in epoch.edges}
    assert {"plan migration of A to D", "plan migration of B to E"} <= plans


MOST_LISTED = 500_000


def test_the_table_of_tablet_searches_is_current() -> None:
    """It holds every configuration with its states and steps, and the target that runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_the_tablet_searches_of_make_test_stay_below_half_a_million_states() -> None:
    """Their states are added up from the table."""
    rows = [row for row in parsed(PLACE.read_text(encoding="utf-8")) if row.target == "make test"]
    assert sum(row.states for row in rows) <= MOST_LISTED


WRITE: dict[str, Any] = {**SERVER, "rf": 3, "requests": ("K1 write QUORUM",)}


def orbits(model: Any) -> tuple[int, int]:
    """How many states there are, and how many up to names, by a walk that joins none."""
    start = model.start()
    seen, pending = {start}, [start]
    while pending:
        state = pending.pop()
        for action in model.actions(state):
            after = model.act(state, action)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return len(seen), len({model.symmetry(state)[0] for state in seen})


def test_symmetry_joins_exactly_the_states_that_differ_in_names() -> None:
    """Both counts agree with a walk that joins none."""
    model = built(WRITE)
    assert isinstance(model.symmetry, StayingReplicas)
    every, joined = orbits(model)
    whole, half = check(model, (), monitors=()), check(model, (), monitors=(), symmetry=True)
    assert (whole.states, half.states) == (every, joined)
    assert half.violation is None, half
    assert every * 0.5 < joined < every * 0.75


def test_a_staying_replica_that_streams_is_not_symmetric_to_others() -> None:
    """Without S-57 B streams. Without sessions B and C are alike."""
    assert built(WRITE, ("stream-from-leaving",)).symmetry is None
    assert built(WRITE, ("sessions",)).symmetry is not None


@pytest.mark.deep
def test_a_migration_up_to_symmetry_breaks_no_promise() -> None:
    """The search has 79,795 states."""
    result = check(built({**SERVER, "rf": 3}), symmetry=True)
    assert (result.violation, result.verdict, result.states) == (None, "up to symmetry", 79_795)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_epoch_of_a_tablet_has_the_selectors_of_its_stage(
    kind: TransitionKind, edition: Edition
) -> None:
    """So have its sessions and copies, ways back included."""
    table = TRANSITIONS[edition][kind]
    history = built({"kind": kind, "edition": edition}).history
    old = (TabletReplica("A"), TabletReplica("B"), TabletReplica("C"))
    target = TabletReplica("A", 1) if kind == "intranode_migration" else TabletReplica("D")
    new = old if kind == "repair" else (target, *old[1:])
    sets = ReplicaSets(old, new)
    met = {stage_of(epoch) for epoch in history.epochs}
    assert met == {row.name for row in table.states} | {NO_TRANSITION}
    for epoch in history.epochs:
        if stage_of(epoch) == NO_TRANSITION:
            continue
        row = table.state(stage_of(epoch))
        view = epoch.view
        for group, selector in ((view.reads, row.reads), (view.writes, row.writes)):
            assert set(history.names(group)) == {each.host for each in sets.chosen(selector)}
        for group, selector in ((view.read_at, row.reads), (view.written_at, row.writes)):
            placed = {_place(kind, each) for each in sets.chosen(selector)}
            assert set(history.names(group)) == placed, selector
        assert bool(epoch.session) == (row.name in in_session(table))
        assert bool(epoch.copies) == any(w.name in ("stream", "repair") for w in row.work)


def _place(kind: TransitionKind, replica: TabletReplica) -> str:
    """Where data lie: within a node the shard is named, too."""
    within = kind == "intranode_migration" and replica.host == "A"
    return str(replica) if within else replica.host
