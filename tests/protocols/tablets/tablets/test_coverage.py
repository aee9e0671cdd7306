"""Walks over the tracks take every row of every stage table."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS
from kit.protocols.tablets.tablets import rows
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import row_name
from tests.protocols.topology.matrix import broken

REBUILDS = ("rebuild", "rebuild_v2")
FAULTS: dict[str, Any] = {"nodes": 4, "failures": 2, "crashes": 1, "exclusions": 1, "late": 1}
ADDS: dict[str, Any] = {"moves": 0, "operations": ("keyspace_rf_change ks dc1=2",)}
WALKED: tuple[dict[str, Any], ...] = (
    {"nodes": 3, "tablets": ("A B",)},
    {"tablets": ("A:0 B:1",), "shards": 2, "kinds": ("intranode_migration",)},
    {"tablets": ("A B",), "kinds": ("repair",)},
    *({"nodes": 3, "tablets": ("A",), "rebuild": kind, **ADDS} for kind in REBUILDS),
)
WALKS, STEPS = 40, 60
"""The walks from each start, at most, and the steps of each."""

# With as many old replicas alive as new ones edition ``documents`` goes on: within a node both die
# at once, and a rebuild has no more old replicas alive than new ones.
UNTAKEN = {
    "documents": {
        row_name(kind, edge)
        for kind in ("intranode_migration", *REBUILDS)
        for edge in TRANSITIONS["documents"][kind].edges
        if edge.when == "more_old"
    },
    "server": set[str](),
}


def starts(model: Any) -> Iterator[TabletsState]:
    """The start, and the first state of each stage: all are well, or a new replica is lost.

    Reads lead back to the old replicas only where a new one is lost in one stage: a walk from the
    start seldom comes there.
    """
    state, seen = model.start(), set[str]()
    yield state
    while (action := model.suggest(state)) is not None:
        state = model.apply(state, action)
        for transition in state.tablets[0].transitions:
            if transition.stage not in seen:
                seen.add(transition.stage)
                yield state
                yield from (_lost(model, state, each.host) for each in transition.sets.pending)


def _lost(model: Any, state: TabletsState, host: str) -> TabletsState:
    for action in (cluster.CrashMember(host), cluster.ExcludeNode(host)):
        state = model.act(state, action)
    return state


def walked(model: Any, state: TabletsState, seed: int) -> Iterator[str]:
    """The rows that a walk takes; it breaks no property.

    Raises:
        AssertionError: naming what it breaks.
    """
    chance, taken = Random(seed), rows(model).taken
    for _ in range(STEPS):
        enabled = list(model.actions(state))
        if not enabled:
            return
        action = chance.choice(enabled)
        after = model.apply(state, action)
        wrong = broken(model, state, action, after)
        assert not wrong, f"seed {seed}: {wrong}"
        yield from taken(state, action, after)
        state = after


@pytest.mark.spec("E-007", "E-008", "E-017")
@pytest.mark.parametrize("edition", EDITIONS)
def test_walks_take_every_row_of_every_stage_table(edition: Edition) -> None:
    """Walks over every kind, with work that fails and nodes that die, take each edge; they end
    as soon as a table has no other row that can be taken.
    """
    drawn = {row_name(name, edge) for name in KINDS for edge in TRANSITIONS[edition][name].edges}
    left = set(drawn)
    for given in WALKED:
        model = build("tablets", {"edition": edition, **FAULTS, **given})
        own, begun = set(rows(model).names), list(starts(model))
        for seed in range(WALKS):
            for state in begun:
                if own & left <= UNTAKEN[edition]:
                    break
                left -= set(walked(model, state, seed))
    assert left == UNTAKEN[edition]
