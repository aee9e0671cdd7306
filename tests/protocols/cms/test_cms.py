"""The members of the CMS, searched: they change, are lost, and heal whatever goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, Refusal
from kit.model.registry import build, entry_of
from kit.model.scenario import files, open_file
from kit.model.timeline import played_out
from kit.protocols.cms.cms import Cms, alive, entries_of, is_forced
from kit.protocols.cms.rules.members import letters, parsed
from kit.search.check import check, check_refinement
from kit.views.panel import scene_of
from tests.faults import MATRIX, FaultRow, Healing
from tests.views.frames import after, go_on


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"edition": "server", "longest": 7},
        {"electorate": "heard"},
        {"nodes": 2, "crashes": 1, "longest": 7},
        {"nodes": 4, "members": 3, "crashes": 1, "edition": "server", "changes": 0, "longest": 8},
        {"nodes": 3, "newcomers": 1, "longest": 7},
        {"nodes": 2, "members": 2, "losses": 1, "changes": 0, "longest": 4},
        {"nodes": 4, "members": 3, "changes": 0, "electorate": "heard"},
    ],
)
def test_no_change_of_cms_members_breaks_a_promise(given: dict[str, Any]) -> None:
    """The search of each configuration is complete."""
    result = check(build("cms", given))
    assert result.complete, result
    assert result.violation is None, result


SERVER: dict[str, Any] = {"edition": "server", "orders": 0}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("given", "states"),
    [
        ({"nodes": 2, "members": 2, "addresses": 2}, 65),
        ({"nodes": 3, "members": 3, "addresses": 3, "changes": 0, "longest": 4}, 2_477),
        ({"nodes": 3, "members": 2, "addresses": 1, "orders": 1, "changes": 0}, 3_735),
        ({"nodes": 3, "members": 1, "orders": 2, "changes": 0, "longest": 9}, 5_475),
    ],
)
def test_new_addresses_and_ignored_nodes_break_nothing(given: dict[str, Any], states: int) -> None:
    """Each search is complete, in so many states."""
    result = check(build("cms", SERVER | given))
    assert (result.complete, result.violation, result.states) == (True, None, states)


def test_members_with_new_addresses_meet_by_discovery() -> None:
    """Before, no member reaches another one and there is no quorum; in the end the log has both."""
    timeline = after("cms", {**SERVER, "nodes": 2, "members": 2, "addresses": 2, "requests": 1},
                     "new-address A", "new-address B")  # fmt: skip
    model, state = timeline.model, timeline.state
    assert [model.named(model.reached(state, node)) for node in range(2)] == [("A",), ("B",)]
    assert not model.has_quorum(state)
    assert not model.needs_override(state)
    why = {held.reason for _, held in scene_of(timeline, timeline.at).options() if held}
    assert {"A does not reach B", "B does not reach A", "no quorum of the replicas answers"} <= why
    go_on(timeline, "discover B A", "register A A A B", "register A B A B", "submit A A B")
    assert model.named(model.newest(timeline.state).moved) == ("A", "B")


def test_several_nodes_are_ignored_in_a_single_event() -> None:
    """A and B are to be replaced at once; refused where too few other nodes are up."""
    given = {"nodes": 4, "members": 3, "edition": "server", "longest": 9}
    timeline = after("cms", given)
    model, state = timeline.model, timeline.state
    refusal = model.why_not(state, Cms.ignore("A", ("A", "B"), ("A", "B")))
    assert refusal is None
    go_on(timeline, "ignore A A A B")
    assert letters(model.wanted(timeline.state, model.newest(timeline.state))) == "B C D"
    small = after("cms", {**given, "nodes": 3})
    held = small.model.why_not(small.state, Cms.ignore("A", ("A", "B"), ("A", "B")))
    assert isinstance(held, Refusal)
    assert held.reason == "too few nodes are up and free for a majority of that size"


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 2, "crashes": 1, "longest": 5},
        {**SERVER, "nodes": 3, "members": 2, "orders": 1, "longest": 5},
        {"newcomers": 1, "longest": 5},
        {**SERVER, "nodes": 2, "members": 2, "addresses": 1},
    ],
)
def test_each_step_refines_the_log_of_tcm(given: dict[str, Any]) -> None:
    """In the documents' edition and the server's: the same entry is appended, or nothing."""
    refinement = entry_of("cms").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("cms", given).parameters))
    assert (result.violation, result.complete) == (None, True)


def test_a_forced_entry_does_not_refine_the_log_of_tcm() -> None:
    """An override replaces what the log had, and the comparison ends there."""
    refinement = entry_of("cms").refinement
    assert refinement is not None
    given = {"nodes": 2, "members": 2, "corruptions": 1, "changes": 0, "orders": 0, "longest": 3}
    result = check_refinement(refinement(build("cms", given).parameters))
    assert result.violation is not None
    assert isinstance(result.violation.actions[-1], Cms.force_member)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("given", "states"),
    [
        ({"crashes": 1}, 171_209),
        ({"losses": 1, "changes": 0}, 152_190),
        ({"electorate": "heard", "longest": 7}, 48_824),
        ({"edition": "server", "electorate": "heard", "longest": 7}, 13_950),
        ({"nodes": 3, "crashes": 1, "losses": 1, "changes": 0}, 136_694),
    ],
)
def test_a_cms_of_four_nodes_breaks_no_promise(given: dict[str, Any], states: int) -> None:
    """A member leaves or is lost, and a fourth node takes its place."""
    result = check(build("cms", {"nodes": 4, "members": 3, **given}))
    assert (result.violation, result.complete, result.states) == (None, True, states)


@pytest.mark.parametrize(
    ("off", "given", "found"),
    [
        ("one-at-a-time", {"electorate": "heard"}, True),
        ("one-at-a-time", {"electorate": "prefix"}, False),
        ("log-transfer", {"electorate": "heard", "edition": "server"}, True),
        ("log-transfer", {"electorate": "prefix", "edition": "server"}, False),
    ],
)
def test_two_events_at_an_epoch_need_a_quorum_of_members_heard_of(
    off: str, given: dict[str, Any], found: bool
) -> None:
    """A proposer that takes its quorum from the log never gets there, whatever is off."""
    model = build("cms", {"nodes": 2, **given}, (off,))
    [log] = [each for each in model.properties if each.invariant == "INV-LOG"]
    assert (check(model, (log,)).violation is not None) is found


@pytest.mark.spec("B-054")
def test_a_snapshot_made_by_hand_makes_all_nodes_alike() -> None:
    """Corrupt nodes included."""
    timeline = open_file(files()["cms/corrupt-state"])
    model, state = timeline.model, timeline.moments[-1].state
    assert {model.known(state, node) for node in range(3)} == {model.known(state, 0)}
    assert not any(node.corrupt for node in state.nodes)
    assert len({node.log for node in state.nodes}) == 1


@pytest.mark.spec("B-052")
@pytest.mark.spec("B-055")
def test_without_a_majority_data_is_served_and_a_member_can_be_forced() -> None:
    """The forced entry is marked, and the CMS has a quorum again."""
    timeline = open_file(files()["cms/majority-lost"])
    model, last = timeline.model, timeline.moments[-1].state
    requests = (m.state for m in timeline.moments if isinstance(m.action, Cms.serve_request))
    served = [*requests][-1]
    assert not model.has_quorum(served)
    assert alive(model, served).bit_count() == 2
    assert model.has_quorum(last)
    marks = [is_forced(each) for each in entries_of(last.nodes[2].log)]
    assert marks == [False, True, False]


@pytest.mark.parametrize("longest", [4, pytest.param(6, marks=pytest.mark.deep)])
def test_reconfiguring_to_the_same_size_replaces_a_lost_member(longest: int) -> None:
    """By a node that is up; the search of it is complete."""
    given = {"nodes": 4, "members": 3, "edition": "server", "losses": 1, "longest": 7}
    timeline = after("cms", given, "lose C", "reconfigure A 3 A B")
    assert parsed(timeline.state.nodes[0].log.entries[-1].event) == ("reconfigure", 0b1011)
    played_out(timeline)
    assert timeline.model.newest(timeline.state).readers == 0b1011
    assert check(build("cms", {**given, "changes": 0, "longest": longest})).complete


def test_only_a_node_of_the_cluster_can_be_forced_to_be_the_cms() -> None:
    """A newcomer that waits cannot; the last node of the cluster cannot be lost."""
    given = {"newcomers": 2, "losses": 2, "corruptions": 1}
    timeline = after("cms", given, "catch-up B A", "corrupt A", "open-override")
    option = timeline.model.find(timeline.state, "force B")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "B is not in the cluster yet"
    assert after("cms", given).model.find(after("cms", given).state, "lose A") is None


def test_a_snapshot_is_loaded_only_with_a_member_that_is_up() -> None:
    """A is lost and B down: C, which is not in the cluster, cannot load it; B then can."""
    given = {"nodes": 3, "newcomers": 1, "losses": 1, "crashes": 1}
    timeline = after("cms", given, "lose A", "crash B", "open-override")
    option = timeline.model.find(timeline.state, "load-snapshot C")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason.startswith("no node of the cluster is up")
    go_on(timeline, "restart B", "load-snapshot B")
    assert timeline.model.newest(timeline.state).readers == 0b10


@pytest.mark.parametrize(
    "given",
    [
        {"members": 4},
        {"members": 3, "newcomers": 1},
        {"sizes": ("1",)},
        {"up_to": ("2", "x", "9")},
        {"up_to": ("5", "2", "9")},
        {"up_to": ("2", "2", "9")},
    ],
)
def test_impossible_members_and_sizes_are_refused(given: dict[str, Any]) -> None:
    """The error names the field."""
    with pytest.raises(BadInput, match="|".join(given)):
        build("cms", given)


def named(row: FaultRow) -> str:
    """A row's operation."""
    return row.operation


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_an_operation_heals_after_a_fault(row: FaultRow) -> None:
    """Every third place of each fault of the row; each kind does happen."""
    healing = Healing(row)
    healing.run(1, every=3)
    print(healing.figures)
    assert healing.failures == []
    assert {*healing.kinds} >= {*row.faults}


@pytest.mark.deep
@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_an_operation_heals_after_two_faults_at_any_steps(row: FaultRow) -> None:
    """Each fault at each step of the operation, and a second one at each step after that."""
    healing = Healing(row)
    healing.run(2)
    print(healing.figures)
    assert healing.failures == []


OPERATIONS = ("bootstrap", "decommission", "move", "replace", "reconfiguration", "snapshot",
              "recovery", "migration")  # fmt: skip


def test_the_matrix_of_faults_has_every_operation_and_fault() -> None:
    """Those of the models commit, cms, schema and migration."""
    names = [row.operation for row in MATRIX]
    assert [each for each in OPERATIONS if not any(n.startswith(each) for n in names)] == []
    for model in ("commit", "cms", "schema", "migration"):
        kind: Any = type(build(model))
        faults = {act.tag for act in kind.acts.values() if act.said.fault}
        faults -= {"time-out"}  # it is no fault in the log, where only operators cancel
        there = {each for row in MATRIX if row.model == model for each in row.faults}
        assert faults <= there, model


@pytest.mark.parametrize(
    ("operation", "off", "faults", "says"),
    [
        ("bootstrap, documents", "pending-in-metadata", 1, "rests without its goals"),
        ("submission", "entry-id", 1, "was rejected, but it is epoch"),
        ("a member hands over", "hand-over", 1, "has left the cluster with its part of the log"),
        ("a schema change, and a join", "log-decides", 1, "both at epoch"),
        ("migration, server", "initiator-answers", 2, "follow separate logs"),
    ],
)
def test_without_a_safeguard_a_fault_does_not_heal(
    operation: str, off: str, faults: int, says: str
) -> None:
    """The matrix names the harm."""
    [row] = (each for each in MATRIX if each.operation == operation)
    healing = Healing(row, (off,))
    healing.run(faults)
    assert any(says in each for each in healing.failures), healing.failures[:3]
