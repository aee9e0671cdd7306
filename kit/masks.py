"""Sets of things that have places, as the bits of a number: bit 0 is the first place.

Models keep sets of nodes, replicas and requests so: a number is hashed and compared at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import TypeVar

T = TypeVar("T")
_BITS, _DIGITS = bytes(code & 1 for code in range(256)), b"01" + bytes(254)


def chosen(every: Iterable[T], mask: int) -> tuple[T, ...]:
    """Those of ``every`` whose place is in the set, in order; quick for a thousand, too."""
    return tuple(compress(every, f"{mask:b}"[::-1].encode().translate(_BITS)))


def where(held: Iterable[bool]) -> int:
    """The set of the places at which something holds."""
    return int(bytes(held)[::-1].translate(_DIGITS) or b"0", 2)
