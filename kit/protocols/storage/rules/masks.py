"""Sets of replicas as bit masks: bit ``i`` stands for replica ``i``.

Where a search asks hundreds of thousands of times (who serves, who learns), the bit is tested in
place: the calls would cost it three hundredths of its time.
"""

from __future__ import annotations

from collections.abc import Iterable


def holds(mask: int, i: int) -> bool:
    """Whether replica ``i`` is in the set."""
    return bool(mask >> i & 1)


def members(mask: int) -> tuple[int, ...]:
    """The replicas in a set, by number."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def mask_of(numbers: Iterable[int]) -> int:
    """The set of some replicas."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def names_of(mask: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """The replicas in a set, by name."""
    return tuple(name for i, name in enumerate(names) if mask >> i & 1)
