"""Questions and tables on loads and sizes: who may take a tablet, the plan, splits, merges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import astuple

from kit.edge.arguments import finite, whole_number
from kit.engine.registry import one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError, counted
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.stills import still, timeline_of
from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.facts import resize as facts
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.balance.evening import TableSpread
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.reasons import load_said, reason_said
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import (
    THRESHOLDS,
    ResizeDecision,
    TableSize,
    Thresholds,
    decide,
    is_growing,
    resize_said,
)
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.parts import volume
from kit.views.static import HOLDS, Sheet

BALANCE = "the model balance"
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
    m = model_of(timeline, Balance, BALANCE)
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
    return posed(
        text,
        nodes,
        right,
        because,
        still(timeline, "grid"),
        reasons=reasons,
    )


def goes_to(timeline: Timeline) -> PosedQuestion:
    """To which node does the planner move a tablet first?

    Raises:
        KitError: when the plan is empty.
    """
    m = model_of(timeline, Balance, BALANCE)
    moves = m.plan(timeline.state).moves
    if not moves:
        raise KitError("predict: the planner has nothing to do here")
    move = moves[0]
    label = m.labels[m.tables.index((move.table, move.tablets[0]))]
    return posed(
        "To which node does the planner move a tablet first?",
        m.names,
        (move.target.host,),
        f"Tablet {label} goes from {move.source} to {move.target}: "
        f"{reason_said(move.reason, m.edition)}.",
        still(timeline, "plan"),
    )


def against_planner(source: Any) -> Sheet:
    """A run of moves beside what the planner does from the same start: moves, bytes, loads.

    Raises:
        BadInput: when it is no Player or timeline of the model balance.
    """
    timeline = timeline_of(source)
    m = model_of(timeline, Balance, BALANCE)
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
    m = model_of(timeline, Balance, BALANCE)
    rows = tuple(_judged(m, s, action) for s, action in _run(timeline)[0])
    heads = ("move", "in the plan", "badness", "what the planner says")
    return Sheet("Your moves, judged", heads, rows)


def candidates_judged(source: Any) -> Sheet:
    """What may go from the fullest node to the emptiest: loads afterwards, and how bad each is.

    Raises:
        BadInput: when it is no Player or timeline of the model balance.
    """
    timeline = timeline_of(source)
    m = model_of(timeline, Balance, BALANCE)
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


RESIZE = "the model resize"
KINDS: tuple[ResizeType, ...] = ("none", "split", "merge")
SAID = {"none": "no resize", "split": "a split", "merge": "a merge"}

MOST_ROWS = 1000  # of a sheet


def resize_wanted(timeline: Timeline) -> PosedQuestion:
    """What would the planner decide on the table now?"""
    m = model_of(timeline, Resize, RESIZE)
    now = facts.line(m, timeline.state)
    count = counted(timeline.state.map.count, "tablet")
    return posed(
        f"{count}, on average at {now.average} % of the target size; under way: "
        f"{SAID[now.decided]}. What does the planner decide now?",
        tuple(SAID.values()),
        (SAID[now.asks],),
        f"Merge below {now.merge_below} %, split above {now.split_above} %: {now.reason}.",
        still(timeline, "resize"),
    )


def waits_for(timeline: Timeline) -> PosedQuestion:
    """For which replicas, or for which tablets, does the resize wait?"""
    m = model_of(timeline, Resize, RESIZE)
    s: ResizeState = timeline.state
    blocked = m.blocked(s)
    missing = () if blocked is None else blocked.evidence
    choices = _all_that_may_lack(s)
    because = "Nothing: it may be finalized." if blocked is None else f"{blocked.reason}."
    return posed(
        f"{SAID[s.map.resize_type].capitalize()} is decided. What does it still wait for?",
        choices,
        tuple(each for each in choices if each in missing),
        because[0].upper() + because[1:],
        still(timeline, "grid", "readiness"),
    )


def _all_that_may_lack(s: ResizeState) -> tuple[str, ...]:
    if s.map.resize_type == "split":
        return tuple(
            f"tablet {index} on {store.replica}"
            for index, stores in enumerate(s.stores)
            for store in stores
        )
    return tuple(f"tablets {even} and {even + 1}" for even in range(0, s.map.count - 1, 2))


def decision_on(
    average: int, under_way: ResizeType, count: int, initial: int, edition: Edition = "server"
) -> ResizeDecision:
    """What is decided on a table whose average tablet is at so many percent of the target size."""
    usual = THRESHOLDS[edition]
    size = TableSize(
        "", count, 1, average * count, under_way, 0, initial, is_growing(count, initial)
    )
    return decide(size, Thresholds(100, usual.split_percent, usual.merge_percent))


def thresholds() -> Sheet:
    """When tables are split and merged, in both editions."""
    heads = ("edition", "target size", "merge below", "split above", "a split is revoked below",
             "a merge is revoked above")  # fmt: skip
    rows = tuple((each, *map(volume, _bounds(THRESHOLDS[each]))) for each in EDITIONS)
    return Sheet("The average tablet against the thresholds", heads, rows)


def _bounds(limits: Thresholds) -> tuple[int, ...]:
    return (
        limits.target,
        limits.merge_below,
        limits.split_above,
        limits.split_ends_below,
        limits.merge_ends_above,
    )


def decisions(
    averages: Sequence[int],
    *,
    under_way: ResizeType = "none",
    count: int = 4,
    initial: int = 0,
    edition: Edition = "server",
) -> Sheet:
    """The decision on tables that differ by their average tablet, in percent of the target size.

    Raises:
        BadInput: for a percentage or an initial count below 0, fewer tablets than one, or more
            tables than a sheet shows.
    """
    averages = finite("averages", averages, MOST_ROWS)
    for place, average in enumerate(averages):
        whole_number(f"averages[{place}]", average)
    whole_number("count", count, 1)
    whole_number("initial", initial)
    made = [decision_on(each, under_way, count, initial, edition) for each in averages]
    rows = tuple(
        (f"{average} %", each.resize_type, resize_said(each.reason))
        for average, each in zip(averages, made, strict=True)
    )
    first = f", {initial} at first" if initial else ""
    title = f"{counted(count, 'tablet')}{first}; under way: {SAID[under_way]}"
    return Sheet(title, ("average", "decision", "because"), rows)
