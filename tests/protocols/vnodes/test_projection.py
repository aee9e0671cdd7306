"""The history of a range is what the transition table of its operation says, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import always
from kit.model.registry import build
from kit.model.scenario import begun
from kit.model.timeline import Timeline
from kit.protocols.storage.storage import Finish, Serve, Start, StorageState
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Machine
from kit.protocols.vnodes.rules import (
    MACHINE_OF,
    Operation,
    ProjectionOptions,
    RangeOperation,
    moved,
    project,
)
from kit.search.check import check
from tests.protocols.storage.toys import toy
from tests.protocols.vnodes.runs import OPERATIONS

Spoils = Callable[[Machine], Machine]


def told(model: Any) -> list[tuple[int, str, str, str]]:
    """The epochs of a history: number, what led there, who is read, who is written to."""
    names = model.history.names
    return [
        (epoch.epoch, epoch.title, "".join(names(view.reads)), "".join(names(view.writes)))
        for epoch in model.history.epochs
        for view in (epoch.view,)
    ]


@pytest.mark.spec("D-019", "D-020")
def test_a_bootstrap_gives_each_state_the_replicas_of_its_selectors() -> None:
    """The rollback's versions are included."""
    title = "(bootstrap X)"
    assert told(build("vnodes", {"nodes": 4, "rf": 3})) == [
        (10, "stable", "BCD", "BCD"),
        (11, f"write_both_read_old {title}", "BCD", "BCDX"),
        (12, f"write_both_read_new {title}", "BCX", "BCDX"),
        (13, f"X is normal {title}", "BCX", "BCX"),
        (12, f"left_token_ring {title}", "BCD", "BCD"),
        (12, f"X is shut down {title}", "BCD", "BCD"),
    ]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_ends_at_the_new_or_at_the_old_replicas(
    operation: Operation, edition: Edition
) -> None:
    """It may roll back only in write_both_read_old."""
    model: Any = build("vnodes", {"operation": operation, "edition": edition})
    history, moving = model.history, moved(operation, 4, 3)
    ends = {
        (history.names(epoch.view.reads), history.names(epoch.view.writes))
        for epoch in history.epochs
        if not epoch.edges
    }
    old, new = (tuple(sorted(group)) for group in (moving.old, moving.new))
    assert ends == {(new, new), (old, old)}
    for epoch in history.epochs:
        back = any(edge.aside for edge in epoch.edges)
        assert back == epoch.title.startswith("write_both_read_old"), epoch.title
        assert history.names(epoch.dead & history.epochs[0].dead) == moving.dead, epoch.title


def exchanged(machine: Machine) -> Machine:
    """The table with reads of the two states exchanged."""
    reads = {"write_both_read_old": "new", "write_both_read_new": "old"}
    rows = tuple(replace(row, reads=reads.get(row.name, row.reads)) for row in machine.states)
    return replace(machine, states=rows)


def without_the_first(machine: Machine) -> Machine:
    """The table without the state ``write_both_read_old``: its edges lead past it."""
    gone, next_one = "write_both_read_old", "write_both_read_new"
    return replace(
        machine,
        states=tuple(row for row in machine.states if row.name != gone),
        edges=tuple(
            replace(edge, target=next_one) if edge.target == gone else edge
            for edge in machine.edges
            if edge.source != gone
        ),
    )


def read_too_early(machine: Machine) -> Machine:
    """The table in which the first row reads what the last one reads."""
    rows = tuple(
        replace(row, reads="new", writes="old") if row.name == "write_both_read_old" else row
        for row in machine.states
    )
    return replace(machine, states=rows)


def read_too_late(machine: Machine) -> Machine:
    """The table in which the last row reads the old replicas: the end moves reads and writes."""
    rows = tuple(
        replace(row, reads="old") if row.name == "write_both_read_new" else row
        for row in machine.states
    )
    return replace(machine, states=rows)


SPOILED = (without_the_first, exchanged, read_too_early)


def spoils(spoiled: Spoils, rf: int, *marks: pytest.MarkDecorator) -> Any:
    """A way to spoil a table, and the RF at which it is tried."""
    return pytest.param(spoiled, rf, marks=marks, id=f"{spoiled.__name__}-{rf}")


LOSES = (
    *(spoils(spoiled, 3) for spoiled in SPOILED),
    spoils(read_too_late, 1),
    spoils(read_too_late, 3, pytest.mark.deep),  # three quorums meet in many orders
)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("spoiled", "rf"), LOSES)
@pytest.mark.parametrize("operation", ["bootstrap", "decommission"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_transition_table_with_wrong_selectors_loses_a_write(
    edition: Edition, operation: Operation, spoiled: Spoils, rf: int
) -> None:
    """A search with one lost message breaks "visible"."""
    table = spoiled(MACHINES[edition][MACHINE_OF[operation]])
    moving = moved(operation, 4, rf)
    history = project(edition, ProjectionOptions(), RangeOperation(table, moving))
    assert harm(history) == "visible"


@pytest.mark.parametrize("spoiled", [None, *SPOILED], ids=lambda s: s and s.__name__)
@pytest.mark.parametrize("operation", ["replace", "removenode"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_wrong_table_of_a_rebuild_reads_a_replica_without_the_data(
    edition: Edition, operation: Operation, spoiled: Spoils | None
) -> None:
    """The rebuilt replica lacks what was acknowledged before the operation began.

    By the table as the edition has it no read goes to such a replica.
    """
    machine, moving = MACHINES[edition][MACHINE_OF[operation]], moved(operation, 4, 3)
    table = spoiled(machine) if spoiled else machine
    history = project(edition, ProjectionOptions(), RangeOperation(table, moving))
    (gained,) = set(moving.new) - set(moving.old)
    run = Timeline(toy(history))
    live = [name for name in moving.old if name not in moving.dead]
    for action in (Start(0, 1), *(Serve(0, name) for name in live), Finish(0)):
        run.do(action)

    def bare(s: StorageState) -> str | None:
        reads = history.names(run.model.views(s)[-1].reads)
        holds = s.cells[history.replicas.index(gained)]
        return f"{gained} is read" if gained in reads and not holds else None

    found = check(begun(run).model, (always("rebuilt", "Who is read has what is older", bare),))
    broken = found.violation.property if found.violation else None
    assert (broken, found.complete) == (("rebuilt", False) if spoiled else (None, True))


def harm(history: Any) -> str | None:
    """What a client misses on a history; a message may be lost."""
    model = toy(history, losses=1)
    found = check(model, (), monitors=model.monitors)
    return found.violation.property if found.violation else None
