"""The panels of the topology, and what the coordinator says that it is at."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.facts import journal, run_ids
from kit.protocols.topology.panels.ring import ring
from kit.protocols.topology.panels.states import LEGEND, UNDRAWN, diagrams, legend
from kit.protocols.topology.panels.tables import OF_ROWS, STATIC, TABLE, texts
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.panel import Scene, scene_at
from tests.outcomes import why
from tests.views.frames import classed, part

RUNS: tuple[dict[str, Any], ...] = (
    {"operations": ("join D",)},
    {"operations": ("leave C", "join E"), "nodes": 4},
    {"operations": ("remove C",), "nodes": 4},
    {"operations": ("replace D C",)},
    {"operations": ("rebuild C", "cleanup", "new_cdc_generation")},
    {"operations": ("join D --zero-token", "lock")},
    {"operations": ("leave C",), "nodes": 4, "edition": "documents"},
)


NAMES = [" + ".join(run["operations"]) for run in RUNS]


@cache
def _played(number: int) -> Timeline:
    timeline = Timeline(build("topology", RUNS[number]))
    while timeline.forward() is not None:
        pass
    return timeline


def scenes(timeline: Timeline) -> list[Scene]:
    """The scenes of every moment."""
    return [scene_at(timeline, moment) for moment in timeline.path(timeline.tip)]


def after(timeline: Timeline, kinds: Iterable[type]) -> Timeline:
    """The timeline gone on with the schedule, but for these actions as soon as they are there."""
    for kind in kinds:
        while True:
            ready = [a for a in timeline.model.actions(timeline.state) if isinstance(a, kind)]
            if ready:
                timeline.do(ready[0])
                break
            assert timeline.forward() is not None, kind
    return timeline


def test_every_machine_is_drawn_edge_for_edge() -> None:
    """Each drawing has the edges of its table, and those that lead back are known."""
    drawn = {one.name: one for one in diagrams()}
    for edition in EDITIONS:
        for name, machine in MACHINES[edition].items():
            if name in UNDRAWN:
                continue
            one = drawn.get(f"state-topology-{name}") or drawn[f"state-topology-{name}-{edition}"]
            assert len(one.transitions) == len(machine.edges)
            back = [event for _, event, _ in one.transitions if event in one.rollbacks]
            assert len(back) == sum(edge.kind != "happy" for edge in machine.edges)


@pytest.mark.spec("D-038")
def test_the_table_is_the_table() -> None:
    """All 33 columns but the key are there; a cell is marked when the step changed it."""
    timeline = _played(0)
    for scene in scenes(timeline)[1:]:
        ids = run_ids(scene.way())
        edition = scene.model.edition
        now, was = (
            texts(s.topology, scene.model.names, ids, edition) for s in (scene.state, scene.before)
        )
        assert {name for _, name in now} == {*OF_ROWS, *STATIC}
        drawn = TABLE.draw(scene)
        changed = [place for place, text in now.items() if was.get(place, "null") != text]
        static = [name for host, name in changed if not host]
        for name in static:
            row = part(drawn, f"column:{name}")
            assert row is not None
            assert len(classed(row, "changed")) == 1
        assert bool(classed(drawn, "changed")) == bool(changed)


@pytest.mark.parametrize("number", range(len(RUNS)), ids=NAMES)
def test_the_ring_follows_the_selectors(number: int) -> None:
    """Each range is read from one node; where writes go to both rings, it may be written to two."""
    for scene in scenes(_played(number)):
        now = ring(scene.model, scene.state)
        names = {node.name for node in now.nodes}
        rights = [arc.right for arc in now.arcs]
        assert sorted(set(rights)) == rights
        for arc in now.arcs:
            assert len(arc.reads) == 1
            assert set(arc.reads) <= set(arc.writes) <= names
            assert len(arc.writes) == 1 or now.writes == "both"
        if not scene.state.topology.transition:
            assert not any(node.comes or node.goes for node in now.nodes)
            assert all(arc.reads == arc.writes for arc in now.arcs)


@pytest.mark.parametrize(
    ("number", "before", "meanwhile", "later"),
    [(0, "A", ["A", "D"], "D"), (3, "C", ["C", "D"], "D"), (6, "C", ["C", "D"], "D")],
    ids=["join", "replace", "leave"],
)
def test_a_range_changes_hands(number: int, before: str, meanwhile: list[str], later: str) -> None:
    """Its writes go to both nodes before its reads go to the new one, and after."""
    seen = []
    timeline = _played(number)
    for scene in scenes(timeline):
        now = ring(scene.model, scene.state)
        place = next(
            (n.place for n in now.nodes if n.name == (later if number == 0 else before)), None
        )
        arc = next((arc for arc in now.arcs if arc.right == place), None)
        if arc is not None and (not seen or seen[-1] != (arc.reads, arc.writes)):
            seen.append((arc.reads, arc.writes))
    assert seen[0] == ((before,), (before,))
    assert seen[1] == ((before,), tuple(meanwhile))
    assert seen[2] == ((later,), tuple(meanwhile))


@pytest.mark.spec("D-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_legend_has_every_transition_state(edition: Edition) -> None:
    """Those of nodes, of tablets and of the lock, each with what passes it, and which it is now."""
    timeline = Timeline(build("topology", {"operations": ("leave C",), "edition": edition}))
    seen = set()
    while True:
        scene = scene_at(timeline, timeline.at)
        rows = {name: (passed_by, now) for name, passed_by, now in legend(scene)}
        assert {name for name, (_, now) in rows.items() if now} == {
            timeline.state.topology.transition
        } - {""}
        seen |= {name for name, (_, now) in rows.items() if now}
        if timeline.forward() is None:
            break
    draining = {"tablet_draining"} if edition == "documents" else set()
    assert seen == draining | {"write_both_read_old", "write_both_read_new", "left_token_ring"}
    documented = {
        *("join_group0", "commit_cdc_generation", "write_both_read_old", "write_both_read_new"),
        *("left_token_ring", "rollback_to_normal", "lock"),
        *("tablet_migration", "tablet_resize_finalization"),
    }
    assert documented | draining <= set(rows)
    assert "decommissioning" in rows["rollback_to_normal"][0]
    assert "tablets" in rows["tablet_resize_finalization"][0]
    assert "tablet_resize_finalization  tablets" in LEGEND.text(scene)


BEGINS = "a new coordinator must first commit a command of its own"


IN_HAND = "a command was decided but is not committed yet"


def until(model: Any, state: Any, work: str) -> Any:
    """The first state in which this piece of work comes next."""
    for _ in range(200):
        task = model.task(state)
        if task.work is not None and task.work.name == work and model.busy(state) is None:
            return state
        state = model.act(state, model.suggest(state))
    raise AssertionError(work)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("work", "action"),
    [
        ("accept", act.DoWork()),
        ("accept", act.FailWork()),
        ("stream", act.DoWork()),
        ("stream", act.FailWork()),
        ("stream", act.TakeDecision()),
    ],
)
def test_a_new_coordinator_has_nothing_in_hand(edition: Edition, work: str, action: Any) -> None:
    """Its start marker comes first; once that is decided, it is what is in hand."""
    model: Any = build("topology", {"edition": edition, "changes": 1, "failures": 1})
    state = model.act(until(model, model.start(), work), act.ElectCoordinator("B"))
    assert why(model, state, action) == ("" if isinstance(action, act.TakeDecision) else BEGINS)
    state = model.act(state, act.TakeDecision())
    assert why(model, state, action) == IN_HAND


# asked for, what fails first (the operation rolls back), and what comes behind shut_down
SHUT_DOWN = (
    ("leave C", ""),
    ("join D", "stream"),
    ("join D", "assign_tokens"),
    ("replace D C", "stream"),
    ("replace D C", "copy_tokens"),
)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("words", "fails"), SHUT_DOWN)
def test_what_has_failed_does_not_come_next(edition: Edition, words: str, fails: str) -> None:
    """The node is dead already: it cannot be told to shut down, and leaves group 0 all the same."""
    given = {"edition": edition, "operations": (words,), "failures": 1, "crashes": 1}
    model: Any = build("topology", given)
    state = model.start()
    if fails:
        state = model.act(until(model, state, fails), act.FailWork())
    state = until(model, state, "shut_down")
    assert why(model, state, act.TakeDecision()) == "shut_down comes next"
    state = model.act(state, act.CrashMember(words.split()[1]))
    state = model.act(state, act.FailWork())
    assert why(model, state, act.TakeDecision()) == "leave_group0 comes next"
    assert model.readable(state)["coordinator"].endswith("work, leave_group0 comes next")


@pytest.mark.parametrize("node", "ABDEF")
def test_who_has_left_is_dropped_whoever_is_down(node: str) -> None:
    """No node is asked for that; whoever coordinates may do it while any other is down."""
    given = {"edition": "documents", "nodes": 5, "operations": ("replace F C",)}
    model: Any = build("topology", {**given, "crashes": 2, "changes": 1})
    state = until(model, model.start(), "drop_left")
    leader = "E" if node == "D" else "D"
    begins = act.ElectCoordinator(leader), act.TakeDecision(), act.CommitDecision()
    for action in (*begins, act.CrashMember(node)):
        state = model.act(state, action)
    assert why(model, state, act.DoWork()) == ""
    assert "C" in model.named(state.topology.members)
    assert "C" not in model.named(model.act(state, act.DoWork()).topology.members)


@pytest.mark.parametrize("words", ["join D", "replace D C", "leave C", "remove C"])
def test_a_pause_follows_a_barrier_that_failed(words: str) -> None:
    """In the server, behind the read switch: drain and plain barrier have failed."""
    model: Any = build("topology", {"operations": (words,), "failures": 2, "edition": "server"})
    state = model.start()
    while state.topology.transition != "write_both_read_new":
        state = model.act(state, model.suggest(state))
    state = model.act(until(model, state, "barrier"), act.FailWork())
    while why(model, state, act.FailWork()):
        state = model.act(state, model.suggest(state))
    state = model.act(state, act.FailWork())
    assert why(model, state, act.TakeDecision()) == "barrier has failed: a pause comes next"


# asked for, beside the excluded node B (of five members), and whether its first barrier waits for B
EXCLUDED = (
    ("join F", True),
    ("leave D", True),
    ("remove D", False),
    ("replace F D", False),
    ("new_cdc_generation", True),
)


@pytest.mark.parametrize(("words", "waits"), EXCLUDED)
def test_whose_barriers_wait_for_an_excluded_node(words: str, waits: bool) -> None:
    """The sentence of an exclusion says it: removals, replaces and tablets do not."""
    given = {"operations": (words,), "edition": "documents", "nodes": 5, "crashes": 1}
    timeline = Timeline(build("topology", {**given, "exclusions": 1}))
    model: Any = timeline.model
    for verb in (words, "crash B", "exclude B"):
        option = model.find(timeline.state, verb)
        timeline.do(option[0])
    said = "Removals, replacements and tablets no longer wait for it; a join still does."
    assert timeline.now.say.endswith(said)
    state = timeline.state
    while not model.unanswered(state):
        state = model.act(state, model.suggest(state))
    assert bool(model.unanswered(state) & 0b10) is waits


@pytest.mark.parametrize("marker", [True, False])
def test_a_new_coordinator_enters_the_state_again(marker: bool) -> None:
    """Once it has begun: with its start marker, or without one where it needs none."""
    model: Any = build("topology", {"changes": 1}, off=() if marker else ("start-marker",))
    before = until(model, model.start(), "accept")
    after = model.act(before, act.ElectCoordinator("B"))
    entered = "entered `join group0` transition state"
    assert (entered in journal(model, before, act.ElectCoordinator("B"), after)) is not marker
    if marker:
        before = model.act(after, act.TakeDecision())
        after = model.act(before, act.CommitDecision())
        assert entered in journal(model, before, act.CommitDecision(), after)


def test_a_new_coordinator_sends_nothing_before_it_has_begun() -> None:
    """Its barrier is sent again with its start marker, not as soon as it is there."""
    model: Any = build("topology", {"changes": 1, "crashes": 1, "lag": False})
    state = until(model, model.start(), "barrier")
    sent = []
    for words in ("crash A", "elect B", "decide", "commit"):
        action, refusal = model.find(state, words)
        assert refusal is None
        after = model.apply(state, action)
        sent.append(
            any("global topology command" in x for x in journal(model, state, action, after))
        )
        state = after
    assert sent == [False, False, False, True]
