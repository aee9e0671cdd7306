"""The drill by RECOVERY mode: the whole procedure, wrong walks, what is printed."""

from __future__ import annotations

import pytest

from kit.console.drill import open_drill
from kit.operators.importers.nodetool import parse_status_text
from kit.views.fragment import h
from kit.views.transcript import command_buttons
from tests.drills import errors, failed
from tests.protocols.recovery.drill.walks import (
    COMPARE,
    DEAD,
    DELETE,
    DRILL,
    ENTER,
    GROUP,
    ISOLATE,
    LEAVE,
    MODE_WALK,
    READ,
    RESTARTS,
    host,
    lead,
    removal,
    walked,
)
from tests.protocols.recovery.drill.wrong_walks import IN_MODE, MODE_WRONG, NOT_WHOLE


def test_the_whole_procedure_passes() -> None:
    """Each of the documents' steps is ticked, and nothing was refused."""
    drill = walked("mode", *MODE_WALK)
    assert errors(drill) == []
    assert failed(drill) == {}
    assert [step.name for step in drill.checklist() if not step.done] == []


def test_before_anything_is_done_nothing_is_ticked() -> None:
    """The checklist is the run's, not what was typed."""
    drill = walked("mode", "help", "nodetool status")
    assert [step.name for step in drill.checklist() if step.done] == []


@pytest.mark.parametrize("name", MODE_WRONG)
def test_a_wrong_walk_is_graded_as_the_model_says(name: str) -> None:
    """The mistake plays out or is refused; the grade says what the cluster lacks then."""
    wrong = MODE_WRONG[name]
    drill = walked("mode", *wrong.lines)
    assert failed(drill)[NOT_WHOLE] == wrong.failed[NOT_WHOLE]
    said = errors(drill)
    assert (said[-1] if said else "") == wrong.refused


SETS = "UPDATE system.scylla_local SET value = {} WHERE key = 'group0_upgrade_state'"
LOCAL = "INSERT INTO system.scylla_local"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"{LOCAL} (key, value) VALUES ('group0_upgrade_state', 'recovery')", "recovery"),
        (f"{LOCAL}(value,key) VALUES('recovery','group0_upgrade_state');", "recovery"),
        (SETS.format("''"), "unknown"),
        (SETS.format('"recovery"'), "use_post_raft_procedures"),
        (SETS.format("7"), "use_post_raft_procedures"),
    ],
)
def test_a_statement_is_taken_as_the_server_takes_it(line: str, value: str) -> None:
    """Columns in any order, a text that may be empty; a number and a name are no texts."""
    drill = walked("mode", line)
    assert drill.timeline.state.nodes[0].value == value
    assert bool(errors(drill)) == (value == "use_post_raft_procedures")


def test_what_is_printed_is_read_back() -> None:
    """Nodetool status by its importer; the tables tell what is left of the old group."""
    drill = walked("mode", *IN_MODE, removal(*DEAD)[0], "nodetool status")
    listing = parse_status_text("\n".join(drill.transcript[-1].lines), "status")
    health = {seen.host_id: seen.health for seen in listing.nodes}
    assert health == {host("A"): "up", host("B"): "up", host("D"): "down", host("E"): "down"}
    drill.enter("on A")
    local = drill.enter("SELECT * FROM system.scylla_local;").lines
    assert f"       raft_group0_id | {GROUP}" in local
    assert f" group0_upgrade_state | {'recovery':>{len(GROUP)}}" in local
    assert drill.enter("SELECT * FROM system.discovery;").lines[-1] == "(5 rows)"
    drill.enter("TRUNCATE TABLE system.discovery;")
    assert drill.enter("SELECT * FROM system.discovery;").lines[-1] == "(0 rows)"
    history = drill.enter("SELECT * FROM system.group0_history;").lines
    assert history[-1] == "(1 rows)"
    one = drill.enter("SELECT value FROM system.scylla_local WHERE key = 'raft_group0_id'").lines
    assert one[-1] == "(1 rows)"
    versions = [line for line in drill.enter(COMPARE[0]).lines if "10.0.0.11" in line]
    assert versions == ["\t\t00000000-0000-0000-0000-00000000000b: [10.0.0.11, 10.0.0.12]"]


def test_tools_of_a_server_that_is_down_are_refused() -> None:
    """As are a login on a dead machine, and an event that cannot be."""
    drill = walked("mode", "stop A", "nodetool status", "SELECT * FROM system.discovery", "ssh C",
                   "happen return A", "start A", "start A")  # fmt: skip
    assert errors(drill) == [
        "nodetool on A: connection refused, the server is down",
        "cqlsh on A: connection refused, the server is down",
        "ssh: connect to host 10.0.0.13: no route to host",
        "happen: got 'return A'; allowed: crash B, die A, die B, return C, return D, return E",
        "A is already up: there is nothing to start",
    ]


@pytest.mark.spec("G-001")
def test_the_documents_query_shows_the_value() -> None:
    """As the manual on Raft has it, word by word; columns and JSON as in the other drill."""
    query = "SELECT * FROM system.scylla_local WHERE key = 'group0_upgrade_state';"
    drill = walked("mode")
    row = " group0_upgrade_state | use_post_raft_procedures"
    assert drill.enter(query).lines[2:] == (row, "", "(1 rows)")
    drill.enter(ENTER[1])
    assert drill.enter(query).lines[2] == " group0_upgrade_state | recovery"
    drill.enter(LEAVE[1])
    assert drill.enter(query).lines[-1] == "(0 rows)"
    text = drill.enter("SELECT JSON key, ip_addr FROM system.discovery").lines[2]
    assert text == ' {"key": "peers", "ip_addr": "10.0.0.11"}'
    wrong = drill.enter("SELECT ip_addr FROM system.scylla_local").error
    assert wrong == "column: got 'ip_addr'; allowed: * or key, value of system.scylla_local"


OWN = " (in the kit's own words)"
UPGRADE_LOG = [
    "features - Feature SUPPORTS_RAFT_CLUSTER_MANAGEMENT is enabled",
    "raft_group0 - Starting internal upgrade-to-raft procedure",
    "raft_group0_upgrade - starting in `use_pre_raft_procedures` state",
    OWN,
    "raft_group0_upgrade - Joining group 0",
    "raft_group0 - joined group 0 with group id 00000002-fe88-11f0-8001-000000000001",
    *(OWN, OWN, OWN),
    "raft_group0_upgrade - synchronize_schema: my version: ",
    "raft_group0_upgrade - synchronize_schema: schema mismatches: {}. 2 nodes had a matching",
    "raft_group0_upgrade - synchronize_schema: finished",
    "raft_group0_upgrade - Entering synchronize state",
    *(OWN, OWN),
    "raft_group0_upgrade - All peers in synchronize state",
    "raft_group0_upgrade - synchronize_schema: collecting schema versions",
    "raft_group0_upgrade - synchronize_schema: collected remote schema versions",
    "raft_group0_upgrade - synchronize_schema: my version: ",
    "raft_group0_upgrade - synchronize_schema: schema mismatches: {}. 2 nodes had a matching",
    "raft_group0_upgrade - synchronize_schema: finished",
    "raft_group0_upgrade - Schema synchronized",
    "raft_group0_upgrade - Raft upgrade finished",
]
"""The rows of the manual on Raft, in their order; its sentences are in words of the kit's own."""
AT_LAST = UPGRADE_LOG.index("raft_group0_upgrade - All peers in synchronize state")
FOLLOWING = [*UPGRADE_LOG[:AT_LAST], OWN, UPGRADE_LOG[-1]]


@pytest.mark.parametrize(("node", "rows"), [("A", UPGRADE_LOG), ("B", FOLLOWING)])
def test_the_upgrade_that_runs_again_is_in_each_log(node: str, rows: list[str]) -> None:
    """Every fragment of the documents, in order, with the id that the tables show. Who finds that
    another one has finished compares nothing more.
    """
    drill = walked("mode", *MODE_WALK, f"on {node}", "cat /var/log/scylla.log")
    lines = drill.transcript[-1].lines[-len(rows) :]
    for line, row in zip(lines, rows, strict=True):
        assert line.endswith(OWN) if row == OWN else line.startswith(row) and OWN not in line
    local = drill.enter("SELECT value FROM system.scylla_local WHERE key = 'raft_group0_id'").lines
    assert local[2].strip() in lines[5]


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
