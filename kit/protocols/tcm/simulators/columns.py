"""What the placement simulator looks at after every committed event, column by column.

Each column is a property of the states of a tcm model: it can be searched for, walked for, and kept
while a failing run is made small. The simplified model (``kit.protocols.tcm.simulators.plain``) is
told the events of the log and nothing else. Source: CEP-21, "Test Plan".
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from kit.model.log import Log
from kit.model.model import Property, always
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.rules.metadata import Advance, Begin, Event, Snapshot, locks
from kit.protocols.tcm.simulators import plain as simple
from kit.ring.placements import Table
from kit.ring.replication import NetworkTopologyStrategy, SimpleStrategy

COLUMNS = {
    "replicas": "Every range is read from exactly RF replicas",
    "over": (
        "Every range has as many writers as replicas, plus pending ones only while a replica moves"
    ),
    "owners": "Every token has its owners",
    "reads agree": "The simple model reads from the same nodes, row by row",
    "writes agree": "The simple model writes to the same nodes, row by row",
    "stable": "With no operation under way, reads and writes go to the ring's own replicas",
}
_KEPT = 4096
NamedRows = tuple[tuple[int, int, tuple[str, ...]], ...]


class Looked(Struct, frozen=True):
    """The sights after one event.

    ``reads`` and ``writes`` are the fewest and the most replicas of a row (a datacenter, where
    they are counted so); ``over`` is how many rows have more writers than RF. ``faults`` holds what
    is wrong by column.
    """

    rows: int
    reads: tuple[int, int]
    writes: tuple[int, int]
    over: int
    under_way: int
    faults: dict[str, str] = {}


class Columns:
    """The columns for one model of a cluster."""

    def __init__(self, model: TcmCluster) -> None:
        self.model = model
        self.names = model.names
        self.groups: list[tuple[int, simple.Factors]] = []
        for number, group in enumerate(model.snapshot(model.start()).metadata.groups):
            if isinstance(group, SimpleStrategy):
                self.groups.append((number, {"": group.replication_factor}))
            elif isinstance(group, NetworkTopologyStrategy):
                self.groups.append((number, dict(group.factors)))
        self.dcs: dict[str, str] = {n.name: n.dc for n in model.tcm.cluster.ring.nodes}
        self.looked: Callable[[Log], Looked] = lru_cache(_KEPT)(self._look)
        self.plain: Callable[[Log], simple.PlainCluster | str] = lru_cache(_KEPT)(self._followed)

    def properties(self) -> tuple[Property, ...]:
        """The columns as properties of the model's states."""

        def fault(column: str, s: Any) -> str | None:
            return self.looked(s.tcm.events).faults.get(column)

        return tuple(always(name, title, partial(fault, name)) for name, title in COLUMNS.items())

    # -- the simplified model ---------------------------------------------------------------------

    def _followed(self, events: Log) -> simple.PlainCluster | str:
        """The simplified model after these events, or how it lost its way."""
        if not len(events):
            return self._at_start()
        before = self.plain(events.shorter())
        return before if isinstance(before, str) else followed(before, events[len(events) - 1])

    def _at_start(self) -> simple.PlainCluster:
        ring = self.model.tcm.cluster.ring
        members = [node for node in ring.nodes if node.tokens]
        return simple.stable_cluster(
            tuple((token, node.name) for node in members for token in node.tokens),
            {node.name: (node.dc, node.rack) for node in members},
            {str(number): factors for number, factors in self.groups},
            (ring.space.low, ring.space.high),
            self.model.parameters.edition,
        )

    # -- one look ---------------------------------------------------------------------------------

    def _look(self, events: Log) -> Looked:
        snapshot = self.model.tcm.snapshot(events)
        plain = self.plain(events)
        faults: dict[str, str] = {}
        rows = over = 0
        sizes: tuple[list[int], list[int]] = [], []
        for number, factors in self.groups:
            placement = snapshot.placements[number]
            reads, writes = (
                self._named_rows(table) for table in (placement.reads, placement.writes)
            )
            rows += len(reads)
            for counts, table in zip(sizes, (reads, writes), strict=True):
                counts += [n for row in table for n in self._sizes(row[2], factors)]
            wanted = factors.values()
            for _, _, group in writes:
                counts = self._sizes(group, factors)
                over += any(n > rf for n, rf in zip(counts, wanted, strict=True))
            owned = self._owned(reads, "read") or self._owned(writes, "written")
            _note(faults, "owners", owned)
            _note(faults, "replicas", self._replicated(reads, factors))
            _note(faults, "over", self._pending(snapshot, number, writes, factors))
            for side, table in enumerate((reads, writes)):
                if isinstance(plain, str):  # one that lost its way agrees with nothing
                    odd: str | None = plain
                else:
                    odd = _differ(table, plain.tables[str(number)], side)
                _note(faults, ("reads agree", "writes agree")[side], odd)
        under_way = len(snapshot.metadata.sequences)
        if not under_way and not isinstance(plain, str):
            _note(faults, "stable", self._settled(snapshot, plain))
        reads_of, writes_of = ((min(counts, default=0), max(counts, default=0)) for counts in sizes)
        return Looked(rows, reads_of, writes_of, over, under_way, faults)

    def _named_rows(self, table: Table) -> NamedRows:
        return tuple((row.left, row.right, row.replicas) for row in table.rows(self.names))

    def _sizes(self, group: tuple[str, ...], factors: simple.Factors) -> list[int]:
        if "" in factors:
            return [len(group)]
        return [sum(self.dcs[name] == dc for name in group) for dc in factors]

    def _owned(self, rows: NamedRows, side: str) -> str | None:
        space = self.model.tcm.cluster.ring.space
        reach = space.low
        for left, right, group in rows:
            if left != reach or not group:
                return f"tokens above {min(left, reach)} are {side} by no node, or twice"
            reach = right
        return None if reach == space.high else f"tokens above {reach} are {side} by no node"

    def _replicated(self, rows: NamedRows, factors: simple.Factors) -> str | None:
        for left, right, group in rows:
            sizes = self._sizes(group, factors)
            if len(set(group)) != len(group) or sizes != [*factors.values()]:
                wanted = _names_or_nobody(f"{n} {dc}".strip() for dc, n in factors.items())
                return f"({left}, {right}] is read from {_names_or_nobody(group)}; wanted: {wanted}"
        return None

    def _pending(
        self, snapshot: Snapshot, number: int, rows: NamedRows, factors: simple.Factors
    ) -> str | None:
        """From RF to RF and the pending ones, which only an operation that holds the row has."""
        held = [
            [locked for group, locked in locks(sequence) if group == number]
            for sequence in snapshot.metadata.sequences
        ]
        for left, right, group in rows:
            pending = sum(any(x.left < right <= x.right for x in ranges) for ranges in held)
            for size, rf in zip(self._sizes(group, factors), factors.values(), strict=True):
                if not rf <= size <= rf + pending:
                    wrong = f"{size}, but {rf} to {rf + pending} were expected"
                    return f"({left}, {right}] is written to {_names_or_nobody(group)}: {wrong}"
        return None

    def _settled(self, snapshot: Snapshot, plain: simple.PlainCluster) -> str | None:
        rest = plain.settled()
        for number, _ in self.groups:
            placement = snapshot.placements[number]
            for side, table in enumerate((placement.reads, placement.writes)):
                wrong = _differ(self._named_rows(table), rest[str(number)], side)
                if wrong is not None:
                    return wrong
        return None


def followed(plain: simple.PlainCluster, event: Event) -> simple.PlainCluster | str:
    """The simplified model after one more event of the log."""
    if isinstance(event, Begin):
        return plain.begin(event.operation)
    if event.node not in plain.flights:
        return f"in the simple model, {event.node} has nothing left to do"
    return plain.advance(event.node) if isinstance(event, Advance) else plain.cancel(event.node)


def _differ(rows: NamedRows, plain: simple.Rows, side: int) -> str | None:
    bounds = {right for _, right, _ in rows}
    if odd := sorted(bounds ^ plain.keys()):
        who = "the engine" if odd[0] in bounds else "the simple model"
        return f"only {who} has a row that ends at {odd[0]}"
    for left, right, group in rows:
        theirs = plain[right][side]
        if theirs != frozenset(group):
            ours = f"({left}, {right}]: {_names_or_nobody(group)}"
            return f"{ours}, but {_names_or_nobody(sorted(theirs))} in the simple model"
    return None


def _note(faults: dict[str, str], column: str, wrong: str | None) -> None:
    if wrong is not None:
        faults.setdefault(column, wrong)


def _names_or_nobody(words: Any) -> str:
    return ", ".join(words) or "nobody"
