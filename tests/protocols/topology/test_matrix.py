"""The fault matrix: whatever fails at whichever step, the operation ends and nothing is broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.topology.matrix import (
    FAULTS,
    OPERATIONS,
    built,
    injected,
    is_over,
    points,
    walked,
)

FEW, MANY = range(8), range(20)
"""The seeds of schedules that each landing walks, and those of the deep tests."""
DEEP = pytest.mark.deep
# Why a fault cannot be at a step; every cell that is not walked gives one of these.
IMPOSSIBLE = {
    "work fails": "nothing is worked on there, or it is tried again for ever",
    "the node dies": "it has no row yet, or is told to shut down, or is dead",
    "the node is cut off": "it is no member yet or any more, or is dead",
    "the node has another address": "it has no place there yet or any more, or is to stay dead",
    "a stream is left behind": "nothing streams there",
}


def ended(model: Any, state: ControlState, seeds: range, where: str) -> Iterator[ControlState]:
    """The ends of the schedules from a state; each has come to rest and broken nothing."""
    for seed in seeds:
        end, wrong = walked(model, state, seed)
        assert not wrong, f"{where}, seed {seed}: {wrong}"
        assert is_over(model, end), f"{where}, seed {seed}: {end}"
        yield end


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("edition", "seeds"),
    [("server", FEW), *(pytest.param(edition, MANY, marks=DEEP) for edition in EDITIONS)],
    ids=str,
)
@pytest.mark.parametrize("words", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_ends_after_a_single_fault(edition: Edition, seeds: range, words: str) -> None:
    """At any step: every request is done and no property breaks. An impossible fault says why."""
    model = built(edition, words)
    for fault in FAULTS:
        walked_cells = 0
        for point in points(model):
            state, reason = injected(model, point, fault)
            if state is None:
                assert fault in IMPOSSIBLE, f"{fault} at {point.name}: {reason}"
                continue
            walked_cells += 1
            for end in ended(model, state, seeds, f"{edition} {words}, {fault} at {point.name}"):
                assert all(request.done for request in end.topology.requests), point.name
        assert walked_cells or (words, fault) in NOWHERE, fault


# Who is removed is dead already.
NOWHERE = {
    (OPERATIONS["removenode"], "the node dies"),
    (OPERATIONS["removenode"], "the node is cut off"),
    (OPERATIONS["removenode"], "the node has another address"),
}


@pytest.mark.sweep(3)
@pytest.mark.spec("D-047", "D-048")
@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=DEEP)], ids=str)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS.values(), ids=OPERATIONS)
def test_a_change_of_coordinator_at_any_step_leaves_the_same_tables(
    edition: Edition, seeds: range, words: str
) -> None:
    """As a run without a change, whoever takes over."""
    model = built(edition, words)
    state = model.start()
    while (action := model.suggest(state)) is not None:
        state = model.apply(state, action)
    for point in points(model):
        after, reason = injected(model, point, "coordinator changes")
        assert after is not None, f"{point.name}: {reason}"
        for end in ended(model, after, seeds, f"{edition} {words}, a change at {point.name}"):
            assert end.topology == state.topology, point.name
