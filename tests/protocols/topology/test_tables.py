"""The transition tables and the columns are those of the documents; runs of them as data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec.structs import fields

from kit.model.timeline import Timeline
from kit.operators.importers.system_tables import TOPOLOGY
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import view_of
from kit.protocols.topology.panels.tables import OF_ROWS, STATIC, column_type
from kit.protocols.topology.rules.columns import SystemTopology, SystemTopologyRow
from kit.protocols.topology.rules.editions import MACHINES, NODE
from kit.protocols.topology.rules.machines import (
    BOUNDARY,
    EDITIONS,
    NODE_REQUESTS,
    NODE_STATE_OF,
    NODE_STATES,
    TRANSITION_STATE,
    TRANSITION_STATES,
    EdgeRow,
    Edition,
    Machine,
    transition_state,
)
from kit.protocols.topology.rules.work import under_way
from kit.spark.traces import PlainTraces, Tables, Traces, as_tables, drawn, store
from tests.fixtures import rows

OF_TABLETS = ("tablet", "tablet_repair", "tablet_rebuild_v2")


OPERATIONS = ("bootstrapping", "replacing", "decommissioning", "removing")


"""The machines that differ between the editions."""


def machines() -> Iterator[tuple[Edition, Machine]]:
    """Every machine of every edition."""
    return ((edition, each) for edition in EDITIONS for each in MACHINES[edition].values())


@pytest.mark.spec("D-005", "D-006", "D-007", "D-008", "D-009")
def test_edition_documents_has_exactly_the_edges_of_the_documents() -> None:
    """Each diagram of the documents is a machine of edition ``documents``."""
    ours = {
        (name, edge.source, edge.target, edge.label)
        for name in ("node", *OPERATIONS)
        for edge in MACHINES["documents"][name].edges
    }
    theirs = [row for row in rows("EDGE") if row[0] not in OF_TABLETS]
    assert ours == set(theirs)
    assert (
        len(theirs)
        == len(set(theirs))
        == sum(len(MACHINES["documents"][name].edges) for name in ("node", *OPERATIONS))
    )


@pytest.mark.spec("D-037", "D-038")
def test_the_columns_are_those_of_the_documents() -> None:
    """33 with their types, 16 of them static; the structs have a field for each."""
    scopes = {"key": "pk", "host_id": "ck", **dict.fromkeys(STATIC, "static")}
    assert [
        (name, column_type(name, "documents"), scopes.get(name, "row")) for name in TOPOLOGY
    ] == rows("COL")
    assert len(TOPOLOGY) == 33
    assert len(STATIC) == 16
    assert [f.name for f in fields(SystemTopologyRow)] == list(OF_ROWS)
    assert [f.name for f in fields(SystemTopology)] == ["rows", *STATIC]


@pytest.mark.spec("D-001", "D-016")
def test_the_node_states_are_those_of_the_documents() -> None:
    """Each transition state of a machine is known."""
    drawn = {state for edge in NODE.edges for state in (edge.source, edge.target)}
    assert drawn == set(NODE_STATES)
    assert set(NODE_STATE_OF) == set(NODE_REQUESTS)
    used = {state.name for _, machine in machines() for state in machine.states}
    played = {each.name for each in TRANSITION_STATES if each.played}
    assert used == played | {""}


def test_a_transition_state_is_read_with_spaces_and_with_underscores() -> None:
    """Other words are unknown."""
    for each in TRANSITION_STATES:
        assert transition_state(each.name) == transition_state(each.stored) == each, each.name
    assert TRANSITION_STATE["write_both_read_old"].stored == "write both read old"
    assert transition_state("write both read") is None


def ends(edge: EdgeRow) -> bool:
    """Whether the operation is over for its node with this edge."""
    return edge.source != BOUNDARY and edge.becomes != ""


def test_the_edges_of_each_machine_join_its_states_without_ambiguity() -> None:
    """Every failure that takes an edge has one, which the diagram of nodes knows."""
    node_edges = {(edge.source, edge.target) for edge in NODE.edges}
    for edition, machine in machines():
        if machine is NODE:
            continue
        where = f"{edition} {machine.name}"
        names = [state.name for state in machine.states]
        kinds = [(edge.source, edge.kind, edge.when) for edge in machine.edges]
        assert len(kinds) == len(set(kinds)), where
        for edge in machine.edges:
            assert {edge.source, edge.target} <= {BOUNDARY, *names, "tablet_migration"}, where
        for state in machine.states:
            for work in state.work:
                takes = work.on_failure not in ("retry", "proceed")
                assert not takes or machine.edge(state.name, work.on_failure), where
        begun = machine.begins.becomes
        for edge in machine.edges:
            if ends(edge):
                assert (begun, edge.becomes) in node_edges, f"{where}: {edge}"


def test_every_state_of_a_machine_is_reached_and_can_end() -> None:
    """By the edges of its table."""
    for edition, machine in machines():
        if machine is NODE:
            continue
        forth = {edge.source: set[str]() for edge in machine.edges}
        for edge in machine.edges:
            forth[edge.source].add(edge.target)
        reached = closure(BOUNDARY, forth)
        assert {state.name for state in machine.states} <= reached, f"{edition} {machine.name}"
        for state in machine.states:
            leads_to = closure(state.name, forth)
            assert {BOUNDARY, "tablet_migration"} & leads_to, f"{edition} {machine.name}"


def closure(start: str, forth: dict[str, set[str]]) -> set[str]:
    """All that can be reached along edges."""
    reached, rest = set[str](), [start]
    while rest:
        for target in forth.get(rest.pop(), ()):
            if target not in reached:
                reached.add(target)
                rest.append(target)
    return reached


@pytest.mark.spec("D-013", "D-019", "D-020", "D-026", "F-001", "F-002")
def test_selectors_sessions_and_versions_follow_the_states() -> None:
    """Writes go to both sets before reads move, and the way back ends there."""
    for edition in EDITIONS:
        for name in OPERATIONS:
            machine = MACHINES[edition][name]
            chosen = {BOUNDARY: ("old", "old"), "tablet_migration": ("old", "old")}
            chosen |= {state.name: (state.reads, state.writes) for state in machine.states}
            assert chosen["write_both_read_old"] == ("old", "both"), (edition, name)
            assert chosen["write_both_read_new"] == ("new", "both"), (edition, name)
            assert machine.edge("write_both_read_new", "rollback") is None, (edition, name)
            assert (name == "bootstrapping") == ("commit_cdc_generation" in chosen), edition
            for edge in machine.edges:
                where = f"{edition} {name}: {edge}"
                opens = edge.target == "write_both_read_old"
                closes = edge.source == "write_both_read_old"
                assert edge.session == ("opens" if opens else "closes" if closes else ""), where
                after = chosen[edge.target] if edge.target != BOUNDARY else final(edge, machine)
                assert edge.version or chosen[edge.source] == after, where


def final(edge: EdgeRow, machine: Machine) -> tuple[str, str]:
    """The selectors once the operation is over: new when it succeeded, old when it did not.

    A node that left by ``left_token_ring`` is out of them already.
    """
    if edge.source == "left_token_ring":
        state = machine.state("left_token_ring")
        return state.reads, state.writes
    moved = edge.source == "write_both_read_new"
    return ("new", "new") if moved else ("old", "old")


FAULTY = {"operations": ("join D", "leave C"), "failures": 1, "changes": 1, "crashes": 1}


def run_of(seed: int) -> Timeline:
    """A drawn run with faults."""
    return drawn(seed, model="topology", most=120, **FAULTY)


def data(tables: Tables, name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    return tables[name].to_pylist()


@pytest.mark.parametrize("seed", range(3))
def test_the_tables_of_a_run_have_the_models_facts(seed: int) -> None:
    """Versions, operations, static cells and commands, step by step."""
    timeline = run_of(seed)
    tables, model = as_tables(timeline, "one"), timeline.model
    states: list[Any] = [timeline.moments[moment].state for moment in timeline.path()]
    assert [(r["epoch"], r["step"]) for r in data(tables, "events")] == [
        (s.topology.version, step) for step, s in enumerate(states)
    ]
    assert {(r["step"], r["node"], r["applied"], r["newest"]) for r in data(tables, "epochs")} == {
        (step, model.names[i], view_of(s, i).version, s.topology.version)
        for step, s in enumerate(states)
        for i in range(len(model.names))
        if s.topology.members >> i & 1 and s.topology.nodes[i].state
    }
    assert [(r["step"], r["state"]) for r in data(tables, "operations")] == [
        (step, under.state)
        for step, s in enumerate(states)
        if (under := under_way(s.topology)) is not None
    ]
    assert [
        (r["transition_state"], r["fence_version"], r["state_id"])
        for r in data(tables, "transitions")
    ] == [(s.topology.transition or None, s.topology.fence_version, s.state_id) for s in states]


def test_a_command_without_effect_has_a_row_without_a_state_id() -> None:
    """Other commands have the state id that they made."""
    told = [run_of(seed) for seed in range(8)]
    no_ops = 0
    for timeline in told:
        moments = [timeline.moments[at] for at in timeline.path()]
        commits = {
            step: now.state.state_id if now.state.state_id != before.state.state_id else None
            for step, (before, now) in enumerate(pairwise(moments), start=1)
            if isinstance(now.action, act.CommitDecision | act.CommitDeposed | act.MakeRequest)
        }
        commands = data(as_tables(timeline), "commands")
        assert {r["step"]: r["state_id"] for r in commands} == commits
        no_ops += None in commits.values()
    assert no_ops


@pytest.mark.spec("H-018", "H-020")
def test_spark_and_pandas_report_the_same_on_runs(spark: Any, tmp_path: Path) -> None:
    """Lag, and how many steps an operation stays in each state."""
    runs = [as_tables(run_of(seed), f"seed-{seed}") for seed in range(3)]
    ours, theirs = Traces(spark, store(tmp_path / "runs", *runs)), PlainTraces(*runs)
    for report in ("lag", "time_in_steps"):
        mine, other = getattr(ours, report)(), getattr(theirs, report)()
        pd.testing.assert_frame_equal(mine, other, check_exact=True)
        assert len(mine)
    for name in ("transitions", "request_queue", "global_barriers", "commands"):
        assert ours.table(name).count() == len(theirs.table(name)) > 0
