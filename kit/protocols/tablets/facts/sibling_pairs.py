"""The pairs of siblings of a table: whether they are together, and what would bring them there."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.tablets.rules.layout import first_token, is_power_of_two, siblings
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.split_merge import colocating


class SiblingPair(Struct, frozen=True):
    """Two tablets that a merge would make one, the tokens of both, and where each has replicas.

    The tokens are those after ``first`` up to ``last``. ``moves`` are the odd one's, from and to;
    without any both are together.
    """

    even: int
    odd: int
    first: int
    last: int
    even_replicas: Replicas
    odd_replicas: Replicas
    moves: tuple[tuple[TabletReplica, TabletReplica], ...]


def pairs(given: TabletMap) -> tuple[SiblingPair, ...]:
    """Every pair; none where there is one tablet, or a count that is no power of two."""
    if given.count < 2 or not is_power_of_two(given.count):
        return ()
    lasts, tablets = given.last_tokens, given.tablets
    return tuple(
        SiblingPair(
            *(even, odd, first_token(even, lasts), lasts[odd]),
            *(tablets[even].replicas, tablets[odd].replicas),
            colocating(tablets[even], tablets[odd]),
        )
        for even, odd in siblings(given.count)
    )
