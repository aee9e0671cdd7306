"""A right answer to every exercise."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from kit.lessons.hunting import Hunt, drawn, hunt
from kit.lessons.replays import Ground, replay
from kit.lessons.tasks import tasks
from kit.model.model import always
from kit.model.registry import scenario_of
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.search.check import check
from tests.house.source import ROOT

HUNT = 11  # a seed of the bug hunt


def ring_of_two_datacenters(in_second: int = 4) -> dict[str, Any]:
    """Four nodes in the first datacenter, some in the second, in two racks each."""
    nodes = [
        {
            "name": f"n{i}",
            "tokens": [i * 100],
            "dc": "dc1" if i <= 4 else "dc2",
            "rack": f"r{1 + i % 2}",
        }
        for i in range(1, 5 + in_second)
    ]
    replication = {"class": "NetworkTopologyStrategy", "dc1": 2, "dc2": 2}
    return {"nodes": nodes, "keyspaces": [{"name": "ks", "replication": replication}]}


def scripted_run(scenario: str) -> Timeline:
    """A scenario's own script, played to its end."""
    _, found = scenario_of(scenario)
    timeline = Timeline(Ground(scenario).model(), found.script)
    while timeline.forward() is not None:
        pass
    return timeline


def broken_run() -> Timeline:
    """The shortest run of the bootstrap with three replicas, S-06 off, that lights a lamp."""
    timeline = Timeline(Ground("rf3", off=("old-writer-stays",)).model())
    violation = check(timeline.model).violation
    assert violation is not None
    for action in violation.actions:
        timeline.do(action)
    return timeline


def shortest_run() -> list[str]:
    """The bootstrap up to X's first writes, nobody applying an epoch who need not."""
    timeline = Timeline(Ground("bootstrap").model())
    goal = check(timeline.model, (_at(timeline, 2),)).violation
    assert goal is not None
    return [timeline.model.verb(action) for action in goal.actions]


def _at(timeline: Timeline, epoch: int) -> Any:
    m: Any = timeline.model
    return always("at", "", lambda s: "there" if m.newest_epoch(s) >= epoch else None)


def first_difference(before: list[list[int]], after: list[list[int]]) -> int | None:
    """The least epoch of those with two entries."""
    both = {epoch for epoch, _ in before} & {epoch for epoch, _ in after}
    pairs = {(epoch, entry) for epoch, entry in (*map(tuple, before), *map(tuple, after))}
    return min((e for e in both if len([1 for epoch, _ in pairs if epoch == e]) > 1), default=None)


def ring_of_eight() -> dict[str, Any]:
    """n1 and n2 stand opposite each other."""
    names = ["n1", "n3", "n4", "n5", "n2", "n6", "n7", "n8"]
    nodes = [{"name": name, "tokens": [100 * i]} for i, name in enumerate(names, 1)]
    replication = {"class": "SimpleStrategy", "replication_factor": 3}
    return {"nodes": nodes, "keyspaces": [{"name": "ks", "replication": replication}]}


def disagree(managers: list[str]) -> bool:
    """One committed and one aborted."""
    return {"committed", "aborted"} <= set(managers)


def prepared_in_vain() -> list[str]:
    """Everybody prepares and is heard; then the decision is to abort."""
    verbs = [f"{what} RM{i}" for what in ("prepare", "receive-prepared") for i in range(3)]
    return [*verbs, "decide abort", *(f"receive-decision RM{i}" for i in range(3))]


def named_hunt() -> Hunt:
    """A hunt in which every variant was given what it lacks."""
    found = hunt(HUNT)
    for number, variant in enumerate(drawn(HUNT), 1):
        found.said[number] = variant.missing.id
    return found


def lost_write() -> list[str]:
    """The second story of CEP-21, up to the read that misses the write."""
    timeline = open_file(file_named("dataplane/anomaly-lost-write"))
    verbs = [timeline.model.verb(one.action) for one in timeline.moments[1:]]
    return verbs[: verbs.index("answer read 2") + 1]


def stale_plan() -> list[str]:
    """Two answers of three, one of an epoch in which three of four are needed."""
    return [
        "write 1 at epoch 100",
        "A answers ok at epoch 100",
        "B answers ok at epoch 101",
        "answer the client",
    ]


def comes_back() -> list[str]:
    """A has the write when its coordinator gives up, and reads find it."""
    return [
        "write 1 at epoch 99",
        "write 1 reaches A",
        "time out write 1",
        "read 2 at epoch 99",
        "read 2 reaches A",
        "read 2 reaches B",
        "answer read 2",
    ]


def which_error(needed: int, live: int, answers: int) -> str:
    """Who lives is counted before anything is sent."""
    return "unavailable" if live < needed else "timeout" if answers < needed else "done"


def still_quorum(answered: list[str], group: list[str]) -> bool:
    """Members alone count, and more than half of the members are needed."""
    return 2 * sum(name in group for name in set(answered)) > len(group)


def done_and_lost() -> Timeline:
    """Both clients first, then gossip in the order of the list until all agree."""
    both = ("create table ks.t at A", "create table ks.t at C")
    timeline, _ = replay(Ground("gossip", {"changes": both}), [*both])
    while len({node.version for node in timeline.state.nodes}) > 1:
        timeline.forward()
    return timeline


def every_state(start: int, arrows: list[list[int]]) -> list[int]:
    """Look at each state once, and go on along its arrows."""
    seen, ahead = {start}, [start]
    for state in ahead:  # which grows meanwhile
        new = {target for source, target in arrows if source == state} - seen
        seen |= new
        ahead += sorted(new)
    return sorted(seen)


RIGHT: dict[str, Any] = {
    "every-state": lambda: every_state,
    "done-and-lost": done_and_lost,
    "miss-a-write": lost_write,
    "stale-plan": stale_plan,
    "comes-back": comes_back,
    "which-error": lambda: which_error,
    "still-quorum": lambda: still_quorum,
    "an-invariant": lambda: disagree,
    "prepared-in-vain": prepared_in_vain,
    "fewest-steps": shortest_run,
    "light-a-lamp": broken_run,
    "crash-and-resume": lambda: scripted_run("crash-and-resume"),
    "way-back": lambda: scripted_run("cancel"),
    "any-may-leave": ring_of_two_datacenters,
    "first-difference": lambda: first_difference,
    "two-may-leave": ring_of_eight,
    "find-the-bug": named_hunt,
}
"""What gives a right answer, by exercise."""

for _own in sorted((ROOT / "tests/protocols").glob("*/answers.py")):
    RIGHT |= import_module(f"tests.protocols.{_own.parent.name}.answers").RIGHT

for _task in tasks().values():
    if _task.wants == "function":
        RIGHT.setdefault(_task.name, partial(getattr, _task.judge, "truth"))
