"""Of all interleavings of the documented steps: how many end with one group and no loss."""

from __future__ import annotations

import pytest

import kit
from kit.protocols.recovery import orders
from kit.protocols.recovery.orders import PROCEDURES

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
