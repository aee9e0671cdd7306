"""Who is interchangeable with whom, and where the numbers of nodes count."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.group0.rules.releases import Release
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.topology.rules.work import may_tie
from kit.protocols.topology.symmetry import ControlSymmetry, bystanders, renamed


@pytest.mark.parametrize(
    ("given", "alike"),
    [
        ({"operations": ("leave D",), "edition": "documents"}, "ABC"),
        ({"operations": ("leave D",), "edition": "server"}, ""),
        (
            {"operations": ("leave D",), "ignored": ("C",), "down": ("C",), "edition": "documents"},
            "AB",
        ),
        ({"operations": ("leave D",), "ignored": ("B",), "edition": "documents"}, "AC"),
        ({"operations": (), "on_tablets": ("A",), "edition": "documents"}, "BCD"),
        ({"operations": (), "on_tablets": ("A",), "edition": "server"}, "BC"),
        ({"operations": (), "zero_tokens": ("C",), "edition": "documents"}, "ABD"),
        ({"operations": (), "newer": ("B",), "edition": "documents"}, "ACD"),
    ],
    ids=str,
)
def test_who_stands_out_is_not_interchangeable(given: dict[str, Any], alike: str) -> None:
    """Whom an operation names, who is down or ignored, who holds tablets: each differs."""
    model: Any = build("topology", {"nodes": 4, **given})
    assert "".join(model.names[node] for node in bystanders(model)) == alike


# racks of all nodes, release, whether a node leaves -> whether equal nodes may be chosen by number
TIES: list[tuple[tuple[str, ...], Release, bool, bool]] = [
    (("dc1/r1",) * 4, "master", False, False),
    (("dc1/r1",) * 5, "master", False, True),
    (("dc1/r1",) * 2, "master", True, False),
    (("dc1/r1",) * 3, "master", True, True),
    (("dc1/r1", "dc1/r2", "dc1/r2"), "master", False, True),
    (("dc1/r1", "dc2/r1", "dc2/r1"), "2025.3", False, True),
    (("dc1/r1",) * 9, "2025.1", True, False),
]


@pytest.mark.parametrize(("racks", "release", "leaves", "ties"), TIES)
def test_where_voters_may_tie(
    racks: tuple[str, ...], release: Release, leaves: bool, ties: bool
) -> None:
    """Where all vote, or who votes keeps the vote, it does not matter which node is which."""
    assert may_tie(racks, VoterRules(release), leaves=leaves) is ties


NAMED = {"nodes": 4, "operations": ("leave D",), "edition": "documents"}


@pytest.mark.parametrize(
    "faults",
    [
        {"cuts": 1, "crashes": 1},
        {"changes": 1, "clients": 1},
        {"late": 1, "failures": 1},
        {"addresses": 2},
        {"configurations": 2, "racks": ("dc1/a",) * 4},
        {"operations": ("cleanup",), "crashes": 1},
    ],
    ids=str,
)
def test_names_of_bystanders_do_not_matter(faults: dict[str, Any]) -> None:
    """A state in which two of them change places is stood for by the same one."""
    model: Any = build("topology", {**NAMED, **faults})
    stands_for = ControlSymmetry(model)
    states, known = [model.start()], {model.start()}
    for state in states:
        fresh = [after for _, after in model.successors(state) if after not in known]
        known.update(fresh)
        states += dict.fromkeys(fresh)
        if len(states) > 600:
            break
    assert len(stands_for.alike) > 2
    for state in states:
        for first, second in combinations(stands_for.alike, 2):
            places = list(range(len(state.applied)))
            places[first], places[second] = second, first
            assert stands_for(renamed(state, tuple(places)))[0] == stands_for(state)[0]
