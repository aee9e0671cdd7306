"""Who is interchangeable with whom, and where the numbers of nodes count."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.voters import Release, VoterRules
from kit.protocols.topology.rules.cluster import Mutation
from kit.protocols.topology.rules.work import may_tie
from kit.protocols.topology.symmetry import ControlSymmetry, _renamed, bystanders


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
    ],
    ids=str,
)
def test_who_stands_out_is_not_interchangeable(given: dict[str, Any], alike: str) -> None:
    """Whom an operation names, who is down or ignored, who holds tablets: each differs."""
    model: Any = build("topology", {"nodes": 4, **given})
    assert "".join(model.names[node] for node in bystanders(model)) == alike


# racks of all nodes, release, whether a node leaves -> whether equal nodes may be chosen by number
TIES: list[tuple[tuple[str, ...], Release, bool, bool]] = [
    (("dc1/r1",) * 4, "newest", False, False),
    (("dc1/r1",) * 5, "newest", False, True),
    (("dc1/r1",) * 2, "newest", True, False),
    (("dc1/r1",) * 3, "newest", True, True),
    (("dc1/r1", "dc1/r2", "dc1/r2"), "newest", False, True),
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
            assert stands_for(_renamed(state, tuple(places)))[0] == stands_for(state)[0]


def told_apart(state: Any, node: int, other: int) -> dict[str, Any]:
    """States in which something is so of a node that is not so of another one."""
    bit = 1 << node
    static = Mutation((("ignored", bit),))
    row = Mutation(nodes=((node, (("cleanup", "needed"),)), (other, (("cleanup", "clean"),))))
    commands = {
        name: Command(change, state.state_id, state.state_id + 1, "A")
        for name, change in (("static", static), ("row", row))
    }
    return {
        "cut": state.but(cut=bit),
        "up": state.but(up=state.up & ~bit),
        "unheard": state.but(unheard=bit),
        "addresses": state.but(addresses=tuple(int(i == node) for i in range(len(state.applied)))),
        "answered": state.but(attempted=state.attempted.but(answered=bit)),
        "row of a command": state.but(deposed=commands["row"]),
        "nodes that a command ignores": state.but(
            deposed=commands["static"], topology=replace(state.topology, ignored=bit), cut=bit
        ),
    }


@pytest.mark.parametrize("what", told_apart(build("topology").start(), 0, 1))
def test_whichever_bystander_it_is_one_state_stands_for_it(what: str) -> None:
    """And another one for a state in which it is so of none."""
    model: Any = build("topology", NAMED)
    stands_for, start = ControlSymmetry(model), model.start()
    _, first, second = stands_for.alike  # the first one leads
    one = told_apart(start, first, second)[what]
    assert stands_for(one)[0] == stands_for(told_apart(start, second, first)[what])[0]
    assert stands_for(one)[0] != stands_for(start)[0]


@pytest.mark.parametrize("places", [*permutations(range(3))])
def test_a_command_may_have_other_values_for_each_bystander(places: tuple[int, ...]) -> None:
    """Two rows of it differ, and of a third node it says nothing: whoever is which."""
    model: Any = build("topology", {**NAMED, "nodes": 5})
    stands_for, start = ControlSymmetry(model), model.start()
    _, *others = stands_for.alike
    states = []
    for order in (range(3), places):
        needed, clean, _ = (others[place] for place in order)
        rows = Mutation(
            nodes=tuple(
                sorted([(needed, (("cleanup", "needed"),)), (clean, (("cleanup", "clean"),))])
            )
        )
        states.append(start.but(deposed=Command(rows, start.state_id, start.state_id + 1, "A")))
    assert stands_for(states[0])[0] == stands_for(states[1])[0]
