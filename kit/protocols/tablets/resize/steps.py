"""What the steps of a resize do: decisions, moves, the new map and what replicas hold by it.

Sources: Topology over Raft, "Tablet resize", "Tablet splitting", "Tablet merging"; published
coordinator, its ``tablet_resize_finalization``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.tablets.resize.actions import MoveReplica
from kit.protocols.tablets.resize.state import ResizeState, Store, Stores, numbers
from kit.protocols.tablets.rules.layout import siblings
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import (
    THRESHOLDS,
    ResizeDecision,
    TableSize,
    Thresholds,
    decide,
    finalized,
    is_growing,
    not_final,
    unready,
)
from kit.protocols.tablets.rules.split_merge import apart, colocating

if TYPE_CHECKING:
    from kit.protocols.tablets.resize.model import Resize

TARGET = 100  # the target size: sizes are in hundredths of it


def replica_of(text: str) -> TabletReplica:
    """The replica that ``A:0`` names."""
    host, _, shard = text.partition(":")
    return TabletReplica(host, int(shard or 0))


def parts_of(model: Resize, tablet: int, count: int) -> int:
    """The parts of the line of tokens that a tablet covers (a mask)."""
    width = model.finest // count
    return ((1 << width) - 1) << (tablet * width)


def size_of(model: Resize, s: ResizeState) -> TableSize:
    """What the balancer knows of the table's size, in hundredths of the target size."""
    replicas = len(s.map.tablets[0].replicas)
    return TableSize(
        s.map.table,
        s.map.count,
        replicas,
        s.size * replicas,
        s.map.resize_type,
        s.map.resize_seq_number,
        model.parameters.initial,
        is_growing(s.map.count, model.parameters.initial),
    )


def decision(model: Resize, s: ResizeState) -> ResizeDecision:
    """What the balancer decides on the table by its size."""
    usual = THRESHOLDS[model.parameters.edition]
    return decide(size_of(model, s), Thresholds(TARGET, usual.split_percent, usual.merge_percent))


def is_due(model: Resize, s: ResizeState) -> bool:
    """Whether the sizes ask for another decision than the one that is stored."""
    return decision(model, s).resize_seq_number != s.map.resize_seq_number


def blocked(model: Resize, s: ResizeState) -> Refusal | None:
    """Why the resize may not be finalized now (S-43, S-45)."""
    waits = not_final(s.map, counted_numbers(model, s))
    if waits is None or s.map.resize_type == "none":
        return waits
    if s.map.resize_type == "split" and not model.switches.split_readiness:
        return None
    if s.map.resize_type == "merge" and not model.switches.colocation_test:
        return None
    return waits


def unready_places(model: Resize, s: ResizeState) -> Iterator[tuple[int, TabletReplica]]:
    """The replicas that have not copied the number of the split that is decided."""
    if s.map.resize_type == "split":
        yield from unready(s.map, counted_numbers(model, s))


def counted_numbers(model: Resize, s: ResizeState) -> dict[tuple[int, TabletReplica], int]:
    """The number of each replica as the coordinator counts: it waits for no node that is ignored.

    Source: Topology over Raft, table ``system.topology``, column ``ignore_nodes``.
    """
    now = s.map.resize_seq_number
    return {
        place: number if place[1].host in model.asked else now
        for place, number in numbers(s).items()
    }


def resized(model: Resize, s: ResizeState) -> ResizeState:
    """The state with the new map, and with what its replicas find of their data."""
    stores = _split(model, s) if s.map.resize_type == "split" else _merged(s)
    given = s.map
    if not model.switches.colocation_test and given.resize_type == "merge":
        given = _forced(given)
    return replace(s, map=finalized(given, model.parameters.edition), stores=stores)


def _split(model: Resize, s: ResizeState) -> Stores:
    """Each storage that was divided is two; what was not divided lies in the left half."""
    count, halves = 2 * s.map.count, []
    for index, stores in enumerate(s.stores):
        for right in (False, True):
            own = parts_of(model, 2 * index + right, count)
            halves.append(
                tuple(
                    Store(each.replica, each.parts & own if each.divided or not right else 0)
                    for each in stores
                )
            )
    return tuple(halves)


def _merged(s: ResizeState) -> Stores:
    """Each storage with that of the sibling in the same place, if there is one."""
    ones = []
    for even, odd in siblings(s.map.count):
        beside = {each.replica: each.parts for each in s.stores[odd]}
        ones.append(
            tuple(
                Store(each.replica, each.parts | beside.get(each.replica, 0))
                for each in s.stores[even]
            )
        )
    return tuple(ones)


def _forced(given: TabletMap) -> TabletMap:
    """The map as if odd siblings had the even ones' replicas (S-45 off)."""
    tablets = list(given.tablets)
    for even, odd in siblings(given.count):
        tablets[odd] = replace(tablets[odd], replicas=tablets[even].replicas)
    return replace(given, tablets=tuple(tablets))


def moves(model: Resize, s: ResizeState) -> Iterator[MoveReplica]:
    """The moves that prepare a merge, and those of the balancer, none from or to who is ignored."""
    if s.map.resize_type == "merge":
        for pair in apart(s.map):
            for source, target in pair.moves:
                if {source.host, target.host} <= {*model.asked}:
                    yield MoveReplica(pair.odd, str(source), str(target))
    if not s.moves:
        return
    for index, tablet in enumerate(s.map.tablets):
        if sibling_of(s, index) is not None and index % 2:
            continue
        hosts = {each.host for each in tablet.replicas}
        for source in (each for each in tablet.replicas if each.host in model.asked):
            for host in model.asked:
                if host not in hosts:
                    yield MoveReplica(index, str(source), f"{host}:0")


def sibling_of(s: ResizeState, tablet: int) -> int | None:
    """The sibling that moves along with a tablet: they are co-located for a merge."""
    other = tablet ^ 1
    if s.map.resize_type != "merge" or other >= s.map.count:
        return None
    pair = s.map.tablets[tablet], s.map.tablets[other]
    return None if colocating(*pair) else other


def prepares(s: ResizeState, action: MoveReplica) -> bool:
    """Whether a move brings siblings together."""
    return s.map.resize_type == "merge" and any(
        pair.odd == action.tablet
        and (replica_of(action.source), replica_of(action.target)) in pair.moves
        for pair in apart(s.map)
    )


def moved(s: ResizeState, action: MoveReplica) -> ResizeState:
    """The state once a replica, and that of a co-located sibling, is elsewhere."""
    sibling = sibling_of(s, action.tablet)
    balances = not prepares(s, action)
    for tablet in (action.tablet,) if sibling is None else (action.tablet, sibling):
        s = _one_moved(s, tablet, replica_of(action.source), replica_of(action.target))
    return replace(s, moves=s.moves - balances)


def _one_moved(
    s: ResizeState, tablet: int, source: TabletReplica, target: TabletReplica
) -> ResizeState:
    row = s.map.tablets[tablet]
    replicas = tuple(target if each == source else each for each in row.replicas)
    rows = list(s.map.tablets)
    rows[tablet] = replace(row, replicas=replicas)
    stores = tuple(
        Store(target, each.parts) if each.replica == source else each for each in s.stores[tablet]
    )
    every = list(s.stores)
    every[tablet] = stores
    return replace(s, map=replace(s.map, tablets=tuple(rows)), stores=tuple(every))
