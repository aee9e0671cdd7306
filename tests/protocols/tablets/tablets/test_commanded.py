"""An operator's commands on tablets act on a whole co-location group."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refused
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.topology import FindImbalance
from kit.search.check import check

TABLES = ("ks.orders", "ks.by_day", "ks.by_place")
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


def test_one_more_replica_ends_in_its_transition_whatever_fails() -> None:
    """Searched: it comes, or the tablet keeps its replicas."""
    result = check(group(tablets=("A B",), shards=1, kinds=(ADDS,), failures=1, crashes=1))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
