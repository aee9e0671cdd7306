"""Monitors in a search: what one state cannot tell, told of every run."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput, Refused
from kit.model.model import Monitor, always, step
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.views.panel import scene_at
from tests.examples import examples
from tests.model.toys import Go, Graph

Edges = dict[int, tuple[int, ...]]
edges: st.SearchStrategy[Edges] = st.dictionaries(
    st.integers(0, 6), st.lists(st.integers(0, 6), unique=True, max_size=3).map(tuple), max_size=7
)


def after_each_other(first: int, then: int) -> Monitor:
    """Whoever was at ``first`` must never come to ``then``: a state alone does not tell."""

    def watch(memory: bool, before: Any, action: Any, after: Any) -> bool | None:
        return None if memory and after.at == then else memory or after.at == first

    return Monitor(
        "order",
        f"Nobody goes to {then} after {first}",
        lambda: first == 0,
        watch,
        lambda memory: f"{then} after {first}" if memory is None else None,
    )


def shortest(graph: Edges, first: int, then: int) -> int | None:
    """The steps of the shortest walk from 0 that visits ``first`` and later ``then``."""
    start = (0, first == 0)
    away, queue = {start: 0}, deque([start])
    while queue:
        node, seen = queue.popleft()
        for other in graph.get(node, ()):
            if seen and other == then:
                return away[node, seen] + 1
            now = other, seen or other == first
            if now not in away:
                away[now] = away[node, seen] + 1
                queue.append(now)
    return None


@given(edges, st.integers(0, 6), st.integers(0, 6))
@examples(200)
def test_a_monitor_is_judged_on_every_run(graph: Edges, first: int, then: int) -> None:
    """On any graph a monitor is found broken exactly when a walk breaks it, by a shortest one."""
    model = Graph(graph)
    model.monitors = (after_each_other(first, then),)
    expected = shortest(graph, first, then)
    result = check(model)
    assert result.complete is (expected is None)
    if expected is None:
        assert result.violation is None, result
        return
    assert result.violation is not None
    assert result.violation.property == "order"
    assert result.violation.witness == f"{then} after {first}"
    way = [0, *(action.to for action in result.violation.actions)]
    assert all(other in graph[node] for node, other in pairwise(way))
    assert way[-1] == then
    assert first in way[:-1]
    assert len(way) - 1 == expected


def test_a_monitor_has_a_lamp_on_every_branch() -> None:
    """In a timeline each monitor has a lamp that tells of the way to that moment, also after a
    fork and after a macro that was refused half way.
    """
    model = Graph({0: (1, 2), 1: (3,), 2: (3,), 3: (0,)})
    model.monitors = (after_each_other(1, 3),)
    timeline = Timeline(model)
    timeline.run((Go(1), Go(3)))
    (verdict,) = timeline.verdicts()
    assert (verdict.name, verdict.ok, verdict.witness) == ("order", False, "3 after 1")
    timeline.goto(0)
    with pytest.raises(Refused):
        timeline.run((Go(2), Go(1)))
    assert timeline.verdicts()[0].ok
    timeline.run((Go(2), Go(3)))
    assert timeline.verdicts()[0].ok
    again = Timeline.load(timeline.save(), model)
    assert [again.memories(moment) for moment in range(5)] == [
        timeline.memories(moment) for moment in range(5)
    ]
    assert timeline.memories(0) == (False,)


def test_a_run_tells_which_steps_broke_a_promise() -> None:
    """Each promise is named once, at the first step of the way that broke it."""
    model = Graph(
        {0: (1,), 1: (3,), 3: (0,)},
        always("three", "Never at 3", lambda s: "at 3" if s.at == 3 else None),
        step("home", "Nobody comes home", lambda b, a, n: "home" if n.at == 0 else None),
    )
    model.monitors = (after_each_other(1, 3),)
    timeline = Timeline(model)
    assert scene_at(timeline, 0).breaches() == ()
    timeline.run((Go(1), Go(3), Go(0), Go(1), Go(3), Go(0)))
    breaches = scene_at(timeline, 6).breaches()
    assert [(breach.step, breach.name, breach.witness) for breach in breaches] == [
        (1, "three", "at 3"),
        (1, "order", "3 after 1"),
        (2, "home", "home"),
    ]
    assert breaches[2].action == Go(0)
    assert scene_at(timeline, 1).breaches() == ()
    assert scene_at(timeline, 2).breaches() == breaches[:2]
    with pytest.raises(BadInput, match="moment"):
        timeline.passed(7)
