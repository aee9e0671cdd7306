"""The table of searches tells what the searches count."""

from __future__ import annotations

from tests.protocols.dataplane.table import assert_current
from tests.protocols.vnodes.runs import CLEAN, LARGE
from tests.protocols.vnodes.table import PLACE


def test_the_table_is_current() -> None:
    """It holds every configuration with its states and steps, and which target runs it."""
    assert_current(PLACE, CLEAN, LARGE)
