"""What was worked out of a model once, kept as long as the model is.

A fact that follows from the committed events alone is asked for by every picture of every step
until the next event; with a million ranges that must not be worked out each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
MOST = 4096
"""Facts kept of one model; beyond, the oldest go."""
_MEMOS: WeakKeyDictionary[Any, OrderedDict[Hashable, Any]] = WeakKeyDictionary()


def memo(m: Any, key: Hashable, work: Callable[[], T]) -> T:
    """What ``work`` gives, worked out once for a model and key; ``work`` is pure."""
    known = _MEMOS.setdefault(m, OrderedDict())
    if key not in known:
        worked_out = work()
        if len(known) >= MOST:
            known.popitem(last=False)
        known[key] = worked_out
    result: T = known[key]
    return result
