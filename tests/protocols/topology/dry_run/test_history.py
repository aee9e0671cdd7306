"""A coordinator's journal as a history of states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.protocols.topology.dry_run.history import topology_history
from tests.commands.calling import call
from tests.protocols.topology.dry_run.dumps import FIXTURES

LOGS = (FIXTURES / "journal-a.log", FIXTURES / "journal-b.log")


def test_two_coordinators_one_history() -> None:
    """Another coordinator enters the state once more and goes on from it."""
    passages = topology_history(LOGS)
    assert [(p.host, p.state, p.edge) for p in passages] == [
        ("node-a", "", ""),
        ("node-a", "join_group0", ""),
        ("node-a", "commit_cdc_generation", "happy"),
        ("node-a", "write_both_read_old", "happy"),
        ("node-b", "", ""),
        ("node-b", "write_both_read_old", "again"),
        ("node-b", "write_both_read_new", "happy"),
    ]
    assert passages[1].seconds == 0.9
    assert passages[-1].seconds == 0.9  # up to the end of the join
    assert "advance fence version to 14" in passages[3].said
    assert passages[2].said[0].startswith("barrier to all nodes without 00000001-")


@pytest.mark.parametrize(
    ("last", "state", "begins"),
    [
        ("bootstrap: read fence completed", "write both read new", True),
        ("replace: read fence completed", "write both read new", True),
        ("removenode: read fence completed", "write both read new", True),
        ("remove: read fence completed", "write both read new", True),
        ("finished decommissioning node 00000001", "left token ring", True),
        ("Finished tablet migration", "tablet migration", True),
        ("decommission: read fence completed", "write both read new", False),
    ],
)
def test_idle_time_belongs_to_no_state(last: str, state: str, begins: bool, tmp_path: Path) -> None:
    """The line that ends an operation ends the stay; what comes hours later is another's."""
    lines = (
        f"10:00:00 n1 scylla[1]: raft_topology - entered `{state}` transition state",
        f"10:00:02 n1 scylla[1]: raft_topology - updating topology state: {last}",
        "13:00:00 n1 scylla[1]: raft_topology - updating topology state: start rebuilding",
        "13:00:05 n1 scylla[1]: raft_topology - entered `join group0` transition state",
    )
    path = tmp_path / "journal.log"
    path.write_text("".join(f"Feb 01 {line}\n" for line in lines), "utf-8")
    told = [(p.place, p.seconds, p.said) for p in topology_history(path)]
    name = state.replace(" ", "_")
    if begins:
        assert told[:2] == [
            (name, 2.0, (last,)),
            ("no transition state", 5.0, ("start rebuilding",)),
        ]
    else:
        assert told[0] == (name, 10805.0, (last, "start rebuilding"))


@pytest.mark.parametrize(
    ("states", "edge"),
    [
        (("write both read old", "left token ring"), "rollback"),
        (("write both read new", "join group0"), "begins"),
        (("tablet migration", "tablet resize finalization"), "begins"),
        (("write both read old", "snapshot tables"), "not modelled"),
        (("join group0", "write both read new"), "unknown"),
        (("join group0", "something else"), "unknown"),
        # No operation is over in these states, so none can begin.
        (("write both read old", "join group0"), "unknown"),
        (("rollback to normal", "join group0"), "unknown"),
    ],
)
def test_each_edge_is_looked_up(states: tuple[str, str], edge: str, tmp_path: Path) -> None:
    """How a state was come to is told by the transition tables."""
    lines = [
        f"Feb 01 10:00:0{at} n1 scylla[1]: raft_topology - entered `{state}` transition state"
        for at, state in enumerate(states)
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines), "utf-8")
    assert topology_history(log)[-1].edge == edge


@pytest.mark.parametrize("quoted", ["`{}`", "'{}'", '"{}"', "{}"])
@pytest.mark.parametrize("state", ["write both read old", "write_both_read_old"])
def test_states_are_read_however_they_are_quoted(quoted: str, state: str, tmp_path: Path) -> None:
    """Both spellings, with and without quotes."""
    line = f"raft_topology - entered {quoted.format(state)} transition state"
    log = tmp_path / "log"
    log.write_text(f"Feb 01 10:00:00 n1 scylla[1]: {line}", "utf-8")
    assert [stay.state for stay in topology_history(log)] == ["write_both_read_old"]


CASES = Path(__file__).parents[1] / "published" / "journals.txt"
CASE = re.compile(r"== (.*)\n((?s:.*?))-- topology (\d)\n((?s:.*?))-- explain (\d)\n(.*)")


@pytest.mark.parametrize("case", CASE.findall(CASES.read_text("utf-8")), ids=lambda case: case[0])
def test_what_failed_stands_in_the_history(case: tuple[str, ...], tmp_path: Path) -> None:
    """At its place, counted where it is left out; ``explain`` leaves no failure explained."""
    _, lines, status, shown, verdict, sentence = case
    log = tmp_path / "journal.log"
    log.write_text(lines, "utf-8")
    history = call("topology", str(log))
    assert (str(history.status), history.out) == (status, shown)
    answer = call("explain", str(log))
    assert str(answer.status) == verdict
    assert sentence in " ".join((answer.out + answer.err).split())
