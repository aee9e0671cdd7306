"""What the lessons on group 0 draw and ask, and their exercises."""

import random
from collections.abc import Callable
from typing import Any, Literal

from kit.edge.arguments import checked
from kit.errors import BadInput, KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.replays import Ground, run_task
from kit.lessons.stills import still
from kit.model.actors import ActorState
from kit.model.model import sometimes
from kit.model.timeline import Timeline
from kit.protocols.group0 import facts
from kit.protocols.group0.discovery import Discovery, groups
from kit.protocols.group0.group0 import Group0
from kit.search.check import check
from kit.views.chart import Chart, canvas, chart
from kit.views.palette import BESIDE, SHADES, SMALL

VersionSource = Literal["hash", "timestamp"]
LARGE = 10_000
"""Tables for which the figures of the blog post are drawn here; it names no number."""
HASHING = (10.0, 20.0)
"""Seconds of one schema change there while the version was a hash of all schema mutations."""
STAMPING = 1.0
"""Seconds of one schema change with a timestamp, at most, however many tables there are."""


def change_cost(source: VersionSource, tables: int) -> tuple[float, float]:
    """How many seconds one schema change takes in a cluster with so many tables: least and most.

    The hash goes over the mutations of every table, so that it grows with their number; it is never
    quicker than the timestamp, whose change costs the same with any number.
    """
    if source == "timestamp":
        return STAMPING, STAMPING
    share = tables / LARGE
    least, most = (max(STAMPING, seconds * share) for seconds in HASHING)
    return least, most


def total_cost(source: VersionSource, tables: int) -> float:
    """Seconds, at most, to create so many tables one after the other."""
    return sum(change_cost(source, count)[1] for count in range(1, tables + 1))


SOURCES: tuple[VersionSource, ...] = ("hash", "timestamp")
FILLS = {"hash": SHADES["removed"], "timestamp": SHADES["added"]}
POINTS = 20
MOST_TABLES = 1_000_000


@checked
def schema_costs(tables: int = LARGE, *, ax: Any = None) -> Chart:
    """Draw the seconds per schema change: bars for this many tables, and curves up to there.

    The top of a bar is the most that a change takes; the line across it is the least.

    Raises BadInput for a number of tables below 1 or above a million.
    """
    if not 1 <= tables <= MOST_TABLES:
        raise BadInput("tables", tables, f"a number from 1 to {MOST_TABLES}")
    with canvas(ax, 6.4, 2.8) as axes:
        counts = [max(1, tables * i // POINTS) for i in range(1, POINTS + 1)]
        lines = [f"Seconds per schema change, up to {tables:,} tables"]
        for place, source in enumerate(SOURCES):
            costs, wide = [change_cost(source, n)[1] for n in counts], 1.2 if place else 3
            axes.plot(counts, costs, linewidth=wide, label=source)
            least, most = change_cost(source, tables)
            at = tables * (1.12 + 0.2 * place)
            axes.bar(at, most, 0.1 * tables, color=FILLS[source])
            axes.plot([at - 0.05 * tables, at + 0.05 * tables], [least] * 2)
            axes.text(at, most, source, ha="center", va="bottom", fontsize=SMALL)
            lines.append(f"by {source}: {_seconds(least, most)}")
        axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= tables])
        axes.set_xlabel("tables in the cluster")
        axes.set_ylabel("seconds per change")
        axes.legend(**BESIDE)
    halved = change_cost("hash", max(1, tables // 2))[1]
    lines.append(f"with half as many tables: at most {halved:g} by hash, no change by timestamp")
    totals = (f"by {source} at most {total_cost(source, tables):,.0f}" for source in SOURCES)
    lines.append(f"to create all the tables one by one: {', '.join(totals)}")
    return chart(axes, "\n".join(lines))


def _seconds(least: float, most: float) -> str:
    return f"{least:g} to {most:g}" if least < most else f"{most:g} or less"


_MOST = 100_000  # states of a search that a question may take


def effective(timeline: Timeline) -> PosedQuestion:
    """Which entries of the log take effect?

    Raises KitError if the model is not group 0, or if nothing is committed.
    """
    model, state = timeline.model, timeline.state
    if not isinstance(model, Group0) or not len(state.log):
        raise KitError("predict: group 0's log has no entry here")
    rows = facts.entries(model, state)
    words = {row.index: f"index {row.index}: {row.text} by {row.creator}" for row in rows}
    chain = listed(f"{row.previous} → {row.new}" for row in rows if row.effective)
    return posed(
        "Which log entries take effect on every node that applies them?",
        tuple(words.values()),
        tuple(words[row.index] for row in rows if row.effective),
        f"The states follow one another: {chain}. A command built on any other state does nothing.",
        still(timeline, "history"),
    )


def founders(timeline: Timeline) -> PosedQuestion:
    """Which nodes can found a group in some run? Every run is searched.

    Raises BadInput if the model is not discovery.
    Raises KitError if it is too large to search here.
    """
    model = model_of(timeline, Discovery, "discovery")
    founding = tuple(sometimes(name, name, _founded_by(name)) for name in model.contact_points)
    result = check(model, founding, max_states=_MOST)
    if not result.complete:
        raise KitError(f"predict: {model.name} has more than {_MOST:,} states")
    right = tuple(name for name in model.contact_points if name not in result.unreached)
    seeds = "; ".join(
        f"{name} knows {', '.join(point for point in points if point != name) or 'nobody'}"
        for name, points in model.contact_points.items()
    )
    return posed(
        f"{seeds}. Depending on the order of messages, which nodes can found a group 0?",
        model.contact_points,
        right,
        f"The search of all {result.states:,} states found a group founded by each of these: "
        f"{listed(right)}.",
    )


NODES = "ABCD"


def _founded_by(name: str) -> Callable[[ActorState], bool]:
    return lambda s: name in groups(s)


def _has_no_op(timeline: Timeline) -> str | None:
    model: Any = timeline.model
    effective = all(row.effective for row in facts.entries(model, timeline.state))
    return "Every command of your run takes effect." if effective else None


def _told_both(timeline: Timeline) -> str | None:
    answers = sorted(timeline.state.answers)
    return None if answers == ["error", "success"] else f"The clients' answers are: {answers}."


def effects(commands: list[list[int]]) -> list[bool]:
    """A command counts when it was built on the last one that did."""
    taken, newest = [], 0
    for previous, new in commands:
        taken.append(previous == newest)
        newest = new if taken[-1] else newest
    return taken


def one_group(seeds: dict[str, list[str]]) -> bool:
    """Some node is within reach of every node."""

    def reached(start: str) -> set[str]:
        within, ahead = {start}, [start]
        while ahead:
            for point in seeds[ahead.pop()]:
                if point not in within:
                    within.add(point)
                    ahead.append(point)
        return within

    return bool(set.intersection(*(reached(name) for name in seeds)))


def _some_commands(chance: random.Random) -> Arguments:
    states, commands = [0], []
    for new in range(1, chance.randint(3, 8)):
        commands.append([chance.choice(states[-2:]), new])
        if chance.random() < 0.3:
            commands.append(chance.choice(commands))
        states.append(new)
    return [commands]


TASKS = (
    run_task(
        "lost-race",
        "lose the race",
        "Two clients ask A and B to create the same table. Give a run, as verbs or as a Player, "
        "in which "
        "both commands are committed, one of them does nothing, and both clients are answered.",
        "both nodes must read the same newest state id before either command is applied there; "
        "the one whose command did nothing starts again and validates again.",
        Ground("group0"),
        _has_no_op,
        _told_both,
    ),
    function_task(
        "what-takes-effect",
        "what takes effect",
        "Write effects(commands). commands is the log: a list of [previous, new] "
        "state ids. The first state is 0. Return a list with True for each command that takes "
        "effect, else False.",
        "keep the newest state id; a command that does nothing does not change it, "
        "and the same command can be in the log twice.",
        effects,
        ([[[0, 1], [1, 2], [1, 3]]], [[[0, 1], [0, 1], [1, 4]]]),
        _some_commands,
    ),
    function_task(
        "one-group",
        "one group or two",
        "Write one_group(seeds). seeds maps each node to a list of its contact "
        "points. Return True if discovery forms one group, whatever the order of messages.",
        "follow the contact points from each node as far as they lead. At least one "
        "node must be reachable from every node (a node reaches itself).",
        one_group,
        ([{"A": [], "B": ["A"], "C": ["B"]}], [{"A": [], "B": [], "C": ["A", "B"]}]),
        lambda chance: [{n: sorted(chance.sample(NODES, chance.randint(0, 2))) for n in NODES}],
    ),
)
