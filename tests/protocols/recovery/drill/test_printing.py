"""What the terminal prints is what the importers of real tools' output read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.drill import Drill, open_drill
from kit.operators.importers.dumps import parse_json_rows
from kit.operators.importers.nodetool import parse_status_text
from kit.operators.importers.system_tables import parse_topology
from kit.protocols.recovery import recovery_mode as log_lines
from kit.protocols.recovery.drill.recovery import all_machines, commit_index, raft_groups
from kit.protocols.recovery.lost_majority import NO_GROUP, group_uuid
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.protocols.recovery.recovery import Recovery
from tests.examples import examples
from tests.protocols.recovery.drill.walks import (
    DELETE,
    DRILL,
    ISOLATE,
    READ,
    WHOLE,
    host,
    lead,
    walked,
)

STEPS = st.lists(st.integers(0, 99), max_size=30)


def wandered(edition: str, choices: list[int]) -> Drill:
    """A drill after these steps of its model, each one of those that are enabled."""
    drill = open_drill(DRILL[edition])
    timeline = drill.timeline
    for choice in choices:
        actions = list(timeline.model.actions(timeline.state))
        timeline.do(actions[choice % len(actions)])
    return drill


def printed(drill: Drill, line: str) -> str:
    """What a line prints on the first machine whose server is up; empty where none is."""
    model = drill.timeline.model
    up = [name for name in model.names if node(drill, name).status in ("up", "returned")]
    if not up:
        return ""
    drill.enter(f"on {up[0]}")
    entry = drill.enter(line)
    assert not entry.error
    return "\n".join(entry.lines)


def node(drill: Drill, name: str) -> Any:
    """A node of the state."""
    return drill.timeline.state.nodes[drill.timeline.model.names.index(name)]


@pytest.mark.parametrize("edition", WHOLE)
@examples(30)
@given(choices=STEPS)
def test_status_is_read_back(edition: str, choices: list[int]) -> None:
    """Every node that is not removed, where it stands, and whether this node takes its gossip."""
    drill = wandered(edition, choices)
    text = printed(drill, "nodetool status")
    if not text:
        return
    model, state = drill.timeline.model, drill.timeline.state
    here = model.names.index(drill.place)
    heard = {here} | {i for pair in state.talking(model.edition) if here in pair for i in pair}
    listing = parse_status_text(text, "nodetool status")
    there = [each[-1][1] for each in all_machines(model, drill.now.run)]
    assert {
        seen.name: (seen.host_id, seen.dc, seen.rack, seen.health) for seen in listing.nodes
    } == {
        each.address: (each.host_id, each.dc, each.rack, "up" if at in heard else "down")
        for at, each in enumerate(there)
        if state.nodes[at].status != "removed"
    }


def _row_state(m: Recovery, s: RecoveryState, at: int) -> str:
    """The first of the dead was leaving, until that has ended."""
    if s.nodes[at].status == "removed":
        return "left"
    return "decommissioning" if s.is_under_way and m.names[at] == m.given_up[0] else "normal"


@pytest.mark.parametrize("edition", WHOLE)
@examples(30)
@given(choices=STEPS)
def test_tables_are_read_back(edition: str, choices: list[int]) -> None:
    """Group ids, commit indexes and who is a member, by the readers of dumps."""
    drill = wandered(edition, choices)
    text = printed(drill, "SELECT JSON * FROM system.topology;")
    if not text:
        return
    now = drill.now
    states = {row["host_id"]: row["node_state"] for row in parse_topology(text, "dump").rows}
    assert states == {
        host.host_id: _row_state(now.model, now.state, at) if host is each[-1][1] else "left"
        for at, each in enumerate(all_machines(now.model, now.run))
        for _, host in each
    }
    number = now.model.names.index(drill.place)
    raft = parse_json_rows(printed(drill, "SELECT JSON * FROM system.raft;"), "dump")
    assert {row["group_id"]: row["commit_idx"] for _, row in raft} == {
        group_uuid(group): commit_index(now, number, group)
        for group in raft_groups(now, number, "raft")
    }
    local = parse_json_rows(printed(drill, "SELECT JSON * FROM system.scylla_local"), "dump")
    at = now.state.nodes[number].group_id
    values = {row["key"]: row["value"] for _, row in local}
    assert values["raft_group0_id"] == (None if at == NO_GROUP else group_uuid(at))


def test_a_server_that_is_down_answers_nothing() -> None:
    """Nodetool and cqlsh are refused; the file can still be read."""
    drill = walked("documents", "stop A", "nodetool status", "SELECT * FROM system.raft")
    errors = [entry.error for entry in drill.transcript]
    assert errors[1] == "nodetool on A: connection refused, the server is down"
    assert errors[2] == "cqlsh on A: connection refused, the server is down"
    assert not drill.enter("cat /etc/scylla/scylla.yaml").error


@pytest.mark.spec("G-029")
def test_the_lines_that_the_manual_looks_for_are_in_the_log() -> None:
    """Each restarted server names the leader and the new group; found, it is seen."""
    begun = [*ISOLATE, *READ, *DELETE, *lead(), "restart B", "restart A"]
    manual = "grep 'Raft-based recovery procedure' /var/log/scylla.log"
    drill = walked("server", *begun, "on A", manual, "on B", manual)
    led = f"Performing Raft-based recovery procedure with recovery leader {host('B')}/10.0.0.12"
    found = f"Raft-based recovery procedure - found group 0 with ID {group_uuid(1)}"
    for entry in (drill.transcript[-3], drill.transcript[-1]):
        assert entry.lines == (f"storage_service - {led}", f"storage_service - {found}")
    assert {step.name: step.done for step in drill.checklist()}["check"]
    assert not walked("documents", *begun, manual).transcript[-1].lines


def test_a_replaced_machine_stays_in_its_old_group_and_as_left() -> None:
    """The newcomer is a member of the new group alone, with a row beside that of the dead node."""
    c, d, e = map(host, "CDE")
    replacing = f"new-node --replace-node-first-boot {e} --ignore-dead-nodes-for-replace {c}, {d}"
    begun = [*ISOLATE, *READ, *DELETE, *lead(), "restart B", "restart A", replacing, "on A"]
    drill = walked("server", *begun, "SELECT JSON * FROM system.raft_snapshot_config")
    members: dict[str, list[str]] = {}
    for _, row in parse_json_rows("\n".join(drill.transcript[-1].lines), "dump"):
        members.setdefault(row["group_id"], []).append(row["server_id"])
    fresh = "00000072-0000-4000-8000-000000000072"
    assert members == {
        group_uuid(0): [host(name) for name in "ABCDE"],
        group_uuid(1): [host("A"), host("B"), fresh],
    }
    table = parse_topology(printed(drill, "SELECT JSON * FROM system.topology"), "dump")
    rows = {row["host_id"]: (row["node_state"], row["tokens"]) for row in table.rows}
    assert rows[e] == ("left", None)
    assert rows[fresh] == ("normal", (500,))
    assert [*rows] == sorted(rows)


OWN = {
    "waits until every node is ready to start",
    "waits until every peer has joined",
    "every peer is a member of group 0",
    "waits for equal schema in group 0",
    "schema changes are off; if a failure stops the upgrade, it may take manual recovery",
    "waits until all peers are in synchronize",
    "another member has finished the upgrade",
}
PHASES = (
    *("RECOVERY", "UPGRADE_BEGINS", "GOES_ON", "JOINED", "SYNCHRONIZE"),
    *("FINISHED", "FOLLOWS"),
)


@pytest.mark.parametrize("phase", PHASES)
def test_own_words_are_marked_as_such(phase: str) -> None:
    """And no line keeps a gap: its group and version are filled in."""
    for line in getattr(log_lines, phase):
        assert line.own is (line.text in OWN), line.text
        said = line.text.format(group_id="the-group", version="the-version", matching=2)
        assert ("the-group" in said) is ("{group_id}" in line.text)
        assert ("the-version" in said) is ("{version}" in line.text)
        assert "{" not in said.replace("{}", "")
