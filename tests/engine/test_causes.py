"""Why a promise broke: the smallest cause is 1-minimal, and where a break became possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kit.engine.causes import Possible, first_possible, judging, smallest_cause
from kit.engine.check import check
from kit.engine.fuzz import CLEAN, Walker
from kit.engine.model import Model, Monitor, always
from kit.engine.model import step as step_of
from kit.engine.registry import build, entries
from kit.errors import BadInput
from tests.engine.toys import Go, Graph, LiftModel, LiftParameters
from tests.examples import examples

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


def test_one_goes_back_twice_as_far_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one step, then by two more, up to the start: the last of six steps is known."""
    monkeypatch.setattr("kit.engine.causes.REPORT_EVERY", 1)
    model = Graph(LINE, always("end", "", lambda s: "there" if s.at == 6 else None))
    run = tuple(Go(number) for number in range(1, 7))
    seen: list[int] = []
    first_possible(model, run, "end", progress=lambda done, at: seen.append(at))
    assert list(dict.fromkeys(seen)) == [4, 2, 0]


def test_behind_the_start_one_halves_what_is_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step adds three states: 16 are enough for the last six of eight steps, not for more."""
    monkeypatch.setattr("kit.engine.causes.REPORT_EVERY", 1)
    longer = {number: (number + 1, 10 + number, 20 + number) for number in range(8)}
    model = Graph(longer, always("end", "", lambda s: "there" if s.at == 8 else None))
    run, seen = tuple(Go(number) for number in range(1, 9)), list[int]()
    found = first_possible(
        model, run, "end", max_states=16, progress=lambda done, at: seen.append(at)
    )
    assert found == Possible(2, run[2:], 16, 16)
    assert list(dict.fromkeys(seen)) == [6, 4, 0, 2, 1]


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


def test_a_step_back_hides_no_step_on() -> None:
    """Whoever may stay, or go back, may go on, too; 1 and 2 lie before the break at 3."""
    bad = always("bad", "", lambda s: "there" if s.at == 3 else None)
    model, run = Graph({0: (0, 1), 1: (0, 1, 2), 2: (1, 0, 3)}, bad), (Go(1), Go(2), Go(3))
    assert first_possible(model, run, "bad") == Possible(0, run, 3, 200_000)
    assert first_possible(model, run, "bad", max_states=3).step == 0
    assert first_possible(model, run, "bad", max_states=2).step == 2


def test_what_a_run_is_to_reach_is_no_promise() -> None:
    """No step can break it."""
    model = LiftModel(LiftParameters())
    with pytest.raises(BadInput, match=r"^promise: got 'top'; allowed: one of inside$"):
        judging(model, "top")


def test_whoever_waits_for_a_cause_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of parts that are tried, and of states that are seen; nobody needs to."""
    monkeypatch.setattr("kit.engine.causes.REPORT_EVERY", 2)
    model = Graph(LINE, always("end", "", lambda s: "there" if s.at == 6 else None))
    run = tuple(Go(number) for number in range(1, 7))
    tried, seen = list[tuple[int, int]](), list[tuple[int, int]]()
    cause = smallest_cause(model, run, "end", lambda done, left: tried.append((done, left)))
    assert cause == smallest_cause(model, run, "end")
    assert tried[0] == (0, 6)
    found = first_possible(model, run, "end", progress=lambda done, at: seen.append((done, at)))
    assert found == first_possible(model, run, "end")
    assert seen
    assert all(done % 2 == 0 for done, _ in seen)


def _from_five_to_six(before: Any, action: Any, after: Any) -> str | None:
    return "there" if (before.at, after.at) == (5, 6) else None


PASSES = Monitor(
    "passes",
    "Nobody goes on from 5",
    lambda: -1,
    lambda memory, before, action, after: before.at,
    lambda memory: "passed" if memory == 5 else None,
)


@pytest.mark.parametrize(
    ("most", "step", "states", "asked"),
    [
        (16, 0, 16, [4, 2, 0]),
        (15, 1, 13, [4, 2, 0, 1]),
        (13, 1, 13, [4, 2, 0, 1]),
        (12, 2, 10, [4, 2, 0, 1]),
        (9, 3, 7, [4, 2, 3]),
        (6, 4, 4, [4, 2, 3]),
        (3, 5, 1, [4]),
        (1, 5, 1, []),
    ],
)
@pytest.mark.parametrize("kind", ["always", "step", "monitor"])
def test_from_each_step_a_search_sees_three_states_more(
    kind: str, most: int, step: int, states: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From number n on the line one sees the three numbers behind each, from n to 4, and n itself.

    What follows the break in the run is not looked at.
    """
    monkeypatch.setattr("kit.engine.causes.REPORT_EVERY", 1)
    properties = {
        "always": always("end", "", lambda s: "there" if s.at == 6 else None),
        "step": step_of("end", "", _from_five_to_six),
    }
    model = Graph(LINE, *([properties[kind]] if kind in properties else ()))
    model.monitors = () if kind in properties else (PASSES,)
    run, seen = tuple(Go(number) for number in range(1, 7)), list[int]()
    name = "end" if kind in properties else "passes"
    found = first_possible(
        model, (*run, Go(99)), name, max_states=most, progress=lambda done, at: seen.append(at)
    )
    assert found == Possible(step, run[step:], states, most, stopped=False)
    assert found.stopped is False
    assert list(dict.fromkeys(seen)) == asked


def test_who_stops_it_keeps_what_was_known_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search from step 2 was not at its end."""
    monkeypatch.setattr("kit.engine.causes.REPORT_EVERY", 1)

    def stop(_done: int, at: int) -> None:
        if at == 2:
            raise KeyboardInterrupt

    model = Graph(LINE, step_of("end", "", _from_five_to_six))
    run = tuple(Go(number) for number in range(1, 7))
    found = first_possible(model, run, "end", max_states=50, progress=stop)
    assert found == Possible(4, run[4:], 4, 50, stopped=True)


def test_a_promise_is_judged_alone() -> None:
    """Neither another one nor another monitor, unless it has the same name."""
    bad, end = always("bad", "Bad", lambda s: None), step_of("end", "End", _from_five_to_six)
    model, other = Graph(LINE, bad, end), structs.replace(PASSES, name="other", title="Other")
    model.monitors = (PASSES, other, structs.replace(PASSES, name="end", title="Monitor end"))
    for name, judged in (
        ("bad", ([bad], [], [])),
        ("end", ([], [end], [model.monitors[2]])),
        ("passes", ([], [], [PASSES])),
        ("other", ([], [], [other])),
    ):
        judges = judging(model, name)
        every = (judges.always, judges.steps, judges.monitors)
        assert [[each.title for each in kind] for kind in every] == [
            [each.title for each in kind] for kind in judged
        ]
    with pytest.raises(BadInput, match=r"one of bad, end, passes, other, end$"):
        judging(model, "good")
    with pytest.raises(BadInput, match=r"one of none: the model has no promises$"):
        judging(Graph(LINE), "good")
