"""About how much memory a search keeps, without a walk over all of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

_HALF = 500  # nodes that are looked at, twice


def kept(parents: Mapping[Any, Any], sources: Mapping[Any, list[Any]]) -> int:
    """The bytes of the visited nodes, the links between them and the lists of their sources.

    Estimated from a thousand nodes spread over all: what the second half of them adds to the first
    stands for every other one, so that what nodes share (a log, say) counts once.
    """
    nodes = list(islice(parents, 0, None, max(1, len(parents) // (2 * _HALF))))
    halves = nodes[::2], nodes[1::2]
    known: set[int] = set()
    first, second = (sum(_size(node, known) for node in half) for half in halves)
    each = second / len(halves[1]) if halves[1] else 0
    total = sys.getsizeof(parents) + first + second + int((len(parents) - len(nodes)) * each)
    lists = list(islice(sources.values(), 2 * _HALF))
    if lists:
        total += sys.getsizeof(sources)
        total += sum(map(sys.getsizeof, lists)) * len(sources) // len(lists)
    return total


def _size(value: Any, known: set[int]) -> int:
    """The bytes of a value and of all that it holds, without what is in ``known``."""
    total, todo = 0, [value]
    while todo:
        item = todo.pop()
        if id(item) in known or isinstance(item, type):
            continue
        known.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, Struct):
            todo += [getattr(item, name) for name in item.__struct_fields__]
        elif isinstance(item, tuple | list | frozenset):
            todo += item
        elif isinstance(item, dict):
            todo += [*item, *item.values()]
    return total
