"""Observations are explained by hidden steps, refuted at the right line, or left unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Timeline, build
from kit.model import trace
from kit.model.model import Model
from kit.operators.explain import Question, Seen, Sight
from kit.protocols.twophase.twophase import (
    COMMITTED,
    Decide,
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
)
from kit.search.orders import OrderedMove, OrderPlan, order_outcomes
from tests.examples import examples

TWOPHASE = build("twophase", {"rms": 2})
FIELDS = ("prepared", "committed", "aborted", "tm")


def values_of(s: Any) -> dict[str, Any]:
    """What is seen of two-phase commit: not what the manager has heard."""
    return {name: getattr(s, name) for name in FIELDS}


SIGHT = Sight(lambda m, s: values_of(s))


def walked(random: Random, steps: int) -> list[Any]:
    """The states of a random walk."""
    states = [TWOPHASE.start()]
    while len(states) <= steps and (after := [*TWOPHASE.successors(states[-1])]):
        states.append(random.choice(after)[1])
    return states


def seen_in(states: Sequence[Any], random: Random) -> list[dict[str, Any]]:
    """Some of the states, and of each some of the values."""
    kept = [s for s in states if random.random() < 0.5] or [states[-1]]
    return [
        {name: value for name, value in values_of(s).items() if random.random() < 0.8} for s in kept
    ]


def rows(values: Sequence[dict[str, Any]]) -> tuple[Seen, ...]:
    """The observations, each at its line."""
    return tuple(Seen(f"line {at}", each) for at, each in enumerate(values, 1))


def first_refuted(model: Model[Any, Any], values: Sequence[dict[str, Any]]) -> int | None:
    """The number of the first observation that no run has, by whole sets of states."""
    states = {model.start()}
    for number, wanted in enumerate(values):
        todo = [*states]
        while todo:
            for _, after in model.successors(todo.pop()):
                if after not in states:
                    states.add(after)
                    todo.append(after)
        states = {s for s in states if values_of(s).items() >= wanted.items()}
        if not states:
            return number
    return None


@examples(150)
@given(random=st.randoms(use_true_random=False), steps=st.integers(0, 12))
def test_what_a_walk_shows_is_explained(random: Random, steps: int) -> None:
    """With steps dropped and values left out; the run has all that was seen, in its order."""
    values = seen_in(walked(random, steps), random)
    found = Question("", tuple(rows(values)), ((TWOPHASE, SIGHT),)).answer()
    assert found.verdict == "explained"
    timeline = found.timeline()
    states = iter([values_of(timeline.moments[at].state) for at in timeline.path()])
    state = next(states)
    for wanted in values:
        while not state.items() >= wanted.items():
            state = next(states)


@examples(150)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 12))
def test_a_spoiled_walk_is_refuted_at_its_line(random: Random, steps: int) -> None:
    """The verdict and the line are those of a search over whole sets of states."""
    values = seen_in(walked(random, steps), random)
    spoiled = random.randrange(len(values))
    values[spoiled] |= {random.choice(FIELDS): random.randrange(4)}
    found = Question("", tuple(rows(values)), ((TWOPHASE, SIGHT),)).answer()
    refuted = first_refuted(TWOPHASE, values)
    assert found.verdict == ("explained" if refuted is None else "refuted")
    if refuted is not None:
        assert (found.where, found.explained) == (f"line {refuted + 1}", refuted)
        assert found.sentence.startswith(f"no rule explains line {refuted + 1}; ")


def test_the_nearest_refusal_is_the_models_own() -> None:
    """A commit while one manager has aborted: it is not heard to be prepared."""
    seen = rows([{"prepared": 1, "aborted": 2, "tm": 0}, {"tm": 1}])
    found = Question("", tuple(seen), ((TWOPHASE, SIGHT),)).answer()
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.refused == "decide commit"
    assert found.refusal.startswith(
        "the transaction manager has not heard that every resource manager is prepared"
    )


def test_a_safeguard_that_would_allow_it_is_named() -> None:
    """Without it the model has a run to what was seen; its first refused step is the nearest."""
    model = build("tablets", {"moves": 2})
    ways = Sight(lambda m, s: {"ways": len(s.tablets[0].transitions)})
    found = Question("", tuple(rows([{"ways": 1}, {"ways": 2}])), ((model, ways),)).answer()
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.without == "S-25 one-transition"
    assert "tablet 0 is in transition" in found.refusal
    assert found.refused.startswith("migrate 0")


def test_a_run_opens_and_is_saved() -> None:
    """As any run: as a timeline, as a trace that is replayed."""
    found = Question("", tuple(rows([{"committed": 3}])), ((TWOPHASE, SIGHT),)).answer()
    saved = trace.loads(trace.dumps(found.timeline().save()))
    assert Timeline.load(saved).state.committed == 3


MODEL = TwoPhase(TwoPhaseParameters(2))
STEPS = (Prepare(0), Prepare(1), ReceivePrepared(0), ReceivePrepared(1), Decide(commit=True))


def ended(state: Any) -> str:
    """What was decided."""
    return "committed" if state.tm == COMMITTED else "undecided"


def plan(*moves: OrderedMove) -> OrderPlan:
    """A plan in which a manager may give up, or prepare once more, by mishap."""
    return OrderPlan(moves, ended, mishaps=((GiveUp(0),), (Prepare(1),)))


def one_by_one(order: Any) -> str:
    """What an order of actions ends in, played by itself."""
    state = MODEL.start()
    for action in order:
        offered = dict(MODEL.options(state))
        if action not in offered:
            continue
        if offered[action] is not None:
            return "refused"
        state = MODEL.act(state, action)
    return ended(state)


def with_a_mishap(order: Any) -> Iterator[Any]:
    """Every order with one of the mishaps at one of its places."""
    for at in range(len(order) + 1):
        for mishap in (GiveUp(0), Prepare(1)):
            yield (*order[:at], mishap, *order[at:])


@pytest.mark.parametrize("mishap", [False, True])
def test_orders_are_counted_as_if_each_were_played(mishap: bool) -> None:
    """All 120 of five steps, and each with a mishap at every place, by what they end in."""
    moves = tuple(OrderedMove(str(at), (action,)) for at, action in enumerate(STEPS))
    each = [
        run
        for order in permutations(STEPS)
        for run in (with_a_mishap(order) if mishap else (order,))
    ]
    by_hand = Counter(map(one_by_one, each))
    counted = order_outcomes(MODEL, plan(*moves), mishap)
    assert counted["committed"] == by_hand["committed"] > 0
    assert counted.total() == by_hand.total() == (1440 if mishap else 120)
