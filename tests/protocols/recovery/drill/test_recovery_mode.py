"""The drill by RECOVERY mode: the whole procedure, wrong walks, what is printed."""

from __future__ import annotations

import pytest

from kit.operators.importers.nodetool import parse_status_text
from tests.drills import errors, failed
from tests.protocols.recovery.drill.walks import (
    CHECK,
    COMPARE,
    DEAD,
    ENTER,
    GROUP,
    ISOLATE,
    LEAVE,
    MODE_WALK,
    TRUNCATE,
    host,
    removal,
    walked,
)
from tests.protocols.recovery.drill.wrong_walks import IN_MODE, MODE_WRONG, NOT_WHOLE

STATE = "group0_upgrade_state"
BACK = [f"happen return {name}" for name in DEAD]


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


@pytest.mark.parametrize(
    ("without", "missed"),
    [(ISOLATE, "isolate"), (CHECK, "check mode"), (COMPARE, "compare")],
)
def test_what_was_left_out_is_told_as_too_late(without: list[str], missed: str) -> None:
    """Once the cluster is whole no step is the next one: to do it would be to begin again."""
    drill = walked(
        "mode", *(line for line in MODE_WALK if line not in without or line in "on A on B")
    )
    assert drill.grade().passed
    [left] = [step for step in drill.checklist() if not step.done]
    assert (left.name, left.missed) == (missed, True)
    assert drill.enter("hint").lines[0].endswith(f"too late for {missed}")


def test_who_comes_back_is_not_stopped_or_started() -> None:
    """Its server runs, so it is not told that there is none."""
    drill = walked("mode", "happen return C", "stop C", "start D")
    back, dead = errors(drill)
    assert back == "not modelled here: stops and starts of C, which was given up"
    assert dead == "D is dead: there is no server to stop or start"


def test_versions_are_compared_in_their_place() -> None:
    """What was equal before the procedure ticks nothing; what is equal in RECOVERY mode does."""

    def ticked(*lines: str) -> bool:
        steps = walked("mode", *lines).checklist()
        return {step.name: step.done for step in steps}["compare"]

    in_mode = MODE_WALK[: MODE_WALK.index(removal(*DEAD)[0])]
    assert not ticked(*COMPARE)
    assert not ticked(*COMPARE, *in_mode)
    assert ticked(*COMPARE, *in_mode, *COMPARE)
    assert ticked(*in_mode, *COMPARE)


@pytest.mark.parametrize("name", MODE_WRONG)
def test_a_wrong_walk_is_graded_as_the_model_says(name: str) -> None:
    """The mistake plays out or is refused; the grade says what the cluster lacks then."""
    wrong = MODE_WRONG[name]
    drill = walked("mode", *wrong.lines)
    assert failed(drill)[NOT_WHOLE] == wrong.failed[NOT_WHOLE]
    said = errors(drill)
    assert (said[-1] if said else "") == wrong.refused


def test_the_dead_return_into_a_cluster_that_is_not_cut_off() -> None:
    """They run in the old group and reach the new one."""
    lines = [line for line in MODE_WALK if line not in ISOLATE]
    drill = walked("mode", *lines[: lines.index(removal(*DEAD)[0])], *BACK)
    assert "alive" in drill.enter(removal(*DEAD)[0]).error
    kept_out = walked("mode", *MODE_WALK[: MODE_WALK.index(removal(*DEAD)[0])], *BACK)
    assert not kept_out.enter(removal(*DEAD)[0]).error


def test_a_value_that_is_mistyped_is_taken_for_recovery() -> None:
    """It is written as it is typed, and shown; values of the server are typed by nobody."""
    line = "UPDATE system.scylla_local SET value = 'recovry' WHERE key = 'group0_upgrade_state';"
    drill = walked("mode", line)
    assert not errors(drill)
    shown = "SELECT value FROM system.scylla_local WHERE key = 'group0_upgrade_state';"
    assert drill.enter(shown).lines[2] == " recovry"
    drill.enter(line.replace("recovry", "recover"))
    assert drill.enter(shown).lines[2] == " recover"
    drill.enter(line.replace("recovry", "synchronize"))
    assert errors(drill)[-1].startswith("synchronize is written only by the server")


SETS = "UPDATE system.scylla_local SET value = {} WHERE key = 'group0_upgrade_state'"
LOCAL = "INSERT INTO system.scylla_local"
REMOVES = f"nodetool removenode --ignore-dead-nodes {host('D')},{host('E')} {host('C')}"


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


def test_an_option_may_stand_before_the_node() -> None:
    """As the manual on removenode has it."""
    drill = walked("mode", *IN_MODE, REMOVES)
    assert not errors(drill)
    assert drill.timeline.state.nodes[2].standing == "removed"


def test_a_log_has_the_value_that_the_table_had() -> None:
    """Each start tells what was typed last before it, on its own node."""
    typed = ["recovry", "RECOVERY", "unknown", "recovery", "re covery"]
    starts = [
        each for value in typed for each in (ENTER[1].replace("recovery", value), "restart A")
    ]
    other = ["on B", ENTER[1].replace("recovery", "none"), "on A"]
    drill = walked("mode", *starts[:1], *other, *starts[:1], *starts[1:], "cat /var/log/scylla.log")
    assert not errors(drill)
    lines = [line for line in drill.transcript[-1].lines if f"; {STATE}: " in line]
    assert [line.partition(f"{STATE}: ")[2].removesuffix(OWN) for line in lines] == typed


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


def test_a_statement_that_changes_nothing_says_nothing() -> None:
    """As cqlsh does; no verb of the model is told, which nobody typed."""
    for line in (*TRUNCATE[1:4], ENTER[1], LEAVE[1]):
        drill = walked("mode", ENTER[1], line)
        moments = len(drill.timeline.moments)
        again = drill.enter(line)
        assert (again.error, again.said, len(drill.timeline.moments)) == ("", (), moments)
    [said] = errors(walked("mode", LEAVE[1]))
    assert said.startswith("group0_upgrade_state is use_post_raft_procedures on A: the server")


@pytest.mark.parametrize("kind", ["mode", "documents"])
def test_a_firewall_may_be_built_address_by_address(kind: str) -> None:
    """It is told who could still come back; the last address makes the model's step."""
    first, _, rest = ISOLATE[0].partition(", ")
    drill = walked(kind, first)
    assert drill.transcript[-1].lines == ("not blocked yet: 10.0.0.14, 10.0.0.15",)
    assert not drill.timeline.state.isolated
    drill.enter(f"firewall drop {rest}")
    assert drill.timeline.state.isolated
    moments = len(drill.timeline.moments)
    again = drill.enter(ISOLATE[0])
    assert again.lines == ("(nothing changed: this was already the case)",)
    assert not again.error
    assert len(drill.timeline.moments) == moments


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


def test_letters_may_be_large_or_small_but_within_quotes() -> None:
    """As in CQL: names in any case; a value or a key in quotes is read letter by letter."""
    drill = walked("mode", "ON b", "SELECT * FROM SYSTEM.Discovery", ENTER[1].replace("UPD", "upd"))
    assert errors(drill) == []
    assert drill.place == "B"
    shown = "SELECT value FROM system.scylla_local WHERE key = 'group0_upgrade_state';"
    drill.enter(ENTER[1].replace("'recovery'", "'RECOVERY'"))
    assert drill.enter(shown).lines[2] == " RECOVERY"
    for key in ("'GROUP0_UPGRADE_STATE'", "group0_upgrade_state"):
        wrong = drill.enter(LEAVE[1].replace("'group0_upgrade_state'", key)).error
        assert "allowed: one of 'group0_upgrade_state'" in wrong
