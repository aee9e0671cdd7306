"""Sets of things that have places, as the bits of a number: bit 0 is the first place.

Models keep sets of nodes, replicas and requests so: a number is hashed and compared at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress
from operator import or_
from typing import TypeVar

T = TypeVar("T")
_BITS, _DIGITS = bytes(code & 1 for code in range(256)), b"01" + bytes(254)


def chosen(every: Iterable[T], mask: int) -> tuple[T, ...]:
    """Those of ``every`` whose place is in the set, in order; quick for a thousand, too."""
    return tuple(compress(every, f"{mask:b}"[::-1].encode().translate(_BITS)))


def where(held: Iterable[bool | int]) -> int:
    """The set of the places at which something holds."""
    return int(bytes(held)[::-1].translate(_DIGITS) or b"0", 2)


def nodes_in(mask: int) -> Iterator[int]:
    """The places in a set, in order; the first is there at once, however large."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def members(mask: int) -> tuple[int, ...]:
    """All places in a set at once, which is quicker where all are asked for."""
    return chosen(range(mask.bit_length()), mask)


def majority(count: int) -> int:
    """More than half of so many."""
    return count // 2 + 1


def is_majority(some: int, of: int) -> bool:
    """Whether more than half of a set are among some."""
    return 2 * (some & of).bit_count() > of.bit_count()


def holds(mask: int, i: int) -> bool:
    """Whether a place is in the set."""
    return bool(mask >> i & 1)


def union(masks: Iterable[int]) -> int:
    """All that is in one of some sets."""
    return reduce(or_, masks, 0)


def mask_of(numbers: Iterable[int]) -> int:
    """The set of some places."""
    return union(1 << number for number in numbers)


def within(able: Sequence[int], mask: int) -> int:
    """A set of nodes as one of places in a list of them."""
    return where(mask >> node & 1 for node in able)


def among(able: Sequence[int], mask: int) -> int:
    """The other way round: places in a list of nodes as a set of nodes."""
    return mask_of(able[at] for at in nodes_in(mask))
