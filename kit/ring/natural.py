"""Natural replicas: which nodes replicate a range when nothing is in progress.

One clockwise walk from the token that closes the range (CEP-21, "Data placements"). Within a
datacenter a node on a rack without a replica is taken where it is met. One on a rack that has a
replica is taken there too, as often as there are more replicas than racks, and else passed over. So
replicas are listed as they are met: that is the order of the servers of Cassandra
(``NetworkTopologyStrategy.calculateNaturalReplicas``). The published drivers find the same sets,
but list such repetitions only where every rack has a replica.

The walk of all ranges is done together, step by step; each step extends only the unfinished rows.
It is compared with a readable form of the same rules, ``kit.ring.reference``, which takes its place
where there is no numpy.
"""

from typing import TypeVar

from msgspec import Struct

from kit.ring import replication as strategies
from kit.ring.columns import PLAIN, NDArray, np
from kit.ring.reference import replicas_reference
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Mask, Ring, Tokens

Index = NDArray[np.intp]
Keys = NDArray[np.int64]
Places = NDArray[np.int32]
Sorted = TypeVar("Sorted", Keys, Places)
REACH = 64  # tokens behind the last start that are looked at first
MOST_RACKS = 8  # of a datacenter, up to which the next place of each is looked at
FEW = 8  # up to so many replicas are found slot by slot also when all nodes are wanted


class ReplicaQuota(Struct, frozen=True):
    """The goal of one walk: ``wanted`` replicas on ``racks`` racks, ``repeats`` of which share
    one with an earlier one.

    Only nodes with tokens count. ``rack_of`` gives rack numbers and ``members`` a mask, by node
    code. ``dc`` is the datacenter, or empty for a walk over all of them.
    """

    dc: str
    wanted: int
    repeats: int
    racks: int
    rack_of: Codes
    members: Mask


def quotas(ring: Ring, replication: Replication) -> tuple[ReplicaQuota, ...]:
    """The walks of a strategy: one, or one per datacenter; none when nothing is replicated."""
    match replication:
        case strategies.LocalStrategy():
            walks = []
        case strategies.SimpleStrategy(replication_factor=factor):
            walks = [_anywhere(ring, factor)]
        case strategies.EverywhereStrategy():
            walks = [_anywhere(ring, len(ring.geography.in_ring))]
        case strategies.NetworkTopologyStrategy(factors=factors):
            walks = [_datacenter(ring, dc, factor) for dc, factor in factors]
    return tuple(quota for quota in walks if quota.wanted)


def _anywhere(ring: Ring, factor: int) -> ReplicaQuota:
    in_ring = ring.geography.in_ring
    return _quota("", factor, 1, np.zeros(len(in_ring), np.int32), in_ring)


def _datacenter(ring: Ring, dc: str, factor: int) -> ReplicaQuota:
    places = ring.geography
    members = places.in_ring & (places.dc_of == places.dcs.get(dc, -1))
    racks = int(np.count_nonzero(np.bincount(places.rack_of[members])))
    return _quota(dc, factor, racks, places.rack_of, members)


def _quota(dc: str, factor: int, racks: int, rack_of: Codes, members: Mask) -> ReplicaQuota:
    wanted, repeats = min(factor, int(np.count_nonzero(members))), max(factor - racks, 0)
    return ReplicaQuota(dc, wanted, repeats, racks, rack_of, members)


def replicas(ring: Ring, replication: Replication, at: Tokens | None = None) -> Codes:
    """Natural replicas as int32 node codes, shape (n, k): all rows have as many.

    Row i belongs to the stable row that ends at ``ring.rights[i]``, or, when ``at`` is given, to
    the row that owns the token ``at[i]``. Rows are in the order of one clockwise walk over all
    datacenters.
    """
    starts = ring.row_starts() if at is None else ring.starts(at)
    return replicas_from(ring, replication, starts)


def replicas_from(ring: Ring, replication: Replication, starts: Index) -> Codes:
    """The result of ``replicas`` for walks that begin at the tokens with these indices."""
    walks = quotas(ring, replication)
    if not walks:
        return np.empty((len(starts), 0), np.int32)
    if PLAIN and replication not in ring.walked:
        ring.walked[replication] = _read_aloud(ring, replication)
    if replication not in ring.walked:
        if len(starts) < len(ring.tokens) // 2:
            return clockwise(*stretch(ring.owners, starts, walks), walks)
        every = np.arange(len(ring.tokens))
        ring.walked[replication] = clockwise(ring.owners, every, walks)
    return ring.walked[replication][starts]


def _read_aloud(ring: Ring, replication: Replication) -> Codes:
    """The walks from all tokens by the readable rules: how it is done without numpy."""
    codes = {name: code for code, name in enumerate(ring.names)}
    named = (replicas_reference(ring.nodes, replication, t, ring.space) for t in ring.tokens)
    return np.array([[codes[name] for name in names] for names in named], np.int32)


def stretch(
    owners: Codes, starts: Index, walks: tuple[ReplicaQuota, ...], reach: int = REACH
) -> tuple[Codes, Index]:
    """The owners of the stretch of the circle in which all ``walks`` end, and the starts in it.

    A walk that begins later ends no earlier, so the last one says how far the stretch goes. What
    few rows need does not depend on the size of the ring. ``reach`` tokens are tried first.
    """
    if not len(starts):
        return owners, starts
    unrolled = np.where(starts < starts[0], starts + len(owners), starts)
    first, last = int(unrolled.min()), int(unrolled.max())
    while last - first + reach < len(owners):
        part = owners.take(np.arange(first, last + reach), mode="wrap")
        if all(_complete(part[last - first :], quota) for quota in walks):
            return part, unrolled - first
        reach *= 2
    return owners, starts


def _complete(owners: Codes, quota: ReplicaQuota) -> bool:
    met = np.unique(owners[quota.members[owners]])
    racks = len(np.unique(quota.rack_of[met]))
    return len(met) >= quota.wanted and racks + quota.repeats >= quota.wanted


def clockwise(owners: Codes, starts: Index, walks: tuple[ReplicaQuota, ...]) -> Codes:
    """The replicas of all ``walks`` from each of ``starts`` (indices of ``owners``), together.

    A datacenter's walk sees its own tokens only. Several walks are put together by the place on
    the line, unrolled once, at which each replica was taken: sort keys hold this place, the slot
    and the code, so that one sort of integers a row does it.
    """
    slots = sum(quota.wanted for quota in walks)
    first, *others = walks
    if not others and first.members[owners].all():
        return walk(owners, starts, first)[0].T
    if all(quota.racks <= MOST_RACKS and not quota.repeats for quota in walks):
        return _one_a_rack(owners, starts, walks).T
    slot_bits, code_bits = slots.bit_length(), int(owners.max()).bit_length()
    keys: list[Keys] = []
    for quota in walks:
        keys.extend(_order_keys(owners, starts, quota, len(keys), slot_bits, code_bits))
    codes = np.empty((slots, len(starts)), np.int32)
    for slot, key in enumerate(sorted_columns(keys)):
        np.bitwise_and(key, (1 << code_bits) - 1, out=codes[slot], casting="unsafe")
    return codes.T


def _one_a_rack(owners: Codes, starts: Index, walks: tuple[ReplicaQuota, ...]) -> Codes:
    """Codes (slots, n) where no rack is needed twice: of racks met first the first node each."""
    for beyond in (REACH, len(owners)):
        line = np.concatenate((owners, owners[:beyond]))
        racks = walks[0].rack_of[line]
        places: list[Places] = []
        for quota in walks:
            own = np.flatnonzero(np.bincount(quota.rack_of[quota.members]))
            nearest = [_next_places(racks == rack, starts) for rack in own]
            places += sorted_columns(nearest)[: quota.wanted]
        places = sorted_columns(places)
        if (places[-1] < len(line)).all():
            break
    return np.stack([line.take(place) for place in places])


def _next_places(here: Mask, starts: Index) -> Places:
    places = np.append(np.flatnonzero(here), len(here)).astype(np.int32)
    return np.repeat(places, np.diff(places, prepend=np.int32(-1)))[starts]


def _order_keys(
    owners: Codes, starts: Index, quota: ReplicaQuota, slot: int, slot_bits: int, code_bits: int
) -> list[Keys]:
    """A sort key a replica: the place where it was taken, then slot, then code; shape (n,) each."""
    own = quota.members[owners]
    places = np.flatnonzero(own)
    inside: Index = (np.cumsum(own) - own)[starts]  # how many of them lie before the start
    every = len(places) < len(starts)  # walk once a place of the datacenter, not once a row
    codes, met = walk(owners[places], np.arange(len(places) + 1) if every else inside, quota)
    unrolled = np.concatenate((places, places + len(owners)))
    keys = [
        (((unrolled[row] << slot_bits) | (slot + at)) << code_bits) | codes[at]
        for at, row in enumerate(met)
    ]
    return [key[inside] for key in keys] if every else keys


def sorted_columns(columns: list[Sorted]) -> list[Sorted]:
    """The columns sorted across, row by row: the smallest of each row in the first column."""
    if len(columns) > 10:
        return list(np.sort(np.stack(columns), axis=0))
    columns = list(columns)
    for done in range(len(columns)):
        for slot in range(done, 0, -1):
            low, high = columns[slot - 1], columns[slot]
            columns[slot - 1] = np.minimum(low, high)
            columns[slot] = np.maximum(low, high)
    return columns


def walk(owners: Codes, starts: Index, quota: ReplicaQuota) -> tuple[Codes, Index]:
    """Walk clockwise over ``owners``, all of them members of the quota, from each of ``starts``.

    Returns codes int32 (wanted, n) in the order of meeting and the places (wanted, n) where they
    were met, as indices into ``owners`` written twice in a row; ``starts`` may be its length too,
    for the beginning of the second round. The last place is where a row's walk ends. Slot by slot,
    all rows go one place on, and those that may not take what they meet go on alone.
    """
    if np.count_nonzero(quota.members) == quota.wanted > FEW:  # racks come again as they must
        return _everybody(owners, starts)
    line = np.concatenate((owners, owners))
    rack_line = quota.rack_of[line]
    codes = np.empty((quota.wanted, len(starts)), np.int32)
    racks = np.empty((quota.wanted, len(starts)), np.int32)
    met = np.empty((quota.wanted, len(starts)), np.intp)
    place = starts
    for slot in range(quota.wanted):
        place = place + 1 if slot else place.copy()
        earlier = codes[:slot], racks[:slot]
        rows = np.flatnonzero(~_takes(line[place], rack_line[place], earlier, quota))
        here, earlier = place[rows], (codes[:slot, rows], racks[:slot, rows])
        while len(rows):
            here += 1
            taken = _takes(line[here], rack_line[here], earlier, quota)
            place[rows[taken]] = here[taken]
            left = np.flatnonzero(~taken)
            rows, here = rows[left], here[left]
            earlier = earlier[0][:, left], earlier[1][:, left]
        np.take(line, place, out=codes[slot])
        np.take(rack_line, place, out=racks[slot])
        met[slot] = place
    return codes, met


def _everybody(owners: Codes, starts: Index) -> tuple[Codes, Index]:
    """The walk that takes every node: all nodes by the place where each is met first."""
    codes = np.unique(owners)
    met = np.empty((len(codes), len(starts)), np.intp)
    for slot, code in enumerate(codes):
        places = np.flatnonzero(owners == code)
        places = np.append(places, places[0] + len(owners))
        met[slot] = places[np.searchsorted(places, starts)]
    order = np.argsort(met, axis=0)
    return codes[order], np.take_along_axis(met, order, axis=0)


def _takes(codes: Codes, racks: Codes, earlier: tuple[Codes, Codes], quota: ReplicaQuota) -> Mask:
    """Whether a row takes the node it meets, given codes and racks (slots, n) it took earlier."""
    nodes, places = earlier
    if quota.racks == 1:
        return _absent(codes, nodes)
    taken = _absent(racks, places)
    if quota.repeats:
        first = [_absent(rack, places[:at]) for at, rack in enumerate(places)]
        repeated = len(first) - np.sum(first, axis=0, dtype=np.int64)
        taken |= (repeated < quota.repeats) & _absent(codes, nodes)
    return taken


def _absent(values: NDArray[np.integer], slots: NDArray[np.integer]) -> Mask:
    absent = np.ones(len(values), np.bool_)
    for slot in slots:
        absent &= slot != values
    return absent
