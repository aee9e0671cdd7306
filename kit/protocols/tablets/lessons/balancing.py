"""Questions and tables on moving tablets: who may take one, what the planner would have done."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from msgspec.structs import astuple

from kit.engine.registry import one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion, listed, model_of
from kit.lessons.stills import still, timeline_of
from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.rules.balance.evening import TableSpread
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.reasons import load_said, reason_said
from kit.views.parts import volume
from kit.views.question import Question
from kit.views.static import HOLDS, Sheet

NAME = "the model balance"
MOST_MOVES = 1000
ASKED_AGAIN = (
    "The plan is asked again after each move. Badness: see section 3; at most 0: the table's own "
    "spread stays as good as it can be."
)


def may_take(timeline: Timeline, tablet: str, source: str) -> PosedQuestion:
    """Which nodes may take this replica of a tablet?

    ``tablet`` is what is written on its chip, ``source`` the replica, such as ``A:0``.

    Raises:
        BadInput: for a tablet or a replica that there is not.
        KitError: when there is no other node.
    """
    m = model_of(timeline, Balance, NAME)
    s, number = timeline.state, _tablet(m, tablet)
    places = [str(each) for each in s.replicas[number]]
    if source not in places:
        raise BadInput("source", source, one_of(source, places))
    nodes = [name for name in m.names if name != source.partition(":")[0]]
    if not nodes:
        raise KitError("predict: there is no other node")
    refusals = {name: m.refusal(s, Balance.move(number, source, f"{name}:0")) for name in nodes}
    right = tuple(name for name, why in refusals.items() if why is None)
    reasons = tuple(f"{name}: {why.reason}" for name, why in refusals.items() if why is not None)
    text = f"Tablet {tablet} is at {', '.join(places)}. Who may take the replica at {source}?"
    because = f"These may: {listed(right)}."
    return PosedQuestion(
        Question(text, tuple(nodes), right, because, reasons), still(timeline, "grid")
    )


def goes_to(timeline: Timeline) -> PosedQuestion:
    """To which node does the planner move a tablet first?

    Raises:
        KitError: when the plan is empty.
    """
    m = model_of(timeline, Balance, NAME)
    moves = m.plan(timeline.state).moves
    if not moves:
        raise KitError("predict: the planner has nothing to do here")
    move = moves[0]
    label = m.labels[m.tables.index((move.table, move.tablets[0]))]
    question = Question(
        "To which node does the planner move a tablet first?",
        m.names,
        (move.target.host,),
        f"Tablet {label} goes from {move.source} to {move.target}: "
        f"{reason_said(move.reason, m.edition)}.",
    )
    return PosedQuestion(question, still(timeline, "plan"))


def against_planner(source: Any) -> Sheet:
    """A run of moves beside what the planner does from the same start: moves, bytes, loads.

    Raises:
        BadInput: when it is no Player or timeline of the model balance.
    """
    timeline = timeline_of(source)
    m = model_of(timeline, Balance, NAME)
    mine = _run(timeline)
    planner = Timeline(m)
    while len(planner.path()) <= MOST_MOVES and planner.forward() is not None:
        pass
    rows = (_summary("by hand", m, mine), _summary("the planner", m, _run(planner)))
    heads = ("who", "moves", "copied", "fullest node", "emptiest node", "moves still planned")
    return Sheet("The same start, moved twice", heads, rows)


def moves_judged(source: Any) -> Sheet:
    """Every move of a run: what it did to loads, its badness, and what the planner says of it.

    Raises:
        BadInput: when it is no Player or timeline of the model balance.
    """
    timeline = timeline_of(source)
    m = model_of(timeline, Balance, NAME)
    rows = tuple(_judged(m, s, action) for s, action in _run(timeline)[0])
    heads = ("move", "in the plan", "badness", "what the planner says")
    return Sheet("Your moves, judged", heads, rows)


def candidates_judged(source: Any) -> Sheet:
    """What may go from the fullest node to the emptiest: loads afterwards, and how bad each is.

    Raises:
        BadInput: when it is no Player or timeline of the model balance.
    """
    timeline = timeline_of(source)
    m = model_of(timeline, Balance, NAME)
    s = timeline.state
    loads = m.loads(s)
    open_to = np.where(loads.takes, loads.node_load, np.inf)
    giver, taker = m.names[int(loads.node_load.argmax())], m.names[int(open_to.argmin())]
    target = str(loads.replica(loads.by_load(m.names.index(taker))[0]))
    free = [
        action
        for action in m.actions(s)
        if action.source.partition(":")[0] == giver and action.target == target
    ]
    rows = tuple(_candidate(m, s, action) for action in free)
    heads = ("tablet", "table", "size", giver, taker, "badness", "in the plan")
    title = f"What may go from {giver} to {taker}, and the loads of both afterwards"
    return Sheet(title, heads, rows)


def badness(m: Balance, s: BalanceState, action: Any) -> float:
    """How bad a move is for the spread of its table: that of nodes, else that of shards."""
    row, column, target = m.place(s, *astuple(action))
    loads = Loads(m.given(s), "server")
    places = np.array([[row, column]], np.int32)
    source = int(loads.place[row, column])
    inside = loads.takes & loads.scope_of(target)
    inside[loads.node_of[source]] = True
    shards, nodes = TableSpread(loads, inside).of(places, source, target)
    return float(nodes[0]) or float(shards[0])


def _tablet(m: Balance, label: str) -> int:
    if label not in m.labels:
        raise BadInput("tablet", label, one_of(label, list(m.labels)))
    return m.labels.index(label)


def _run(timeline: Timeline) -> tuple[list[tuple[BalanceState, Any]], BalanceState]:
    """The moves of a timeline with the state before each, and the state that it looks at."""
    path = [timeline.moments[at] for at in timeline.path(timeline.at)]
    steps = [(before.state, after.action) for before, after in itertools.pairwise(path)]
    return steps, path[-1].state


def _summary(
    who: str, m: Balance, run: tuple[list[tuple[BalanceState, Any]], BalanceState]
) -> tuple[str, ...]:
    steps, last = run
    loads = m.loads(last).node_load
    staying = loads[m.loads(last).takes]
    edition = m.edition
    return (
        who,
        str(len(steps)),
        volume(sum(m.bytes_of(action.tablet) for _, action in steps)),
        load_said(float(loads.max()), edition),
        load_said(float(staying.min()), edition),
        str(len(m.plan(last).moves)),
    )


def _judged(m: Balance, s: BalanceState, action: Any) -> tuple[str, ...]:
    answer = m.answer(s, action)
    said = reason_said(answer.reason, m.edition)
    return m.verb(action), HOLDS if answer.moves else "no", f"{badness(m, s, action):.2f}", said


def _candidate(m: Balance, s: BalanceState, action: Any) -> tuple[str, ...]:
    edition = m.edition
    *_, left, right = m.loads(s).compared(*m.place(s, *astuple(action)))
    return (
        m.labels[action.tablet],
        m.tables[action.tablet][0],
        f"{m.percents[action.tablet]} %",
        load_said(left, edition),
        load_said(right, edition),
        f"{badness(m, s, action):.2f}",
        HOLDS if m.answer(s, action).moves else "",
    )
