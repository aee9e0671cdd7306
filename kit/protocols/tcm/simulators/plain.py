"""A second model of placements, so simple that one page says it all.

It is written from the text alone, with dictionaries and sets. It knows nothing of columns, deltas,
plans, locks, logs or barriers, and imports none of them, so that a mistake there is no mistake
here. Two rules give the replicas; five parts make up every operation, and each is one line of
``PlainCluster.part``. Nodes are names, and groups are sets: their order is not this model's
business.

Source: CEP-21, "Bootstrap", "Decommission" and, for the idea of a simplified model, "Test Plan".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Line = tuple[tuple[int, str], ...]
"""Who owns which token, in the order of the tokens."""
Place = tuple[str, str]
"""Datacenter and rack."""
Factors = Mapping[str, int]
"""Replicas a datacenter; under the name ``""`` those of a keyspace that knows no datacenters."""
Group = frozenset[str]
Pair = tuple[Group, Group]
Rows = dict[int, Pair]
"""The right bound of each row: its read and its write group."""
PARTS = ("split", "add", "switch", "drop", "merge")
EVENTS = {
    "documents": tuple((part,) for part in PARTS),
    "server": (("split",), ("add",), ("switch",), ("drop", "merge")),
}


def replicas(line: Line, places: Mapping[str, Place], factors: Factors, token: int) -> Group:
    """The replicas of a token: the walk goes clockwise from the first token that is not less.

    Without datacenters the first nodes met. In each datacenter the first node of every rack, then
    (where that is not enough) whoever else comes first.
    """
    start = bisect_left(line, (token, ""))
    walk = list(dict.fromkeys(name for _, name in (*line[start:], *line)))
    if "" in factors:
        return frozenset(walk[: factors[""]])
    group: set[str] = set()
    for dc, factor in factors.items():
        here = [name for name in walk if places[name][0] == dc]
        firsts = list({places[name]: name for name in reversed(here)}.values())
        firsts.sort(key=here.index)
        rest = [name for name in here if name not in firsts]
        group.update([*firsts, *rest][:factor])
    return frozenset(group)


@dataclass(frozen=True)
class Flight:
    """An operation under way: the lines before and after it, and the events it has left."""

    before: Line
    after: Line
    left: tuple[tuple[str, ...], ...]
    switched: bool = False
    undoing: bool = False


@dataclass(frozen=True)
class PlainCluster:
    """The cluster after some events. Every event gives another one; none is ever changed."""

    line: Line
    places: Mapping[str, Place]
    factors: Mapping[str, Factors]
    low: int
    high: int
    edition: str = "documents"
    flights: Mapping[str, Flight] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)

    def bounds(self, line: Line) -> set[int]:
        """The ends of rows: every token but the first of all, and the end of the line."""
        return {token for token, _ in line if token != self.low} | {self.high}

    def replicas(self, line: Line, keyspace: str, token: int) -> Group:
        """The replicas of a token of a keyspace when the line is such."""
        return replicas(line, self.places, self.factors[keyspace], token)

    def settled(self) -> dict[str, Rows]:
        """The tables as they are when nothing is under way: read and write groups are equal."""
        rows: dict[str, Rows] = {}
        for keyspace in self.factors:
            groups = {b: self.replicas(self.line, keyspace, b) for b in self.bounds(self.line)}
            rows[keyspace] = {bound: (group, group) for bound, group in groups.items()}
        return rows

    # -- events -----------------------------------------------------------------------------------

    def begin(self, change: Any) -> PlainCluster:
        """An operation begins with its first event.

        Its ``dc`` and ``rack`` say where a newcomer stands; else it stands beside its ``target``,
        which it replaces, or the first node.
        """
        first = next(iter(self.places.values()))
        dc, rack = self.places.get(change.target or change.node, first)
        place = change.dc or dc, change.rack or rack
        now = replace(self, places={**self.places, change.node: place})
        flight = Flight(self.line, changed(self.line, change), ())
        events = now.events(flight, change.kind)
        flights = {**self.flights, change.node: replace(flight, left=events)}
        return replace(now, flights=flights).advance(change.node)

    def events(self, flight: Flight, kind: str) -> tuple[tuple[str, ...], ...]:
        """The parts of each event. Edition ``documents`` has no event that changes no row."""
        if kind == "assassinate":
            return (PARTS,)
        if self.edition != "documents":
            return EVENTS[self.edition]
        # Where no keyspace has rows, no event changes one.
        lines = (flight.before, flight.after) if self.factors else ((), ())
        old, new = (self.bounds(line) for line in lines)
        moved = [self.moved(flight, k, bound) for k in self.factors for bound in old | new]
        gains, losses = any(gain for gain, _ in moved), any(loss for _, loss in moved)
        does = dict(zip(PARTS, (new - old, gains, gains or losses, losses, old - new), strict=True))
        last = "drop" if kind in ("bootstrap", "replace") else "merge"
        return tuple((part,) for part in PARTS if does[part]) or ((last,),)

    def advance(self, node: str) -> PlainCluster:
        """The next event of the node's operation; with the last one the line is the new one."""
        flight = self.flights[node]
        now, left = self, flight.left[1:]
        for part in flight.left[0]:
            now = now.part(flight, part)
        if left:
            switched = flight.switched or "switch" in flight.left[0]
            flights = {**self.flights, node: replace(flight, left=left, switched=switched)}
            return replace(now, flights=flights)
        line = self.line if flight.undoing else _with(self.line, flight)
        return replace(now, flights=_without(self.flights, node), line=line)

    def cancel(self, node: str) -> PlainCluster:
        """What was done is taken back: in one event, or reads first where they have switched."""
        flight = self.flights[node]
        if not flight.switched:
            now = self.part(flight, "no writes").part(flight, "uncut")
            return replace(now, flights=_without(self.flights, node))
        undoing = replace(flight, left=(("no writes", "uncut"),), undoing=True)
        return replace(self.part(flight, "no reads"), flights={**self.flights, node: undoing})

    # -- what an event does to the rows -----------------------------------------------------------

    def moved(self, flight: Flight, keyspace: str, bound: int) -> Pair:
        """The nodes that become, and that cease to be, replicas of the row."""
        old = self.replicas(flight.before, keyspace, bound)
        new = self.replicas(flight.after, keyspace, bound)
        return new - old, old - new

    def part(self, flight: Flight, part: str) -> PlainCluster:
        """One part of an operation, or of its way back, in every keyspace."""
        new = self.bounds(flight.after) - self.bounds(flight.before)
        merged = self.bounds(flight.before) - self.bounds(flight.after)
        tables = {}
        for keyspace, rows in self.tables.items():
            match part:
                case "split":
                    tables[keyspace] = _cut(rows, new)
                case "merge" | "uncut":
                    bounds = merged if part == "merge" else new
                    tables[keyspace] = {b: row for b, row in rows.items() if b not in bounds}
                case _:
                    tables[keyspace] = {
                        bound: groups_after(part, row, *self.moved(flight, keyspace, bound))
                        for bound, row in rows.items()
                    }
        return replace(self, tables=tables)


def stable_cluster(
    line: Line,
    places: Mapping[str, Place],
    factors: Mapping[str, Factors],
    ends: tuple[int, int],
    edition: str = "documents",
) -> PlainCluster:
    """A cluster in which nothing is under way; ``ends`` are those of the line."""
    now = PlainCluster(tuple(sorted(line)), dict(places), dict(factors), *ends, edition)
    return replace(now, tables=now.settled())


def changed(line: Line, change: Any) -> Line:
    """The line after an operation."""
    if change.kind == "replace":
        return tuple((t, change.node if n == change.target else n) for t, n in line)
    kept = ((t, n) for t, n in line if n != change.node)
    return tuple(sorted((*kept, *((t, change.node) for t in change.tokens))))


def _with(line: Line, flight: Flight) -> Line:
    owners = dict(line)
    for token in dict(flight.before).keys() - dict(flight.after).keys():
        owners.pop(token, None)
    before = dict(flight.before)
    owners.update({t: name for t, name in flight.after if before.get(t) != name})
    return tuple(sorted(owners.items()))


def groups_after(
    part: str, row: tuple[Group, Group], gains: Group, loses: Group
) -> tuple[Group, Group]:
    """The read and the write group after one part."""
    reads, writes = row
    match part:
        case "add":
            return reads, writes | gains
        case "switch":
            return reads - loses | gains, writes
        case "drop":
            return reads, writes - loses
        case "no reads":
            return reads - gains | loses, writes
        case "no writes":
            return reads, writes - gains
    raise AssertionError(part)


def _cut(rows: Rows, tokens: set[int]) -> Rows:
    cut = dict(rows)
    for token in tokens - rows.keys():
        cut[token] = rows[min(bound for bound in rows if bound > token)]
    return cut


def _without(flights: Mapping[str, Flight], node: str) -> dict[str, Flight]:
    return {name: flight for name, flight in flights.items() if name != node}
