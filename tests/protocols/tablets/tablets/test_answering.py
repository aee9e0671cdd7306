"""Barriers of tablets answered node by node: nodes are at most one stage apart."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import Result, check
from tests.quality.breaking import broken, unguarded

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
def test_nodes_are_at_most_one_stage_apart(edition: Edition, given: dict[str, Any]) -> None:
    """Coordinators change, RPCs are late, two tablets share barriers: of no tablet do two nodes
    read other replicas and write other ones, too; and barriers still end.
    """
    result = searched(edition, **given)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_a_barrier_that_fails_after_the_read_switch_passes_over_the_dead() -> None:
    """The documents' error edge from ``write_both_read_new`` to ``use_new`` is taken once all who
    are up have answered: who is down has applied all before it serves again. So nobody is two
    stages behind.
    """
    result = searched("documents", failures=1)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_without_the_answers_of_the_living_a_node_falls_two_stages_behind() -> None:
    """Were it taken at once, one node would read the old replicas and write both, while another
    writes the new ones only.
    """
    model = build("tablets", {"edition": "documents", **SMALL, "failures": 1})
    hurried = broken(model, Tablets.fail_barrier.struct, unguarded)
    violation = check(hurried).violation
    assert violation is not None
    assert violation.property == "one-stage"


def test_a_barrier_that_fails_is_tried_again_by_the_server() -> None:
    """In edition ``server`` no failure lets a tablet go on without its barrier: where a new replica
    is excluded it goes back, one selector after the other.
    """
    result = searched("server", failures=1, crashes=1, exclusions=1)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def test_an_answer_counts_for_the_stages_that_it_was_given_for() -> None:
    """A barrier needs every node; once a stage has changed all are asked again."""
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
