"""Rules of the Raft upgrade: what a row means, what to do when it is stuck."""

from __future__ import annotations

import pytest

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
