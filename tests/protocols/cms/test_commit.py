"""Submitting an event: races, lost answers, crashes, catch-up; each searched to its end."""

from __future__ import annotations

from functools import reduce
from itertools import permutations, product
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.parameters import parameters_of
from kit.model.registry import build, entry_of
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.panels.commit import DESIGN_LINES
from kit.protocols.cms.rules.events import enact, objection, parsed
from kit.protocols.cms.rules.log import (
    SNAPSHOT,
    Entry,
    NodeLog,
    applied,
    caught_up,
    metadata,
    replay,
    slice_since,
    truncated,
)
from kit.search.check import check, check_refinement
from kit.views.panel import scene_of
from tests.protocols.tcm.exploring import reachable
from tests.views.frames import after, go_on, last_flows, panel_text

BACKENDS = ("paxos", "atomic")
ROUND = ("ballot A", "prepare A C", "propose A", "accept A C", "learn A")
ALTERS: dict[str, Any] = {"events": ("alter table t at A", "alter table u at B")}
THREE: dict[str, Any] = {
    "nodes": 3,
    "events": ("drop table t at C to A", "alter table t at B to B"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"nodes": 3, "members": 2, "losses": 1, "crashes": 1, "events": ("drop table t at C",)},
        {"nodes": 2, "events": ("drop table t at B", "snapshot at A"), "window": 2, "losses": 1},
        {"nodes": 2, "events": ("drop table t at B",), "snapshot_every": 1},
    ],
)
def test_no_reachable_state_breaks_a_promise(backend: str, given: dict[str, Any]) -> None:
    """With either log; every submitter gets its answer."""
    result = check(build("commit", {**given, "backend": backend}))
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


RACES = [
    {"nodes": 2, "members": 2, "events": ("drop table t at A", "alter table t at B")},
    {"nodes": 2, "members": 2, "events": ("create table t at A", "create table t at B")},
    {"nodes": 3, "members": 2, "events": ("decommission C at A", "replace C D at B")},
    {"nodes": 2, "members": 2, "losses": 1, "events": ("drop table t at B", "alter table t at B")},
]


def outcomes(given: dict[str, Any], backend: str) -> set[tuple[Any, ...]]:
    """The logs and the answers with which the runs of a log end."""
    model: Any = build("commit", {**given, "backend": backend})
    asked = "waiting", "sent", "unknown"
    return {
        (tuple(each.event for each in model.history(s)), tuple(each.outcome for each in s.requests))
        for s in reachable(model)
        if not any(each.stage in asked for each in s.requests)
    }


def one_after_another(given: dict[str, Any]) -> set[tuple[Any, ...]]:
    """The same of a log that nobody shares: the events in each order, each validated in turn."""
    model: Any = build("commit", given)
    ended = set[tuple[Any, ...]]()
    for order in permutations(range(len(model.submissions))):
        known, log, said = model.machine.initial, list[str](), dict[int, str]()
        for at in order:
            event = model.submissions[at].event
            if why := objection(known, event):
                said[at] = f"rejected because {why.reason} (epoch {why.epoch})"
                said[at] = said[at].removesuffix(" (epoch 0)")
                continue
            log.append(event)
            known = enact(known, Entry(len(log), event, f"r{at + 1}"))
            said[at] = f"committed as epoch {len(log)}"
        ended.add((tuple(log), tuple(said[at] for at in sorted(said))))
    return ended


@pytest.mark.spec("B-083")
@pytest.mark.parametrize("given", RACES)
def test_a_race_ends_as_if_its_events_came_in_turn(given: dict[str, Any]) -> None:
    """With a counter and with Paxos: the logs and answers of each order."""
    expected = one_after_another(given)
    assert len(expected) > 1
    assert outcomes(given, "paxos") == outcomes(given, "atomic") == expected


@pytest.mark.spec("B-083")
def test_counter_and_paxos_are_judged_by_the_same_properties() -> None:
    """Invariants are among them."""
    judged = [
        check(build("commit", {**RACES[0], "backend": each})).scope.judged for each in BACKENDS
    ]
    assert judged[0] == judged[1]
    assert judged[0]["always"]


@pytest.mark.spec("B-083")
def test_a_counter_gives_epochs_without_a_ballot_or_another_node() -> None:
    """In every state they are 1, 2, 3 without a gap."""
    timeline = after("commit", {"backend": "atomic"}, "submit r1 A")
    asked = {"A", "n:A", "r1"}
    go_on(timeline, "append A")
    assert "epoch 1: drop table t (r1), known to A" in panel_text(timeline, "log")
    assert {flow.from_key for flow in last_flows(timeline)} <= asked
    assert {flow.to_key for flow in last_flows(timeline)} <= asked
    counter: Any = build("commit", {**RACES[0], "backend": "atomic"})
    for s in reachable(counter):
        assert not any(node.slots or node.handles.ballot for node in s.nodes)
        epochs = [each.epoch for each in counter.history(s)]
        assert epochs == [*range(1, len(epochs) + 1)]
    [log] = [each for each in parameters_of(Commit.Parameters) if each.name == "backend"]
    assert {*log.choices} == {*BACKENDS}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("given", "states"),
    [({"crashes": 1, "losses": 1}, 415_270), ({"ballots": 2}, 135_874)],
    ids=["a crash and a lost answer", "a duel of two rounds"],
)
def test_two_proposers_of_three_break_no_promise(given: dict[str, Any], states: int) -> None:
    """Two epochs; with a crash and a lost answer, or with two ballots each."""
    result = check(build("commit", THREE | given))
    assert (result.violation, result.complete, result.states) == (None, True, states)


@pytest.mark.parametrize("guard", entry_of("commit").safeguards, ids=lambda guard: guard.name)
def test_each_safeguard_is_needed_and_enough(guard: Any) -> None:
    """Each invariant that it protects breaks without it; with it no promise does."""
    model = build("commit", guard.smallest, (guard.name,))
    for invariant in guard.protects:
        judged = tuple(each for each in model.properties if each.invariant == invariant)
        assert check(model, judged).violation is not None, invariant
    result = check(build("commit", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(
    "given", [{}, {"window": 2, "members": 1, "nodes": 3, "events": THREE["events"]}]
)
def test_each_step_refines_the_log_of_tcm(given: dict[str, Any]) -> None:
    """A step appends the same entry there, or changes nothing."""
    refinement = entry_of("commit").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("commit", given).parameters))
    assert (result.violation, result.complete) == (None, True)


def test_a_search_that_the_window_cuts_is_called_bounded() -> None:
    """The search names the window, which lets no second epoch come first."""
    given = {"members": 1, "nodes": 2, "events": ("drop table t at A", "alter table u at A")}
    cut, whole = (check(build("commit", {**given, "window": n})) for n in (1, 2))
    assert (cut.complete, cut.verdict, cut.bound.partition(",")[0]) == (True, "bounded", "window=1")
    assert (whole.complete, whole.bound) == (True, "")


@pytest.mark.spec("B-002")
def test_an_event_travels_from_any_node_to_any_member() -> None:
    """A node that is no member answers who the members are."""
    for node, member in product("ABCD", "ABC"):
        timeline = after("commit", {"events": (f"drop table t at {node}",)}, f"submit r1 {member}")
        flows = [(flow.kind, flow.from_key, flow.to_key) for flow in last_flows(timeline)]
        asks = [("request", "r1", f"n:{node}")]  # its client's
        asks += [("request", f"n:{node}", f"n:{member}")] * (node != member)
        assert flows == asks, (node, member)
    timeline = after("commit", {"events": ("drop table t at B to D",)}, "submit r1 D")
    _, request, answer = last_flows(timeline)
    assert (request.to_key, answer.from_key) == ("n:D", "n:D")
    assert answer.label == "members: A, B, C"
    assert timeline.state.requests[0].stage == "waiting"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("dance at A", None),
        ("drop table t u at A", None),
        ("drop table t at Z", "an event, and nodes of A, B, C, D: drop table t at B to A"),
        ("drop table t at A to Z", "an event, and nodes of A, B, C, D: drop table t at B to A"),
        ("drop table t", "an event, and nodes of A, B, C, D: drop table t at B to A"),
    ],
)
def test_a_malformed_event_is_refused_with_its_whole_text(text: str, allowed: str | None) -> None:
    """And with what is allowed."""
    if allowed is None:
        with pytest.raises(BadInput) as within:
            parsed("dance")
        allowed = within.value.allowed
    with pytest.raises(BadInput) as wrong:
        build("commit", {"events": (text,)})
    assert (wrong.value.field, wrong.value.value) == ("events", text)
    assert wrong.value.allowed == allowed


def test_a_client_is_answered_by_the_node_that_took_its_event() -> None:
    """The member's answer goes by that node, unless the member is that node."""
    given: dict[str, Any] = {"members": 1, "nodes": 2, "events": ("drop table t at B",)}
    timeline = after("commit", given, "submit r1 A", "ballot A", "propose A", "learn A",
                     "answer A")  # fmt: skip
    assert [(flow.from_key, flow.to_key, flow.leg) for flow in last_flows(timeline)] == [
        ("n:A", "n:B", 0), ("n:B", "r1", 1)
    ]  # fmt: skip
    given["events"] = ("drop table t at A",)
    timeline = after("commit", given, "submit r1 A", "ballot A", "propose A", "learn A", "answer A")
    assert [(flow.from_key, flow.to_key, flow.leg) for flow in last_flows(timeline)] == [
        ("n:A", "r1", 0)
    ]  # fmt: skip


@pytest.mark.spec("B-011")
def test_the_loser_of_a_race_is_committed_as_the_next_epoch() -> None:
    """B loses epoch 1, applies what A has committed, and its event is epoch 2."""
    timeline = after("commit", ALTERS, "submit r1 A", "submit r2 B", *ROUND, "ballot B")
    go_on(timeline, "prepare B A")
    assert timeline.state.nodes[1].log.epoch == 1
    go_on(timeline, "ballot B", "prepare B C", "propose B", "accept B C", "learn B", "answer B")
    text = panel_text(timeline, "log")
    assert "epoch 1: alter table t (r1), known to A, B" in text
    assert "epoch 2: alter table u (r2), known to B" in text
    assert "r2 alter table u from B: committed as epoch 2" in text


@pytest.mark.spec("B-005", "B-012")
def test_a_rejected_event_names_the_epoch_that_it_lost_to() -> None:
    """B's table was dropped as epoch 1."""
    timeline = after("commit", {}, "submit r1 A", "submit r2 B", *ROUND, "ballot B")
    go_on(timeline, "prepare B A", "ballot B", "prepare B C", "propose B", "answer B")
    rejected = "rejected because table t has been dropped (epoch 1)"
    assert f"r2 alter table t from B: {rejected}" in panel_text(timeline, "log")
    assert timeline.state.requests[1].epoch == 1
    assert timeline.model.describe(*_last(timeline)) == f"B answers B: {rejected}."


def _last(timeline: Any) -> tuple[Any, Any, Any]:
    """State before, action and state after of the newest step."""
    moment = timeline.moments[-1]
    return timeline.moments[moment.parent].state, moment.action, moment.state


@pytest.mark.spec("B-013")
def test_an_event_submitted_again_is_committed_once() -> None:
    """The answer was lost; the next member finds the event's id in the log."""
    given = {"events": ("alter table t at D",), "losses": 1}
    timeline = after("commit", given, "submit r1 A", *ROUND, "lose-answer A")
    assert timeline.state.requests[0].stage == "unknown"
    go_on(timeline, "submit r1 A", "ballot A", "prepare A B", "propose A", "answer A")
    assert timeline.model.history(timeline.state) == (Entry(1, "alter table t", "r1"),)
    assert timeline.state.requests[0].epoch == 1


@pytest.mark.spec("B-014")
def test_a_committed_entry_may_reach_any_node() -> None:
    """Members or not; the answer need not wait for that."""
    timeline = after("commit", {}, "submit r1 A", *ROUND)
    spreads = {"deliver 1 to B", "deliver 1 to C", "deliver 1 to D"}
    verbs = {timeline.model.verb(action) for action in timeline.model.actions(timeline.state)}
    assert spreads | {"answer A"} <= verbs
    go_on(timeline, "deliver 1 to D")
    [flow] = last_flows(timeline)
    assert (flow.kind, flow.from_key, flow.to_key) == ("entry", "log:1", "n:D")


@pytest.mark.spec("B-015")
def test_without_replication_every_submitter_still_gets_its_answer() -> None:
    """No entry is delivered, and no promise breaks."""
    model = build("commit", {"replication": False})
    assert "deliver" not in {
        model.verb(action).split()[0] for action in model.actions(model.start())
    }
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.spec("B-010")
def test_a_round_shows_its_messages_in_order_and_refuses_a_lower_ballot() -> None:
    """Prepare, promise, and the prepare of a higher ballot; the lower accept is refused."""
    timeline = after("commit", {}, "submit r1 A", "submit r2 B", *ROUND[:2], "ballot B")
    go_on(timeline, "prepare B C")
    said = panel_text(timeline, "rounds")
    legs = (
        "C receives from A: prepare 1A",
        "A receives from C: promise",
        "C receives from B: prepare 1B",
    )
    assert [said.index(leg) for leg in legs] == sorted(said.index(leg) for leg in legs)
    go_on(timeline, "propose A")
    option = timeline.model.find(timeline.state, "accept A C")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "C has promised a higher ballot"


@pytest.mark.spec("B-049")
@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 3, "members": 1, "window": 2},
        {"nodes": 3, "members": 1, "replication": False},
        {"nodes": 2, "members": 2, "events": ("snapshot at A", "drop table t at B")},
        {"nodes": 2, "backend": "atomic", "window": 2},
    ],
)
def test_applying_a_snapshot_event_stores_the_snapshot(given: dict[str, Any]) -> None:
    """In every state, with the metadata that replaying makes; an event that waits has none."""
    events = ("drop table t at A", "snapshot at A", "create table t at A")
    model: Any = build("commit", {"events": events, **given})
    stored, ahead, held = set[str](), False, False
    for s in reachable(model):
        log = model.history(s)
        due = {each.epoch for each in log if each.event == SNAPSHOT}
        for name, node in zip(model.names, s.nodes, strict=True):
            mine = {each.epoch: each.metadata for each in node.log.snapshots}
            assert {*mine} == {epoch for epoch in due if epoch <= node.log.epoch}, (name, s)
            for epoch, made in mine.items():
                assert made == reduce(enact, log[:epoch], model.machine.initial), (name, s)
            stored |= {name} if mine else set()
            ahead |= due != {*mine}
            held |= any(each.event == SNAPSHOT for each in node.log.held)
    assert (stored, ahead) == ({*model.names}, True)
    assert held == ("window" in given)


@pytest.mark.spec("B-049", "B-050")
def test_a_node_that_starts_from_a_snapshot_replays_the_rest_alone() -> None:
    """All who applied the event have it; C fetches it and replays one entry of three."""
    events = ("drop table t at A", "snapshot at A", "create table t at A")
    one = ("ballot A", "propose A", "learn A", "answer A")
    rounds = [verb for request in ("r1", "r2", "r3") for verb in (f"submit {request} A", *one)]
    timeline = after("commit", {"members": 1, "events": events}, *rounds)
    go_on(timeline, "deliver 1 to D", "deliver 2 to D", "truncate A", "ask A for C")
    logs = [node.log for node in timeline.state.nodes]
    assert [[each.epoch for each in log.snapshots] for log in logs] == [[2], [], [2], [2]]
    text = [" ".join(line.split()) for line in panel_text(timeline, "stores").splitlines()]
    assert [row for row in text if "1 of 3" in row and "C" in row.split()]
    assert metadata(logs[2], timeline.model.machine) == metadata(logs[0], timeline.model.machine)


# -- logs, slices and snapshots --------------------------------------------------------------------

MACHINE = build("commit").machine
EVENTS = ("drop table t", SNAPSHOT, "create table t", "create table u", SNAPSHOT, "drop table u")
ENTRIES = tuple(Entry(epoch, event, f"r{epoch}") for epoch, event in enumerate(EVENTS, 1))


def whole(count: int) -> NodeLog:
    """The log of a node that has applied so many entries, one by one."""
    log = NodeLog()
    for each in ENTRIES[:count]:
        log = applied(log, each, MACHINE)
    return log


@pytest.mark.spec("B-050")
@pytest.mark.parametrize("had", range(len(ENTRIES)))
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("snapshots", [False, True])
def test_a_snapshot_and_the_rest_equal_full_replay(had: int, is_cut: bool, snapshots: bool) -> None:
    """From any epoch; without snapshots nothing leads over what was cut."""
    server = truncated(whole(6)) if is_cut else whole(6)
    if is_cut and not snapshots and had < 5:  # there is no other way over what was cut
        with pytest.raises(BadInput, match="after epoch"):
            slice_since(server, had, snapshots=False)
        return
    log = caught_up(whole(had), slice_since(server, had, snapshots=snapshots), MACHINE)
    assert metadata(log, MACHINE) == replay(MACHINE, ENTRIES)
    assert log.epoch == 6


@pytest.mark.spec("B-051")
def test_a_log_below_a_snapshot_can_be_cut_and_stays_in_the_archive() -> None:
    """B then starts from the snapshot alone."""
    given = {"members": 1, "events": ("drop table t at A", "snapshot at A")}
    one = ("ballot A", "propose A", "learn A", "answer A")
    timeline = after("commit", given, "submit r1 A", *one, "submit r2 A", *one, "truncate A")
    row = next(line for line in panel_text(timeline, "stores").splitlines() if "1 r1, 2 r2" in line)
    assert "0 of 2" in row
    go_on(timeline, "ask A for B")
    assert timeline.state.nodes[1].log.entries == ()
    assert timeline.state.nodes[1].log.epoch == 2


@pytest.mark.spec("B-084")
def test_the_panel_compares_when_each_design_lets_nodes_use_an_epoch() -> None:
    """As designed, hidden until three of four have it, or a second round later."""
    timeline = after("commit", {}, "submit r1 A", *ROUND, "deliver 1 to B")
    designed, hidden, twice = panel_text(timeline, "designs").splitlines()
    assert designed.endswith("A can use it from step 6, B can use it from step 7")
    assert hidden.endswith("is committed at step 6; no node can use it yet")
    assert "is committed at step 11; A can use it from step 11" in twice
    go_on(timeline, "deliver 1 to C")
    _, hidden, _ = panel_text(timeline, "designs").splitlines()
    assert all(f"{name} can use it from step 8" in hidden for name in "ABC")
    drawn = DESIGN_LINES.draw(scene_of(timeline, timeline.at))
    lines = {
        one.key: [path.get("class") for path in one.walk() if path.tag == "path"]
        for one in drawn.walk()
        if one.key
    }
    for design in ("as designed", "hidden epochs", "in two steps"):
        assert lines[f"design:{design}:A:e1"] == ["message away", "message"], design
        assert f"design:{design}:D:e1" not in lines
