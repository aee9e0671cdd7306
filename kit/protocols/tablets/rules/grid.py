"""Where tablets are: hosts, their shards, and who holds which tablet, in a transition twice.

The same for a model's state and for the maps of a real cluster. A *slot* is the place of a replica
among those of its tablet: a move keeps it, so that the replica is the same one before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from kit.protocols.tablets.rules.availability import selectors
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.topology.rules.machines import Edition

Part = Literal["", "pending", "leaving", "stray"]
"""What a shard has of a tablet: a replica that stays (the empty text), one that the transition adds
or takes away, data of a tablet of which it is no replica."""
Sizes = Mapping[tuple[str, int, TabletReplica], int]
"""The bytes of a replica, by table, number of the tablet and place."""
UNKNOWN: Sizes = MappingProxyType({})


class GridHost(Struct, frozen=True):
    """A node: its shards, its rack, and what is to be said of it (*down*, *leaving*).

    ``health`` (*up*, *down*, *gone* or *joining*) and ``is_banned`` are drawn as of any cast.
    ``leads``: the topology coordinator runs there. ``tag`` is the version that it goes by, as short
    as it can be, or how large its tablets are, or its load.
    """

    name: str
    shards: int = 1
    rack: str = ""
    note: str = ""
    leads: bool = False
    tag: str = ""
    health: str = "up"
    is_banned: bool = False


class TabletWay(Struct, frozen=True):
    """A transition of a tablet: its kind, its stage, the replicas before and after, and those that
    requests use in this stage (``reads``, ``writes``). ``session`` is that of its work, 0 for none;
    of ``work`` each piece is *done*, *failed*, *next* or *later*.
    """

    kind: str
    stage: str
    sets: ReplicaSets
    reads: Replicas
    writes: Replicas
    session: int = 0
    work: tuple[str, ...] = ()


class PlacedTablet(Struct, frozen=True):
    """A tablet: its table, its number there, its replicas, its transitions, stray data of it.

    More than one transition is what a broken promise looks like. ``count`` is how many tablets the
    map has that it is of, where that is an older one, by which some nodes still go; a tablet of the
    newest map is ``unknown_to`` these. ``whole`` are those that hold all
    of its data, ``some`` those that hold any; None: the replicas do.
    """

    table: str
    number: int
    replicas: Replicas
    ways: tuple[TabletWay, ...] = ()
    stray: Replicas = ()
    whole: Replicas | None = None
    some: Replicas = ()
    count: int = 0
    unknown_to: frozenset[str] = frozenset()

    def is_used(self, place: TabletReplica, *, write: bool) -> bool:
        """Whether requests read from a place now, or write to it."""
        sets = [way.writes if write else way.reads for way in self.ways] or [self.replicas]
        return any(place in each for each in sets)

    def arrived(self, place: TabletReplica) -> float:
        """The share of the tablet that is at a place: all, nothing, or some of it as a half."""
        whole = self.replicas if self.whole is None else self.whole
        return 1.0 if place in whole else 0.5 if place in self.some + self.stray else 0.0


class HeldReplica(Struct, frozen=True):
    """What one shard has of one tablet; ``bytes`` None: not known. ``slot`` tells the replicas of a
    tablet apart (-1: it is none), ``twin`` is where the other half of a move is.
    """

    tablet: PlacedTablet
    place: TabletReplica
    slot: int
    part: Part = ""
    bytes: int | None = None
    twin: TabletReplica | None = None

    @property
    def key(self) -> str:
        """The name of it in a picture: of a move, both halves, until one is left."""
        tail = {"pending": f":to:{self.place}", "stray": f":{self.place}"}.get(self.part, "")
        tail += f":of:{self.tablet.count}:{self.place}" * bool(self.tablet.count)
        return f"{self.tablet.table}:{self.tablet.number}:{self.slot}{tail}"


class TabletGrid(Struct, frozen=True, dict=True):
    """The shards of a cluster and what each holds, tablets in their order.

    ``divided`` are replicas, by number and place, whose data are ready for the split of the tablet.
    Where nobody ``asks``, whom requests use is left out: all are used at any time. ``led_by`` is
    the key of what stands over the grid for a coordinator that is nobody's node.
    """

    hosts: tuple[GridHost, ...]
    tablets: tuple[PlacedTablet, ...]
    sizes: Sizes = UNKNOWN
    divided: frozenset[tuple[int, TabletReplica]] = frozenset()
    asks: bool = True
    led_by: str = ""

    @property
    def places(self) -> tuple[TabletReplica, ...]:
        """Every shard, host by host."""
        return tuple(
            TabletReplica(host.name, shard) for host in self.hosts for shard in range(host.shards)
        )

    @cached_property
    def held(self) -> Mapping[TabletReplica, tuple[HeldReplica, ...]]:
        """The replicas of each shard that holds anything."""
        by_place: dict[TabletReplica, list[HeldReplica]] = {}
        for tablet in self.tablets:
            for each in held_replicas(tablet, self.sizes):
                by_place.setdefault(each.place, []).append(each)
        return {place: tuple(all_held) for place, all_held in by_place.items()}

    def called(self, tablet: PlacedTablet) -> str:
        """The name of a tablet: its number, and its table where there are several."""
        of = f" of {tablet.table}" if len(self.tables) > 1 else ""
        return f"tablet {tablet.number}{of}"

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables, in their order."""
        return tuple(dict.fromkeys(tablet.table for tablet in self.tablets))

    @property
    def moving(self) -> tuple[PlacedTablet, ...]:
        """The tablets that are in transition."""
        return tuple(tablet for tablet in self.tablets if tablet.ways)

    def letter(self, table: str) -> str:
        """The letter that tells a table's tablets apart: empty where there is one table."""
        return "" if len(self.tables) < 2 else _letters(self.tables.index(table))

    def count(self, place: TabletReplica) -> int:
        """How many replicas a shard has, those that come and go included."""
        return sum(each.part != "stray" for each in self.held.get(place, ()))

    def bytes(self, place: TabletReplica) -> int:
        """How many bytes a shard holds, as far as sizes are known."""
        return sum(each.bytes or 0 for each in self.held.get(place, ()))


def grid_of_maps(
    maps: Iterable[TabletMap],
    hosts: tuple[GridHost, ...],
    sizes: Sizes | None = None,
    edition: Edition = "server",
) -> TabletGrid:
    """The grid of tables; one that is co-located lies where its base table does."""
    placed = []
    for given in maps:
        for number, t in enumerate(given.tablets):
            ways = (way_of(t, edition),) if t.transition else ()
            placed.append(PlacedTablet(given.table, number, t.replicas, ways))
    return TabletGrid(hosts, tuple(placed), sizes or {})


def way_of(tablet: Tablet, edition: Edition) -> TabletWay:
    """The transition of a tablet of a map."""
    reads, writes = map(tablet.sets.chosen, selectors(tablet, edition))
    kind, stage, session = tablet.transition, tablet.stage, tablet.session
    return TabletWay(kind, stage, tablet.sets, reads, writes, session)


def _letters(number: int) -> str:
    head, tail = divmod(number, 26)
    return (_letters(head) if head else "") + chr(ord("a") + tail)


def held_replicas(tablet: PlacedTablet, sizes: Sizes = UNKNOWN) -> Iterator[HeldReplica]:
    """The replicas of a tablet, those of its transitions, its stray data: each place once."""
    # Where each replica that leaves goes, and where each that comes comes from.
    to: dict[TabletReplica | None, TabletReplica] = {}
    come: dict[TabletReplica, TabletReplica | None] = {}
    for way in tablet.ways:
        leaving = [each for each in way.sets.leaving if each in tablet.replicas]
        for place, source in zip_longest(way.sets.pending, leaving[: len(way.sets.pending)]):
            if place not in tablet.replicas and place not in come:
                come[place], to[source] = source, place

    def held(
        place: TabletReplica, slot: int, part: Part, twin: TabletReplica | None = None
    ) -> HeldReplica:
        size = sizes.get((tablet.table, tablet.number, place))
        return HeldReplica(tablet, place, slot, part, size, twin)

    going = {place for way in tablet.ways for place in way.sets.leaving}
    for slot, place in enumerate(tablet.replicas):
        if place.host not in tablet.unknown_to:
            yield held(place, slot, "leaving" if place in going else "", to.get(place))
    for slot, (place, source) in enumerate(come.items()):
        at = tablet.replicas.index(source) if source else len(tablet.replicas) + slot
        yield held(place, at, "pending", source)
    seen = {*tablet.replicas, *come}
    yield from (held(place, -1, "stray") for place in tablet.stray if place not in seen)
