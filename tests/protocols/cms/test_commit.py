"""Submitting an event: races, lost answers, crashes, catch-up; each searched to its end."""

from __future__ import annotations

from functools import reduce
from itertools import permutations, product
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.parameters import parameters_of
from kit.model.registry import build, entries, entry_of
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.facts.commit import log
from kit.protocols.cms.panels.designs import DESIGN_LINES
from kit.protocols.cms.rules.events import STEP, Fact, Metadata, enact, objection, parsed
from kit.protocols.cms.rules.log import (
    SNAPSHOT,
    Entry,
    NodeLog,
    Slice,
    Snapshot,
    applied,
    caught_up,
    metadata,
    received,
    replay,
    slice_since,
    snapshots_due,
    truncated,
)
from kit.protocols.cms.submitting import Handling, Member
from kit.protocols.paxos.rules import Slot
from kit.search.check import check, check_refinement
from kit.views.panel import scene_of
from tests.protocols.tcm.exploring import reachable
from tests.protocols.test_on_record import opened
from tests.views.frames import after, check_frame, go_on, last_flows, panel_text, scenes, walk

SCENARIOS = [f"commit/{one.name}" for one in entries()["commit"].scenarios]
BACKENDS = ("paxos", "atomic")
ROUND = ("ballot A", "prepare A C", "propose A", "accept A C", "learn A")
ALTERS: dict[str, Any] = {"events": ("alter table t at A", "alter table u at B")}
THREE: dict[str, Any] = {
    "nodes": 3,
    "events": ("drop table t at C to A", "alter table t at B to B"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


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
def test_every_promise_holds(backend: str, given: dict[str, Any]) -> None:
    """With either log every state is seen, no promise breaks, every submitter gets its answer."""
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
def test_a_counter_ends_as_paxos_does(given: dict[str, Any]) -> None:
    """Races end with either log as if one event had come after the other, in each order."""
    expected = one_after_another(given)
    assert len(expected) > 1
    assert outcomes(given, "paxos") == outcomes(given, "atomic") == expected


@pytest.mark.spec("B-083")
def test_both_logs_promise_the_same() -> None:
    """What a search judges does not depend on who gives out epochs."""
    judged = [
        check(build("commit", {**RACES[0], "backend": each})).scope.judged for each in BACKENDS
    ]
    assert judged[0] == judged[1]
    assert judged[0]["always"]


@pytest.mark.spec("B-083")
def test_the_counter_needs_one_node_and_no_ballot() -> None:
    """It asks nobody, in no run is there a ballot, and its epochs are 1, 2, 3 without a gap."""
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
def test_three_acceptors_and_two_proposers(given: dict[str, Any], states: int) -> None:
    """Two epochs, a ballot each: with faults; with a second ballot, where who is refused may come
    again.
    """
    result = check(build("commit", THREE | given))
    assert (result.violation, result.complete, result.states) == (None, True, states)


@pytest.mark.parametrize("guard", entry_of("commit").safeguards, ids=lambda guard: guard.name)
def test_what_a_safeguard_is_for(guard: Any) -> None:
    """Without it each invariant that it protects breaks in the smallest case; with it none does."""
    model = build("commit", guard.smallest, (guard.name,))
    for invariant in guard.protects:
        judged = tuple(each for each in model.properties if each.invariant == invariant)
        assert check(model, judged).violation is not None
    result = check(build("commit", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(
    "given", [{}, {"window": 2, "members": 1, "nodes": 3, "events": THREE["events"]}]
)
def test_it_refines_the_log_in_one_step(given: dict[str, Any]) -> None:
    """Each step of a log of two epochs is one of the log that tcm runs on, or changes nothing."""
    refinement = entry_of("commit").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("commit", given).parameters))
    assert (result.violation, result.complete) == (None, True)


def test_a_search_that_the_window_cuts_is_bounded() -> None:
    """Of two epochs the second may not come first: the search names what left that out."""
    given = {"members": 1, "nodes": 2, "events": ("drop table t at A", "alter table u at A")}
    cut, whole = (check(build("commit", {**given, "window": n})) for n in (1, 2))
    assert (cut.complete, cut.verdict, cut.bound.partition(",")[0]) == (True, "bounded", "window=1")
    assert (whole.complete, whole.bound) == (True, "")


@pytest.mark.spec("B-002")
def test_any_node_asks_any_member() -> None:
    """From each of four nodes an event travels to each of three members; who is none says so."""
    for node, member in product("ABCD", "ABC"):
        timeline = after("commit", {"events": (f"drop table t at {node}",)}, f"submit r1 {member}")
        flows = [(flow.kind, flow.from_key, flow.to_key) for flow in last_flows(timeline)]
        asks = [("request", "r1", f"n:{node}")]  # its client's
        asks += [("request", f"n:{node}", f"n:{member}")] * (node != member)
        assert flows == asks
    timeline = after("commit", {"events": ("drop table t at B to D",)}, "submit r1 D")
    _, request, answer = last_flows(timeline)
    assert (request.to_key, answer.from_key) == ("n:D", "n:D")
    assert answer.label == "members: A, B, C"
    assert timeline.state.requests[0].stage == "waiting"


@pytest.mark.parametrize(
    ("event", "node", "said"),
    [
        ("drop table t at D to D", "D", "D is not in the CMS. It looks up the members: A, B, C."),
        (
            "drop table t at B to D",
            "D",
            "B asks D, which is not in the CMS: it names the members, A, B, C.",
        ),
        ("drop table t at A to A", "A", "A submits “drop table t” and handles it itself."),
        ("drop table t at D to B", "B", "D submits “drop table t” to B."),
    ],
)
def test_whom_a_submitter_asks_is_said(event: str, node: str, said: str) -> None:
    """Itself or another node, a member or none."""
    timeline = after("commit", {"events": (event,)}, f"submit r1 {node}")
    assert timeline.now.say == said


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("dance at A", None),
        ("drop table t at Z", "an event, and nodes of A, B, C, D: drop table t at B to A"),
        ("drop table t at A to Z", "an event, and nodes of A, B, C, D: drop table t at B to A"),
        ("drop table t", "an event, and nodes of A, B, C, D: drop table t at B to A"),
    ],
)
def test_what_is_no_event_is_refused_whole(text: str, allowed: str | None) -> None:
    """With the parameter and the whole text of it, whatever is wrong in it."""
    if allowed is None:
        with pytest.raises(BadInput) as within:
            parsed("dance")
        allowed = within.value.allowed
    with pytest.raises(BadInput) as wrong:
        build("commit", {"events": (text,)})
    assert (wrong.value.field, wrong.value.value) == ("events", text)
    assert wrong.value.allowed == allowed


def test_a_client_hears_from_the_node_that_it_asked() -> None:
    """The member's answer goes to the submitter, and from there to the client."""
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
def test_the_loser_is_one_epoch_later() -> None:
    """B loses epoch 1, applies what A has committed, validates again, and is epoch 2."""
    timeline = after("commit", ALTERS, "submit r1 A", "submit r2 B", *ROUND, "ballot B")
    go_on(timeline, "prepare B A")
    assert timeline.state.nodes[1].log.epoch == 1
    go_on(timeline, "ballot B", "prepare B C", "propose B", "accept B C", "learn B", "answer B")
    text = panel_text(timeline, "log")
    assert "epoch 1: alter table t (r1), known to A, B" in text
    assert "epoch 2: alter table u (r2), known to B" in text
    assert "r2 alter table u from B: committed as epoch 2" in text


@pytest.mark.spec("B-005", "B-012")
def test_a_rejection_names_the_epoch() -> None:
    """The table is dropped as epoch 1, so its alteration is rejected, and B hears why."""
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
def test_an_id_tells_an_unknown_outcome() -> None:
    """The answer is lost after the commit; the next member finds the id, and commits nothing."""
    given = {"events": ("alter table t at D",), "losses": 1}
    timeline = after("commit", given, "submit r1 A", *ROUND, "lose-answer A")
    assert timeline.state.requests[0].stage == "unknown"
    go_on(timeline, "submit r1 A", "ballot A", "prepare A B", "propose A", "answer A")
    assert timeline.model.history(timeline.state) == (Entry(1, "alter table t", "r1"),)
    assert timeline.state.requests[0].epoch == 1


@pytest.mark.spec("B-014")
def test_entries_spread_by_themselves() -> None:
    """After the commit the entry may reach any node, member or not; no answer waits."""
    timeline = after("commit", {}, "submit r1 A", *ROUND)
    spreads = {"deliver 1 to B", "deliver 1 to C", "deliver 1 to D"}
    verbs = {timeline.model.verb(action) for action in timeline.model.actions(timeline.state)}
    assert spreads | {"answer A"} <= verbs
    go_on(timeline, "deliver 1 to D")
    [flow] = last_flows(timeline)
    assert (flow.kind, flow.from_key, flow.to_key) == ("entry", "log:1", "n:D")


@pytest.mark.spec("B-015")
def test_nothing_need_spread() -> None:
    """Where each of those messages is lost, no promise breaks, and all still get their answers."""
    model = build("commit", {"replication": False})
    assert "deliver" not in {
        model.verb(action).split()[0] for action in model.actions(model.start())
    }
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.spec("B-010")
def test_a_round_of_paxos_in_order() -> None:
    """Prepare and promise, accept and accepted, in order; a lower ballot is refused after that."""
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
def test_whoever_applies_a_snapshot_event_has_stored_one(given: dict[str, Any]) -> None:
    """In every state of a search: members and other nodes, by whichever way the event came, and
    with what replaying the log up to it makes; nobody has one of an event that it holds back.
    """
    events = ("drop table t at A", "snapshot at A", "create table t at A")
    model: Any = build("commit", {"events": events, **given})
    stored, ahead, held = set[str](), False, False
    for s in reachable(model):
        log = model.history(s)
        due = {each.epoch for each in log if each.event == SNAPSHOT}
        for name, node in zip(model.names, s.nodes, strict=True):
            mine = {each.epoch: each.metadata for each in node.log.snapshots}
            assert {*mine} == {epoch for epoch in due if epoch <= node.log.epoch}
            for epoch, made in mine.items():
                assert made == reduce(enact, log[:epoch], model.machine.initial)
            stored |= {name} if mine else set()
            ahead |= due != {*mine}
            held |= any(each.event == SNAPSHOT for each in node.log.held)
    assert (stored, ahead) == ({*model.names}, True)
    assert held == ("window" in given)


@pytest.mark.spec("B-049", "B-050")
def test_each_node_stores_a_snapshot() -> None:
    """Members and other nodes store one when they apply the event; who starts from it replays
    one entry of three.
    """
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


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("replace A B", "node B is already in the cluster"),
        ("replace A E", None),
        ("replace E F", "node E does not exist"),
        ("create table t", "table t already exists"),
        ("decommission C", "node C has left"),
    ],
)
def test_what_an_event_needs(event: str, why: str | None) -> None:
    """Who comes for a node is not there yet; who goes is."""
    facts = (Fact("node A", "there"), Fact("node B", "there"), Fact("node C", "left", 3))
    said = objection(Metadata((*facts, Fact("table t", "there"))), event)
    assert (said and said.reason) == why


@pytest.mark.parametrize(
    ("event", "parts"),
    [
        ("snapshot", ("snapshot", "", "")),
        ("bootstrap X: switch reads", (STEP, "", "")),
        ("create table t", ("create table", "table t", "")),
        ("decommission C", ("decommission", "node C", "")),
        ("replace C D", ("replace", "node C", "node D")),
    ],
)
def test_the_parts_of_an_event(event: str, parts: tuple[str, str, str]) -> None:
    """Its kind, what it changes, and who comes for that; steps of operations change nothing."""
    assert parsed(event) == parts
    named = Metadata((Fact("node C", "there"), Fact("table t", "there")))
    assert (enact(named, Entry(1, event, "r1")) == named) == (not parts[1])


@pytest.mark.parametrize(
    "event",
    ["create table", "create table t u", "decommission", "decommission C D", "replace C",
     "replace C D E", "decommissions C", "snapshots"],
)  # fmt: skip
def test_what_is_no_event(event: str) -> None:
    """A name too few or too many, or another word."""
    with pytest.raises(BadInput, match="with a name, snapshot, or X: a step"):
        parsed(event)


def test_facts_stand_in_the_order_of_their_names() -> None:
    """Whatever was made of them first."""
    made = enact(enact(Metadata(), Entry(1, "create table t", "r1")), Entry(2, "replace C B", "r2"))
    assert made.facts == (
        Fact("node B", "there", 2), Fact("node C", "replaced", 2), Fact("table t", "there", 1),
    )  # fmt: skip


def test_only_a_majority_decides() -> None:
    """A member alone is refused, and says whose promise or acceptance is missing."""
    timeline = after("commit", {}, "submit r1 A", "ballot A")
    option = timeline.model.find(timeline.state, "propose A")
    assert option is not None
    assert option[1] is not None
    assert option[1].missing == ("B", "C")


@pytest.mark.parametrize(
    "text", ["drop t at A", "drop table t at Z", "drop table t at A to Z", "replace C at A", ""]
)
def test_what_is_no_submission(text: str) -> None:
    """An event that there is not, or a node that is not there, is an error with its remedy."""
    with pytest.raises(BadInput, match=r"drop table t at B to A|with a name"):
        build("commit", {"events": (text,)})


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [("AB", False), ("BA", False), ("AA", True), ("A", True), ("ABC", True)],
)
def test_names_are_as_many_as_nodes(names: str, is_refused: bool) -> None:
    """All different, and none too many."""
    given = {"nodes": 2, "given_names": tuple(names), "events": ("drop table t at A",)}
    if not is_refused:
        assert build("commit", given).names == tuple(names)
        return
    with pytest.raises(BadInput, match="2 names, all different"):
        build("commit", given)


def test_what_is_held_above_a_gap_ends_no_ballot() -> None:
    """Epoch 2 reaches A, whose ballot is for epoch 1: only epoch 1 itself makes it void."""
    events = ("drop table t at A", "drop table u at B", "drop table v at B")
    timeline = after("commit", {"events": events, "window": 2}, "submit r1 A", "ballot A")
    round_of_b = ("ballot B", "prepare B C", "propose B", "accept B C", "learn B", "answer B")
    for request in ("r2", "r3"):
        go_on(timeline, f"submit {request} B", *round_of_b)
    opened_by_a = timeline.state.nodes[0].handles
    assert opened_by_a.ballot
    go_on(timeline, "deliver 2 to A")
    assert [each.epoch for each in timeline.state.nodes[0].log.held] == [2]
    assert timeline.state.nodes[0].handles == opened_by_a
    go_on(timeline, "deliver 1 to A")
    assert timeline.state.nodes[0].log.epoch == 2
    assert timeline.state.nodes[0].handles == Handling(opened_by_a.request)


def test_when_a_snapshot_is_due() -> None:
    """Each time two epochs are committed, and a snapshot is one of them."""
    given = {"members": 1, "events": tuple(f"drop table {t} at A" for t in "tuv")}
    timeline = after("commit", {**given, "snapshot_every": 2})
    refusals = [
        refusal.reason
        for action, refusal in timeline.model.options(timeline.state)
        if refusal and timeline.model.kind(action) == "submit"
    ]
    assert refusals == ["a snapshot is due at epoch 2", "a snapshot is due at epoch 4"]


def logged(*events: str, epochs: tuple[int, ...]) -> tuple[Entry, ...]:
    """Entries of these epochs."""
    return tuple(
        Entry(epoch, event, f"r{epoch}") for epoch, event in zip(epochs, events, strict=True)
    )


GAPS = [
    # epochs of the entries, epochs of the snapshots, the entry above a gap
    ((1, 2, 3), (), None),
    ((1, 3), (), 3),
    ((1, 3), (1,), 3),
    ((1, 3), (2,), None),
    ((1, 3), (3,), 3),
    ((1, 4), (2,), 4),
    ((1, 4), (3,), None),
    ((3, 4), (2,), None),
    ((2,), (), 2),
]


@pytest.mark.parametrize(("epochs", "snapshots", "above"), GAPS)
def test_a_node_that_has_skipped_an_epoch(
    epochs: tuple[int, ...], snapshots: tuple[int, ...], above: int | None
) -> None:
    """A snapshot stands for all epochs up to its own, and for none above."""
    model = build("commit")
    entries = logged(*("x: step",) * len(epochs), epochs=epochs)
    taken = tuple(Snapshot(epoch, model.machine.initial) for epoch in snapshots)
    broken = model.one_log(model.start().at(1, log=NodeLog(entries, taken)))
    assert broken == (above and f"B has applied epoch {above} above a gap")


ONCE = [
    # what the submitter of r1 was told, the ids in the log, what is wrong
    ("committed", 1, ("r1", "r2"), None),
    ("committed", 2, ("r1", "r2"), "r1 was answered with epoch 2, which is another event"),
    ("committed", 1, ("r1", "r1"), "r1 is committed as epochs 1 and 2"),
    ("rejected", 1, ("r2",), None),
    ("rejected", 1, ("r2", "r1"), "r1 was rejected, but it is epoch 2"),
    ("unknown", 0, ("r1",), None),
    ("waiting", 0, ("r1",), None),
]


@pytest.mark.parametrize(("stage", "epoch", "ids", "wrong"), ONCE)
def test_what_a_submitter_was_told(
    stage: Any, epoch: int, ids: tuple[str, ...], wrong: str | None
) -> None:
    """The epoch of its event where that is in the log, and no rejection of what is there."""
    model = build("commit", {"nodes": 2, "events": ("drop table t at A", "drop table u at A")})
    entries = tuple(Entry(at, "x: step", each) for at, each in enumerate(ids, 1))
    s = model.start().at(0, log=NodeLog(entries))
    assert model.once(s.answered(0, s.requests[0].but(stage=stage, epoch=epoch))) == wrong


def test_slots_are_kept_by_epoch() -> None:
    """Whatever the order in which they are asked about: the same slots are the same state."""
    member = Member()
    for epoch in (3, 1, 2, 1):
        member = member.but(slots=member.keeping(Slot(epoch, promised=epoch)))
    assert [(each.epoch, each.promised) for each in member.slots] == [(1, 1), (2, 2), (3, 3)]


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


@pytest.mark.parametrize(
    ("count", "since"),
    [(0, ""), (1, "r1"), (2, ""), (3, "r3"), (4, "r3 r4"), (5, ""), (6, "r6")],
)
def test_a_log_knows_every_entry_once(count: int, since: str) -> None:
    """Those before its newest snapshot, which is an entry as well, and those that came since."""
    log = whole(count)
    assert log.ids == tuple((f"r{epoch}", epoch) for epoch in range(1, count + 1))
    assert " ".join(each.id for each in log.since_snapshot) == since


@pytest.mark.spec("B-050")
@pytest.mark.parametrize("had", range(len(ENTRIES)))
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("snapshots", [False, True])
def test_a_snapshot_and_the_rest_is_full_replay(had: int, is_cut: bool, snapshots: bool) -> None:
    """Whoever catches up from any epoch has the metadata that replaying all entries makes."""
    server = truncated(whole(6)) if is_cut else whole(6)
    if is_cut and not snapshots and had < 5:  # there is no other way over what was cut
        with pytest.raises(BadInput, match="after epoch"):
            slice_since(server, had, snapshots=False)
        return
    log = caught_up(whole(had), slice_since(server, had, snapshots=snapshots), MACHINE)
    assert metadata(log, MACHINE) == replay(MACHINE, ENTRIES)
    assert log.epoch == 6


@pytest.mark.parametrize(
    ("since", "snapshot", "epochs"),
    [
        (0, 5, [6]),  # two snapshots newer: the newest one, and what follows
        (1, 5, [6]),
        (2, None, [3, 4, 5, 6]),  # one alone: entries cost less
        (4, None, [5, 6]),
        (5, None, [6]),
        (6, None, []),
    ],
)
def test_what_a_slice_holds(since: int, snapshot: int | None, epochs: list[int]) -> None:
    """Entries where they have no gap and one snapshot at most lies between; else the newest one."""
    sent = slice_since(whole(6), since)
    assert (sent.snapshot and sent.snapshot.epoch, [each.epoch for each in sent.entries]) == (
        snapshot,
        epochs,
    )


@pytest.mark.parametrize(
    ("log", "since", "snapshots", "unreadable", "snapshot", "epochs"),
    [
        (whole(6), 0, False, (), None, (1, 2, 3, 4, 5, 6)),
        (whole(6), 0, True, (5,), 2, (3, 4, 5, 6)),
        (whole(6), 0, True, (2, 5), None, (1, 2, 3, 4, 5, 6)),
        (NodeLog((ENTRIES[0], ENTRIES[2])), 0, True, (), None, (1, 3)),
        (NodeLog((ENTRIES[0], ENTRIES[2])), 1, False, (), "refused", ()),
        (NodeLog((ENTRIES[0], ENTRIES[2])), 0, False, (), "refused", ()),
    ],
)
def test_what_a_slice_is_without_some_snapshots(
    log: NodeLog,
    since: int,
    snapshots: bool,
    unreadable: tuple[int, ...],
    snapshot: int | str | None,
    epochs: tuple[int, ...],
) -> None:
    """An older one where the newest cannot be read; entries alone only where there is no gap."""
    if snapshot == "refused":
        with pytest.raises(BadInput, match=f"entries after epoch {since} are missing"):
            slice_since(log, since, snapshots=snapshots)
        return
    sent = slice_since(log, since, snapshots=snapshots, unreadable=unreadable)
    assert (sent.snapshot and sent.snapshot.epoch) == snapshot
    assert tuple(each.epoch for each in sent.entries) == epochs


@pytest.mark.parametrize(
    ("snapshot", "epochs", "text"),
    [
        (None, (), "nothing"),
        (None, (1,), "epoch 1"),
        (None, (1, 2), "epochs 1, 2"),
        (2, (), "the snapshot of epoch 2"),
        (2, (3,), "the snapshot of epoch 2 and epoch 3"),
    ],
)
def test_a_slice_in_words(snapshot: int | None, epochs: tuple[int, ...], text: str) -> None:
    """The snapshot first, then one epoch or several."""
    made = Snapshot(snapshot, None) if snapshot else None
    assert Slice(made, tuple(ENTRIES[epoch - 1] for epoch in epochs)).text == text


def test_what_a_log_has_of_an_epoch() -> None:
    """The entries 1 and 4, the snapshots 1 and 3: what 3 stands for it knows without an entry."""
    taken = tuple(Snapshot(epoch, None) for epoch in (1, 3))
    log = NodeLog((ENTRIES[0], ENTRIES[3]), taken, cut=1)
    assert [log.has(epoch) for epoch in range(1, 6)] == [True, True, True, True, False]
    assert [log.entry(epoch) for epoch in (1, 3, 4)] == [ENTRIES[0], None, ENTRIES[3]]
    assert log.archive == ENTRIES[:1]


@pytest.mark.parametrize(
    ("had", "epoch", "in_order", "entries", "held"),
    [
        (2, 2, True, (1, 2), ()),
        (2, 2, False, (1, 2), ()),
        (2, 1, False, (1, 2), ()),
        (2, 3, True, (1, 2, 3), ()),
        (1, 3, True, (1,), (3,)),
        (1, 3, False, (1, 3), ()),
    ],
)
def test_one_entry_arrives(
    had: int, epoch: int, in_order: bool, entries: tuple[int, ...], held: tuple[int, ...]
) -> None:
    """What it has it does not take again; above a gap it waits, if there is an order."""
    log = received(whole(had), ENTRIES[epoch - 1], MACHINE, in_order=in_order)
    assert tuple(each.epoch for each in log.entries) == entries
    assert tuple(each.epoch for each in log.held) == held


ARRIVE = [
    # entries that it has, those that arrive, with which snapshot -> its entries, snapshots, held
    (0, (2, 3, 5), None, (), (), (2, 3, 5)),
    (0, (3, 1, 2), None, (1, 2, 3), (2,), ()),
    (0, (6, 5, 4, 3, 2, 1), None, (1, 2, 3, 4, 5, 6), (2, 5), ()),
    (1, (1, 2, 4), None, (1, 2), (2,), (4,)),
    (3, (1, 2, 3), None, (1, 2, 3), (2,), ()),
    (1, (6,), 5, (1, 6), (5,), ()),
    (2, (), 2, (1, 2), (2,), ()),  # a snapshot that it need not have
    (3, (4, 6), 2, (1, 2, 3, 4), (2,), (6,)),
]


@pytest.mark.parametrize(("had", "arrive", "snapshot", "entries", "snapshots", "held"), ARRIVE)
def test_what_arrives_at_a_log(
    had: int,
    arrive: tuple[int, ...],
    snapshot: int | None,
    entries: tuple[int, ...],
    snapshots: tuple[int, ...],
    held: tuple[int, ...],
) -> None:
    """First a snapshot that is newer, then what has no gap below; at a snapshot it stores one."""
    made = whole(snapshot).snapshots[-1] if snapshot else None
    sent = Slice(made, tuple(ENTRIES[epoch - 1] for epoch in arrive))
    log = caught_up(whole(had), sent, MACHINE)
    assert tuple(each.epoch for each in log.entries) == entries
    assert tuple(each.epoch for each in log.snapshots) == snapshots
    assert tuple(each.epoch for each in log.held) == held
    assert log.snapshots == tuple(whole(epoch).snapshots[-1] for epoch in snapshots)


@pytest.mark.parametrize(
    ("events", "every", "due"),
    [(1, 2, 0), (2, 2, 1), (3, 2, 2), (2, 3, 0), (3, 3, 1), (5, 3, 2), (4, 1, 4), (4, 0, 0)],
)
def test_how_many_snapshots_are_due(events: int, every: int, due: int) -> None:
    """With one for 3 epochs the third event, then the fifth: the snapshot between is an epoch."""
    assert snapshots_due(events, every) == due


@pytest.mark.spec("B-051")
def test_a_log_is_cut_and_archived() -> None:
    """On demand a snapshot is an event; the log below it can be cut, and stands in the archive."""
    given = {"members": 1, "events": ("drop table t at A", "snapshot at A")}
    one = ("ballot A", "propose A", "learn A", "answer A")
    timeline = after("commit", given, "submit r1 A", *one, "submit r2 A", *one, "truncate A")
    row = next(line for line in panel_text(timeline, "stores").splitlines() if "1 r1, 2 r2" in line)
    assert "0 of 2" in row
    go_on(timeline, "ask A for B")
    assert timeline.state.nodes[1].log.entries == ()
    assert timeline.state.nodes[1].log.epoch == 2


@pytest.mark.spec("B-084")
def test_two_designs_that_were_given_up() -> None:
    """Time lines of one run: as designed B may use epoch 1 once it has it; hidden, once three of
    four have; in two steps, a second round later.
    """
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
        assert lines[f"design:{design}:A:e1"] == ["message away", "message"]
        assert f"design:{design}:D:e1" not in lines


def test_who_has_applied_above_a_gap_does_not_know_the_gap() -> None:
    """Its epoch is later, and the entry is not in its log."""
    timeline = opened("cms/off-apply-in-order")
    timeline.goto(timeline.path()[-1])
    gaps = {
        (row.epoch, node)
        for row in log(timeline.model, timeline.state)
        for node, each in zip(timeline.model.names, timeline.state.nodes, strict=True)
        if each.log.epoch > row.epoch and each.log.entry(row.epoch) is None
    }
    assert gaps
    for epoch, node in gaps:
        [row] = [each for each in log(timeline.model, timeline.state) if each.epoch == epoch]
        assert node not in row.known
