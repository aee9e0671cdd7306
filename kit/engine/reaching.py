"""Possible progress: the nodes of a search from which a goal can no longer be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


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
