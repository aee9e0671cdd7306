"""A started operation never hangs, whoever is dead or gone for good."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kit.commands.cli import main
from kit.model.registry import build
from kit.model.trace import dumps
from kit.protocols.topology.lessons.coordinator import FAILURES, failure_grid
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.search.search import awaits_operator
from kit.views.actions import end_words
from kit.views.panel import scene_of
from tests.views.frames import after

OPERATIONS = (
    "join E", "leave C", "rebuild C", "cleanup", "new_cdc_generation", "truncate_table ks.t",
    "keyspace_rf_change ks dc1=2", "join E --zero-token",
)  # fmt: skip


BESIDE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a resize": {"resizes": 1},
    "tablets move": {"tablets": 1},
    "a failure": {"failures": 1},
    "a resize after moves": {"tablets": 1, "resizes": 1},
    "tablets on the dead node": {"on_tablets": ("A", "C")},
}


SAID = "a node is down, and nobody was told to do anything about it"


FEW, MANY = 1_000, 3_000


def orders(*words: str) -> Iterator[tuple[str, ...]]:
    """The requests in this order, and in the other one."""
    asked = tuple(filter(None, words))
    yield from dict.fromkeys((asked, asked[::-1]))


def unbroken(most: int, **given: Any) -> None:
    """A search with all safeguards on, every run of which ends, or waits for its operator."""
    found = check(build("topology", {"lag": False, **given}), max_states=most)
    assert found.violation is None, (given, found.violation)


def beside_the_dead(most: int, edition: Edition, nodes: int, asks: str, what: str) -> None:
    """An operation, and a node that is dead from the start or dies at any step."""
    given = {"edition": edition, "nodes": nodes, **BESIDE[what]}
    for dead, goes in product("AB", ("remove {}", "replace F {}", "")):
        for operations in orders(asks, goes.format(dead)):
            unbroken(most, **given, operations=operations, down=(dead,))
            if what == "nothing":
                unbroken(most, **given, operations=operations, down=(), crashes=1)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-080", "D-042")
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
def test_no_operation_hangs_beside_a_dead_node(asks: str, what: str) -> None:
    """In edition documents, whatever else is under way: each run ends, or awaits its operator."""
    beside_the_dead(FEW, "documents", 3, asks, what)


@pytest.mark.deep
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_operation_hangs_beside_a_dead_node_in_longer_searches(
    edition: Edition, nodes: int, asks: str, what: str
) -> None:
    """In both editions, among three nodes and four."""
    beside_the_dead(MANY, edition, nodes, asks, what)


@pytest.mark.spec("D-080")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "asks",
    [
        *("join F", "replace F E", "leave E", "removenode E", "rebuild E", "new_cdc_generation"),
        *("truncate_table ks.t", "keyspace_rf_change ks dc1=3", "join F --zero-token"),
    ],
)
def test_every_cell_of_the_grid_is_success_or_rollback(asks: str, edition: Edition) -> None:
    """For each state and each failure."""
    grid = failure_grid(asks, edition)
    assert grid.rows
    assert {len(row) for row in grid.rows} == {1 + len(FAILURES)}
    assert {cell for row in grid.rows for cell in row[1:]} <= {"succeeded", "rolled back"}


def test_the_grid_rolls_a_leave_back_only_before_the_read_switch() -> None:
    """In edition documents."""
    rows = {row[0]: row[1:] for row in failure_grid("leave E").rows}
    assert rows["write_both_read_old: barrier"][0] == "rolled back"
    assert set(rows["write_both_read_new: barrier"]) == {"succeeded"}


STUCK: dict[str, Any] = {"operations": ("truncate_table ks.t",), "down": ("A",), "lag": False}


STEPS = ("truncate_table ks.t", "decide", "commit", "answer B", "answer C")


def test_a_barrier_that_misses_a_dead_node_waits_for_the_operator() -> None:
    """No deadlock: the board says that nobody was told to do anything about the node."""
    timeline = after("topology", STUCK, *STEPS)
    assert check(timeline.model).verdict == "complete"
    assert next(timeline.model.actions(timeline.state), None) is None
    assert awaits_operator(timeline.model, timeline.state) == SAID
    assert SAID in end_words(scene_of(timeline, timeline.at))


def test_removing_the_dead_node_ends_the_wait_of_a_barrier() -> None:
    """A has left, both requests are done, and the board no longer says that it waits."""
    asked = (*STUCK["operations"], "remove A")
    timeline = after("topology", {**STUCK, "operations": asked}, *STEPS, "remove A")
    while timeline.forward() is not None:
        pass
    assert [request.done for request in timeline.state.topology.requests] == [True, True]
    assert timeline.state.topology.nodes[0].state == "left"
    assert SAID not in end_words(scene_of(timeline, timeline.at))


def test_play_says_what_a_run_waits_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command line ends with the words of the board."""
    saved = tmp_path / "waits.json"
    saved.write_text(dumps(after("topology", STUCK, *STEPS).save()), encoding="utf-8")
    assert main(["play", str(saved)]) == 0
    assert f"nothing more can happen: {SAID}" in " ".join(capsys.readouterr().out.split())


OF_FOUR = (
    "join D", "leave C", "rebuild C", "cleanup", "new_cdc_generation", "truncate_table ks.t",
)  # fmt: skip


CASES = [
    *((edition, 3, asks) for edition in EDITIONS for asks in OF_FOUR),
    *((edition, 4, asks) for edition in EDITIONS for asks in ("remove C", "replace E C")),
]


def judged(edition: str, nodes: int, asks: str, *, helped: bool = True) -> Any:
    """What a search says of the goals where one node dies and none is ever restarted."""
    given = {"edition": edition, "nodes": nodes, "operations": (asks,), "crashes": 1, "lag": False}
    model: Any = build("topology", given)
    if not helped:
        model.instructions = ()
    goals = tuple(prop for prop in model.properties if prop.kind == "goal")
    return check(model, goals, monitors=())


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("edition", "nodes", "asks"), CASES)
def test_an_operation_ends_without_a_restart(edition: str, nodes: int, asks: str) -> None:
    """Any node dies, at any step; once it is ignored, the operation succeeds or is rolled back."""
    found = judged(edition, nodes, asks)
    assert found.complete, found
    assert found.violation is None, found


# The published server goes on behind a barrier that failed, where there is no way back.
HELD_UP = [
    *(("documents", 3, asks) for asks in ("join D", "leave C", "truncate_table ks.t")),
    *(("documents", 4, asks) for asks in ("remove C", "replace E C")),
    ("server", 3, "truncate_table ks.t"),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("edition", "nodes", "asks"), CASES)
def test_without_an_operator_the_held_up_operations_never_end(
    edition: str, nodes: int, asks: str
) -> None:
    """Those of HELD_UP; all others go on, or are rolled back."""
    found = judged(edition, nodes, asks, helped=False)
    assert (found.violation is not None) == ((edition, nodes, asks) in HELD_UP)
    assert found.violation is None or found.violation.property == "ends"


ROLLED_BACK = """join D
decide
commit
crash B
work
work
work
decide
commit
fail
decide
commit
refused answer B
exclude B
answer A
answer C
decide
commit
"""


def test_a_rollback_in_edition_documents_does_not_wait_for_an_ignored_node() -> None:
    """The barrier of ``left_token_ring`` waits for B until B is in ``ignore_nodes``."""
    given = {"edition": "documents", "crashes": 1, "exclusions": 1, "lag": False}
    model: Any = build("topology", given)
    s = model.start()
    for line in ROLLED_BACK.splitlines():
        wanted = line.removeprefix("refused ")
        found = model.find(s, wanted)
        assert found is not None, wanted
        action, refusal = found
        assert (refusal is not None) == line.startswith("refused "), (line, refusal)
        if refusal is None:
            s = model.apply(s, action)
    assert s.topology.transition == "left_token_ring"
    assert model.task(s).work.name == "shut_down"
