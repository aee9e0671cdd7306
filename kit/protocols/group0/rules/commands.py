"""The commands of group 0, and the state ids that name what each was built on and leads to.

A state id is a TIMEUUID in the real system: greater than the one before it, and no other node's.
Here it is a small whole number with the same two properties, so that searches meet equal states.
Source: "Using Group 0 to perform schema changes"; published code, ``service/raft``: group 0 client.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

FIRST_STATE = 0
"""The state id of a group that has applied nothing."""


class Command(Struct, frozen=True, cache_hash=True):
    """One entry of group 0's log.

    ``change`` is what it does to the tables, an immutable value that its state machine knows.
    ``previous`` is the state id that it was built on (None: on whatever there is, it always
    applies), ``new`` the id of the state that it leads to. ``creator`` is the node that made it,
    ``description`` what the history says of it. History rows below ``forgets`` go when it is
    applied: they are older than the history is kept.
    """

    change: Any
    previous: int | None
    new: int
    creator: str
    description: str = ""
    forgets: int = FIRST_STATE


def next_state_id(newest: int, given: int, place: int, places: int) -> int:
    """The smallest id above ``newest`` and ``given`` that only this node can give.

    ``newest`` is the newest id of the node's history, ``given`` the greatest one that it gave
    itself. ``place`` is its number among ``places`` nodes, from 0; each has its own residue class.
    """
    least = max(newest, given) + 1
    return least + (place + 1 - least) % places
