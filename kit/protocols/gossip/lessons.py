"""What the lessons on gossip draw, compare and ask."""

from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal

from kit.edge.arguments import checked, whole_number
from kit.errors import BadInput, KitError
from kit.lessons.judge import function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, breaking, ends, replay, run_task
from kit.lessons.stills import still
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.gossip import facts, rules
from kit.protocols.gossip.gossip import Gossip, agreed
from kit.ring.natural import replicas
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from kit.views.chart import Chart, canvas, chart
from kit.views.palette import SHADES, SMALL
from kit.views.static import Sheet, sign

AuthMode = Literal["legacy", "group 0"]
POLL_SECONDS = 10.0
"""How often a node polls service levels in the legacy mode, unless it is configured."""


def role_replicas(role: int, nodes: tuple[str, ...], rf: int, mode: AuthMode) -> tuple[str, ...]:
    """The nodes that hold a role whose key is in the range of node number ``role``."""
    if mode == "group 0":
        return nodes
    return tuple(nodes[(role + i) % len(nodes)] for i in range(min(rf, len(nodes))))


def can_log_in(holders: tuple[str, ...], up: tuple[str, ...]) -> bool:
    """Whether a client that reaches a node which is up can log in: one holder is up."""
    return any(name in up for name in holders)


def rebuild_delay(mode: AuthMode, poll: float = POLL_SECONDS) -> tuple[float, float]:
    """Seconds, least and most, from a change of a service level until a node's view has it."""
    return (0.0, poll) if mode == "legacy" else (0.0, 0.0)


MOST_CHANGES = 2_000
DAY = 86_400  # seconds
MODES: tuple[AuthMode, ...] = ("legacy", "group 0")
FILLS = {"legacy": SHADES["removed"], "group 0": SHADES["added"]}


def hashed_after(changes: int) -> list[tuple[int, int]]:
    """Cells that are hashed and tables that there are, after each of so many changes.

    Every second change drops the table that the one before it created.
    """
    cells = rules.cells_of(rules.SchemaChange("create", "ks"), 1, "A")
    counts = [(len(cells), 0)]
    for number in range(changes):
        verb = rules.SchemaChange("drop" if number % 2 else "create", "ks", f"t{number // 2}")
        written: rules.Mutations = rules.cells_of(verb, number + 2, "A")
        cells = rules.merged(cells, written)
        counts.append((len(cells), len(rules.schema_of(cells).tables)))
    return counts


@checked
def digest_costs(changes: int = 100, *, ax: Any = None) -> Chart:
    """Draw how many cells go into a version after each change, next to the number of tables.

    Every second change drops the table that the change before it created. No table stays, but each
    leaves a tombstone.

    Raises BadInput for a number of changes below 2 or above 2,000.
    """
    if not 2 <= changes <= MOST_CHANGES:
        raise BadInput("changes", changes, f"a number from 2 to {MOST_CHANGES}")
    counts = hashed_after(changes)
    with canvas(ax, 6.4, 2.8) as axes:
        for dashes, label, drawn in (
            ("--", "cells hashed (legacy)", [cells for cells, _ in counts]),
            ("-", "tables that exist", [tables for _, tables in counts]),
            (":", "timestamps made (group 0)", [1] * len(counts)),
        ):
            axes.plot(drawn, dashes, label=label)
        axes.set_xlabel("schema changes so far")
        axes.set_ylabel("count")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    half, end = counts[changes // 2], counts[-1]
    hashed = f"{counts[0][0]} after none, {half[0]} after {changes // 2}, {end[0]} after {changes}"
    lines = (
        "What a version costs as schema changes add up",
        f"cells hashed (legacy): {hashed}",
        f"tables at the end: {end[1]}",
        "timestamps made (group 0): 1 each time",
    )
    return chart(axes, "\n".join(lines))


@checked
def service_level_delays(poll: float = POLL_SECONDS, *, ax: Any = None) -> Chart:
    """Draw the seconds until a node sees a changed service level, polled and with group 0.

    Raises BadInput for an interval that is not above 0, or longer than a day.
    """
    if not 0 < poll <= DAY:
        raise BadInput("poll", poll, f"seconds above 0, up to {DAY}")
    with canvas(ax, 6.4, 1.8) as axes:
        lines = ["Seconds until a node sees a changed service level"]
        for at, mode in enumerate(MODES):
            least, most = rebuild_delay(mode, poll)
            axes.barh(at, most, color=FILLS[mode])
            said = f"{least:g} to {most:g}" if most else "at once, when the entry is applied"
            axes.text(most, at, f"  {said}", va="center", fontsize=SMALL)
            lines.append(f"{mode}: {said}")
        axes.set_yticks(range(len(MODES)), MODES)
        axes.set_xlim(0, 1.3 * poll)
        axes.set_xlabel("seconds")
    return chart(axes, "\n".join(lines))


NAMES = "ABCDEF"
LONGEST = 120  # steps until a join is through
APART = 10  # between the tokens of two nodes


@checked
def same_split(apart: str = "C", nodes: int = 3, rf: int = 3) -> Sheet:
    """Draw one network partition in both worlds: where the schema can change and QUORUM is met.

    ``apart`` lists the nodes on the side without A, such as ``B C``. In group 0, members on the
    other side do not answer.

    Raises BadInput for unknown nodes, a partition that leaves a side empty, or an RF below 1.
    """
    names, rf = _names(nodes), whole_number("rf", rf, 1)
    there = _chosen("apart", apart, names[1:])
    if not there:
        raise BadInput("apart", apart, f"one or more of {', '.join(names[1:])}")
    here = tuple(name for name in names if name not in there)
    rows = []
    for name in names:
        side = here if name in here else there
        met, ranges = _groups_with_quorum(names, side, min(rf, nodes))
        data = f"{sign(met > 0)} {met} of {ranges}"
        said = _by_gossip(name, here, there), _in_group0(name, side, names)
        rows.append((name, " ".join(side), *said, data))
    heads = ("node", "its side", "schema by gossip", "schema in group 0", f"QUORUM of RF {rf}")
    return Sheet("The same partition in both worlds", heads, tuple(rows))


def _by_gossip(name: str, here: tuple[str, ...], there: tuple[str, ...]) -> str:
    line, split = f"create table ks.t at {name}", f"partition {' '.join(here)} | {' '.join(there)}"
    given = {"nodes": len(here) + len(there), "changes": (line,), "partitions": 1}
    return _answer(replay(Ground("gossip", given), [split])[0], line)


def _in_group0(name: str, side: tuple[str, ...], names: tuple[str, ...]) -> str:
    line, silent = f"create table ks.t at {name}", [each for each in names if each not in side]
    given = {"nodes": len(names), "operations": (line,), "crashes": len(silent), "elections": 1}
    verbs = [*(f"crash {each}" for each in silent), line]
    verbs += [f"elect {side[0]}"] if names[0] in silent else []  # refused without a quorum
    return _answer(replay(Ground("group0", given), verbs)[0], f"barrier {name}")


def _answer(timeline: Timeline, verb: str) -> str:
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    refusal = option[1]
    return sign(refusal is None) + (" allowed" if refusal is None else f" {refusal.reason}")


def _groups_with_quorum(names: tuple[str, ...], side: tuple[str, ...], rf: int) -> tuple[int, int]:
    space = small(APART * len(names))
    ring = Ring.of(tuple(Node(n, (APART * (at + 1),)) for at, n in enumerate(names)), space)
    groups = replicas(ring, SimpleStrategy(rf)).tolist()
    here = {ring.code(name) for name in side}
    return sum(len({*group} & here) > len(group) // 2 for group in groups), len(groups)


@checked
def same_crash() -> Sheet:
    """Show one crash in both worlds: the driver of a join or removal dies once data is streamed.

    With gossip, the driver is the joining node, or the neighbour on which the operator calls
    removenode. The stages that it had passed are passed again. In group 0, the next coordinator
    reads the tables and continues in the last coordinator's state, whose work begins again.
    """
    join, removal = {"nodes": 3, "crashes": 1}, {"operation": "removenode", "rf": 3, "crashes": 1}
    remove = {"nodes": 5, "operations": ("removenode E",), "crashes": 1, "down": ("E",)}
    rows = (
        ("join by gossip", "X, joining", *_by_driver(join, "X", lambda s: s.nodes[-1].phase)),
        ("join in group 0", "A, coordinator", *_by_coordinator(join)),
        ("removenode by gossip", "A, neighbour", *_by_driver(removal, "A", _stage)),
        ("removenode in group 0", "A, coordinator", *_by_coordinator(remove)),
    )
    heads = (
        *("operation", "driver that dies", "stages before", "stages after", "stages repeated"),
        "streams begun",
    )
    return Sheet("The same crash in both worlds", heads, rows)


def _by_driver(given: dict[str, Any], driver: str, stage: Any) -> tuple[str, ...]:
    timeline = Timeline(build("gossip_join", given))
    _until(timeline, lambda state: state.streams)
    passed = _passed(timeline, driver, stage, lambda state: stage(state) in ("member", "removed"))
    return *passed, str(timeline.state.streams)


_TRANSITION = attrgetter("topology.transition")


def _by_coordinator(given: dict[str, Any]) -> tuple[str, ...]:
    timeline = Timeline(build("topology", given))
    _until(timeline, lambda state: state.attempted.streaming)
    passed = _passed(timeline, "A", _TRANSITION, lambda state: not _TRANSITION(state))
    begun = [moment.state.attempted.streaming for moment in timeline.moments]
    return *passed, str(sum(now and not was for was, now in pairwise(begun)))


def _stage(state: Any) -> str:
    said = {each.says(rules.STATUS) for node in state.nodes for each in node.view}
    if rules.REMOVED in said:
        return "removed"
    return next((node.drives for node in state.nodes if node.drives), "")


def _passed(timeline: Timeline, driver: str, stage: Any, ended: Any) -> tuple[str, str, str]:
    before = _entered(timeline, stage)
    option = timeline.model.find(timeline.state, f"crash {driver}")
    assert option is not None
    timeline.do(option[0])
    at = len(timeline.moments) - 1
    _until(timeline, ended)
    after = _entered(timeline, stage, at)
    twice = [name for name in after if name in before]
    return ", ".join(before), ", ".join(after), ", ".join(twice) or "nothing"


def _entered(timeline: Timeline, stage: Any, since: int = 0) -> list[str]:
    stages = [stage(moment.state) for moment in timeline.moments[since:]]
    return [now for was, now in pairwise(stages) if now != was and now]


@checked
def logins(down: str = "A", nodes: int = 3, rf: int = 1) -> Sheet:
    """Show who can log in with nodes down: roles are in a keyspace of RF ``rf``, or in group 0.

    There is a role in the range of each node, and a client reaches any node that is up.

    Raises BadInput for unknown nodes, an RF below 1, or when no node is left.
    """
    names, rf = _names(nodes), whole_number("rf", rf, 1)
    off = _chosen("down", down, names)
    up = tuple(name for name in names if name not in off)
    if not up:
        raise BadInput("down", down, "not all nodes")
    rows = []
    for number in range(nodes):
        held = [role_replicas(number, names, rf, mode) for mode in MODES]
        able = [f"{sign(can_log_in(each, up))} {', '.join(each)}" for each in held]
        rows.append((f"role{number + 1}", *able))
    heads = ("role", f"legacy, RF {rf}: held by", "group 0: held by")
    title = f"Who can log in (nodes that are down: {', '.join(off) or 'none'})"
    return Sheet(title, heads, tuple(rows))


def _names(nodes: int) -> tuple[str, ...]:
    if not 2 <= nodes <= len(NAMES):
        raise BadInput("nodes", nodes, f"a number from 2 to {len(NAMES)}")
    return tuple(NAMES[:nodes])


def _chosen(field: str, given: str, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in given.split():
        if name not in names:
            raise BadInput(field, name, f"names among {', '.join(names)}")
    return tuple(name for name in names if name in given.split())


def _until(timeline: Timeline, holds: Any) -> None:
    for _ in range(LONGEST):
        if timeline.forward() is None or holds(timeline.state):
            return


def overwritten(timeline: Timeline) -> PosedQuestion:
    """Which finished changes are overwritten once all nodes agree?

    From here on, the default schedule runs until all nodes have one version.

    Raises BadInput when the timeline is not of model ``gossip``.
    Raises KitError when the nodes cannot agree from here.
    """
    model = model_of(timeline, Gossip, "a schema by gossip")
    ahead = copied(timeline)
    while not agreed(ahead.state):
        if ahead.forward() is None:
            raise KitError("predict: from here, the nodes do not reach one version")
    rows = [row for row in facts.changes(model, ahead.state) if row.timestamp is not None]
    said = ", ".join(f"{row.text} has timestamp {row.timestamp}" for row in rows)
    return posed(
        "Gossip continues until all nodes have one version. Which changes will be overwritten?",
        tuple(row.text for row in rows),
        tuple(row.text for row in rows if row.overwritten),
        f"The newer timestamp wins: {said}." if rows else "No change has been made.",
        still(ahead, "schemas"),
    )


def what_stays(definitions: list[tuple[int, str]]) -> str:
    """The newest; at one time a drop, else the greater text."""
    return max(definitions, key=lambda each: (each[0], not each[1], each[1]))[1]


TASKS = (
    run_task(
        "done-and-lost",
        "done, and lost",
        "Two clients create ks.t, one at A and one at C, and the network is whole. "
        "Give a run, as verbs or as a Player, in which both changes are made, one of them is "
        "overwritten, and all nodes end with one version.",
        "each client must make its change at a node that has not heard of the other change. Then "
        "gossip and pull until all nodes agree.",
        Ground("gossip", {"changes": ("create table ks.t at A", "create table ks.t at C")}),
        breaking("lost-update", "no change was overwritten."),
        ends(agreed, "At the end of your run, the nodes have different versions."),
    ),
    function_task(
        "what-stays",
        "what stays",
        "Write what_stays(definitions). Each node has defined the same thing on its "
        "own: definitions is a list with one [timestamp, text] per node, and an empty text "
        "means that the node dropped it. Return the text that all nodes have after gossiping.",
        "the newest definition wins. If timestamps are equal, a drop wins, or else the greater "
        "text.",
        what_stays,
        ([[[2, "id 2 of A"], [4, "id 4 of C"]]], [[[3, "id 3 of A"], [3, ""]]]),
        lambda chance: [
            [[chance.randint(1, 3), chance.choice(("", "a", "b", "c"))] for _ in range(3)]
        ],
    ),
)
