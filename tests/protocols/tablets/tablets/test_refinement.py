"""The tablet tracks are the topology's one piece of work for all tablets, up to stuttering."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import Refinement
from kit.protocols.tablets.tablets import Tablets, refinement
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check_refinement

TO_THREE = ("keyspace_rf_change ks dc1=3",)
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "failures, a new coordinator": {"failures": 1, "changes": 1},
    "crash of a node that is excluded": {"crashes": 1, "exclusions": 1},
    "nodes answer one by one": {"answering": True, "failures": 1},
    "late RPC": {"failures": 1, "late": 1},
    "two tablets": {"tablets": ("A", "B"), "moves": 2},
    "leave": {"moves": 0, "operations": ("leave B",), "failures": 1, "undone": 1},
    "leave while tablets move": {"moves": 1, "operations": ("leave B",)},
    "leave without a place": {"tablets": ("A B C", "A"), "moves": 1, "operations": ("leave B",)},
    "remove": {"moves": 0, "operations": ("remove B",), "failures": 1, "undone": 1},
    "RF change": {"moves": 0, "operations": TO_THREE, "failures": 1, "late": 1},
    "RF change, a new coordinator": {"moves": 1, "operations": TO_THREE, "changes": 1},
    "RF change that is refused": {"operations": ("keyspace_rf_change ks dc1=9",), "changes": 1},
    "truncate": {"moves": 1, "operations": ("truncate_table ks.t",), "crashes": 1},
    "replace": {"moves": 0, "operations": ("replace D B",), "failures": 1},
    "join while tablets move": {"moves": 1, "operations": ("join D",)},
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_tracks_refine_the_opaque_one(edition: Edition, name: str) -> None:
    """Every reachable step of the tablets is its image in the topology, if only a stutter."""
    given = {"edition": edition, "nodes": 3, "tablets": ("A B",), **CONFIGURATIONS[name]}
    found = check_refinement(refinement(Tablets.Parameters(**given)))
    assert found.violation is None, found.violation
    assert found.complete
    assert found.states > 40


def test_a_wrong_map_is_found() -> None:
    """A map that forgets that replica sets change is told from the right one."""
    both = refinement(Tablets.Parameters(nodes=3, tablets=("A B",)))

    def lazy(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        return both.image(before, action, after)[:0]

    wrong = Refinement(both.fine, both.coarse, both.project, lazy)
    assert check_refinement(wrong).violation is not None
