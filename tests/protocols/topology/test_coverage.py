"""Walks take every row of every transition table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.registry import build, rows_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import row_name
from kit.search.fuzz import fuzz

RARE = {"fault": 0.1, "elect": 0.05}
FAULTS: dict[str, Any] = {"failures": 1, "nodes": 3}
# An operation for each machine; tablets on a leaving node are drained by its own machine or before.
WALKED: tuple[dict[str, Any], ...] = (
    {"operations": ("join D",)},
    {"operations": ("replace D C",)},
    {"operations": ("replace D C",), "tablets": 1},
    {"operations": ("leave C",), "on_tablets": ("C",)},
    {"operations": ("remove C",), "on_tablets": ("C",)},
    {"operations": ("join D --zero-token",)},
    {"operations": ("replace D C --zero-token",), "zero_tokens": ("C",)},
    {"operations": ("rebuild C",)},
    {"operations": ("new_cdc_generation", "cleanup")},
    {"operations": ("lock",)},
    {"operations": ("keyspace_rf_change ks dc1=3",)},
    {"operations": ("truncate_table ks.t",), "on_tablets": ("A", "B")},
    {"operations": (), "tablets": 1},
    {"operations": (), "tablets": 1, "resizes": 1},
)


def walks(edition: Edition, seeds: int) -> Iterator[Any]:
    """What the walks of each configuration of an edition met."""
    for given in WALKED:
        model = build("topology", {"edition": edition, **FAULTS, **given})
        yield fuzz(model, range(seeds), steps=150, weights=RARE, within=0)


@pytest.mark.parametrize("seeds", [50, pytest.param(150, marks=pytest.mark.deep)])
@pytest.mark.parametrize("edition", EDITIONS)
def test_walks_take_every_row_of_every_table(edition: Edition, seeds: int) -> None:
    """Walks over every operation, with work that fails, take each edge of each machine."""
    drawn = {
        row_name(name, edge)
        for name, machine in MACHINES[edition].items()
        if name != "node"
        for edge in machine.edges
    }
    untaken, found_wrong = set(drawn), []
    for walked in walks(edition, seeds):
        untaken -= set(walked.rows) - set(walked.untaken)
        found_wrong += list(walked.findings)
    assert not found_wrong
    assert not untaken


def test_rows_are_those_of_the_requested_operations() -> None:
    """A model is covered by the machines that its requests may begin, and no others."""
    names = rows_of(build("topology", {"operations": ("join D", "leave C")})).names
    machines = {name.partition(":")[0] for name in names}
    assert machines == {"bootstrapping", "decommissioning"}


def test_what_a_run_takes_beside_its_machines_is_no_row() -> None:
    """The tablets' track, which an RF change goes over to, belongs to no request of its own."""
    model: Any = build("topology", {"operations": ("keyspace_rf_change ks dc1=3",)})
    rows, timeline = rows_of(model), played_out(Timeline(model))
    taken = {
        row
        for step in timeline.passed()
        for row in rows.taken(step.before, step.action, step.after)
    }
    assert rows.names == ("keyspace_rf_change: * → tablet_migration",)
    assert taken == {*rows.names}
