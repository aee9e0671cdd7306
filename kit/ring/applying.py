"""Applying a delta to a placement, and the order in which its groups are shown."""

from itertools import pairwise

from msgspec.structs import astuple

from kit.ring.columns import NDArray, np
from kit.ring.deltas import Delta, Edit, Edits
from kit.ring.natural import replicas
from kit.ring.placements import Placement, Table, padded, same_sets, slots_of, widened
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Ring, Tokens

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
Spans = tuple[Tokens, Tokens]


def apply(placement: Placement, delta: Delta, *, merge_check: bool = True) -> Placement:
    """The placement after the delta: cuts, then edits, then merges.

    A cut leaves the owners as they are. An added node comes last in the groups of every row inside
    the edit's range. An edit that reaches only into a part of a row, because no cut was made
    before it, gives an extra row for that part: the table then covers those tokens twice.
    With ``merge_check=False`` (S-55 off) a merged row takes the group of its left half unseen.
    """
    reads = _edited(_cut(placement.reads, delta.cuts), delta.reads)
    writes = _edited(_cut(placement.writes, delta.cuts), delta.writes)
    changed = Placement(reads, writes)
    merged = tuple(b for b in delta.merges if not merge_check or mergeable(changed, b))
    return Placement(_merged(reads, merged), _merged(writes, merged)) if merged else changed


def mergeable(placement: Placement, bound: int) -> bool:
    """The neighbours at ``bound`` have equal read groups and equal write groups, as sets."""
    for table in (placement.reads, placement.writes):
        left, right = _neighbours(table, bound)
        if left is None or right is None or {*table.codes(left)} != {*table.codes(right)}:
            return False
    return True


def _neighbours(table: Table, bound: int) -> tuple[int | None, int | None]:
    if table.partitions:
        at = int(np.searchsorted(table.rights, bound))
        if at + 1 < len(table) and table.rights[at] == bound:
            return at, at + 1
        return None, None
    ends, begins = np.flatnonzero(table.rights == bound), np.flatnonzero(table.lefts == bound)
    return (int(ends[-1]) if len(ends) else None), (int(begins[0]) if len(begins) else None)


def _cut(table: Table, cuts: tuple[int, ...]) -> Table:
    if not cuts:
        return table
    marks = np.array(cuts, np.int64)
    if table.partitions:
        row, marks = _split_by(table, marks)
        lefts, rights = np.insert(table.lefts, row + 1, marks), np.insert(table.rights, row, marks)
        return Table(lefts, rights, table.groups[np.insert(np.arange(len(table)), row, row)])
    first = np.searchsorted(marks, table.lefts, side="right")
    pieces = np.maximum(np.searchsorted(marks, table.rights, side="left") - first, 0) + 1
    row = np.repeat(np.arange(len(table)), pieces)
    place = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    mark = first[row] + place
    last = place == pieces[row] - 1
    rights = np.where(last, table.rights[row], marks[np.minimum(mark, len(marks) - 1)])
    lefts = np.where(place == 0, table.lefts[row], marks[np.maximum(mark - 1, 0)])
    return _sorted(lefts, rights, table.groups[row])


def _split_by(table: Table, marks: NDArray[np.int64]) -> Pairs:
    """(row, mark) for every mark strictly inside a row; ``table`` cuts the line into pieces."""
    row = np.searchsorted(table.rights, marks)
    inside = row < len(table)
    row, marks = row[inside], marks[inside]
    inside = (table.lefts[row] < marks) & (marks < table.rights[row])
    return row[inside], marks[inside]


def _sorted(lefts: Tokens, rights: Tokens, groups: Codes) -> Table:
    order = np.lexsort((rights, lefts))
    return Table(lefts[order], rights[order], groups[order])


def _edited(table: Table, edits: Edits) -> Table:
    if not edits:
        return table
    table = _with_extra_rows(table, (*edits.adds, *edits.drops))
    groups = _without(table.groups, *_inside(table, edits.drops))
    return Table(table.lefts, table.rights, _with(groups, *_inside(table, edits.adds)))


def _inside(table: Table, edits: tuple[Edit, ...]) -> Pairs:
    """(row, node code) for every row that lies inside an edit's range, in the edits' order."""
    lefts, rights, codes = np.array([astuple(e) for e in edits], np.int64).reshape(len(edits), 3).T
    if table.partitions:
        first = np.searchsorted(table.lefts, lefts)
        count = np.searchsorted(table.rights, rights, side="right") - first
        edit, row = np.repeat(np.arange(len(edits)), count), _runs(first, count)
        return row, codes[edit]
    edit, row = np.nonzero((lefts[:, None] <= table.lefts) & (table.rights <= rights[:, None]))
    return row, codes[edit]


def _runs(first: NDArray[np.intp], count: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers of several runs, one run after the other: so many from each first one on."""
    return np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)


def _without(groups: Codes, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> Codes:
    """The groups without these nodes, the others close up in their order."""
    if not len(rows):
        return groups
    groups = groups.copy()
    hit, slot = np.nonzero(groups[rows] == codes[:, None])
    groups[rows[hit], slot] = -1
    touched = np.unique(rows[hit])
    order = np.argsort(groups[touched] < 0, axis=1, kind="stable")
    groups[touched] = np.take_along_axis(groups[touched], order, axis=1)
    return groups


def _with(groups: Codes, rows: NDArray[np.int64], codes: NDArray[np.int64]) -> Codes:
    """The groups with these nodes at their ends; a node that is there already stays in place."""
    new = ~(groups[rows] == codes[:, None]).any(axis=1)
    order = np.argsort(rows[new], kind="stable")
    rows, codes = rows[new][order], codes[new][order]
    if not len(rows):
        return groups
    begin = np.searchsorted(rows, rows)
    slot = (groups[rows] >= 0).sum(axis=1) + np.arange(len(rows)) - begin
    groups = widened(groups, int(slot.max()) + 1)
    groups[rows, slot] = codes
    return groups


def _with_extra_rows(table: Table, edits: tuple[Edit, ...]) -> Table:
    bounds = sorted({bound for edit in edits for bound in (edit.left, edit.right)})
    marks = np.array(bounds, np.int64)
    if table.partitions and not any(map(len, _split_by(table, marks))):
        return table
    begin = np.searchsorted(marks, table.lefts, side="right")
    end = np.searchsorted(marks, table.rights, side="left")
    known = set(zip(table.lefts.tolist(), table.rights.tolist(), strict=True))
    extra: list[tuple[int, int]] = []
    source: list[int] = []
    for row in np.flatnonzero(begin < end).tolist():
        inner = bounds[begin[row] : end[row]]
        around = [int(table.lefts[row]), *inner, int(table.rights[row])]
        for piece in pairwise(around):
            reached = any(edit.left <= piece[0] and piece[1] <= edit.right for edit in edits)
            if reached and piece not in known:
                known.add(piece)
                extra.append(piece)
                source.append(row)
    if not extra:
        return table
    parts = np.array(extra, np.int64)
    lefts = np.concatenate((table.lefts, parts[:, 0]))
    rights = np.concatenate((table.rights, parts[:, 1]))
    return _sorted(lefts, rights, np.concatenate((table.groups, table.groups[source])))


def _merged(table: Table, bounds: tuple[int, ...]) -> Table:
    """The table without these bounds; a run of merged rows keeps the group of its first one."""
    if table.partitions and len(table):
        # The bounds are few, so they are looked up among the rows.
        marks = np.array(bounds, np.int64)
        at = np.minimum(np.searchsorted(table.rights, marks), len(table) - 1)
        merged = np.zeros(len(table), np.bool_)
        merged[at[table.rights[at] == marks]] = True
        merged[-1:] = False
        begins = np.flatnonzero(np.append(True, ~merged[:-1])[: len(merged)])
        return Table(table.lefts[begins], table.rights[~merged], table.groups.take(begins, axis=0))
    for bound in bounds:
        left, right = _neighbours(table, bound)
        if left is None or right is None:
            continue
        rights = table.rights.copy()
        rights[left] = rights[right]
        rest = np.arange(len(rights)) != right
        table = _sorted(table.lefts[rest], rights[rest], table.groups[rest])
    return table


def settle(
    placement: Placement, ring: Ring, replication: Replication, near: Spans | None = None
) -> Placement:
    """The placement in the order in which it is shown (CEP-21, tables of "Bootstrap").

    Read groups in walk order of ``ring``: natural replicas first, then other members by their walk
    position, then nodes without tokens. Write groups likewise where they equal the read group as
    sets; elsewhere they keep their order: the former one with additions appended.

    ``near`` are the bounds, as sorted disjoint spans, of the area outside of which nothing changed,
    neither groups nor walks, since all was in order: only the rows that it touches are looked at.
    """
    if near is not None and placement.reads.partitions and placement.writes.partitions:
        return _settled_near(placement, ring, replication, near)
    reads = _in_walk_order(placement.reads, ring, replication)
    writes = placement.writes
    if np.array_equal(writes.lefts, reads.lefts) and np.array_equal(writes.rights, reads.rights):
        equal = same_sets(reads.groups, writes.groups)
        width = max(reads.groups.shape[1], writes.groups.shape[1])
        groups = np.where(equal[:, None], padded(reads.groups, width), padded(writes.groups, width))
        return Placement(reads, Table(writes.lefts, writes.rights, groups))
    shown = {reads.range_of(at): reads.codes(at) for at in range(len(reads))}
    rows = []
    for at in range(len(writes)):
        place, codes = writes.range_of(at), writes.codes(at)
        like = shown.get(place, ())
        rows.append((place.left, place.right, like if set(like) == set(codes) else codes))
    return Placement(reads, Table.of(rows))


def _settled_near(
    placement: Placement, ring: Ring, replication: Replication, near: Spans
) -> Placement:
    reads, writes = placement.reads, placement.writes
    at, to = (_touched(table, *near) for table in (reads, writes))
    if not len(at) and not len(to):
        return placement
    parts = (
        Table(table.lefts[rows], table.rights[rows], table.groups[rows])
        for table, rows in ((reads, at), (writes, to))
    )
    settled = settle(Placement(*parts), ring, replication)
    return Placement(_with_rows(reads, at, settled.reads), _with_rows(writes, to, settled.writes))


def _touched(table: Table, lefts: Tokens, rights: Tokens) -> NDArray[np.intp]:
    """Indices of the rows that share a token with one of a few spans, two of which may one row."""
    first = np.searchsorted(table.rights, lefts, side="right")
    end = np.searchsorted(table.lefts, rights, side="left")
    return np.unique(_runs(first, end - first))


def _with_rows(table: Table, at: NDArray[np.intp], part: Table) -> Table:
    width = max(table.groups.shape[1], part.groups.shape[1])
    groups = padded(part.groups, width)
    if np.array_equal(padded(table.groups[at], width), groups):
        return table
    every = widened(table.groups, width)
    every[at] = groups
    return Table(table.lefts, table.rights, every)


def _in_walk_order(table: Table, ring: Ring, replication: Replication) -> Table:
    natural = replicas(ring, replication, table.rights)
    width, size = natural.shape[1], len(ring.tokens)
    slots, starts = slots_of(table.groups, natural), ring.starts(table.rights)
    rank = np.where(slots < 0, width + size, slots)  # what pads a group is last, and stays there
    others = (slots < 0) & (table.groups >= 0)
    codes = np.unique(table.groups[others]).tolist()
    owned = {code: np.flatnonzero(ring.owners == code) for code in codes}
    for row, slot in zip(*np.nonzero(others), strict=True):
        places = owned[int(table.groups[row, slot])]
        if len(places):
            rank[row, slot] = width + int(((places - starts[row]) % size).min())
    order = np.argsort(rank, axis=1, kind="stable")
    return Table(table.lefts, table.rights, np.take_along_axis(table.groups, order, axis=1))
