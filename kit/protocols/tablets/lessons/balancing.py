"""Questions and tables on loads and sizes: who may take a tablet, the plan, splits, merges.

BadInput when what is asked is no Player or timeline of the model that it is about.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from kit.edge.arguments import finite, whole_number
from kit.errors import KitError, counted
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.stills import still, timeline_of
from kit.model.registry import check_one_of
from kit.model.timeline import Timeline
from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules import resize
from kit.protocols.tablets.rules.balance.evening import TableSpread
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.reasons import load_said, reason_said
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.columns import np
from kit.views.parts import volume
from kit.views.static import HOLDS, Sheet

MOST_MOVES = 1000


def may_take(timeline: Timeline, tablet: str, source: str) -> PosedQuestion:
    """Which nodes may take this replica of a tablet?

    ``tablet`` is what is written on its chip, ``source`` the replica, such as ``A:0``;
    BadInput for one that there is not. KitError when there is no other node.
    """
    m = model_of(timeline, Balance)
    check_one_of("tablet", tablet, m.labels)
    s, number = timeline.state, m.labels.index(tablet)
    places = [str(each) for each in s.replicas[number]]
    check_one_of("source", source, places)
    if not (nodes := [name for name in m.names if name != source.partition(":")[0]]):
        raise KitError("predict: there is no other node")
    refusals = {name: m.refusal(s, Balance.move(number, source, f"{name}:0")) for name in nodes}
    right = tuple(name for name, why in refusals.items() if why is None)
    return posed(
        f"Tablet {tablet} is at {', '.join(places)}. Which nodes can take the replica at {source}?",
        nodes,
        right,
        f"These can: {listed(right)}.",
        still(timeline, "grid"),
        reasons=tuple(f"{name}: {why.reason}" for name, why in refusals.items() if why is not None),
    )


def goes_to(timeline: Timeline) -> PosedQuestion:
    """To which node does the planner move a tablet first? KitError when the plan is empty."""
    m = model_of(timeline, Balance)
    if not (moves := m.plan(timeline.state).moves):
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
    """A run of moves beside what the planner does from the same start: moves, bytes, loads."""
    timeline, m = _of_balance(source)
    planner = Timeline(m)
    while len(planner.path()) <= MOST_MOVES and planner.forward() is not None:
        pass
    rows = []
    for who, run in (("by hand", timeline), ("the planner", planner)):
        last, moves = run.state, [action for _, action in _moves(run)]
        loads = m.loads(last)
        fullest, emptiest = loads.node_load.max(), loads.node_load[loads.takes].min()
        row = (
            *(who, str(len(moves)), volume(sum(m.bytes_of(action.tablet) for action in moves))),
            *(load_said(float(fullest), m.edition), load_said(float(emptiest), m.edition)),
            str(len(m.plan(last).moves)),
        )
        rows.append(row)
    heads = ("who", "moves", "copied", "fullest node", "emptiest node", "moves still planned")
    return Sheet("The same start, balanced twice", heads, tuple(rows))


def moves_judged(source: Any) -> Sheet:
    """Every move of a run: what it did to loads, its badness, and what the planner says of it."""
    timeline, m = _of_balance(source)
    rows = []
    for s, action in _moves(timeline):
        answer = m.answer(s, action)
        said = HOLDS if answer.moves else "no", f"{badness(m, s, action):.2f}"
        rows.append((m.verb(action), *said, reason_said(answer.reason, m.edition)))
    heads = ("move", "in the plan", "badness", "what the planner says")
    return Sheet("Your moves, judged", heads, tuple(rows))


def candidates_judged(source: Any) -> Sheet:
    """What may go from the fullest node to the emptiest: loads afterwards, and how bad each is."""
    timeline, m = _of_balance(source)
    s = timeline.state
    loads = m.loads(s)
    open_to = np.where(loads.takes, loads.node_load, np.inf)
    giver, taker = m.names[int(loads.node_load.argmax())], m.names[int(open_to.argmin())]
    target = str(loads.replica(loads.by_load(m.names.index(taker))[0]))
    rows = []
    for action in m.actions(s):
        if action.source.partition(":")[0] != giver or action.target != target:
            continue
        tablet = action.tablet
        *_, left, right = loads.compared(*m.place(s, *astuple(action)))
        row = (
            *(m.labels[tablet], m.tables[tablet][0], f"{m.percents[tablet]} %"),
            *(load_said(left, m.edition), load_said(right, m.edition)),
            *(f"{badness(m, s, action):.2f}", HOLDS if m.answer(s, action).moves else ""),
        )
        rows.append(row)
    heads = ("tablet", "table", "size", giver, taker, "badness", "in the plan")
    title = f"What can go from {giver} to {taker}, and both loads afterwards"
    return Sheet(title, heads, tuple(rows))


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


def _of_balance(source: Any) -> tuple[Timeline, Balance]:
    timeline = timeline_of(source)
    return timeline, model_of(timeline, Balance)


def _moves(timeline: Timeline) -> list[tuple[BalanceState, Any]]:
    path = [timeline.moments[at] for at in timeline.path(timeline.at)]
    return [(before.state, after.action) for before, after in itertools.pairwise(path)]


SAID = {"none": "no resize", "split": "a split", "merge": "a merge"}

MOST_ROWS = 1000  # of a sheet


def resize_wanted(timeline: Timeline) -> PosedQuestion:
    """What would the planner decide on the table now?"""
    m, s = model_of(timeline, Resize), timeline.state
    limits, due = m.limits, m.decision(s)
    return posed(
        f"{counted(s.map.count, 'tablet')} with an average of {s.average} % of the target size; "
        f"under way: {SAID[s.map.resize_type]}. What does the planner decide now?",
        tuple(SAID.values()),
        (SAID[due.resize_type],),
        f"Merge below {limits.merge_below} %, split above {limits.split_above} %: "
        f"{resize.resize_said(due.reason)}.",
        still(timeline, "resize"),
    )


def waits_for(timeline: Timeline) -> PosedQuestion:
    """For which replicas, or for which tablets, does the resize wait?"""
    m = model_of(timeline, Resize)
    s: ResizeState = timeline.state
    blocked = m.blocked(s)
    missing = () if blocked is None else blocked.evidence
    choices = [f"tablets {even} and {even + 1}" for even in range(0, s.map.count - 1, 2)]
    if s.map.resize_type == "split":
        choices = [f"tablet {store.tablet} on {store.replica}" for store in s.stores]
    because = "Nothing: it can be finalized." if blocked is None else f"{blocked.reason}."
    return posed(
        f"{SAID[s.map.resize_type].capitalize()} has been decided. What is it still waiting for?",
        choices,
        tuple(each for each in choices if each in missing),
        because[0].upper() + because[1:],
        still(timeline, "grid", "readiness"),
    )


def decision_on(
    average: int, under_way: ResizeType, count: int, initial: int, edition: Edition = "documents"
) -> resize.ResizeDecision:
    """The decision on a table whose average tablet is at so many percent of the target size."""
    usual = resize.THRESHOLDS[edition]
    size = resize.TableSize(
        "", count, 1, average * count, under_way, 0, initial, resize.is_growing(count, initial)
    )
    return resize.decide(size, resize.Thresholds(100, usual.split_percent, usual.merge_percent))


def thresholds() -> Sheet:
    """When tables are split and merged, in both editions."""
    heads = ("edition", "target size", "merge below", "split above", "a split is revoked below",
             "a merge is revoked above")  # fmt: skip
    names = ("target", "merge_below", "split_above", "split_ends_below", "merge_ends_above")
    limits = resize.THRESHOLDS
    rows = ((each, *(volume(getattr(limits[each], n)) for n in names)) for each in EDITIONS)
    return Sheet("The average tablet against the thresholds", heads, tuple(rows))


def decisions(
    averages: Sequence[int],
    *,
    under_way: ResizeType = "none",
    count: int = 4,
    initial: int = 0,
    edition: Edition = "documents",
) -> Sheet:
    """The decision on tables that differ by their average tablet, in percent of the target size.

    BadInput for a percentage or an initial count below 0, fewer tablets than one, or more
    tables than a sheet shows.
    """
    averages = finite("averages", averages, MOST_ROWS)
    for place, average in enumerate(averages):
        whole_number(f"averages[{place}]", average)
    whole_number("count", count, 1)
    whole_number("initial", initial)
    made = [decision_on(each, under_way, count, initial, edition) for each in averages]
    rows = tuple(
        (f"{average} %", each.resize_type, resize.resize_said(each.reason))
        for average, each in zip(averages, made, strict=True)
    )
    first = f", {initial} initially" if initial else ""
    title = f"{counted(count, 'tablet')}{first}; under way: {SAID[under_way]}"
    return Sheet(title, ("average", "decision", "because"), rows)
