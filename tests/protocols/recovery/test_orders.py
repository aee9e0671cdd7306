"""Of all interleavings of the documented steps: how many end with one group and no loss."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import kit
from kit.protocols.recovery import orders
from kit.protocols.recovery.orders import PROCEDURES
from kit.protocols.recovery.recovery import Alter
from kit.protocols.recovery.recovery_mode import BY_OPERATOR, RecoveryMode, StartServer
from kit.search.orders import Ordered

COUNTED = {
    ("new, documents", False): {"breaks one-group": 420, "refused": 10_950, "whole": 180},
    ("new, documents", True): {"breaks one-group": 11_616, "refused": 258_574, "whole": 7_010},
    ("new, server", False): {"refused": 755_976, "whole": 780},
    ("new, server", True): {"refused": 24_188_580, "whole": 27_612},
    ("old", False): {"refused": 617_174, "whole": 1_716_586},
    ("old", True): {"refused": 22_614_774, "whole": 61_400_586},
}
"""By procedure, without and with one more crash: how many orders end in which outcome."""


def test_orders_by_what_they_end_in() -> None:
    """Every order is whole, refused by a server at some step, or breaks a promise; none is lost.
    Rows are sorted.
    """
    rows = kit.recovery_orders()
    counted: dict[tuple[str, bool], dict[str, int]] = {}
    for row in rows:
        counted.setdefault((row.procedure, row.crash), {})[row.outcome] = row.orders
    assert counted == COUNTED
    assert [*counted] == [*COUNTED]
    assert [[*outcomes] for outcomes in counted.values()] == [
        sorted(each) for each in COUNTED.values()
    ]


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_mishap_is_one(procedure: str) -> None:
    """From the start each live node can go down, and come up again."""
    model, plan = orders._planned(procedure)
    assert len(plan.mishaps) == len(orders.INDEXES) - len(orders.DEAD.split())
    for actions in plan.mishaps:
        state = model.start()
        for action in actions:
            assert model.refusal(state, action) is None
            before, state = state, model.apply(state, action)
            assert state != before


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_the_last_live_node_leads(procedure: str) -> None:
    """It was restarted last; the old procedure has no leader."""
    _, plan = orders._planned(procedure)
    chosen = [move.name for move in plan.moves if move.name.startswith("choose")]
    assert chosen == ([] if procedure == "old" else ["choose B"])


NOTHING = "nothing more can happen: A runs in {0}, B runs in {0}"
NO_ANSWER = "enter {} waits: the upgrade waits until every peer answers (C, D)"


@pytest.mark.parametrize(
    ("order", "waits"),
    [
        (orders.DOCUMENTED, ""),
        ((), NOTHING.format("group 0")),
        (orders.DOCUMENTED[:3], NOTHING.format("RECOVERY mode")),
        (("compare",), "describecluster waits: nodes have different schema versions (A, B)"),
        (
            tuple(step for step in orders.DOCUMENTED if step != "remove"),
            "; ".join(map(NO_ANSWER.format, "AB")),
        ),
    ],
)
def test_why_an_order_comes_to_rest(order: tuple[str, ...], waits: str) -> None:
    """The documented one does not. Another waits for what its next step or a server needs; else
    what the live nodes run in is told.
    """
    m = RecoveryMode(replace(orders.USUAL, deaths=0), orders.ANY_ORDER)
    steps = orders.actions_of(m, order)
    rest = Ordered(m, steps, BY_OPERATOR, always=(StartServer,))
    assert orders.at_rest(m, rest) == waits


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "no harm"),
        ({"breaks": "refused", "witness": "no row"}, "refused: no row"),
        ({"breaks": "ends", "witness": "w", "run": ("a", "b")}, "ends: w after a, b"),
        ({"breaks": "ends", "witness": "w", "waits": "a waits"}, "ends: w; a waits"),
        (
            {"breaks": "ends", "witness": "w", "run": ("a",), "waits": "b waits"},
            "ends: w after a; b waits",
        ),
    ],
)
def test_a_harm_in_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    """What breaks, what shows it, after which steps, and for what it waits."""
    assert orders.Harm((), 0, **fields).sentence == sentence


def test_servers_have_done_their_own_before_the_rest_is_searched() -> None:
    """Where no step is left, and no client and no fault, nothing more happens."""
    alone = RecoveryMode.Parameters(commit_indexes=(1, 2, 2, 2), dead="C D")
    assert orders.order_harm(orders.DOCUMENTED, alone).states == 1


def test_a_schema_change_at_the_end_may_break_a_promise() -> None:
    """Each live node that may makes one; two that run in groups of their own are told."""
    model: Any = orders._planned("new, documents")[0]
    start = model.start()
    assert orders._changed(model, start, Alter, ["A", "B"]) == orders.WHOLE
    alone = [replace(node, group=at + 1, option=0) for at, node in enumerate(start.nodes[:2])]
    apart = replace(start, nodes=(*alone, *start.nodes[2:]), groups=(0b1111, 0b01, 0b10))
    apart = replace(apart, acknowledged=(0, 0, 0))
    assert orders._changed(model, apart, Alter, ["A"]) == "breaks one-group"
    assert orders._changed(model, apart, Alter, []) == orders.WHOLE
    # Who may not is passed over: A has no group.
    without = apart.at(0, group=-1).at(2, status="up", group=1).but(groups=(0b1111, 0b100, 0b10))
    assert orders._changed(model, without, Alter, ["A"]) == orders.WHOLE
    assert orders._changed(model, without, Alter, ["A", "C"]) == "breaks one-group"
    for procedure in PROCEDURES:
        live: Any = orders._planned(procedure)[0]
        assert live.start().changes == 2
        assert live.start().crashes == (procedure != "old")  # a mishap of the old one is a restart
