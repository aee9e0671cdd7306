"""The members of the CMS, searched: they change, are lost, and heal whatever goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, Refusal
from kit.model.registry import build, entry_of
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline, played_out
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
def test_the_members_change_without_harm(given: dict[str, Any]) -> None:
    """Every state is seen: one event an epoch, quorums that meet, and events can be committed."""
    result = check(build("cms", given))
    assert result.complete
    assert result.violation is None


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
def test_new_addresses_and_ignored_nodes_do_no_harm(given: dict[str, Any], states: int) -> None:
    """Whoever moves is found again, and whoever is left out of the CMS takes nothing with it."""
    result = check(build("cms", SERVER | given))
    assert (result.complete, result.violation, result.states) == (True, None, states)


def test_all_members_find_each_other_at_new_addresses() -> None:
    """Nobody reaches anybody until they meet through their seeds; then the log has each address."""
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


def test_nodes_that_are_to_leave_are_ignored_at_once() -> None:
    """A and B are left out in one go, so that the CMS moves once; too few may not be left."""
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
def test_each_step_is_one_of_the_log(given: dict[str, Any]) -> None:
    """Two and three nodes, both editions: the log of tcm takes the same entries, or nothing."""
    refinement = entry_of("cms").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("cms", given).parameters))
    assert (result.violation, result.complete) == (None, True)


def test_what_is_forced_is_no_step_of_the_log() -> None:
    """An override replaces what the log had: there the comparison says so."""
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
def test_four_nodes_change_without_harm(given: dict[str, Any], states: int) -> None:
    """The same with one of three members that leaves, or is lost; a fourth one takes its place."""
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
def test_harm_depends_on_whose_votes_are_counted(
    off: str, given: dict[str, Any], found: bool
) -> None:
    """Two events at one epoch need a proposer that takes its quorum from members it heard of."""
    model = build("cms", {"nodes": 2, **given}, (off,))
    [log] = [each for each in model.properties if each.invariant == "INV-LOG"]
    assert (check(model, (log,)).violation is not None) is found


@pytest.mark.spec("B-054")
def test_a_handmade_snapshot_makes_all_alike() -> None:
    """Two corrupt nodes: after the snapshot all have one state, and the entry is marked."""
    timeline = open_file(files()["cms/corrupt-state"])
    model, state = timeline.model, timeline.moments[-1].state
    assert {model.known(state, node) for node in range(3)} == {model.known(state, 0)}
    assert not any(node.corrupt for node in state.nodes)
    assert len({node.log for node in state.nodes}) == 1


@pytest.mark.spec("B-052")
@pytest.mark.spec("B-055")
def test_without_a_majority_data_is_served_and_one_member_can_be_forced() -> None:
    """An event is refused while a request is served; forced to one, the CMS commits again."""
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
def test_an_operator_replaces_a_lost_member(longest: int) -> None:
    """The size asked for again places the members anew, on nodes that are up; no state is bad."""
    given = {"nodes": 4, "members": 3, "edition": "server", "losses": 1, "longest": 7}
    model = build("cms", given)
    timeline = Timeline(model)
    for verb in ("lose C", "reconfigure A 3 A B"):
        option = model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    assert parsed(timeline.state.nodes[0].log.entries[-1].event) == ("reconfigure", 0b1011)
    played_out(timeline)
    assert model.newest(timeline.state).readers == 0b1011
    assert check(build("cms", {**given, "changes": 0, "longest": longest})).complete


def test_only_a_node_of_the_cluster_is_forced() -> None:
    """The last node of the cluster is not lost; a newcomer that waits cannot become the CMS."""
    given = {"newcomers": 2, "losses": 2, "corruptions": 1}
    timeline = after("cms", given, "catch-up B A", "corrupt A", "open-override")
    option = timeline.model.find(timeline.state, "force B")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "B is not in the cluster yet"
    assert after("cms", given).model.find(after("cms", given).state, "lose A") is None


def test_a_snapshot_names_a_member_that_is_up() -> None:
    """A is lost and B down: C, which is not in the cluster, cannot load what would have none."""
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
def test_what_makes_no_cluster_is_refused(given: dict[str, Any]) -> None:
    """More members than nodes, or sizes that are none, are refused with the name of the field."""
    with pytest.raises(BadInput):
        build("cms", given)


def named(row: FaultRow) -> str:
    """A row's operation."""
    return row.operation


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_faults_heal(row: FaultRow) -> None:
    """A fixed slice of the matrix: every third fault of each kind; each kind does happen."""
    healing = Healing(row)
    healing.run(1, every=3)
    print(healing.figures)
    assert healing.failures == []
    assert {*healing.kinds} >= {*row.faults}


@pytest.mark.deep
@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_a_fault_at_each_step_heals(row: FaultRow) -> None:
    """Each fault of each kind at each step of each operation, and a second one at each step of all
    those runs.
    """
    healing = Healing(row)
    healing.run(2)
    print(healing.figures)
    assert healing.failures == []


OPERATIONS = ("bootstrap", "decommission", "move", "replace", "reconfiguration", "snapshot",
              "recovery", "migration")  # fmt: skip


def test_no_operation_and_no_fault_is_left_out() -> None:
    """Each operation has a row, and each fault that a model of these has comes in one of them."""
    names = [row.operation for row in MATRIX]
    assert [each for each in OPERATIONS if not any(n.startswith(each) for n in names)] == []
    for model in ("commit", "cms", "schema", "migration"):
        kind: Any = type(build(model))
        faults = {act.tag for act in kind.acts.values() if act.said.fault}
        faults -= {"time-out"}  # it is no fault in the log, where only operators cancel
        assert faults <= {each for row in MATRIX if row.model == model for each in row.faults}


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
def test_without_a_safeguard_the_matrix_says_so(
    operation: str, off: str, faults: int, says: str
) -> None:
    """Faults that a safeguard is for do harm without it, and the matrix sees that."""
    [row] = (each for each in MATRIX if each.operation == operation)
    healing = Healing(row, (off,))
    healing.run(faults)
    assert any(says in each for each in healing.failures), healing.failures[:3]
