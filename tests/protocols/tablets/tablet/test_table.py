"""The table of searches tells what the searches count."""

from __future__ import annotations

from tests.protocols.dataplane.table import assert_current, parsed
from tests.protocols.tablets.tablet.runs import CLEAN, LARGE
from tests.protocols.tablets.tablet.table import PLACE

MOST_STATES = 500_000


def test_the_table_is_current() -> None:
    """It holds every configuration with its states and steps, and which target runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_what_every_landing_searches_fits() -> None:
    """All runs of ``make test`` together have at most half a million states."""
    rows = [row for row in parsed(PLACE.read_text(encoding="utf-8")) if row.target == "make test"]
    assert sum(row.states for row in rows) <= MOST_STATES
