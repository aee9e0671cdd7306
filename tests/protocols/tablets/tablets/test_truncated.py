"""A truncate as a request of the whole cluster, beside tablets that move."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.tablets.tablets.test_track import acted, refused

TRUNCATE = "truncate_table ks.t"


def truncating(edition: Edition, **given: Any) -> Any:
    """The model in which the table of the tablets is truncated."""
    usual = {"nodes": 3, "tablets": ("A B",), "operations": (TRUNCATE,)}
    return build("tablets", {"edition": edition, **usual, **given})


@pytest.mark.spec("D-032", "F-013")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_truncate_waits_for_running_moves_and_no_other_begins(edition: Edition) -> None:
    """Its session is opened and closed by commands of their own, each behind a barrier."""
    model = truncating(edition, tablets=("A B", "B A"), moves=2)
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 C:0", "commit", TRUNCATE)
    assert not [a for a in model.actions(state) if model.verb(a).startswith("migrate")]
    done, passed = list[str](), list[tuple[str, bool]]()
    while (action := model.suggest(state)) is not None:
        words, topology = model.label(state, action), state.control.topology
        if topology.running:
            assert not state.in_transition
            assert "migrate" not in " ".join(model.verb(a) for a in model.actions(state))
            passed.append((topology.transition, bool(topology.session)))
            done.append(words.partition(" ")[0].rstrip(":"))
        state = model.act(state, action)
    where = "truncate_table" if edition == "server" else ""
    assert set(passed) == {(where, True), (where, False)}
    barrier, command = ["answer"] * 3, ["decide", "commit"]
    closes = ["work", *command, *barrier, *command]
    assert done == [*barrier, *command, *closes]  # the track raised the version: a fence comes
    [request] = state.control.topology.requests
    assert (request.done, request.error) == (True, False)


@pytest.mark.spec("F-014")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_rpcs_of_a_truncate_need_only_nodes_with_replicas(edition: Edition) -> None:
    """While such a node is down the request ends with an error, and without a session."""
    for node, ends_in_error in (("C", False), ("B", True)):
        model = truncating(edition, crashes=1, undone=1)
        state = acted(model, model.start(), TRUNCATE, "decide", "commit")
        while model.label(state, model.suggest(state)) != "work: truncate":
            state = model.act(state, model.suggest(state))
        state = acted(model, state, f"crash {node}")
        if ends_in_error:
            assert refused(model, state, "work") == "truncate cannot reach a node"
            state = acted(model, state, "fail", "decide", "commit")
            assert state.control.topology.session == 0, (node, ends_in_error)
        else:
            state = acted(model, state, "work")
        state = acted(model, state, f"restart {node}")
        while (action := model.suggest(state)) is not None:
            state = model.act(state, action)
        assert [each.error for each in state.control.topology.requests] == [ends_in_error]


@pytest.mark.sweep(3)
@pytest.mark.spec("F-013")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"moves": 1, "changes": 1},
        {"moves": 1, "crashes": 1},
        {"nodes": 2, "tablets": ("A",), "moves": 0, "undone": 1, "late": 1},
        pytest.param({"crashes": 1, "undone": 2, "late": 1}, marks=pytest.mark.deep),
        pytest.param({"moves": 1, "crashes": 1, "undone": 1}, marks=pytest.mark.deep),
        pytest.param(
            {"operations": (TRUNCATE, "keyspace_rf_change ks dc1=3"), "crashes": 1, "undone": 1},
            marks=pytest.mark.deep,
        ),
        pytest.param(
            {"operations": (TRUNCATE, "leave B"), "moves": 1, "changes": 1}, marks=pytest.mark.deep
        ),
    ],
    ids=str,
)
def test_a_truncate_beside_moves_and_faults_breaks_no_promise(
    edition: Edition, given: dict[str, Any]
) -> None:
    """The search is complete."""
    result = check(truncating(edition, **given), max_states=500_000)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert {*result.unreached} <= ({"moved"} if given.get("moves") == 0 else set())


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_truncate_is_not_fenced_while_a_node_does_not_answer_its_barrier(
    edition: Edition,
) -> None:
    """Back up, the node answers, and the version is fenced."""
    model = truncating(edition, tablets=("A B", "B A"), moves=1, crashes=1, undone=1)
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 C:0", "commit", TRUNCATE)
    while not state.control.topology.running:
        state = model.act(state, model.suggest(state))
    fenced = state.control.topology.fence_version
    state = acted(model, state, "crash C")
    assert state.control.topology.version > fenced
    assert refused(model, state, "answer C") == "the node does not receive the barrier"
    assert refused(model, state, "fail") == "no failure of work would make a difference now"
    state = acted(model, state, "restart C", "answer A", "answer B", "answer C", "decide", "commit")
    assert state.control.topology.fence_version == state.control.topology.version


@pytest.mark.spec("F-015")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_late_rpc_of_a_truncate_is_refused_once_its_session_is_closed(edition: Edition) -> None:
    """While the session is open it is let in, and holds the barrier up."""
    model = truncating(edition, late=1)
    state = acted(model, model.start(), TRUNCATE, "decide", "commit")
    while model.label(state, model.suggest(state)) != "work: truncate":
        state = model.act(state, model.suggest(state))
    left = acted(model, state, "leave behind", "work", "decide", "commit")
    early = acted(model, state, "leave behind", "late A", "work", "decide", "commit")
    assert refused(model, early, "answer A").startswith("work from a closed session")
    for node in "ABC":
        left = acted(model, left, f"answer {node}")
    (arrives,) = (each for each in model.actions(left) if model.verb(each) == "late A")
    after = model.act(left, arrives)
    assert after.control.leftover == 0
    assert "A, which refuses the work" in model.describe(left, arrives, after)


@pytest.mark.spec("F-015")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("given", [{}, {"changes": 1}, {"moves": 1}], ids=str)
def test_a_late_rpc_of_a_truncate_breaks_a_promise_only_without_sessions(
    edition: Edition, given: dict[str, Any]
) -> None:
    """With sessions the search is complete."""
    usual = {"nodes": 2, "tablets": ("A",), "moves": 0, "late": 1, **given}
    result = check(truncating(edition, **usual))
    assert (result.violation, result.verdict) == (None, "complete")
    off = {"edition": edition, "operations": (TRUNCATE,), **usual}
    result = check(build("tablets", off, ("sessions",)))
    assert result.violation is not None
    assert result.violation.property == "sessions"
