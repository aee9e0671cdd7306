"""Several operations in flight on disjoint ranges: they interleave freely and end alike."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.ring.placements import stable_placement
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.exploring import reachable

EDITIONS = ("documents", "server")
THREE = ("bootstrap X --tokens 450", "decommission n8", "move n12 --tokens 1250")


def sixteen(*operations: str, **parameters: Any) -> Drive:
    """Sixteen nodes n1 … n16 at 100 … 1600, RF 2."""
    members = tuple(Node(f"n{i}", (i * 100,)) for i in range(1, 17))
    return Drive(members=members, low=0, high=2000, operations=operations, **parameters)


@pytest.mark.parametrize("edition", EDITIONS)
def test_any_order_of_finishing_gives_the_same_placements(edition: str) -> None:
    """Three operations begun together, finished in each of the six orders, lead to one ring."""
    results = []
    for order in permutations(("X", "n8", "n12")):
        drive = sixteen(*THREE, edition=edition).act(*THREE)
        for node in order:
            drive.finish(node)
            assert drive.dark() == []
        assert drive.stable()
        results.append(drive.table())
    assert len(set(results)) == 1


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_any_interleaving_gives_the_same_placements(edition: str, seed: int) -> None:
    """Steps of three operations, shuffled, never disturb each other: rows of each are its own."""
    chance = random.Random(seed)
    drive = sixteen(*THREE, edition=edition)
    alone = {text: sixteen(text, edition=edition).complete(text).table() for text in THREE}
    nodes = ["X", "n8", "n12"]
    chance.shuffle(nodes)
    begun = dict(zip(("X", "n8", "n12"), THREE, strict=True))
    for node in nodes:
        drive.act(begun[node])
        for other in chance.sample(nodes, 2):
            if drive.metadata.sequence(other) is not None:
                drive.commit(other)
                assert drive.dark() == []
    while rows := facts.operations(drive.model, drive.state):
        drive.commit(chance.choice(rows).node)
        assert drive.dark() == []
    assert drive.stable()
    before = sixteen().table()
    for token in range(10, 2000, 10):
        changed = [
            table for table in alone.values() if groups_in(table, token) != groups_in(before, token)
        ]
        wanted = changed[0] if changed else before
        assert len(changed) <= 1
        assert groups_in(drive.table(), token) == groups_in(wanted, token)


def groups_in(table: Any, token: int) -> Any:
    """Both groups of a token in a table of plain rows."""
    return next((reads, writes) for left, right, reads, writes in table if left < token <= right)


def test_every_interleaving_of_two_joins() -> None:
    """Of all interleavings of two disjoint joins, each that comes to rest is at its ring's rest."""
    joins = ("bootstrap X --tokens 450", "bootstrap Y --tokens 1250")
    model = sixteen(*joins).model.tcm  # without the log: who knows what plays no part here
    together, rings = 0, set()
    for state in reachable(model):
        snapshot = model.snapshot(state.events)
        metadata = snapshot.metadata
        together = max(together, len(metadata.sequences))
        if not metadata.sequences:
            (group,) = metadata.groups
            assert snapshot.placements == (stable_placement(metadata.ring, group),)
            rings.add(metadata.ring)
    assert together == 2
    assert len(rings) == 4  # neither joined, either, or both


def test_a_join_and_a_leave_undo_each_other() -> None:
    """What one operation leaves behind is where the next one begins."""
    drive = Drive(operations=("bootstrap X --tokens 150",)).complete("bootstrap X --tokens 150")
    members = tuple(
        Node(n.name, n.tokens) for n in facts.nodes(drive.model, drive.state) if n.tokens
    )
    after = Drive(members=members, low=0, high=400, operations=("decommission X",))
    assert after.table() == drive.table()
    assert after.complete("decommission X").table() == Drive().table()
