"""A tablet's history is its table of stages, row by row."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.answers import in_session
from tests.protocols.tablets.tablet.runs import built


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_is_that_of_its_table(kind: TransitionKind, edition: Edition) -> None:
    """Selectors, sessions and copies of each epoch are those of its row, ways back included."""
    table = TRANSITIONS[edition][kind]
    history = built({"kind": kind, "edition": edition}).history
    old = (TabletReplica("A"), TabletReplica("B"), TabletReplica("C"))
    target = TabletReplica("A", 1) if kind == "intranode_migration" else TabletReplica("D")
    new = old if kind == "repair" else (target, *old[1:])
    sets = ReplicaSets(old, new)
    met = {stage_of(epoch) for epoch in history.epochs}
    assert met == {row.name for row in table.states} | {NO_TRANSITION}
    for epoch in history.epochs:
        if stage_of(epoch) == NO_TRANSITION:
            continue
        row = table.state(stage_of(epoch))
        view = epoch.view
        for group, selector in ((view.reads, row.reads), (view.writes, row.writes)):
            assert set(history.names(group)) == {each.host for each in sets.chosen(selector)}
        for group, selector in ((view.read_at, row.reads), (view.written_at, row.writes)):
            placed = {_place(kind, each) for each in sets.chosen(selector)}
            assert set(history.names(group)) == placed
        assert bool(epoch.session) == (row.name in in_session(table))
        assert bool(epoch.copies) == any(w.name in ("stream", "repair") for w in row.work)


def _place(kind: TransitionKind, replica: TabletReplica) -> str:
    """Where data lie: within a node the shard is named, too."""
    within = kind == "intranode_migration" and replica.host == "A"
    return str(replica) if within else replica.host
