"""How a search that was cut off looks further, and which of its nodes have lost their goal."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kit.engine.model import goal
from kit.engine.search import look_further, out_of_reach
from tests.engine.toys import Cell, Graph


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


@pytest.mark.parametrize(
    ("start", "home", "most", "is_lost"),
    [
        (0, 0, 9, False),  # there already
        (0, 3, 9, False),
        (0, 5, 9, True),
        (4, 3, 9, True),
        (4, 4, 0, False),
        (0, 3, 2, False),  # nobody has seen it, but not all was seen
        (0, 5, 2, False),
        (0, 5, 3, False),
        (3, 0, 1, True),  # nothing follows, so that all was seen
    ],
)
def test_a_goal_is_lost_where_all_was_seen_and_it_was_not(
    start: int, home: int, most: int, is_lost: bool
) -> None:
    """0 leads over 1 to 2 and then to 3, and nothing to 5; 4 goes round alone."""
    model = Graph({0: (1,), 1: (2,), 2: (3,), 4: (4,)})
    prop = goal("home", "One can come home", lambda s: s.at == home)
    assert out_of_reach(model, model.rules, prop, Cell(start), most) is is_lost
