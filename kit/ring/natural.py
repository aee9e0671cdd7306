"""Natural replicas: which nodes replicate a range when nothing is in progress.

One clockwise walk from the token that closes the range (CEP-21, "Data placements"). Within a
datacenter a node whose rack already has a replica is passed over until every rack of the datacenter
has one; then those passed over are taken in the order in which they were met, then anybody. That is
the order of the published Python driver of Cassandra; the server takes the same sets but lists
the early repetitions of a rack where it meets them.

The walk of all ranges is done together, step by step; each step extends only the unfinished rows.
The readable form of the same rules is in `kit.ring.reference`.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kit.ring.replication import (
    EverywhereStrategy,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.topology import Codes, Ring, Tokens

Index = NDArray[np.intp]
Keys = NDArray[np.int64]


class Quota(Struct, frozen=True):
    """What one walk looks for: `factor` replicas among `nodes` (codes) on `racks` racks.

    `racks` is the number of racks that have a node in the ring, `rack_of` gives the rack number
    (0 …) by node code, `members` is a mask by node code.
    """

    factor: int
    nodes: int
    racks: int
    rack_of: NDArray[np.int64]
    members: NDArray[np.bool_]

    @property
    def wanted(self) -> int:
        """Replicas that the walk can find."""
        return min(self.factor, self.nodes)

    @property
    def repeats(self) -> int:
        """How many replicas may share a rack with an earlier one."""
        return max(self.factor - self.racks, 0)


def quotas(ring: Ring, replication: Replication) -> tuple[Quota, ...]:
    """The walks of a strategy: one, or one a datacenter; none when nothing is replicated."""
    in_ring = np.array([bool(node.tokens) for node in ring.nodes], dtype=np.bool_)
    match replication:
        case LocalStrategy():
            return ()
        case SimpleStrategy(replication_factor=factor):
            found = [_one_rack(factor, in_ring)]
        case EverywhereStrategy():
            found = [_one_rack(int(in_ring.sum()), in_ring)]
        case NetworkTopologyStrategy(factors=factors):
            found = [_datacenter(ring, dc, factor) for dc, factor in factors]
    return tuple(quota for quota in found if quota.wanted)


def _one_rack(factor: int, in_ring: NDArray[np.bool_]) -> Quota:
    return Quota(factor, int(in_ring.sum()), 1, np.zeros(len(in_ring), np.int64), in_ring)


def _datacenter(ring: Ring, dc: str, factor: int) -> Quota:
    racks: dict[str, int] = {}
    rack_of = np.zeros(len(ring.nodes), np.int64)
    members = np.zeros(len(ring.nodes), np.bool_)
    for code, node in enumerate(ring.nodes):
        if node.dc == dc and node.tokens:
            members[code] = True
            rack_of[code] = racks.setdefault(node.rack, len(racks))
    return Quota(factor, int(members.sum()), len(racks), rack_of, members)


def replicas(ring: Ring, replication: Replication, at: Tokens | None = None) -> Codes:
    """Natural replicas as int32 node codes, shape (n, k), padded with -1 on the right.

    Row i belongs to the at-rest row that ends at `ring.rights[i]`, or, when `at` is given, to the
    row that owns the token `at[i]`. Rows are in the order of one clockwise walk over all
    datacenters; within each datacenter that is the driver's order.
    """
    starts = ring.starts(ring.rights if at is None else at)
    walks = quotas(ring, replication)
    if not walks or not len(ring.tokens):
        return np.empty((len(starts), 0), np.int32)
    return clockwise(ring.owners, starts, walks)


def clockwise(owners: Codes, starts: Index, walks: tuple[Quota, ...]) -> Codes:
    """The replicas found by all `walks` from each of `starts` (indices into `owners`), together."""
    if len(walks) == 1 and bool(walks[0].members[owners].all()) and _in_step(walks[0]):
        codes, _ = walk(owners, starts, walks[0])
        return np.ascontiguousarray(codes.T)
    slots = sum(quota.wanted for quota in walks)
    slot_bits, code_bits = slots.bit_length(), int(owners.max()).bit_length()
    keys: list[Keys] = []
    for quota in walks:
        keys.extend(_order_keys(owners, starts, quota, len(keys), slot_bits, code_bits))
    ordered = sorted_columns(keys)
    mask = (1 << code_bits) - 1
    found = np.empty((len(starts), slots), np.int32)
    for slot, key in enumerate(ordered):
        found[:, slot] = key & mask
    return found


def _in_step(quota: Quota) -> bool:
    """Whether replicas are listed as they are met: no rack is met twice, or there is only one."""
    return quota.repeats == 0 or quota.racks == 1


def _order_keys(
    owners: Codes, starts: Index, quota: Quota, slot: int, slot_bits: int, code_bits: int
) -> list[Keys]:
    """A sort key a replica: how far the walk had come when it was taken, then slot, then code.

    Those passed over come after the node that completed the racks, at the same place of the walk.
    """
    places = np.flatnonzero(quota.members[owners])
    inside = np.searchsorted(places, starts)
    inside[inside == len(places)] = 0
    codes, steps = walk(owners[places], inside, quota)
    waited = np.zeros(steps.shape, np.bool_)
    if not _in_step(quota):
        steps, waited = _after_all_racks(codes, steps, quota)
    keys: list[Keys] = []
    for row, step, late in zip(codes, steps, waited, strict=True):
        here = inside + step
        here[here >= len(places)] -= len(places)
        far = places[here] - starts
        far[far < 0] += len(owners)
        order = (far << 1) | late
        keys.append((((order << slot_bits) | (slot + len(keys))) << code_bits) | row)
    return keys


def _after_all_racks(codes: Codes, steps: Keys, quota: Quota) -> tuple[Keys, NDArray[np.bool_]]:
    """The steps (wanted, n) at which replicas are listed, and which of them repeat a rack.

    A node whose rack had a replica already waits until every rack has one.
    """
    racks = quota.rack_of[codes]
    first = np.array([_absent(racks[slot], racks[:slot]) for slot in range(len(racks))])
    complete = np.where(first, steps, 0).max(axis=0)
    return np.where(first, steps, np.maximum(steps, complete)), ~first


def sorted_columns(columns: list[Keys]) -> list[Keys]:
    """The columns sorted across, row by row: the smallest of each row in the first column."""
    if len(columns) > 10:
        return list(np.sort(np.stack(columns), axis=0))
    columns = list(columns)
    for done in range(1, len(columns)):
        for slot in range(done, 0, -1):
            low, high = columns[slot - 1], columns[slot]
            columns[slot - 1] = np.minimum(low, high)
            columns[slot] = np.maximum(low, high)
    return columns


def walk(owners: Codes, starts: Index, quota: Quota) -> tuple[Codes, Keys]:
    """Walk clockwise over `owners`, all of them members of the quota, from each of `starts`.

    Returns codes int32 (wanted, n) and the steps int64 (wanted, n) at which they were met, both in
    the order of meeting. The last step is where a row's walk ends.
    """
    wanted = quota.wanted
    codes = np.empty((wanted, len(starts)), np.int32)
    steps = np.empty((wanted, len(starts)), np.int64)
    live = _Live(quota, starts)
    for step in range(len(owners)):
        live.meet(owners[live.places], step)
        if step + 1 >= wanted:
            done = live.count == wanted
            rows = live.rows[done]
            codes[:, rows] = live.codes[:, done]
            steps[:, rows] = live.steps[:, done]
            if len(rows):
                live.keep(~done)
            if not len(live.rows):
                break
        live.places += 1
        live.places[live.places == len(owners)] = 0
    return codes, steps


class _Live:
    """The unfinished rows of a walk; columns shrink as rows finish.

    `rows` and `places` (n,), `count` (n,) replicas so far, `repeated` (n,) those on a rack met
    before, `codes`, `racks`, `steps` (wanted, n) filled with -1 from `count` on.
    """

    def __init__(self, quota: Quota, starts: Index) -> None:
        shape = (quota.wanted, len(starts))
        self.quota = quota
        self.rows = np.arange(len(starts))
        self.places = starts.copy()
        self.count = np.zeros(len(starts), np.int64)
        self.repeated = np.zeros(len(starts), np.int64)
        self.codes = np.full(shape, -1, np.int32)
        self.racks = np.full(shape, -1, np.int64)
        self.steps = np.zeros(shape, np.int64)

    def meet(self, met: Codes, step: int) -> None:
        """Take the nodes met by the rule; all rows are at the same step."""
        quota = self.quota
        filled = min(step, quota.wanted)
        racks = quota.rack_of[met]
        if quota.racks == 1:
            taken = _absent(met, self.codes[:filled])
        else:
            taken = _absent(racks, self.racks[:filled])
            if quota.repeats:
                again = _absent(met, self.codes[:filled]) & ~taken
                again &= self.repeated < quota.repeats
                self.repeated += again
                taken |= again
        at = np.flatnonzero(taken)
        slots = self.count[at]
        self.codes[slots, at] = met[at]
        self.steps[slots, at] = step
        if quota.racks > 1:
            self.racks[slots, at] = racks[at]
        self.count[at] += 1

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Forget all rows but these."""
        self.rows, self.places = self.rows[rows], self.places[rows]
        self.count, self.repeated = self.count[rows], self.repeated[rows]
        self.codes, self.steps = self.codes[:, rows], self.steps[:, rows]
        self.racks = self.racks[:, rows]


def _absent(
    values: NDArray[np.int64] | Codes, slots: NDArray[np.int64] | Codes
) -> NDArray[np.bool_]:
    """Whether each value is in none of the slots of its column."""
    absent = np.ones(len(values), np.bool_)
    for slot in slots:
        absent &= slot != values
    return absent
