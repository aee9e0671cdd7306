"""A resize: what its steps do and wait for, and searches that are complete."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Safeguard
from kit.model.registry import build
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.outcomes import acted, refused
from tests.protocols.storage.proofs import assert_protects
from tests.quality.breaking import broken, changing, doing, never
from tests.quality.reporting import assert_reported, judges


def played(model: Any, *verbs: str) -> ResizeState:
    """The state after these verbs."""
    state: ResizeState = acted(model, model.start(), *verbs)
    return state


@pytest.mark.spec("E-043")
def test_a_replica_divides_its_storage_once_its_node_knows_of_the_split() -> None:
    """Then it reports the decision's number."""
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
def test_a_finalization_commits_its_map_behind_a_barrier_without_moves() -> None:
    """The barrier waits for every node, and for a repair that holds the former map."""
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


def test_a_split_that_is_no_longer_due_is_revoked_within_its_finalization() -> None:
    """The map stays."""
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
def test_a_resize_takes_the_topology_states_of_its_edition(
    edition: Edition, given: dict[str, Any], verbs: tuple[str, ...], states: list[str]
) -> None:
    """The server's tablet track ends before the finalization, the documents' leads into it."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, **given, "edition": edition})
    found = [played(model, *verbs[:done]).transition for done in range(len(verbs) + 1)]
    assert [now for old, now in pairwise(found) if old != now] == states


def test_without_split_readiness_a_replica_lacks_the_data_of_its_right_half() -> None:
    """S-43: the new map does no harm until that node applies it."""
    given = {"tablets": ("A B",), "nodes": 2, "edition": "server"}
    model = build("resize", given, ("split-readiness",))
    begun = ("grow", "resize", "apply A", "divide 0 A:0", "finalize", "apply A", "apply B")
    broken = []
    for later in (0, 1, 2):
        ends = ("barrier", "commit map", "apply A", "apply B")[: 2 + later]
        s = played(model, *begun, *ends)
        broken.append([p.check(s) for p in model.properties if p.name == "finds-all"])
    assert broken == [[None], [None], ["B:0 does not find all the data of tablet 1"]]


MOST = 1_000_000

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
def test_a_resize_beside_moves_repairs_and_dead_nodes_breaks_no_promise(
    edition: Edition, name: str
) -> None:
    """The search is complete, and every goal is reached."""
    result = check(build("resize", {"edition": edition, **SMALL[name]}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert not result.unreached


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("moves", [0, 1])
def test_a_merge_of_replicas_on_a_dead_node_waits_for_an_operator(
    edition: Edition, moves: int
) -> None:
    """Nothing is broken, and the refusal names the node."""
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
def test_two_tablets_that_grow_and_shrink_break_no_promise(edition: Edition) -> None:
    """The search of three nodes is complete."""
    given = {"tablets": ("A B", "B C"), "initial": 1, "shrinks": 1}
    given |= {"moves": 1 if edition == "server" else 0}
    result = check(build("resize", {"edition": edition, **given}), max_states=MOST)
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


@pytest.mark.parametrize("guard", Resize.safeguards, ids=lambda guard: guard.name)
def test_each_safeguard_of_a_resize_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks it. On, nothing is broken there."""
    assert_protects("resize", guard)


def test_without_the_colocation_test_a_merge_loses_a_siblings_data() -> None:
    """S-45: a replica does not find what its sibling had on another node."""
    model = build("resize", Resize.safeguards[-1].smallest, ("colocation-test",))
    only = tuple(prop for prop in model.properties if prop.name == "finds-all")
    found = check(model, only).violation
    assert found is not None
    assert "B:0 does not find all the data" in found.witness


@pytest.mark.spec("E-048")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_node_stores_each_replica_of_its_applied_map_once(edition: Edition) -> None:
    """Its compaction groups are parts of that tablet."""
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
                assert len({each.tablet for each in own}) == len(own), seed
                for each in own:
                    assert sum(each.groups) == model.parts_of(each.tablet, view.count), seed
                if view.count == s.map.count:
                    rows = enumerate(s.map.tablets)
                    there = {(i, r) for i, row in rows for r in row.replicas if r.host == name}
                    assert {(each.tablet, each.replica) for each in own} == there, seed
    assert remapped > 20


SMALLEST = {guard.name: guard.smallest for guard in Resize.safeguards}
ONE_TABLET = {"tablets": ("A",), "nodes": 1}
A, B = (TabletReplica(host) for host in "AB")
MOVING = (Tablet(2**63 - 1, (A,), (B,), "streaming", "migration"),)


def without(off: str) -> Callable[[], Any]:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("resize", SMALLEST[off], (off,))


def spoiling(action: type, change: Callable[[TabletMap], TabletMap]) -> Callable[[], Any]:
    """The model, where a step also changes group 0's map."""
    spoiled = changing(lambda s, action, after: replace(after, map=change(after.map)))
    return lambda: broken(build("resize", ONE_TABLET), action, spoiled)


REPORTED: dict[str, Callable[[], Any]] = {
    "whole-map": spoiling(Resize.commit_map.struct, lambda m: replace(m, tablets=m.tablets[:1])),
    "finds-all": without("split-readiness"),
    "co-located": without("colocation-test"),
    "repair-map": without("barrier-before-map"),
    "nothing-moves": spoiling(Resize.finalize.struct, lambda m: replace(m, tablets=MOVING)),
    "numbers": spoiling(
        Resize.decide.struct, lambda m: replace(m, resize_seq_number=m.resize_seq_number + 1)
    ),
    "resized": lambda: broken(
        build("resize", ONE_TABLET), Resize.decide.struct, doing(lambda s, action: s)
    ),
    "ends": lambda: broken(build("resize", ONE_TABLET), Resize.finalize.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_of_a_resize_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_of_a_resize_has_a_broken_model() -> None:
    """The table names all of them."""
    assert set(REPORTED) == set(judges(build("resize")))
