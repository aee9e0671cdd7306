"""How the coordinator enters the tablet track and leaves it, and who may hold it up."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import Result, check
from tests.outcomes import acted, refused
from tests.protocols.tablets.tablets.test_commanded import reached
from tests.protocols.topology.test_never_hangs import orders
from tests.quality.breaking import broken, unguarded
from tests.views.frames import after


@pytest.mark.spec("E-024")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_tablet_track_begins_with_its_plan_in_one_command(edition: Edition) -> None:
    """While a request waits no migration may begin."""
    given = {"nodes": 3, "tablets": ("A B",), "operations": ("bootstrap D",)}
    model = build("tablets", {"edition": edition, **given})
    state = acted(model, model.start(), "imbalance")
    assert any(model.verb(each).startswith("migrate") for each in model.actions(state))
    asked = acted(model, state, "bootstrap D")
    assert not any(model.verb(each).startswith("migrate") for each in model.actions(asked))
    asked = acted(model, asked, "decide", "commit")
    assert asked.control.topology.transition == "join_group0"
    assert not asked.in_transition
    assert "plan goes into the same command" in refused(model, state, "decide")
    state = acted(model, state, "migrate 0 A:0 C:0")
    assert not state.in_transition
    assert state.control.topology.transition == ""
    state = acted(model, state, "commit")
    assert state.in_transition
    assert state.control.topology.transition == "tablet_migration"


@pytest.mark.spec("E-026")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_request_stops_new_migrations_and_waits_for_the_running_one(edition: Edition) -> None:
    """Then the track ends, and the request begins."""
    given = {"nodes": 4, "tablets": ("A B", "A B"), "moves": 2, "operations": ("leave D",)}
    model = build("tablets", {"edition": edition, **given})
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 C:0", "commit")
    begins = [a for a in model.actions(state) if model.verb(a).startswith("migrate 1")]
    assert begins
    state = acted(model, state, "leave D")
    while state.in_transition:
        assert not [a for a in model.actions(state) if model.verb(a).startswith("migrate")]
        assert state.control.topology.nodes[3].state == "normal"
        state = model.act(state, model.suggest(state))
    state = acted(model, state, "move tablets to A B C", "decide", "commit", "decide", "commit")
    assert state.control.topology.nodes[3].state == "decommissioning"


def test_in_the_server_a_join_begins_before_running_migrations_end() -> None:
    """The tablet's transition waits, and goes on after the join."""
    given = {"nodes": 2, "tablets": ("A",), "operations": ("join C",), "edition": "server"}
    model = build("tablets", given)
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 B:0", "commit", "join C")
    state = acted(model, state, "decide", "commit")
    assert state.control.topology.transition == "join_group0"
    assert state.in_transition
    assert "holds the state machine" in refused(model, state, "barrier")
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert state.control.topology.nodes[2].state == "normal"
    assert [str(each) for each in state.tablets[0].replicas] == ["B:0"]


@pytest.mark.spec("E-058")
def test_a_transition_works_on_every_co_located_table() -> None:
    """A stream of some tables leaves no data that counts as whole."""
    given = {"nodes": 3, "tablets": ("A B",), "tables": ("ks.base", "ks.view")}
    model = build("tablets", given)
    state, said = model.start(), list[str]()
    while (action := model.suggest(state)) is not None:
        if model.verb(action) == "work on 0":
            said.append(model.label(state, action).partition(": ")[2])
            [transition] = state.tablets[0].transitions
            if said[-1] == "stream (ks.view)":
                assert transition.done == 1
                assert "C:0" not in map(str, state.tablets[0].whole)
        state = model.act(state, action)
    assert said == [
        f"{work} ({table})"
        for work in ("stream", "cleanup_leaving")
        for table in ("ks.base", "ks.view")
    ]
    assert list(map(str, state.tablets[0].replicas)) == ["C:0", "B:0"]


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"tablets": ("A",)}, ["migrate 0 A:0 B:0", "migrate 0 A:0 C:0"]),
        (
            {"tablets": ("A",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")},
            ["migrate 0 A:0 C:0"],
        ),
        ({"tablets": ("A C",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")}, []),
        (
            {"tablets": ("A",), "nodes": 5, "kinds": ("add_tablet_replica",)},
            [f"rebuild-tablet-v2 0 {name}:0" for name in "BCDE"],
        ),
        ({"tablets": ("A",), "kinds": ("migration", "repair"), "balancing": False},
         ["repair-tablet 0"]),
        ({"tablets": ("A",), "kinds": ("intranode_migration",), "balancing": False}, []),
        ({"tablets": ("A",), "moves": 0, "kinds": ("repair",)}, []),
    ],
)  # fmt: skip
def test_the_balancer_begins_only_moves_within_a_rack_and_asked_kinds(
    given: dict[str, Any], begins: list[str]
) -> None:
    """With balancing off operators' repairs alone may begin."""
    model: Any = build("tablets", {"nodes": 3, **given})
    moves = [Tablets.begin_transition.struct(*each) for each in model.balance_moves(model.start())]
    assert [model.verb(each) for each in moves] == begins


TO_THREE = ("keyspace_rf_change ks dc1=3",)
SMALL: dict[str, Any] = {"nodes": 3, "tablets": ("A B",), "answering": True}


def searched(edition: Edition, **given: Any) -> Result:
    """A search in which nodes apply stages in steps of their own."""
    return check(build("tablets", {"edition": edition, **SMALL, **given}), max_states=1_000_000)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"changes": 1},
        {"late": 1},
        {"moves": 0, "operations": ("leave B",)},
        pytest.param({"tablets": ("A B", "B A"), "moves": 2}, marks=pytest.mark.deep),
        pytest.param({"nodes": 4, "tablets": ("A B C",), "changes": 1}, marks=pytest.mark.deep),
        pytest.param({"nodes": 4, "moves": 0, "operations": TO_THREE}, marks=pytest.mark.deep),
    ],
    ids=str,
)
def test_no_two_nodes_are_more_than_one_stage_of_a_tablet_apart(
    edition: Edition, given: dict[str, Any]
) -> None:
    """Coordinators change, and RPCs are late. The search is complete."""
    result = searched(edition, **given)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_a_failed_barrier_after_the_read_switch_breaks_no_promise() -> None:
    """The documents go on to use_new once all nodes that are up have answered."""
    result = searched("documents", failures=1)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_without_the_answers_of_live_nodes_a_node_falls_two_stages_behind() -> None:
    """The failed barrier is passed at once, and "one-stage" breaks."""
    model = build("tablets", {"edition": "documents", **SMALL, "failures": 1})
    hurried = broken(model, Tablets.fail_barrier.struct, unguarded)
    violation = check(hurried).violation
    assert violation is not None
    assert violation.property == "one-stage"


def test_a_failed_barrier_in_the_server_breaks_no_promise() -> None:
    """An excluded target leads back, one selector after the other."""
    result = searched("server", failures=1, crashes=1, exclusions=1)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_a_nodes_answer_to_a_barrier_counts_for_one_stage_alone() -> None:
    """Once a stage has changed all nodes are asked again."""
    model = build("tablets", SMALL)
    state = model.start()
    for verb in ("imbalance", "migrate 0 A:0 C:0", "commit", "answer stages A"):
        state = model.act(state, model.find(state, verb)[0])
    assert model.find(state, "barrier")[1].missing == ("B", "C")
    for verb in ("answer stages B", "answer stages C", "barrier", "decide", "commit"):
        state = model.act(state, model.find(state, verb)[0])
    assert model.find(state, "barrier")[1].missing == ("A", "B", "C")
    assert [state.views[at] for at in state.applied] == [state.views[0]] * 3
    state = model.act(state, model.find(state, "apply stages B")[0])
    assert state.views[state.applied[1]] == state.views[-1]


GIVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A",), "moves": 2}


def played(given: dict[str, Any], *verbs: str) -> Timeline[Any, Any]:
    """A history without the guard, in which each verb is done as soon as it may be."""
    timeline = Timeline(build("tablets", {**GIVEN, **given}, off=("S-59",)))
    for verb in verbs:
        reached(timeline, verb)
    return timeline


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_the_guard_a_late_command_makes_the_pending_decision_stale(
    edition: Edition,
) -> None:
    """The state id of group 0 stays, though its tables have changed."""
    timeline = played(
        {"edition": edition, "nodes": 3, "changes": 1},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"),
        *("decide", "commit", "barrier", "decide"),
    )
    assert not timeline.state.command.stale
    before = timeline.state.control.state_id
    reached(timeline, "commit deposed")
    assert timeline.state.control.state_id == before
    assert timeline.state.command.stale


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_the_guard_a_late_command_counts_until_its_successor_commits(edition: Edition) -> None:
    """Afterwards it is void."""
    given = {**GIVEN, "edition": edition, "nodes": 3, "changes": 1}
    for verb, stage in (
        ("commit deposed", "write_both_read_old"),
        ("commit", "allow_write_both_read_old"),
    ):
        timeline = Timeline(build("tablets", given))
        for each in ("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"):
            reached(timeline, each)
        assert timeline.state.deposed is not None, (verb, stage)
        reached(timeline, verb)
        assert timeline.state.deposed is None, (verb, stage)
        [way] = timeline.state.tablets[0].transitions
        assert way.stage == stage, (verb, stage)


OPERATIONS = (
    "bootstrap E", "decommission C", "truncate_table ks.t", "keyspace_rf_change ks dc1=3", "",
)  # fmt: skip

BESIDE: dict[str, dict[str, Any]] = {
    "a move": {},
    "a repair": {"kinds": ("repair",)},
    "a failure": {"failures": 1},
    "an undone operation": {"undone": 1, "moves": 0},
}

PLACED = ((3, ("A",)), (3, ("A B",)), (3, ("A B C",)), (4, ("A B", "B C")))
FEW, MANY = 400, 2_000


def beside_the_dead(
    most: int, edition: Edition, what: str, nodes: int, tablets: tuple[str, ...], asks: str
) -> None:
    """An operation while B is dead, or dies at any step, whether or not B is removed."""
    given = {"edition": edition, "nodes": nodes, "tablets": tablets, **BESIDE[what]}
    for goes, dies in product(("removenode B", "replace F B", ""), (False, True)):
        fate: dict[str, Any] = {"down": (), "crashes": 1} if dies else {"down": ("B",)}
        for operations in orders(asks, goes):
            model = build("tablets", {**given, **fate, "operations": operations})
            found = check(model, max_states=most)
            assert found.violation is None, (operations, fate, found.violation)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-080", "D-042")
@pytest.mark.parametrize("placed", PLACED, ids=str)
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
def test_an_operation_beside_a_dead_node_breaks_no_promise_in_the_documents(
    asks: str, what: str, placed: tuple[int, tuple[str, ...]]
) -> None:
    """The nearest steps of each run are searched."""
    beside_the_dead(FEW, "documents", what, *placed, asks)


@pytest.mark.deep
@pytest.mark.parametrize("placed", PLACED, ids=str)
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_operation_beside_a_dead_node_breaks_no_promise_in_many_steps(
    edition: Edition, asks: str, what: str, placed: tuple[int, tuple[str, ...]]
) -> None:
    """Both editions are searched."""
    beside_the_dead(MANY, edition, what, *placed, asks)


def test_a_tablet_without_a_live_replica_is_a_known_cost_of_the_server() -> None:
    """Its removal never ends."""
    given = {"edition": "server", "nodes": 3, "tablets": ("A B",), "crashes": 1}
    result = check(build("tablets", {**given, "operations": ("removenode B",)}))
    assert (result.verdict, result.broken and result.broken.property) == ("known cost", "ends")


def test_in_the_documents_a_removal_is_rolled_back_when_a_tablet_has_no_live_replica() -> None:
    """The reason names the replica that was lost."""
    given = {"nodes": 3, "tablets": ("A", "B"), "moves": 0, "crashes": 1, "down": ()}
    asked = {"operations": ("removenode B",)}
    timeline = after("tablets", {**given, **asked}, "crash B", "remove B", "decide", "commit")
    found = timeline.model.find(timeline.state, "fail")
    assert found is not None
    timeline.do(found[0])
    assert timeline.moments[timeline.at].say == "Draining fails: no live replica is left of B:0."
    while timeline.forward() is not None:
        pass
    control = timeline.state.control.topology
    assert (control.nodes[1].state, control.requests[0].error) == ("normal", True)
