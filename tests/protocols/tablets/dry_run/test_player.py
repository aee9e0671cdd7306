"""A dump as a Player: its first state, what is played on it, contents that cannot be."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.protocols.tablets.dry_run.what_if import balance
from kit.protocols.tablets.facts.tablets import grid
from kit.protocols.tablets.lessons.dumps import TabletRehearsal
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.topology.topology import RestartMember
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import FILES, described, edited, opened
from tests.saying import says

DUMP = FIXTURES / "tablets.csv"


def rehearsed(*operations: str, dump: Path = DUMP, **files: Path) -> TabletRehearsal:
    """The fixtures, or other files in their place, with what is to be done."""
    given: dict[str, Any] = {**FILES, **files}
    made = kit.rehearse(dump, operations, **given)
    assert isinstance(made, TabletRehearsal)
    return made


def everywhere(folder: Path, **columns: str) -> Path:
    """The topology with a state of its last node, and static columns the same in every row."""
    with FILES["topology"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    state = columns.pop("node_state", rows[-1]["node_state"])
    rows = [{**row, **columns} for row in rows]
    rows[-1]["node_state"] = state
    path = folder / "topology.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def joined_by(folder: Path, **columns: str) -> Path:
    """The topology with one more node, which has no tablets."""
    with FILES["topology"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    path = folder / "topology.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([*rows, {**rows[-1], "host_id": host(len(rows) + 1), **columns}])
    return path


@pytest.mark.parametrize(
    ("columns", "takes_part"),
    [
        ({"tokens": "{'9000'}"}, True),
        ({"tokens": ""}, False),
        ({"node_state": "none", "tokens": ""}, False),
    ],
    ids=("normal", "zero-token", "joining"),
)
def test_a_rehearsal_leaves_out_a_node_that_neither_has_nor_takes_tablets(
    columns: dict[str, str], takes_part: bool, tmp_path: Path
) -> None:
    """One line says so. A node that may get tablets is there."""
    made = rehearsed(topology=joined_by(tmp_path, **columns))
    m: Any = made.timeline.model
    assert (host(6)[:8] in m.names) == takes_part
    left = [line for line in made.warnings if line.startswith("left out because they neither")]
    assert left == ["left out because they neither have nor take tablets: 1 node"] * (
        not takes_part
    )


def settled(rehearsal: TabletRehearsal) -> list[Replicas]:
    """The replicas of each tablet once the transitions of the dump have ended."""
    rows = rehearsal.timeline.moments[0].state.tablets
    return [row.transitions[0].new if row.transitions else row.replicas for row in rows]


def played(rehearsal: TabletRehearsal, most: int = 400) -> Timeline:
    """The history once nothing is left to go on with; every promise holds at every step."""
    timeline = rehearsal.timeline
    for _ in range(most):
        if timeline.forward() is None:
            return timeline
        broken = [each for each in timeline.verdicts() if not each.ok]
        assert not broken, broken
    raise AssertionError(f"not at rest after {most} steps")


def test_the_first_state_of_a_tablet_rehearsal_is_the_dump() -> None:
    """Every replica is on its shard, by the names of tables."""
    rehearsal = rehearsed()
    s, m = rehearsal.timeline.state, rehearsal.timeline.model
    shown = {(each.table, each.number): each.replicas for each in grid(m, s).tablets}
    bases = {name: table for name, table in opened().maps.items() if not table.base_table}
    wanted = {
        (name, number): tuple((place.host[:8], place.shard) for place in tablet.replicas)
        for name, table in bases.items()
        for number, tablet in enumerate(table.tablets)
    }
    assert shown == wanted
    assert {host.shards for host in grid(m, s).hosts} == {2}


def test_a_rehearsed_decommission_ends_with_an_empty_node_that_has_left() -> None:
    """Every promise holds at every step."""
    timeline = played(rehearsed("decommission 00000004"))
    s, m = timeline.state, timeline.model
    assert s.control.topology.nodes[m.number("00000004")].state == "left"
    assert not [row for row in s.tablets for place in row.replicas if place.host == "00000004"]


def test_a_rehearsal_begins_the_moves_that_balance_answers() -> None:
    """Both plan for the same dump."""
    timeline = rehearsed("balance").timeline
    while timeline.state.command is None:
        timeline.forward()
    begun = sorted(timeline.model.place(tablet) for tablet, _ in timeline.state.command.begins)
    moves = balance(opened()).moves
    assert begun == sorted((move.table, tablet) for move in moves for tablet in move.tablets)


def test_a_rehearsed_balancing_ends_with_an_empty_plan() -> None:
    """Every promise holds at every step, and tablets have moved."""
    timeline = played(rehearsed("balance"))
    assert not timeline.model.planner.plan(timeline.state).begins
    assert timeline.state.tablets != timeline.moments[0].state.tablets


def test_a_rehearsal_continues_a_transition_from_its_stage_in_the_dump(tmp_path: Path) -> None:
    """It begins on the tablet track, and ends with the new replicas."""
    new = opened().maps["shop.items"].tablets[0].replicas
    target = next(n.host for n in opened().nodes if n.host not in [r.host for r in new])
    written = f"[({target}, 0), ({new[1].host}, {new[1].shard})]"
    dump = edited(
        tmp_path, "tablets", 4, new_replicas=written, stage="use_new", transition="migration"
    )
    rehearsal = rehearsed(dump=dump)
    start = rehearsal.timeline.state
    moving, _ = [row for row in start.tablets if row.transitions]
    assert moving.transitions[0].stage == "use_new"
    assert start.control.topology.transition == "tablet_migration"
    timeline = played(rehearsal)
    ended = timeline.state.tablets[start.tablets.index(moving)]
    assert ended.replicas == moving.transitions[0].new


def test_a_rehearsal_with_a_lost_node_waits_for_its_return() -> None:
    """A refusal names the node, and its restart is the next suggestion."""
    rehearsal = rehearsed("lose 00000003", "balance")
    m, s = rehearsal.timeline.model, rehearsal.timeline.state
    assert not s.control.up >> m.number("00000003") & 1
    timeline = rehearsal.timeline
    while not isinstance(timeline.suggest(), RestartMember):
        timeline.forward()
    assert timeline.suggest() == RestartMember("00000003")
    refusals = [refusal for _, refusal in m.waiting(timeline.state)]
    assert any(refusal.missing == ("00000003",) for refusal in refusals)


def test_a_saved_tablet_rehearsal_replays_to_the_same_state() -> None:
    """Its parameters hold all of the dump."""
    timeline = rehearsed("decommission 00000004").timeline
    for _ in range(12):
        timeline.forward()
    assert Timeline.load(timeline.save()).state == timeline.state


@pytest.mark.parametrize("name", ["sizes", "loads", "topology"])
def test_a_rehearsal_of_another_kind_of_file_is_refused_by_its_kind(name: str) -> None:
    """Sizes, loads and topology go beside a dump."""
    with pytest.raises(BadInput) as caught:
        kit.rehearse(FILES[name])
    assert says(caught.value, "source | a dump of system.tablets; this looks like a dump of system")


def test_a_missing_or_headless_dump_is_refused_as_a_dump(tmp_path: Path) -> None:
    """A misspelt argument is named."""
    headless = tmp_path / "tablets.csv"
    headless.write_text(DUMP.read_text("utf-8").split("\n", 1)[1], "utf-8")
    for dump, said in ((tmp_path / "none.csv", "dump | readable file"), (headless, "line 1")):
        with pytest.raises(BadInput) as caught:
            rehearsed(dump=dump)
        assert says(caught.value, said), caught.value
    with pytest.raises(BadInput) as caught:
        kit.rehearse(DUMP, topolgy=FILES["topology"])
    assert says(
        caught.value,
        "rehearse | topolgy | a dump of system.tablets | an unexpected keyword argument 'topolgy'",
    )


def test_a_rehearsal_sorts_out_a_list_of_files_by_their_kinds(tmp_path: Path) -> None:
    """It equals a rehearsal with each file named, a schema included."""
    schema = described(tmp_path, "'dc1': 3")
    together = kit.rehearse([DUMP, schema, *FILES.values()], "balance")
    named = kit.rehearse(DUMP, "balance", schema=schema, **FILES)
    assert together.timeline.state == named.timeline.state
    assert together.opened.schema == named.opened.schema
    rows = tmp_path / "keyspaces.csv"
    rows.write_text(
        "keyspace_name,durable_writes,replication\n"
        """shop,True,"{'class': 'NetworkTopologyStrategy', 'dc1': '3'}"\n""",
        "utf-8",
    )
    assert set(kit.rehearse([DUMP, rows]).opened.schema.keyspaces) == {"shop"}


def test_a_rehearsal_refuses_a_file_of_no_kind_and_two_of_one_kind(tmp_path: Path) -> None:
    """A file that is given in both ways is one too many."""
    stray = tmp_path / "stray.txt"
    stray.write_text("nothing of a cluster\n", "utf-8")
    for files, named, said in (
        ([DUMP, stray], {}, "file | stray.txt | the output of nodetool status, or a schema"),
        ([DUMP, FILES["sizes"], FILES["sizes"]], {}, "file | one file of each kind"),
        ([DUMP, FILES["sizes"]], {"sizes": FILES["sizes"]}, "sizes | two files"),
    ):
        with pytest.raises(BadInput) as caught:
            kit.rehearse(files, **named)
        assert says(caught.value, said), caught.value


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        (("dance 00000001",), "operation | 'dance 00000001'"),
        (("decommission",), "operation | 'decommission' | decommission HOST"),
        (("balance 00000001",), "operation | 'balance 00000001'"),
        (("lose 0000000f",), "operation | '0000000f'"),
        (("lose 00000001", "decommission 00000001"), "operation | each node and | once"),
        (("",), "operation | '' | decommission HOST"),
        (("rf shop",), "operation | 'rf shop' | decommission HOST"),
        (("rf nowhere dc1=3",), "operation | 'rf nowhere dc1=3' | shop"),
    ],
)
def test_a_tablet_rehearsal_refuses_an_impossible_operation(
    operations: tuple[str, ...], said: str
) -> None:
    """One line names the operation."""
    with pytest.raises(BadInput) as caught:
        rehearsed(*operations)
    assert says(caught.value, said)


NEXT = "python -m kit topology topology.csv says what comes next"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"node_state": "decommissioning", "transition_state": "write both read old"},
            f"node_state of {host(5)} | 'decommissioning' | draining | no more tablets | {NEXT}",
        ),
        (
            {"node_state": "bootstrapping", "transition_state": "write both read new"},
            f"node_state of {host(5)} | 'bootstrapping'",
        ),
        (
            {"node_state": "rebuilding", "transition_state": ""},
            f"node_state of {host(5)} | 'rebuilding'",
        ),
        ({"transition_state": "lock"}, "transition_state | 'lock' | tablet_migration"),
        ({"transition_state": "tablet resize finalization"}, "'tablet_resize_finalization'"),
    ],
)
def test_a_tablet_rehearsal_refuses_a_topology_amid_another_operation(
    columns: dict[str, str], said: str, tmp_path: Path
) -> None:
    """The error has the node or the state, and where to ask instead."""
    with pytest.raises(BadInput) as caught:
        rehearsed(topology=everywhere(tmp_path, **columns))
    assert says(caught.value, f"topology.csv {said}" if said[0] != "'" else said), caught.value


def test_a_node_in_tablet_draining_is_rehearsed_as_a_decommission(tmp_path: Path) -> None:
    """The documents begin a decommission with the draining."""
    columns = {"node_state": "decommissioning", "transition_state": "tablet draining"}
    topology = everywhere(tmp_path, **columns)
    rehearsal = kit.rehearse(DUMP, **{**FILES, "topology": topology}, edition="documents")
    assert rehearsal.timeline.model.parameters.operations == ("decommission 00000005",)


def test_a_rehearsal_warns_of_a_waiting_request_that_is_left_out(tmp_path: Path) -> None:
    """The line has the request and its host."""
    topology = edited(tmp_path, "topology", 4, topology_request="rebuild")
    assert (
        f"left out: the waiting request rebuild of {host(5)}"
        in rehearsed(topology=topology).warnings
    )


def test_a_rehearsal_with_balancing_disabled_moves_tablets_only_for_a_drain(tmp_path: Path) -> None:
    """A warning says that balancing is disabled."""
    topology = everywhere(tmp_path, tablet_balancing_enabled="False")
    rehearsal = rehearsed("balance", topology=topology)
    assert any("balancing is disabled" in line for line in rehearsal.warnings)
    assert not any("balancing is disabled" in line for line in rehearsed("balance").warnings)
    wanted = settled(rehearsal)
    assert [row.replicas for row in played(rehearsal).state.tablets] == wanted
    moved = played(rehearsed("balance")).state.tablets
    assert [row.replicas for row in moved] != wanted
    drained = played(rehearsed("balance", "decommission 00000004", topology=topology)).state
    assert "00000004" not in {place.host for row in drained.tablets for place in row.replicas}
