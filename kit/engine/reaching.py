"""Possible progress: the nodes of a search from which a goal can no longer be reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

Steps = Callable[[Any], Iterator[tuple[Any, Any]]]


def look_further(
    nodes: Iterable[Any],
    successors: Steps,
    key_of: Callable[[Any], Any],
    known: Container[Any],
    sources: dict[Any, list[Any]],
    most: int,
) -> tuple[list[Any], list[Any]]:
    """Go on from nodes that were not looked at, to at most so many that were not ``known``.

    ``sources`` learns of every step. Returns the keys of the nodes that are new, and those of the
    nodes at which it stopped.
    """
    todo = deque((node, key_of(node)) for node in nodes)
    new: dict[Any, None] = {}
    while todo and len(new) < most:
        node, own = todo.popleft()
        for _, after in successors(node):
            key = key_of(after)
            sources.setdefault(key, []).append(own)
            if key not in known and key not in new:
                new[key] = None
                todo.append((after, key))
    return list(new), [key for _, key in todo]


def first_lost(
    nodes: Iterable[Any], sources: Mapping[Any, Iterable[Any]], ends: Iterable[Any]
) -> Any | None:
    """The first of the nodes from which no way leads to any of the ends; None: from all there is.

    ``sources`` gives the nodes from which a step leads to one.
    """
    todo = list(ends)
    able = set(todo)
    while todo:
        for source in sources.get(todo.pop(), ()):
            if source not in able:
                able.add(source)
                todo.append(source)
    return next((node for node in nodes if node not in able), None)
