"""Promises of the topology on states made by hand: what keeps each of them, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import is_truncating, settled
from kit.protocols.topology.coordinator import said_of
from kit.protocols.topology.rules.cluster import NOBODY, with_node
from tests.outcomes import why
from tests.protocols.topology.test_said_next import until


def cluster(**given: Any) -> tuple[Any, Any]:
    """A model with its first state."""
    model: Any = build("topology", {"operations": (), **given})
    return model, model.start()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((3, 2), None),
        ((3, 3), None),
        ((4, 2), None),
        ((2, 2), "a version decreased"),
        ((3, 1), "a version decreased"),
        ((3, 4), "the fence is above the version"),
    ],
)
def test_versions_only_increase(after: tuple[int, int], said: str | None) -> None:
    """Version 3 and fence 2 are there; the fence is at most the version."""
    model, state = cluster()
    before, later = (
        state.but(topology=replace(state.topology, version=version, fence_version=fence))
        for version, fence in ((3, 2), after)
    )
    assert model.versions(before, None, later) == said


@pytest.mark.parametrize(
    ("tablets", "transition", "where"),
    [
        ("moving", "", "null"),
        ("moving", "write_both_read_old", "write_both_read_old"),
        ("moving", "tablet_migration", ""),
        ("moving", "tablet_draining", ""),
        ("even", "write_both_read_old", ""),
    ],
)
def test_tablets_move_in_their_track(tablets: str, transition: str, where: str) -> None:
    """In edition ``documents``; the state in which they move otherwise is named."""
    model, state = cluster()
    state = state.but(topology=replace(state.topology, tablets=tablets, transition=transition))
    said = f"tablets move while the transition state is {where}" if where else None
    assert model.tablets_apart(state) == said


@pytest.mark.parametrize(
    ("node_state", "transition", "said"),
    [
        ("normal", "", None),
        ("normal", "tablet_migration", None),
        ("decommissioning", "tablet_draining", None),
        ("decommissioning", "write_both_read_old", "tablets advanced during decommissioning"),
    ],
)
def test_tablets_hold_while_a_node_changes(
    node_state: str, transition: str, said: str | None
) -> None:
    """Outside an operation, or in the states of their track, they advance."""
    model, state = cluster()
    topology = replace(with_node(state.topology, 2, state=node_state), transition=transition)
    assert model.tablets_hold(state.but(topology=topology), None, state) == said


@pytest.mark.parametrize(
    ("action", "moved", "said"),
    [
        (act.RestartElsewhere("B"), 0, None),
        (act.RestartElsewhere("B"), 1, "B committed 1 command to group 0"),
        (act.RestartConfigured("B"), 1, None),
        (act.RestartConfigured("B"), 0, "B committed 0 commands to group 0"),
    ],
)
def test_what_a_restart_commits(action: Any, moved: int, said: str | None) -> None:
    """A new number of shards is a command, another address is none."""
    model, before = cluster(addresses=1, configurations=1)
    after = before.but(state_id=before.state_id + moved)
    assert model.identity(before, action, after) == said
    changed = after.but(topology=with_node(after.topology, 1, shards=2))
    assert model.identity(before, action, changed) == said
    other = after.but(topology=with_node(after.topology, 0, shards=2))
    assert model.identity(before, action, other) == "B changed more than its address or its shards"


@pytest.mark.parametrize("cut", ["A", "B", "C"])
def test_who_is_cut_off_stores_no_configuration(cut: str) -> None:
    """It starts, and cannot tell group 0; others can, who are with the majority."""
    model, state = cluster(cuts=1, configurations=1)
    state = model.act(state, act.CutOff(cut))
    for node in "ABC":
        refusal = "the node cannot reach group 0, which stores its configuration"
        said = why(model, state, act.RestartConfigured(node))
        assert said == (refusal if node == cut else "")


@pytest.mark.parametrize(
    ("at", "up", "left"),
    [(2, 0b111, 4), (2, 0b011, 0), (0, 0b110, 0), (NOBODY, 0b011, 4), (NOBODY, 0b111, 4)],
)
def test_late_work_dies_with_its_node(at: int, up: int, left: int) -> None:
    """What is on its way, or runs on a node that is up, stays."""
    _, state = cluster()
    after = settled(state.but(leftover=4, leftover_at=at, up=up, sealed=True))
    assert (after.leftover, after.leftover_at) == (left, at if left else NOBODY)
    assert after.sealed is bool(left)


def test_cleaning_is_reported_to_a_majority() -> None:
    """A node that is up and has cleaned waits for it."""
    model, state = cluster()
    state = state.but(topology=with_node(state.topology, 0, cleanup="running"))
    assert why(model, state, act.ReportClean("A")) == ""
    assert why(model, state.but(up=0b011), act.ReportClean("A")) == ""
    assert "no majority" in why(model, state.but(up=0b001), act.ReportClean("A"))
    assert "cut off" in why(model, state.but(cut=0b001), act.ReportClean("A"))


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_truncate_is_sent_by_a_coordinator(edition: str) -> None:
    """Part of it can be left behind while it is the next work of one, and by nobody else."""
    given = {"operations": ("truncate_table ks.t",), "on_tablets": ("A",), "late": 1}
    model, start = cluster(edition=edition, **given)
    state = until(model, start, "truncate")
    assert is_truncating(state, model.setting)
    assert not is_truncating(state.but(coordinator=NOBODY), model.setting)
    assert not is_truncating(start, model.setting)
    assert not is_truncating(until(model, state, "close_session"), model.setting)


def test_the_second_barrier_of_a_state_says_whose_answer_is_missing() -> None:
    """Behind a truncate all nodes are asked once more."""
    given = {"operations": ("truncate_table ks.t",), "on_tablets": ("A",)}
    model, start = cluster(**given)
    state = until(model, until(model, start, "close_session"), "barrier")
    assert said_of(state, model.setting) == ("barrier comes next", 0)
    state = model.act(state, act.AnswerBarrier("A"))
    assert said_of(state, model.setting) == ("barrier comes next", 0b110)
