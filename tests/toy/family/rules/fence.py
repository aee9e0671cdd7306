"""The fence: a store refuses a number below one that it has seen."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import Refusal

NOTHING = 0
"""The number of a client that never had a lease, and of a store that nobody wrote to."""


class LeaseSafeguards(Struct, frozen=True, kw_only=True):
    """The one switch that there is."""

    fence: bool = True
    """Off, the store takes any number."""


def refusal(number: int, seen: int, safeguards: LeaseSafeguards) -> Refusal | None:
    """Why a write with ``number`` is refused by a store that has seen ``seen``."""
    if number >= seen or not safeguards.fence:
        return None
    return Refusal(f"the store has seen number {seen}, and {number} is older")
