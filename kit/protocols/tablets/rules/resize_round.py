"""Which new resizes one round begins: the published server limits them (edition ``server``).

Tables come in the order of their average tablets, the largest first. At most ten begin, and the
replicas of all tables that are resized are no more than there are shards; but the first always
begins. Those that have to wait are asked for again in the next round. Source: the resize plan of
the published tablet allocator; the documents limit nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

MOST_NEW = 10
"""Resizes that begin in one round."""


class WantedResize(Struct, frozen=True):
    """A table that is resized or is to be: its average tablet (bytes), the replicas of all its
    tablets; ``begun`` says that its resize is under way.
    """

    table: str
    average: int
    replicas: int
    begun: bool


class LaterRound(Struct, frozen=True):
    """A resize that waits: for others of this round, for shards, or its turn.

    With *turn* there are shards enough, but one with larger tablets waits, and none overtakes it.
    ``taken`` of ``limit`` were in use when its turn came; it needs ``needs`` of them.
    """

    waits_for: Literal["requests", "shards", "turn"]
    taken: int
    needs: int
    limit: int


def later(wanted: Sequence[WantedResize], shards: int) -> dict[str, LaterRound]:
    """The tables whose resize does not begin in this round, and why."""
    taken = sum(each.replicas for each in wanted if each.begun)
    begins = 0
    waiting: dict[str, LaterRound] = {}
    new = (each for each in wanted if not each.begun)
    for each in sorted(new, key=lambda table: (-table.average, table.table)):
        if begins == MOST_NEW:
            waiting[each.table] = LaterRound("requests", begins, 1, MOST_NEW)
        elif begins and taken + each.replicas > shards:
            waiting[each.table] = LaterRound("shards", taken, each.replicas, shards)
        elif waiting:
            waiting[each.table] = LaterRound("turn", taken, each.replicas, shards)
        else:
            begins += 1
            taken += each.replicas
    return waiting
