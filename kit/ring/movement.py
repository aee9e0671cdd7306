"""The plan of any ring change: split, add writes, switch reads, drop old writes, merge.

CEP-21, "Bootstrap", "Decommission" and the other operations, computed the way the server does:
base = the present ring's placement; start = base cut at all tokens of both rings; maximal = its
row-wise union with the future ring's placement; end = the future placement, cut at the same tokens;
final = the future placement uncut. Each part of the plan may be empty.
"""

from functools import cached_property

from msgspec import Struct

from kit.errors import BadInput
from kit.ring.columns import np
from kit.ring.deltas import Delta, Edit, Edits, edits
from kit.ring.natural import replicas
from kit.ring.nearby import ChangedRows, changes
from kit.ring.placements import members, slots_of
from kit.ring.ranges import Range
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Mask, Ring, Tokens


class Replaced(Struct, frozen=True, order=True):
    """In ``range`` the node ``gains`` takes the place of ``loses`` (codes); None: nobody leaves."""

    range: Range
    gains: int
    loses: int | None


class Movement:
    """The plan of one ring change for one replication; an immutable value."""

    def __init__(self, before: Ring, after: Ring, replication: Replication) -> None:
        self.before = before
        self.after = after
        self.replication = replication
        self._changes = changes(before, after, replication)

    @property
    def area(self) -> tuple[Tokens, Tokens]:
        """Bounds of the rows that the change may touch: outside, groups and walks are as before."""
        return self._changes.lefts, self._changes.rights

    @cached_property
    def split(self) -> Delta:
        """Cut rows at the new tokens; owners stay (CEP-21, "Bootstrap", step 1)."""
        return Delta(cuts=tuple(self._changes.cuts.tolist()))

    @cached_property
    def add(self) -> Delta:
        """New replicas come to the write groups."""
        return Delta(writes=Edits(adds=self._moves.adds))

    @cached_property
    def switch(self) -> Delta:
        """New replicas come to the read groups and displaced ones go, in one step."""
        return Delta(reads=self._moves)

    @cached_property
    def drop(self) -> Delta:
        """Displaced replicas go from the write groups."""
        return Delta(writes=Edits(drops=self._moves.drops))

    @cached_property
    def merge(self) -> Delta:
        """Bounds of tokens that were given up go (CEP-21, "Decommission", step 4)."""
        return Delta(merges=tuple(self._changes.merges.tolist()))

    @cached_property
    def _moves(self) -> Edits:
        before, after = self._changes.before, self._changes.after
        ways = ((after, before), (before, after))
        return edits(*(_edits(self._changes, _missing(to, of), to) for to, of in ways))

    @cached_property
    def locked_bounds(self) -> tuple[Tokens, Tokens]:
        """Bounds of rows that change, are halves of a split or parts of a future row, and ends."""
        rows = self._changes
        gaining = _missing(rows.after, rows.before).any(axis=1)
        losing = _missing(rows.before, rows.after).any(axis=1)
        halves = _parts(rows, self.before, rows.cuts)
        parts = _parts(rows, self.after, rows.merges)
        at = np.flatnonzero(gaining | losing | halves | parts)
        lefts, rights = self._ends
        rights, first = np.unique(np.append(rows.rights[at], rights), return_index=True)
        return np.append(rows.lefts[at], lefts)[first], rights

    @property
    def _ends(self) -> tuple[Tokens, Tokens]:
        """Bounds of the first and the last row, where the token MIN comes or goes; else none.

        On the circle these two are neighbours, cut and merged at MIN as any others are at their
        token, although the line shows no bound there.
        """
        low, rings = self.before.space.low, (self.before, self.after)
        before, after = (low in ring.tokens[:1] for ring in rings)
        if before == after:
            return (np.empty(0, np.int64),) * 2
        rights = np.union1d(*(ring.rights for ring in rings))
        ends = np.array([0, -1])
        return np.append(np.int64(low), rights[:-1])[ends], rights[ends]

    @cached_property
    def locked(self) -> tuple[Range, ...]:
        """Sorted disjoint ranges that no other operation may touch until this one is finished.

        Cut at the tokens of both rings: halves of split rows, rows that gain or lose a replica,
        and the area of rows that will be merged; both ends of the line where MIN comes or goes.
        (The published code locks rows that gain. One that only loses, since every node holds it or
        because of force, must not lose two at once: majorities of 7 and of 9 need not meet.)
        """
        lefts, rights = self.locked_bounds
        return tuple(map(Range, lefts.tolist(), rights.tolist()))

    @cached_property
    def affected(self) -> tuple[tuple[int, ...], ...]:
        """For each locked range the codes of its old and its new replicas, old ones first."""
        _, rights = self.locked_bounds
        old, new = (replicas(r, self.replication, rights) for r in (self.before, self.after))
        new = np.where(slots_of(new, old) < 0, new, np.int32(-1))
        groups = np.concatenate((old, new[:, (new >= 0).any(axis=0)]), axis=1)
        return tuple(map(members, groups.tolist()))

    @cached_property
    def streams(self) -> tuple[Replaced, ...]:
        """Each gained replica with the one it displaces in that row, same datacenter first."""
        rows = self._changes
        at = np.flatnonzero(_missing(rows.after, rows.before).any(axis=1))
        columns = (rows.lefts, rows.rights, rows.before, rows.after)
        replaced: list[Replaced] = []
        for left, right, *groups in zip(*(each[at].tolist() for each in columns), strict=True):
            old, new = map(set, groups)  # what pads them is in both
            pairs = self._paired(sorted(new - old), sorted(old - new))
            replaced += [Replaced(Range(left, right), *pair) for pair in pairs]
        return tuple(replaced)

    def _paired(self, gained: list[int], lost: list[int]) -> list[tuple[int, int | None]]:
        nodes, free = self.after.nodes, list(lost)
        taken: dict[int, int] = {}
        for code in gained:
            near = next((other for other in free if nodes[other].dc == nodes[code].dc), None)
            if near is not None:
                taken[code] = near
                free.remove(near)
        far = (code for code in gained if code not in taken)
        taken |= dict(zip(far, free, strict=False))
        return [(code, taken.get(code)) for code in gained]


def movement(before: Ring, after: Ring, replication: Replication) -> Movement:
    """The plan that leads from one ring to the other; codes must be stable (``Ring.join`` …)."""
    if before.space != after.space or before.names != after.names[: len(before.names)]:
        allowed = "a ring with the same token space and nodes, and any new nodes at the end"
        raise BadInput("rings", after.names, allowed)
    return Movement(before, after, replication)


def _missing(codes: Codes, other: Codes) -> Mask:
    """Which entries (n, k) of ``codes`` are nodes that the same row of ``other`` does not have."""
    return np.asarray((codes >= 0) & (slots_of(codes, other) < 0), np.bool_)


def _edits(rows: ChangedRows, chosen: Mask, codes: Codes) -> list[Edit]:
    row, slot = np.nonzero(chosen)
    columns = (rows.lefts[row], rows.rights[row], codes[row, slot])
    return list(map(Edit, *(column.tolist() for column in columns)))


def _parts(rows: ChangedRows, ring: Ring, bounds: Tokens) -> Mask:
    whole = np.unique(np.searchsorted(ring.rights, bounds))
    return np.asarray(np.isin(np.searchsorted(ring.rights, rows.rights), whole), np.bool_)
