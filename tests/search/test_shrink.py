"""Shrinking: of a run that fails only what it needs stays, in its order."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kit.model.model import Model, Property, Rule, always
from kit.model.timeline import Timeline
from kit.search.fuzz import CLEAN, PropertyJudges, Walker, shrink
from tests.examples import examples
from tests.model.toys import Go, Graph

edges = st.dictionaries(
    st.integers(0, 6), st.lists(st.integers(0, 6), unique=True, max_size=4).map(tuple), max_size=7
)


@given(edges, st.integers(0, 6), st.integers(0, 50))
@examples(150)
def test_a_shrunk_run_needs_every_step(
    graph: dict[int, tuple[int, ...]], bad: int, seed: int
) -> None:
    """Leaving out any one action of a shrunk run, what remains does not fail any more."""
    prop = always("bad", "", lambda s: "there" if s.at == bad else None)
    model = Graph(graph, prop)
    walk = Walker(model, steps=30).walk(seed)
    if walk.verdict == CLEAN:
        return
    actions, witness = shrink(model, walk.actions, "bad")
    assert witness == "there"
    assert Timeline.along(model, actions).state.at == bad
    assert len(actions) <= walk.steps
    for some in combinations(actions, max(len(actions) - 1, 0)):
        if len(some) < len(actions):
            assert not fails(model, some, prop)


def fails(model: Graph, actions: Any, prop: Property) -> bool:
    """Whether a run breaks the property, skipping what is not enabled."""
    state = model.start()
    for action in actions:
        if prop.check(state) is not None:
            return True
        if action in tuple(model.actions(state)):
            state = model.apply(state, action)
    return prop.check(state) is not None


class Add(Struct, frozen=True, tag="add"):
    """A number to add."""

    number: int


class Sum(Struct, frozen=True):
    """A sum, and how often something was added."""

    total: int
    times: int = 0


def adding() -> Model[Any, Any]:
    """Numbers are added in any order; 100 must not be reached."""
    model: Model[Any, Any] = Model()
    model.name, model.title, model.Action = "adding", "Adding", Add
    model.start = lambda: Sum(0)
    model.rules = (
        Rule(
            Add,
            "add",
            choices=lambda s: ((Add(n), n) for n in (1, 7, 40)) if s.times < 60 else (),
            outcome=lambda s, number: Sum(s.total + number, s.times + 1),
            given=lambda action: action.number,
        ),
    )
    model.properties = (always("small", "", lambda s: "too much" if s.total >= 100 else None),)
    return model


def test_long_runs_become_short() -> None:
    """Of a long run only what is needed stays, in its order."""
    model = adding()
    walk = Walker(model, steps=60).walk(1)
    assert walk.verdict == "small"
    many = tuple(Add(n) for n in [1] * 30 + [7, 1, 40, 1] * 3 + [40] * 3)
    actions, witness = shrink(model, many, "small")
    assert witness == "too much"
    assert sum(action.number for action in actions) >= 100
    assert all(sum(a.number for a in actions) - one.number < 100 for one in actions)


def test_another_failure_is_not_the_same() -> None:
    """Shrinking keeps to the property it began with, and gives back what does not break it."""
    properties = (
        always("first", "", lambda s: "1" if s.at == 1 else None),
        always("second", "", lambda s: "2" if s.at == 2 else None),
    )
    model = Graph({0: (1, 3), 3: (2,), 1: (2,)}, *properties)
    assert shrink(model, (Go(3), Go(2)), "second") == ((Go(3), Go(2)), "2")
    assert shrink(model, (Go(3),), "second") == ((Go(3),), "")
    assert shrink(model, (Go(1), Go(2)), "second", PropertyJudges.of(model, properties[1:])) == (
        (Go(1), Go(2)),
        "2",
    )
