"""Only operators cancel, by a command each: at every step of every operation, in both editions."""

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
from kit.widgets.magics import nodetool

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
def test_an_operator_undoes_each_operation_at_each_step(kind: str, edition: str) -> None:
    """Its command is an event of the log, and at the end all is as it was before; once the old
    writers are gone it is refused.
    """
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
        assert owners(twin, tokens) == before
        assert all(verdict.ok for verdict in twin.verdicts())
        done.add(epochs)
    assert len(done) >= 2
    assert not done & refused


@pytest.mark.spec("B-060")
def test_a_cell_cancels_and_the_log_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The command's cell says what it does, and the next one shows the event in the log."""
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
def test_a_command_undoes_what_it_names_and_nothing_else(line: str, reason: str) -> None:
    """Another operation of the node, or another node, is told in one line, and nothing changes."""
    timeline = Timeline(build("tcm", {"cancels": 1}, ()))
    timeline.forward()
    with pytest.raises(Refused, match=reason):
        command(timeline, line, "A")
    assert timeline.at == 1
