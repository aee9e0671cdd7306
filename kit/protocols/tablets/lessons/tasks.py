"""Exercises on tablets: stages, requests, loads and sizes, drains and losses."""

import random
from typing import Any

from kit.errors import counted
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import model_of
from kit.lessons.replays import Ground, breaking, broken, run_task
from kit.model.timeline import Timeline, played_out
from kit.protocols.tablets.balance import Balance
from kit.protocols.tablets.rules.maps import RESIZE_TYPES
from kit.protocols.tablets.rules.stages import stages
from kit.protocols.tablets.tablets import Tablets

HOSTS = "ABCDEF"


def _states(timeline: Timeline) -> list[Any]:
    return [timeline.moments[moment].state for moment in timeline.path()]


def taken_back(timeline: Timeline) -> str | None:
    """The goal that the tablet was to move, and is on its old replicas again."""
    states = _states(timeline)
    passed = [each.stage for s in states for row in s.tablets for each in row.transitions]
    if "cleanup_target" not in passed:
        return "Your run never went through cleanup_target."
    first, last = states[0].tablets[0], states[-1].tablets[0]
    if last.transitions or last.replicas != first.replicas:
        return "At the end of your run, the tablet is not settled on its original replicas again."
    return None


def late_refused(timeline: Timeline) -> str | None:
    """The goal that a late RPC is turned away, and that the tablet has moved."""
    path = [timeline.moments[moment] for moment in timeline.path()]
    late = (each for each in path if isinstance(each.action, Tablets.arrive_late))
    if all(each.state.late is not None for each in late):
        return "No late RPC was refused in your run."
    first, last = path[0].state.tablets[0], path[-1].state.tablets[0]
    if last.transitions or last.replicas == first.replicas:
        return "At the end of your run, the tablet is not settled on its new replicas."
    return None


def replicas_used(stage: str, write: bool, old: list[str], new: list[str]) -> list[str]:
    """Written down by hand: where both are written, where reads are new."""
    both = ("write_both_read_old", "streaming", "rebuild_repair", "write_both_read_new",
            "write_both_read_old_fallback_cleanup")  # fmt: skip
    reads_new = ("write_both_read_new", "use_new", "cleanup", "end_migration")
    if write and stage in both:
        return sorted({*old, *new})
    return sorted(new if stage in reads_new else old)


def _request(chance: random.Random) -> Arguments:
    old = sorted(chance.sample(HOSTS, 3))
    others = [host for host in HOSTS if host not in old]
    new = sorted([*chance.sample(old, 2), chance.choice(others)])
    stage = chance.choice(stages("documents"))
    # A repair moves no replica: both sets are the same (Topology over Raft, "Tablet transitions").
    return [stage, chance.random() < 0.5, old, old if "repair" in stage else new]


DELETED: dict[str, Any] = {
    "rf": 1,
    "second": "again",
    "collecting": True,
    "requests": ("K1 write QUORUM", "K2 delete QUORUM", "K3 read QUORUM"),
    "late": 1,
}
"""A key is written, deleted and read while a migration fails and is tried again."""


def turned_away(timeline: Timeline) -> str | None:
    """The goal that a late stream is turned away by its target, and that no promise is broken."""
    if broken(timeline):
        return "Your run breaks a promise."
    model: Any = timeline.model
    rejects = any(model.rejects_late(step.before, step.action) for step in timeline.passed())
    return None if rejects else "No late stream in your run was rejected."


def evened(timeline: Timeline) -> str | None:
    """The goal that the planner has nothing to do at the end."""
    moves = model_of(timeline, Balance).plan(timeline.state).moves
    left = counted(len(moves), "move")
    return f"At the end, the planner would still make {left}." if moves else None


def in_few_moves(timeline: Timeline) -> str | None:
    """The goal that there are no more moves than the planner needs."""
    planner = played_out(Timeline(timeline.model))
    mine, least = (len(each.path()) - 1 for each in (timeline, planner))
    made = counted(mine, "move")
    return None if mine <= least else f"You made {made}; the planner needs {least}."


def split_after_all(timeline: Timeline) -> str | None:
    """The goal that a split is decided, revoked, and decided again, and takes effect."""
    states = _states(timeline)
    first = states[0].map.count
    seen = {(s.map.resize_seq_number, s.map.resize_type) for s in states if s.map.count == first}
    for number, kind in ((1, "split"), (2, "none"), (3, "split")):
        if (number, kind) not in seen:
            return f"Before the first split takes effect, decision {number} must be {kind!r}."
    if states[-1].map.count <= first:
        return "At the end of your run, there are no more tablets than at the start."
    return None


def resize_decided(average: int, under_way: str, count: int, initial: int) -> str:
    """Written down by hand: thresholds 50 and 100, revoked at 100 and 50."""
    if under_way == "split":
        return "none" if average < 100 else "split"
    if under_way == "merge":
        return "none" if average > 50 else "merge"
    if average > 100:
        return "split"
    return "merge" if average < 50 and count > max(1, initial) else "none"


def _resize(chance: random.Random) -> Arguments:
    average = chance.choice((10, 49, 50, 80, 100, 120, 199, 201, 400))
    kind = chance.choice(RESIZE_TYPES)
    return [average, kind, *(2 ** chance.randint(0, 4) for _ in range(2))]


RACKS = {host: f"r{1 + i // 2}" for i, host in enumerate(HOSTS)}
MOST_TABLETS = 6


def homes(host: str, replicas: list[str], racks: dict[str, str], closed: list[str]) -> list[str]:
    """Written down by hand: no second replica on a node, no rack beyond the fullest one."""
    held = [racks[each] for each in replicas]
    most = max(held.count(rack) for rack in held)
    return sorted(
        node
        for node in racks
        if node not in replicas
        and node not in closed
        and (racks[node] == racks[host] or held.count(racks[node]) < most)
    )


def _drain(chance: random.Random) -> Arguments:
    replicas = sorted(chance.sample(HOSTS, chance.randint(1, 3)))
    host = chance.choice(replicas)
    others = [each for each in HOSTS if each != host]
    return [host, replicas, RACKS, sorted(chance.sample(others, chance.randint(0, 2)))]


def without_majority(tablets: list[list[str]], down: list[str]) -> list[int]:
    """Counted: not more than half are up."""
    return [
        number
        for number, nodes in enumerate(tablets)
        if 2 * sum(node not in down for node in nodes) <= len(nodes)
    ]


def _loss(chance: random.Random) -> Arguments:
    tablets = [
        sorted(chance.sample(HOSTS, chance.randint(1, 4)))
        for _ in range(chance.randint(1, MOST_TABLETS))
    ]
    return [tablets, sorted(chance.sample(HOSTS, chance.randint(0, 3)))]


TASKS = (
    run_task(
        "take-it-back",
        "a tablet that comes back",
        "One node may crash. Give a run, as verbs or as a Player, in which the tablet begins to "
        "move but is rolled back: at the end it has its original replicas and no transition.",
        "let the node that should get the tablet die, then let the work of the stage fail, and "
        "play to the end. From use_new on, it is too late.",
        Ground("tablets", {"crashes": 1, "moves": 1}),
        taken_back,
    ),
    run_task(
        "knock-too-late",
        "an RPC that comes too late",
        "One RPC of a stage may be late. Give a run, as verbs or as a Player, in which it arrives "
        "and is refused, and at the end the tablet has new replicas and no transition.",
        "delay 0 while the stage's work is not done yet; the coordinator then sends it once more. "
        "Every node refuses the late RPC once a barrier has passed after the end of the stage.",
        Ground("tablets", {"moves": 1, "late": 1}),
        late_refused,
    ),
    function_task(
        "replicas-used",
        "which replicas a request is for",
        "Write replicas_used(stage, write, old, new): the hosts, as a sorted list, that a write "
        "(or a read) of a tablet uses in a stage, as in the documents. `old` and `new` are the "
        "hosts of its replicas before and after the transition.",
        "from write_both_read_old on, writes go to both sets; from write_both_read_new on, reads "
        "go to the new set; from use_new on, writes leave the old set. On the way back, both "
        "return to the old set.",
        replicas_used,
        (
            ["streaming", True, ["A", "B", "C"], ["B", "C", "D"]],
            ["streaming", False, ["A", "B", "C"], ["B", "C", "D"]],
            ["write_both_read_new", False, ["A", "B", "C"], ["B", "C", "D"]],
            ["use_new", True, ["A", "B", "C"], ["B", "C", "D"]],
            ["cleanup_target", True, ["A", "B", "C"], ["B", "C", "D"]],
        ),
        _request,
    ),
    run_task(
        "row-that-came-back",
        "the row that came back",
        "Sessions (S-24) are off. A migration may fail and be retried, and one stream may be late. "
        "Give a run, as verbs or as a Player, in which a deletion succeeds and a later read finds "
        "what was deleted.",
        "write; let the first attempt fail while its stream is on its way; delete; let the second "
        "attempt stream the deletion and let D collect it; then let the first stream arrive, and "
        "read at D.",
        Ground("tablet", DELETED, ("sessions",)),
        breaking("no-resurrection", "no read has found what was deleted."),
    ),
    run_task(
        "turned-away",
        "the stream that was rejected",
        "Now every safeguard is on. Give a run, as verbs or as a Player, in which a node "
        "rejects a late stream that was sent to it, and every promise is kept.",
        "roll back while a copy is on its way; the node must know that the stage is over before "
        "the late copy arrives.",
        Ground("tablet", DELETED),
        turned_away,
    ),
    run_task(
        "even-by-hand",
        "as good as the planner",
        "In the cluster of section 3 (scenario balance/two-tables), give a run of moves, as verbs "
        "or as a Player, after which the planner has nothing to do. Use no more moves than the "
        "planner itself makes.",
        "when loads are equal, each node has the mean. Which sizes, taken from A and from B, bring "
        "all three nodes there?",
        Ground("balance/two-tables"),
        evened,
        in_few_moves,
    ),
    run_task(
        "split-after-all",
        "a split that is revoked and decided again",
        "A table can grow twice and shrink once. Give a run, as verbs or as a Player, in which a "
        "split is decided, is revoked before it takes effect, and is decided again. At the end, "
        "the table has more tablets.",
        "grow, resize, shrink, resize is the first half. The second split is decision 3, and every "
        "replica must report it.",
        Ground("resize", {"tablets": ("A B",), "nodes": 2, "grows": 2, "shrinks": 1}),
        split_after_all,
    ),
    function_task(
        "resize-decided",
        "what is decided",
        "Write resize_decided(average, under_way, count, initial), as in the documents. Return "
        "'split', 'merge' or 'none'. `average` is the average tablet size as a percentage of the "
        "target size, `under_way` is the decision so far, `count` is the number of tablets, and "
        "`initial` is the number that the schema asked for.",
        "first look at what is under way: a split is revoked below 100 %, a merge above 50 %. With "
        "nothing under way, compare with 50 % and 100 %. Do not merge a table with only one "
        "tablet, or with no more tablets than its initial count.",
        resize_decided,
        (
            [210, "none", 4, 0],
            [40, "none", 4, 0],
            [40, "none", 4, 4],
            [150, "split", 4, 0],
            [90, "split", 4, 0],
            [90, "merge", 4, 0],
        ),
        _resize,
    ),
    function_task(
        "homes",
        "where a replica can go",
        "Write homes(host, replicas, racks, closed): the nodes, as a sorted list, that can take "
        "the replica on `host`. `replicas` are the nodes that hold the tablet, `racks` gives each "
        "node's rack, and `closed` are the nodes that take no tablets.",
        "a node has at most one replica of a tablet. A replica may stay in its rack. If it goes to "
        "another rack, that rack must then have no more replicas than the fullest rack has now.",
        homes,
        (
            ["F", ["A", "C", "F"], RACKS, []],
            ["F", ["A", "C", "F"], RACKS, ["E"]],
            ["F", ["C", "F"], RACKS, ["E"]],
            ["B", ["A", "B", "E"], RACKS, ["F"]],
        ),
        _drain,
    ),
    function_task(
        "without-majority",
        "tablets without a majority",
        "Write without_majority(tablets, down). `tablets` lists the nodes of each tablet's "
        "replicas. Return the numbers, counted from 0, of the tablets that have at most half of "
        "their replicas up when the nodes in `down` are down.",
        "a majority is more than half of all replicas, including those that are down.",
        without_majority,
        (
            [[["A", "B", "C"], ["A", "D", "E"]], ["A"]],
            [[["A", "B", "C"], ["A", "D", "E"]], ["A", "D"]],
            [[["A", "B"], ["C", "D"]], ["B"]],
        ),
        _loss,
    ),
)
