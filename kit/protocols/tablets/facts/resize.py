"""One state of a resize as people ask of it: the grid, the average, thresholds, readiness."""

from __future__ import annotations

from msgspec import Struct, structs

from kit.errors import Refusal
from kit.protocols.tablets.hosts import LOG
from kit.protocols.tablets.resize import TARGET, Resize, ResizeState
from kit.protocols.tablets.rules.grid import GridHost, PlacedTablet, TabletGrid, grid_of_maps
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import TARGET_SIZE


def grid(m: Resize, s: ResizeState) -> TabletGrid:
    """Who holds which tablet, and how much, on each node by the map that it goes by."""
    places = [each for tablet in s.map.tablets for each in tablet.replicas]
    shards = 1 + max(each.shard for each in places)
    hosts = []
    for name, view in zip(m.names, s.views, strict=True):
        behind = "" if view == s.view else "behind"
        note = behind if name in m.asked else "ignored"
        out = name not in m.asked
        health = "down" if out else "up"
        tag = f"size {s.size // view.count} %"
        hosts.append(GridHost(name, shards, note=note, tag=tag, health=health, is_banned=out))
    pairs = zip(m.names, s.views, strict=True)
    others = {name: view.count for name, view in pairs if view.count != s.map.count}
    older = tuple(
        PlacedTablet(s.map.table, each.tablet, (each.replica,), count=others[each.replica.host])
        for each in s.stores
        if each.replica.host in others
    )
    sizes = {
        (s.map.table, tablet, place): in_bytes(s.size) // others.get(place.host, s.map.count)
        for tablet, place in (
            *((n, place) for n, row in enumerate(s.map.tablets) for place in row.replicas),
            *((each.number, place) for each in older for place in each.replicas),
        )
    }
    splits = s.map.resize_seq_number if s.map.resize_type == "split" else None
    ready = frozenset((each.tablet, each.replica) for each in s.stores if each.number == splits)
    newest = grid_of_maps([s.map], tuple(hosts), sizes, m.edition)
    tablets = (structs.replace(each, unknown_to=frozenset(others)) for each in newest.tablets)
    return structs.replace(newest, tablets=(*tablets, *older), divided=ready, led_by=LOG)


def drained(m: Resize, s: ResizeState) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes that may answer the barrier of a finalization, and the others that it asks; nobody
    where none runs.
    """
    return m.drained(s) if s.phase in ("barrier", "after") else ((), ())


def in_bytes(size: int) -> int:
    """A size of the model, which is in hundredths of the target size, as bytes."""
    return size * TARGET_SIZE // TARGET


class Readiness(Struct, frozen=True):
    """A replica of a tablet: its compaction groups by name, its number, and how many tablets its
    node's map has (``count``). For one that ``is_ignored``, as its node is, nothing waits.
    """

    tablet: int
    replica: TabletReplica
    groups: tuple[str, ...]
    number: int
    count: int
    is_ready: bool
    is_ignored: bool = False


def readiness(m: Resize, s: ResizeState) -> tuple[Readiness, ...]:
    """Every replica of the table, in the order of its tablets."""
    return tuple(
        Readiness(
            *(store.tablet, store.replica, store.names, store.number),
            s.views[m.number(store.replica.host)].count,
            s.map.resize_type == "split" and store.number == s.map.resize_seq_number,
            store.replica.host not in m.asked,
        )
        for store in s.stores
    )


def blocked(m: Resize, s: ResizeState) -> Refusal | None:
    """Why the resize that is decided may not take effect now, if one is."""
    return m.blocked(s) if s.map.resize_type != "none" else None


def awaited(m: Resize, s: ResizeState) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other nodes with replicas that a split asks, and those for which the resize waits."""
    waited = {each.host for tablet in s.map.tablets for each in tablet.sets.pending}
    if not s.moving:
        apart = m.apart(s.map) if s.map.resize_type == "merge" else ()
        waited |= {replica.host for _, replica in m.unready(s)}
        waited |= {target.host for pair in apart for _, target in pair.moves}
    splits = s.map.resize_type == "split"
    others = {each.replica.host for each in s.stores if splits} - waited
    there, missing = (tuple(n for n in m.asked if n in each) for each in (others, waited))
    return there, missing
