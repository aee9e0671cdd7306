"""The fault matrix: whatever goes wrong, at whatever step: all heals, and no commit is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from tests.faults import MATRIX, FaultRow, Healing


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
