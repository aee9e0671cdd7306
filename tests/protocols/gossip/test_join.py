"""A join that nobody coordinates, and a removal that a neighbour drives, searched and seen."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.protocols.gossip.rules import View, gives_up, pending, replicas, started
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.views.frames import after, go_on, last_flows, panel_text

HEARD = ("shadow X A", "boot X", "gossip A X", "gossip A B")


WALK = ("X", "Y", "A", "B", "C")


def view(**statuses: str) -> View:
    """A view in which nodes say these statuses."""
    seen: View = ()
    for name, status in statuses.items():
        seen = started(seen, name, 1, STATUS=status)
    return seen


@pytest.mark.parametrize(
    ("statuses", "rf", "reads", "writes", "place"),
    [
        ({"A": "NORMAL", "B": "NORMAL"}, 1, ("A",), (), "A"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "BOOT"}, 1, ("A",), ("X",), "A"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "BOOT", "Y": "BOOT"}, 2, ("A", "B"), ("X", "Y"), "B"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "NORMAL"}, 2, ("X", "A"), (), ""),
        ({"A": "NORMAL"}, 2, ("A",), (), ""),
    ],
)
def test_owners_are_computed_from_a_view(
    statuses: dict[str, str], rf: int, reads: tuple[str, ...], writes: tuple[str, ...], place: str
) -> None:
    """Those in NORMAL are read, those in BOOT written to, too; X takes the last one's place."""
    seen = view(**statuses)
    assert replicas(seen, WALK, rf) == reads
    assert pending(seen, WALK, rf) == writes
    assert gives_up(seen, WALK, rf, "X") == place


@pytest.mark.parametrize(
    "given",
    [
        *({}, {"rf": 3, "writes": 2}, {"nodes": 2, "writes": 2, "crashes": 2}),
        *({"joiners": 2, "rf": 3}, {"joiners": 2, "rf": 2, "nodes": 2, "crashes": 1}),
    ],
)
def test_one_node_after_the_other_joins_without_loss(given: dict[str, Any]) -> None:
    """RING_DELAY and one at a time: every state is seen, no write is lost, all get in."""
    model = build("gossip_join", given)
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_two_nodes_join_without_loss() -> None:
    """The same with two joins, two writes, a death in between."""
    result = check(build("gossip_join", {"joiners": 2, "rf": 3, "writes": 2, "crashes": 1}))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(
    ("name", "first"), [("ring-delay", "streamed"), ("one-at-a-time", "one-joins")]
)
def test_what_protects_a_join(name: str, first: str) -> None:
    """Without it the shortest run to its harm is found, and one losing a write; with it none."""
    [guard] = [each for each in entry_of("gossip_join").safeguards if each.name == name]
    model = build("gossip_join", guard.smallest, (name,))
    kept = tuple(prop for prop in model.properties if prop.name == "kept")
    for judged, found in ((None, first), (kept, "kept")):
        violation = check(model, judged).violation
        assert violation is not None
        assert violation.property == found
    result = check(build("gossip_join", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


def test_a_delay_is_no_proof() -> None:
    """A node that is cut off while the time passes loses a write later, with all safeguards on."""
    for given in ({"cuts": 1}, {"cuts": 1, "rf": 3}):
        violation = check(build("gossip_join", given)).broken
        assert violation is not None
        assert violation.property == "kept"


def test_views_part_while_news_travel() -> None:
    """Even where no write is lost for good a read misses one: X is read, and A still asks A."""
    model = build("gossip_join", {"nodes": 2})
    violation = check(model, model.signs).violation
    assert violation is not None
    assert violation.property == "seen"


def test_the_check_in_a_shadow_round_stops_who_hears() -> None:
    """Y, which has heard that X joins, does not; one that has not heard does."""
    given: dict[str, Any] = {"joiners": 2, "rf": 2}
    off = ("one-at-a-time",)
    timeline = after("gossip_join", given, *HEARD, "shadow Y B", off=off)
    option = timeline.model.find(timeline.state, "boot Y")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "Y has heard that X is joining"
    timeline = after("gossip_join", given, *HEARD, "shadow Y C", "boot Y", off=off)
    assert timeline.state.nodes[-1].phase == "boot"


def test_who_has_not_heard_uses_old_owners() -> None:
    """B knows of BOOT and writes to X, too; C does not, and its write misses X."""
    timeline = after("gossip_join", {"writes": 2}, *HEARD)
    text = panel_text(timeline, "views")
    assert "  B  BOOT 1  A  X" in text
    assert "  C  –  A  –" in text.splitlines()
    assert "yet to hear: 1" in panel_text(timeline, "badges")
    timeline = after("gossip_join", {"writes": 2}, *HEARD, "write B by A X", "write C by A")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:C", "n:A", "write 2")
    assert "X: BOOT, write 1" in panel_text(timeline, "ring")


def test_streaming_comes_from_the_replica_that_is_displaced() -> None:
    """X takes C's place, and the range travels from C."""
    timeline = after("gossip_join", {"rf": 3}, *HEARD, "gossip A C", "stream X")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key) == ("n:C", "n:X")


def test_a_dead_joiner_is_forgotten_in_the_end() -> None:
    """While it is remembered it counts among those that must acknowledge: no write succeeds."""
    timeline = after("gossip_join", {"crashes": 1, "nodes": 2}, *HEARD, "crash X")
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert not [verb for verb in verbs if verb.startswith("write")]
    option = timeline.model.find(timeline.state, "forget X")
    assert option is not None
    timeline.do(option[0])
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert "write B by A" in verbs


def test_walks_take_every_rule() -> None:
    """Random walks with deaths, and with a node cut off, do all that there is."""
    fuzzing = entry_of("gossip_join").fuzzing
    walks = fuzz(build("gossip_join", fuzzing.parameters), seeds=range(20), weights=fuzzing.weights)
    assert (walks.findings, {*walks.untaken}) == ((), {"cut", "reconnect"})


def test_who_takes_no_place_copies_nothing() -> None:
    """X has the one replica before Y joins: Y is asked for nothing."""
    given = {"nodes": 1, "joiners": 2}
    steps = ("shadow X A", "boot X", "gossip A X", "stream X", "normal X", "gossip A X")
    timeline = after("gossip_join", given, *steps, "shadow Y A", "boot Y", "gossip A Y")
    before = timeline.state.streams
    go_on(timeline, "gossip A X", "stream Y")
    assert timeline.state.nodes[2].phase == "streamed"
    assert timeline.state.streams == before == 1


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


def test_walks_of_a_removal_take_every_rule() -> None:
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
