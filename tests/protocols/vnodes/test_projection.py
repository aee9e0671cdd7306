"""The history of a range is what the transition table of its operation says, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import always
from kit.model.registry import build, rows_of
from kit.model.scenario import begun
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.conditions import AllKnow, NothingBelow
from kit.protocols.storage.storage import Finish, Serve, Start, StorageState
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Machine, WorkRow
from kit.protocols.vnodes.rules import (
    MACHINE_OF,
    Operation,
    ProjectionOptions,
    RangeOperation,
    VnodeSafeguards,
    moved,
    project,
)
from kit.search.check import check
from tests.protocols.storage.toys import toy
from tests.protocols.vnodes.runs import FENCED, ONE, OPERATIONS
from tests.quality.scratching import cut, search

Spoils = Callable[[Machine], Machine]
TABLES = "protocols/topology/rules/editions.py"
BOTH_ROW = "  write_both_read_old   | old | both | barrier:rollback stream:rollback\n"
INTO = "commit_cdc_generation | write_both_read_old | | happy | version opens"


def told(model: Any) -> list[tuple[int, str, str, str]]:
    """The epochs of a history: number, what led there, who is read, who is written to."""
    names = model.history.names
    return [
        (epoch.epoch, epoch.title, "".join(names(view.reads)), "".join(names(view.writes)))
        for epoch in model.history.epochs
        for view in (epoch.view,)
    ]


@pytest.mark.spec("D-019", "D-020")
def test_a_bootstrap_has_the_selectors_of_its_states() -> None:
    """The versions of a bootstrap, and those of its rollback; states without a version are none."""
    title = "(bootstrap X)"
    assert told(build("vnodes", {"nodes": 4, "rf": 3})) == [
        (10, "stable", "BCD", "BCD"),
        (11, f"write_both_read_old {title}", "BCD", "BCDX"),
        (12, f"write_both_read_new {title}", "BCX", "BCDX"),
        (13, f"X is normal {title}", "BCX", "BCX"),
        (12, f"left_token_ring {title}", "BCD", "BCD"),
        (12, f"X is shut down {title}", "BCD", "BCD"),
    ]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"nodes": 4, "rf": 1}, "BX K1 K2 ACD"),
        ({"nodes": 4, "rf": 3}, "BCDX K1 K2 A"),
        ({"nodes": 3, "rf": 2, "operation": "decommission"}, "ABC K1 K2"),
    ],
)
def test_nodes_without_a_replica_are_nodes(given: dict[str, Any], names: str) -> None:
    """Each node of the rings is there once: replicas, clients, and then the others."""
    assert "".join(build("vnodes", given).names) == names.replace(" ", "")


@pytest.mark.parametrize(
    ("fails", "answers", "signs"),
    [
        ((), True, ()),
        (("drain_fails",), False, ()),
        (("barrier_fails",), False, ("quorums-in-use",)),
        (("drain_fails", "barrier_fails"), False, ("quorums-in-use",)),
    ],
)
def test_what_a_server_that_goes_on_still_promises(
    fails: tuple[str, ...], answers: bool, signs: tuple[str, ...]
) -> None:
    """Not an answer to each request; after a barrier that failed, quorums may miss one another."""
    model = build("vnodes", {**ONE, "edition": "server", **dict.fromkeys(fails, True)})
    assert ("available" in {each.name for each in model.properties}) is answers
    assert tuple(each.name for each in model.signs) == signs


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_moves_its_range(operation: Operation, edition: Edition) -> None:
    """Reads and writes end at the new replicas or, rolled back, at the old ones; the way back ends
    with the read switch.
    """
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
        assert back == epoch.title.startswith("write_both_read_old")
        assert history.names(epoch.dead & history.epochs[0].dead) == moving.dead


@pytest.mark.spec("D-024", "D-025")
def test_streaming_and_the_end_wait_for_the_barrier() -> None:
    """Until every live node knows the version and no older request is left."""
    first, both, switched, *_ = build("vnodes", {"nodes": 4, "rf": 3}).history.epochs
    drained = (AllKnow(0b1111), NothingBelow())
    assert [copy.conditions for copy in both.copies] == [drained]
    assert [edge.conditions for edge in both.edges] == [drained, ()]
    assert [edge.streamed for edge in both.edges] == [True, False]
    assert [edge.conditions for edge in switched.edges] == [drained]
    assert [edge.conditions for edge in first.edges] == [(AllKnow(0b1111),)]


@pytest.mark.parametrize("fails", [True, False])
def test_a_barrier_that_fails_is_passed_after_the_read_switch(fails: bool) -> None:
    """Before it, work is rolled back: there, no request is waited for. From it on, the coordinator
    goes on without an answer, with or without a pause.
    """
    given = {"nodes": 4, "rf": 3, "edition": "server", "barrier_fails": fails}
    drained, on = (AllKnow(0b1111), NothingBelow()), [("go on to normal", (), True)] * fails
    over = [("shut down X", drained, False)]
    model = build("vnodes", {**given, "operation": "bootstrap"})
    assert [
        [(edge.verb, edge.conditions, edge.aside) for edge in epoch.edges]
        for epoch in model.history.epochs
    ] == [
        [("commit write_both_read_old", (AllKnow(0b1111),), False)],
        [
            ("commit write_both_read_new", drained, False),
            ("roll back to left_token_ring", (), True),
        ],
        [("commit normal", drained, False), *on],
        *[[]] * (1 + fails),
        over,
        [],
    ]


@pytest.mark.parametrize(
    ("work", "more"),
    [
        (WorkRow("barrier", "proceed", "global"), ["go on to write_both_read_new"]),
        (WorkRow("barrier", "retry", "global"), []),
        (WorkRow("barrier", "proceed", "command"), []),
        (WorkRow("mark_done", "proceed"), []),
    ],
)
def test_only_a_failed_barrier_of_all_is_passed(work: WorkRow, more: list[str]) -> None:
    """Onwards, not back, where the table of a bootstrap has this work before the read switch."""
    machine = MACHINES["server"]["bootstrapping"]
    states = tuple(
        replace(row, work=(work,)) if row.name == "write_both_read_old" else row
        for row in machine.states
    )
    given = RangeOperation(replace(machine, states=states), moved("bootstrap", 4, 3))
    history = project("server", ProjectionOptions(barrier_fails=True), given)
    assert [edge.verb for edge in history.epochs[1].edges] == [
        *("commit write_both_read_new", *more, "roll back to left_token_ring")
    ]


@pytest.mark.spec("D-044")
def test_the_fence_follows_the_barrier() -> None:
    """It is one version behind, or further where a rollback left a barrier out; of its own where
    the drain fails, and then everybody must know it.
    """
    epochs = build("vnodes", ONE).history.epochs
    assert [epoch.view.fence for epoch in epochs] == [0, 1, 1, 1, 2, 3]
    fences = [e for e in build("vnodes", {**ONE, **FENCED}).history.epochs if e.quiet]
    for epoch in fences:
        if epoch.title.startswith("fence_version"):
            assert epoch.view.fence == 1
            assert all(edge.aside or edge.conditions == (AllKnow(0b11),) for edge in epoch.edges)
    assert {"fence_version is 11", "fence_version is 12"} <= {epoch.title for epoch in fences}


def test_who_streams() -> None:
    """The displaced replica; where it is dead, all old replicas that live."""
    sources = {operation: moved(operation, 4, 3).copies for operation in OPERATIONS}
    assert sources == {
        "bootstrap": (("D", "X"),),
        "replace": (("C", "X"), ("D", "X")),
        "decommission": (("B", "A"),),
        "removenode": (("C", "A"), ("D", "A")),
    }


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
def test_a_spoiled_table_loses_a_write(
    edition: Edition, operation: Operation, spoiled: Spoils, rf: int
) -> None:
    """Without the state, or with other selectors in it, a client misses what was acknowledged."""
    table = spoiled(MACHINES[edition][MACHINE_OF[operation]])
    moving = moved(operation, 4, rf)
    history = project(edition, ProjectionOptions(), RangeOperation(table, moving))
    assert harm(history) == "visible"


@pytest.mark.parametrize("spoiled", [None, *SPOILED], ids=lambda s: s and s.__name__)
@pytest.mark.parametrize("operation", ["replace", "removenode"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_spoiled_table_reads_a_replica_without_the_data(
    edition: Edition, operation: Operation, spoiled: Spoils | None
) -> None:
    """Where the displaced replica is dead, a quorum of the old ones is all that live, and they
    stay: no client misses a write. But the rebuilt replica is read and has nothing of what was
    acknowledged before the operation began; by the table as it is that cannot be.
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


def test_a_table_without_write_both_read_old_loses_a_write(scratch: Any) -> None:
    """Cut out of the table in a copy of the kit, the state is missed: data never moved."""
    assert search(scratch, "vnodes", ONE) == (None, True)
    cut(scratch, [(TABLES, BOTH_ROW, ""), (TABLES, INTO, INTO.replace("read_old", "read_new"))])
    assert search(scratch, "vnodes", ONE) == ("quorums-in-use", False)


def test_swapped_selectors_in_the_table_lose_a_write(scratch: Any) -> None:
    """The row's reads and writes exchanged in a copy of the kit: reads move too early."""
    cut(scratch, [(TABLES, BOTH_ROW, BOTH_ROW.replace("| old | both |", "| new | old |"))])
    assert search(scratch, "vnodes", ONE) == ("quorums-in-use", False)


def test_the_rows_of_a_table_are_named_by_their_states() -> None:
    """Whose operation it is says the run; a state and what may happen in it make a row."""
    assert rows_of(build("vnodes", {"nodes": 4, "rf": 3})).names == (
        "left_token_ring: shut down X",
        "stable: commit write_both_read_old",
        "write_both_read_new: commit normal",
        "write_both_read_old: commit write_both_read_new",
        "write_both_read_old: roll back to left_token_ring",
    )


def test_every_operation_has_its_table() -> None:
    """The verb of the operator names one table of each edition."""
    for edition in EDITIONS:
        assert set(MACHINE_OF.values()) <= set(MACHINES[edition])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"nodes": 1}, "nodes"),
        ({"drain_fails": True}, "drain_fails"),
        ({"barrier_fails": True}, "barrier_fails"),
        ({"rf": 0}, "rf"),
        ({"requests": ("B write QUORUM",)}, "requests"),
        ({"operation": "move"}, "operation"),
    ],
)
def test_a_bad_parameter_is_named(given: dict[str, Any], field: str) -> None:
    """One clear line: which parameter, its value, what is allowed."""
    with pytest.raises(BadInput, match=field):
        build("vnodes", given)


def test_the_events_that_are_counted_come_in_order() -> None:
    """Each once, however a set has them."""
    names = rows_of(build("vnodes")).names
    assert len(names) > 3
    assert list(names) == sorted(set(names))


def edges(edition: Edition, machine: Machine, **options: Any) -> list[str]:
    """What may come next at each epoch of a bootstrap of four nodes, a line for each.

    From where, by which verb, to where; what it waits for (all know: A, nothing below: N); whether
    copies have to have arrived (s), reads move (r), it leads aside (a).
    """
    operation = RangeOperation(machine, moved("bootstrap", 4, 2))
    history = project(edition, ProjectionOptions(**options), operation)
    lines = []
    for at, epoch in enumerate(history.epochs):
        for edge in epoch.edges:
            waits = "".join(type(each).__name__[0] for each in edge.conditions) or "-"
            marks = "s" * edge.streamed + "r" * edge.switches + "a" * edge.aside or "-"
            lines.append(f"{at} {edge.verb} {edge.to} {waits} {marks}")
    return lines


JOINS = {edition: MACHINES[edition]["bootstrapping"] for edition in EDITIONS}
DOCUMENTED = [
    "0 commit write_both_read_old 1 A -",
    "1 commit write_both_read_new 2 AN sr",
    "1 roll back to left_token_ring 4 - a",
    "2 commit normal 3 AN -",
    "4 shut down X 5 AN -",
]
GOES_ON = [
    *DOCUMENTED[:2],
    "1 roll back to left_token_ring 5 - a",
    DOCUMENTED[3],
    "2 go on to normal 4 - a",
    "5 shut down X 6 AN -",
]
FENCES = [
    "0 commit write_both_read_old 1 A -",
    "1 commit fence_version 2 - -",
    "1 commit write_both_read_new 11 AN sr",
    "1 roll back to left_token_ring 15 - a",
    "2 commit write_both_read_new 3 A sr",
    "2 roll back to left_token_ring 7 - a",
]
"""The first steps where drains fail: with the fence alone, all know the version, and no more."""


def test_what_may_come_next() -> None:
    """Where barriers fail, only the published server goes on without one; the documents retry."""
    for edition in EDITIONS:
        assert edges(edition, JOINS[edition]) == DOCUMENTED
    assert edges("documents", JOINS["documents"], barrier_fails=True) == DOCUMENTED
    assert edges("server", JOINS["server"], barrier_fails=True) == GOES_ON
    rolled_back = VnodeSafeguards(no_rollback_after_switch=False)
    given: dict[str, Any] = {"safeguards": rolled_back, "barrier_fails": True}
    spoiled = edges("server", JOINS["server"], **given)
    assert [line for line in spoiled if line.startswith("2 ")] == [
        "2 commit normal 3 AN -",
        "2 go on to normal 4 - a",
        "2 roll back to left_token_ring 5 - a",
    ]


def test_what_may_come_next_where_drains_fail() -> None:
    """The fence is set without one, once at each version."""
    fails = edges("server", JOINS["server"], drain_fails=True)
    assert [line for line in fails if line[:2] in ("0 ", "1 ", "2 ")] == FENCES
    assert sum("fence_version" in line for line in fails) == 5


DRAIN = WorkRow("barrier", "proceed", "global")


@pytest.mark.parametrize(
    ("work", "goes_on"),
    [
        ((DRAIN,), True),
        ((replace(DRAIN, on_failure="retry"),), False),
        ((replace(DRAIN, barrier="command"),), False),
        ((replace(DRAIN, barrier=""),), False),
        ((replace(DRAIN, on_failure="retry"), replace(DRAIN, barrier="")), False),
        ((replace(DRAIN, on_failure="retry"), DRAIN), True),
        ((), False),
    ],
)
def test_only_a_global_barrier_is_passed_over(work: tuple[WorkRow, ...], goes_on: bool) -> None:
    """In a state whose table says that its failure is none."""
    machine = JOINS["server"]
    rows = tuple(
        replace(row, work=work) if row.name == "write_both_read_new" else row
        for row in machine.states
    )
    lines = edges("server", replace(machine, states=rows), barrier_fails=True)
    assert any("go on to normal" in line for line in lines) is goes_on
