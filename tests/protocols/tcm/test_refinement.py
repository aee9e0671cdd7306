"""The text's edition of every operation refines the implementation's, up to stuttering."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.model import Refinement
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.examples import refinement
from kit.protocols.tcm.parameters import TcmParameters
from kit.ring.replication import EverywhereStrategy, Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from kit.search.check import check_refinement
from tests.protocols.tcm.exploring import reachable

EVERYWHERE = (Keyspace("all", EverywhereStrategy()),)
ELSEWHERE = {
    "members": (Node("a", (100,), "dc1"), Node("b", (200,), "dc1"), Node("c", (300,), "dc2")),
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 1),))),),
    "low": 0,
    "high": 400,
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bootstrap": {},
    "join, RF 3": {"rf": 3},
    "join, RF above the nodes": {"nodes": 2, "rf": 3},
    "bootstrap without change": {**ELSEWHERE, "operations": ("bootstrap X --tokens 50 --dc dc2",)},
    "decommission": {"nodes": 4, "operations": ("decommission D",)},
    "leave where all replicate": {"keyspaces": EVERYWHERE, "operations": ("decommission B",)},
    "move": {"nodes": 4, "operations": ("move B --tokens 350",)},
    "move where all replicate": {
        "keyspaces": EVERYWHERE, "operations": ("move B --tokens 350",), "cancels": 1,
    },
    "replace": {"nodes": 4, "rf": 3, "operations": ("replace B Z",)},
    "removenode": {"nodes": 4, "rf": 3, "operations": ("removenode B",)},
    "assassinate": {"nodes": 4, "rf": 3, "operations": ("assassinate B",)},
    "two joins": {"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")},
    "join and leave": {"nodes": 4, "operations": ("decommission D", "bootstrap X --tokens 150")},
    "crash": {"crashes": 1},
    "crash of a leaver": {"nodes": 4, "crashes": 1, "operations": ("decommission D",)},
    "cancel": {"cancels": 1},
    "cancel of a leave": {"nodes": 4, "cancels": 1, "operations": ("decommission D",)},
    "without barriers": {"nodes": 2, "rf": 1, "barrier": False},
    "later epoch": {"epoch": 99},
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_text_refines_the_implementation(name: str) -> None:
    """Every reachable step of edition documents is its image in the other edition, if only a
    stutter.
    """
    found = check_refinement(refinement(TcmParameters(**CONFIGURATIONS[name])))
    assert found.violation is None, found.violation
    assert found.complete
    assert found.states > 4


def test_both_come_to_the_same_placements() -> None:
    """Wherever nothing is under way, both editions have equal tables, metadata and epochs' ends."""
    for name in ("bootstrap", "move", "cancel"):
        both = refinement(TcmParameters(**CONFIGURATIONS[name]))
        assert isinstance(both.fine, TcmCluster)
        assert isinstance(both.coarse, TcmCluster)
        for state in reachable(both.fine):
            fine = both.fine.snapshot(state)
            coarse = both.coarse.snapshot(both.project(state))
            assert fine.metadata.ring == coarse.metadata.ring
            if not fine.metadata.sequences:
                assert not coarse.metadata.sequences
                assert fine.placements == coarse.placements


def test_what_each_event_is() -> None:
    """A move's five events are the other's four: the drop is a stutter, the merge is finish."""
    both = refinement(TcmParameters(**CONFIGURATIONS["move"]))
    state, told = both.fine.start(), []
    while (action := both.fine.suggest(state)) is not None:
        after = both.fine.act(state, action)
        if len(after.tcm.events) > len(state.tcm.events):
            told.append([both.coarse.verb(a) for a in both.image(state, action, after)])
        state = after
    assert told == [["move B --tokens 350"], ["commit B"], ["commit B"], [], ["commit B"]]


def test_a_leave_begins_with_two() -> None:
    """A leave cuts nothing: its first event is prepare and start, the leaver knowing the first."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))
    state = both.fine.start()
    action = both.fine.suggest(state)
    after = both.fine.act(state, action)
    assert [both.coarse.verb(a) for a in both.image(state, action, after)] == [
        "decommission D", "apply D", "commit D",
    ]  # fmt: skip


def test_barriers_are_where_they_differ() -> None:
    """With barriers kept on both sides a join is still refined, a leave is not: its start waits."""
    join = refinement(TcmParameters(rf=3), barrier=True)
    assert check_refinement(join).violation is None
    leave = refinement(TcmParameters(**CONFIGURATIONS["decommission"]), barrier=True)
    found = check_refinement(leave).violation
    assert found is not None
    assert "waiting at the barrier" in found.witness


def test_a_wrong_map_is_found() -> None:
    """A map in which the drop of writes is already finish is told from the right one."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))

    def eager(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        image = both.image(before, action, after)
        return image or (action,)

    wrong = Refinement(both.fine, both.coarse, both.project, eager)
    assert check_refinement(wrong).violation is not None
