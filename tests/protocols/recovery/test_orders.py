"""Of all interleavings of the documented steps: how many end with one group and no loss."""

from __future__ import annotations

import kit
from kit.protocols.recovery.orders import PROCEDURES

COUNTED = {
    ("new, seed", False): {"breaks one-group": 972, "refused": 88_328, "whole": 790},
    ("new, seed", True): {"breaks one-group": 28_668, "refused": 2_460_623, "whole": 33_229},
    ("new, code", False): {"refused": 755_976, "whole": 780},
    ("new, code", True): {"refused": 24_188_580, "whole": 27_612},
    ("old", False): {"refused": 617_174, "whole": 1_716_586},
    ("old", True): {"refused": 22_614_774, "whole": 61_400_586},
}
"""By procedure, without and with one more crash: how many orders end in which outcome."""


def test_orders_by_what_they_end_in() -> None:
    """Every order is whole, refused by a server at some step, or breaks a promise; none is lost."""
    rows = kit.recovery_orders()
    counted: dict[tuple[str, bool], dict[str, int]] = {}
    for row in rows:
        counted.setdefault((row.procedure, row.crash), {})[row.outcome] = row.orders
    assert counted == COUNTED
    assert {row.procedure for row in rows} == set(PROCEDURES)
