"""An RF change: a request of the whole cluster that tablets carry out, one replica at a time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.protocols.tablets.tablets.test_track import acted

TO_THREE = "keyspace_rf_change ks dc1=3"
TWO: dict[str, Any] = {"nodes": 4, "tablets": ("A B", "B C"), "moves": 0}
THREE_RACKS = ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r3", "dc2/r1")


def altering(edition: Edition = "server", words: str = TO_THREE, **given: Any) -> Any:
    """The model in which a keyspace is altered."""
    return build("tablets", {"edition": edition, **TWO, "operations": (words,), **given})


def gone_on(model: Any, state: TabletsState) -> TabletsState:
    """The state in which the default schedule ends."""
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    return state


def ended(**given: Any) -> TabletsState:
    """The last state of the default schedule."""
    model = altering(**given)
    return gone_on(model, model.start())


def error_of(model: Any) -> str:
    """The reason with which the coordinator ends the request."""
    state = acted(model, model.start(), model.parameters.operations[0])
    said: str = model.describe(state, *_decided(model, state))
    end = acted(model, state, "decide", "commit")
    [request] = end.control.topology.requests
    assert request.done
    assert request.error
    assert not end.in_transition
    return said


def _decided(model: Any, state: TabletsState) -> tuple[Any, TabletsState]:
    action = model.find(state, "decide")[0]
    return action, model.act(state, action)


@pytest.mark.spec("F-020")
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_rf_change_commits_schema_and_transitions_in_one_command(edition: Edition) -> None:
    """Then the replica columns grow one tablet at a time."""
    timeline = Timeline(altering(edition))
    panels = {each.name: each for each in for_model(timeline.model).panels}

    def shown(name: str) -> str:
        return panels[name].text(scene_of(timeline, timeline.at))

    timeline.do(timeline.model.find(timeline.state, TO_THREE)[0])
    assert "keyspace_rf_change, ks dc1=3: next" in shown("queue")
    columns = "new_keyspace_rf_change_ks_name ks; new_keyspace_rf_change_data {(dc1, 3)}"
    assert columns in shown("requests")
    for verb in ("decide", "commit"):
        timeline.do(timeline.model.find(timeline.state, verb)[0])
    topology = timeline.state.control.topology
    assert topology.keyspaces == (("ks", (("dc1", 3),)),)
    assert (topology.transition, topology.queue) == ("tablet_migration", ())
    assert topology.requests[0].done
    table = TRANSITIONS[edition]["rebuild_v2"]
    for row in timeline.state.tablets:
        [each] = row.transitions
        assert each.stage == table.begins.target
        assert (each.sets.leaving, len(each.sets.pending)) == ((), 1)
    sizes = [[2, 2]]
    while timeline.forward() is not None:
        now = [len(row.replicas) for row in timeline.state.tablets]
        sizes += [now] if now != sizes[-1] else []
        columns = re.findall(r"^  \d+  -?\d+  (.*?)  ", shown("tablets"), re.MULTILINE)
        assert [len(each.split(", ")) for each in columns] == now
    assert sizes == [[2, 2], [3, 2], [3, 3]]
    assert shown("tablets").count("D:0") == 1


@pytest.mark.sweep(3)
@pytest.mark.spec("F-020")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("words", "given"),
    [
        (TO_THREE, {"failures": 1, "late": 1, "nodes": 3, "tablets": ("A B",)}),
        ("keyspace_rf_change ks dc1=1", {"failures": 1, "nodes": 3, "tablets": ("A B", "C B")}),
        (TO_THREE, {"nodes": 4, "tablets": ("A B",), "crashes": 1, "exclusions": 1}),
        (TO_THREE, {"nodes": 3, "tablets": ("A B",), "changes": 1, "moves": 1}),
        pytest.param(
            TO_THREE,
            {"tablets": ("A B",), "crashes": 1, "exclusions": 1, "changes": 1, "failures": 1},
            marks=pytest.mark.deep,
        ),
    ],
    ids=str,
)
def test_an_rf_change_with_failures_breaks_no_promise(
    edition: Edition, words: str, given: dict[str, Any]
) -> None:
    """The search is complete, and every goal is reached."""
    result = check(altering(edition, words, **given), max_states=300_000)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert not result.unreached


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_rf_change_whose_new_replica_dies_uses_another_node(edition: Edition) -> None:
    """The dead node is excluded, and the tablet goes back before it goes on."""
    model = altering(edition, tablets=("A B",), crashes=1, exclusions=1)
    state = acted(model, model.start(), TO_THREE, "decide", "commit", "crash C", "exclude C")
    state = acted(model, gone_on(model, state), "fail work on 0")
    state = gone_on(model, state)
    assert [each.host for each in state.tablets[0].replicas] == ["A", "B", "D"]


@pytest.mark.parametrize(("edition", "left"), [("documents", "C"), ("server", "B")])
def test_an_rf_change_adds_where_a_rack_has_fewest_and_drops_by_edition(
    edition: Edition, left: str
) -> None:
    """Another datacenter has a number of its own."""
    given = {"edition": edition, "nodes": 5, "tablets": ("A C",), "racks": THREE_RACKS}
    assert ended(**given).tablets[0].replicas[-1].host == "D"
    to_two = {**given, "tablets": ("A B C",), "words": "keyspace_rf_change ks dc1=2"}
    assert ended(**to_two).tablets[0].replicas[-1].host == left
    elsewhere = ended(**given, words="keyspace_rf_change ks dc1=2 dc2=1")
    assert [each.host for each in elsewhere.tablets[0].replicas] == ["A", "C", "E"]


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        ("keyspace_rf_change ks dc1=3", {"nodes": 2, "tablets": ("A B",)}, "dc1 has 2 nodes for 3"),
        ("keyspace_rf_change ks dc1=4", {}, "one replica at a time: dc1 from 2 to 4"),
        ("keyspace_rf_change ks dc1=0", {"tablets": ("A",)}, "no replica would be left"),
        ("keyspace_rf_change ks dc1=2 dc9=1", {}, "dc9 has 0 nodes for 1"),
    ],
)
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_impossible_rf_change_ends_with_its_reason(
    edition: Edition, words: str, given: dict[str, Any], why: str
) -> None:
    """No tablet begins to move, and the search breaks no promise."""
    model = altering(edition, words, **given)
    assert why in error_of(model)
    result = check(model)
    assert result.violation is None, result
    assert result.verdict == "complete"


def test_a_datacenter_that_is_added_with_racks_fills_replica_by_replica() -> None:
    """Also when work fails."""
    given = {
        "words": "keyspace_rf_change ks dc1=r1,r2 dc2=r1,r2",
        "tablets": ("A B",),
        "racks": ("dc1/r1", "dc1/r2", "dc2/r1", "dc2/r2"),
        "keyspaces": ("ks dc1=r1,r2",),
    }
    words = given["words"]
    timeline = Timeline(altering(**given))
    sizes = [2]
    timeline.do(timeline.model.find(timeline.state, words)[0])
    while timeline.forward() is not None:
        now = len(timeline.state.tablets[0].replicas)
        sizes += [now] if now != sizes[-1] else []
    assert sizes == [2, 3, 4]
    result = check(altering(**given, failures=1))
    assert (result.violation, result.verdict) == (None, "complete")


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        ("dc1=r1,r9", {"keyspaces": ("ks dc1=r1",), "tablets": ("A",)}, "no node in rack r9"),
        ("dc1=r1,r2", {"tablets": ("A",)}, "becomes a list of as many racks, and nothing"),
        ("dc1=r1", {"tablets": ("A",)}, "is a conversion, not modelled"),
        ("dc1=2", {"keyspaces": ("ks dc1=r1",), "tablets": ("A",)}, "a list of racks cannot"),
        ("dc1=r2", {"keyspaces": ("ks dc1=r1",), "tablets": ("A",)}, "dc1 from r1 to r2"),
        (
            "dc2=r1",
            {"edition": "documents", "tablets": ("A",)},
            "the documents edition does not know",
        ),
    ],
)
def test_an_rf_change_by_racks_that_do_not_suffice_ends_with_its_reason(
    words: str, given: dict[str, Any], why: str
) -> None:
    """A rack without a node, a list for a number, two at a time, and the documents."""
    given = {"edition": "server", "nodes": 5, "racks": THREE_RACKS, **given}
    edition = given.pop("edition")
    assert why in error_of(altering(edition, f"keyspace_rf_change ks {words}", **given))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"words": "keyspace_rf_change other dc1=3"}, "operations"),
        ({"words": "keyspace_rf_change ks"}, "operations"),
        ({"words": "keyspace_rf_change ks dc1=-1"}, "operations"),
        ({"words": "keyspace_rf_change ks dc1=r1,r1"}, "operations"),
        ({"words": "keyspace_rf_change ks dc1="}, "operations"),
        ({"keyspaces": ("other dc1=1",)}, "keyspaces"),
        ({"keyspaces": ("ks dc1=3",)}, "tablets"),
        ({"words": "truncate_table ks.other"}, "operations"),
        ({"words": "truncate_table ks"}, "operations"),
        ({"tablets": ("A B", "C")}, "tablets"),
        (
            {"tablets": ("C D",), "words": "removenode C", "down": ("C",), "ignored": ("D",)},
            "tablets",
        ),
    ],
)
def test_the_model_refuses_a_malformed_rf_change_or_truncate(
    given: dict[str, Any], field: str
) -> None:
    """The error names the parameter."""
    with pytest.raises(BadInput, match=f"^{field}:"):
        altering(**given)
