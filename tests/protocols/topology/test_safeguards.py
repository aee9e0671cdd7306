"""What each safeguard is for: the shortest run that breaks its invariant once it is off."""

from __future__ import annotations

import pytest

from kit.model.model import Safeguard
from kit.model.registry import build
from kit.protocols.topology.topology import Topology
from kit.search.check import check

REDUNDANT = "start-marker"
NEEDED = tuple(guard for guard in Topology.safeguards if guard.name != REDUNDANT)
INVARIANTS = {prop.name: prop.invariant for prop in build("topology").properties}


@pytest.mark.parametrize("guard", NEEDED, ids=lambda guard: guard.name)
def test_a_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    missing = check(build("topology", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    kept = check(build("topology", guard.smallest))
    assert kept.violation is None
    assert kept.complete


def test_streaming_is_where_an_older_request_harms_first() -> None:
    """Without the drain the shortest run ends as streaming begins, long before the read switch."""
    guard = next(guard for guard in Topology.safeguards if guard.name == "barrier-drains")
    violation = check(build("topology", guard.smallest, (guard.name,))).violation
    assert violation is not None
    assert violation.property == "older-over"
    assert violation.witness.startswith("streaming began while")


TWO_VOTERS = {"nodes": 2, "changes": 1, "release": "2025.3"}


@pytest.mark.parametrize(
    "given",
    [
        {"changes": 1},
        {"changes": 1, "failures": 1, "operations": ("leave C",)},
        {**TWO_VOTERS, "changes": 2, "operations": ("leave B",)},
        {"crashes": 1, "nodes": 2},
    ],
    ids=str,
)
def test_the_start_marker_is_redundant_given_the_guard(given: dict[str, object]) -> None:
    """S-58 is found to be redundant: two coordinators on one state id break nothing, since of two
    commands built on one state only one takes effect.
    """
    found_none = check(build("topology", given, (REDUNDANT,)), symmetry=True)
    assert found_none.violation is None
    assert found_none.complete


def test_without_guard_and_marker_a_deposed_coordinator_is_heard() -> None:
    """With S-59 off the marker does not help: a command decided on an older state takes effect."""
    for off in (("commit-with-guard",), ("commit-with-guard", "start-marker")):
        violation = check(build("topology", TWO_VOTERS, off)).violation
        assert violation is not None
        assert violation.property == "guarded"
