"""What a dump of tablets says of a cluster: who holds what, which transitions there are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import check_one_of
from kit.operators.importers.schema import Factor
from kit.protocols.group0.rules.releases import NEWEST, Release, has
from kit.protocols.tablets.dry_run.opening import SOMEWHERE, OpenedTablets
from kit.protocols.tablets.rules import resize
from kit.protocols.tablets.rules.availability import selectors
from kit.protocols.tablets.rules.balance.cluster import STAYING, UNKNOWN, group_rows
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.maps import TabletMap, first_token, group, keyspace_of, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.replication import Misfit, Replication, misfits
from kit.protocols.topology.rules.machines import Edition
from kit.ring.columns import np


class TabletNode(Struct, frozen=True):
    """A node: its tablets, their bytes as far as known, and the part of its capacity they take.
    ``up`` is true where nothing tells; a tablet in transition counts as if that had succeeded;
    ``unsized`` are those whose bytes no file gives.
    """

    host: str
    datacenter: str
    rack: str
    shards: int
    role: str
    up: bool
    tablets: int
    most_on_a_shard: int
    least_on_a_shard: int
    bytes: int | None
    unsized: int
    capacity: int | None
    utilisation: float | None


class TabletTable(Struct, frozen=True):
    """A table, or a group of co-located ones: how many tablets, replicas by datacenter, bytes."""

    table: str
    colocated: tuple[str, ...]
    tablets: int
    replicas: Mapping[str, int]
    bytes: int | None
    average: int | None
    resize_type: str
    resize_seq_number: int


class TransitionLine(Struct, frozen=True):
    """A tablet in transition: its kind and stage, and what requests use there."""

    table: str
    tablet: int
    kind: str
    stage: str
    reads: str
    writes: str
    replicas: tuple[str, ...]
    new_replicas: tuple[str, ...]


class MisfitTablet(Struct, frozen=True):
    """A tablet whose replicas are not those that its keyspace asks for."""

    table: str
    tablet: int
    misfits: tuple[Misfit, ...]


class TabletKeyspace(Struct, frozen=True):
    """A keyspace with tablets: its replication, its tables in the dump, the tablets that differ.

    ``replication`` has a number for a datacenter, or the racks that have a replica each; it is
    empty where nothing tells of datacenters, and then no tablet is judged. ``views`` are those of
    the schema by name, with their base tables; ``without_tablets`` are its tables that the dump
    does not have.
    """

    keyspace: str
    replication: Mapping[str, Factor]
    tables: tuple[str, ...]
    tablets: int
    differing: tuple[MisfitTablet, ...]
    views: Mapping[str, str]
    without_tablets: tuple[str, ...]


class TabletsReport(Struct, frozen=True):
    """A dump in figures; ``keyspaces`` as a schema tells of them."""

    source: str
    edition: Edition
    balancing: bool
    nodes: tuple[TabletNode, ...]
    tables: tuple[TabletTable, ...]
    transitions: tuple[TransitionLine, ...]
    keyspaces: tuple[TabletKeyspace, ...] = ()
    warnings: tuple[str, ...] = ()


class ResizeLine(Struct, frozen=True):
    """A table's resize: what is decided now, what would be, and how far it is from a change.

    ``to_split`` is by how much an average tablet would have to grow for its size to ask for a
    split, ``to_merge`` by how much to shrink for a merge, in bytes; None where sizes are not known.
    ``to_revoke`` is the same for the end of a resize that is under way; None without one.
    ``target`` is what all rules of the published server ask for (with the defaults of a schema
    where none is given), and what it decides by; None where shards are not known, and in
    ``documents``. ``later`` says why a new resize does not begin in the next round; None: it does.
    """

    table: str
    colocated: tuple[str, ...]
    tablets: int
    average: int | None
    split_above: int
    merge_below: int
    to_split: int | None
    to_merge: int | None
    to_revoke: int | None
    was: str
    decision: str
    resize_seq_number: int
    reason: resize.ResizeReason
    target: resize.TargetCount | None = None
    later: resize.LaterRound | None = None


def tablets_report(opened: OpenedTablets) -> TabletsReport:
    """The nodes, tables and transitions of an opened cluster."""
    return TabletsReport(
        opened.source,
        opened.edition,
        opened.enabled,
        tuple(_nodes(opened)),
        tuple(_tables(opened)),
        tuple(_transitions(opened)),
        tuple(_keyspaces(opened)),
        opened.warnings,
    )


def _nodes(opened: OpenedTablets) -> Iterator[TabletNode]:
    gone, given = opened.gone, opened.input
    counts, known = Loads(given, "documents"), given.rows.sizes != UNKNOWN
    # The balancer counts small replicas, and those that are not known, for more.
    held = np.zeros(len(given.nodes), np.int64)
    np.add.at(held, given.rows.nodes[known], given.rows.sizes[known])
    # Where a tablet has fewer replicas than others there is nobody, of no size.
    without = given.rows.nodes[~known & (given.rows.nodes >= 0)]
    unsized = np.bincount(without, minlength=len(given.nodes))
    for code, node in enumerate(opened.nodes):
        shards = counts.held[counts.first[code] : counts.first[code + 1]]
        size = None if opened.sizes is None else int(held[code])
        yield TabletNode(
            *(node.host, node.datacenter, node.rack, node.shards),
            node.role,
            node.host not in gone,
            *(int(shards.sum()), int(shards.max()), int(shards.min())),
            *(size, int(unsized[code]), node.capacity or None),
            size / node.capacity if size is not None and node.capacity else None,
        )


def _tables(opened: OpenedTablets) -> Iterator[TabletTable]:
    for name, table in opened.bases.items():
        size = table_size(opened, name)
        yield TabletTable(
            *(name, group(name, opened.maps)[1:], table.count, _replicas(opened, table)),
            *(size.bytes, size.average_tablet, table.resize_type, table.resize_seq_number),
        )


def _replicas(opened: OpenedTablets, table: TabletMap) -> dict[str, int]:
    places = opened.places
    most: Counter[str] = Counter()
    for tablet in table.tablets:
        most |= Counter(places[replica.host][0] for replica in tablet.replicas)
    return dict(sorted(most.items()))


def _transitions(opened: OpenedTablets) -> Iterator[TransitionLine]:
    for name, table in opened.maps.items():
        for number, tablet in enumerate(table.tablets):
            if tablet.transition:
                yield TransitionLine(
                    *(name, number, tablet.transition, tablet.stage),
                    *selectors(tablet, opened.edition),
                    tuple(map(str, tablet.replicas)),
                    tuple(map(str, tablet.new_replicas)),
                )


def _keyspaces(opened: OpenedTablets) -> Iterator[TabletKeyspace]:
    schema, maps = opened.schema, opened.maps
    if schema is None:
        return
    for name in dict.fromkeys(map(keyspace_of, maps)):
        if name not in schema.keyspaces:
            continue
        own = [table for table in maps if keyspace_of(table) == name]
        replication = opened.replication(name)
        described = [each for each in schema.tables.values() if each.keyspace == name]
        yield TabletKeyspace(
            name,
            replication,
            tuple(own),
            sum(maps[table].count for table in own),
            tuple(_differing(opened, own, replication)) if replication else (),
            {each.full: f"{name}.{each.view_of}" for each in described if each.view_of},
            tuple(each.full for each in described if each.full not in maps),
        )


def _differing(
    opened: OpenedTablets, tables: Sequence[str], replication: Replication
) -> Iterator[MisfitTablet]:
    places = opened.places
    known: dict[Replicas, tuple[Misfit, ...]] = {}
    for name in tables:
        for number, tablet in enumerate(opened.maps[name].tablets):
            replicas = tablet.sets.new
            if replicas not in known:
                hosts = [places[replica.host] for replica in replicas]
                known[replicas] = tuple(misfits(hosts, replication))
            if known[replicas]:
                yield MisfitTablet(name, number, known[replicas])


def table_size(opened: OpenedTablets, base: str) -> resize.TableSize:
    """The size of a table with those that are co-located, as resize decisions take it.

    A replica that a transition adds does not count; the bytes are not known where one's are not.
    The schema tells of the initial count, which keeps a table in growing mode in edition
    ``documents``. There one that was never resized is in that mode, whatever the schema says.
    """
    table, tables = opened.maps[base], group(base, opened.maps)
    replicas = sum(len(tablet.replicas) for tablet in table.tablets)
    initial, fresh = _options(opened, base).initial, not table.resize_seq_number
    if opened.edition == "documents" and fresh:
        initial = max(initial, table.count)
    growing = resize.is_growing(table.count, initial)
    if opened.edition == "server":  # which looks at that in 2025.1 only
        growing = not has("sizing-rules", opened.release) and table.resize_seq_number == 0
    rows = zip(table.tablets, group_rows(base, opened.maps, opened.sizes), strict=True)
    sizes = (row.get(each.host) for t, some in rows for row in some for each in t.replicas)
    return resize.TableSize(
        base,
        table.count,
        round(replicas / table.count),
        resize.group_bytes(sizes),
        table.resize_type,
        table.resize_seq_number,
        initial,
        growing,
        len(tables),
    )


def _options(opened: OpenedTablets, name: str) -> resize.CountOptions:
    if opened.schema is None:
        return resize.CountOptions()
    keyspace = opened.schema.keyspaces.get(keyspace_of(name))
    table = opened.schema.tables.get(name)
    counts = {} if table is None else table.counts
    per_shard = counts.get("min_per_shard_tablet_count")
    return resize.CountOptions(
        0 if keyspace is None else keyspace.initial,
        int(counts.get("min_tablet_count", 0)),
        int(counts.get("max_tablet_count", 0)),
        int(counts.get("expected_data_size_in_gb", 0)),
        Fraction(per_shard or 0) or None,  # published: no option is set by 0
        bool(counts["pow2_count"]) if "pow2_count" in counts else None,
    )


def resizes(opened: OpenedTablets) -> tuple[ResizeLine, ...]:
    """The decision on each table, or group of co-located ones.

    In edition ``server`` those are known, too, that do not begin in the next round. What a table
    should have follows from the shards of all normal nodes that are to stay, up or not; how much is
    resized at once from those of all that own tokens (published ``make_resize_plan``).
    """
    limits = resize.thresholds(opened.edition, opened.release, opened.target_size)
    bases = opened.bases
    sizes = {name: table_size(opened, name) for name in bases}
    shards: dict[str, dict[str, int]] = {}  # of each rack
    for node in opened.nodes:
        if node.role in STAYING:
            racks = shards.setdefault(node.datacenter, {})
            racks[node.rack] = racks.get(node.rack, 0) + node.shards
    targets: dict[str, resize.TargetCount] = {}
    if opened.edition == "server" and SOMEWHERE not in shards and not limits.sizes_only:
        factors = {
            name: opened.replication(keyspace_of(name)) or _replicas(opened, table)
            for name, table in bases.items()
        }
        options = {
            name: resize.combined([_options(opened, each) for each in group(name, opened.maps)])
            for name in (bases if opened.schema else ())
        }
        targets = resize.target_counts(sizes, options, factors, shards, limits)
    lines = {
        name: resize_line(size, limits, group(name, opened.maps)[1:], targets.get(name))
        for name, size in sizes.items()
    }
    waiting: Mapping[str, resize.LaterRound] = {}
    if opened.edition == "server":
        wanted = [
            resize.WantedResize(
                name,
                (line.average or 0) // sizes[name].tables,
                sum(len(tablet.replicas) for tablet in bases[name].tablets),
                begun=line.was != "none",
            )
            for name, line in lines.items()
            if line.decision != "none" or line.was != "none"
        ]
        owners = (*STAYING, "leaving", "removing")
        waiting = resize.later(wanted, sum(n.shards for n in opened.nodes if n.role in owners))
    return tuple(replace(line, later=waiting.get(name)) for name, line in lines.items())


def resize_line(
    size: resize.TableSize,
    limits: resize.Thresholds,
    colocated: tuple[str, ...] = (),
    target: resize.TargetCount | None = None,
) -> ResizeLine:
    """The decision on a table, and how far it is from another one."""
    decision = resize.decide_by_count(size, limits, target)
    average, split, merge = size.average_tablet, limits.split_above, limits.merge_below
    return ResizeLine(
        *(size.table, colocated, size.count, average, split, merge),
        None if average is None else max(0, split + 1 - average),
        None if average is None else max(0, average + 1 - merge),
        resize.until_revoked(size, limits),
        size.resize_type,
        *(decision.resize_type, decision.resize_seq_number, decision.reason),
        target,
    )


# -- a table that is imagined on the command line --------------------------------------------------

MOST = {"count": 2**20, "rf": 1000, "shards": 10**6, "size": 2**62, "target": 2**62}
FORM = "NAME=NUMBER pairs separated by commas: count=8,rf=3,size=400G,shards=16,target=5G"
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", re.ASCII)


class TokenLine(Struct, frozen=True):
    """A tablet's tokens: those after ``after`` up to ``last_token``."""

    tablet: int
    after: int
    last_token: int


class ImaginedTable(Struct, frozen=True):
    """A table of so many tablets: the bytes of all its replicas, how many shards there are."""

    edition: Edition
    count: int
    rf: int = 1
    size: int | None = None
    shards: int | None = None
    target: int = resize.TARGET_SIZE
    release: Release = NEWEST

    def resize(self) -> ResizeLine:
        """The decision on it; with shards also what the published server's rules ask for."""
        size = resize.TableSize("table", self.count, self.rf, self.size)
        limits, target = resize.thresholds(self.edition, self.release, self.target), None
        if self.shards is not None and self.edition == "server" and not limits.sizes_only:
            shards, factors = {"dc1": {"r1": self.shards}}, {size.table: {"dc1": self.rf}}
            target = resize.target_counts({size.table: size}, {}, factors, shards, limits)["table"]
        return resize_line(size, limits, target=target)

    def tokens(self) -> tuple[TokenLine, ...]:
        """The tokens of each tablet."""
        lasts = last_tokens(self.count)
        firsts = (first_token(number, lasts) for number in range(self.count))
        return tuple(map(TokenLine, range(self.count), firsts, lasts))


def parse_size(field: str, given: str) -> int:
    """Bytes, as ``5368709120``, ``5G`` or ``2.5T``. BadInput for other words, or above 2**62."""
    words = _SIZE.fullmatch(given)
    size = words and round(float(words[1]) * (1 << _POWERS[words[2]]))
    if not size or size > MOST["size"]:
        raise BadInput(field, given, "a size in bytes above 0, such as 5368709120 or 5G")
    return size


def imagined(given: str, edition: Edition, release: Release = NEWEST) -> ImaginedTable:
    """The table that the words of ``--table`` describe. BadInput naming the word that is wrong."""
    values: dict[str, int] = {}
    for pair in given.split(","):
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise BadInput("--table", pair, FORM)
        check_one_of("--table", name, MOST)
        if name in values:
            raise BadInput(f"--table {name}", value, "each name once")
        values[name] = _value(name, value)
    if "count" not in values:
        raise BadInput("--table", given, "count too (the number of tablets)")
    return ImaginedTable(edition, **values, release=release)


def _value(name: str, given: str) -> int:
    if name in ("size", "target"):
        no_size = name == "size" and re.fullmatch("0+", given)
        return 0 if no_size else parse_size(f"--table {name}", given)
    if re.fullmatch(r"[0-9]{1,9}", given, re.ASCII) and 1 <= int(given) <= MOST[name]:
        return int(given)
    raise BadInput(f"--table {name}", given, f"a number from 1 to {MOST[name]}")
