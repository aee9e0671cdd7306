"""The drill of the topology upgrade: the procedure typed, mistakes, bad lines, what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from kit.console.drill import Drill, open_drill
from kit.masks import nodes_in
from kit.model.flows import token_of
from kit.operators.importers.nodetool import parse_status_text
from kit.operators.importers.system_tables import parse_topology
from kit.protocols.upgrade.drill.raft_upgrade import host
from kit.protocols.upgrade.rules import NOT_UPGRADED, ROUTE
from kit.widgets import DrillBoard
from tests.drills import errors, failed, printed, replayed, typed
from tests.examples import examples
from tests.widgets.drilling import DrillDesk

NAME = "topology_upgrade/topology-into-raft"
POST, GET = f"POST {ROUTE}", f"GET {ROUTE}"
WATCH = [line for name in "ABC" for line in (f"on {name}", GET)]
FITS = """() => {
  const slot = document.querySelector(".kp-picture").getBoundingClientRect();
  return document.querySelector(".kp-picture svg").getBoundingClientRect().right <= slot.right;
}"""
WHOLE = ["upgrade A", POST, *["wait"] * 7, *WATCH]


def walked(*lines: str, name: str = NAME) -> Drill:
    """A drill in which these lines were typed."""
    return typed(name, *lines)


@pytest.mark.spec("D-065")
def test_the_topology_upgrade_typed_as_documented_passes() -> None:
    """The last node is upgraded, POST starts the upgrade, and GET answers done in the end."""
    drill = walked("upgrade A", POST, GET)
    assert printed(drill) == "build_coordinator_state"
    drill = walked(*WHOLE)
    assert errors(drill) == []
    assert printed(drill) == "done"
    assert failed(drill) == {}
    assert all(step.done for step in drill.checklist())
    told = {row.name: row.why for row in drill.grade().rows}
    assert told["steps"] == "2 by the operator, and the procedure needs 2"


def test_post_is_refused_for_an_older_node_for_a_join_and_twice() -> None:
    """Each time with the model's reason."""
    drill = walked(POST, "upgrade A", "start D", POST, "wait", POST, POST)
    old, joining, twice = errors(drill)
    assert old.endswith("not every node is upgraded (A)")
    assert joining == "a topology operation is running (D)"
    assert twice.endswith("upgrade_state is build_coordinator_state")
    assert not drill.grade().passed


@pytest.mark.spec("D-068")
def test_a_join_requested_during_the_build_waits_until_done() -> None:
    """D's row has a request and no state; in the end four rows are there."""
    drill = walked("upgrade A", POST, "start D", "on D", "nodetool status")
    assert host(3).host_id not in printed(drill)
    assert failed(drill)["upgrade done"].endswith("D: queued")
    drill.enter("on A")
    drill.enter("SELECT node_state, topology_request FROM system.topology")
    assert drill.transcript[-1].lines[2].split() == ["none", "|", "join"]
    while not drill.enter("wait").error:
        pass
    drill.enter("SELECT * FROM system.topology")
    assert printed(drill).endswith("(4 rows)")
    assert failed(drill) == {}


def test_the_upgrade_ends_under_another_leader_when_its_first_crashes() -> None:
    """The node that crashed is done once it is started again."""
    drill = walked("upgrade A", POST, "wait", "happen crash A", GET)
    assert errors(drill) == ["A: connection refused, the server is down"]
    while not drill.enter("wait").error:
        pass
    assert failed(drill) == {"upgrade done": "A: down"}
    for line in ("start A", "wait"):
        drill.enter(line)
    assert failed(drill) == {}
    looked = {step.name: step.done for step in drill.checklist()}
    assert (looked["post"], looked["watch"]) == (True, False)


STORIES: list[tuple[str, list[str], list[str], set[str], str]] = [
    (
        "joined-in-the-old-way",
        [POST],
        ["a topology operation is running (C)"],
        {"upgrade done"},
        "post",
    ),
    ("joined-in-the-old-way", ["wait", POST], [], {"upgrade done"}, "watch"),
    ("joined-in-the-old-way", ["wait", POST, *["wait"] * 7, *WATCH], [], set(), ""),
    ("coordinator-dies-halfway", [], [], {"upgrade done"}, "start"),
    ("coordinator-dies-halfway", ["start A"], [], {"upgrade done"}, "watch"),
    ("coordinator-dies-halfway", ["start A", *["wait"] * 6, *WATCH], [], set(), ""),
]
"""The story, what is typed; what is refused, what does not hold, what comes next."""


@pytest.mark.parametrize(("story", "lines", "refused", "wrong", "then"), STORIES)
def test_the_drill_of_a_story_grades_and_hints_by_its_own_steps(
    story: str, lines: list[str], refused: list[str], wrong: set[str], then: str
) -> None:
    """Each row: the story, the lines typed, errors, checks that fail, and the step of the hint."""
    drill = walked(*lines, name=f"topology_upgrade/{story}")
    assert errors(drill) == refused
    assert set(failed(drill)) == wrong
    assert drill.enter("hint").lines[0].startswith(f"next, {then}: " if then else "every step")


def test_steps_before_a_drill_begins_are_not_counted() -> None:
    """POST came before; only the start of A counts."""
    for lines, used in (([], 0), (["start A"], 1)):
        rows = walked(*lines, name="topology_upgrade/coordinator-dies-halfway").grade().rows
        [why] = [row.why for row in rows if row.name == "steps"]
        assert why == f"{used} by the operator, and the procedure needs 1"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["systemctl restart scylla-server"], "A comes back"),
        (["stop B", "on B", "systemctl start scylla-server"], "B comes back"),
        (["start D", "restart D"], "D hears that the cluster is not upgraded"),
    ],
)
def test_a_member_comes_back_and_a_joiner_starts_anew(lines: list[str], said: str) -> None:
    """By systemctl, or by the drill's own words."""
    drill = walked("upgrade A", *lines)
    assert errors(drill) == []
    assert any(each.startswith(said) for each in drill.transcript[-1].said)


def test_wait_is_refused_with_its_reason_when_nothing_can_happen() -> None:
    """At rest, and without a majority."""
    assert errors(walked("wait")) == ["nothing more happens on its own"]
    drill = walked("upgrade A", POST, "happen crash A", "happen crash B", "wait")
    assert errors(drill) == ["group 0 has no leader with a majority"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reboot", "command: got 'reboot'; allowed: a command of this drill"),
        ("POST", "POST: got 'nothing'; allowed: one of /storage_service"),
        ("GET /storage_service", "GET: got '/storage_service'"),
        ("upgrade Z", "upgrade: got 'Z'; allowed: a node: one of A, B, C, D"),
        ("upgrade B", "B has the newer version"),
        ("start A", "A is already up"),
        ("on D", "D is not a node in the cluster yet: start it"),
        ("happen crash D", "happen: got 'crash D'; allowed: crash A, crash B, crash C"),
        ("restart Z", "restart: got 'Z'"),
        ("stop D", "D is already down"),
        ("journalctl -u scylla-server", "not modelled here: this model does not include what"),
        ("SELECT * FROM system.tablets", "got 'system.tablets'"),
        ('{"nodes": []}', "command: got"),
    ],
)
def test_a_bad_line_gets_a_one_line_error_and_changes_nothing(line: str, said: str) -> None:
    """Unknown commands, half commands, wrong names and a pasted dump."""
    drill = walked("upgrade A", line)
    entry = drill.transcript[-1]
    assert said in entry.error
    assert "\n" not in entry.error
    assert drill.timeline.at == drill.transcript[0].moment


@examples(30)
@given(st.lists(st.integers(0, 99), max_size=30))
def test_status_and_table_print_what_is_so_after_any_run(choices: list[int]) -> None:
    """The importers read who is up, and each committed row with its state, request and tokens."""
    drill = open_drill(NAME)
    timeline = drill.timeline
    for choice in choices:
        actions = list(timeline.model.actions(timeline.state))
        timeline.do(actions[choice % len(actions)])
    s = timeline.state
    there = [i for i, node in enumerate(s.nodes) if node.is_up and node.standing == "normal"]
    if not there:
        return
    drill.enter(f"on {'ABCD'[there[0]]}")
    drill.enter("nodetool status")
    seen = parse_status_text(printed(drill), "nodetool status").nodes
    assert {(each.host_id, each.health, each.state) for each in seen} == {
        (host(i).host_id, "up" if node.is_up else "down", node.standing)
        for i, node in enumerate(s.nodes)
        if node.standing in ("normal", "joining")
    }
    drill.enter("SELECT JSON * FROM system.topology")
    queued = s.where(lambda node: node.standing == "queued")
    rows = s.rows | queued if s.nodes[there[0]].view != NOT_UPGRADED else 0
    if not rows:  # a partition that has static cells, or none at all
        begun = s.nodes[there[0]].view != NOT_UPGRADED
        assert printed(drill).endswith(f"({int(begun)} rows)")
        assert ('"host_id": null' in printed(drill)) is begun
        return
    table = parse_topology(printed(drill), "terminal")
    assert {
        row["host_id"]: (row["node_state"], row["topology_request"], row["tokens"])
        for row in table.rows
    } == {
        host(i).host_id: ("none", "join", None)
        if queued >> i & 1
        else ("normal", None, (int(token_of(i)),))
        for i in nodes_in(rows)
    }
    assert table.statics["upgrade_state"] == s.nodes[there[0]].view


def test_a_replayed_run_gets_the_same_grade() -> None:
    """In all rows but the last, which says what the operator looked at."""
    drill = walked("upgrade A", POST, "wait", "happen crash B", "nonsense")
    assert replayed(drill, NAME).grade().rows[:-1] == drill.grade().rows[:-1]


@pytest.mark.browser
def test_the_drill_passes_when_typed_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """The picture fits beside the terminal, and the page has no error."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    desk = DrillDesk(context.new_page(), DrillBoard(NAME), tmp_path)
    desk.into_the_field()
    for line in WHOLE:
        desk.type(line)
    assert desk.board.grade().passed
    assert "upgrade_state is done" in desk.output()
    assert desk.page.evaluate(FITS), "the picture is cut off beside the terminal"
    assert not desk.errors
    context.close()


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        (f"curl -X POST http://localhost:10000{ROUTE}", POST),
        (f'curl -X POST "http://localhost:10000{ROUTE}"', POST),
        (f"curl -X GET http://localhost:10000{ROUTE}", GET),
        (f"curl http://localhost:10000{ROUTE}", GET),
        (f"curl 'http://localhost:10000{ROUTE}'", GET),
    ],
)
def test_curl_does_what_post_and_get_do(typed: str, same: str) -> None:
    """The same answer and the same state."""
    one, other = walked("upgrade A", typed), walked("upgrade A", same)
    assert one.transcript[-1].error == ""
    assert one.transcript[-1].lines == other.transcript[-1].lines
    assert one.timeline.state == other.timeline.state
