"""What each safeguard of the tracks is for: the shortest run that breaks its invariant without."""

from __future__ import annotations

import pytest

from kit.engine.check import check
from kit.engine.registry import build
from kit.engine.safeguards import Safeguard
from kit.protocols.tablets.tracks.safeguards import SAFEGUARDS

INVARIANTS = {prop.name: prop.invariant for prop in build("tablets").properties}


@pytest.mark.spec("E-022")
@pytest.mark.parametrize("guard", SAFEGUARDS, ids=lambda guard: guard.name)
def test_a_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    missing = check(build("tablets", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    kept = check(build("tablets", guard.smallest))
    assert kept.violation is None
    assert kept.verdict == "complete"


def test_without_exclusion_a_replica_is_left_on_who_has_left() -> None:
    """S-26: a tablet moves to the very node that leaves meanwhile; with nothing else judged the
    search goes on to the replica on a node that is gone.
    """
    given = {"nodes": 3, "tablets": ("A",), "moves": 1, "operations": ("leave B",)}
    model = build("tablets", given, ("tablet-track-excludes",))
    only = tuple(prop for prop in model.properties if prop.name == "replicas-on-members")
    found = check(model, only).violation
    assert found is not None
    assert "which has left" in found.witness
