"""What each operation goes through, what its failures leave behind, and what its columns say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.errors import Refused
from kit.model.model import sometimes, step
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState, has_majority, view_of
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.panels.stage import NODES
from kit.protocols.topology.rules.cluster import difference, mutated
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.topology import taken_edges
from kit.search.check import check
from kit.views.panel import scene_at
from tests.protocols.topology.matrix import OPERATIONS
from tests.views.frames import go_on, why_not

Step = tuple[ControlState, Any, ControlState]
SWITCH = ("write_both_read_old", "write_both_read_new")


def run(words: str, edition: Edition = "documents", fails_in: str = "", **given: Any) -> list[Step]:
    """The steps of one operation; the last work of ``fails_in`` fails once, if that is given."""
    model: Any = build(
        "topology", {"edition": edition, "operations": (words,), "failures": 1, **given}
    )
    state, steps = model.start(), []
    while (action := model.suggest(state)) is not None:
        if _last_work(model, state, fails_in):
            action = act.FailWork()
        after = model.act(state, action)
        steps.append((state, action, after))
        state = after
    return steps


def _last_work(model: Any, state: ControlState, where: str) -> bool:
    if not where or state.topology.transition != where or not state.faults.failures:
        return False
    task = task_of(state, model.setting)
    rows = task.decision.work
    fails = task.work is not None and task.work.on_failure in ("rollback", "rejected")
    return fails and task.work is rows[-1] and model.refusal(state, act.FailWork()) is None


def path(steps: list[Step]) -> list[str]:
    """The transition states in order, without repetitions; null at the ends is left out."""
    states = [after.topology.transition for _, _, after in steps]
    kept = [state for i, state in enumerate(states) if i == 0 or states[i - 1] != state]
    return [state for state in kept if state]


def node_states(steps: list[Step], node: int) -> list[str]:
    """What a node's state was, in order."""
    states = [steps[0][0].topology.nodes[node].state]
    for _, _, after in steps:
        if after.topology.nodes[node].state != states[-1]:
            states.append(after.topology.nodes[node].state)
    return states


@pytest.mark.spec("D-026", "D-031", "D-036", "D-027")
def test_each_operation_passes_the_transition_states_of_its_edition() -> None:
    """Only a bootstrap commits a generation; a rebuild streams without a transition state."""
    assert path(run("join D")) == ["join_group0", "commit_cdc_generation", *SWITCH]
    assert path(run("replace D C")) == ["join_group0", "tablet_draining", *SWITCH]
    assert path(run("replace D C", "server")) == ["join_group0", *SWITCH]
    assert path(run("leave C")) == ["tablet_draining", *SWITCH, "left_token_ring"]
    assert path(run("leave C", "server")) == [*SWITCH, "left_token_ring"]
    assert path(run("remove C")) == ["tablet_draining", *SWITCH]
    assert path(run("remove C", "server")) == [*SWITCH, "left_token_ring"]
    assert path(run("rebuild C")) == []
    assert any(after.attempted.streaming for _, _, after in run("rebuild C"))
    assert path(run("join D --zero-token")) == ["join_group0"]
    assert path(run("new_cdc_generation")) == ["commit_cdc_generation"]


@pytest.mark.spec("D-003", "D-010", "D-011", "D-012", "D-014", "D-022")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_failed_join_ends_in_left_and_a_failed_leave_in_normal(edition: Edition) -> None:
    """Replacements and removals likewise; the request is done, with its error."""
    joins = [("join D", s) for s in ("join_group0", "commit_cdc_generation", SWITCH[0])]
    joins += [("replace D C", s) for s in ("join_group0", SWITCH[0])]
    for words, where in joins:
        steps = run(words, edition, where)
        assert path(steps)[-1] == "left_token_ring", (words, where)
        assert node_states(steps, 3)[-1] == "left", (words, where)
        assert not steps[-1][2].topology.nodes[3].tokens, (words, where)
        assert ended_with_error(steps), (words, where)
    for words in ("leave C", "remove C"):
        steps = run(words, edition, SWITCH[0])
        assert path(steps)[-2:] == ["rollback_to_normal", "tablet_migration"], words
        assert node_states(steps, 2)[-1] == "normal", words
        assert steps[-1][2].topology.nodes[2].tokens, words
        assert ended_with_error(steps), words


def ended_with_error(steps: list[Step]) -> bool:
    """Whether the one request is done and has an error."""
    [request] = steps[-1][2].topology.requests
    return request.done and request.error


@pytest.mark.spec("D-010", "D-014")
def test_a_joiner_that_does_not_accept_never_gets_tokens() -> None:
    """The joiner ends in ``left``, and is no member of group 0."""
    model: Any = build("topology", {"edition": "documents", "failures": 1})
    state = model.start()
    while True:
        task = task_of(state, model.setting)
        if task.work is not None and task.work.name == "accept":
            break
        state = model.act(state, model.suggest(state))
    state = model.act(state, act.FailWork())
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert state.topology.nodes[3].state == "left"
    assert not state.topology.nodes[3].tokens
    assert state.topology.members == 0b111
    assert state.topology.version == 1


@pytest.mark.spec("D-017", "D-041")
def test_a_bootstrap_gets_its_tokens_on_leaving_join_group0() -> None:
    """The row keeps the request's id; a replacement takes over the tokens of the replaced node."""
    steps = run("join D")
    first = next(after for _, _, after in steps if after.topology.nodes[3].tokens)
    assert first.topology.transition == "commit_cdc_generation"
    last = steps[-1][2].topology
    assert (last.nodes[3].request, last.nodes[3].request_id) == ("", 1)
    replaced = run("replace D C")[-1][2].topology
    assert (replaced.nodes[2].state, replaced.nodes[2].tokens) == ("left", False)
    assert (replaced.nodes[3].replaced, replaced.nodes[3].tokens) == (2, True)


@pytest.mark.spec("D-042", "D-046")
def test_a_barrier_asks_no_ignored_node_and_fails_for_a_dead_node() -> None:
    """The server does not even take the removal unless the other dead node is ignored."""
    given: dict[str, Any] = {"nodes": 5, "down": ("D", "E"), "failures": 0}
    steps = run("remove E", "documents", ignored=("D",), **given)
    assert node_states(steps, 4)[-1] == "left"
    answered = {a.node for _, a, _ in steps if isinstance(a, act.AnswerBarrier)}
    assert answered == {"A", "B", "C"}
    model: Any = build("topology", {"operations": ("remove E",), **given, "edition": "documents"})
    state = model.start()
    while state.topology.transition != SWITCH[0] or state.attempted.command is not None:
        state = model.act(state, model.suggest(state))
    assert model.refusal(state, act.FailWork()) is None
    refused = model.refusal(state, act.AnswerBarrier("D"))
    assert refused is not None
    assert refused.missing == ("D",)
    server: Any = build("topology", {"operations": ("remove E",), **given, "edition": "server"})
    assert server.refusal(server.start(), act.MakeRequest(0)).missing == ("D",)


@pytest.mark.spec("D-046")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("words", "sent"),
    [("join F", {"command_barrier", "barrier"}), ("remove E", {"stream", "barrier"})],
)
def test_work_that_needs_a_dead_node_fails_without_a_fault_of_its_own(
    edition: Edition, words: str, sent: set[str]
) -> None:
    """Or is tried again where the documents' table has no way on."""
    given = {"edition": edition, "nodes": 5, "operations": (words,), "crashes": 1}
    model: Any = build("topology", given)
    state, tried = model.start(), set[str]()
    while (action := model.suggest(state)) is not None:
        work = task_of(state, model.setting).work
        dead = model.act(state, act.CrashMember("B"))
        before, after = (task_of(s, model.setting).needs >> 1 & 1 for s in (state, dead))
        answered = dead.attempted.answered >> 1 & 1
        if work and before and after and not answered and model.busy(dead) is None:
            tried.add(work.name)
            does = act.AnswerBarrier("B") if work.barrier else act.DoWork()
            refused = model.refusal(dead, does)
            assert refused is not None, work
            assert refused.missing == ("B",), work
            fails = model.refusal(dead, act.FailWork())
            assert (fails is None) == (edition == "server" or work.on_failure != "retry"), work
        state = model.act(state, action)
    assert tried >= sent


@pytest.mark.spec("D-043", "F-003")
@pytest.mark.parametrize("words", ["join D", "replace D C", "leave C", "remove C", "rebuild C"])
def test_a_single_session_spans_the_streaming_of_an_operation(words: str) -> None:
    """The session's id is the state of the command that opened it; versions grow by one."""
    steps = run(words)
    opened = [b for a, _, b in steps if a.topology.session == 0 != b.topology.session]
    closed = [b for a, _, b in steps if a.topology.session != 0 == b.topology.session]
    assert len(opened) == len(closed) == 1
    assert opened[0].topology.session == opened[0].state_id
    assert all(b.topology.version - a.topology.version in (0, 1) for a, _, b in steps)
    streaming = [b for _, _, b in steps if b.attempted.streaming]
    assert streaming
    assert all(s.topology.session for s in streaming)


@pytest.mark.spec("F-011", "D-049")
def test_a_deposed_coordinator_opens_no_session() -> None:
    """A decision that would open a session has no effect once another coordinator has committed."""
    model: Any = build("topology", {"operations": ("rebuild C",), "changes": 1})
    state = model.start()
    for verb in ("rebuild C", "decide", "elect B", "decide", "commit"):
        state = model.act(state, model.find(state, verb)[0])
    assert ("session", 3) in state.deposed.change.static
    after = model.act(state, act.CommitDeposed())
    assert (after.topology, after.state_id) == (state.topology, state.state_id)


@pytest.mark.spec("F-016", "F-019")
def test_a_join_leaves_cleanup_to_its_neighbours_until_the_request_runs() -> None:
    """Cleanup runs once the fence is at the newest version, until every node is clean."""
    model: Any = build("topology", {"operations": ("join D", "cleanup")})
    state, seen = model.start(), []
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
        row = tuple(entry.cleanup for entry in state.topology.nodes)
        if not seen or seen[-1][0] != row:
            seen.append((row, state.topology.fence_version == state.topology.version))
    rows = [row for row, _ in seen]
    assert rows[1] == ("needed", "needed", "needed", "clean")
    assert seen[2] == (("running", "running", "running", "clean"), True)
    assert rows[-1] == ("clean",) * 4
    assert [request.done for request in state.topology.requests] == [True, True]


@pytest.mark.spec("D-023")
def test_no_request_begins_while_the_topology_is_locked() -> None:
    """The refusal says so, until the lock is taken away."""
    model: Any = build("topology", {"operations": ("lock", "join D")})
    state = model.start()
    for _ in range(2):
        state = model.act(state, next(model.actions(state)))
    assert state.topology.transition == "lock"
    refused = model.refusal(state, act.TakeDecision())
    assert refused is not None
    assert "locked" in refused.reason
    state = model.act(state, act.UnlockTopology())
    assert model.refusal(state, act.TakeDecision()) is None


@pytest.mark.spec("D-028")
def test_publishing_a_generation_delays_no_step_of_the_operation() -> None:
    """The same kinds of action are enabled before and after."""
    model: Any = build("topology", {"publishing": True})
    state = model.start()
    while not state.topology.unpublished:
        state = model.act(state, model.suggest(state))
    published = model.act(state, act.PublishGeneration())
    kinds: Callable[[ControlState], set[type]] = lambda s: {type(a) for a in model.actions(s)}  # noqa: E731 - a name for what is compared
    assert kinds(published) == kinds(state) - {act.PublishGeneration}
    assert published.topology.transition == "write_both_read_old"


@pytest.mark.spec("G-038")
def test_removing_a_live_node_is_refused() -> None:
    """By the button and by the action, in the same words; decommission is offered."""
    given = {"operations": ("remove C",), "down": ()}
    model: Any = build("topology", given)
    asks = act.MakeRequest(0)
    assert dict(model.waiting(model.start()))[asks].reason == "the node is up, so decommission it"
    with pytest.raises(Refused, match="decommission it"):
        model.act(model.start(), asks)
    assert (
        why_not(Timeline(model), "remove C: nodetool removenode")
        == "the node is up, so decommission it."
    )
    leaves: Any = build("topology", {"operations": ("leave C",)})
    assert asks in set(leaves.actions(leaves.start()))
    assert why_not(Timeline(leaves), "leave C: nodetool decommission") == ""


def _from_its_disk(before: ControlState, action: act.RestartMember, after: Any) -> str | None:
    node = "ABC".index(action.node)
    had, has = view_of(before, node), view_of(after, node)
    if has.version < had.version:
        return "it forgot what it had stored"
    return None if has_majority(after) or had == has else "it learned something from nobody"


@pytest.mark.spec("D-070")
def test_a_node_restarted_without_a_majority_knows_only_what_it_had_stored() -> None:
    """In every state of a rebuild with two crashes; with a majority it catches up."""
    model: Any = build("topology", {"operations": ("rebuild B",), "crashes": 2, "nodes": 2})
    extra = step("disk", "From its disk", _from_its_disk, on=(act.RestartMember,))
    reached = sometimes(
        "alone", "One of two is up", lambda s: s.up.bit_count() == 1 and not has_majority(s)
    )
    model.properties = (*model.properties, extra, reached)
    result = check(model, max_states=300_000)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())
    begun = ("leave C", "decide", "commit", "decide", "commit", "answer B")
    timeline = Timeline(build("topology", {"operations": ("leave C",), "crashes": 3}))
    go_on(timeline, *begun, "crash B", "crash A", "crash C", "restart B")
    assert not has_majority(timeline.state)
    assert "B: normal, version 2" in NODES.text(scene_at(timeline, timeline.at))


@pytest.mark.parametrize(
    ("operators", "stored"),
    [
        ("bootstrap D", "join D"),
        ("bootstrap D --zero-token", "join D --zero-token"),
        ("decommission C", "leave C"),
        ("removenode C", "remove C"),
    ],
)
def test_an_operators_word_asks_for_the_same_as_the_tables(operators: str, stored: str) -> None:
    """As a parameter and as a line of a script."""
    ours = build("topology", {"operations": (operators,), "changes": 1, "release": "2025.3"})
    theirs = build("topology", {"operations": (stored,), "changes": 1, "release": "2025.3"})
    state = ours.start()
    assert state == theirs.start()
    assert ours.find(state, operators) == theirs.find(state, stored) == (act.MakeRequest(0), None)
    assert ours.label(state, act.MakeRequest(0)).startswith(f"{stored}: ")
    run = Timeline(ours, (operators, "decide", "elect B"))  # nobody else would elect B here
    for verb in (stored, "decide", "elect B"):
        moment = run.forward()
        assert moment is not None
        assert ours.verb(moment.action) == verb


def test_a_rebuild_may_stream_beside_a_request_of_the_version_before() -> None:
    """A removal has just ended, and its last state writes to all that count now."""
    given = {"edition": "documents", "operations": ("removenode C", "rebuild B"), "clients": 1}
    run = Timeline(build("topology", {**given, "nodes": 3, "ignored": ("C",)}))
    while run.state.topology.nodes[2].state != "left":
        assert run.forward() is not None
    assert run.state.topology.version - run.state.views[0].version == 1
    run.do(act.BeginRequest("B"))
    while not run.state.attempted.streaming:
        assert run.forward() is not None
    assert run.state.client_version < run.state.topology.version
    assert all(verdict.ok for verdict in run.verdicts())


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", [*OPERATIONS.values(), "lock", "new_cdc_generation"])
def test_the_cells_of_a_command_make_the_state_after_it(edition: Edition, words: str) -> None:
    """From each state of an operation to each later one; equal states have no cells."""
    steps = run(words, edition)
    states = [state.topology for state, _, _ in steps] + [steps[-1][2].topology]
    for at, before in enumerate(states):
        for after in states[at:]:
            cells = difference(before, after)
            assert mutated(before, cells) == after, cells
            assert (cells == difference(before, before)) is (before == after), cells


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS.values())
def test_a_step_takes_only_edges_out_of_the_state_before_it(edition: Edition, words: str) -> None:
    """Each change of the transition state takes one."""
    for before, _, after in run(words, edition):
        old = under_way(before.topology)
        taken = list(taken_edges(before.topology, after.topology, edition))
        if old is not None and before.topology != after.topology:
            same = [edge for machine, edge in taken if machine == old.machine]
            assert all(edge.source in (old.state, BOUNDARY) for edge in same), (old.state, same)
        if before.topology.transition != after.topology.transition:
            assert taken, before.topology.transition
