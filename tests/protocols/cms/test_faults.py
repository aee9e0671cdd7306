"""The fault matrix: whatever goes wrong, at whatever step: all heals, and no commit is lost."""

from __future__ import annotations

import pytest

from tests.faults import MATRIX, FaultRow, Healing


def named(row: FaultRow) -> str:
    """A row's operation."""
    return row.operation


@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_a_fault_at_each_step_heals(row: FaultRow) -> None:
    """Each fault of each kind at each step of each operation; each kind does happen."""
    healing = Healing(row)
    healing.run(1)
    assert healing.failures == []
    assert {*healing.kinds} >= {*row.faults}


@pytest.mark.deep
@pytest.mark.parametrize("row", MATRIX, ids=named)
def test_two_faults_heal(row: FaultRow) -> None:
    """The same with a second fault at each step of all those runs."""
    healing = Healing(row)
    healing.run(2)
    assert healing.failures == []


@pytest.mark.parametrize(
    ("operation", "off", "faults", "says"),
    [
        ("bootstrap, documents", "pending-in-metadata", 1, "rests without its goals"),
        ("submission", "entry-id", 1, "was rejected, and is epoch"),
        ("a member hands over", "hand-over", 1, "has left the cluster with its part of the log"),
        ("a schema change, and a join", "log-decides", 1, "both at epoch"),
        ("migration, server", "initiator-answers", 2, "run by logs of their own"),
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
