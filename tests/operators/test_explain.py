"""Observations are explained by hidden steps, refuted at the right line, or left unknown."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Timeline, build
from kit.errors import BadInput
from kit.model import trace
from kit.model.model import Model, always
from kit.operators.explain import (
    Explanation,
    Question,
    Seen,
    Sight,
    explain,
    search_explanation,
)
from kit.protocols.twophase.twophase import (
    COMMITTED,
    Decide,
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
)
from kit.search.orders import OrderedMove, OrderPlan, chains, order_outcomes
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
    found = search_explanation(TWOPHASE, SIGHT, rows(values))
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
    found = search_explanation(TWOPHASE, SIGHT, rows(values))
    refuted = first_refuted(TWOPHASE, values)
    assert found.verdict == ("explained" if refuted is None else "refuted")
    if refuted is not None:
        assert (found.where, found.explained) == (f"line {refuted + 1}", refuted)
        assert found.sentence.startswith(f"no rule explains line {refuted + 1}; ")


def test_the_nearest_refusal_is_the_models_own() -> None:
    """A commit while one manager has aborted: it is not heard to be prepared."""
    seen = rows([{"prepared": 1, "aborted": 2, "tm": 0}, {"tm": 1}])
    found = search_explanation(TWOPHASE, SIGHT, seen)
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.refused == "decide commit"
    assert found.refusal.startswith(
        "the transaction manager has not heard that every resource manager is prepared"
    )


def test_a_safeguard_that_would_allow_it_is_named() -> None:
    """Without it the model has a run to what was seen; its first refused step is the nearest."""
    model = build("tablets", {"moves": 2})
    ways = Sight(lambda m, s: {"ways": len(s.tablets[0].transitions)})
    found = search_explanation(model, ways, rows([{"ways": 1}, {"ways": 2}]))
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.without == "S-25 one-transition"
    assert "tablet 0 is in transition" in found.refusal
    assert found.refused.startswith("migrate 0")


def test_what_has_to_be_seen_is_not_passed_unseen() -> None:
    """A sight may say which changes are always seen: then a row of them has no gaps."""
    steady = Sight(lambda m, s: {"tm": s.tm, "all": s.committed == 3}, operator.eq)
    whole = rows([{"tm": 0, "all": False}, {"tm": 1, "all": False}, {"tm": 1, "all": True}])
    assert search_explanation(TWOPHASE, steady, whole).verdict == "explained"
    found = search_explanation(TWOPHASE, steady, (whole[0], whole[2]))
    assert (found.verdict, found.where) == ("refuted", "line 3")
    assert "the model gets there through tm 1, which no line shows" in found.sentence


def test_within_the_bound_nothing_is_known() -> None:
    """Neither explained nor refuted where the search stopped before its end."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}]), bound=3)
    assert (found.verdict, found.where) == ("unknown", "line 1")
    assert search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}])).verdict == "explained"


def test_a_run_opens_and_is_saved() -> None:
    """As any run: as a timeline, as a trace that is replayed."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}]))
    saved = trace.loads(trace.dumps(found.timeline().save()))
    assert Timeline.load(saved).state.committed == 3


def test_one_of_several_ways_is_enough() -> None:
    """The first that explains all; else what may still be, else what explains the most."""
    three = build("twophase", {"rms": 3})
    ways = ((TWOPHASE, SIGHT), (three, SIGHT))
    assert Question("q", rows([{"committed": 7}]), ways).answer(9999).model is three
    refuted = Question("q", rows([{"prepared": 7}, {"committed": 9}]), ways).answer(9999)
    assert (refuted.verdict, refuted.model, refuted.explained) == ("refuted", three, 1)


@pytest.mark.parametrize("bound", [0, -1, 10**9])
def test_a_bound_is_a_number_of_states(bound: int) -> None:
    """From one on, up to what a machine can hold."""
    with pytest.raises(BadInput, match="states to visit"):
        search_explanation(TWOPHASE, SIGHT, rows([{"tm": 1}]), bound=bound)


def test_nothing_seen_is_nothing_to_explain() -> None:
    """Neither observations nor files may be missing."""
    with pytest.raises(BadInput, match="one or more"):
        search_explanation(TWOPHASE, SIGHT, ())
    with pytest.raises(BadInput, match="a coordinator's journal"):
        explain([])


def test_what_no_state_has_at_all_is_refuted() -> None:
    """A sight need not give each value; where no refusal is near the line says so."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"weather": "fine"}]))
    assert (found.verdict, found.explained) == ("refuted", 0)
    plain = Explanation("refuted", TWOPHASE, 1, 0, (), 1, "line 1")
    said = "no rule explains line 1; no refusal of the model comes close"
    assert plain.sentence == said


def test_what_is_off_is_said_of_what_is_explained() -> None:
    """By the safeguards' names."""
    model = build("twophase", {"rms": 2})
    model.off = ("one", "two")
    found = search_explanation(model, SIGHT, rows([{"committed": 0}]))
    assert found.sentence == (
        f"explained: 0 steps of {model.name} without one, two can lead to what was seen"
    )


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


def test_rows_keep_their_order_and_mix() -> None:
    """Two rows of two steps have six orders; with the decision behind one of them, ten."""
    rows = [
        [("votes", (Prepare(who),)), (f"heard {who}", (ReceivePrepared(who),))] for who in (0, 1)
    ]
    assert order_outcomes(MODEL, plan(*chains(*rows))) == {"undecided": 6}
    longer = [rows[0], [*rows[1], ("decide", (Decide(commit=True),))]]
    assert order_outcomes(MODEL, plan(*chains(*longer))).total() == 10


def test_what_happens_by_itself_happens_at_once() -> None:
    """The manager reads every vote as soon as it is there, so that no order of votes is refused."""
    votes = chains([("0", (Prepare(0),)), ("1", (Prepare(1),)), ("d", (Decide(commit=True),))])
    reading = OrderPlan(votes, ended, by_itself=(ReceivePrepared,))
    assert order_outcomes(MODEL, reading) == {"committed": 1}
    assert order_outcomes(MODEL, plan(*votes)) == {"refused": 1}


@pytest.mark.parametrize(
    ("actions", "by_itself"),
    [
        ((Prepare(0), ReceivePrepared(0), Prepare(1)), ()),
        ((Prepare(0), Prepare(1)), (ReceivePrepared,)),
    ],
)
def test_an_order_is_given_up_where_a_promise_breaks(
    actions: tuple[Any, ...], by_itself: tuple[type, ...]
) -> None:
    """By somebody's action or by what happens by itself, whatever would come behind it."""
    model = TwoPhase(TwoPhaseParameters(2))
    model.properties = (always("deaf", "Nobody is heard", lambda s: "heard" if s.heard else None),)
    broken = OrderPlan((OrderedMove("all", actions),), ended, by_itself)
    assert order_outcomes(model, broken) == {"breaks deaf": 1}
