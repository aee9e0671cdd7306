"""The rows that a ring change can touch, found near the changed tokens only.

A walk ends where its quota is full, and the end never moves back as the start moves on: so the
rows whose walk reaches a changed token are a run of rows just before it. Windows around the changed
tokens are looked at together, wider ones only where a walk did not end inside. When the rule itself
changes for a datacenter (a rack comes or goes, or there are fewer nodes than replicas), or the
windows would be most of the ring, all rows are computed again.
"""

from __future__ import annotations

from itertools import compress, count
from operator import is_not

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from kit.ring.natural import ReplicaQuota, quotas, replicas
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Ring, Tokens

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
FIRST_SPAN = 32
LARGEST_WINDOWS = 2**24  # cells of all rows times all places of their windows


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
        which = np.searchsorted(self.changed, at)
        which[which == len(self.changed)] = 0
        changes = self.changed[which] == at
        before = np.where(changes, self.before[which], stay)
        return before, np.where(changes, self.after[which], stay)


class NearbyRows(Struct, frozen=True):
    """Rows by the index of the token at which their walk begins, with codes in both rings."""

    starts: Index
    before: Codes
    after: Codes


def changes(before: Ring, after: Ring, replication: Replication) -> ChangedRows:
    """The rows that the change from one ring to the other may touch; codes must be stable."""
    line = _line(before, after)
    cuts, merges = _bounds(line, line.before, before), _bounds(line, line.after, after)
    near = _nearby(line, before, after, replication)
    if near is None:
        rights = np.union1d(before.rights, after.rights)
        lefts = np.append(np.int64(before.space.low), rights[:-1])
        old, new = (replicas(ring, replication, rights) for ring in (before, after))
        return ChangedRows(lefts, rights, old, new, cuts, merges)
    lefts, rights, source = _rows(line.tokens, near.starts, before)
    return ChangedRows(lefts, rights, near.before[source], near.after[source], cuts, merges)


def _line(before: Ring, after: Ring) -> Line:
    """Both rings on one line; cheap where one has all the tokens of the other."""
    others = compress(count(), map(is_not, before.nodes, after.nodes))
    codes = [code for code in others if before.nodes[code] != after.nodes[code]]
    codes += range(len(before.nodes), len(after.nodes))
    old = {t: code for code in codes if code < len(before.nodes) for t in before.nodes[code].tokens}
    new = {t: code for code in codes for t in after.nodes[code].tokens}
    changed = sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))
    removed = np.array([t for t in changed if t not in new], np.int64)
    if all(t in old for t in changed):
        tokens, owners = before.tokens, before.owners
    else:
        at = np.searchsorted(after.tokens, removed)
        tokens = np.insert(after.tokens, at, removed) if len(removed) else after.tokens
        owners = np.insert(after.owners, at, -1) if len(removed) else after.owners
    places = np.searchsorted(tokens, np.array(changed, np.int64))
    both = [np.array([owner.get(t, -1) for t in changed], np.int32) for owner in (old, new)]
    return Line(tokens, owners, places, both[0], both[1])


def _bounds(line: Line, owners: Codes, ring: Ring) -> Tokens:
    """The changed tokens that have no owner in one ring and so bound rows in the other only."""
    tokens: Tokens = line.tokens[line.changed[owners < 0]]
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


def _nearby(line: Line, before: Ring, after: Ring, replication: Replication) -> NearbyRows | None:
    """The rows near the changed tokens; None when all have to be looked at."""
    walks = quotas(before, replication), quotas(after, replication)
    if len(walks[0]) != len(walks[1]) or not len(before.tokens) or not len(after.tokens):
        return None
    size = len(line.tokens)
    around = (line.changed[:, None] + (0, 1)) % size
    parts = [NearbyRows(np.unique(around), *(np.empty((0, 0), np.int32),) * 2)]
    for old, new in zip(*walks, strict=True):
        if (old.dc, old.wanted, old.repeats) != (new.dc, new.wanted, new.repeats):
            return None
        part = _one_walk(line, old, new)
        if part is None:
            return None
        parts.append(part)
    return _together(parts)


def _together(parts: list[NearbyRows]) -> NearbyRows:
    starts = np.unique(np.concatenate([part.starts for part in parts]))
    width = sum(part.before.shape[1] for part in parts)
    before = np.full((len(starts), width), -1, np.int32)
    after = np.full((len(starts), width), -1, np.int32)
    slot = 0
    for part in parts:
        rows, last = np.searchsorted(starts, part.starts), slot + part.before.shape[1]
        if last > slot:
            before[rows, slot:last] = part.before
            after[rows, slot:last] = part.after
        slot = last
    return NearbyRows(starts, before, after)


def _one_walk(line: Line, old: ReplicaQuota, new: ReplicaQuota) -> NearbyRows | None:
    """The rows whose walk for this quota reaches a changed token that counts for it."""
    counts = (line.before >= 0) & old.members[line.before]
    counts |= (line.after >= 0) & new.members[line.after]
    places, span = line.changed[counts], FIRST_SPAN
    parts: list[NearbyRows] = []
    while len(places):
        if 2 * span > len(line.tokens) or len(places) * span * span > LARGEST_WINDOWS:
            return None
        part, ended = _windows(line, places, span, old, new)
        parts.append(part)
        places, span = places[~ended], 2 * span
    if not parts:
        return NearbyRows(np.empty(0, np.intp), *(np.empty((0, 0), np.int32),) * 2)
    columns = zip(*map(astuple, parts), strict=True)
    starts, before, after = (np.concatenate(column) for column in columns)
    starts, first = np.unique(starts, return_index=True)
    return NearbyRows(starts, before[first], after[first])


def _windows(
    line: Line, places: Index, span: int, old: ReplicaQuota, new: ReplicaQuota
) -> tuple[NearbyRows, Mask]:
    """The rows that reach each of ``places``, and for which places all walks ended inside.

    A window has ``span`` tokens before the place and ``span`` from it on. Rows of windows in which
    some walk did not end are left out.
    """
    at = (places[:, None] + np.arange(-span, span)) % len(line.tokens)
    before, after = line.groups(at)
    count = len(places)
    both = _counting(before, old), _counting(after, new)
    steady = np.where(before == after, both[1], -1)
    windows = _Windows(np.concatenate((*both, steady)), (old, new, new))
    window, start = np.nonzero(~windows.full_before(2 * count, span))
    taken = windows.taken(np.concatenate((window, window + count)), np.tile(start, 2))
    rows_ended = (taken.sum(axis=1) == new.wanted).reshape(2, -1).all(axis=0)
    ended = np.ones(count, np.bool_)
    ended[window[~rows_ended]] = False
    ended[window[start == 0]] = False
    keep = ended[window]
    window, start = window[keep], start[keep]
    groups = [
        codes[window][part[keep]].reshape(-1, new.wanted)
        for codes, part in zip((before, after), np.split(taken, 2), strict=True)
    ]
    return NearbyRows(at[window, start], groups[0], groups[1]), ended


def _counting(codes: Codes, quota: ReplicaQuota) -> Codes:
    """The codes of nodes that count for the quota, else -1."""
    return np.where((codes >= 0) & quota.members[codes], codes, np.int32(-1))


class _Windows:
    """Windows of codes (p, w), -1 for tokens that do not count, and the rule as a closed form.

    As many windows, one after the other, belong to each of ``quotas``: they want as many replicas
    and allow as many repetitions, each among its own members.

    A node met at j is the first of its rack for a walk from s when the one before it on the same
    rack stands before s; so is it a new node. ``same_rack`` and ``same_node`` (p, w) hold the index
    of that earlier one, or -1; none of them depends on s.
    """

    def __init__(self, codes: Codes, quotas: tuple[ReplicaQuota, ...]) -> None:
        self.quota = quotas[-1]
        self.counts = codes >= 0
        self.same_node = self.same_rack = np.empty(0, np.intp)
        if self.quota.racks == 1 or self.quota.repeats:
            self.same_node = _earlier(codes)
        if self.quota.racks > 1:
            parts = zip(quotas, np.split(codes, len(quotas)), strict=True)
            racks = np.concatenate([quota.rack_of[part] for quota, part in parts])
            self.same_rack = _earlier(np.where(self.counts, racks, -1))

    def kinds(self, window: Index, start: Index, end: int) -> tuple[Mask, Mask]:
        """For walks (n,) from ``start``: which tokens to ``end`` open a rack, which repeat one."""
        first = start[:, None]
        within = self.counts[window, :end] & (np.arange(end) >= first)
        if self.quota.racks == 1:
            fresh = within & (self.same_node[window, :end] < first)
            opens = fresh & (np.cumsum(fresh, axis=1) == 1)
            return opens, fresh & ~opens
        opens = within & (self.same_rack[window, :end] < first)
        if not self.quota.repeats:
            return opens, np.zeros(opens.shape, np.bool_)
        return opens, within & (self.same_node[window, :end] < first) & ~opens

    def taken(self, window: Index, start: Index) -> Mask:
        """Which tokens (n, w) the walks take, in order, as far as the window goes."""
        opens, again = self.kinds(window, start, self.counts.shape[1])
        opens &= np.cumsum(opens, axis=1) <= self.quota.wanted
        if self.quota.repeats:
            again &= np.cumsum(again, axis=1) <= self.quota.repeats
        return opens | again

    def full_before(self, first: int, span: int) -> Mask:
        """Whether the walk from s is full before the window's place; shape (p, span + 1).

        Of the windows from ``first`` on.
        """
        windows = len(self.counts) - first
        window = np.repeat(np.arange(first, first + windows), span)
        start = np.tile(np.arange(span), windows)
        opens, again = self.kinds(window, start, span)
        taken = np.minimum(opens.sum(axis=1), self.quota.wanted)
        taken += np.minimum(again.sum(axis=1), self.quota.repeats)
        full = (taken >= self.quota.wanted).reshape(windows, span)
        return np.concatenate((full, np.zeros((windows, 1), np.bool_)), axis=1)


def _earlier(values: Codes) -> Index:
    """For each value of a window (p, w) the index of the same value before it, else -1."""
    windows, width = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    cells = (order + np.arange(windows)[:, None] * width).ravel()
    ranked = values.ravel()[cells].reshape(values.shape)
    earlier = np.full(values.size, -1, np.intp)
    same = np.flatnonzero(ranked[:, 1:] == ranked[:, :-1])
    same += same // max(width - 1, 1)  # from pairs a window to cells a window
    earlier[cells[same + 1]] = order.ravel()[same]
    return earlier.reshape(values.shape)
