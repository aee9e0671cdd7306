"""Searches of the model of a resize: complete with all safeguards, a counterexample without one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kit.model.model import Safeguard
from kit.model.registry import build
from kit.protocols.tablets.resize import Resize
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check

MOST = 1_000_000
INVARIANTS = {prop.name: prop.invariant for prop in build("resize").properties}
SMALL: dict[str, dict[str, Any]] = {
    "split, a repair": {"tablets": ("A B",), "nodes": 2, "repairs": 1},
    "split or revoked, a move": {"tablets": ("A B",), "shrinks": 1, "moves": 1},
    "merge, a move, a repair": {
        "tablets": ("A B", "A C"), "initial": 1, "grows": 0, "shrinks": 1, "moves": 1,
        "repairs": 1,
    },
    "merge on shards": {
        "tablets": ("A:0 B:1", "A:1 C:0"), "initial": 1, "grows": 0, "shrinks": 1,
    },
    "split beside a dead node": {"tablets": ("A C",), "ignored": ("C",), "shrinks": 1, "moves": 1},
    "merge beside a dead node": {
        "tablets": ("A C", "A C"), "initial": 1, "ignored": ("C",), "shrinks": 1, "repairs": 1,
    },
    "growing mode": {"tablets": ("A", "A"), "nodes": 1, "initial": 2, "shrinks": 2},
    "growing mode, left": {"tablets": ("A", "A"), "nodes": 1, "size": 90, "shrinks": 2},
    "two splits at once": {"tablets": ("A",), "nodes": 1, "size": 101},
    "more than the growth": {"tablets": ("A",), "nodes": 2, "size": 410, "grows": 0, "repairs": 1},
    "merges first": {
        "tablets": ("A", "A"), "nodes": 1, "initial": 1, "size": 120, "grows": 1, "shrinks": 2,
    },
    "the schema asks for more": {"tablets": ("A",), "nodes": 1, "size": 210, "initial": 4},
}  # fmt: skip


@pytest.mark.spec("E-038")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", SMALL)
def test_a_table_is_resized(edition: Edition, name: str) -> None:
    """Sizes, moves, repairs and nodes that lag in any order: every token is in one tablet, replicas
    find their data, siblings are merged in one place, each decision takes the next number, and each
    resize can end.
    """
    result = check(build("resize", {"edition": edition, **SMALL[name]}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert not result.unreached


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("moves", [0, 1])
def test_a_merge_of_replicas_on_a_dead_node_waits_for_an_operator(
    edition: Edition, moves: int
) -> None:
    """Siblings cannot be brought together while a replica would have to leave, or go to, a node
    that is ignored: nothing else is broken, and the refusal names the node and what it waits for.
    """
    given = {"tablets": ("A C", "A B"), "initial": 1, "ignored": ("C",), "grows": 0, "shrinks": 1}
    model: Any = build("resize", {"edition": edition, **given, "moves": moves})
    result = check(model, max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    state = model.start()
    for verb in ("shrink", "resize"):
        state = model.act(state, model.find(state, verb)[0])
    waits = model.find(state, "begin track" if edition == "documents" else "finalize")[1]
    assert "nobody was told to do anything about it: the merge waits" in waits.reason
    assert waits.missing == ("C",)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
def test_two_tablets_grow_and_shrink(edition: Edition) -> None:
    """Two tablets of three nodes with every kind of step."""
    given = {"tablets": ("A B", "B C"), "initial": 1, "shrinks": 1}
    given |= {"moves": 1 if edition == "server" else 0}
    result = check(build("resize", {"edition": edition, **given}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


@pytest.mark.parametrize("guard", Resize.safeguards, ids=lambda guard: guard.name)
def test_a_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    missing = check(build("resize", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    kept = check(build("resize", guard.smallest))
    assert kept.violation is None
    assert kept.verdict == "complete"


def test_siblings_merged_apart_lose_data() -> None:
    """S-45: with nothing else judged the search goes on to a replica that lacks its sibling's."""
    model = build("resize", Resize.safeguards[-1].smallest, ("colocation-test",))
    only = tuple(prop for prop in model.properties if prop.name == "finds-all")
    found = check(model, only).violation
    assert found is not None
    assert "B:0 does not find all the data" in found.witness


@pytest.mark.spec("E-048")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_node_has_the_groups_of_its_own_map(edition: Edition) -> None:
    """On walks with every kind of step: a node stores each replica that the map which it goes by
    has there, once, and the parts of its compaction groups are within that tablet.
    """
    given = {"tablets": ("A B", "B C"), "initial": 1, "shrinks": 2, "moves": 2, "repairs": 1}
    model: Any = build("resize", {"edition": edition, **given})
    remapped = 0
    for seed in range(25):
        chance, s = random.Random(seed), model.start()
        for _ in range(90):
            actions = list(model.actions(s))
            if not actions:
                break
            before, s = s, model.act(s, chance.choice(actions))
            remapped += len(before.stores) != len(s.stores)
            for name, view in zip(model.names, s.views, strict=True):
                own = [each for each in s.stores if each.replica.host == name]
                assert len({each.tablet for each in own}) == len(own)
                for each in own:
                    assert sum(each.groups) == model.parts_of(each.tablet, view.count)
                if view.count == s.map.count:
                    rows = enumerate(s.map.tablets)
                    there = {(i, r) for i, row in rows for r in row.replicas if r.host == name}
                    assert {(each.tablet, each.replica) for each in own} == there
    assert remapped > 20
