"""What each safeguard of the tracks is for: the shortest run that breaks its invariant without."""

from __future__ import annotations

import pytest

from kit.model.model import Safeguard
from kit.model.registry import build
from kit.protocols.tablets.tablets import Tablets
from kit.search.check import check

INVARIANTS = {prop.name: prop.invariant for prop in build("tablets").properties}


@pytest.mark.parametrize("guard", Tablets.safeguards, ids=lambda guard: guard.name)
def test_a_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    missing = check(build("tablets", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    kept = check(build("tablets", guard.smallest))
    assert kept.violation is None
    assert kept.verdict == "complete"


@pytest.mark.spec("E-022")
def test_a_second_migration_of_a_tablet_is_refused() -> None:
    """Another tablet may begin, the one that moves may not, by whichever shard and to whomever: the
    reason names its transition. Once that has ended it may.
    """
    model = build("tablets", {"nodes": 3, "tablets": ("A", "A"), "moves": 2})
    state = model.start()
    for verb in ("imbalance", "migrate 0 A:0 B:0", "commit"):
        state = model.act(state, model.find(state, verb)[0])
    offered = {model.verb(action): refusal for action, refusal in model.options(state)}
    assert offered["migrate 1 A:0 C:0"] is None
    for verb in ("migrate 0 A:0 B:0", "migrate 0 A:0 C:0"):
        refusal = offered[verb]
        assert refusal is not None
        assert refusal.reason == "tablet 0 is in transition: migration, allow_write_both_read_old"
    while state.tablets[0].transitions:
        [action] = [
            a
            for a in model.actions(state)
            if model.kind(a) in ("work", "decide", "commit")
            and not model.verb(a).startswith("migrate")
        ][:1]
        state = model.act(state, action)
    assert "migrate 0 B:0 C:0" in [model.verb(action) for action in model.actions(state)]


def test_without_exclusion_a_replica_is_left_on_who_has_left() -> None:
    """S-26: a tablet moves to the very node that leaves meanwhile; with nothing else judged the
    search goes on to the replica on a node that is gone.
    """
    given = {"nodes": 3, "tablets": ("A",), "operations": ("leave B",), "edition": "server"}
    model = build("tablets", given, ("tablet-track-excludes",))
    only = tuple(prop for prop in model.properties if prop.name == "replicas-on-members")
    found = check(model, only).violation
    assert found is not None
    assert "which has left" in found.witness
