"""Placements under operations, with plain lists: a second model, written from the text alone.

It knows natural replicas from the readable reference, and nothing of deltas, columns, plans, logs,
locks or barriers. Tables map the right bound of each row to its read and its write list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kit.protocols.tcm.rules.operations import Operation
from kit.ring.reference import replicas_reference
from kit.ring.replication import Keyspace, LocalStrategy, Replication
from kit.ring.tokens import TokenSpace
from kit.ring.topology import Node

Members = dict[str, Node]
Groups = dict[int, tuple[list[str], list[str]]]
FOLDED = {
    "prepare": ("split",),
    "start": ("add-writes",),
    "mid": ("switch-reads",),
    "finish": ("drop-writes", "merge"),
    "writes back": ("cancel-writes", "uncut"),
    "assassinate": ("split", "add-writes", "switch-reads", "drop-writes", "merge"),
}
NAMES = FOLDED["assassinate"]
LAST = {"join": "drop-writes", "replace": "drop-writes"}


@dataclass
class Flight:
    """An operation under way: the ring it started from, the one it leads to, its steps to do."""

    operation: Operation
    before: Members
    after: Members
    todo: list[str]
    done: list[str] = field(default_factory=list)
    undoing: bool = False


class Plain:
    """The cluster's placements, changed event by event."""

    def __init__(
        self,
        nodes: tuple[Node, ...],
        keyspaces: tuple[Keyspace, ...],
        space: TokenSpace,
        variant: str,
    ) -> None:
        self.members: Members = {node.name: node for node in nodes if node.tokens}
        self.places = {node.name: node for node in nodes}
        self.replications = {
            k.name: k.replication for k in keyspaces if not isinstance(k.replication, LocalStrategy)
        }
        self.space = space
        self.variant = variant
        self.flights: dict[str, Flight] = {}
        self.tables = {name: self.rest(name) for name in self.replications}

    # -- rings and natural replicas ---------------------------------------------------------------

    def bounds(self, members: Members) -> list[int]:
        """Where rows end: at every token but the first of the line, and at its end."""
        tokens = {token for node in members.values() for token in node.tokens}
        return sorted((tokens - {self.space.low}) | {self.space.high})

    def natural(self, members: Members, replication: Replication, token: int) -> list[str]:
        """The replicas of a token when nothing is under way, in walk order."""
        owners = list(members.values())
        return list(replicas_reference(owners, replication, token, self.space))

    def rest(self, keyspace: str) -> Groups:
        """The table of the present ring at rest."""
        replication = self.replications[keyspace]
        found = {}
        for right in self.bounds(self.members):
            group = self.natural(self.members, replication, right)
            found[right] = (group, list(group))
        return found

    def changed(self, members: Members, operation: Operation) -> Members:
        """The ring after an operation."""
        ring = dict(members)
        name = operation.node
        match operation.kind:
            case "join":
                first = next(iter(self.places.values()))
                dc, rack = operation.dc or first.dc, operation.rack or first.rack
                ring[name] = Node(name, operation.tokens, dc, rack)
            case "move":
                ring[name] = Node(name, operation.tokens, ring[name].dc, ring[name].rack)
            case "replace":
                assert operation.target is not None
                old = ring.pop(operation.target)
                place = operation.dc or old.dc, operation.rack or old.rack
                ring[name] = Node(name, old.tokens, *place)
            case _:
                del ring[name]
        return ring

    # -- what an operation changes ----------------------------------------------------------------

    def gained(self, flight: Flight, keyspace: str, right: int) -> list[str]:
        """The nodes that become replicas of the row."""
        replication = self.replications[keyspace]
        old = self.natural(flight.before, replication, right)
        return [n for n in self.natural(flight.after, replication, right) if n not in old]

    def lost(self, flight: Flight, keyspace: str, right: int) -> list[str]:
        """The nodes that cease to be replicas of the row."""
        replication = self.replications[keyspace]
        new = self.natural(flight.after, replication, right)
        return [n for n in self.natural(flight.before, replication, right) if n not in new]

    def steps(self, flight: Flight) -> list[str]:
        """The events of an operation; the text's variant leaves out those that change no row."""
        if flight.operation.kind == "assassinate":
            return ["assassinate"]
        if self.variant == "implementation":
            return ["prepare", "start", "mid", "finish"]
        old, new = self.bounds(flight.before), self.bounds(flight.after)
        rows = [(k, right) for k in self.replications for right in {*old, *new}]
        gains = any(self.gained(flight, *row) for row in rows)
        loses = any(self.lost(flight, *row) for row in rows)
        tables = bool(self.replications)
        changing = {
            "split": tables and bool(set(new) - set(old)),
            "add-writes": gains,
            "switch-reads": gains or loses,
            "drop-writes": loses,
            "merge": tables and bool(set(old) - set(new)),
        }
        found = [name for name in NAMES if changing[name]]
        return found or [LAST.get(flight.operation.kind, "merge")]

    # -- events -----------------------------------------------------------------------------------

    def begin(self, operation: Operation) -> None:
        """An operation begins with its first step."""
        flight = Flight(operation, self.members, self.changed(self.members, operation), [])
        flight.todo = self.steps(flight)
        self.flights[operation.node] = flight
        self.advance(operation.node)

    def advance(self, node: str) -> None:
        """The next step of a node's operation."""
        flight = self.flights[node]
        name = flight.todo.pop(0)
        flight.done.append(name)
        for part in FOLDED.get(name, (name,)):
            self.part(flight, part)
        if not flight.todo:
            del self.flights[node]
            if not flight.undoing:
                self.members = self.changed(self.members, flight.operation)
        self.order()

    def part(self, flight: Flight, part: str) -> None:
        """One of the five parts of a plan, or of the two that take it back."""
        old, new = set(self.bounds(flight.before)), set(self.bounds(flight.after))
        for keyspace, table in self.tables.items():
            if part == "split":
                cut(table, new - old)
            if part in ("merge", "uncut"):
                for right in sorted(old - new if part == "merge" else new - old, reverse=True):
                    if right in table:
                        joined = table.pop(right)
                        table[min(other for other in table if other > right)] = joined
            for right, (reads, writes) in table.items():
                gained = self.gained(flight, keyspace, right)
                lost = self.lost(flight, keyspace, right)
                match part:
                    case "add-writes":
                        writes += [n for n in gained if n not in writes]
                    case "switch-reads":
                        reads[:] = [n for n in reads if n not in lost] + gained
                    case "drop-writes":
                        writes[:] = [n for n in writes if n not in lost]
                    case "cancel-reads":
                        reads[:] = [n for n in reads if n not in gained] + lost
                    case "cancel-writes":
                        writes[:] = [n for n in writes if n not in gained]

    def cancel(self, node: str) -> None:
        """What was done is taken back: at once, or reads first where they have switched."""
        flight = self.flights[node]
        switched = {"switch-reads", "mid"} & set(flight.done)
        flight.undoing, flight.done = True, []
        if switched:
            self.part(flight, "cancel-reads")
            flight.todo = ["writes back"]
        else:
            for part in FOLDED["writes back"]:
                self.part(flight, part)
            del self.flights[node]
        self.order()

    def order(self) -> None:
        """Reads in walk order of all whose reads have switched; equal writes likewise."""
        ring = self.members
        for flight in self.flights.values():
            if {"switch-reads", "mid"} & set(flight.done):
                ring = self.changed(ring, flight.operation)
        for keyspace, table in self.tables.items():
            for right, (reads, writes) in table.items():
                walk = self.natural(ring, self.replications[keyspace], right)
                assert set(walk) == set(reads), (keyspace, right, walk, reads)
                reads[:] = walk
                if set(writes) == set(reads):
                    writes[:] = walk

    def rows(self, keyspace: str) -> list[tuple[int, int, list[str], list[str]]]:
        """The table as rows."""
        table = self.tables[keyspace]
        rights = sorted(table)
        lefts = [self.space.low, *rights[:-1]]
        return [(a, b, *table[b]) for a, b in zip(lefts, rights, strict=True)]


def cut(table: Groups, tokens: set[int]) -> None:
    """Cut rows at these tokens: both halves keep the groups."""
    for token in tokens:
        if token not in table:
            reads, writes = table[min(right for right in table if right > token)]
            table[token] = (list(reads), list(writes))
