"""What a dump of tablets says of a cluster: who holds what, which transitions there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import (
    SOMEWHERE,
    OpenedTablets,
    TabletKeyspace,
    count_options,
    keyspace_lines,
)
from kit.protocols.tablets.rules.availability import selectors
from kit.protocols.tablets.rules.balance.cluster import UNKNOWN, BalancerInput
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, first_token, group, last_tokens
from kit.protocols.tablets.rules.resize import (
    TARGET_SIZE,
    THRESHOLDS,
    LaterRound,
    ResizeReason,
    TableSize,
    TargetCount,
    Thresholds,
    WantedResize,
    decide_by_count,
    group_bytes,
    is_growing,
    later,
    target_counts,
    until_revoked,
)
from kit.protocols.topology.rules.machines import Edition


class TabletNode(Struct, frozen=True):
    """A node: its tablets, their bytes as far as known, and the part of its capacity they take.

    ``up`` is true where nothing tells. A tablet in transition counts as if that had succeeded.
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
    reason: ResizeReason
    target: TargetCount | None = None
    later: LaterRound | None = None


def tablets_report(opened: OpenedTablets) -> TabletsReport:
    """The nodes, tables and transitions of an opened cluster."""
    return TabletsReport(
        opened.source,
        opened.edition,
        opened.enabled,
        tuple(_nodes(opened)),
        tuple(_tables(opened)),
        tuple(_transitions(opened)),
        _keyspaces(opened),
        opened.warnings,
    )


def _keyspaces(opened: OpenedTablets) -> tuple[TabletKeyspace, ...]:
    if opened.schema is None:
        return ()
    return tuple(keyspace_lines(opened.schema, opened.maps, opened.nodes))


def _nodes(opened: OpenedTablets) -> Iterator[TabletNode]:
    left, gone = opened.left, opened.gone
    given = opened.input
    counts, bytes_on = Loads(given, "documents"), _bytes_on(given)
    for code, node in enumerate(opened.nodes):
        shards = counts.held[counts.first[code] : counts.first[code + 1]]
        size = None if opened.sizes is None else bytes_on[code]
        yield TabletNode(
            node.host,
            node.datacenter,
            node.rack,
            node.shards,
            "left" if node.host in left else node.role,
            node.host not in gone,
            int(shards.sum()),
            int(shards.max()),
            int(shards.min()),
            size,
            size / node.capacity if size is not None and node.capacity else None,
        )


def _bytes_on(given: BalancerInput) -> list[int]:
    """The bytes of the replicas on each node that are known: the balancer counts small ones, and
    those that are not known, for more.
    """
    rows = given.rows
    known = rows.sizes != UNKNOWN
    held = np.zeros(len(given.nodes), np.int64)
    np.add.at(held, rows.nodes[known], rows.sizes[known])
    total: list[int] = held.tolist()
    return total


def _tables(opened: OpenedTablets) -> Iterator[TabletTable]:
    for name, table in opened.maps.items():
        if table.base_table:
            continue
        size = table_size(opened, name)
        replicas = _replicas(opened, table)
        yield TabletTable(
            name,
            group(name, opened.maps)[1:],
            table.count,
            replicas,
            size.bytes,
            size.average_tablet,
            table.resize_type,
            table.resize_seq_number,
        )


def _replicas(opened: OpenedTablets, table: TabletMap) -> dict[str, int]:
    """The replicas of a tablet in each datacenter: the most that any has."""
    places = {node.host: node.datacenter for node in opened.nodes}
    most: Counter[str] = Counter()
    for tablet in table.tablets:
        most |= Counter(places[replica.host] for replica in tablet.replicas)
    return dict(sorted(most.items()))


def table_size(opened: OpenedTablets, base: str) -> TableSize:
    """The size of a table with those that are co-located, as resize decisions take it.

    A replica that a transition adds does not count; the bytes are not known where one's are not.
    The schema tells of the initial count, which keeps a table in growing mode in edition
    ``documents``.
    """
    table = opened.maps[base]
    replicas = sum(len(tablet.replicas) for tablet in table.tablets)
    tables = group(base, opened.maps)
    initial = 0 if opened.schema is None else count_options(opened.schema, [base])[base].initial
    sizes = [_bytes(opened, name, table) for name in tables]
    return TableSize(
        base,
        table.count,
        max(1, round(replicas / table.count)),
        group_bytes(sizes),
        table.resize_type,
        table.resize_seq_number,
        initial,
        opened.edition == "documents" and is_growing(table.count, initial),
        len(tables),
    )


def _bytes(opened: OpenedTablets, name: str, base: TabletMap) -> int | None:
    rows = (opened.sizes or {}).get(name)
    if rows is None:
        return None
    total = 0
    for tablet, row in zip(base.tablets, rows, strict=True):
        for replica in tablet.replicas:
            if replica.host not in row:
                return None
            total += row[replica.host]
    return total


def _transitions(opened: OpenedTablets) -> Iterator[TransitionLine]:
    for name, table in opened.maps.items():
        for number, tablet in enumerate(table.tablets):
            if tablet.transition:
                yield _transition(name, number, tablet, opened.edition)


def _transition(table: str, number: int, tablet: Tablet, edition: Edition) -> TransitionLine:
    reads, writes = selectors(tablet, edition)
    old, new = (tuple(map(str, places)) for places in (tablet.replicas, tablet.new_replicas))
    return TransitionLine(table, number, tablet.transition, tablet.stage, reads, writes, old, new)


def limits_of(opened: OpenedTablets) -> Thresholds:
    """The thresholds of the edition with the target size that was asked for."""
    usual = THRESHOLDS[opened.edition]
    return Thresholds(opened.target_size, usual.split_percent, usual.merge_percent)


def resizes(opened: OpenedTablets) -> tuple[ResizeLine, ...]:
    """The decision on each table, or group of co-located ones."""
    limits = limits_of(opened)
    sizes = {
        name: table_size(opened, name)
        for name, table in opened.maps.items()
        if not table.base_table
    }
    factors = {
        name: opened.replication(name) or _replicas(opened, opened.maps[name]) for name in sizes
    }
    shards = _shards(opened)
    targets: dict[str, TargetCount] = {}
    if opened.edition == "server" and SOMEWHERE not in shards:
        options = {} if opened.schema is None else count_options(opened.schema, opened.maps)
        targets = target_counts(sizes, options, factors, shards, limits)
    lines = {
        name: resize_line(size, limits, group(name, opened.maps)[1:], targets.get(name))
        for name, size in sizes.items()
    }
    waiting = _later(opened, lines) if opened.edition == "server" else {}
    return tuple(replace(line, later=waiting.get(name)) for name, line in lines.items())


def _later(opened: OpenedTablets, lines: Mapping[str, ResizeLine]) -> Mapping[str, LaterRound]:
    """The resizes that do not begin in the next round, with all shards that take tablets."""
    wanted = [
        WantedResize(
            name,
            line.average or 0,
            sum(len(tablet.replicas) for tablet in opened.maps[name].tablets),
            begun=line.decision == line.was,
        )
        for name, line in lines.items()
        if line.decision != "none"
    ]
    return later(wanted, sum(sum(racks.values()) for racks in _shards(opened).values()))


def _shards(opened: OpenedTablets) -> dict[str, dict[str, int]]:
    """How many shards each rack has that takes tablets."""
    shards: dict[str, dict[str, int]] = {}
    for node in opened.nodes:
        if node.role == "normal":
            racks = shards.setdefault(node.datacenter, {})
            racks[node.rack] = racks.get(node.rack, 0) + node.shards
    return shards


def resize_line(
    size: TableSize,
    limits: Thresholds,
    colocated: tuple[str, ...] = (),
    target: TargetCount | None = None,
) -> ResizeLine:
    """The decision on a table, and how far it is from another one."""
    decision = decide_by_count(size, limits, target)
    average = size.average_tablet
    return ResizeLine(
        size.table,
        colocated,
        size.count,
        average,
        limits.split_above,
        limits.merge_below,
        None if average is None else max(0, limits.split_above + 1 - average),
        None if average is None else max(0, average + 1 - limits.merge_below),
        until_revoked(size, limits),
        size.resize_type,
        decision.resize_type,
        decision.resize_seq_number,
        decision.reason,
        target,
    )


MOST = {"count": 2**20, "rf": 1000, "shards": 10**6, "size": 2**62, "target": 2**62}
FORM = "NAME=NUMBER pairs with commas between them: count=8,rf=3,size=400G,shards=16,target=5G"
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", re.ASCII)


class TokenLine(Struct, frozen=True):
    """A tablet's tokens: those after ``after`` up to ``last_token``."""

    tablet: int
    after: int
    last_token: int


class ImaginedTable(Struct, frozen=True):
    """A table of so many tablets: the bytes of all its replicas, how many shards there are."""

    count: int
    rf: int
    size: int | None
    shards: int | None
    limits: Thresholds
    edition: Edition

    def resize(self) -> ResizeLine:
        """The decision on it; with shards also what the published server's rules ask for."""
        size = TableSize("table", self.count, self.rf, self.size)
        target = None
        if self.shards is not None and self.edition == "server":
            shards = {"dc1": {"r1": self.shards}}
            factors = {size.table: {"dc1": self.rf}}
            target = target_counts({size.table: size}, {}, factors, shards, self.limits)["table"]
        return resize_line(size, self.limits, target=target)

    def tokens(self) -> tuple[TokenLine, ...]:
        """The tokens of each tablet."""
        lasts = last_tokens(self.count)
        return tuple(
            TokenLine(number, first_token(number, lasts), last) for number, last in enumerate(lasts)
        )


def parse_size(field: str, given: str) -> int:
    """Bytes, as ``5368709120``, ``5G`` or ``2.5T``.

    Raises:
        BadInput: for what is no such size, or more than a signed 64-bit integer holds.
    """
    words = _SIZE.fullmatch(given)
    size = 0 if words is None else round(float(words[1]) * (1 << _POWERS[words[2]]))
    if words is None or not 0 < size <= MOST["size"]:
        raise BadInput(field, given, "a size in bytes above 0, such as 5368709120 or 5G")
    return size


def imagined(given: str, edition: Edition) -> ImaginedTable:
    """The table that the words of ``--table`` describe.

    Raises:
        BadInput: naming the word that is wrong.
    """
    values: dict[str, int] = {}
    for pair in given.split(","):
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise BadInput("--table", pair, FORM)
        if name not in MOST:
            raise BadInput("--table", name, one_of(name, list(MOST)))
        if name in values:
            raise BadInput(f"--table {name}", value, "each name once")
        values[name] = _value(name, value)
    if "count" not in values:
        raise BadInput("--table", given, "also count, the number of tablets")
    usual = THRESHOLDS[edition]
    limits = Thresholds(values.get("target", TARGET_SIZE), usual.split_percent, usual.merge_percent)
    return ImaginedTable(
        values["count"],
        values.get("rf", 1),
        values.get("size"),
        values.get("shards"),
        limits,
        edition,
    )


def _value(name: str, given: str) -> int:
    if name == "size" and re.fullmatch("0+", given):
        return 0
    if name in ("size", "target"):
        return parse_size(f"--table {name}", given)
    if re.fullmatch(r"[0-9]{1,9}", given, re.ASCII) and 1 <= int(given) <= MOST[name]:
        return int(given)
    raise BadInput(f"--table {name}", given, f"a number from 1 to {MOST[name]}")
