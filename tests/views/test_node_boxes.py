"""Boxes in a ring: none lies on another one, however many there are."""

from __future__ import annotations

import re
from itertools import combinations
from string import ascii_uppercase

import pytest

from kit.views.fragment import Frag
from kit.views.node_boxes import WIDTH, NodeBox, draw_ring

LINES = ("name", "state", "group")


def middles(drawn: Frag) -> list[tuple[float, ...]]:
    """Where the middle of each box is."""
    return [
        tuple(map(float, re.findall(r"-?\d+", str(part.get("transform")))))
        for part in drawn.walk()
        if part.key
    ]


@pytest.mark.parametrize("wide", [112.0, 164.0])
@pytest.mark.parametrize("count", range(1, 13))
def test_no_box_lies_on_another_one(count: int, wide: float) -> None:
    """All stand within the picture, apart from one another; the order is kept."""
    names = ascii_uppercase[:count]
    drawn = draw_ring([NodeBox(n, n, LINES, n) for n in names], "ring", wide=wide)
    rects = [part for part in drawn.walk() if part.tag == "rect"]
    high = float(str(rects[0].get("height")))
    places = middles(drawn)
    assert len(places) == count
    bottom = float(str(drawn.get("viewBox")).split()[-1])
    for x, y in places:
        assert wide / 2 <= x <= WIDTH - wide / 2
        assert high / 2 <= y <= bottom - high / 2
    for (a, b), (c, d) in combinations(places, 2):
        assert abs(a - c) >= wide - 1 or abs(b - d) >= high - 1  # drawn at whole numbers


def test_few_stand_in_a_ring_and_many_in_two_columns() -> None:
    """Clockwise from the top left, both."""

    def drawn(count: int) -> list[tuple[float, ...]]:
        names = ascii_uppercase[:count]
        return middles(draw_ring([NodeBox(n, n, LINES, n) for n in names], "ring", wide=164.0))

    assert len({x for x, _ in drawn(3)}) == 3
    columns = drawn(9)
    left, right = min(x for x, _ in columns), max(x for x, _ in columns)
    assert [x for x, _ in columns] == [left, *[right] * 5, *[left] * 3]
    assert [y for _, y in columns[6:]] == sorted((y for _, y in columns[6:]), reverse=True)
