"""What the steps of a resize do, and what they wait for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.resize import ResizeState
from kit.protocols.topology.rules.machines import Edition


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


@pytest.mark.parametrize(("edition", "given", "verbs", "states"), WAYS)
def test_the_topology_goes_along_its_table(
    edition: Edition, given: dict[str, Any], verbs: tuple[str, ...], states: list[str]
) -> None:
    """The documents leave the track for the finalization; the server's track ends before it."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, **given, "edition": edition})
    found = [played(model, *verbs[:done]).transition for done in range(len(verbs) + 1)]
    assert [now for old, now in pairwise(found) if old != now] == states


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
