"""A drill of the Raft upgrade, graded by its run, and the checklist that the run ticks.

Judged: whether every node has finished, in one group, with one schema. Told: how many steps it took
beside the procedure's own, and what was not looked at. Source: manual on Raft, "Enabling Raft".
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.drill import CheckedStep, DrillMoment, Grade, GradeRow, judged
from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.drill.words import COMPARED, IN_LOG, IN_TABLE, seen, version
from kit.protocols.upgrade.raft_upgrade import PHASES, RaftUpgrade
from kit.protocols.upgrade.upgrading_cluster import NO_GROUP, RaftUpgradeState

BY_OPERATOR = (act.Install, act.Configure, act.TurnOff, act.Restart)
LOOKING = {"compare": COMPARED, "log": IN_LOG, "query": IN_TABLE}
"""Steps that leave no trace in the cluster, and the marks of who looked."""
STEPS = {
    "compare": "nodetool describecluster on each node: one schema version on all of them",
    "option": "consistent_cluster_management: true in the configuration of each node",
    "rolling restart": "restart the nodes one by one; the last one starts the Raft upgrade",
    "log": "look for its end in the log of each node",
    "query": "group0_upgrade_state is use_post_raft_procedures on each node",
}


def _there(s: RaftUpgradeState) -> list[int]:
    """The nodes that are not lost."""
    return [i for i, node in enumerate(s.nodes) if node.status != "lost"]


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    s: RaftUpgradeState = now.state
    groups = {s.nodes[i].group for i in _there(s)} - {NO_GROUP}
    versions = {version(s.nodes[i]) for i in _there(s)}
    two_groups = ["two groups were created"] if max(len(s.entries), len(groups)) > 1 else []
    apart = ["schema versions differ"] if len(versions) > 1 else []
    unfinished = list(_unfinished(now))
    return Grade(
        (
            judged("upgrade ended", unfinished, "Raft manages the schema of every node"),
            judged("one group", two_groups, "no second group was created"),
            judged("one schema", apart, "every node has the same version"),
            GradeRow("steps", None, _steps(now)),
            GradeRow("looked at", None, _looked_at(now)),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """Nodes that are lost or down, and where each other one stands that has not finished."""
    m: RaftUpgrade = now.model
    for name, node in zip(m.names, now.state.nodes, strict=True):
        if node.status == "lost":
            yield f"{name} is lost for good: the upgrade needs every node, manual recovery is left"
        elif not node.is_up:
            yield f"{name} is down"
        elif not node.has_finished:
            yield f"{name}: {node.position} of {len(PHASES)} phases are behind it"


def _steps(now: DrillMoment) -> str:
    plain = RaftUpgrade(nodes=now.model.nodes, beginning=now.model.beginning)
    timeline = played_out(Timeline(plain))
    needed = sum(isinstance(timeline.moments[at].action, BY_OPERATOR) for at in timeline.path())
    used = sum(isinstance(step.action, BY_OPERATOR) for step in now.run)
    return f"{used} of the operator; the procedure takes {needed}"


def _looked_at(now: DrillMoment) -> str:
    left_out = [name for name in LOOKING if not _done(now, name)]
    return f"left out: {', '.join(left_out)}" if left_out else "every node was looked at"


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The documents' steps, ticked by the run; those that only look by marks."""
    return tuple(CheckedStep(name, what, _done(now, name)) for name, what in STEPS.items())


def _done(now: DrillMoment, name: str) -> bool:
    s: RaftUpgradeState = now.state
    nodes = [s.nodes[i] for i in _there(s)]
    if name == "option":
        return all(node.configured for node in nodes)
    if name == "rolling restart":
        return all(node.enabled and node.is_up for node in nodes)
    return {seen(LOOKING[name], i) for i in _there(s)} <= now.marks
