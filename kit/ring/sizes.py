"""How many bytes ranges hold, as far as anybody knows: what an operation would copy.

What is known of a range counts before what is known of its nodes; what covers a part of a range
counts by its share of the tokens.
"""

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from operator import itemgetter

from msgspec import Struct

from kit.ring.columns import np
from kit.ring.placements import stable_placement
from kit.ring.replication import Keyspace
from kit.ring.topology import Ring

Row = tuple[int, int, int]
_WORD = 0xFFFFFFFF


class Stored(Struct, frozen=True, forbid_unknown_fields=True):
    """The known sizes, as data: bytes by node; sorted (left, right, bytes) rows by keyspace."""

    nodes: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[str, tuple[Row, ...]], ...] = ()


class Sizes(Struct, frozen=True):
    """Known sizes: sorted (left, right, bytes) rows per keyspace; bytes per token for each node.

    A node's bytes are spread evenly over all the ranges that it replicates.
    """

    ranges: dict[str, tuple[Row, ...]]
    densities: dict[str, Fraction]

    def of(
        self, keyspace: str, left: int, right: int, sources: tuple[str, ...], *, each: bool
    ) -> int | None:
        """The bytes of a range that one of these sends, or ``each`` of them; None when nothing is
        known of it, or of a part of it. A source of which nothing is known has as much as the
        fullest other one.
        """
        senders = len(sources) if each else min(len(sources), 1)
        share = _share(self.ranges.get(keyspace, ()), left, right)
        if share is not None:
            return share * senders
        known = [self.densities[name] for name in sources if name in self.densities]
        if not known:
            return None
        sent = sum(known) + max(known) * (senders - len(known)) if each else max(known)
        return round(sent * (right - left))


def sizes_of(stored: Stored, ring: Ring, keyspaces: Iterable[Keyspace]) -> Sizes:
    """The known sizes of the stable ring, ready to be asked of any range."""
    widths = _widths(ring, keyspaces) if stored.nodes else {}
    densities = {n: Fraction(size, widths[n]) for n, size in stored.nodes if widths.get(n)}
    return Sizes(dict(stored.ranges), densities)


def _widths(ring: Ring, keyspaces: Iterable[Keyspace]) -> dict[str, int]:
    # The width of a range takes all of 64 bits, so it is added up in two halves.
    words = np.zeros((2, len(ring.names)), np.int64)
    for keyspace in keyspaces:
        table = stable_placement(ring, keyspace.replication).reads
        width = table.rights.astype(np.uint64) - table.lefts.astype(np.uint64)
        for slot in table.groups.T:
            there = slot >= 0
            for word, part in zip(words, (width >> np.uint64(32), width & _WORD), strict=True):
                np.add.at(word, slot[there], part[there].astype(np.int64))
    sums = zip(ring.names, *words.tolist(), strict=True)
    return {name: (high << 32) + low for name, high, low in sums}


def _share(rows: tuple[Row, ...], left: int, right: int) -> int | None:
    total, covered = Fraction(), 0
    for low, high, size in rows[bisect_right(rows, left, key=itemgetter(1)) :]:
        inside = min(high, right) - max(low, left)
        if inside <= 0:
            break
        covered += inside
        total += Fraction(size * inside, high - low)
    return round(total) if covered == right - left else None
