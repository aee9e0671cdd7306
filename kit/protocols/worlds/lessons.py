"""What the last lesson asks and checks: whom a barrier asks, in which world one goes on."""

import random
from typing import Any

from kit.errors import KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.worlds.alignment import TITLES, WORLDS, Now, World
from kit.protocols.worlds.facts import coordinator, epochs
from kit.protocols.worlds.side_by_side import SideBySide


def _nows(timeline: Timeline) -> tuple[SideBySide, Now, Now]:
    """Both worlds at the moment that is shown. KitError unless a barrier runs in each."""
    m = model_of(timeline, SideBySide, "two worlds side by side")
    states = (getattr(timeline.state, world) for world in WORLDS)
    a, b = (Now(m.parts[w], None, None, s) for w, s in zip(WORLDS, states, strict=True))
    if m.parts[WORLDS[0]].name != "tcm" or not (epochs.barriers(a) and coordinator.addressed(b)):
        raise KitError("predict: no barrier runs in both worlds here")
    return m, a, b


def who_is_asked(timeline: Timeline, world: World) -> PosedQuestion:
    """Which nodes does the barrier in a world ask? KitError when no barrier runs in both."""
    _, a, b = _nows(timeline)
    nodes = epochs.addressed(a) if world == "epochs" else coordinator.addressed(b)
    said = epochs.says_barrier(a) if world == "epochs" else coordinator.says_barrier(b)
    return posed(
        f"{TITLES[world]}: the next step waits at a barrier. Which nodes does the barrier ask?",
        a.m.names,
        sorted(nodes),
        said,
        still(timeline, world),
    )


def goes_on_in(timeline: Timeline) -> PosedQuestion:
    """In which worlds does the barrier let the next step pass? KitError as above."""
    _, a, b = _nows(timeline)
    passes = {"epochs": epochs.is_open(a), "topology": not coordinator.lacking(b)}
    return posed(
        "In which world is the barrier already open?",
        TITLES.values(),
        [TITLES[world] for world, is_open in passes.items() if is_open],
        "Each barrier shows which nodes it asks, and which it still waits for.",
        still(timeline, WORLDS[0]),
        reasons=[
            f"{TITLES['epochs']}: {epochs.says_barrier(a)}",
            f"{TITLES['topology']}: {coordinator.says_barrier(b)}",
        ],
    )


def is_open(
    world: str, ranges: list[dict[str, list[str]]], members: list[str], answered: list[str]
) -> bool:
    """Everybody, or more than half of each datacenter of each range."""
    if world == "topology":
        return all(name in answered for name in members)
    return all(
        2 * sum(name in answered for name in there) > len(there)
        for replicas in ranges
        for there in replicas.values()
    )


def _random_barrier(chance: random.Random) -> Arguments:
    members = [f"N{number}" for number in range(chance.randint(4, 8))]
    half = len(members) // 2
    dcs = {"dc1": members[:half], "dc2": members[half:]}
    ranges = [
        {dc: chance.sample(there, chance.randint(1, len(there))) for dc, there in dcs.items()}
        for _ in range(chance.randint(1, 3))
    ]
    answered = chance.sample(members, chance.randint(half, len(members)))
    return [chance.choice([*WORLDS, "epochs"]), ranges, members, sorted(answered)]


def _states(s: Any) -> list[str]:
    return [node.state for node in s.topology.nodes]


def _c_crashes(m: Any, step: PassedStep) -> bool:
    up, after = (each.up >> 2 & 1 for each in (step.before, step.after))
    return bool(up > after) and step.before.topology.transition == "write_both_read_old"


def _switches_without_c(m: Any, step: PassedStep) -> bool:
    now = Now(m, step.before, step.action, step.after)
    return "C" in step.after.tcm.down and epochs.step_of(now) == "mid"


JOIN = {"nodes": 4, "edition": "server", "crashes": 1}
OTHERS = tuple(f"apply {node}" for node in "ABDE")
WITHOUT_C = (
    *("bootstrap E --tokens 150", *OTHERS, "commit E", "crash C", *OTHERS),
    *("stream E: C to E", "stream E: D to E", "stream E: B to E", "commit E", *OTHERS, "commit E"),
)
TASKS = (
    run_task(
        "dies-while-it-joins",
        "without C",
        "Use epochs in the server edition. There are four nodes and three replicas, and E "
        "bootstraps. Give a run, as verbs or as a Player, in which C is down when reads switch, "
        "and in the end everything is done while C is still down.",
        (
            "C can crash at any time. Let A, B, D and E apply each epoch: they are a "
            "majority in each range."
        ),
        Ground("tcm", {**JOIN, "rf": 3, "operations": ("bootstrap E --tokens 150",)}),
        takes(_switches_without_c, "In your run, reads do not switch while C is down."),
        ends(lambda s: len(s.tcm.events) == 4, "At the end of your run, E is not a member."),
        ends(lambda s: "C" in s.tcm.down, "At the end of your run, C is up."),
        known=WITHOUT_C,
    ),
    run_task(
        "back-in-time",
        "back in time",
        "Use Raft in the server edition. There are four nodes, and E joins. Give a run, as verbs "
        "or as a Player, in which C dies in write_both_read_old, but E is normal in the end.",
        "C is not ignored, so the barrier needs it. Nodes can come back: restart C.",
        Ground("topology", {**JOIN, "operations": ("join E",)}),
        takes(_c_crashes, "In your run, C does not die in write_both_read_old."),
        ends(lambda s: _states(s)[-1] == "normal", "At the end of your run, E is not normal."),
    ),
    function_task(
        "is-it-open",
        "two barriers",
        "Write is_open(world, ranges, members, answered), which returns whether a barrier is "
        "open. In world 'epochs', each range needs a majority of its replicas in each "
        "datacenter. A range is a dict from a datacenter to the replicas there. In world "
        "'topology', every member has to answer.",
        (
            "a majority of three is two; of four, it is three. Look at each datacenter of "
            "each range separately."
        ),
        is_open,
        (
            ["epochs", [{"dc1": ["A", "B", "C"]}], ["A", "B", "C", "D"], ["A", "B"]],
            ["topology", [{"dc1": ["A", "B", "C"]}], ["A", "B", "C", "D"], ["A", "B", "C"]],
            ["epochs", [{"dc1": ["A", "B"], "dc2": ["C"]}], ["A", "B", "C"], ["A", "B"]],
        ),
        _random_barrier,
    ),
)
