"""Searches of the tablet tracks: complete with all safeguards on."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import TakeDecision
from kit.search.check import Result, check

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
def test_a_migration_with_faults(edition: Edition, faults: dict[str, int]) -> None:
    """Work fails, a node or the coordinator dies, an RPC is late, anywhere: who is read has all the
    data, nobody else keeps any, and the move ends with the new replicas or with the old ones.
    """
    searched(edition, **faults)


@pytest.mark.spec("E-023")
@pytest.mark.parametrize("edition", EDITIONS)
def test_two_tablets_share_barriers(edition: Edition) -> None:
    """Two tablets move at once, each at its own stage; one barrier serves all that wait for one."""
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
def test_the_other_kinds_with_faults(
    edition: Edition, faults: dict[str, int], given: dict[str, Any]
) -> None:
    """Within a node a replica changes its shard; a repair passes two stages and moves nothing; an
    RF change drops a replica, or adds one.
    """
    parameters = {"edition": edition, **SMALL, **given, **faults}
    result = check(build("tablets", parameters), max_states=MOST)
    assert result.verdict == "complete"
    assert set(result.unreached) == ({"moved"} if given.get("kinds") == ("repair",) else set())


@pytest.mark.spec("E-027", "E-028", "E-031", "E-032")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS)
def test_an_operation_beside_tablets(edition: Edition, words: str) -> None:
    """Tablets leave a node before its state changes, or are rebuilt once its successor is normal;
    no tablet is in transition while an operation has the state machine (but one that a join of
    edition ``server`` makes wait).
    """
    moves = 0 if words != "join D" else 1
    searched(edition, moves=moves, operations=(words,), failures=1)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave B", "remove B"])
def test_draining_that_fails(edition: Edition, words: str) -> None:
    """Without a place for a replica the request ends with an error, and the node stays."""
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
    """It takes no fault of its own: loads are evened out first, and that may have failed, too."""
    given = {"edition": edition, "nodes": 2, "tablets": ("A B", "A"), "operations": (words,)}
    result = check(build("tablets", {**given, "moves": 1, "undone": undone}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert "success" in result.unreached


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["leave B", "remove B"])
def test_draining_with_a_new_coordinator(edition: Edition, words: str) -> None:
    """Another coordinator goes on with the stages that the tables show, wherever it takes over."""
    searched(edition, moves=0, operations=(words,), changes=1)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("edition", "words"), [("server", "leave C"), ("server", "remove C"), ("documents", "remove C")]
)
def test_draining_with_a_dead_node_that_is_excluded(edition: Edition, words: str) -> None:
    """Any node dies anywhere, and may be excluded: draining goes on, or the request ends."""
    searched(
        edition, nodes=4, tablets=("A B C",), moves=0, operations=(words,),
        crashes=1, exclusions=1, undone=1,
    )  # fmt: skip


def test_in_the_documents_a_decommission_does_not_pass_over_ignored_nodes() -> None:
    """Edition ``documents``: ignored nodes are passed over by removal, replace and tablets only, so
    that a decommission beside a dead one has a barrier that never passes: it can but fail. The way
    back does not wait for the dead node, and each run ends.
    """
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
