"""An operator's commands on tablets act on a whole co-location group."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, Refused
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.topology import FindImbalance
from kit.search.check import check
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import panel_text

TABLES = ("ks.orders", "ks.by_day", "ks.by_place")
OTHERS = TABLES[1:]
ADDS = "add_tablet_replica"


def group(**given: Any) -> Any:
    """Three co-located tables of two tablets, which balancing leaves alone but for one command."""
    base = {"nodes": 3, "shards": 2, "tablets": ("A B", "B A"), "tables": TABLES, "moves": 1}
    return build("tablets", {**base, "kinds": ("migration", "intranode_migration", ADDS), **given})


def ended(timeline: Timeline) -> list[str]:
    """What is worked on until nothing is left to do, as labels say it."""
    said = []
    while (action := timeline.model.suggest(timeline.state)) is not None:
        if isinstance(action, Tablets.work_on):
            said.append(timeline.model.label(timeline.state, action))
        timeline.do(action)
    return said


@pytest.mark.spec("F-021")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("command", "kind", "after"),
    [
        ("move_tablet {} 0 A:0 C:1", "migration", ["C:1", "B:0"]),
        ("move_tablet {} 0 A:0 A:1", "intranode_migration", ["A:1", "B:0"]),
        ("add_tablet_replica {} 0 C:1", "rebuild_v2", ["A:0", "B:0", "C:1"]),
    ],
)
def test_a_command_moves_all_tables_of_the_group(
    edition: str, table: str, command: str, kind: str, after: list[str]
) -> None:
    """Whichever table it names: one transition, and the data of each table are streamed."""
    timeline = Timeline(group(edition=edition))
    timeline.do(FindImbalance())
    model = timeline.model
    option = model.find(timeline.state, command.format(table))
    assert option is not None
    action, refusal = option
    assert refusal is None
    assert model.label(timeline.state, action).endswith(": of " + ", ".join(TABLES))
    timeline.do(action)
    said = ended(timeline)
    kinds = {
        way.kind
        for moment in timeline.moments
        for row in moment.state.tablets
        for way in row.transitions
    }
    assert kinds == {kind}
    for each in TABLES:
        assert any(f"stream ({each})" in line for line in said), said
    assert [str(each) for each in timeline.state.tablets[0].replicas] == after
    assert [str(each) for each in timeline.state.tablets[1].replicas] == ["B:0", "A:0"]


@pytest.mark.spec("E-058")
def test_one_marker_stands_for_several_tables_that_stream() -> None:
    """Plan and grid know the base table alone, and group 0 has its rows alone; the others name it.
    The tab of the stage has each table's stream, one after the other.
    """
    timeline = Timeline(group(edition="documents"))
    streams = set[str]()
    while timeline.forward() is not None:
        for name in ("plan", "grid"):
            [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
            scene = scene_of(timeline, timeline.at)
            drawn = panel.draw(scene).html() + panel.text(scene)
            assert not [table for table in TABLES[1:] if table in drawn]
            assert ("tablet ks.orders 0" in drawn) or name == "plan"
        rows = panel_text(timeline, "tablets").splitlines()
        assert [row.strip().partition(":")[0] for row in rows] == ["tablet 0", "tablet 1", *OTHERS]
        if any(way.stage == "streaming" for way in timeline.state.tablets[0].transitions):
            assert panel_text(timeline, "grid").count("tablet 0: migration in streaming") == 1
            streams.add(panel_text(timeline, "now").partition("session 1; ")[2].strip())
    assert streams == {
        ", ".join(
            f"stream {table} {'done' if i < done else 'next' if i == done else 'later'}"
            for i, table in enumerate(TABLES)
        )
        for done in range(4)
    }


@pytest.mark.spec("E-056")
def test_co_located_tables_refer_to_the_base_table() -> None:
    """In the table of tablets each has a line with its ``base_table`` and no map of its own; alone
    a table has no such line. So counts and replicas are those of the base table, whichever table
    is asked for; all are of one keyspace.
    """
    with pytest.raises(BadInput, match="co-located tables of one keyspace"):
        group(tables=(*TABLES, "other.table"))
    timeline = Timeline(group())
    rows = panel_text(timeline, "tablets").splitlines()
    assert rows[2:] == [f"  {table}: base_table ks.orders" for table in OTHERS]
    assert all("replicas" in row for row in rows[:2])
    assert "base_table" not in panel_text(Timeline(group(tables=TABLES[:1])), "tablets")


@pytest.mark.spec("E-057")
@pytest.mark.parametrize("edition", EDITIONS)
def test_co_location_is_not_altered(edition: str) -> None:
    """At every step of a move ``ALTER TABLE`` answers with an error that says why, for each table
    that is co-located, and changes nothing. Of the base table there is nothing to alter.
    """
    timeline = Timeline(group(edition=edition))
    model = timeline.model
    while True:
        for table in TABLES[1:]:
            line = f"ALTER TABLE {table} WITH base_table = 'ks.other';"
            option = model.find(timeline.state, line)
            assert option is not None
            assert option[1] is not None
            assert option[1].reason.startswith("co-location is set when a table is created")
            assert option in list(model.options(timeline.state))
            with pytest.raises(Refused, match="cannot be altered"):
                timeline.do(option[0])
        assert model.find(timeline.state, f"ALTER TABLE {TABLES[0]} WITH base_table = ks.u") is None
        if timeline.forward() is None:
            return


@pytest.mark.parametrize(
    "line",
    [
        "move_tablet ks.other 0 A:0 C:1",
        "move_tablet ks.orders 0 A:0",
        "move_tablet ks.orders 0 A:0 B:1",
        "add_tablet_replica ks.orders 0 B:1",
        "add_tablet_replica ks.other 0 C:1",
        "move_tablet ks.orders 0 A:0 C:1 now",
        "add_tablet_replica ks.orders 0 C:1 now",
        "move_tablet",
    ],
)
def test_what_is_no_such_command(line: str) -> None:
    """Another table, a place that lacks, a host that has a replica already, a word too many."""
    model = group()
    state = model.act(model.start(), FindImbalance())
    assert model.find(state, "move_tablet ks.orders 0 A:0 C:1") is not None
    assert model.find(state, line) is None


def test_one_more_replica_ends_in_its_transition_whatever_fails() -> None:
    """Searched: it comes, or the tablet keeps its replicas."""
    result = check(group(tablets=("A B",), shards=1, kinds=(ADDS,), failures=1, crashes=1))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
