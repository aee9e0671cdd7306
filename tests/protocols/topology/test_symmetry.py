"""Who is interchangeable with whom, and where the numbers of nodes count."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.releases import Release
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.topology.control import Attempted
from kit.protocols.topology.rules.cluster import NOBODY, LocalView, Mutation, with_node
from kit.protocols.topology.rules.work import may_tie
from kit.protocols.topology.symmetry import (
    ControlSymmetry,
    _fresh,
    _in_order,
    _renamed,
    bystanders,
)


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


ROW, OTHER = (("cleanup", "needed"),), (("state", "left_token_ring"),)


def scattered(model: Any) -> Any:
    """A state of four nodes in which all that names a node names one, and all ids are there."""
    start = model.start()
    nodes = tuple(replace(row, shards=i + 1) for i, row in enumerate(start.topology.nodes))
    change = Mutation((("session", 10), ("ignored", 0b0010)), ((0, ROW), (2, OTHER)))
    return start.but(
        topology=replace(
            start.topology,
            nodes=nodes,
            session=7,
            ignored=0b0001,
            members=0b1011,
            nonvoters=0b0010,
            tablets_on=0b0100,
        ),
        state_id=9,
        views=(LocalView(1, 1, 0), LocalView(2, 1, 7)),
        applied=(0, 1, 2, 3),
        up=0b1011,
        cut=0b0100,
        chosen=0b0011,
        coordinator=0,
        attempted=Attempted(step=2, answered=0b0001, command=Command(change, 9, 10, "A", "is")),
        deposed=Command(Mutation((("version", 5),), ((1, ROW),)), None, 6, "B"),
        client=2,
        leftover=3,
        leftover_at=1,
        addresses=(0, 10, 20, 30),
        unheard=0b0010,
    )


def test_all_that_names_a_node_is_renamed() -> None:
    """Each node in its new place, ids as small as can be, neighbours still side by side."""
    model: Any = build("topology", NAMED)
    state = scattered(model)
    rows = state.topology.nodes
    change = Mutation((("session", 9), ("ignored", 0b0001)), ((1, OTHER), (2, ROW)))
    assert _renamed(state, (1, 2, 0, 3)) == state.but(
        topology=replace(
            state.topology,
            nodes=(rows[1], rows[2], rows[0], rows[3]),
            session=6,
            ignored=0b0100,
            members=0b1101,
            nonvoters=0b0001,
            tablets_on=0b0010,
        ),
        state_id=8,
        views=(LocalView(1, 1, 0), LocalView(2, 1, 6)),
        applied=(1, 2, 0, 3),
        up=0b1101,
        cut=0b0010,
        chosen=0b0101,
        coordinator=2,
        attempted=Attempted(step=2, answered=0b0100, command=Command(change, 8, 9, "")),
        deposed=Command(Mutation((("version", 5),), ((0, ROW),)), None, 5, ""),
        client=1,
        leftover=2,
        leftover_at=0,
        addresses=(10, 20, 0, 30),
        unheard=0b0001,
    )
    nobody = state.but(coordinator=NOBODY, client=NOBODY, leftover_at=NOBODY, addresses=())
    after = _renamed(nobody.but(deposed=None, attempted=Attempted()), (1, 2, 0, 3))
    assert (after.coordinator, after.client, after.leftover_at) == (NOBODY, NOBODY, NOBODY)
    assert (after.addresses, after.deposed, after.attempted) == ((), None, Attempted())
    assert (after.leftover, after.topology.session, after.state_id) == (2, 4, 6)
    plain = state.but(deposed=None, attempted=Attempted(command=Command(Mutation(), 9, 10, "A")))
    after = _renamed(plain, (0, 1, 2, 3))
    assert after.attempted.command == Command(Mutation(), 6, 7, "")


@pytest.mark.parametrize(
    ("ids", "fresh"),
    [
        ((), []),
        ((1,), [1]),
        ((2,), [2]),
        ((5,), [2]),
        ((1, 2, 3), [1, 2, 3]),
        ((1, 3, 4), [1, 3, 4]),
        ((2, 5, 6, 9), [2, 4, 5, 7]),
    ],
)
def test_ids_are_as_small_as_can_be(ids: tuple[int, ...], fresh: list[int]) -> None:
    """Next to one another only where they were; 0 is none."""
    assert _fresh(ids) == {0: 0, **dict(zip(ids, fresh, strict=True))}


C_FIRST, C_LAST, NOT_D = [2, 0, 1, 3], [0, 1, 3, 2], [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        ({}, NOT_D),
        ({"coordinator": 2}, C_FIRST),
        ({"client": 2}, C_FIRST),
        ({"leftover_at": 2}, C_FIRST),
        ({"applied": (0, 0, 1, 0)}, C_LAST),
        ({"up": 0b1011}, C_FIRST),
        ({"cut": 0b0100}, C_LAST),
        ({"unheard": 0b0100}, C_LAST),
        ({"chosen": 0b0100}, C_LAST),
        ({"addresses": (0, 0, 1, 0)}, C_LAST),
        ({"attempted": Attempted(answered=0b0100)}, C_LAST),
        ({"attempted": Attempted(command=Command(Mutation((), ((2, ROW),)), 1, 2, ""))}, C_LAST),
        ({"deposed": Command(Mutation((), ((2, ROW),)), 1, 2, "")}, C_LAST),
        ({"row": {"cleanup": "needed"}}, C_LAST),
        ({"row": {"rack": "z"}}, C_LAST),
        ({"row": {"shards": 2}}, C_LAST),
    ],
    ids=str,
)
def test_bystanders_are_in_the_order_of_what_sets_them_apart(
    cells: dict[str, Any], order: list[int]
) -> None:
    """Something is so of C alone; the others are by their numbers."""
    model: Any = build("topology", NAMED)
    start = model.start().but(coordinator=NOBODY, up=0b1111)
    row = cells.get("row", {})
    state = start.but(
        topology=with_node(start.topology, 2, **row),
        **{name: value for name, value in cells.items() if name != "row"},
    )
    assert _in_order(state, (0, 1, 2, 3)) == order
    stands_for = ControlSymmetry(model)
    assert stands_for.alike == (0, 1, 2)
    places = (*(node for node in order if node != 3), 3)
    assert stands_for(state) == (_renamed(state, places), places)
