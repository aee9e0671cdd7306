"""How a search that was cut off looks further, and which of its nodes have lost their goal."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kit.engine.search import look_further


@pytest.mark.parametrize("seed", range(40))
def test_it_goes_on_from_what_is_new_alone(seed: int) -> None:
    """Breadth first, to so many nodes that were not known; every step that is seen is a source."""
    random = Random(seed)
    edges = {n: [random.randrange(12) for _ in range(random.randrange(4))] for n in range(12)}
    known, start = set(random.sample(range(12), 4)), random.sample(range(12), 3)
    most = random.choice((0, 1, 3, 99))

    def successors(node: int) -> Iterator[tuple[Any, int]]:
        return (("go", after) for after in edges[node])

    sources: dict[Any, list[Any]] = {}
    new, stopped = look_further(start, successors, str, {str(n) for n in known}, sources, most)
    expected: list[int] = []
    told: dict[str, list[str]] = {}
    queue = list(start)
    while queue and len(expected) < most:
        node = queue.pop(0)
        for after in edges[node]:
            told.setdefault(str(after), []).append(str(node))
            if after not in known and after not in expected:
                expected.append(after)
                queue.append(after)
    assert new == [str(node) for node in expected]
    assert stopped == [str(node) for node in queue]
    assert sources == told
