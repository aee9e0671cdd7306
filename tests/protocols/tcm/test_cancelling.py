"""Cancelling: by an operator, at every step, back to what was before."""

from __future__ import annotations

from typing import Any

import pytest

from kit import Player, build
from kit.console.drill import DrillMoment
from kit.console.forms import Grammar
from kit.errors import Refused
from kit.lessons.questions import copied
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.tools import SERVERS
from kit.protocols.tcm.rules.operations import transitions
from kit.widgets.magics import nodetool
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.test_sequences import CASES, EDITIONS
from tests.saying import says

OPERATIONS: dict[str, tuple[str, str, str]] = {
    "bootstrap": ("bootstrap X --tokens 150", "X", "jmx cancelInProgressSequences 5 JOIN"),
    "decommission": ("decommission C", "C", "jmx cancelInProgressSequences 3 LEAVE"),
    "move": ("move C --tokens 50", "C", "nodetool move --abort"),
    "replace": ("replace C X", "X", "jmx cancelInProgressSequences 5 REPLACE"),
    "removenode": ("removenode C", "C", "jmx cancelInProgressSequences 3 REMOVE"),
}
"""Of each operation: how it is asked for, whose it is, the server's own command."""


def ended(kind: str, edition: str) -> Timeline:
    """An operation, played to its end; of one that takes a node's place that node is down."""
    given = {"nodes": 4, "operations": (OPERATIONS[kind][0],), "edition": edition}
    model: Any = build("tcm", {**given, "cancels": 1, "crashes": 1}, ())
    timeline = Timeline(model)
    if kind in ("replace", "removenode"):
        timeline.do(model.find(timeline.state, "crash C")[0])
    return played_out(timeline)


def command(timeline: Timeline, line: str, here: str) -> None:
    """Type a line on a machine; what it does is a step."""
    run = tuple(timeline.moments[at] for at in timeline.path(timeline.at))
    now = DrillMoment(timeline.model, run, here)
    form, given = Grammar(SERVERS.understood("nodetool", "jmx"), SERVERS.slots()).read(line, now)
    for action in form.answer(now, given).actions:
        timeline.do(action)


def owners(timeline: Timeline, tokens: range) -> list[Any]:
    """Who is read from and written to, by token, at the newest epoch."""
    model: Any = timeline.model
    rows = [facts.owners(model, timeline.state, token) for token in tokens]
    return [(row.reads, row.writes) for row in rows]


@pytest.mark.spec("B-060")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operators_command_cancels_each_operation_at_each_step(kind: str, edition: str) -> None:
    """At the end owners are as before. Once old writers are dropped it is refused."""
    run = ended(kind, edition)
    model: Any = run.model
    _, node, own = OPERATIONS[kind]
    line = own if edition == "server" else f"nodetool cancel {kind} {node}"
    tokens = range(10, 420, 20)
    before = owners(copied(run, 0), tokens)
    done, refused = set[int](), set[int]()
    for moment in run.path()[1:]:
        twin = copied(run, moment)
        epochs = len(facts.log(model, twin.state))
        if model.tcm.sequence(twin.state.tcm, node) is None:
            continue
        here = node if kind == "move" else "A"
        if epochs in refused or facts.log(model, twin.state)[-1].step in ("drop-writes", "finish"):
            with pytest.raises(Refused):
                command(twin, line, here)
            refused.add(epochs)
            continue
        command(twin, line, here)
        assert len(facts.log(model, twin.state)) == epochs + 1
        assert facts.log(model, twin.state)[-1].text.startswith("cancel")
        while model.tcm.sequence(twin.state.tcm, node) is not None:
            assert twin.forward() is not None
        assert owners(twin, tokens) == before, epochs
        assert all(verdict.ok for verdict in twin.verdicts()), epochs
        done.add(epochs)
    assert len(done) >= 2
    assert not done & refused


@pytest.mark.spec("B-060")
def test_a_cancel_typed_in_a_notebook_is_an_event_of_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The cell says what it does, and dumplog has CANCEL_SEQUENCE."""
    player = Player(build("tcm", {"cancels": 1}, ()), controls=False)
    names = {"cluster": player}
    player.step()
    nodetool(names, "cancel bootstrap X")
    assert "An operator cancels. Epoch 2: cancel" in capsys.readouterr().out
    nodetool(names, "cms dumplog")
    assert "CANCEL_SEQUENCE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "nodetool cancel decommission X",
            "X has no decommission under way: its operation is bootstrap X",
        ),
        ("nodetool cancel bootstrap A", "A has no operation under way"),
        ("nodetool cancel bootstrap", "A has no operation under way"),
        ("nodetool abortbootstrap --ip 10.0.0.13", "Can't abort bootstrap for .*3.* - it is alive"),
        ("nodetool abortbootstrap --node 4", "Can't abort bootstrap for .*4.* - it is alive"),
        ("nodetool move --abort", "A has no operation under way"),
        ("jmx cancelInProgressSequences 4 LEAVE", "X has no decommission under way"),
    ],
)
def test_a_cancel_that_names_another_operation_or_node_is_refused(line: str, reason: str) -> None:
    """The reason is one line, and nothing changes."""
    timeline = Timeline(build("tcm", {"cancels": 1}, ()))
    timeline.forward()
    with pytest.raises(Refused, match=reason):
        command(timeline, line, "A")
    assert timeline.at == 1


SEQUENCES = [case for case in CASES if not case[1].startswith("assassinate")]


def begun(edition: str, text: str, steps: int = 1, **parameters: Any) -> tuple[Drive, str]:
    """The operation with ``steps`` events committed."""
    drive = Drive(nodes=5, edition=edition, cancels=1, operations=(text,), **parameters).act(text)
    node = drive.operation().node
    return drive.commit(node, steps - 1), node


def steps_before_the_drop(edition: str, text: str) -> int:
    """How many events an operation has before old write replicas are dropped."""
    return EDITIONS[edition][text].index("drop-writes" if edition == "documents" else "finish")


@pytest.mark.parametrize(("edition", "text"), SEQUENCES)
def test_a_cancel_at_any_step_restores_tables_ring_and_locks(edition: str, text: str) -> None:
    """The operation can then be done anew."""
    before = Drive(nodes=5).table()
    for steps in range(1, steps_before_the_drop(edition, text) + 1):
        drive, node = begun(edition, text, steps)
        drive.act(f"cancel {node}").finish(node)
        assert drive.table() == before, steps
        assert drive.stable(), steps
        assert facts.operations(drive.model, drive.state) == (), steps
        assert drive.dark() == [], steps
        drive.complete(text)
        assert drive.stable(), steps


@pytest.mark.parametrize(("edition", "text"), SEQUENCES)
def test_a_cancel_takes_one_event_before_the_read_switch_and_two_after(
    edition: str, text: str
) -> None:
    """After it reads go back first, then writes."""
    last = steps_before_the_drop(edition, text)
    for steps in range(1, last + 1):
        drive, node = begun(edition, text, steps)
        epoch = drive.model.newest_epoch(drive.state)
        before_cancel = drive.table()
        drive.act(f"cancel {node}")
        if steps < last:
            assert facts.operations(drive.model, drive.state) == (), steps
            assert drive.model.newest_epoch(drive.state) == epoch + 1, steps
            continue
        assert drive.operation().cancelling, steps
        reads = {left: reads for left, _, reads, _ in drive.table()}
        writes = {left: set(writes) for left, _, _, writes in drive.table()}
        assert writes == {left: set(group) for left, _, _, group in before_cancel}, steps
        old = {left: r for left, _, r, _ in begun(edition, text, steps - 1)[0].table()}
        assert reads == old, steps
        drive.commit(node)
        assert drive.model.newest_epoch(drive.state) == epoch + 2, steps
        words = [line.text for line in facts.log(drive.model, drive.state)][-2:]
        for line, side in zip(words, ("reads", "writes"), strict=True):
            assert says(line, f"cancel | {side} back"), (line, side)


def test_a_cancel_forgets_the_streams_of_its_operation() -> None:
    """Begun again, the join streams everything again."""
    join = "bootstrap X --tokens 150"
    drive = Drive(rf=3, cancels=1, operations=(join,)).act(join).commit("X", 2)
    assert drive.state.tcm.streamed
    drive.act("cancel X")
    assert drive.operation().cancelling
    assert drive.state.tcm.streamed == ()
    drive.finish("X").act(join).commit("X").repeat("apply ")
    assert [verb for verb in drive.verbs() if verb.startswith("stream ")]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_majority_must_know_that_reads_are_back_before_a_cancel_ends(edition: str) -> None:
    """With RF 3 that is 3 of {A, B, C, X}."""
    join = "bootstrap X --tokens 150"
    drive = Drive(rf=3, edition=edition, cancels=1, operations=(join,)).act(join).commit("X", 2)
    drive.ready().act("cancel X", "apply A", "apply B")
    assert "waiting at the barrier" in drive.refusal("commit X").reason
    drive.act("apply C")
    row = next(row for row in drive.operation().barriers if row.right == 150)
    assert (set(row.replicas), row.needed) == ({"A", "B", "C", "X"}, 3)
    drive.act("commit X")


def test_a_cancel_does_not_need_the_node_whose_operation_is_undone() -> None:
    """X is down, and its join is undone."""
    join = "bootstrap X --tokens 150"
    drive = Drive(rf=3, cancels=1, crashes=1, operations=(join,)).act(join).commit("X", 2)
    drive.act("crash X", "cancel X").repeat("apply ").act("commit X")
    assert drive.stable()


@pytest.mark.parametrize("text", ["decommission B", "move B --tokens 450", "removenode B"])
def test_a_cancel_is_refused_once_old_writers_are_dropped(text: str) -> None:
    """They lag for good by then."""
    drive, node = begun("documents", text, EDITIONS["documents"][text].index("drop-writes") + 1)
    assert says(
        drive.refusal(f"cancel {node}").reason, "no longer get writes | too late to go back"
    )


def test_a_cancel_leaves_other_operations_in_flight_unchanged() -> None:
    """The rows that Y holds stay, and Y's join ends."""
    joins = ("bootstrap X --tokens 550", "bootstrap Y --tokens 850")
    drive = Drive(nodes=10, rf=3, cancels=1, operations=joins).act(*joins).commit("Y", 2)
    rows = {
        row.right: row
        for row in facts.rows(drive.model, drive.state)
        if row.locked_by == "bootstrap Y at 850"
    }
    drive.act("cancel X")
    after = {row.right: row for row in facts.rows(drive.model, drive.state)}
    assert rows
    assert all(after[right] == row for right, row in rows.items())
    drive.finish("Y")
    assert drive.stable()


@pytest.mark.parametrize(("edition", "text"), SEQUENCES)
def test_the_diagrams_cancel_edges_leave_the_states_that_can_be_cancelled(
    edition: str, text: str
) -> None:
    """Neither an edge nor a state is missing."""
    kind = text.split(maxsplit=1)[0]
    table = transitions(kind, edition)  # type: ignore[arg-type]  # plain texts of the parameters
    edges = {start for start, event, _ in table if event in ("cancel", "cancel-reads")}
    possible = set()
    drive = Drive(nodes=5, edition=edition, cancels=1, operations=(text,)).act(text)
    node = drive.operation().node
    while drive.metadata.sequence(node) is not None:
        if f"cancel {node}" in drive.verbs():
            possible.add(drive.operation().state)
        drive.commit(node)
    assert possible == edges
