"""The rows that a ring change can touch, found near the changed tokens only.

A walk ends where its quota is full, and the end never moves back as the start moves on: so the
rows whose walk reaches a changed token are a run of rows just before it. Windows around the changed
tokens are looked at together, wider ones only where a walk did not end inside. When the rule itself
changes for a datacenter (a rack comes or goes, or there are fewer nodes than replicas), or the
windows are much of the ring, all rows are computed again.
"""

from itertools import compress, count
from operator import is_not

from msgspec import Struct

from kit.ring.columns import PLAIN, NDArray, np
from kit.ring.natural import ReplicaQuota, quotas, replicas
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Ring, Tokens

Index = NDArray[np.intp]
FIRST_SPAN = 16
Walks = dict[int, tuple[list[int], list[int]]]
"""Replicas in both rings, by the index of the token at which the walk begins."""
DEARER = 2  # so many times the tokens in all windows: beyond the ring, all rows are computed


class ChangedRows(Struct, frozen=True):
    """Elementary rows that a ring change may touch, and what it does to them.

    ``lefts``, ``rights`` int64 (n,), cut at the tokens of both rings; ``before``, ``after`` int32
    codes (n, k), padded with -1: replicas that may differ. Rows, and datacenters of rows, that are
    left out have the same replicas before and after; halves of split rows and parts of merged rows
    are there always. ``cuts`` and ``merges`` are the bounds that come and go.
    """

    lefts: Tokens
    rights: Tokens
    before: Codes
    after: Codes
    cuts: Tokens
    merges: Tokens


class Line(Struct, frozen=True):
    """The tokens of both rings with those owners that stay.

    ``changed`` are the indices of the other tokens; ``before`` and ``after`` their owners (-1: no
    token there in that ring).
    """

    tokens: Tokens
    owners: Codes
    changed: Index
    before: Codes
    after: Codes

    def groups(self, at: Index) -> tuple[Codes, Codes]:
        """The owners in both rings of the tokens with the indices ``at``, of any shape."""
        stay = self.owners[at]
        which = self.changed.searchsorted(at)
        which[which == len(self.changed)] = 0
        changes = self.changed[which] == at
        before = np.where(changes, self.before[which], stay)
        return before, np.where(changes, self.after[which], stay)


def changes(before: Ring, after: Ring, replication: Replication) -> ChangedRows:
    """The rows that the change from one ring to the other may touch; codes must be stable."""
    line = _line(before, after)
    cuts, merges = _bounds(line, line.before, before), _bounds(line, line.after, after)
    near = None if PLAIN else _nearby(line, before, after, replication)
    if near is None:
        rights = np.union1d(before.rights, after.rights)
        lefts = np.append(np.int64(before.space.low), rights[:-1])
        old, new = (replicas(ring, replication, rights) for ring in (before, after))
        return ChangedRows(lefts, rights, old, new, cuts, merges)
    starts, former, latter = near
    lefts, rights, source = _rows(line.tokens, starts, before)
    return ChangedRows(lefts, rights, former[source], latter[source], cuts, merges)


def _line(before: Ring, after: Ring) -> Line:
    known, others = len(before.nodes), compress(count(), map(is_not, before.nodes, after.nodes))
    codes = [code for code in others if before.nodes[code] != after.nodes[code]]
    codes += range(known, len(after.nodes))
    old = {t: code for code in codes if code < known for t in before.nodes[code].tokens}
    new = {t: code for code in codes for t in after.nodes[code].tokens}
    changed = sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))
    removed = [t for t in changed if t not in new]
    if all(t in old for t in changed):
        tokens, owners = before.tokens, before.owners
    elif not removed:
        tokens, owners = after.tokens, after.owners
    else:
        at = after.tokens.searchsorted(np.array(removed, np.int64))
        tokens, owners = np.insert(after.tokens, at, removed), np.insert(after.owners, at, -1)
    places = tokens.searchsorted(np.array(changed, np.int64))
    both = [np.array([owner.get(t, -1) for t in changed], np.int32) for owner in (old, new)]
    return Line(tokens, owners, places, both[0], both[1])


def _bounds(line: Line, owners: Codes, ring: Ring) -> Tokens:
    tokens = line.tokens[line.changed[owners < 0]]
    inner: Tokens = tokens[(tokens != ring.space.low) & (tokens != ring.space.high)]
    return inner


def _rows(tokens: Tokens, starts: Index, ring: Ring) -> tuple[Tokens, Tokens, Index]:
    """Bounds of the rows whose walk begins at ``starts``, in order, and the index of their start.

    The first token's walk has two rows: the first one and ``(last token, end]``; MIN closes none.
    """
    rights = tokens[starts]
    lefts = np.where(starts > 0, tokens[starts - 1], ring.space.low)
    source = np.arange(len(starts))
    if len(starts) and starts[0] == 0:
        if tokens[-1] != ring.space.high:
            lefts = np.append(lefts, tokens[-1])
            rights = np.append(rights, np.int64(ring.space.high))
            source = np.append(source, 0)
        if tokens[0] == ring.space.low:
            lefts, rights, source = lefts[1:], rights[1:], source[1:]
    return lefts, rights, source


def _nearby(
    line: Line, before: Ring, after: Ring, replication: Replication
) -> tuple[Index, Codes, Codes] | None:
    """The rows near the changed tokens, by where their walks begin, with codes in both rings; None
    when all rows have to be looked at.
    """
    former, latter = quotas(before, replication), quotas(after, replication)
    if len(former) != len(latter) or not len(after.tokens):
        return None
    size, width = len(line.tokens), sum(quota.wanted for quota in former)
    bounded = {at % size for place in line.changed.tolist() for at in (place, place + 1)}
    rows = {start: [-1] * 2 * width for start in bounded}
    slot = 0
    for old, new in zip(former, latter, strict=True):
        if (old.dc, old.wanted, old.repeats) != (new.dc, new.wanted, new.repeats):
            return None
        reached = _one_walk(line, old, new)
        if reached is None:
            return None
        for start, groups in reached.items():
            row = rows.setdefault(start, [-1] * 2 * width)
            for at, group in zip((slot, width + slot), groups, strict=True):
                row[at : at + new.wanted] = group
        slot += new.wanted
    starts = sorted(rows)
    codes = np.array([rows[start] for start in starts], np.int32).reshape(len(starts), 2, width)
    return np.array(starts, np.intp), codes[:, 0], codes[:, 1]


def _one_walk(line: Line, old: ReplicaQuota, new: ReplicaQuota) -> Walks | None:
    """The rows whose walk reaches a changed token that counts; None: too many windows."""
    counts = (_counting(line.before, old) >= 0) | (_counting(line.after, new) >= 0)
    places, span = line.changed[counts], FIRST_SPAN
    reached: Walks = {}
    while len(places):
        if len(places) * span * DEARER > len(line.tokens):
            return None
        at = (places[:, None] + np.arange(-span, span)) % len(line.tokens)
        before, after = line.groups(at)
        first, last = _counting(before, old).tolist(), _counting(after, new).tolist()
        windows = zip(at.tolist(), first, last, strict=True)
        ended = [_reaching(where, a, b, old, new, reached) for where, a, b in windows]
        if all(ended):
            break
        places, span = places[np.logical_not(ended)], 2 * span
    return reached


def _counting(codes: Codes, quota: ReplicaQuota) -> Codes:
    return np.where(quota.members[codes], codes, -1)


def _reaching(
    at: list[int],
    before: list[int],
    after: list[int],
    old: ReplicaQuota,
    new: ReplicaQuota,
    reached: Walks,
) -> bool:
    """Add the rows of a window whose walk reaches its middle; False where it is too narrow."""
    middle = len(at) // 2
    first, last = _walk(before, middle, old), _walk(after, middle, new)
    for start in range(middle, -1, -1):
        if start < middle and before[start] >= 0:  # else it goes on as the row behind it does
            first = _walk(before, start, old)
        if start < middle and after[start] >= 0:
            last = _walk(after, start, new)
        if first is None or last is None:
            return False
        if first[1] < middle and last[1] < middle:
            return True
        reached[at[start]] = first[0], last[0]
    return False


def _walk(codes: list[int], start: int, quota: ReplicaQuota) -> tuple[list[int], int] | None:
    """The replicas of one walk and where it takes the last; None where it does not end here."""
    taken, racks = list[int](), set[int]()
    rack_of, wanted, repeats = quota.rack_of.item, quota.wanted, quota.repeats
    several = quota.racks > 1
    for at in range(start, len(codes)):
        code = codes[at]
        if code < 0 or code in taken:
            continue
        if several:
            rack = rack_of(code)
            again = rack in racks
            if again and not repeats:
                continue
            repeats -= again
            racks.add(rack)
        taken.append(code)
        if len(taken) == wanted:
            return taken, at
    return None
