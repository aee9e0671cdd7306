"""Exercises on operations that fail: where they lead, and how one tries again."""

import random
from typing import Any

from kit.lessons.judge import Arguments, function_task
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.model.registry import build, edition_of
from kit.model.timeline import PassedStep
from kit.protocols.topology import control, coordinator
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.topology import Topology
from kit.views.static import Sheet

OPERATIONS = ("bootstrapping", "replacing", "decommissioning", "removing")


def where_back(operation: str, state: str) -> str:
    """The state to which failed work of a state leads, by the documents; empty: there is none."""
    edge = MACHINES["documents"][operation].edge(state, "rollback")
    return "" if edge is None else edge.target


def _drawn(chance: random.Random) -> Arguments:
    operation = chance.choice(OPERATIONS)
    return [operation, chance.choice(MACHINES["documents"][operation].states).name]


def goes_back(m: Any, step: PassedStep) -> bool:
    """Whether an operation turns back once writes go to both."""
    before, after = step.before.topology, step.after.topology
    operation = under_way(before)
    if operation is None or before.transition != "write_both_read_old":
        return False
    target = where_back(operation.machine, before.transition)
    return bool(after.transition == target)


def states_of(s: Any) -> list[str]:
    """The state of each node's row, once nothing is under way."""
    topology: cluster.ClusterTopology = s.topology
    return [] if topology.transition else [entry.state for entry in topology.nodes]


LOST, LEADER, MAJORITY = "message lost", "coordinator dies", "majority lost, then back"
FAILURES = ("another node dies", "the node itself dies", LOST, LEADER, MAJORITY)
"""What can fail while an operation works; every dead node but the operation's own is removed."""


def failure_grid(operation: str = "join F", edition: Edition = "documents") -> Sheet:
    """How an operation on E or F, beside A to D, ends when something fails in one of its states.

    Each piece of work has a row, and each kind of failure a column. Nobody restarts a dead node: an
    operator asks to remove it, or has it ignored if it is the operation's own.

    Raises BadInput for an operation or an edition that does not exist.
    """
    edition = edition_of(edition, EDITIONS)
    rows: dict[str, list[str]] = {}
    for failure in FAILURES:
        dead = {"another node dies": "B", LEADER: "A"}.get(failure)
        requests = (operation, f"removenode {dead}") if dead else (operation,)
        down = ("E",) if operation.startswith(("remove", "replace")) else ()
        given = {"nodes": 5, "edition": edition, "operations": requests, "down": down}
        m: Any = build("topology", {**given, "failures": 1, "crashes": 3, "lag": False})
        state = m.start()
        while (action := _next(m, state)) is not None:
            task = m.task(state)
            if task.work is not None and not (state.attempted.command or state.attempted.failed):
                name = f"{state.topology.transition or 'null'}: {task.work.name}"
                row = rows.setdefault(name, [])
                if len(row) < FAILURES.index(failure) + 1:
                    row.append(_end(m, _failed(m, state, failure, task.node)))
            state = m.apply(state, action)
    ends = tuple((name, *row) for name, row in rows.items())
    return Sheet(f"{operation} ({edition} edition)", ("state and work", *FAILURES), ends)


def _next(m: Any, s: Any) -> Any | None:
    sure = (each for each in m.actions(s) if m.relied(s, each))
    return next(sure, None) or next((each for each, _ in m.helped(s)), None)


def _failed(m: Any, s: Any, failure: str, node: int) -> Any:
    dies = {LEADER: "A", MAJORITY: "BCD", FAILURES[0]: "B", LOST: ""}
    names = dies.get(failure, m.names[node] if node != cluster.NOBODY else "")
    faults = [Topology.crash_member(each) for each in names] or [Topology.fail_work()]
    if failure == FAILURES[1] and not names:
        return s
    for each in faults:
        s = m.apply(s, each) if m.refusal(s, each) is None else s
    if failure == MAJORITY:
        while (action := _next(m, s)) is not None and not control.has_majority(s):
            s = m.apply(s, action)
        for each in map(Topology.restart_member, names):
            s = m.apply(s, each) if m.refusal(s, each) is None else s
    return s


def _end(m: Any, s: Any) -> str:
    while (not m.is_over(s) or s.made < len(m.plan.requests)) and (step := _next(m, s)) is not None:
        s = m.apply(s, step)
    if not s.topology.requests or not all(each.done for each in s.topology.requests):
        return coordinator.said_of(s, m.setting)[0]
    return "rolled back" if s.topology.requests[0].error else "succeeded"


NOT_BACK = "In your run, nothing is rolled back from write_both_read_old."
TASKS = (
    run_task(
        "leave-again",
        "a leave that is retried",
        "There are three nodes, and C leaves. One piece of work may fail, and two requests may be "
        "made. Give a run, as verbs or as a Player, in which the first attempt is rolled back from "
        "write_both_read_old, yet C has left at the end.",
        "you can fail a step while the coordinator waits for the barrier or streams. Let "
        "everything settle before the second request, and see which nodes must clean up.",
        Ground(
            "topology",
            {"operations": ("decommission C", "decommission C"), "failures": 1, "lag": False},
        ),
        takes(goes_back, NOT_BACK),
        ends(
            lambda s: states_of(s) == ["normal", "normal", "left"],
            "At the end of your run, C has not left, A or B is not normal, or something is under "
            "way.",
        ),
    ),
    run_task(
        "another-replacement",
        "another node replaces C",
        "C is dead. D should replace it, and if D fails, E. One piece of work may fail. Give a "
        "run, as verbs or as a Player, in which D is rolled back from write_both_read_old, and at "
        "the end E has replaced C.",
        "D's way back ends when D has left; then the second request is next.",
        Ground(
            "topology", {"operations": ("replace D C", "replace E C"), "failures": 1, "lag": False}
        ),
        takes(goes_back, NOT_BACK),
        ends(
            lambda s: states_of(s) == ["normal", "normal", "left", "left", "normal"],
            "At the end of your run, E is not normal, C or D has not left, or something is under "
            "way.",
        ),
    ),
    function_task(
        "where-back",
        "where does failed work lead?",
        "Write where_back(operation, state) for the documents edition. `operation` is "
        "bootstrapping, replacing, decommissioning or removing, and `state` is one of its "
        "transition states. Return the state that a rollback leads to, such as "
        "'left_token_ring', or '' if nothing there is rolled back.",
        "two questions decide it: may reads already use the new replicas, and was the node in the "
        "ring before? A state on the way back has no way back of its own.",
        where_back,
        (
            ["bootstrapping", "write_both_read_old"],
            ["removing", "tablet_draining"],
            ["replacing", "write_both_read_new"],
            ["decommissioning", "rollback_to_normal"],
        ),
        _drawn,
    ),
)
