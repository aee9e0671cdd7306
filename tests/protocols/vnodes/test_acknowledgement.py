"""What acknowledges a write in a transition: the level in both sets, or one more a pending replica.

The second refuses writes although the old and the new set have a quorum each (Q-48).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.protocols.storage.rules.levels import write_quotas
from kit.protocols.storage.rules.requests import DONE, FAILED
from kit.protocols.storage.rules.view import View
from kit.search.check import check
from tests.protocols.vnodes.runs import OPERATIONS

WRITE = {"rf": 3, "crashes": 2, "requests": ("K1 write QUORUM",)}
LONG = (("bootstrap", "documents"), ("decommission", "documents"))
JUDGED = {"documents": (True, None), "server": (False, "available")}


def test_each_edition_counts_its_way() -> None:
    """Of {A, B, C} and {B, C, X}: two of either set, or three of the four."""
    a, b, c, x = 1, 2, 4, 8
    for edition, wanted in (("documents", [(a | b | c, 2), (b | c | x, 2)]), ("server", [(15, 3)])):
        history = build("vnodes", {"edition": edition}).history
        view = View(a | b | c, 15, a | b | c, b | c | x)
        quotas = write_quotas("QUORUM", view, (15,), 0, history.acknowledgement)
        assert [(quota.replicas, quota.needed) for quota in quotas] == wanted


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("operation", "edition"),
    [
        pytest.param(*pair, marks=[pytest.mark.deep] if pair in LONG else [])
        for pair in product(OPERATIONS, JUDGED)
    ],
)
def test_answers_while_a_quorum_lives(operation: str, edition: str) -> None:
    """By the documents' count no write fails while each set has its quorum; by the published one
    some do.
    """
    model = build("vnodes", {**WRITE, "operation": operation, "edition": edition})
    found = check(model, past_costs=False)
    broken = found.violation.property if found.violation else None
    assert (found.complete, broken) == JUDGED[edition]


@pytest.mark.parametrize(("edition", "phase"), [("documents", DONE), ("server", FAILED)])
def test_two_of_four(edition: str, phase: int) -> None:
    """The same steps under both counts: one client is told *done*, the other *failed*."""
    timeline: Any = open_file(file_named(f"vnodes/two-of-four-{edition}"))
    timeline.goto(timeline.tip)
    assert timeline.state.requests[0].phase == phase
    dark = [verdict.name for verdict in timeline.verdicts() if not verdict.ok]
    assert dark == ([] if phase == DONE else ["available"])
