"""A search looks at the memory that is left, whatever shape the model has, and ends bounded."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import pairwise
from struct import calcsize
from typing import Any

import pytest
from msgspec import Struct

from kit.engine import check as checking
from kit.engine.check import check, kept
from kit.engine.declared import Declared, State, action, parameter
from kit.engine.model import goal
from kit.engine.search import Search

SENTENCE = "bounded, limited by the memory available: no violation found so far"


class At(State, frozen=True):
    """Two numbers."""

    row: int = 0
    column: int = 0


class Grid(Declared[At]):
    """From each number of a row one goes to every one of the next."""

    name, title = "grid", "A grid"
    State = At
    rows: int = parameter(3, "how many rows", ge=1)
    wide: int = parameter(1, "how many numbers in each", ge=1)
    short_at: int = parameter(0, "the row at which memory runs out", ge=0)

    def start(self) -> At:
        """The first number."""
        return At()

    @action(tag="go", each=lambda m, s: range(m.wide))
    def go(self, s: At, to: int) -> At | None:
        """To a number of the next row."""
        if s.row == self.rows:
            return None
        if self.short_at and s.row == self.short_at:
            raise MemoryError
        return At(s.row + 1, to)


@pytest.mark.parametrize("mode", ["breadth", "depth"])
@pytest.mark.parametrize(("rows", "wide"), [(300, 1), (1, 300), (20, 20)])
def test_progress_is_told_whatever_the_shape(rows: int, wide: int, mode: Any) -> None:
    """A long row of states with one step each, one state with many, and what lies between."""
    seen: list[int] = []
    result = check(
        Grid(rows=rows, wide=wide), mode=mode, progress=lambda done, _: seen.append(done)
    )
    assert result.verdict == "complete"
    assert seen == sorted(seen)
    assert seen[0] < (100 if wide < 300 else 302)
    assert all(b <= a * 1.25 + wide + 16 for a, b in pairwise(seen))


@pytest.mark.parametrize("mode", ["breadth", "depth"])
@pytest.mark.parametrize(("rows", "wide"), [(300, 1), (20, 20)])
def test_a_search_ends_where_memory_becomes_short(
    rows: int, wide: int, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next state, not at the end of a level."""
    monkeypatch.setattr(checking, "is_tight", lambda most: True)
    seen: list[int] = []
    model = Grid(rows=rows, wide=wide)
    result = check(model, mode=mode, progress=lambda done, _: seen.append(done))
    assert result.sentence.startswith(SENTENCE)
    assert [result.states] == seen[:1]


@pytest.mark.parametrize("mode", ["breadth", "depth"])
def test_no_memory_at_all_is_no_fault_of_the_model(mode: Any) -> None:
    """What was visited is counted, and then given back."""
    result = check(Grid(rows=90, short_at=40), mode=mode)
    assert result.sentence.startswith(SENTENCE)
    assert result.states == 41
    assert result.memory > 0


@pytest.mark.parametrize("mode", ["breadth", "depth"])
def test_what_was_visited_is_given_back(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it: states, the ways to them, and those that were still to be looked at."""
    searches: list[Search] = []

    class Kept(Search):
        def forget(self) -> None:
            assert all((self.parents, self.sources, self.stack or (self.frontier, self.keys)))
            super().forget()
            searches.append(self)

    monkeypatch.setattr(checking, "Search", Kept)
    end = goal("end", "It comes to its end", lambda s: s.row == 90)
    result = check(Grid(rows=90, short_at=40), (end,), mode=mode)
    assert (result.verdict, result.states, result.unjudged) == ("bounded", 41, ("end",))
    (left,) = searches
    assert not any((left.parents, left.sources, left.frontier, left.keys, left.stack))


class Wide(Struct, frozen=True):
    """Much in one state."""

    numbers: tuple[int, ...] = ()


def test_large_states_are_counted_in_little_memory() -> None:
    """A few of them stand for all; their numbers are no part of the others."""
    parents = {Wide(tuple(range(at * 10_000, at * 10_000 + 5_000))): None for at in range(1, 100)}
    each = 5_000 * (calcsize("P") + sys.getsizeof(10_000))  # a place in the tuple, and a number
    assert 0.9 < checking.kept(parents, {}) / (each * len(parents)) < 1.2


class Held(Struct, frozen=True):
    """A state of several parts."""

    name: str
    parts: tuple[object, ...]


def test_what_a_state_holds_is_counted_once() -> None:
    """The parts of structs, tuples and sets; not the classes that it names."""
    text, some, own = "x" * 5000, frozenset({"y" * 3000}), ("z" * 2000,)
    node = Held(text, (text, some, own, Held))
    parents = {node: node}
    every = [parents, node, text, node.parts, some, *some, own, *own]
    assert checking.kept(parents, {}) == sum(map(sys.getsizeof, every))


def sizes(values: Iterable[Any]) -> int:
    """The bytes of values that hold no others."""
    return sum(map(sys.getsizeof, values))


@pytest.mark.parametrize(
    ("nodes", "most", "first", "second"),
    [
        (8, 1000, [0, 4], [2, 6]),  # every second one
        (9, 1000, [0, 4], [2, 6]),
        (4, 1000, [0, 2], [1, 3]),
        (3, 1000, [0, 2], [1]),
        (1, 1000, [0], []),
        (
            9,
            14,
            [0, 4],
            [2, 6],
        ),  # the last node is three values, so that two of seven are looked at
        (9, 13, [0], [4]),
        (9, 2, [0], [4]),
    ],
)
def test_memory_is_told_from_a_part_of_the_nodes(
    nodes: int, most: int, first: list[int], second: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two halves of the part, spread over all; what the second adds stands for each other one."""
    monkeypatch.setattr("kit.engine.check._HALF", 2)
    monkeypatch.setattr("kit.engine.check._MOST_LOOKED_AT", most)
    every: list[Any] = ["x" * 10 * 2**at for at in range(nodes)]
    parents: dict[Any, Any] = dict.fromkeys(every)
    if nodes == 9:
        every[-1] = ("y", "z" * 7000)
        parents = dict.fromkeys(every)
    mine, theirs = (sizes(every[at] for at in half) for half in (first, second))
    others = (nodes - len(first) - len(second)) * theirs / len(second) if second else 0
    assert kept(parents, {}) == sys.getsizeof(parents) + mine + theirs + int(others)


def test_lists_of_sources_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first few stand for all."""
    monkeypatch.setattr("kit.engine.check._HALF", 2)
    for number in (1, 4, 7):
        sources: dict[Any, list[Any]] = {at: [0] * at * 10 for at in range(number)}
        few = [*sources.values()][:4]
        lists = sizes(few) * number // len(few)
        assert kept({"x": "x"}, sources) - kept({"x": "x"}, {}) == sys.getsizeof(sources) + lists
