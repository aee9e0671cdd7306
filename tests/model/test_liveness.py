"""What goes on for ever: live promises, compared with a brute force on random small models."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from msgspec import Struct

from kit.errors import Refusal
from kit.model.declared import Declared, State, action, always, live
from kit.model.liveness import is_fair, loop_of
from kit.model.model import Model, Property, Rule
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.search.check import check
from kit.views.panel import scene_of
from kit.views.promises import lamps_text

PLACES = 5
LABELS = ("p", "q", "s", "t", "f", "g")
"""What is prompt (p, q), what is slow (s, t), what need not happen."""
BOUND = Refusal("limit=1: no further")
Edges = dict[tuple[int, str], int]


class Go(Struct, frozen=True, tag="go"):
    """A step with this label."""

    label: str


class Graph(Model[int, Any]):
    """Places with at most one step of each label from each; -1 stands for a bound."""

    name, title, State, Action = "graph", "A graph", int, Go
    bounds = (BOUND,)

    def __init__(self, edges: Edges, kept: frozenset[int]) -> None:
        self.edges = edges
        self.rules = (
            Rule(
                Go,
                "go",
                lambda s: ((Go(label), label) for label in LABELS if (s, label) in edges),
                lambda s, label: BOUND if edges[s, label] < 0 else edges[s, label],
                lambda action: action.label,
            ),
        )
        self.properties = (Property("kept", "live", "It is kept", lambda s: s in kept),)

    def start(self) -> int:
        """The first place."""
        return 0

    def pace(self, s: int, action: Go) -> Any:
        """By the label."""
        return {"p": "prompt", "q": "prompt", "s": "slow", "t": "slow"}.get(action.label, "")


def drawn(seed: int) -> tuple[Edges, frozenset[int]]:
    """A graph, and the places in which its promise is kept."""
    chance = Random(seed)
    edges = {
        (place, label): chance.randrange(-1, PLACES)
        for place in range(PLACES)
        for label in LABELS
        if chance.random() < 0.3
    }
    return edges, frozenset(place for place in range(PLACES) if chance.random() < 0.3)


def breaks(edges: Edges, kept: frozenset[int]) -> bool:
    """By brute force: each set of places, with each set of its steps, as the places and steps that
    an endless run sees again and again.
    """
    reached, todo = {0}, [0]
    while todo:
        at = todo.pop()
        for (place, _), end in edges.items():
            if place == at and end >= 0 and end not in reached:
                reached.add(end)
                todo.append(end)
    bad = sorted(reached - kept)
    has = {p: {label for (place, label) in edges if place == p} for p in bad}
    prompt = {p: has[p] & {"p", "q"} for p in bad}
    slow = {p: has[p] & {"s", "t"} if not prompt[p] else set() for p in bad}
    if any(not prompt[p] and not slow[p] for p in bad):
        return True
    for size in range(1, len(bad) + 1):
        for places in combinations(bad, size):
            steps = [
                (p, label, end)
                for (p, label), end in edges.items()
                if p in places and end in places and not (label in "st" and prompt[p])
            ]
            if steps and _connected(places, steps) and _fair(places, steps, prompt, slow):
                return True
    return False


def _connected(places: tuple[int, ...], steps: list[Any]) -> bool:
    """Whether each place leads to each, itself included."""
    for first in places:
        seen: set[int] = set()
        todo = [first]
        while todo:
            at = todo.pop()
            for place, _, end in steps:
                if place == at and end not in seen:
                    seen.add(end)
                    todo.append(end)
        if seen != set(places):
            return False
    return True


def _fair(places: Any, steps: list[Any], prompt: Any, slow: Any) -> bool:
    """Whether what could happen all along does happen."""
    taken = {label for _, label, _ in steps}
    quiet = [p for p in places if not prompt[p]]
    owed = set.intersection(*(set(prompt[p]) for p in places))
    owed |= set.intersection(*(set(slow[p]) for p in quiet)) if quiet else set()
    return owed <= taken


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_random_models_against_brute_force(first: int) -> None:
    """A lasso is found where there is one, and only there; it can be played, and it is fair."""
    for seed in range(first, first + 100):
        edges, kept = drawn(seed)
        model = Graph(edges, kept)
        found = check(model).violation
        assert (found is not None) == breaks(edges, kept), seed
        if found is None:
            continue
        places = [0]
        for step in found.actions:
            places.append(model.act(places[-1], step))
        assert found.loop is not None
        assert places[found.loop] == places[-1]
        assert kept.isdisjoint(places[found.loop :])
        loop = list(zip(places, found.actions, strict=False))[found.loop :]
        assert not loop or is_fair(model, loop)
        way = list(zip(places, found.actions, strict=False))
        assert loop_of(model, model.properties[0], way, places[-1]) is not None


class Door(State, frozen=True):
    """Whether it is open, and how often it may still be blocked."""

    open: bool = False
    blocks: int = 1
    blocked: bool = False


class Doors(Declared[Door]):
    """A door that opens by itself, unless somebody blocks it."""

    name, title, State = "doors", "A door", Door

    def start(self) -> Door:
        """Closed."""
        return Door()

    @action(pace="slow")
    def opens(self, s: Door) -> Door | None:
        """The door opens."""
        return None if s.open or s.blocked else s.but(open=True)

    @action(pace="slow")
    def knock(self, s: Door) -> Door | None:
        """Somebody knocks."""
        return None if s.open else s

    @action(spends="blocks", fault=True)
    def block(self, s: Door) -> Door:
        """Somebody blocks the door."""
        return s.but(blocked=True)

    @live()
    def comes_open(self, s: Door) -> bool:
        """The door opens again and again."""
        return s.open

    @always()
    def fine(self, s: Door) -> str | None:
        """Always so."""
        return None


def test_a_declared_model_has_a_loop_that_the_history_shows() -> None:
    """The run blocks the door, then knocks for ever; a saved trace opens it, the lamp tells it."""
    result = check(Doors())
    assert result.violation is not None
    said = "from here it goes on for ever: step 2 leads back to step 1"
    assert (result.violation.witness, result.violation.loop) == (said, 1)
    timeline = Timeline.along(Doors(), result.violation.actions)
    again = Timeline.load(loads(dumps(timeline.save())), Doors())
    [breach] = again.breaches(again.at)
    assert (breach.step, breach.loop, breach.witness) == (1, 1, said)
    assert [verdict.witness for verdict in again.verdicts() if not verdict.ok] == [said]
    assert said in lamps_text(scene_of(again, again.at))


def test_a_search_that_stops_judges_no_loop() -> None:
    """It says so, and is not complete."""
    result = check(Doors(), max_states=1)
    assert (result.endless, result.violation) == (("comes-open",), None)
    assert "not judged: live comes-open" in result.lines()
