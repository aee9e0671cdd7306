"""Every reachable state of a small model, for tests that ask something of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.model.model import Model


def reachable(model: Model[Any, Any], start: Any = None) -> Iterator[Any]:
    """Every state once, breadth first; from ``start`` on, where one is given."""
    start = model.start() if start is None else start
    seen, frontier = {start}, [start]
    while frontier:
        found = []
        for state in frontier:
            yield state
            for _, after in model.successors(state):
                if after not in seen:
                    seen.add(after)
                    found.append(after)
        frontier = found


def ends(model: Model[Any, Any]) -> list[Any]:
    """The states in which nothing more can happen."""
    return [s for s in reachable(model) if next(iter(model.actions(s)), None) is None]
