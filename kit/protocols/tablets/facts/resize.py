"""One state of a resize as people ask of it: the grid, the average, thresholds, readiness."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, structs

from kit.errors import Refusal
from kit.protocols.tablets.hosts import LOG
from kit.protocols.tablets.resize import TARGET, Resize, ResizeState
from kit.protocols.tablets.rules.grid import SIZED, GridHost, PlacedTablet, TabletGrid, grid_of_maps
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import TARGET_SIZE, ResizeDecision, TableSize


def grid(m: Resize, s: ResizeState) -> TabletGrid:
    """Who holds which tablet, and how much, on each node by the map that it goes by."""
    places = [each for tablet in s.map.tablets for each in tablet.replicas]
    shards = 1 + max(each.shard for each in places)
    hosts, (drained, undrained) = [], _drained(m, s)
    for name, view in zip(m.names, s.views, strict=True):
        behind = "" if view == s.view else "behind"
        role = "answered" if name in drained else "asked" if name in undrained else ""
        note = behind if name in m.asked else "ignored"
        out = name not in m.asked
        health = "down" if out else "up"
        tag = f"{SIZED}{s.size // view.count} %"
        host = GridHost(
            name, shards, note=note, barrier=role, tag=tag, health=health, is_banned=out
        )
        hosts.append(host)
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


def _drained(m: Resize, s: ResizeState) -> tuple[tuple[str, ...], tuple[str, ...]]:
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


class ResizeLine(Struct, frozen=True):
    """Where a table's resize stands, beside what its map says.

    ``size`` is what the average comes from, in bytes; the model counts in hundredths of the target
    size. ``due`` is the decision that the sizes ask for. ``blocked`` says why the stored one may
    not take effect now, ``awaited`` for which nodes it waits; of a split, ``shown`` are the others.
    ``drained`` are the nodes that may answer the barrier of the finalization, ``undrained`` the
    others.
    """

    size: TableSize
    due: ResizeDecision
    blocked: Refusal | None
    awaited: tuple[str, ...]
    shown: tuple[str, ...]
    drained: tuple[str, ...]
    undrained: tuple[str, ...]
    readiness: tuple[Readiness, ...]

    @property
    def barred(self) -> int:
        """How many nodes the barrier asks."""
        return len(self.drained) + len(self.undrained)


def _awaited(m: Resize, s: ResizeState) -> Iterator[str]:
    for tablet in s.map.tablets:
        yield from (each.host for each in tablet.sets.pending)
    if not s.moving:
        yield from (replica.host for _, replica in m.unready(s))
        apart = m.apart(s.map) if s.map.resize_type == "merge" else ()
        yield from (target.host for pair in apart for _, target in pair.moves)


def line(m: Resize, s: ResizeState) -> ResizeLine:
    """The state of a table's resize."""
    size, kind = m.size_of(s), s.map.resize_type
    readiness = (
        Readiness(
            *(store.tablet, store.replica, store.names, store.number),
            s.views[m.number(store.replica.host)].count,
            kind == "split" and store.number == s.map.resize_seq_number,
            store.replica.host not in m.asked,
        )
        for store in s.stores
    )
    waited, holds = {*_awaited(m, s)}, {each.replica.host for each in s.stores if kind == "split"}
    return ResizeLine(
        structs.replace(size, bytes=None if size.bytes is None else in_bytes(size.bytes)),
        m.decision(s),
        m.blocked(s) if kind != "none" else None,
        tuple(name for name in m.asked if name in waited),
        tuple(name for name in m.asked if name in holds - waited),
        *_drained(m, s),
        tuple(readiness),
    )
