"""What the steps of a resize do, and what they wait for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.tablets.resize import ResizeState
from kit.protocols.topology.rules.machines import EDITIONS, Edition


def played(model: Any, *verbs: str) -> ResizeState:
    """The state after these verbs."""
    state: ResizeState = model.start()
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    return state


def refused(model: Any, state: ResizeState, verb: str) -> str:
    """Why a verb may not be done."""
    option = model.find(state, verb)
    assert option is not None, verb
    assert option[1] is not None, f"{verb} is possible"
    return str(option[1].reason)


@pytest.mark.spec("E-043")
def test_a_split_monitor_divides_once_its_node_knows_of_the_split() -> None:
    """A replica's storage is divided into two halves after its node applied the decision; then it
    shows the decision's number.
    """
    model = build("resize", {"tablets": ("A B",), "nodes": 2})
    state = played(model, "grow", "resize")
    assert refused(model, state, "divide 0 A:0") == "its node does not know about the split yet"
    state = played(model, "grow", "resize", "apply A", "divide 0 A:0")
    a, b = state.stores
    assert (a.names, a.number) == (("0 left", "0 right"), 1)
    assert (b.names, b.number) == (("0",), 0)
    assert "do not yet report 1" in refused(model, state, "poll")
    assert "do not yet report 1" in refused(model, state, "finalize")


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        (2, {"0 A:0": 0, "0 B:0": 0}),
        (4, {"0 A:0": 1, "0 B:0": 0}),
        (6, {"0 A:0": 1, "0 B:0": 1}),
        (12, {"0 A:0": 0, "0 B:0": 0, "1 A:0": 0, "1 B:0": 0}),
        (13, {"0 A:0": 0, "0 B:0": 0, "1 A:0": 0, "1 B:0": 0}),
    ],
)
def test_a_replica_shows_the_number_of_the_split_that_it_is_divided_for(
    steps: int, shown: dict[str, int]
) -> None:
    """It shows none before, nor by an older map than group 0's, nor by the new one."""
    model: Any = build("resize", {"tablets": ("A B",), "nodes": 2, "edition": "server"})
    begun = ("grow", "resize", "apply A", "divide 0 A:0", "apply B", "divide 0 B:0", "poll")
    final = ("finalize", "apply A", "apply B", "barrier", "commit map", "apply A")
    state = played(model, *(*begun, *final)[:steps])
    numbers = model.shown(state)
    assert {f"{tablet} {replica}": n for (tablet, replica), n in numbers.items()} == shown


@pytest.mark.spec("E-046", "E-047")
def test_finalization_has_a_barrier_before_the_map_and_no_move() -> None:
    """In ``tablet_resize_finalization`` nothing moves; the map waits until every node has applied
    all and no repair holds the former one.
    """
    given = {"tablets": ("A",), "nodes": 2, "moves": 1, "repairs": 1, "edition": "server"}
    model = build("resize", given)
    begun = ("grow", "resize", "repair A 0", "apply A", "divide 0 A:0", "poll", "finalize")
    state = played(model, *begun)
    assert refused(model, state, "move 0 A:0 B:0") == "a resize is being finalized"
    assert model.find(state, "commit map") is None
    assert refused(model, state, "barrier") == "nodes have not applied everything"
    state = played(model, *begun, "apply A", "apply B")
    assert refused(model, state, "barrier") == "a repair holds a map"
    state = played(model, *begun, "apply A", "apply B", "end repair", "barrier", "commit map")
    assert state.map.count == 2
    assert state.map.resize_type == "none"


@pytest.mark.spec("E-053")
def test_co_located_siblings_move_together() -> None:
    """While a merge is decided, a balancer's move of one sibling takes the other one along."""
    given = {"tablets": ("A", "A"), "nodes": 2, "initial": 1, "grows": 0, "shrinks": 1, "moves": 1}
    begun = ("shrink", "resize", "move 0 A:0 B:0")
    model = build("resize", given)
    assert (
        refused(model, played(model, *begun), "end move 0") == "nodes have not applied everything"
    )
    state = played(model, *begun, "apply A", "apply B", "end move 0", "end move 1")
    assert [str(each.replicas[0]) for each in state.map.tablets] == ["B:0", "B:0"]
    assert [(each.tablet, str(each.replica)) for each in state.stores] == [(0, "B:0"), (1, "B:0")]


def test_a_decision_that_is_no_longer_due_is_not_finalized() -> None:
    """The table shrinks again within finalization: the map stays, and the split is revoked."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, "shrinks": 1, "edition": "server"})
    divides = ("grow", "resize", "apply A", "divide 0 A:0", "poll")
    begun = (*divides, "finalize", "shrink", "apply A")
    state = played(model, *begun, "barrier", "commit map", "apply A", "barrier", "resize")
    assert state.map.count == 1
    assert (state.map.resize_type, state.map.resize_seq_number) == ("none", 2)
    assert state.average == 75


Way = tuple[Edition, dict[str, Any], tuple[str, ...], list[str]]
SPLIT = ("grow", "resize", "apply A", "divide 0 A:0", "poll")
MOVES = {"nodes": 2, "moves": 1}
TRACK, FINAL = "tablet_migration", "tablet_resize_finalization"
WAYS: tuple[Way, ...] = (
    ("documents", {}, (*SPLIT, "begin track", "finalize", "apply A", "barrier", "commit map"),
     [TRACK, FINAL, ""]),
    ("server", {}, (*SPLIT, "finalize", "apply A", "barrier", "commit map"), [FINAL, ""]),
    ("documents", MOVES, (*SPLIT, "move 0 A:0 B:0", "apply B", "end move 0"), [TRACK]),
    ("documents", MOVES, ("move 0 A:0 B:0", "end move 0", "end track"), [TRACK, ""]),
    ("server", MOVES, ("move 0 A:0 B:0", "end move 0", "end track"), [TRACK, ""]),
    ("documents", MOVES, (*SPLIT, "begin track", "move 0 A:0 B:0", "apply B", "end move 0",
     "divide 0 B:0", "finalize"), [TRACK, FINAL]),
    ("server", MOVES, ("move 0 A:0 B:0", "grow", "resize", "apply A", "divide 0 A:0", "apply B",
     "end move 0", "divide 0 B:0", "poll", "end track", "finalize"), [TRACK, "", FINAL]),
)  # fmt: skip
NO_WAY: tuple[tuple[Edition, dict[str, Any], tuple[str, ...], str, str], ...] = (
    ("documents", {}, SPLIT, "finalize", "the track must begin first"),
    ("documents", {}, (*SPLIT, "begin track"), "end track",
     "a resize is ready: only its finalization can end the track"),
    ("documents", MOVES, (*SPLIT, "begin track", "move 0 A:0 B:0"), "finalize",
     "tablets are in transition"),
    ("server", MOVES, ("move 0 A:0 B:0",), "end track", "tablets are in transition"),
    ("server", MOVES, ("move 0 A:0 B:0", "end move 0", "grow", "resize", "apply A", "apply B",
     "divide 0 B:0", "poll"), "finalize", "the migration track must end first"),
    ("server", MOVES, (*SPLIT, "finalize"), "move 0 A:0 B:0", "a resize is being finalized"),
    ("server", {}, SPLIT[:-1], "finalize",
     "the coordinator has not polled the replicas since they became ready"),
)  # fmt: skip


@pytest.mark.parametrize(("edition", "given", "verbs", "states"), WAYS)
def test_the_topology_goes_along_its_table(
    edition: Edition, given: dict[str, Any], verbs: tuple[str, ...], states: list[str]
) -> None:
    """The documents leave the track for the finalization; the server's track ends before it."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, **given, "edition": edition})
    found = [played(model, *verbs[:done]).transition for done in range(len(verbs) + 1)]
    assert [now for old, now in pairwise(found) if old != now] == states


@pytest.mark.parametrize(("edition", "given", "verbs", "verb", "reason"), NO_WAY)
def test_what_the_table_has_not_is_refused(
    edition: Edition, given: dict[str, Any], verbs: tuple[str, ...], verb: str, reason: str
) -> None:
    """Each refusal says what comes first."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, **given, "edition": edition})
    assert refused(model, played(model, *verbs), verb) == reason


def test_a_node_that_has_not_split_its_storage_lacks_the_right_half() -> None:
    """S-43 off: A divided, B did not. The new map harms nobody until B applies it and remaps."""
    given = {"tablets": ("A B",), "nodes": 2, "edition": "server"}
    model = build("resize", given, ("split-readiness",))
    begun = ("grow", "resize", "apply A", "divide 0 A:0", "finalize", "apply A", "apply B")
    broken = []
    for later in (0, 1, 2):
        ends = ("barrier", "commit map", "apply A", "apply B")[: 2 + later]
        s = played(model, *begun, *ends)
        broken.append([p.check(s) for p in model.properties if p.name == "finds-all"])
    assert broken == [[None], [None], ["B:0 does not find all the data of tablet 1"]]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_default_schedule_splits_the_table(edition: Edition) -> None:
    """Nobody chooses: the table grows, is split, and every node goes by the new map."""
    model = build("resize", {"tablets": ("A B",), "nodes": 2, "edition": edition})
    state = model.start()
    while (action := model.suggest(state)) is not None:
        assert model.describe(state, action, model.apply(state, action))
        state = model.act(state, action)
    assert state.map.count == {"documents": 4, "server": 2}[edition]
    assert {view.count for view in state.views} == {state.map.count}


@pytest.mark.parametrize("edition", EDITIONS)
def test_another_decision_has_another_number(edition: Edition) -> None:
    """A promise that every decision keeps: one that takes the number of another breaks it."""
    model: Any = build("resize", {"edition": edition})
    before, grown = model.start(), played(model, "grow")
    decided = played(model, "grow", "resize")
    assert (decided.map.resize_type, decided.map.resize_seq_number) == ("split", 1)
    assert model.numbers(grown, None, decided) is None
    same = decided.but(map=replace(decided.map, resize_seq_number=0))
    assert model.numbers(grown, None, same) == "another decision has the same number"
    assert model.numbers(before, None, grown) is None
    jumps = decided.but(map=replace(decided.map, resize_seq_number=3))
    assert model.numbers(grown, None, jumps) == "resize_seq_number went from 0 to 3"


# -- of states made by hand ------------------------------------------------------------------------


@pytest.mark.parametrize("ignored", [(), ("C",)])
def test_a_merge_waits_for_no_move_of_who_is_ignored(ignored: tuple[str, ...]) -> None:
    """B C would join A B: from C to A, or not at all."""
    given = {"tablets": ("A B", "B C"), "initial": 1, "grows": 0, "shrinks": 1}
    given |= {"ignored": ignored}
    model: Any = build("resize", given)
    state = played(model, "shrink", "resize")
    moves = [] if ignored else [(1, "C:0", "A:0")]
    assert [*model.movable(state)] == moves


@pytest.mark.parametrize(("node", "missing"), [(0, ("A",)), (1, ("B",)), (None, ())])
def test_who_repairs_answers_no_barrier(node: int | None, missing: tuple[str, ...]) -> None:
    """The first node as well as any other."""
    model: Any = build("resize", {"tablets": ("A B",), "nodes": 2, "repairs": 1})
    state = model.start() if node is None else played(model, f"repair {'AB'[node]} 0")
    assert model.drained(state)[1] == missing


def test_each_token_is_in_one_of_a_power_of_two() -> None:
    """Three tablets that cover all tokens are no map that a split or a merge makes."""
    model: Any = build("resize", {"tablets": ("A",) * 4, "nodes": 1})
    start = model.start()
    first, _, *others = start.map.tablets
    for tablets, said in (
        (start.map.tablets, None),
        ((first, *others), "there are 3 tablets"),
        ((first, *others[:1]), "tablet 1: last_token "),
    ):
        found = model.whole_map(start.but(map=replace(start.map, tablets=tablets)))
        assert (found or "").startswith(said or "")
        assert (found is None) == (said is None)


@pytest.mark.parametrize(("ignored", "is_told"), [((), True), (("A",), False)])
def test_nobody_asks_for_data_of_who_is_ignored(ignored: tuple[str, ...], is_told: bool) -> None:
    """A replica that lacks a part of its tablet's data."""
    model: Any = build("resize", {"tablets": ("A B",), "nodes": 2, "ignored": ignored})
    start = model.start()
    [a, b] = start.stores
    assert model.finds_all(start) is None
    found = model.finds_all(start.but(stores=(a.but(groups=(0,)), b)))
    assert found == ("A:0 does not find all the data of tablet 0" if is_told else None)


@pytest.mark.parametrize(
    ("given", "is_so"), [({"grows": 0}, True), ({"grows": 1}, False), ({"shrinks": 1}, False)]
)
def test_a_table_of_one_size_need_not_be_resized(given: dict[str, int], is_so: bool) -> None:
    """What should happen some time is asked only of a table that grows or shrinks."""
    model: Any = build("resize", {"tablets": ("A",), "nodes": 1, "grows": 0, **given})
    assert model.resized(model.start()) == is_so
