"""Exercises on operations that fail: where they lead, and how one tries again."""

import random
from typing import Any

from kit.engine.timeline import PassedStep
from kit.lessons.judge import Arguments, function_task
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.work import under_way

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
            "topology",
            {"operations": ("replace D C", "replace E C"), "failures": 1, "lag": False},
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
