"""The fence: a store refuses a number below one that it has seen."""

from __future__ import annotations

from kit.errors import Refusal

NOTHING = 0
"""The number of a client that never had a lease, and of a store that nobody wrote to."""


def refusal(number: int, seen: int) -> Refusal | None:
    """Why a write with ``number`` is refused by a store that has seen ``seen``."""
    if number >= seen:
        return None
    return Refusal(f"the store has seen number {seen}, and {number} is older")
