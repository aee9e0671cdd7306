"""A removal that a neighbour of the dead node drives, searched and seen: its death, RING_DELAY."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.views.frames import after, last_flows, panel_text

REMOVAL: dict[str, Any] = {"operation": "removenode", "rf": 3}
ANNOUNCED = ("removenode A Z", "gossip A B", "gossip A C")


def refusal(timeline: Timeline, verb: str) -> str:
    """Why a step may not be taken now; empty: it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return str(option[1].reason) if option[1] else ""


@pytest.mark.parametrize(
    "given",
    [
        *({}, {"crashes": 1}, {"writes": 2}, {"nodes": 4}),
        *({"rf": 1, "nodes": 2, "crashes": 2}, {"rf": 2, "nodes": 2, "crashes": 2}),
    ],
)
def test_a_dead_node_is_removed_without_loss(given: dict[str, Any]) -> None:
    """Whoever dies while it drives: every state is seen, the new replica lacks nothing."""
    result = check(build("gossip_join", {**REMOVAL, **given}))
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_two_drivers_die_without_loss() -> None:
    """The same with two deaths, of two nodes or of one that is back."""
    result = check(build("gossip_join", {**REMOVAL, "writes": 2, "crashes": 2}))
    assert (result.violation, result.complete) == (None, True)


def test_what_ring_delay_is_for() -> None:
    """Without it a write passes by the new replica; so it does where a node is cut off, which
    is a known cost of gossip.
    """
    violation = check(build("gossip_join", REMOVAL, ("ring-delay",))).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == ("restored", 3)
    cost = check(build("gossip_join", {**REMOVAL, "cuts": 1})).broken
    assert cost is not None
    assert cost.property == "restored"
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED[:2])
    assert refusal(timeline, "restore A") == "RING_DELAY has not passed"


def test_one_node_drives_at_a_time() -> None:
    """No second call while the first driver lives; when it is dead, and back, each may drive."""
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED)
    assert refusal(timeline, "removenode B Z") == "A is already driving the removal"
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED, "crash A")
    assert refusal(timeline, "removenode B Z") == ""
    assert timeline.model.find(timeline.state, "removenode A Z") is None
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED, "crash A", "restart A")
    assert refusal(timeline, "removenode A Z") == ""


def test_what_was_streamed_counts_for_nothing() -> None:
    """C has the write already; the next driver has it copy the range again, from who is left."""
    crashed = (*ANNOUNCED, "restore A", "crash A")
    verbs = ("write B by A B", *crashed, "removenode B Z", "gossip B C")
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *verbs)
    assert "C: member, write 1" in panel_text(timeline, "ring")
    assert timeline.model.find(timeline.state, "removed B") is None
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *verbs, "restore B")
    flows = [(flow.from_key, flow.to_key, flow.label) for flow in last_flows(timeline)]
    assert flows == [*(("n:B", "n:C", "stream"), ("n:B", "n:C", "range")), ("n:C", "n:B", "done")]
    assert timeline.state.streams == 2


def test_who_has_to_answer() -> None:
    """The new owner has to be up, and a replica that it reaches: each refusal says which is not."""
    given = {**REMOVAL, "crashes": 2, "cuts": 1}
    verbs = ("removenode C Z", "crash C", "removenode A Z", "gossip A B")
    timeline = after("gossip_join", given, *verbs)
    assert refusal(timeline, "restore A") == "C, which takes the place of Z, does not answer"
    verbs = ("removenode A Z", "crash A", "removenode B Z", "crash B", "removenode C Z")
    timeline = after("gossip_join", given, *verbs)
    assert refusal(timeline, "restore C") == "no replica is up that C could copy from"
    timeline = after("gossip_join", given, "removenode C Z", "cut-off A")
    assert refusal(timeline, "restore C") == "C cannot reach A, the replica that it must copy from"


def test_views_part_while_a_removal_travels() -> None:
    """Who has heard writes to C, too; who has heard the end reads from C."""
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED[:2])
    text = panel_text(timeline, "views")
    assert "  A  REMOVING 2  Z, A, B  C" in text
    assert "  C  NORMAL 1  Z, A, B  –" in text.splitlines()
    assert "yet to hear: 1" in panel_text(timeline, "badges")
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED, "restore A", "removed A")
    assert "  A  REMOVED 2  A, B, C  –" in panel_text(timeline, "views")
    assert timeline.model.find(timeline.state, "removenode B Z") is None


def test_walks_take_every_rule() -> None:
    """Random walks with deaths and a cut do all that there is."""
    walks = fuzz(build("gossip_join", {**REMOVAL, "crashes": 2}), seeds=range(20))
    assert (walks.findings, {*walks.untaken}) == ((), {"cut", "forget", "reconnect"})


def test_of_one_replica_nothing_is_left_to_copy() -> None:
    """The dead one was the only replica: who takes its place begins without its data."""
    given = {**REMOVAL, "rf": 1, "nodes": 2}
    timeline = after("gossip_join", given, "removenode A Z", "gossip A B", "restore A")
    said = timeline.moments[-1].say
    assert said == "A finds no replica other than the dead one, so A copies nothing."
    assert timeline.state.streams == 0
    assert [node.data for node in timeline.state.nodes] == [0, 0, 0]
