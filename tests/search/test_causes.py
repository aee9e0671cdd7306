"""Why a promise broke: the smallest cause is 1-minimal, and where a break became possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.model.model import Model, Monitor, always
from kit.model.registry import build, entries
from kit.search.causes import Possible, first_possible, judging, smallest_cause
from kit.search.check import check
from kit.search.fuzz import CLEAN, Walker
from tests.examples import examples
from tests.model.toys import Go, Graph, LiftModel, LiftParameters

edges = st.dictionaries(
    st.integers(0, 6), st.lists(st.integers(0, 6), unique=True, max_size=4).map(tuple), max_size=7
)
MODELS = ("dataplane", "group0", "recovery", "gossip_join")


def broken_by(model: Model[Any, Any], actions: Sequence[Any], name: str) -> bool:
    """Whether a run breaks a promise; what is refused on the way is dropped."""
    judges = judging(model, name)
    state, memories = model.start(), judges.begin()
    broken = judges.broken(None, None, state, memories) is not None
    for action in actions:
        if broken or model.refusal(state, action) is not None:
            continue
        after = model.apply(state, action)
        memories = judges.remember(memories, state, action, after)
        broken = judges.broken(state, action, after, memories) is not None
        state = after
    return broken


def is_smallest(model: Model[Any, Any], actions: Sequence[Any], name: str) -> None:
    """The cause is a part of the run, breaks the same promise, and needs each of its steps."""
    cause = smallest_cause(model, actions, name)
    assert list(cause.steps) == sorted({*cause.steps} & {*range(len(actions))})
    kept = [actions[step] for step in cause.steps]
    assert broken_by(model, kept, name)
    for left_out in range(len(kept)):
        assert not broken_by(model, [*kept[:left_out], *kept[left_out + 1 :]], name)


@given(edges, st.integers(1, 6), st.integers(0, 50))
@examples(150)
def test_a_cause_is_one_minimal(graph: dict[int, tuple[int, ...]], bad: int, seed: int) -> None:
    """On any graph, for any walk that comes to the bad node."""
    model = Graph(graph, always("bad", "", lambda s: "there" if s.at == bad else None))
    walk = Walker(model, steps=30).walk(seed)
    if walk.verdict != CLEAN:
        is_smallest(model, walk.actions, "bad")


@pytest.mark.parametrize("name", MODELS)
def test_a_cause_is_one_minimal_in_real_models(name: str) -> None:
    """Random walks without a safeguard, for each promise that one of them breaks."""
    found = 0
    for safeguard in entries()[name].safeguards:
        if not safeguard.protects:
            continue
        model = build(name, safeguard.smallest, (safeguard.name,))
        for seed in range(4):
            walk = Walker(model, steps=80, within=0).walk(seed)
            if walk.verdict != CLEAN:
                is_smallest(model, walk.actions, walk.verdict)
                found += 1
    assert found


def test_another_promise_that_broke_before_does_not_matter() -> None:
    """The cause is that of the promise that was asked for."""
    passed = always("passed", "", lambda s: "at 1" if s.at == 1 else None)
    there = always("there", "", lambda s: "at 2" if s.at == 2 else None)
    model = Graph({0: (1, 2), 1: (0, 2)}, passed, there)
    run = (Go(1), Go(0), Go(2))
    assert smallest_cause(model, run, "there").steps == (2,)
    assert smallest_cause(model, run, "passed").steps == (0,)


def test_a_monitor_has_causes_too() -> None:
    """What needs history: the node was passed twice."""
    twice = Monitor(
        "twice",
        "Nobody comes twice",
        lambda: 0,
        lambda times, _before, action, _after: times + (action.to == 1),
        lambda times: "came twice" if times > 1 else None,
    )
    model = Graph({0: (1, 2), 1: (0,), 2: (0,)})
    model.monitors = (twice,)
    run = tuple(map(Go, (2, 0, 1, 0, 2, 0, 1)))
    assert smallest_cause(model, run, "twice").steps == (2, 3, 6)
    assert first_possible(model, run, "twice").step == 0


LINE: dict[int, tuple[int, ...]] = {
    number: (number + 1, 10 + number, 20 + number) for number in range(6)
}


def test_where_a_break_became_possible() -> None:
    """It is the first step from which a search of so many states comes to the break."""
    model = Graph(LINE, always("end", "", lambda s: "there" if s.at == 6 else None))
    run = tuple(Go(number) for number in range(1, 7))
    least = [
        next(n for n in range(1, 30) if first_possible(model, run, "end", max_states=n).step <= s)
        for s in range(6)
    ]
    assert least == sorted(least, reverse=True)
    found = first_possible(model, run, "end", max_states=least[2])
    assert (found.step, found.actions) == (2, run[2:])
    assert found.states <= found.most == least[2]


def test_a_stopped_search_tells_what_it_knows() -> None:
    """Interrupted, it says from where the break is known to be possible."""

    def stop(_done: int, _now: int) -> None:
        raise KeyboardInterrupt

    model = _wide()
    run = check(model).violation
    assert run is not None
    found = first_possible(model, run.actions, "far", progress=stop)
    assert found.stopped
    assert found.step > 0


def _wide() -> Graph:
    """A graph in which a search sees thousands of nodes before the bad one."""
    graph: dict[int, tuple[int, ...]] = {
        number: (2 * number + 1, 2 * number + 2) for number in range(9000)
    }
    return Graph(graph, always("far", "", lambda s: "there" if s.at == 17000 else None))


def test_what_cannot_be_asked_is_refused() -> None:
    """An unknown promise, a run that keeps it, a bound that is none."""
    model = Graph({0: (1,)}, always("bad", "", lambda s: "there" if s.at == 1 else None))
    with pytest.raises(BadInput, match=r"promise.*one of bad"):
        smallest_cause(model, (Go(1),), "good")
    for ask in (smallest_cause, first_possible):
        with pytest.raises(BadInput, match="a run that breaks bad"):
            ask(model, (), "bad")
    with pytest.raises(BadInput, match="max_states"):
        first_possible(model, (Go(1),), "bad", max_states=0)
    assert first_possible(model, (Go(1),), "bad") == Possible(0, (Go(1),), 1, 200_000)


def test_what_a_run_is_to_reach_is_no_promise() -> None:
    """No step can break it."""
    model = LiftModel(LiftParameters())
    with pytest.raises(BadInput, match=r"^promise: got 'top'; allowed: one of inside$"):
        judging(model, "top")
