"""Where an operation works its groups are put in order anew; elsewhere they have kept it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.rules.metadata import reading_ring
from kit.ring.applying import settle
from kit.ring.placements import Table, padded

TOGETHER = [
    ("bootstrap X --tokens 150", "bootstrap Y --tokens 750"),
    ("bootstrap X --tokens 150,550", "decommission G"),
    ("move B --tokens 850", "bootstrap X --tokens 450"),
    ("bootstrap X --tokens 50,450,850", "removenode H"),
]
RINGS = [{"nodes": 9, "rf": 2}, {"nodes": 10, "rf": 3}, {"nodes": 9, "rf": 2, "dcs": 2, "racks": 2}]
STEPS = 160


def alike(one: Table, other: Table) -> bool:
    """Whether two tables have equal rows, groups in equal order."""
    width = max(one.groups.shape[1], other.groups.shape[1])
    return (
        np.array_equal(one.lefts, other.lefts)
        and np.array_equal(one.rights, other.rights)
        and np.array_equal(padded(one.groups, width), padded(other.groups, width))
    )


@pytest.mark.parametrize("operations", TOGETHER)
@pytest.mark.parametrize("ring", RINGS)
def test_the_whole_table_is_in_order(operations: tuple[str, ...], ring: dict[str, int]) -> None:
    """With two operations in any turn every group stands in the order of the walk."""
    model: Any = build("tcm", {**ring, "operations": list(operations)})
    timeline, chance, epochs = Timeline(model), random.Random(str((operations, ring))), set()
    for _ in range(STEPS):
        actions = list(model.actions(timeline.state))
        if not actions:
            break
        timeline.do(chance.choice(actions))
        snapshot = model.snapshot(timeline.state)
        epochs.add(snapshot.metadata.epoch)
        walked = reading_ring(snapshot.metadata)
        for placement, group in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
            whole = settle(placement, walked, group)
            assert alike(placement.reads, whole.reads)
            assert alike(placement.writes, whole.writes)
    assert len(epochs) > 3
