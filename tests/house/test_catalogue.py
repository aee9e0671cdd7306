"""The page of what testers check is true: each row, each safeguard in it, each sight."""

from __future__ import annotations

import pytest

from kit.model.registry import build, entries
from kit.search.check import check
from tools.catalogue import Shown, catalogue

ROWS = [row for _, rows in catalogue() for row in rows]
SHOWN = [shown for row in ROWS for shown in row.shown]
PAIRS = [(shown, guard) for shown in SHOWN for guard in shown.safeguards]


def test_no_subject_is_left_out() -> None:
    """All 23 stand there in order, each with what holds it or why nothing does."""
    assert [row.number for row in ROWS] == [*range(1, 24)]
    assert all(row.shown or row.remark for row in ROWS)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.model}-{shown.name}")
def test_what_holds_a_row_is_judged(shown: Shown) -> None:
    """Each property that the page names is one of its model."""
    assert shown.judge.title


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("shown", "guard"), PAIRS, ids=[f"{one.model}-{one.name}-{guard}" for one, guard in PAIRS]
)
def test_without_its_safeguard_it_breaks(shown: Shown, guard: str) -> None:
    """A search of the smallest configuration, judging this property alone, finds it broken."""
    given = next(each for each in entries()[shown.model].safeguards if each.id == guard)
    model = build(shown.model, given.breaking(shown.judge.invariant), (given.name,))
    judged = tuple(each for each in model.properties if each.name == shown.name)
    assert check(model, judged, monitors=()).violation is not None
