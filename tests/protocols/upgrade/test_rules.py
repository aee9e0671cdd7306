"""Rules of the Raft upgrade: what a row means, what to do when it is stuck."""

from __future__ import annotations

import pytest

from kit.protocols.upgrade.panels.states import graphs
from kit.protocols.upgrade.raft_upgrade import PHASES
from kit.protocols.upgrade.rules import (
    BUILDING,
    DONE,
    KNOWN,
    NOT_UPGRADED,
    TopologyUpgradeState,
    diagnosis,
    join_way,
    state_at_start,
)
from kit.views.palette import SIGNS
from tests.views.tabled import drawn_rows


@pytest.mark.parametrize("value", KNOWN)
def test_a_known_value_is_the_state(value: str) -> None:
    """A node starts in the state that it has persisted."""
    assert state_at_start(value) == value


def test_missing_and_unknown_values() -> None:
    """No row: the node has not begun; an unknown value is taken for ``recovery``."""
    assert state_at_start(None) == "use_pre_raft_procedures"
    assert state_at_start("use_raft") == "recovery"
    assert state_at_start("") == "recovery"


def test_each_value_has_a_diagnosis() -> None:
    """Under way, done, manual recovery, damage: four things that an operator tells apart."""
    told = [diagnosis(value) for value in (None, *KNOWN, "use_raft")]
    assert "not finished" in told[0]
    assert told[1] == told[2] == "the Raft upgrade is in progress"
    assert len({*told}) == 5


@pytest.mark.parametrize(
    ("has_group", "state", "way"),
    [
        (False, NOT_UPGRADED, "creates the cluster"),
        (False, DONE, "creates the cluster"),
        (True, NOT_UPGRADED, "old way"),
        (True, BUILDING, "request"),
        (True, DONE, "request"),
    ],
)
def test_how_a_node_joins(has_group: bool, state: TopologyUpgradeState, way: str) -> None:
    """Whoever finds no group creates one, whatever its own state is."""
    assert join_way(has_group, state) == way


def test_every_node_passes_the_five_phases_in_order() -> None:
    """A begins; all lanes end together; in phases 3 and 4 a node refuses changes of the schema."""
    [(_, source)] = graphs()
    rows = {row[0][2]: row[1:] for row in drawn_rows(source) if row[0][2]}
    assert [*rows] == ["A", "B", "C"]
    assert len({sum(columns for columns, *_ in row) for row in rows.values()}) == 1
    for row in rows.values():
        told = [(words, colour) for _, colour, words in row if words]
        names = [f"{at} {name}" for at, name in enumerate(PHASES, 1)]
        refuses, done = SIGNS["removed"], SIGNS["added"]
        assert told == [*zip(names, ("#ffffff", "#ffffff", refuses, refuses, done), strict=True)]


def test_nobody_is_two_phases_ahead() -> None:
    """A phase ends only when all have done it, so nobody is two phases before another."""
    [(_, source)] = graphs()
    lanes = [
        [int(words[:1] or 0) for columns, _, words in row[1:] for _ in range(columns)]
        for row in drawn_rows(source)
        if row[0][2]
    ]
    assert all(max(at) - min(at) <= 1 for at in zip(*lanes, strict=True))
