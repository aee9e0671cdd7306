"""A group 0 in trouble: the table of its state, calls for its operations, maintenance mode."""

from __future__ import annotations

import pytest

from kit.console.drill import open_drill
from kit.views.fragment import h
from kit.views.transcript import command_buttons
from tests.drills import errors
from tests.protocols.recovery.drill.walks import (
    DELETE,
    DRILL,
    GROUP,
    ISOLATE,
    READ,
    RESTARTS,
    host,
    lead,
    removal,
    walked,
)

LEADER, BARRIER = "GET /raft/leader_host", "POST /raft/read_barrier"
STATE = "SELECT server_id, can_vote FROM system.raft_state;"
MAINTAINED = "start A --maintenance-mode"
WHOLE = [*ISOLATE, *READ, *DELETE, *lead(), *RESTARTS]


def test_the_table_has_the_members_of_the_group_that_a_node_runs_in() -> None:
    """The old group's five, the dead among them; then those of the new one."""
    rows = walked("documents", STATE).transcript[-1].lines
    assert [row.split()[0] for row in rows if host("A")[9:23] in row] == [host(n) for n in "ABCDE"]
    drill = walked("documents", *WHOLE, removal("C", "D", "E")[0], STATE)
    assert drill.transcript[-1].lines[-1] == "(2 rows)"


@pytest.mark.spec("G-039")
def test_three_ways_of_looking_at_a_group_in_trouble() -> None:
    """The table says who are members, a call that no majority answers, and a node that is started
    cut off from all others tells its commit index.
    """
    drill = walked("documents", STATE, LEADER, BARRIER, MAINTAINED, "SELECT * FROM system.raft;")
    state, leader, barrier, maintained, index = drill.transcript
    assert f" {host('C')} |     True" in state.lines
    said = "timed out: 2 of 5 members answered, 3 are needed"
    assert leader.error == f"raft/leader_host: {said}"
    assert barrier.error == f"raft/read_barrier: {said}"
    assert maintained.said == ("A goes down and keeps what it has persisted.",)
    assert f" {GROUP} |         10" in index.lines


def test_nobody_reaches_a_node_in_maintenance() -> None:
    """Others see it down, its tools are refused, nothing is changed there; it ends with a start."""
    drill = walked("documents", MAINTAINED, "nodetool status", *ISOLATE, *DELETE[1:3])
    assert errors(drill)[0] == "nodetool on A: connection refused, the server is down"
    assert errors(drill)[-1] == "cqlsh on A: connection refused, the server is down"
    drill.enter("on B")
    down = [line for line in drill.enter("nodetool status").lines if line.startswith("DN")]
    assert any(host("A") in line for line in down)
    drill.enter("start A")
    drill.enter("stop A")
    drill.enter("on A")
    assert drill.enter("SELECT * FROM system.raft;").error


REAL = {
    "nodetool",
    "select",
    "truncate",
    "delete",
    "update",
    "insert",
    "grep",
    "cat",
    "ssh",
    "systemctl",
}
REAL |= {"journalctl", "curl"}
ROUTES = {"get", "post"}  # the published server's


@pytest.mark.spec("G-039")
@pytest.mark.parametrize("name", DRILL.values())
def test_words_of_the_kit_are_marked_as_such(name: str) -> None:
    """Every form that begins with no tool's word says so, in help and beside its button."""
    drill = open_drill(name)
    shown = drill.enter("help").lines
    buttons = command_buttons(drill).html()
    for form in drill.grammar.forms:
        first = form.text.split()[0].casefold()
        assert form.own is (first not in REAL | ROUTES), form.text
        assert (f"{form.usage} – {form.meaning}" in shown) is not form.absent
        assert form.meaning.endswith("(own word)") is form.own
        assert not form.offered or h("p", form.meaning, class_="soft").html() in buttons
