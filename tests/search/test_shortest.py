"""The counterexample is the shortest over everything judged, against a checker without tricks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kit.model.model import Model, Monitor, Property, Rule, always, goal, step
from kit.search.check import check
from tests.examples import examples
from tests.model.toys import Cell, Go


class Jump(Struct, frozen=True, tag="jump"):
    """Along an edge of the other kind."""

    to: int


Edges = dict[int, tuple[int, ...]]
Node = tuple[int, tuple[int, ...]]
KINDS = (Go, Jump)


class Watch(Struct, frozen=True):
    """What a monitor complains of: steps of one kind to ``first`` and later to ``then``."""

    kind: int
    first: int
    then: int

    def next(self, memory: int, kind: type, to: int) -> int:
        """What is remembered after a step."""
        if kind is not KINDS[self.kind]:
            return memory
        return 2 if memory and to == self.then else int(memory or to == self.first)

    def monitor(self, number: int) -> Monitor:
        """The same as a monitor that hears of its own kind of steps only."""

        def after(memory: int, before: Any, action: Any, now: Any) -> int:
            assert isinstance(action, KINDS[self.kind])
            return self.next(memory, type(action), now.at)

        return Monitor(
            f"watch {number}",
            "",
            int,
            after,
            lambda memory: f"{self.then} after {self.first}" if memory == 2 else None,
            on=(KINDS[self.kind],),
        )


class Case(Struct, frozen=True):
    """A small model: two kinds of edges, and what must not be; negative: nothing of that sort."""

    going: Edges
    jumping: Edges
    bad: int
    into: int
    home: int
    rests: bool
    watches: tuple[Watch, ...]

    def steps(self, node: Node) -> Iterator[tuple[type, Node]]:
        """Every step from a place, with what the monitors remember."""
        at, memories = node
        for kind, edges in zip(KINDS, (self.going, self.jumping), strict=True):
            for to in edges.get(at, ()):
                news = (w.next(m, kind, to) for w, m in zip(self.watches, memories, strict=True))
                yield kind, (to, tuple(news))

    def model(self) -> Model[Any, Any]:
        """The same for the kit."""
        return TwoKinds(self)


class TwoKinds(Model[Cell, Any]):
    """A graph with edges of two kinds; 0 is the start."""

    name = "kinds"
    title = "A graph with two kinds of edges"
    State = Cell
    Action = Go | Jump

    def __init__(self, case: Case) -> None:
        self.rules = tuple(
            Rule(
                kind,
                kind.__name__,
                lambda s, kind=kind, edges=edges: ((kind(to), to) for to in edges.get(s.at, ())),
                lambda s, to: Cell(to),
                lambda action: action.to,
            )
            for kind, edges in zip(KINDS, (case.going, case.jumping), strict=True)
        )
        properties: list[Property] = []
        if case.bad >= 0:
            properties.append(always("bad", "", lambda s: "bad" if s.at == case.bad else None))
        if case.into >= 0:
            properties.append(
                step("into", "", lambda b, a, n: "in" if n.at == case.into else None, on=(Jump,))
            )
        if case.home >= 0:
            properties.append(goal("home", "", lambda s: s.at == case.home))
        self.properties = tuple(properties)
        self.monitors = tuple(w.monitor(i) for i, w in enumerate(case.watches))
        self.rests_at_goals = case.rests

    def start(self) -> Cell:
        """Node 0."""
        return Cell(0)


def levels(case: Case) -> dict[Node, int]:
    """Every node with its distance, to the end, whatever breaks on the way."""
    start = (0, tuple(0 for _ in case.watches))
    away, level = {start: 0}, [start]
    while level:
        ends = [after for node in level for _, after in case.steps(node)]
        deeper = away[level[0]] + 1
        level = [node for node in dict.fromkeys(ends) if node not in away]
        away |= dict.fromkeys(level, deeper)
    return away


def broken(case: Case, away: dict[Node, int]) -> set[tuple[int, str]]:
    """Everything that breaks but goals: after how many steps, and its name."""
    found = set()
    for node, steps in away.items():
        if node[0] == case.bad:
            found.add((steps, "bad"))
        found |= {(steps, f"watch {i}") for i, memory in enumerate(node[1]) if memory == 2}
        after = list(case.steps(node))
        if case.rests and not after and node[0] != case.home:
            found.add((steps, "deadlock"))
        if any(kind is Jump and end[0] == case.into for kind, end in after):
            found.add((steps + 1, "into"))
    return found


def reach(case: Case, node: Node) -> set[Node]:
    """All nodes that can come after one, itself included."""
    seen, todo = {node}, [node]
    while todo:
        for _, after in case.steps(todo.pop()):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


edges = st.dictionaries(
    st.integers(0, 5), st.lists(st.integers(0, 5), unique=True, max_size=2).map(tuple), max_size=6
)
places = st.integers(-3, 5)
watches = st.lists(
    st.builds(Watch, st.integers(0, 1), st.integers(0, 5), st.integers(0, 5)), max_size=3
).map(tuple)
cases = st.builds(Case, edges, edges, places, places, places, st.booleans(), watches)


@given(cases)
@examples(300)
def test_the_shortest_of_all_is_told(case: Case) -> None:
    """As short as anything that breaks; a goal that is lost sooner wins as soon as the states
    visited till then show it, and nothing that breaks goes unnoticed.
    """
    away = levels(case)
    others = broken(case, away)
    least = min((steps for steps, _ in others), default=None)
    lost = {}
    if case.home >= 0:
        lost = {
            node: steps
            for node, steps in away.items()
            if all(at != case.home for at, _ in reach(case, node))
        }
    found = check(case.model())
    assert found.complete is not bool(others or lost)
    assert (found.violation is None) is found.complete
    if found.violation is None:
        assert not others
        assert not lost
        return
    name, steps = found.violation.property, len(found.violation.actions)
    assert steps == min(away for away in (least, *lost.values()) if away is not None)
    if name == "home":
        assert least is None or steps < least
        assert steps in lost.values()
    else:
        assert steps == least
        assert (steps, name) in others
        assert name != "deadlock" or {one for at, one in others if at == least} == {"deadlock"}
