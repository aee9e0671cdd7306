"""The fault matrix of tablets: whatever fails in whichever stage, the transition ends well."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.tablets.matrix import (
    BACK,
    FAULTS,
    KINDS,
    LONGEST,
    SOURCE,
    Point,
    built,
    empty,
    ends,
    injected,
    no_fault_back,
    points,
    points_back,
)
from tests.protocols.topology.matrix import walked

FEW, MANY = range(2), range(20)
"""The seeds of schedules that each landing walks, and those of the deep tests."""
DEEP = pytest.mark.deep


@pytest.mark.sweep(3)
@pytest.mark.spec("E-019", "E-021")
@pytest.mark.parametrize(
    ("edition", "seeds"),
    [("server", FEW), *(pytest.param(edition, MANY, marks=DEEP) for edition in EDITIONS)],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_in_each_stage(
    edition: Edition, seeds: range, kind: TransitionKind, fault: str
) -> None:
    """After one fault at any step of any stage of the way forward each schedule comes to its end
    with the old or the new replicas, as the table has it, all of whom have the data, and nobody
    else has any; no property is broken on its way. Each fault meets every stage but those that are
    known to have no such fault.
    """
    model = built(edition, kind)
    passed, met = set[str](), set[str]()
    for point in points(model):
        passed.add(point.stage)
        state = injected(model, point, fault)
        if state is None:
            continue
        met.add(point.stage)
        for seed in seeds:
            where = f"{edition} {kind}, {fault} at {point.name}, seed {seed}"
            end, wrong = walked(model, state, seed, LONGEST)
            assert not wrong, f"{where}: {wrong}"
            assert model.at_rest(end), f"{where}: {end}"
            assert rightly_ended(model, point, end), f"{where}: {end.tablets}"
    assert passed - met == empty(edition, kind, fault)


@pytest.mark.spec("E-019", "E-021")
@pytest.mark.parametrize(
    ("edition", "seeds"),
    [("server", FEW), *(pytest.param(edition, MANY, marks=DEEP) for edition in EDITIONS)],
    ids=str,
)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "repair"])
def test_one_more_fault_on_the_way_back(
    edition: Edition, seeds: range, kind: TransitionKind
) -> None:
    """What leads back is a failure; one more at any step of the way back changes nothing of its
    end: the old replicas, which have all the data, and no data elsewhere. Every fault but those
    that cannot be meets some stage of it.
    """
    model = built(edition, kind)
    passed, met = set[str](), set[str]()
    for point in points_back(model, edition, kind):
        passed.add(point.stage)
        for fault in FAULTS:
            state = injected(model, point, fault)
            if state is None:
                continue
            met.add(fault)
            for seed in seeds:
                where = f"{edition} {kind}, {fault} at {point.name}, seed {seed}"
                end, wrong = walked(model, state, seed, LONGEST)
                assert not wrong, f"{where}: {wrong}"
                assert model.at_rest(end), f"{where}: {end}"
                assert rightly_ended(model, point, end), f"{where}: {end.tablets}"
    by_fallback = edition == "server" and kind == "migration"
    assert passed == set(BACK if by_fallback else BACK[1:])
    assert met == set(FAULTS) - no_fault_back(edition, kind)


def rightly_ended(model: Any, point: Point, end: TabletsState) -> bool:
    """Whether the replicas are those that the point's stage may lead to.

    Where a node was to be removed, draining may have been tried again with another target.
    """
    [row], [transition] = end.tablets, point.state.tablets[0].transitions
    if model.parameters.operations:
        done = [request.error for request in end.control.topology.requests]
        return all(done) or all(each.host != SOURCE for each in row.replicas)
    sets = {"old": transition.old, "new": transition.new}
    return row.replicas in [sets[name] for name in ends(model.table(transition), point.stage)]
