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
def test_no_run_breaks_a_promise(name: str) -> None:
    """The search is complete, ways back included, and finds no harm from any schedule: each stage
    is committed only when its condition holds.
    """
    parameters, states, depth = CLEAN[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_no_large_run_breaks_a_promise(name: str) -> None:
    """The same for configurations that take longer; none has more than a million states."""
    parameters, states, depth = LARGE[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)
    assert found.states <= MOST_STATES


@pytest.mark.parametrize("name", BROKEN)
def test_each_safeguard_is_needed(name: str) -> None:
    """Switched off, the search finds the harm, with a shortest run that replays to it."""
    found, model = search(dict(GUARDS[name].smallest), name)
    assert_needed(found, model, GUARDS[name], BROKEN[name])


def test_a_failed_repair_leaves_a_copy_behind() -> None:
    """S-24: without sessions it brings back what is deleted (INV-NORES)."""
    found, model = search(REPAIRED, "sessions")
    steps = verbs(found, model)
    late = steps.index("late copy of session 1, B to A")
    assert steps.index("give up to end_repair") < steps.index("collect-tombstones A") < late


@pytest.mark.deep
def test_a_migration_that_is_tried_again_needs_sessions_too() -> None:
    """Its run is a file of the kit, which each landing plays."""
    found, model = search({**AGAIN, "late": 1}, "sessions")
    assert_needed(found, model, GUARDS["sessions"], ("no-resurrection", 46))


def test_a_tombstone_outlives_what_a_session_that_is_open_still_lets_in() -> None:
    """A has not heard that the repair is over: it collects nothing until it has."""
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
def test_each_safeguard_is_enough(name: str) -> None:
    """Switched on, the same configuration is among those that are searched without harm."""
    wanted = GUARDS[name].smallest
    assert wanted in [parameters for parameters, _, _ in (*CLEAN.values(), *LARGE.values())]


def test_every_safeguard_has_a_test() -> None:
    """The list of runs names all safeguards that the model has, with their ids."""
    assert sorted(BROKEN) == sorted(GUARDS)
    assert sorted(guard.id for guard in GUARDS.values()) == [
        "S-20", "S-21", "S-22", "S-23", "S-24", "S-25", "S-46", "S-57", "S-61",
    ]  # fmt: skip


def verbs(found: Any, model: Any) -> list[str]:
    """The steps of a counterexample as lines of a scenario file."""
    return [model.verb(action) for action in found.violation.actions]


def test_the_documents_way_back_loses_a_write() -> None:
    """Edition ``documents`` leaves ``write_both_read_new`` backwards in one step: where the
    excluded target answers later, one coordinator writes to the old set, another one reads the new
    set.
    """
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


def test_a_coordinator_that_is_cut_off_leaves_data_where_it_does_not_belong() -> None:
    """S-20: with nothing else judged the search goes on to the harm to ownership. The write of a
    version that is long over reaches the old replica once that is cleaned up, and stays.
    """
    model = built({**ONE, **SERVER, "excluded": "K1"}, ("fencing",))
    found = check(model, tuple(p for p in model.properties if p.name == "replicas-hold"))
    assert found.violation is not None
    assert "A holds data of a tablet that it has no replica of" in found.violation.witness
    steps = verbs(found, model)
    assert steps.index("write 1 at version 10") < steps.index("exclude K1")
    assert steps.index("cleanup A") < steps.index("write 1 reaches A")


@pytest.mark.spec("E-018")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_way_back_is_chosen_by_both_counts(edition: Edition) -> None:
    """Out of write_both_read_new the way back is open once more new than old replicas are lost;
    before, it says how many are of either set.
    """
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


def test_the_published_count_refuses_what_both_sets_could_take() -> None:
    """While a dead replica is rebuilt its place counts, too: with the target dead as well two of
    four are left, a quorum of either set, and edition server refuses the write (Q-48).
    """
    given = {"kind": "rebuild_v2", "crashes": 1}
    found, model = search({**given, **SERVER})
    assert found.violation is not None
    assert found.violation.property == "available"
    assert verbs(found, model)[3] == "crash D"
    assert len(found.violation.actions) == 9


def test_a_dead_target_loses_no_write() -> None:
    """Under the condition of Q-09 nobody reads the target that made the stage fail."""
    found, _ = search({**ONE, "crashes": 1}, lost=True)
    assert found.violation is None
    assert found.complete


def test_an_excluded_coordinator_that_lives_may_miss_a_write() -> None:
    """Who is excluded must be dead: a replica that lags admits the read of one that lives."""
    found, model = search({**ONE, **SERVER, "excluded": "K2"})
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert "exclude K2" in verbs(found, model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_random_runs_of_three_replicas(kind: str, edition: str) -> None:
    """Seeded walks with lost messages, time-outs and crashes: each promise is kept."""
    given = {"losses": 2, "timeouts": True, "late": 1, "edition": edition, "kind": kind}
    weights = {"commit": 0.3, "lose": 0.05}
    if edition == "server":
        given, weights = {**given, "crashes": 1}, {**weights, "crash": 0.02}
    found = fuzz(built(given), range(100), steps=150, weights=weights)
    assert found.walks == 100
    assert found.findings == ()


def test_a_search_meets_every_stage() -> None:
    """Each event of a history is taken by some run, and coverage has a row for it."""
    model = built({**ONE, "second": "again"})
    met = {edge.verb for epoch in model.history.epochs for edge in epoch.edges}
    assert check(model).complete
    assert {"roll back to cleanup_target", "commit fence_version", "commit no transition"} <= met


MOST_LISTED = 500_000


def test_the_table_is_current() -> None:
    """It holds every configuration with its states and steps, and which target runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_what_every_landing_searches_fits() -> None:
    """All runs of ``make test`` together have at most half a million states."""
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


def test_states_that_differ_in_names_are_joined_and_no_others() -> None:
    """All states are walked: the search up to symmetry has one for each pair, and exchanging the
    names twice gives the state back.
    """
    model = built(WRITE)
    assert isinstance(model.symmetry, StayingReplicas)
    every, joined = orbits(model)
    whole, half = check(model, (), monitors=()), check(model, (), monitors=(), symmetry=True)
    assert (whole.states, half.states) == (every, joined)
    assert half.violation is None
    assert every * 0.5 < joined < every * 0.75


def test_what_streams_from_a_replica_that_stays_names_it() -> None:
    """Without S-57 B streams, so that C is not like it; without others both are."""
    assert built(WRITE, ("stream-from-leaving",)).symmetry is None
    assert built(WRITE, ("sessions",)).symmetry is not None


@pytest.mark.deep
def test_a_migration_up_to_names() -> None:
    """The same verdict as of the search that joins none, with four sevenths of its states."""
    result = check(built({**SERVER, "rf": 3}), symmetry=True)
    assert (result.violation, result.verdict, result.states) == (None, "up to symmetry", 79_795)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_is_that_of_its_table(kind: TransitionKind, edition: Edition) -> None:
    """Selectors, sessions and copies of each epoch are those of its row, ways back included."""
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
            assert set(history.names(group)) == placed
        assert bool(epoch.session) == (row.name in in_session(table))
        assert bool(epoch.copies) == any(w.name in ("stream", "repair") for w in row.work)


def _place(kind: TransitionKind, replica: TabletReplica) -> str:
    """Where data lie: within a node the shard is named, too."""
    within = kind == "intranode_migration" and replica.host == "A"
    return str(replica) if within else replica.host
