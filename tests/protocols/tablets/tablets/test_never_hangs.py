"""No tablet hangs beside a dead node: what moves goes on, or back, and its removal begins."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.topology.test_never_hangs import orders
from tests.views.frames import after

OPERATIONS = (
    "bootstrap E", "decommission C", "truncate_table ks.t", "keyspace_rf_change ks dc1=3", "",
)  # fmt: skip
BESIDE: dict[str, dict[str, Any]] = {
    "a move": {},
    "a repair": {"kinds": ("repair",)},
    "a failure": {"failures": 1},
    "an undone operation": {"undone": 1, "moves": 0},
}
PLACED = ((3, ("A",)), (3, ("A B",)), (3, ("A B C",)), (4, ("A B", "B C")))
FEW, MANY = 400, 2_000


def beside_the_dead(
    most: int, edition: Edition, what: str, nodes: int, tablets: tuple[str, ...], asks: str
) -> None:
    """An operation while B is dead, or dies at any step, whether or not B is removed."""
    given = {"edition": edition, "nodes": nodes, "tablets": tablets, **BESIDE[what]}
    for goes, dies in product(("removenode B", "replace F B", ""), (False, True)):
        fate: dict[str, Any] = {"down": (), "crashes": 1} if dies else {"down": ("B",)}
        for operations in orders(asks, goes):
            model = build("tablets", {**given, **fate, "operations": operations})
            found = check(model, max_states=most)
            assert found.violation is None, (operations, fate, found.violation)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-080", "D-042")
@pytest.mark.parametrize("placed", PLACED, ids=str)
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
def test_each_operation_beside_a_dead_node(
    asks: str, what: str, placed: tuple[int, tuple[str, ...]]
) -> None:
    """In the documents' edition each run with a dead node ends, in its nearest steps."""
    beside_the_dead(FEW, "documents", what, *placed, asks)


@pytest.mark.deep
@pytest.mark.parametrize("placed", PLACED, ids=str)
@pytest.mark.parametrize("what", BESIDE)
@pytest.mark.parametrize("asks", OPERATIONS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_each_operation_beside_a_dead_node_at_length(
    edition: Edition, asks: str, what: str, placed: tuple[int, tuple[str, ...]]
) -> None:
    """In both editions, in many more steps."""
    beside_the_dead(MANY, edition, what, *placed, asks)


def test_a_tablet_that_nobody_has_is_a_known_cost_of_the_server() -> None:
    """The last node that has it dies beside a removal: the rebuild is tried again and again."""
    given = {"edition": "server", "nodes": 3, "tablets": ("A B",), "crashes": 1}
    result = check(build("tablets", {**given, "operations": ("removenode B",)}))
    assert (result.verdict, result.broken and result.broken.property) == ("known cost", "ends")


def test_the_last_replica_rolls_a_removal_back() -> None:
    """B dies with the only replica of a tablet: nothing is left to make it again from, so in the
    documents its removal is rolled back, with that reason.
    """
    given = {"nodes": 3, "tablets": ("A", "B"), "moves": 0, "crashes": 1, "down": ()}
    asked = {"operations": ("removenode B",)}
    timeline = after("tablets", {**given, **asked}, "crash B", "remove B", "decide", "commit")
    found = timeline.model.find(timeline.state, "fail")
    assert found is not None
    timeline.do(found[0])
    assert timeline.moments[timeline.at].say == "Draining fails: no live replica is left of B:0."
    while timeline.forward() is not None:
        pass
    control = timeline.state.control.topology
    assert (control.nodes[1].state, control.requests[0].error) == ("normal", True)
