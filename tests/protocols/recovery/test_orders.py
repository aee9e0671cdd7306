"""Of all interleavings of the documented steps: how many end with one group and no loss."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import kit
from kit.engine.orders import Ordered
from kit.protocols.recovery import orders
from kit.protocols.recovery.orders import PROCEDURES
from kit.protocols.recovery.recovery import Alter
from kit.protocols.recovery.recovery_mode import BY_OPERATOR, RecoveryMode, StartServer

COUNTED = {
    ("new, documents", False): {"breaks one-group": 972, "refused": 88_328, "whole": 790},
    ("new, documents", True): {"breaks one-group": 28_668, "refused": 2_460_623, "whole": 33_229},
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


def test_the_documented_order_waits_for_nothing() -> None:
    """Followed without a mishap it ends with a whole cluster; without an upgrade nodes wait."""
    m = RecoveryMode(replace(orders.USUAL, deaths=0))

    def rests(*order: str) -> str:
        steps = orders.actions_of(m, order)
        return orders.at_rest(m, Ordered(m, steps, BY_OPERATOR, always=(StartServer,)))

    assert rests(*orders.DOCUMENTED) == ""
    assert rests() != ""


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
