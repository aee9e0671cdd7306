"""The table of searches tells what the searches count."""

from __future__ import annotations

from tests.protocols.dataplane.runs import CLEAN, LARGE
from tests.protocols.dataplane.table import BEYOND, PLACE, TAIL, assert_current, parsed

MOST_STATES = 1_000_000
MOST_SECONDS = 180


def test_the_table_is_current() -> None:
    """It holds every configuration with its states and steps, and which target runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_what_is_not_proved_is_told() -> None:
    """Below stands what was searched in part only, and how far."""
    assert PLACE.read_text(encoding="utf-8").endswith(f"{TAIL}{BEYOND}")


def test_what_every_landing_searches_is_small() -> None:
    """Each run of ``make test`` has at most a million states; all took less than three minutes."""
    rows = [row for row in parsed(PLACE.read_text(encoding="utf-8")) if row.target == "make test"]
    assert max(row.states for row in rows) <= MOST_STATES
    assert sum(row.seconds for row in rows) < MOST_SECONDS
