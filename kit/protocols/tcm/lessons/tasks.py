"""Exercises on the epoch protocol: runs, rings, functions of placements, deaths."""

import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

from kit.errors import KitError
from kit.lessons.badges import Badge
from kit.lessons.judge import Arguments, found_judge, function_task
from kit.lessons.replays import Ground, after_its_steps, run_task, takes
from kit.lessons.tasks import Case, Marks, Task
from kit.model.model import always
from kit.model.timeline import PassedStep, Timeline, played_out
from kit.operators.importers.opening import Imported
from kit.operators.importers.ringfile import RingFile, parse_ring
from kit.protocols.tcm.dry_run.history import dry_run_of, model_for, outcome
from kit.protocols.tcm.dry_run.plan import dry_run
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons import cluster_of
from kit.protocols.tcm.rules.metadata import Cancel
from kit.protocols.tcm.rules.operations import Operation
from kit.ring.replication import NetworkTopologyStrategy, SimpleStrategy
from kit.search.check import check


def reaches(epoch: int) -> Callable[[Timeline], str | None]:
    """The goal that an epoch is committed at the end of the run."""

    def goal(timeline: Timeline) -> str | None:
        now = cluster_of(timeline).newest_epoch(timeline.state)
        return None if now == epoch else f"Your run ends at epoch {now}, not at epoch {epoch}."

    return goal


def shortest_to(epoch: int) -> Callable[[Timeline], str | None]:
    """The goal that no shorter run gets to an epoch; a search knows how long that is."""

    def goal(timeline: Timeline) -> str | None:
        m = cluster_of(timeline)
        before = always("before", "", lambda s: "" if m.newest_epoch(s) >= epoch else None)
        shortest = check(m, (before,)).violation
        taken = len(timeline.path()) - 1
        if shortest is None or taken > len(shortest.actions):
            return f"Your run has {taken} steps, but there is a shorter one."
        return None if m.newest_epoch(timeline.state) >= epoch else "Your run does not get there."

    return goal


def breaks_something(timeline: Timeline) -> str | None:
    """The goal that a promise is broken at the end of the run."""
    if any(not verdict.ok for verdict in timeline.verdicts()):
        return None
    return f"{after_its_steps(timeline)} every promise still holds."


def finished(timeline: Timeline) -> str | None:
    """The goal that no operation is under way, and one was carried out to its end."""
    m, s = cluster_of(timeline), timeline.state
    if facts.operations(m, s) or not facts.log(m, s):
        return (
            f"At the end of your run, at epoch {m.newest_epoch(s)}, the operation is not finished."
        )
    return None


def crashes_between_writes_and_reads(m: Any, step: PassedStep) -> bool:
    """Whether X crashes once it gets writes and before reads are switched to it."""
    then = (x.state for x in facts.operations(m, step.before) if x.node == "X")
    return m.verb(step.action) == "crash X" and "add-writes" in then


def as_without_the_crash(timeline: Timeline) -> str | None:
    """The goal that the tables end as they do in a run in which nothing crashed."""
    m = cluster_of(timeline)
    calm = played_out(Timeline(m))
    if facts.rows(m, timeline.state) == facts.rows(m, calm.state):
        return None
    return "The tables at the end differ from those of a run without a crash."


def cancelled_after_the_read_switch(timeline: Timeline) -> str | None:
    """The goal that an operator cancelled when X was already read from."""
    m = cluster_of(timeline)
    for moment in timeline.path()[1:]:
        step = timeline.moments[moment]
        if isinstance(getattr(step.action, "action", None), Cancel):
            then = timeline.moments[step.parent].state
            if any("X" in row.reads for row in facts.rows(m, then)):
                return None
            return "You cancelled before reads were switched to X."
    return "You cancelled nothing."


def as_before(timeline: Timeline) -> str | None:
    """The goal that nothing is under way and the tables are those of the start."""
    m = cluster_of(timeline)
    if facts.operations(m, timeline.state):
        return "At the end of your run, an operation is still under way."
    if facts.rows(m, timeline.state) == facts.rows(m, timeline.moments[0].state):
        return None
    return "The tables at the end differ from those at the start."


_SECOND = 2
MOST_NODES = 64
DATACENTERS, IN_EACH, RACKS = 2, 2, 2


def any_may_leave(text: str) -> Marks:
    """The ring has the shape that is asked for, and whichever node leaves, its racks still do."""
    given = parse_ring(text)
    if (wrong := _shape(given)) is not None:
        return Marks((Case(False, wrong), Case(False)))
    first, *others = (_left(given, node.name) for node in given.ring.nodes)
    public = (Case(True), Case(first is None, first or ""))
    return Marks(public, tuple(complaint is None for complaint in others))


def _shape(given: RingFile) -> str | None:
    if len(given.ring.nodes) > MOST_NODES:
        return f"Your ring has {len(given.ring.nodes)} nodes; please use at most {MOST_NODES}."
    if len({node.dc for node in given.ring.nodes}) != DATACENTERS:
        return f"Your ring does not have {DATACENTERS} datacenters."
    kept = [keyspace.replication for keyspace in given.keyspaces]
    factors = [how.factors for how in kept if isinstance(how, NetworkTopologyStrategy)]
    if any([factor for _, factor in each] == [IN_EACH] * DATACENTERS for each in factors):
        return None
    return f"No keyspace keeps {IN_EACH} replicas in each datacenter (NetworkTopologyStrategy)."


def _left(given: RingFile, name: str) -> str | None:
    report = dry_run(given, Operation("decommission", name))
    if not report.accepted:
        return f"decommission {name} is refused: {report.reason}."
    where = {node.name: (node.dc, node.rack) for node in given.ring.nodes}
    for keyspace in given.keyspaces:
        if not isinstance(keyspace.replication, NetworkTopologyStrategy):
            continue
        for left, right, kept in report.steps[-1].keyspaces[keyspace.name].reads:
            for dc in sorted({where[node][0] for node in kept}):
                there = [node for node in kept if where[node][0] == dc]
                if len({where[node][1] for node in there}) < RACKS:
                    bounds = f"({left}, {right}]".replace("None", "…")
                    where_kept = f"all replicas of {bounds} in {dc} are in one rack"
                    return f"When {name} has left, {where_kept}: {', '.join(there)}."
    return None


def even_rings() -> Iterator[str]:
    """Rings with ever more nodes, as many of them in each rack of each datacenter."""
    dcs, racks = [f"dc{i + 1}" for i in range(DATACENTERS)], [f"r{i + 1}" for i in range(RACKS)]
    for in_rack in range(1, 4):
        nodes = [
            {"name": f"n{i}", "tokens": [100 * i], "dc": dc, "rack": rack}
            for i, (_, rack, dc) in enumerate(product(range(in_rack), racks, dcs), 1)
        ]
        yield _ring_file(nodes, {"class": "NetworkTopologyStrategy"} | dict.fromkeys(dcs, IN_EACH))


def _ring_file(nodes: list[dict[str, Any]], replication: dict[str, Any]) -> str:
    return json.dumps({"nodes": nodes, "keyspaces": [{"name": "ks", "replication": replication}]})


def replicas(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Walk clockwise from the owner of the token."""
    walk = sorted(tokens, key=lambda name: (tokens[name] < token, tokens[name]))
    return walk[:rf]


def needed(before: list[str], after: list[str]) -> int:
    """More than half of all the nodes involved."""
    return len(set(before) | set(after)) // 2 + 1


def may_run_together(first: list[list[int]], second: list[list[int]]) -> bool:
    """No range of one operation shares a token with a range of the other."""
    return not any(a[0] < b[1] and b[0] < a[1] for a in first for b in second)


def parts(rights: list[int], cuts: list[int]) -> list[int]:
    """A range belongs to the part in which it ends."""
    spans = zip([0, *cuts], [*cuts, rights[-1]], strict=True)
    return [sum(low < r <= high for r in rights) for low, high in spans]


def surviving(groups: list[list[str]], racks: dict[str, str], lost: str) -> int:
    """More than half of each group is up."""
    return sum(2 * sum(racks[n] != lost for n in group) > len(group) for group in groups)


def _some_ring(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, chance.randint(1, 9) + 1)]
    owned = chance.sample(range(1, 1000), len(names))
    return [
        dict(zip(names, owned, strict=True)),
        chance.choice([*owned, chance.randint(1, max(owned) + 99)]),
        chance.randint(1, 5),
    ]


def _some_groups(chance: random.Random) -> Arguments:
    size = chance.randint(1, 5)
    names = [chr(ord("A") + i) for i in range(2 * size)]
    return [chance.sample(names, size), chance.sample(names, size)]


def _some_locks(chance: random.Random) -> Arguments:
    cuts = sorted(chance.sample(range(0, 1000, 10), 6))
    ranges = [list(pair) for pair in pairwise(cuts)]
    chance.shuffle(ranges)
    first, second = ranges[:2], ranges[2:4]
    if chance.random() < 0.5:
        left, right = first[0]
        second = [[left + (right - left) // 2, right + 5], *second]
    return chance.sample([first, second], 2)


_WORKED = {"A": 100, "B": 200, "C": 300}


def _some_line(chance: random.Random) -> Arguments:
    rights = [10 * right for right in sorted(chance.sample(range(1, 100), chance.randint(2, 12)))]
    on, between = chance.choice(rights[:-1]), chance.randint(1, rights[-1] - 1)
    return [rights, sorted({on, between})]


def _some_cluster(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 9)]
    racks = {name: f"r{chance.randint(1, 3)}" for name in names}
    groups = [chance.sample(names, chance.randint(2, 5)) for _ in range(8)]
    return [groups, racks, "r1"]


_RIGHTS = [100, 200, 300, 400]
_ABC = ["A", "B", "C"]
_RACKS = {"A": "r1", "B": "r2", "C": "r3", "X": "r1"}
FEW_NODES, FACTOR = 8, 3
LEAVERS = ("n1", "n2")


def must_not_die(groups: list[list[str]], down: list[str]) -> list[str]:
    """The live nodes of each group that has exactly a majority left."""
    left = set()
    for group in groups:
        alive = [name for name in group if name not in down]
        if len(alive) == len(group) // 2 + 1:
            left.update(alive)
    return sorted(left)


def _some_deaths(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 9)]
    groups = [chance.sample(names, chance.randint(1, 5)) for _ in range(5)]
    return [groups, sorted(chance.sample(names, chance.randint(0, 2)))]


def two_may_leave(text: str) -> Marks:
    """The ring has the form that is asked for, and its two nodes may leave at the same time."""
    given = parse_ring(text)
    if (wrong := _form(given)) is not None:
        return Marks((Case(False, wrong), Case(False)))
    complaint = _apart(given, *LEAVERS)
    both = _apart(given, *reversed(LEAVERS)) is None
    public = (Case(True), Case(complaint is None, complaint or ""))
    return Marks(public, (both, both and _can_leave(given)))


def _form(given: RingFile) -> str | None:
    nodes = given.ring.nodes
    if len(nodes) > FEW_NODES:
        return f"Your ring has {len(nodes)} nodes; please use at most {FEW_NODES}."
    if not set(LEAVERS) <= {node.name for node in nodes}:
        return f"Your ring lacks {' or '.join(LEAVERS)}."
    if any(len(node.tokens) != 1 for node in nodes):
        return "Please use one token per node."
    if any(keyspace.replication == SimpleStrategy(FACTOR) for keyspace in given.keyspaces):
        return None
    return f"No keyspace keeps {FACTOR} replicas (SimpleStrategy)."


def _apart(given: RingFile, *leavers: str) -> str | None:
    model = model_for(given, _leave(*leavers), begun=0)
    for planned in facts.planned(model, model.start()):
        if planned.refusal is not None:
            return f"{planned.operation.title} is refused: {planned.refusal.reason}."
    (pair,) = facts.pairs(model, model.start())
    return None if pair.refusal is None else f"{pair.refusal.reason}."


def _leave(*names: str) -> tuple[Operation, ...]:
    return tuple(Operation("decommission", name) for name in names)


def _can_leave(given: RingFile) -> bool:
    opened = Imported(given.epoch, given.ring, given.keyspaces)
    try:
        timeline = dry_run_of(opened, _leave(*LEAVERS))
    except KitError:
        return False
    return all(planned.status == "done" for planned in outcome(timeline))


def rings_of_two_leavers() -> Iterator[str]:
    """Rings in which the two stand ever further apart."""
    others = [f"n{i}" for i in range(1, FEW_NODES + 1) if f"n{i}" not in LEAVERS]
    for apart in range(FEW_NODES - 1):
        names = [LEAVERS[0], *others[:apart], LEAVERS[1], *others[apart:]]
        nodes = [{"name": name, "tokens": [100 * i]} for i, name in enumerate(names, 1)]
        yield _ring_file(nodes, {"class": "SimpleStrategy", "replication_factor": FACTOR})


def _under_way(m: Any, state: Any) -> set[str]:
    return {f"{x.plan.operation.kind} {x.node}" for x in m.tcm.sequences(state.tcm)}


def _replaced(m: Any, step: PassedStep) -> bool:
    ended = _under_way(m, step.before) - _under_way(m, step.after)
    return _does("commit")(m, step) and any(each.startswith("replace") for each in ended)


def _does(word: str) -> Callable[[Any, PassedStep], bool]:
    return lambda m, step: bool(m.verb(step.action).split()[0] == word)


BADGES = (
    Badge(
        "two operations in flight at once",
        "tcm",
        "tcm/two-bootstraps",
        lambda m, step: len(_under_way(m, step.after)) > 1,
    ),
    Badge("a replacement carried out to its end", "tcm", "tcm/replace", _replaced),
    Badge("an operation cancelled", "tcm", "tcm/cancel", _does("cancel")),
    Badge("a barrier that relaxes", "tcm", "tcm/barrier-relaxes", _does("relax")),
)

TASKS = (
    run_task(
        "fewest-steps",
        "as few steps as possible",
        f"Bring the worked bootstrap to epoch {_SECOND}, in which X gets its first "
        "writes. Give the verbs in order, with no more steps than needed.",
        "not every node must apply epoch 1. In each locked row, a majority of its old "
        "and new replicas must, and so must X, which commits its own events.",
        Ground("bootstrap"),
        reaches(_SECOND),
        shortest_to(_SECOND),
    ),
    run_task(
        "light-a-lamp",
        "break it yourself",
        "In the bootstrap with three replicas, safeguard S-06 is off: the old replica "
        "stops getting writes in the same epoch in which reads leave it. Give a run, as verbs "
        "or as a Player, that ends with a broken promise.",
        "let all nodes catch up, stream everything that is to be streamed, and commit "
        "the read switch.",
        Ground("rf3", off=("old-writer-stays",)),
        breaks_something,
    ),
    run_task(
        "crash-and-resume",
        "a crash halfway",
        "Let X crash after it gets writes and before it gets reads, and still "
        "complete the bootstrap. Give the verbs, or a Player with the run.",
        "build the Player with crashes=1, stop after the epoch that adds write "
        "replicas, use 'crash X' and 'restart X', then continue as usual.",
        Ground("bootstrap", {"crashes": 1}),
        finished,
        takes(
            crashes_between_writes_and_reads,
            "X did not crash between the epoch that gives it writes and the one that gives it "
            "reads.",
        ),
        as_without_the_crash,
    ),
    run_task(
        "way-back",
        "a late way back",
        "In the bootstrap with three replicas, cancel once X already serves reads, so "
        "that all tables end as they were. Give the verbs, or a Player.",
        "cancel after the read switch; one more event then follows, after a barrier.",
        Ground("cancel"),
        cancelled_after_the_read_switch,
        as_before,
    ),
    Task(
        "any-may-leave",
        "whichever node leaves",
        f"Give a ring with {DATACENTERS} datacenters and a keyspace that keeps {IN_EACH} replicas "
        "in each (NetworkTopologyStrategy), such that the decommission of any one node is "
        f"accepted and each range still has its replicas in {RACKS} racks of each datacenter "
        "afterwards. The first node of your ring is the public case; all the others are hidden "
        "cases.",
        "ring",
        "count how many nodes each rack in each datacenter still has when any one node is gone.",
        found_judge(any_may_leave, even_rings),
    ),
    function_task(
        "replicas",
        "who holds a token",
        "Write replicas(tokens, token, rf). tokens maps each node's name to the one "
        "token that it owns. Return the names of the nodes that hold the token under "
        "SimpleStrategy, in walk order. There may be fewer nodes than rf asks for.",
        "the first replica owns the smallest token that is not below the given one. "
        "The walk continues clockwise, past the end of the line to its beginning, and stops "
        "when it has rf nodes or has visited every node.",
        replicas,
        ([_WORKED, 130, 2], [_WORKED, 350, 2]),
        _some_ring,
    ),
    function_task(
        "needed",
        "how many must know",
        "Write needed(before, after). before and after are the names of a range's "
        "replicas before and after an operation. Return the number of nodes that must have "
        "applied an event before the next one can be committed.",
        "the barrier counts every node that is a replica before or after, each one "
        "once, and asks for more than half of them.",
        needed,
        ([["A", "B", "C"], ["X", "B", "C"]], [["A", "B"], ["A", "X"]]),
        _some_groups,
    ),
    function_task(
        "may-run-together",
        "two at once",
        "Write may_run_together(first, second). Each is a list of the ranges that an operation "
        "locks; a range is [left, right], open on the left and closed on the right. Return "
        "whether the two operations can be under way at the same time.",
        "two ranges share a token when each begins before the other ends. Mind the "
        "open left end: ranges that only touch share no token.",
        may_run_together,
        ([[[0, 100]], [[100, 200]]], [[[0, 100], [300, 400]], [[50, 150]]]),
        _some_locks,
    ),
    function_task(
        "parts-of-the-line",
        "which part a range belongs to",
        "Write parts(rights, cuts). cuts lists the tokens at which the line is cut, "
        "in ascending order; each worker gets one part. rights lists the closing tokens of "
        "all ranges, in ascending order; the last is the end of the line. A cut can be inside "
        "a range. To be counted once, each range belongs to the part in which it ends. Return "
        "the number of ranges in each part, from left to right.",
        "a part, like a range, is open on the left and closed on the right: a range that ends at "
        "a cut belongs to the part before the cut. There is one more part than there are cuts.",
        parts,
        ([_RIGHTS, [150]], [_RIGHTS, [200, 350]]),
        _some_line,
    ),
    function_task(
        "surviving",
        "which ranges survive a rack",
        "Write surviving(groups, racks, lost). groups lists the replicas of each "
        "range, as lists of names; racks maps each name to its rack; lost is a rack whose "
        "nodes are all down. Return the number of ranges that still have a majority of their "
        "replicas.",
        "a majority is more than half of the whole group, and nodes that are down "
        "still count as part of it.",
        surviving,
        ([[_ABC], _RACKS, "r1"], [[_ABC, [*_ABC, "X"]], _RACKS, "r1"]),
        _some_cluster,
    ),
    function_task(
        "must-not-die",
        "which nodes must not die next",
        "Write must_not_die(groups, down). `groups` are the replica groups of all ranges, each a "
        "list of nodes; `down` are nodes that are already down but still count as replicas. "
        "Return the nodes, sorted by name, whose death would cost a group the QUORUM that it has "
        "now.",
        "a quorum is more than half of all replicas, including dead ones. Only a "
        "group with just enough live replicas can lose it; a group with too few has none to "
        "lose.",
        must_not_die,
        ([[["n1", "n2", "n3"], ["n3", "n4"]], []], [[["n1", "n2", "n3"], ["n4"]], ["n2"]]),
        _some_deaths,
    ),
    Task(
        "two-may-leave",
        "two leave at the same time",
        f"Give a ring of at most {FEW_NODES} nodes with one token each and a keyspace that keeps "
        f"{FACTOR} replicas (SimpleStrategy), in which {LEAVERS[0]} and {LEAVERS[1]} can leave at "
        f"the same time. The public cases check the form of the ring and that {LEAVERS[0]} can "
        "begin.",
        "ring",
        "a decommission locks every range that gets a new replica, and the node's own "
        "range. Work out how far the locks reach on either side, then put the two "
        "nodes as far apart as possible.",
        found_judge(two_may_leave, rings_of_two_leavers),
    ),
)
