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
def test_a_view_gives_reads_to_normal_nodes_and_writes_to_booting_ones(
    statuses: dict[str, str], rf: int, reads: tuple[str, ...], writes: tuple[str, ...], place: str
) -> None:
    """A NORMAL node is read, a BOOT node gets writes, and X names the replica that it displaces."""
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
def test_joins_one_at_a_time_with_ring_delay_lose_no_write(given: dict[str, Any]) -> None:
    """The complete search finds no violation, and reaches every goal."""
    model = build("gossip_join", given)
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_two_joins_and_a_crash_lose_no_write() -> None:
    """The complete search with two writes finds no violation."""
    result = check(build("gossip_join", {"joiners": 2, "rf": 3, "writes": 2, "crashes": 1}))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(
    ("name", "first"), [("ring-delay", "streamed"), ("one-at-a-time", "one-joins")]
)
def test_a_join_without_a_safeguard_loses_a_write(name: str, first: str) -> None:
    """Without it the property it protects breaks, and "kept" does. With it nothing breaks."""
    [guard] = [each for each in entry_of("gossip_join").safeguards if each.name == name]
    model = build("gossip_join", guard.smallest, (name,))
    kept = tuple(prop for prop in model.properties if prop.name == "kept")
    for judged, found in ((None, first), (kept, "kept")):
        violation = check(model, judged).violation
        assert violation is not None, f"without {name} nothing breaks {found}"
        assert violation.property == found, (judged, found)
    result = check(build("gossip_join", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


def test_a_join_loses_a_write_when_a_node_is_cut_off_during_ring_delay() -> None:
    """All safeguards are on: a delay cannot prove that every node has heard."""
    for given in ({"cuts": 1}, {"cuts": 1, "rf": 3}):
        violation = check(build("gossip_join", given)).broken
        assert violation is not None, given
        assert violation.property == "kept", given


def test_a_read_misses_a_write_while_news_of_a_join_travels() -> None:
    """X is read while A still sends writes to A alone: the sign "seen" shows."""
    model = build("gossip_join", {"nodes": 2})
    violation = check(model, model.signs).violation
    assert violation is not None
    assert violation.property == "seen"


def test_a_shadow_round_stops_a_join_only_if_the_peer_knows_of_another() -> None:
    """With its safeguard off, the check depends on what the node that is asked has heard."""
    given: dict[str, Any] = {"joiners": 2, "rf": 2}
    off = ("one-at-a-time",)
    timeline = after("gossip_join", given, *HEARD, "shadow Y B", off=off)
    option = timeline.model.find(timeline.state, "boot Y")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "Y has heard that X is joining"
    timeline = after("gossip_join", given, *HEARD, "shadow Y C", "boot Y", off=off)
    assert timeline.state.nodes[-1].phase == "boot"


def test_a_node_that_has_not_heard_of_a_join_writes_to_the_old_owners_alone() -> None:
    """B knows of BOOT and lists X as pending. C does not, so C's write goes to A alone."""
    timeline = after("gossip_join", {"writes": 2}, *HEARD)
    text = panel_text(timeline, "views")
    assert "  B  BOOT 1  A  X" in text
    assert "  C  –  A  –" in text.splitlines()
    assert "yet to hear: 1" in panel_text(timeline, "badges")
    timeline = after("gossip_join", {"writes": 2}, *HEARD, "write B by A X", "write C by A")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:C", "n:A", "write 2")
    assert "X: BOOT, write 1" in panel_text(timeline, "ring")


def test_a_joiner_streams_from_the_displaced_replica() -> None:
    """X takes the place of C, and the range travels from C."""
    timeline = after("gossip_join", {"rf": 3}, *HEARD, "gossip A C", "stream X")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key) == ("n:C", "n:X")


def test_a_dead_joiner_blocks_writes_until_its_neighbours_forget_the_joiner() -> None:
    """A remembered joiner counts among those that must acknowledge."""
    timeline = after("gossip_join", {"crashes": 1, "nodes": 2}, *HEARD, "crash X")
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert not [verb for verb in verbs if verb.startswith("write")]
    option = timeline.model.find(timeline.state, "forget X")
    assert option is not None
    timeline.do(option[0])
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert "write B by A" in verbs


def test_random_walks_of_joins_take_every_action_that_their_budget_allows() -> None:
    """Without a budget for cuts, "cut" and "reconnect" alone are not taken."""
    fuzzing = entry_of("gossip_join").fuzzing
    walks = fuzz(build("gossip_join", fuzzing.parameters), seeds=range(20), weights=fuzzing.weights)
    assert (walks.findings, {*walks.untaken}) == ((), {"cut", "reconnect"})


def test_a_joiner_that_displaces_no_replica_streams_nothing() -> None:
    """X holds the only replica before Y joins, so Y's step adds no stream."""
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
def test_a_removal_leaves_no_new_replica_without_data(given: dict[str, Any]) -> None:
    """The complete search finds no violation, whichever driver crashes."""
    result = check(build("gossip_join", {**REMOVAL, **given}))
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_a_removal_survives_two_crashes_of_drivers() -> None:
    """The complete search with two writes finds no violation."""
    result = check(build("gossip_join", {**REMOVAL, "writes": 2, "crashes": 2}))
    assert (result.violation, result.complete) == (None, True)


def test_a_removal_without_ring_delay_leaves_the_new_replica_without_a_write() -> None:
    """A node that is cut off has the same effect, which is a known cost of gossip."""
    violation = check(build("gossip_join", REMOVAL, ("ring-delay",))).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == ("restored", 3)
    cost = check(build("gossip_join", {**REMOVAL, "cuts": 1})).broken
    assert cost is not None
    assert cost.property == "restored"
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED[:2])
    assert refusal(timeline, "restore A") == "RING_DELAY has not passed"


def test_a_removal_refuses_a_second_driver_while_the_first_lives() -> None:
    """Once the first driver has crashed, another node, or the same one after its restart, may
    drive.
    """
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED)
    assert refusal(timeline, "removenode B Z") == "A is already driving the removal"
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED, "crash A")
    assert refusal(timeline, "removenode B Z") == ""
    assert timeline.model.find(timeline.state, "removenode A Z") is None
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *ANNOUNCED, "crash A", "restart A")
    assert refusal(timeline, "removenode A Z") == ""


def test_the_next_driver_of_a_removal_streams_the_range_again() -> None:
    """C holds the write already, and still copies the range from B, the replica that is left."""
    crashed = (*ANNOUNCED, "restore A", "crash A")
    verbs = ("write B by A B", *crashed, "removenode B Z", "gossip B C")
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *verbs)
    assert "C: member, write 1" in panel_text(timeline, "ring")
    assert timeline.model.find(timeline.state, "removed B") is None
    timeline = after("gossip_join", {**REMOVAL, "crashes": 1}, *verbs, "restore B")
    flows = [(flow.from_key, flow.to_key, flow.label) for flow in last_flows(timeline)]
    assert flows == [*(("n:B", "n:C", "stream"), ("n:B", "n:C", "range")), ("n:C", "n:B", "done")]
    assert timeline.state.streams == 2


def test_a_removal_cannot_stream_without_the_new_owner_and_a_reachable_source() -> None:
    """Each refusal names the node that does not answer or cannot be reached."""
    given = {**REMOVAL, "crashes": 2, "cuts": 1}
    verbs = ("removenode C Z", "crash C", "removenode A Z", "gossip A B")
    timeline = after("gossip_join", given, *verbs)
    assert refusal(timeline, "restore A") == "C, which takes the place of Z, does not answer"
    verbs = ("removenode A Z", "crash A", "removenode B Z", "crash B", "removenode C Z")
    timeline = after("gossip_join", given, *verbs)
    assert refusal(timeline, "restore C") == "no replica is up that C could copy from"
    timeline = after("gossip_join", given, "removenode C Z", "cut-off A")
    assert refusal(timeline, "restore C") == "C cannot reach A, the replica that it must copy from"


def test_the_views_of_a_removal_differ_until_gossip_spreads_its_status() -> None:
    """A node that heard REMOVING lists C as pending. A node that heard REMOVED reads from C."""
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED[:2])
    text = panel_text(timeline, "views")
    assert "  A  REMOVING 2  Z, A, B  C" in text
    assert "  C  NORMAL 1  Z, A, B  –" in text.splitlines()
    assert "yet to hear: 1" in panel_text(timeline, "badges")
    timeline = after("gossip_join", REMOVAL, *ANNOUNCED, "restore A", "removed A")
    assert "  A  REMOVED 2  A, B, C  –" in panel_text(timeline, "views")
    assert timeline.model.find(timeline.state, "removenode B Z") is None


def test_random_walks_of_removals_take_every_action_that_their_budget_allows() -> None:
    """Without a budget for cuts, "cut" and "reconnect" are not taken, nor is "forget"."""
    walks = fuzz(build("gossip_join", {**REMOVAL, "crashes": 2}), seeds=range(20))
    assert (walks.findings, {*walks.untaken}) == ((), {"cut", "forget", "reconnect"})


def test_removing_the_only_replica_starts_its_successor_without_data() -> None:
    """With RF 1 no replica is left to copy from."""
    given = {**REMOVAL, "rf": 1, "nodes": 2}
    timeline = after("gossip_join", given, "removenode A Z", "gossip A B", "restore A")
    said = timeline.moments[-1].say
    assert said == "A finds no replica other than the dead one, so A copies nothing."
    assert timeline.state.streams == 0
    assert [node.data for node in timeline.state.nodes] == [0, 0, 0]
