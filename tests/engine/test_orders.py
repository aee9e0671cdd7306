"""Orders are counted as if each were played on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from kit.engine.model import always
from kit.engine.orders import OrderedMove, OrderPlan, chains, order_outcomes
from kit.protocols.twophase.twophase import (
    COMMITTED,
    Decide,
    GiveUp,
    Prepare,
    ReceivePrepared,
    TwoPhase,
    TwoPhaseParameters,
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


def test_an_action_with_nothing_left_to_do_is_passed_over() -> None:
    """The others of its step follow: there is no third manager, and one is prepared once."""
    whole = OrderedMove("all", (Prepare(2), *STEPS[:1], *STEPS[:2], Prepare(2), *STEPS[2:]))
    assert order_outcomes(MODEL, plan(whole)) == {"committed": 1}


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
