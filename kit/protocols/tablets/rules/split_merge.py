"""The map after a split or a merge: twice as many tablets, or half as many.

Split and merge pair tablets by number, so they take powers of two. Sources: Topology over Raft,
"Tablet splitting", "Tablet merging".
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.layout import is_power_of_two, siblings, split_tokens
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica


class ApartPair(Struct, frozen=True):
    """Siblings whose replicas are not in the same places; ``moves`` bring the odd one's there."""

    even: int
    odd: int
    moves: tuple[tuple[TabletReplica, TabletReplica], ...]


def split(given: TabletMap) -> TabletMap:
    """The map with each tablet as two, both with its replicas; the resize decision is done.

    Raises:
        BadInput: for a map that cannot be split now: no power of two, a transition under way.
    """
    _check(given, least=1)
    parts = iter(split_tokens(given.last_tokens))
    halves = (replace(tablet, last_token=next(parts)) for tablet in given.tablets for _ in range(2))
    return replace(given, tablets=tuple(halves))


def merged(given: TabletMap) -> TabletMap:
    """The map with each two siblings as one, with the even one's replicas.

    Raises:
        BadInput: for a map that cannot be merged now: no power of two, a transition under way,
            siblings in different places.
    """
    _check(given, least=2)
    for pair in apart(given):
        raise BadInput(f"tablet {pair.odd}", "other replicas", f"those of tablet {pair.even}")
    tablets = given.tablets
    ones = (
        replace(tablets[even], last_token=tablets[odd].last_token)
        for even, odd in siblings(given.count)
    )
    return replace(given, tablets=tuple(ones))


def apart(given: TabletMap) -> Iterator[ApartPair]:
    """The pairs of siblings that are not co-located yet, the order of replicas aside."""
    for even, odd in siblings(given.count):
        moves = colocating(given.tablets[even], given.tablets[odd])
        if moves:
            yield ApartPair(even, odd, moves)


def colocating(even: Tablet, odd: Tablet) -> tuple[tuple[TabletReplica, TabletReplica], ...]:
    """What moves of the odd tablet's replicas put them where the even one's are: from, to.

    A replica on the right host changes its shard; the others are paired in their order.
    """
    wanted = [replica for replica in even.replicas if replica not in odd.replicas]
    held = [replica for replica in odd.replicas if replica not in even.replicas]
    moves = []
    for source in list(held):
        target = next((place for place in wanted if place.host == source.host), None)
        if target is not None:
            moves.append((source, target))
            held.remove(source)
            wanted.remove(target)
    return (*moves, *zip(held, wanted, strict=False))


def _check(given: TabletMap, least: int) -> None:
    if given.count < least or not is_power_of_two(given.count):
        allowed = f"a power of two from {least} on: tablets are split and merged in pairs"
        raise BadInput(f"{given.table} tablet_count", given.count, allowed)
    for index, tablet in enumerate(given.tablets):
        if tablet.transition:
            field = f"{given.table} tablet {index} transition"
            raise BadInput(field, tablet.transition, "no transition under way")
