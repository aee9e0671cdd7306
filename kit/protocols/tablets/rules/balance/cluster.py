"""What the balancer looks at: nodes, and the replicas of all tablets as columns.

A row is a tablet of a base table. Where a merge has brought two siblings together on a shard, their
replicas there move together from then on. A tablet in transition counts as if that had succeeded,
as in the published balancer, also while it goes back.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.group0.rules.releases import NEWEST, Release, has
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, group
from kit.protocols.tablets.rules.replica_sets import TabletReplica, stream_load
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import Edition
from kit.ring.columns import NDArray, np
from kit.ring.topology import Mask

NodeRole = Literal[
    "normal", "leaving", "removing", "left", "down", "excluded", "joining", "zero-token"
]
"""*leaving*, *removing* and *left* nodes are drained. An operator has given up an *excluded* one,
which never takes a tablet. One that is *down* may come back (``NodePlaces``). The last two take no
tablets: one not yet, one never.
"""

STAYING: tuple[NodeRole, ...] = ("normal", "down", "excluded")
"""Of nodes that own tokens, and are not asked to go."""

Codes = NDArray[np.int32]
Bytes = NDArray[np.int64]
NOBODY = -1
UNKNOWN = -1
SMALLEST = 100  # a tablet counts for at least this part of the target size
STREAMING_STAGES = frozenset(
    ("allow_write_both_read_old", "write_both_read_old", "rebuild_repair", "streaming", "repair")
)
"""The stages in which a tablet's transition counts as streams."""

TabletSizes = Mapping[str, Sequence[Mapping[str, int]]]
"""For each table the bytes of each tablet's replicas by host; what is not there is not known."""


class BalancerNode(Struct, frozen=True):
    """A node: where it stands, how many shards it has, its disk in bytes (0: not known)."""

    host: str
    datacenter: str
    rack: str
    shards: int
    capacity: int = 0
    role: NodeRole = "normal"


class TabletRows(Struct, frozen=True, eq=False):
    """The replicas of all tablets: a row for each tablet, by table and number.

    All from ``nodes`` on have a column for each replica, with ``NOBODY`` where a tablet has fewer.
    A size is in bytes, or ``UNKNOWN``; a weight is what edition ``server`` counts of all tables of
    a group (``counted_bytes``). ``together`` is how many tablets move with a replica: one, two
    where the odd sibling is with it, none for that one.
    """

    table: Codes
    number: Codes
    busy: Mask
    nodes: Codes
    shards: Codes
    sizes: Bytes
    weights: Bytes
    together: Codes


class BalancerInput(Struct, frozen=True, eq=False):
    """All that a plan depends on.

    ``reads`` and ``writes`` are the streams that each shard has now, in the order of nodes and
    their shards. ``pairs`` are rows of siblings that a merge waits for: even, odd. ``rack_lists``
    are the tables and datacenters in which racks are named that have a replica each. Of the hosts
    in ``incomplete`` the server lacks the capacity, or the size of a replica. ``rebuild`` is how a
    replica of a removed node is rebuilt; a server that ``counts`` looks at no sizes.
    """

    nodes: tuple[BalancerNode, ...]
    tables: tuple[str, ...]
    rows: TabletRows
    reads: Codes
    writes: Codes
    pairs: tuple[tuple[int, int], ...] = ()
    target_size: int = TARGET_SIZE
    streams_read: int = 2
    streams_write: int = 2
    enabled: bool = True
    rack_lists: frozenset[tuple[str, str]] = frozenset()
    incomplete: frozenset[str] = frozenset()
    rebuild: TransitionKind = "rebuild_v2"
    counts: bool = False


def balancer_input(
    nodes: Sequence[BalancerNode],
    maps: Mapping[str, TabletMap],
    sizes: TabletSizes | None = None,
    *,
    weights: TabletSizes | None = None,
    target_size: int = TARGET_SIZE,
    enabled: bool = True,
    rack_lists: frozenset[tuple[str, str]] = frozenset(),
    release: Release = NEWEST,
) -> BalancerInput:
    """The balancer's view of tablet maps, which go by the name of their table.

    ``weights`` are counted from ``sizes`` where they are not given. A host whose sizes or capacity
    are not all among those given is ``incomplete``; without any ``sizes``, all count as the target
    size. ``enabled`` is whether loads are evened out, ``rack_lists`` as in ``BalancerInput``, and
    ``release`` the server's (2025.1 looks at no capacities, and none before 2026.1 at sizes).
    BadInput for a replica on a host that is no node, or on a shard that its node lacks.
    """
    measures = has("complete-statistics", release)
    if not has("by-capacity", release):
        nodes = [replace(node, capacity=0) for node in nodes]
    bases = {name: table for name, table in maps.items() if not table.base_table}
    codes = {node.host: code for code, node in enumerate(nodes)}
    tablets = [tablet for table in bases.values() for tablet in table.tablets]
    sets = [tablet.sets.new for tablet in tablets]
    places = [place for each in sets for place in each]
    for host, shard in places:
        if host not in codes:
            raise BadInput("replica", host, "a host of the cluster")
        if not 0 <= shard < nodes[codes[host]].shards:
            allowed = f"a shard below {nodes[codes[host]].shards}, the shards of {host}"
            raise BadInput("replica shard", shard, allowed)
    held = np.array([len(each) for each in sets], np.int32)
    columns = np.arange(max(held, default=0)) < held[:, None]

    def spread(values: list[int], dtype: type[np.signedinteger]) -> NDArray[np.signedinteger]:
        table = np.full(columns.shape, NOBODY, dtype)
        table[columns] = values
        return table

    counts = [table.count for table in bases.values()]
    measured = list(_measured(bases, maps, sizes, weights or {}, target_size))
    rows = TabletRows(
        np.repeat(np.arange(len(bases), dtype=np.int32), counts),
        np.array([number for count in counts for number in range(count)], np.int32),
        np.array([bool(tablet.transition) for tablet in tablets], np.bool_),
        spread([codes[place.host] for place in places], np.int32),
        spread([place.shard for place in places], np.int32),
        spread([size for size, _ in measured], np.int64),
        spread([weight if measures else target_size for _, weight in measured], np.int64),
        spread(list(_together(bases)), np.int32),
    )
    reads, writes = _streams(nodes, codes, tablets)
    pairs = tuple(_pairs(bases))
    # Of a table without sizes, or where no capacity is given, nothing says what the server knows.
    given_sizes = [not sizes or all(name in sizes for name in group(base, maps)) for base in bases]
    lacks = columns & (rows.sizes == UNKNOWN) & np.array(given_sizes, np.bool_)[rows.table][:, None]
    lacking = {nodes[code].host for code in rows.nodes[lacks].tolist()}
    without = {node.host for node in nodes if not node.capacity}
    return BalancerInput(
        *(tuple(nodes), tuple(bases), rows, reads, writes, pairs, target_size),
        streams_read=2 if has("two-reads", release) else 4,
        enabled=enabled,
        rack_lists=rack_lists,
        incomplete=frozenset(
            (lacking if sizes is not None and measures else set())
            | (without if len(without) < len(nodes) and measures else set())
        ),
        rebuild="rebuild_v2" if has("rebuild-after-repair", release) else "rebuild",
        counts=not measures,
    )


def group_rows(
    base: str, maps: Mapping[str, TabletMap], sizes: TabletSizes | None
) -> Iterator[list[Mapping[str, int]]]:
    """For each tablet the known bytes of its replicas by host, in each table of its group."""
    columns = [(sizes or {}).get(name, ()) for name in group(base, maps)]
    for number in range(maps[base].count):
        yield [column[number] if number < len(column) else {} for column in columns]


def added_up(rows: Iterable[Mapping[str, int]], host: str) -> int:
    """The bytes of a replica in all tables of a group; unknown where those of one are."""
    parts = [row.get(host, UNKNOWN) for row in rows]
    return UNKNOWN if UNKNOWN in parts else sum(parts)


def counted_bytes(size: int, target_size: int) -> int:
    """The bytes that a tablet of one table counts for the load of its holder.

    That is the target size where its size is not known, and a hundredth of it at least (published
    ``minimal_tablet_size_for_balancing``).
    """
    return max(target_size if size == UNKNOWN else size, target_size // SMALLEST)


def _measured(
    bases: Mapping[str, TabletMap],
    maps: Mapping[str, TabletMap],
    sizes: TabletSizes | None,
    weights: TabletSizes,
    target_size: int,
) -> Iterator[tuple[int, int]]:
    for base, table in bases.items():
        weighed = weights.get(base, ({},) * table.count)
        every = zip(table.tablets, group_rows(base, maps, sizes), weighed, strict=True)
        for tablet, rows, weighs in every:
            for place in tablet.sets.new:
                *parts, own = (_expected(tablet, row, place.host) for row in (*rows, weighs))
                of_parts = sum(counted_bytes(part, target_size) for part in parts)
                size = UNKNOWN if UNKNOWN in parts else sum(parts)
                yield size, of_parts if own == UNKNOWN else own


def _expected(tablet: Tablet, row: Mapping[str, int], host: str) -> int:
    """The bytes of a replica on a host. One that a migration adds will be as large as the one that
    leaves, one that is rebuilt as large as the others on average (published
    ``get_tablet_size_in_transition``).
    """
    if host in row or not tablet.transition:
        return row.get(host, UNKNOWN)
    old, new = ({place.host for place in each} for each in (tablet.replicas, tablet.sets.new))
    sources = old if tablet.transition.startswith("rebuild") else set()
    if tablet.transition == "migration" and host not in old:
        sources = old - new
    known = [row[source] for source in sources if source in row]
    return sum(known) // len(known) if known else UNKNOWN


def _together(bases: Mapping[str, TabletMap]) -> Iterator[int]:
    for table in bases.values():
        after = dict(table.pairs)
        before = {odd: even for even, odd in table.pairs}
        for number, tablet in enumerate(table.tablets):
            shared: Container[TabletReplica] = ()
            if (other := after.get(number, before.get(number))) is not None:
                sibling = table.tablets[other]
                if not (tablet.transition or sibling.transition):
                    shared = sibling.replicas
            for place in tablet.sets.new:
                yield (0 if number in before else 2) if place in shared else 1


def _pairs(bases: Mapping[str, TabletMap]) -> Iterator[tuple[int, int]]:
    first = 0
    for table in bases.values():
        for even, odd in table.pairs:
            if set(table.tablets[even].sets.new) != set(table.tablets[odd].sets.new):
                yield first + even, first + odd
        first += table.count


def _streams(
    nodes: Sequence[BalancerNode], codes: Mapping[str, int], tablets: Sequence[Tablet]
) -> tuple[Codes, Codes]:
    first, unread = first_shards(nodes), unread_hosts(nodes)
    reads, writes = (np.zeros(first[-1], np.int32) for _ in range(2))
    for tablet in tablets:
        if tablet.transition and tablet.stage in STREAMING_STAGES:
            load = stream_load(tablet.transition, tablet.sets, unread)
            for streams, places in ((reads, load.reads), (writes, load.writes)):
                for place in places:
                    if place.host in codes:
                        streams[first[codes[place.host]] + place.shard] += load.weight
    return reads, writes


def unread_hosts(nodes: Sequence[BalancerNode]) -> frozenset[str]:
    """The hosts that nothing can be read from: they are removed, or left alone."""
    return frozenset(n.host for n in nodes if n.role in ("removing", "left", "excluded"))


def first_shards(nodes: Sequence[BalancerNode]) -> list[int]:
    """The number of each node's first shard, when all shards are counted; at last their count."""
    return list(accumulate((node.shards for node in nodes), initial=0))


DRAINED: frozenset[NodeRole] = frozenset(("leaving", "removing", "left"))
NOT_MOVED: frozenset[NodeRole] = frozenset(("down", "excluded"))
"""Nothing leaves such a node to even out loads."""


class NodePlaces:
    """The datacenter and rack of each node as codes, whether it takes tablets.

    The published balancer skips nodes that are down only where it drains none: while a node of
    their datacenter is to leave or to be removed, they take tablets too, and the drain waits for
    them (``make_plan`` of ``service/tablet_allocator.cc``: the skiplist). ``named`` says for each
    table and node whether racks of its datacenter have replicas by name; then a rack is planned
    for itself.
    """

    def __init__(self, given: BalancerInput, edition: Edition) -> None:
        nodes = given.nodes
        self.dc = _codes([node.datacenter for node in nodes])
        self.rack = _codes([(node.datacenter, node.rack) for node in nodes])
        self.drained = np.array([node.role in DRAINED for node in nodes], np.bool_)
        self.named = np.zeros((len(given.tables), len(nodes)), np.bool_)
        numbers = {name: number for number, name in enumerate(given.tables)}
        datacenters = np.array([node.datacenter for node in nodes])
        for table, datacenter in given.rack_lists:
            if table in numbers:
                self.named[numbers[table]] |= datacenters == datacenter
        self._edition = edition
        self.takes = np.array([node.role == "normal" for node in nodes], np.bool_)
        down = np.array([node.role == "down" and edition == "server" for node in nodes], np.bool_)
        drains = np.array([node.role in ("leaving", "removing") for node in nodes], np.bool_)
        for datacenter in dict.fromkeys(self.dc.tolist()):
            for scope in self.scopes(datacenter):
                if (drains & scope).any():
                    self.takes |= down & scope

    def scopes(self, datacenter: int) -> Iterator[Mask]:
        """The nodes of a datacenter (by its code) that are planned together, and among which loads
        are to be even: those of each rack where the server has a table that names racks there.
        """
        inside = self.dc == datacenter
        if self._edition == "documents" or not self.named[:, inside].any():
            yield inside
            return
        for rack in dict.fromkeys(self.rack[inside].tolist()):
            yield self.rack == rack

    def racks_of(self, nodes: Codes, local: Mask) -> tuple[Codes, Codes]:
        """For rows of nodes: the rack of each ``local`` one, and how many of the row are there."""
        racks = np.where(local & (nodes != NOBODY), self.rack[nodes], NOBODY)
        return racks, (racks[..., :, None] == racks[..., None, :]).sum(-1) * (racks != NOBODY)

    def open_to(self, rows: TabletRows, tablets: Any, sources: Any, targets: Any) -> Mask:
        """Whether replicas on some nodes may go to others, or to another shard there, if nothing
        else forbids it: for rows, sources and targets (numbers, or arrays that broadcast).

        A target holds no other replica of the tablet, and its rack gets no more of them than the
        rack with the most has; none crosses racks where these are named.
        """
        there, sources, targets = rows.nodes[tablets], np.asarray(sources), np.asarray(targets)
        fit: Mask = (targets == sources) | (there != targets[..., None]).all(-1)
        fit &= self.takes[targets] & (self.dc[sources] == self.dc[targets])
        crosses = self.rack[sources] != self.rack[targets]
        if crosses.any():
            local = self.dc[there] == self.dc[sources][..., None]
            racks, alike = self.racks_of(there, local)
            spread = (racks == self.rack[targets][..., None]).sum(-1) < alike.max(-1)
            fit &= ~crosses | spread & ~self.named[rows.table[tablets], sources]
        return fit

    def fit(self, rows: TabletRows, tablets: Sequence[int], giver: int) -> Mask:
        """The other nodes that replicas on one may go to, those of all these rows together."""
        targets = np.arange(len(self.dc))
        fit: Mask = targets != giver
        for row in tablets:
            fit &= self.open_to(rows, row, giver, targets)
        return fit

    def parted(self, rows: TabletRows) -> TabletRows:
        """The rows with siblings apart that are on a node to drain and have no common target: to
        empty the node comes before the merge that brought them together.
        """
        pairs = np.argwhere(rows.together == 2)
        pairs = pairs[self.drained[rows.nodes[pairs[:, 0], pairs[:, 1]]]]
        together = rows.together.copy()
        for even, column in pairs.tolist():
            giver = int(rows.nodes[even, column])
            if not self.fit(rows, (even, even + 1), giver).any():
                other = int((rows.nodes[even + 1] == giver).argmax())
                together[even, column] = together[even + 1, other] = 1
        return replace(rows, together=together)


def _codes(values: Sequence[object]) -> Codes:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
