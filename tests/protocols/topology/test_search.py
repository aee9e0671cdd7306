"""Searches of the control model: complete with all safeguards on, a counterexample without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Model, always, sometimes, step
from kit.model.registry import build, entry_of, rows_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.group0.rules.releases import Release
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.topology.control import voting, with_topology
from kit.protocols.topology.rules.cluster import NOBODY, with_node
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.rules.work import may_tie
from kit.protocols.topology.symmetry import ControlSymmetry, bystanders, renamed
from kit.protocols.topology.topology import (
    CommitDecision,
    DoWork,
    ExcludeNode,
    MakeRequest,
    row_name,
)
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.quality.breaking import broken, changing, never, unguarded
from tests.quality.reporting import assert_reported, judges

OPERATIONS = ("join D", "replace D C", "leave C", "remove C", "rebuild C")


SMALL = ("join D --zero-token", "replace D C --zero-token", "new_cdc_generation", "cleanup", "lock")


MOST = 300_000


"""States that a search of each landing may have."""


def searched(edition: Edition, words: str, **given: Any) -> Any:
    """A search with all safeguards on; alike nodes and state ids are joined."""
    parameters = {"edition": edition, "operations": (words,), **given}
    result = check(build("topology", parameters), symmetry=True, max_states=MOST)
    assert result.violation is None, result.violation
    assert result.complete, result
    assert not result.unreached
    return result


@pytest.mark.sweep(3)
@pytest.mark.spec("D-033", "D-049")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", [*OPERATIONS, *SMALL])
def test_a_failure_and_a_new_coordinator_break_no_promise(edition: Edition, words: str) -> None:
    """Anywhere in each operation, which can always end."""
    zero = ("C",) if words.startswith("replace") and "zero" in words else ()
    searched(edition, words, failures=1, changes=1, zero_tokens=zero)


LONGEST = tuple(product(("join D", "leave C"), EDITIONS))


LONG = (*LONGEST, *(("replace D C", edition) for edition in EDITIONS))


@pytest.mark.spec("D-048", "D-049")
@pytest.mark.parametrize(
    ("words", "edition"),
    [
        pytest.param(*pair, marks=[pytest.mark.deep] if pair in LONG else [])
        for pair in product(OPERATIONS, EDITIONS)
    ],
)
def test_a_crash_and_a_new_coordinator_break_no_promise(words: str, edition: Edition) -> None:
    """Anywhere in each operation, which can always end."""
    searched(edition, words, crashes=1, changes=1)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-048", "D-049")
@pytest.mark.parametrize(("words", "edition"), LONG)
def test_the_longest_operations_with_a_crash_break_no_promise(words: str, edition: Edition) -> None:
    """Another coordinator only follows one that died."""
    searched(edition, words, crashes=1)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "leave C"])
def test_a_crash_a_failure_and_a_new_leader_break_nothing(edition: Edition, words: str) -> None:
    """All three anywhere in the two longest operations."""
    searched(edition, words, crashes=1, changes=1, failures=1)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-024", "D-025", "D-045", "F-008")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS)
def test_late_streams_and_clients_never_outlive_a_barrier(edition: Edition, words: str) -> None:
    """And at most two versions are served."""
    searched(edition, words, late=1, clients=1)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("words", OPERATIONS)
@pytest.mark.parametrize("given", [{"late": 1}, {"clients": 1}], ids=str)
def test_a_failed_barrier_of_the_documents_breaks_no_promise(
    words: str, given: dict[str, int]
) -> None:
    """With a late stream, or with a client's request of an older version."""
    searched("documents", words, failures=1, **given)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("given", [{"tablets": 1}, {"tablets": 1, "on_tablets": ("C",)}], ids=str)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "leave C", "remove C"])
def test_operations_and_the_tablet_track_exclude_each_other(
    edition: Edition, words: str, given: dict[str, Any]
) -> None:
    """Tablets that move, or cannot be moved, beside a node operation."""
    searched(edition, words, failures=1, **given)


# What edition server costs where a barrier's drain fails and it goes on all the same.
COSTS = (
    pytest.param("sessions", "join D", {"late": 1, "failures": 1}, id="sessions"),
    pytest.param("shut-down-unused", "leave C", {"clients": 1, "failures": 1}, id="shut-down"),
    pytest.param(
        "live-versions", "leave C", {"clients": 1, "cuts": 1}, id="live", marks=pytest.mark.deep
    ),
)


@pytest.mark.parametrize(("broken", "words", "given"), COSTS)
def test_a_failed_drain_costs_edition_server_a_promise(
    broken: str, words: str, given: dict[str, Any]
) -> None:
    """A known cost: the server goes on. Edition documents waits, and keeps the promise."""
    parameters = {"operations": (words,), **given}
    code = check(build("topology", {"edition": "server", **parameters}), symmetry=True)
    assert (code.violation, code.complete) == (None, True)
    assert broken in [met.property for met in code.costs]
    assert searched("documents", words, **given)


def test_no_vote_is_given_without_a_coordinator() -> None:
    """As where the coordinator died before the command that made the joiner normal came through."""

    def given(before: Any, action: Any, after: Any) -> str | None:
        new = voting(after) & ~voting(before)
        return "a vote that nobody gave" if new and after.coordinator == NOBODY else None

    model = build("topology", {"edition": "server", "operations": ("join D",), "crashes": 1})
    result = check(model, (step("voters", "Voters", given),), symmetry=True)
    assert (result.violation, result.complete) == (None, True)


def test_a_failure_forced_by_a_dead_node_spends_no_budget() -> None:
    """No failure is allowed; the leave still fails in some run."""
    model = build("topology", {"operations": ("leave C",), "crashes": 1})

    def spent(s: Any) -> str | None:
        allowed = model.start().faults.failures
        return None if s.faults.failures == allowed else "a failure was counted"

    def failed(s: Any) -> bool:
        return any(request.error for request in s.topology.requests)

    judges = always("budget", "Failures", spent), sometimes("failed", "The leave fails", failed)
    result = check(model, judges)
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(("edition", "off"), [("documents", ""), ("server", "refuse-live-removal")])
def test_ignoring_a_live_node_lets_an_older_request_run_on(edition: Edition, off: str) -> None:
    """The documents allow it; the server refuses such a removal (S-40)."""
    given = {"nodes": 4, "operations": ("remove D",), "ignored": ("C",), "clients": 1}
    model = build("topology", {"edition": edition, **given}, off=(off,) if off else ())
    violation = check(model, symmetry=True).violation
    assert violation is not None
    assert violation.property == "older-over"


RARE = {"fault": 0.1, "elect": 0.05}


FAULTS: dict[str, Any] = {"failures": 1, "nodes": 3}


# An operation for each machine; tablets on a leaving node are drained by its own machine or before.
WALKED: tuple[dict[str, Any], ...] = (
    {"operations": ("join D",)},
    {"operations": ("replace D C",)},
    {"operations": ("replace D C",), "tablets": 1},
    {"operations": ("leave C",), "on_tablets": ("C",)},
    {"operations": ("remove C",), "on_tablets": ("C",)},
    {"operations": ("join D --zero-token",)},
    {"operations": ("replace D C --zero-token",), "zero_tokens": ("C",)},
    {"operations": ("rebuild C",)},
    {"operations": ("new_cdc_generation", "cleanup")},
    {"operations": ("lock",)},
    {"operations": ("keyspace_rf_change ks dc1=3",)},
    {"operations": ("truncate_table ks.t",), "on_tablets": ("A", "B")},
    {"operations": (), "tablets": 1},
    {"operations": (), "tablets": 1, "resizes": 1},
)


def walks(edition: Edition, seeds: int) -> Iterator[Any]:
    """What the walks of each configuration of an edition met."""
    for given in WALKED:
        model = build("topology", {"edition": edition, **FAULTS, **given})
        yield fuzz(model, range(seeds), steps=150, weights=RARE, within=0)


@pytest.mark.parametrize("seeds", [50, pytest.param(150, marks=pytest.mark.deep)])
@pytest.mark.parametrize("edition", EDITIONS)
def test_random_walks_take_every_edge_of_every_machine(edition: Edition, seeds: int) -> None:
    """Over every operation, with work that fails; they break nothing."""
    drawn = {
        row_name(name, edge)
        for name, machine in MACHINES[edition].items()
        if name != "node"
        for edge in machine.edges
    }
    untaken, found_wrong = set(drawn), []
    for walked in walks(edition, seeds):
        untaken -= set(walked.rows) - set(walked.untaken)
        found_wrong += list(walked.findings)
    assert not found_wrong
    assert not untaken


def test_a_model_is_covered_by_the_machines_of_its_requests() -> None:
    """And by no others."""
    names = rows_of(build("topology", {"operations": ("join D", "leave C")})).names
    machines = {name.partition(":")[0] for name in names}
    assert machines == {"bootstrapping", "decommissioning"}


def test_the_tablet_track_of_an_rf_change_is_no_row_to_cover() -> None:
    """The run goes on to the track, and takes only the row that leads there."""
    model: Any = build("topology", {"operations": ("keyspace_rf_change ks dc1=3",)})
    rows, timeline = rows_of(model), played_out(Timeline(model))
    taken = {
        row
        for step in timeline.passed()
        for row in rows.taken(step.before, step.action, step.after)
    }
    assert rows.names == ("keyspace_rf_change: * → tablet_migration",)
    assert taken == {*rows.names}


@pytest.mark.parametrize(
    ("given", "alike"),
    [
        ({"operations": ("leave D",), "edition": "documents"}, "ABC"),
        ({"operations": ("leave D",), "edition": "server"}, ""),
        (
            {"operations": ("leave D",), "ignored": ("C",), "down": ("C",), "edition": "documents"},
            "AB",
        ),
        ({"operations": ("leave D",), "ignored": ("B",), "edition": "documents"}, "AC"),
        ({"operations": (), "on_tablets": ("A",), "edition": "documents"}, "BCD"),
        ({"operations": (), "on_tablets": ("A",), "edition": "server"}, "BC"),
        ({"operations": (), "zero_tokens": ("C",), "edition": "documents"}, "ABD"),
        ({"operations": (), "newer": ("B",), "edition": "documents"}, "ACD"),
    ],
    ids=str,
)
def test_a_node_that_stands_out_is_not_interchangeable(given: dict[str, Any], alike: str) -> None:
    """By its name in a request, by being down, ignored or newer, by tokens, or by tablets."""
    model: Any = build("topology", {"nodes": 4, **given})
    assert "".join(model.names[node] for node in bystanders(model)) == alike


# racks of all nodes, release, whether a node leaves -> whether equal nodes may be chosen by number
TIES: list[tuple[tuple[str, ...], Release, bool, bool]] = [
    (("dc1/r1",) * 4, "master", False, False),
    (("dc1/r1",) * 5, "master", False, True),
    (("dc1/r1",) * 2, "master", True, False),
    (("dc1/r1",) * 3, "master", True, True),
    (("dc1/r1", "dc1/r2", "dc1/r2"), "master", False, True),
    (("dc1/r1", "dc2/r1", "dc2/r1"), "2025.3", False, True),
    (("dc1/r1",) * 9, "2025.1", True, False),
]


@pytest.mark.parametrize(("racks", "release", "leaves", "ties"), TIES)
def test_voters_tie_only_where_equal_nodes_may_be_chosen(
    racks: tuple[str, ...], release: Release, leaves: bool, ties: bool
) -> None:
    """Where all vote, or voters keep their votes, it does not matter which node is which."""
    assert may_tie(racks, VoterRules(release), leaves=leaves) is ties


NAMED = {"nodes": 4, "operations": ("leave D",), "edition": "documents"}


@pytest.mark.parametrize(
    "faults",
    [
        {"cuts": 1, "crashes": 1},
        {"changes": 1, "clients": 1},
        {"late": 1, "failures": 1},
        {"addresses": 2},
        {"configurations": 2, "racks": ("dc1/a",) * 4},
        {"operations": ("cleanup",), "crashes": 1},
    ],
    ids=str,
)
def test_two_bystanders_that_change_places_make_the_same_state(faults: dict[str, Any]) -> None:
    """A search visits a single state for them."""
    model: Any = build("topology", {**NAMED, **faults})
    stands_for = ControlSymmetry(model)
    states, known = [model.start()], {model.start()}
    for state in states:
        fresh = [after for _, after in model.successors(state) if after not in known]
        known.update(fresh)
        states += dict.fromkeys(fresh)
        if len(states) > 600:
            break
    assert len(stands_for.alike) > 2
    for state in states:
        for first, second in combinations(stands_for.alike, 2):
            places = list(range(len(state.applied)))
            places[first], places[second] = second, first
            other = renamed(state, tuple(places))
            assert stands_for(other)[0] == stands_for(state)[0], (first, second, state)


Broken = Callable[[], Model[Any, Any]]


Change = Callable[[Any, Any], Any]


SMALLEST = {guard.name: guard.smallest for guard in entry_of("topology").safeguards}


def without(off: str, **given: Any) -> Broken:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("topology", {**SMALLEST[off], **given}, (off,))


def spoiling(action: type, change: Change, edition: str = "server") -> Broken:
    """The model, where a step also changes the tables: ``change(tables, action)``."""
    spoiled = changing(lambda s, a, after: with_topology(after, change(after.topology, a)))
    return lambda: broken(build("topology", {"nodes": 2, "edition": edition}), action, spoiled)


REPORTED: dict[str, Broken] = {
    "one-operation": spoiling(
        CommitDecision,
        lambda t, a: with_node(with_node(t, 0, state="removing"), 1, state="leaving"),
    ),
    "own-state": spoiling(CommitDecision, lambda t, a: replace(t, transition="rollback_to_normal")),
    "tablets-apart": spoiling(
        CommitDecision, lambda t, a: replace(t, tablets="moving"), edition="documents"
    ),
    "tablets-hold": without("tablet-track-excludes"),
    "tokenless": spoiling(MakeRequest, lambda t, a: with_node(t, 0, zero_token=True)),
    "left-final": without("refuse-left"),
    "members": spoiling(MakeRequest, lambda t, a: replace(t, members=t.members | 1 << 2)),
    "left-silent": without("refuse-live-removal"),
    "clean-first": without("cleanup-first"),
    "sessions": without("sessions"),
    "guarded": without("commit-with-guard"),
    "majority": lambda: broken(
        build("topology", {"nodes": 2, "crashes": 1, "exclusions": 1}), ExcludeNode, unguarded
    ),
    "versions": spoiling(CommitDecision, lambda t, a: replace(t, fence_version=t.version + 1)),
    "live-versions": lambda: build(
        "topology", {"operations": ("leave C",), "clients": 1}, ("fencing", "barrier-drains")
    ),
    "older-over": without("barrier-drains"),
    "shut-down-unused": without("drain-before-leaving"),
    "no-way-back": without("no-rollback-after-switch"),
    "node-edges": spoiling(MakeRequest, lambda t, a: with_node(t, 2, state="normal")),
    "transition-edges": spoiling(
        MakeRequest, lambda t, a: replace(t, transition="write_both_read_new")
    ),
    "success": lambda: build("topology", {"edition": "server", "down": ("B",)}),
    "ends": lambda: broken(build("topology", {"nodes": 2}), DoWork, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all of them."""
    assert set(REPORTED) == set(judges(build("topology")))
