"""What the lesson on rebuilds and repairs asks and checks: sources, losses, ranges, tombstones."""

import random
from typing import Any

from kit.errors import KitError, counted
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, listed, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.flows import flows
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.tablets.panels.losses import losses, one_more, repair_map
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.topology import CrashMember

REBUILDS = {"rebuild", "rebuild_v2"}


def may_be_lost(timeline: Timeline) -> PosedQuestion:
    """Which node may be lost now, so that no further tablet loses its quorum?"""
    cost = dict(one_more(model_of(timeline, Tablets), timeline.state))
    return posed(
        "One more node dies now. Which could it be without costing any tablet its quorum?",
        cost,
        [host for host, tablets in cost.items() if not tablets],
        "This is what each loss would cost.",
        still(timeline, "losses"),
        reasons=[
            f"{host}: no quorum for {counted(len(tablets), 'tablet')}: {listed(map(str, tablets))}"
            if tablets
            else f"{host}: every tablet keeps its quorum"
            for host, tablets in cost.items()
        ],
    )


def comes_from(timeline: Timeline) -> PosedQuestion:
    """From which replicas does the next stream of a tablet come? KitError when none is ahead."""
    m, ahead = model_of(timeline, Tablets), copied(timeline)
    while (moment := ahead.forward()) is not None:
        before = ahead.moments[moment.parent].state
        ways = {n: row.transitions[0] for n, row in enumerate(before.tablets) if row.transitions}
        if not isinstance(moment.action, Tablets.work_on):
            continue
        tablet = moment.action.tablet
        if ways[tablet].stage == "streaming":
            break
    else:
        raise KitError("predict: no tablet is streamed from here on")
    sent = flows(m, before, moment.action, moment.state)
    sources = dict.fromkeys(flow.text.partition(" → ")[0] for flow in sent)
    return posed(
        f"A {ways[tablet].kind} of tablet {tablet} begins. Which nodes send the new replica its "
        "data in stage streaming?",
        map(str, before.tablets[tablet].replicas),
        sources,
        f"In stage streaming, the data comes from {listed(sources)}.",
        still(ahead, "grid"),
    )


def skipped_by_repair(timeline: Timeline) -> PosedQuestion:
    """Which tablets does nobody repair when every node repairs its primary ranges now?"""
    ranges = repair_map(model_of(timeline, Tablets), timeline.state, ())
    left = [each for each in ranges if each.skipped]
    return posed(
        "Every node runs repair -pr now. Which tablets does no node repair?",
        [str(each.tablet) for each in ranges],
        [str(each.tablet) for each in left],
        f"Skipped: {listed(f'tablet {each.tablet}' for each in left)}.",
        still(timeline, "repairs"),
        reasons=[f"tablet {each.tablet}: its primary replica is {each.primary}" for each in ranges],
    )


MODES = ("timeout", "repair")
TABLETS = 4


def to_be_warned_of(mode: str, repaired: dict[str, int], today: int, grace: int) -> list[int]:
    """By timeout, those whose last repair is older than the grace, or that had none."""
    if mode == "repair":
        return []
    return [n for n in range(4) if str(n) not in repaired or today - repaired[str(n)] > grace]


def _drawn(chance: random.Random) -> Arguments:
    today, grace = chance.randint(10, 30), chance.randint(5, 12)
    some = chance.sample(range(TABLETS), chance.randint(1, TABLETS))
    repaired = {str(tablet): today - grace + chance.randint(-3, 3) for tablet in sorted(some)}
    return [chance.choice([*MODES, "timeout"]), repaired, today, grace]


def all_in_place(s: Any) -> bool:
    """Whether C has left and no tablet has a replica on it, or is in a transition."""
    rows = s.tablets
    gone = not any(each.host == "C" for row in rows for each in row.replicas)
    return gone and not any(row.transitions for row in rows)


def dies_in_time(m: Any, step: PassedStep) -> bool:
    """Whether a node dies after which every tablet still has a quorum, with C's place taken."""
    dies = isinstance(step.action, CrashMember) and all_in_place(step.after)
    return dies and all(each.spare >= 0 for each in losses(m, step.after))


def taken_back(m: Any, step: PassedStep) -> bool:
    """Whether a rebuild is led back."""
    ways = [way for row in step.after.tablets for way in row.transitions]
    return any(way.kind in REBUILDS and way.stage == "cleanup_target" for way in ways)


REPLACED = {"nodes": 3, "tablets": ("A B C", "B C A"), "moves": 0, "operations": ("replace D C",)}

TASKS = (
    run_task(
        "one-loss-later",
        "when the next node can die",
        "C is dead, and D replaces it. One more node may crash. Give a run, as verbs or as a "
        "Player, in which A, B or D dies after the tablets are rebuilt, so that every tablet "
        "keeps its quorum.",
        "the request is done long before the tablets are. Keep playing until the tablet track "
        "ends.",
        Ground("tablets", {**REPLACED, "crashes": 1}),
        takes(dies_in_time, "No node in your run dies at a moment when every tablet can spare it."),
    ),
    run_task(
        "rebuild-again",
        "a rebuild that begins twice",
        "C is dead, and D replaces it. One piece of work on tablets may fail. Give a run, as verbs "
        "or as a Player, in which a rebuild is rolled back, yet at the end no tablet has a replica "
        "on C and none is in transition.",
        "fail work on 0 in stage streaming or in the repair before it; the coordinator then plans "
        "the same rebuild again.",
        Ground("tablets", {**REPLACED, "failures": 1}),
        takes(taken_back, "In your run, no rebuild goes through cleanup_target."),
        ends(all_in_place, "At the end of your run, a tablet is in transition, or still on C."),
    ),
    function_task(
        "to-be-warned-of",
        "whose deleted rows can come back",
        f"Write to_be_warned_of(mode, repaired, today, grace). Return a sorted list "
        f"of the tablets, numbered from 0 to {TABLETS - 1}, that need a warning. `mode` is how "
        "tombstones are collected, 'timeout' or 'repair'. `repaired` gives the day of each "
        "tablet's last repair, with the tablet's number (as text) as the key. A tablet that is not "
        "in it was never repaired. `grace` is in days.",
        "with repair, no tombstone is dropped before its range is repaired. With timeout, it is "
        "dropped once the grace days are over, so the last repair must not be older than that.",
        to_be_warned_of,
        (
            ["timeout", {"0": 9, "1": 10, "2": 20}, 20, 10],
            ["repair", {"0": 9}, 20, 10],
            ["timeout", {}, 3, 10],
        ),
        _drawn,
    ),
)
