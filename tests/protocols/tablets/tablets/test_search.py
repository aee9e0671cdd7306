"""Searches of the tablet tracks: complete with all safeguards on, a counterexample without."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kit.model.model import Refinement, Safeguard
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS
from kit.protocols.tablets.tablets import Tablets, refinement, rows
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import TakeDecision, row_name
from kit.search.check import Result, check, check_refinement
from tests.protocols.storage.proofs import assert_protects
from tests.protocols.topology.matrix import broken

MOST = 300_000
"""States that a search of each landing may have."""

SMALL: dict[str, Any] = {"nodes": 3, "tablets": ("A B",)}
OPERATIONS = ("leave B", "remove B", "replace D B", "join D")


def searched(edition: Edition, **given: Any) -> Result:
    """A search with all safeguards on, in which nothing is left out and nothing broken."""
    result = check(build("tablets", {"edition": edition, **SMALL, **given}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert not result.unreached
    return result


@pytest.mark.spec("E-019", "E-021")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "faults",
    [
        {"failures": 1, "changes": 1},
        {"crashes": 1, "exclusions": 1},
        {"failures": 1, "late": 1},
        pytest.param(
            {"nodes": 4, "tablets": ("A B C",), "crashes": 1, "exclusions": 1}
            | {"failures": 1, "late": 1},
            marks=pytest.mark.deep,
        ),
    ],
    ids=str,
)
def test_a_migration_with_faults_breaks_no_promise(
    edition: Edition, faults: dict[str, int]
) -> None:
    """Work fails, a node or the coordinator dies, or an RPC is late. The search is complete."""
    searched(edition, **faults)


@pytest.mark.spec("E-023")
@pytest.mark.parametrize("edition", EDITIONS)
def test_two_migrations_at_once_break_no_promise(edition: Edition) -> None:
    """Each is at its own stage, and work may fail. The search is complete."""
    searched(edition, tablets=("A", "B"), moves=2, failures=1)


@pytest.mark.spec("E-009", "E-019", "E-021")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"kinds": ("intranode_migration",), "shards": 2, "tablets": ("A:0 B:1",)},
        {"kinds": ("repair",)},
        {"kinds": ("migration",), "tables": ("ks.base", "ks.view")},
        {"moves": 0, "rebuild": "rebuild", "operations": ("keyspace_rf_change ks dc1=1",)},
        {"moves": 0, "operations": ("keyspace_rf_change ks dc1=3",)},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "faults", [{"failures": 1, "late": 1}, {"crashes": 1, "exclusions": 1}], ids=str
)
def test_moves_within_a_node_repairs_and_rf_changes_with_faults_break_no_promise(
    edition: Edition, faults: dict[str, int], given: dict[str, Any]
) -> None:
    """The search is complete. Only a repair never moves a replica."""
    parameters = {"edition": edition, **SMALL, **given, **faults}
    result = check(build("tablets", parameters), max_states=MOST)
    assert result.verdict == "complete"
    assert set(result.unreached) == ({"moved"} if given.get("kinds") == ("repair",) else set())


@pytest.mark.spec("E-027", "E-028", "E-031", "E-032")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS)
def test_a_topology_operation_beside_tablets_breaks_no_promise(
    edition: Edition, words: str
) -> None:
    """Tablets leave first, or are rebuilt after. The search is complete."""
    moves = 0 if words != "join D" else 1
    searched(edition, moves=moves, operations=(words,), failures=1)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave B", "remove B"])
def test_a_drain_without_a_place_never_succeeds(edition: Edition, words: str) -> None:
    """The complete search reaches neither "moved" nor "success"."""
    model = build(
        "tablets",
        {"edition": edition, "nodes": 2, "tablets": ("A B",), "operations": (words,)}
        | {"moves": 0},
    )
    result = check(model, max_states=MOST)
    assert result.verdict == "complete"
    assert set(result.unreached) == {"moved", "success"}


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("undone", [0, 1])
@pytest.mark.parametrize("words", ["leave B", "remove B"])
def test_a_drain_without_a_place_ends_whatever_failed_before(
    edition: Edition, undone: int, words: str
) -> None:
    """A balancing move before it may fail."""
    given = {"edition": edition, "nodes": 2, "tablets": ("A B", "A"), "operations": (words,)}
    result = check(build("tablets", {**given, "moves": 1, "undone": undone}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert "success" in result.unreached


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave B", "remove B"])
def test_a_drain_with_a_new_coordinator_breaks_no_promise(edition: Edition, words: str) -> None:
    """The search is complete."""
    searched(edition, moves=0, operations=(words,), changes=1)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("edition", "words"), [("server", "leave C"), ("server", "remove C"), ("documents", "remove C")]
)
def test_a_drain_beside_an_excluded_dead_node_breaks_no_promise(
    edition: Edition, words: str
) -> None:
    """Any node may die at any step. The search is complete."""
    searched(
        edition, nodes=4, tablets=("A B C",), moves=0, operations=(words,),
        crashes=1, exclusions=1, undone=1,
    )  # fmt: skip


def test_in_the_documents_a_decommission_waits_for_an_ignored_node_and_fails() -> None:
    """The way back does not wait for the dead node."""
    given = {"moves": 0, "operations": ("leave B",), "crashes": 1, "exclusions": 1}
    searched("documents", **given)
    timeline = Timeline(build("tablets", {"edition": "documents", **SMALL, **given}))
    model: Any = timeline.model
    while timeline.state.control.topology.transition != "write_both_read_old":
        assert timeline.forward() is not None
    for verb in ("crash C", "exclude C", "answer A", "answer B"):
        timeline.do(model.find(timeline.state, verb)[0])
    assert {model.verb(each) for each in model.actions(timeline.state)} == {"fail"}
    assert dict(model.waiting(timeline.state))[TakeDecision()].missing == ("C",)
    timeline.do(model.find(timeline.state, "fail")[0])
    while timeline.forward() is not None:
        pass
    topology = timeline.state.control.topology
    assert [each.state for each in topology.nodes] == ["normal"] * 3
    assert topology.requests[0].error


REBUILDS = ("rebuild", "rebuild_v2")
FAULTS: dict[str, Any] = {"nodes": 4, "failures": 2, "crashes": 1, "exclusions": 1, "late": 1}
ADDS: dict[str, Any] = {"moves": 0, "operations": ("keyspace_rf_change ks dc1=2",)}

WALKED: tuple[dict[str, Any], ...] = (
    {"nodes": 3, "tablets": ("A B",)},
    {"tablets": ("A:0 B:1",), "shards": 2, "kinds": ("intranode_migration",)},
    {"tablets": ("A B",), "kinds": ("repair",)},
    *({"nodes": 3, "tablets": ("A",), "rebuild": kind, **ADDS} for kind in REBUILDS),
)

WALKS, STEPS = 40, 60
"""The walks from each start, at most, and the steps of each."""

# With as many old replicas alive as new ones edition ``documents`` goes on: within a node both die
# at once, and a rebuild has no more old replicas alive than new ones.
UNTAKEN = {
    "documents": {
        row_name(kind, edge)
        for kind in ("intranode_migration", *REBUILDS)
        for edge in TRANSITIONS["documents"][kind].edges
        if edge.when == "more_old"
    },
    "server": set[str](),
}


def starts(model: Any) -> Iterator[TabletsState]:
    """The start, and the first state of each stage: all are well, or a new replica is lost.

    Reads lead back to the old replicas only where a new one is lost in one stage: a walk from the
    start seldom comes there.
    """
    state, seen = model.start(), set[str]()
    yield state
    while (action := model.suggest(state)) is not None:
        state = model.apply(state, action)
        for transition in state.tablets[0].transitions:
            if transition.stage not in seen:
                seen.add(transition.stage)
                yield state
                yield from (_lost(model, state, each.host) for each in transition.sets.pending)


def _lost(model: Any, state: TabletsState, host: str) -> TabletsState:
    for action in (cluster.CrashMember(host), cluster.ExcludeNode(host)):
        state = model.act(state, action)
    return state


def walked(model: Any, state: TabletsState, seed: int) -> Iterator[str]:
    """The rows that a walk takes; it breaks no property.

    Raises:
        AssertionError: naming what it breaks.
    """
    chance, taken = Random(seed), rows(model).taken
    for _ in range(STEPS):
        enabled = list(model.actions(state))
        if not enabled:
            return
        action = chance.choice(enabled)
        after = model.apply(state, action)
        wrong = broken(model, state, action, after)
        assert not wrong, f"seed {seed}: {wrong}"
        yield from taken(state, action, after)
        state = after


@pytest.mark.spec("E-007", "E-008", "E-017")
@pytest.mark.parametrize("edition", EDITIONS)
def test_walks_take_every_row_of_every_stage_table(edition: Edition) -> None:
    """Two editions and every kind. The rows that cannot be taken are named."""
    drawn = {row_name(name, edge) for name in KINDS for edge in TRANSITIONS[edition][name].edges}
    left = set(drawn)
    for given in WALKED:
        model = build("tablets", {"edition": edition, **FAULTS, **given})
        own, begun = set(rows(model).names), list(starts(model))
        for seed in range(WALKS):
            for state in begun:
                if own & left <= UNTAKEN[edition]:
                    break
                left -= set(walked(model, state, seed))
    assert left == UNTAKEN[edition]


@pytest.mark.parametrize("guard", Tablets.safeguards, ids=lambda guard: guard.name)
def test_each_safeguard_of_tablets_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks it. On, nothing is broken there."""
    assert_protects("tablets", guard)


@pytest.mark.spec("E-022")
def test_a_second_migration_of_a_tablet_in_transition_is_refused() -> None:
    """The reason names the transition. Once that has ended it may begin."""
    model = build("tablets", {"nodes": 3, "tablets": ("A", "A"), "moves": 2})
    state = model.start()
    for verb in ("imbalance", "migrate 0 A:0 B:0", "commit"):
        state = model.act(state, model.find(state, verb)[0])
    offered = {model.verb(action): refusal for action, refusal in model.options(state)}
    assert offered["migrate 1 A:0 C:0"] is None
    for verb in ("migrate 0 A:0 B:0", "migrate 0 A:0 C:0"):
        refusal = offered[verb]
        assert refusal is not None, verb
        assert refusal.reason == "tablet 0 is in transition: migration, allow_write_both_read_old"
    while state.tablets[0].transitions:
        [action] = [
            a
            for a in model.actions(state)
            if model.kind(a) in ("work", "decide", "commit")
            and not model.verb(a).startswith("migrate")
        ][:1]
        state = model.act(state, action)
    assert "migrate 0 B:0 C:0" in [model.verb(action) for action in model.actions(state)]


def test_without_the_tracks_exclusion_a_replica_is_left_on_a_node_that_left() -> None:
    """S-26: a tablet moves to the very node that is leaving."""
    given = {"nodes": 3, "tablets": ("A",), "operations": ("leave B",), "edition": "server"}
    model = build("tablets", given, ("tablet-track-excludes",))
    only = tuple(prop for prop in model.properties if prop.name == "replicas-on-members")
    found = check(model, only).violation
    assert found is not None
    assert "which has left" in found.witness


TO_THREE = ("keyspace_rf_change ks dc1=3",)

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "failures, a new coordinator": {"failures": 1, "changes": 1},
    "crash of a node that is excluded": {"crashes": 1, "exclusions": 1},
    "nodes answer one by one": {"answering": True, "failures": 1},
    "late RPC": {"failures": 1, "late": 1},
    "two tablets": {"tablets": ("A", "B"), "moves": 2},
    "leave": {"moves": 0, "operations": ("leave B",), "failures": 1, "undone": 1},
    "leave while tablets move": {"moves": 1, "operations": ("leave B",)},
    "leave without a place": {"tablets": ("A B C", "A"), "moves": 1, "operations": ("leave B",)},
    "remove": {"moves": 0, "operations": ("remove B",), "failures": 1, "undone": 1},
    "RF change": {"moves": 0, "operations": TO_THREE, "failures": 1, "late": 1},
    "RF change, a new coordinator": {"moves": 1, "operations": TO_THREE, "changes": 1},
    "RF change that is refused": {"operations": ("keyspace_rf_change ks dc1=9",), "changes": 1},
    "truncate": {"moves": 1, "operations": ("truncate_table ks.t",), "crashes": 1},
    "replace": {"moves": 0, "operations": ("replace D B",), "failures": 1},
    "join while tablets move": {"moves": 1, "operations": ("join D",)},
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_step_of_tablets_is_a_step_or_stutter_of_the_topology(
    edition: Edition, name: str
) -> None:
    """The refinement is checked in every reachable state."""
    given = {"edition": edition, "nodes": 3, "tablets": ("A B",), **CONFIGURATIONS[name]}
    found = check_refinement(refinement(Tablets.Parameters(**given)))
    assert found.violation is None, found.violation
    assert found.complete, found
    assert found.states > 40


def test_a_refinement_that_forgets_replica_changes_is_refuted() -> None:
    """So the check does tell maps apart."""
    both = refinement(Tablets.Parameters(nodes=3, tablets=("A B",)))

    def lazy(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        return both.image(before, action, after)[:0]

    wrong = Refinement(both.fine, both.coarse, both.project, lazy)
    assert check_refinement(wrong).violation is not None
