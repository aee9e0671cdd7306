"""What a dry run must say, worked out a second time with dicts and the readable reference.

Nothing of plans, movements, deltas or placements is used: every row is looked up token by token.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from kit.ring.reference import replicas_reference
from kit.ring.replication import LocalStrategy, Replication, parse_replication
from kit.ring.tokens import MURMUR3

LOW, HIGH = MURMUR3.low, MURMUR3.high
SHRINKS = ("decommission", "removenode", "assassinate")
PARTS = ("split", "add-writes", "switch-reads", "drop-writes", "merge")
IMPLEMENTATION = {
    "prepare": ("split",),
    "start": ("add-writes",),
    "mid": ("switch-reads",),
    "finish": ("drop-writes", "merge"),
}
Names = tuple[str, ...]
Span = tuple[int, int]


class Node(NamedTuple):
    """A node of a ring file."""

    name: str
    tokens: tuple[int, ...]
    dc: str = "dc1"
    rack: str = "r1"

    @property
    def plain(self) -> dict[str, Any]:
        """As in a ring file; tokens as texts."""
        return {**self._asdict(), "tokens": [str(token) for token in self.tokens]}


class Op(NamedTuple):
    """An operation and its words."""

    kind: str
    node: str
    tokens: tuple[int, ...] = ()
    dc: str = ""
    rack: str = ""
    force: bool = False
    target: str = ""

    @property
    def words(self) -> list[str]:
        """As on the command line."""
        names = [self.target, self.node] if self.kind == "replace" else [self.node]
        options = ["--force"] if self.force else []
        if self.kind in ("bootstrap", "move"):
            options += ["--tokens", ",".join(map(str, self.tokens))]
        if self.kind == "bootstrap":
            options += ["--dc", self.dc, "--rack", self.rack]
        return [self.kind, *names, *options]

    @property
    def dead(self) -> str | None:
        """The node that this operation takes to be gone."""
        if self.kind == "replace":
            return self.target
        return self.node if self.kind in ("removenode", "assassinate") else None

    def after(self, nodes: list[Node]) -> list[Node]:
        """The nodes once it is done."""
        match self.kind:
            case "bootstrap":
                return [*nodes, Node(self.node, self.tokens, self.dc, self.rack)]
            case "move":
                return [n._replace(tokens=self.tokens) if n.name == self.node else n for n in nodes]
            case "replace":
                rest = [n for n in nodes if n.name != self.target]
                return [*rest, Node(self.node, self.tokens, self.dc, self.rack)]
            case _:
                return [n for n in nodes if n.name != self.node]


def rights(nodes: list[Node]) -> set[int]:
    """The right bounds of a ring's stable rows: every token but MIN, and the end of the line."""
    return ({token for node in nodes for token in node.tokens} - {LOW}) | {HIGH}


def spans(bounds: set[int]) -> list[Span]:
    """The rows that have these right bounds."""
    order = sorted(bounds)
    return list(zip([LOW, *order[:-1]], order, strict=True))


class Walks:
    """Natural replicas of one ring and replication, each row looked up once."""

    def __init__(self, nodes: list[Node], replication: Replication) -> None:
        self.nodes, self.replication = nodes, replication
        self.bounds = sorted(rights(nodes))
        self.known: dict[int, Names] = {}

    def of(self, token: int) -> Names:
        """The replicas of a token, in walk order."""
        bound = self.bounds[bisect_left(self.bounds, token)]
        if bound not in self.known:
            self.known[bound] = replicas_reference(self.nodes, self.replication, bound, MURMUR3)
        return self.known[bound]


class Change:
    """One operation for one keyspace: natural replicas of every elementary row, before and after.

    Elementary rows are cut at the tokens of both rings.
    """

    def __init__(self, nodes: list[Node], op: Op, replication: Replication) -> None:
        self.op = op
        self.replication = replication
        self.now, self.then = nodes, op.after(nodes)
        self.new = rights(self.then) - rights(self.now)
        self.old = rights(self.now) - rights(self.then)
        self.rows = spans(rights(self.now) | rights(self.then))
        self.walks = Walks(self.now, replication), Walks(self.then, replication)
        self.before = {row: self.walks[0].of(row[1]) for row in self.rows}
        self.after = {row: self.walks[1].of(row[1]) for row in self.rows}
        self.gains = {r: [n for n in self.after[r] if n not in self.before[r]] for r in self.rows}
        self.losses = {r: [n for n in self.before[r] if n not in self.after[r]] for r in self.rows}
        self.locked = self._locked()
        self.parts = self._parts()

    def row_of(self, token: int) -> Span:
        """The elementary row that holds a token."""
        return self.rows[bisect_left(self.rows, token, key=lambda row: row[1])]

    def gained(self, row: Span) -> list[str]:
        """The replicas that come to a row."""
        return self.gains[row]

    def lost(self, row: Span) -> list[str]:
        """The replicas that go from a row."""
        return self.losses[row]

    def _locked(self) -> list[Span]:
        """Rows that gain or lose a replica, halves of one that is cut, parts of a merged one."""
        cut, whole = (
            [row for row in spans(rights(ring)) if any(row[0] < t < row[1] for t in bounds)]
            for ring, bounds in ((self.now, self.new), (self.then, self.old))
        )
        ends = [row for row in self.rows if LOW in row or HIGH in row] if self._circle_cut() else []
        return [
            row
            for row in self.rows
            if self.gained(row)
            or self.lost(row)
            or any(area[0] <= row[0] and row[1] <= area[1] for area in (*cut, *whole, *ends))
        ]

    def _circle_cut(self) -> bool:
        """Whether MIN comes or goes: it cuts the circle where the line has its two ends."""
        now, then = ({t for node in ring for t in node.tokens} for ring in (self.now, self.then))
        return (LOW in now) != (LOW in then)

    def _parts(self) -> set[str]:
        """The parts of the plan that change some row."""
        found = set()
        if self.new:
            found.add("split")
        if any(self.gained(row) for row in self.rows):
            found |= {"add-writes", "switch-reads"}
        if any(self.lost(row) for row in self.rows):
            found |= {"switch-reads", "drop-writes"}
        if self.old:
            found.add("merge")
        return found


class Oracle:
    """An operation on a cluster while others are in flight, for all its keyspaces."""

    def __init__(
        self,
        nodes: list[Node],
        keyspaces: dict[str, dict[str, Any]],
        op: Op,
        in_flight: tuple[Op, ...] = (),
        edition: str = "documents",
    ) -> None:
        self.nodes = nodes
        self.op = op
        self.in_flight = in_flight
        self.edition = edition
        self.replications = {name: parse_replication(r) for name, r in keyspaces.items()}
        shared = [name for name, r in self.replications.items() if not isinstance(r, LocalStrategy)]
        self.changes = {name: Change(nodes, op, self.replications[name]) for name in shared}
        self.others = {
            name: [Change(nodes, other, self.replications[name]) for other in in_flight]
            for name in shared
        }

    # -- whether it may begin ---------------------------------------------------------------------

    def refused(self) -> str | None:
        """Why the operation is not permitted, in a word; None when it is."""
        involved = {self.op.node, self.op.target} - {""}
        if any(involved & {other.node, other.target} for other in self.in_flight):
            return "busy"
        own = next((node for node in self.nodes if node.name == self.op.node), None)
        if self.edition == "server" and self.op.kind == "move" and own and len(own.tokens) > 1:
            return "several"
        going = {o.node for o in (self.op, *self.in_flight) if o.kind in SHRINKS}
        if self.op.kind in SHRINKS and going == {node.name for node in self.nodes}:
            return "last"
        forced = self.op.force or (self.edition == "server" and self.op.kind == "assassinate")
        if self.op.kind in SHRINKS and not forced and self._too_few():
            return "few"
        wanted = set(self.op.tokens) if self.op.kind in ("bootstrap", "move") else set()
        if any(wanted & set(o.tokens) for o in self.in_flight if o.kind in ("bootstrap", "move")):
            return "taken"
        return "locked" if self.conflicts() else None

    def _too_few(self) -> bool:
        going = {self.op.node} | {o.node for o in self.in_flight if o.kind in SHRINKS}
        own = next(node for node in self.nodes if node.name == self.op.node)
        stay = [node for node in self.nodes if node.name not in going]
        for replication in self.replications.values():
            if len(stay) < getattr(replication, "replication_factor", 0):
                return True
            for dc, wanted in getattr(replication, "factors", ()):
                if dc == own.dc and sum(node.dc == dc for node in stay) < wanted:
                    return True
        return False

    def conflicts(self) -> set[tuple[str, Span]]:
        """The ranges that the operation wants and another one holds."""
        return {
            (name, ours)
            for name, change in self.changes.items()
            for ours in change.locked
            for other in self.others[name]
            if any(self._clash(ours, theirs) for theirs in other.locked)
        }

    def _clash(self, one: Span, other: Span) -> bool:
        at_end = all(left == LOW or right == HIGH for left, right in (one, other))
        both = one[0] < other[1] and other[0] < one[1]
        return both or (self.edition == "server" and at_end)

    # -- its steps --------------------------------------------------------------------------------

    def steps(self, op: Op | None = None) -> list[tuple[str, tuple[str, ...]]]:
        """The events of an operation: a name, and the parts of the plan done with it."""
        wanted = op or self.op
        if wanted.kind == "assassinate":
            return [("assassinate", PARTS)]
        if self.edition == "server":
            return list(IMPLEMENTATION.items())
        changes = [
            change
            for name, own in self.changes.items()
            for change in (own, *self.others[name])
            if change.op == wanted
        ]
        found = set().union(*(change.parts for change in changes))
        return [(part, (part,)) for part in PARTS if part in found]

    def done(self, step: int) -> list[set[str]]:
        """Parts done once the operation did its first ``step`` events; then those of the others."""
        mine = self.steps()[:step]
        firsts = [self.steps(other)[0] for other in self.in_flight]
        return [{part for _, parts in mine for part in parts}, *(set(parts) for _, parts in firsts)]

    def bounds(self, keyspace: str, step: int) -> list[Span]:
        """The rows of the tables after ``step`` events."""
        found = set(rights(self.nodes))
        for change, parts in self._with_parts(keyspace, step):
            found |= change.new if "split" in parts else set()
            found -= change.old if "merge" in parts else set()
        return spans(found)

    def groups(self, keyspace: str, step: int, token: int) -> tuple[set[str], set[str]]:
        """The read and the write replicas of a token after ``step`` events."""
        own = self.changes[keyspace]
        reads = set(own.before[own.row_of(token)])
        writes = set(reads)
        for change, parts in self._with_parts(keyspace, step):
            row = change.row_of(token)
            gained, lost = set(change.gained(row)), set(change.lost(row))
            if "switch-reads" in parts:
                reads = (reads | gained) - lost
            if "add-writes" in parts:
                writes |= gained
            if "drop-writes" in parts:
                writes -= lost
        return reads, writes

    def _with_parts(self, keyspace: str, step: int) -> list[tuple[Change, set[str]]]:
        changes = [self.changes[keyspace], *self.others[keyspace]]
        return list(zip(changes, self.done(step), strict=True))

    # -- what it waits for ------------------------------------------------------------------------

    def barriers(self, step: int) -> list[tuple[str, Span, str | None, set[str], int]]:
        """The barriers before event ``step`` (from 0): who counts, and how many are needed."""
        if step == 0:
            return []
        waits_for_prepare = self.op.kind in ("decommission", "removenode")
        if self.edition == "server" and step == 1 and not waits_for_prepare:
            return []
        found: list[tuple[str, Span, str | None, set[str], int]] = []
        for name, change in self.changes.items():
            for row in change.locked:
                found += self._barrier(name, change, row, step)
        return found

    def _barrier(
        self, name: str, change: Change, row: Span, step: int
    ) -> list[tuple[str, Span, str | None, set[str], int]]:
        if self.edition == "documents":
            counted = {*change.before[row], *change.after[row]} - {self.op.dead}
            return [(name, row, None, counted, len(counted) // 2 + 1)] if counted else []
        reads, writes = self.groups(name, step, row[1])
        there: dict[str, set[str]] = {}
        for node in [*change.now, *change.then]:
            if node.name in (reads | writes) - {self.op.dead}:
                there.setdefault(node.dc, set()).add(node.name)
        return [(name, row, dc, who, len(who) // 2 + 1) for dc, who in there.items()]
