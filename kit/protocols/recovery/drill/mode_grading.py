"""A drill by RECOVERY mode, graded by its run, and the checklist that the run ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kit.engine.drill import CheckedStep, DrillMoment, Grade, GradeRow, judged
from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.drill.judging import (
    data_unavailable,
    died_with,
    ever_dead,
    kept,
    missing_entries,
    one_group,
)
from kit.protocols.recovery.drill.mode_tables import COMPARED
from kit.protocols.recovery.facts import recovery_mode as facts
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.mode_cluster import ModeNode, ModeState
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.recovery.rules.steps import OLD_STEPS


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, whatever was typed."""
    whole = "every node that lives runs in one group 0, after the Raft upgrade"
    return Grade(
        (
            judged("cluster whole", list(_unfinished(now)), whole),
            one_group(now),
            judged("nothing lost", _lost(now), kept(_died(now) & ~_known(now.state), "entry")),
            GradeRow("steps", None, _steps(now)),
            data_unavailable(now, facts.ranges),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """What the procedure still lacks; nothing where the model says that the cluster is whole."""
    m: RecoveryMode = now.model
    s: ModeState = now.state
    if s.is_whole:
        return
    dead = m.named(s.dead)
    if dead:
        yield f"dead, and not removed: {', '.join(dead)}"
    by_mode: dict[str, list[str]] = {}
    for i in nodes_in(s.live):
        by_mode.setdefault(s.nodes[i].mode, []).append(m.names[i])
    by_mode.pop("group 0", None)
    for mode, names in by_mode.items():
        yield f"{', '.join(names)}: {mode}"
    groups = {s.nodes[i].group for i in nodes_in(s.live)} - {NO_GROUP}
    if len(groups) > 1:
        yield "the live nodes run in different groups"
    if not by_mode and not any(s.may_commit(i) for i in nodes_in(s.live)):
        yield "group 0 has no majority"


def _lost(now: DrillMoment) -> list[str]:
    had = _known(now.run[0].state)
    for step in now.run:
        had |= step.state.answered
    return missing_entries(had & ~_died(now), _known(now.state))


def _died(now: DrillMoment) -> int:
    return died_with(now, act.Die, _known)


def _known(s: ModeState) -> int:
    known = 0
    for i in nodes_in(s.live):
        known |= s.nodes[i].columns
    return known


def _steps(now: DrillMoment) -> str:
    used = sum(isinstance(step.action, act.BY_OPERATOR) for step in now.run)
    timeline = played_out(Timeline(RecoveryMode(now.model.parameters)))
    run = [timeline.moments[at].action for at in timeline.path()]
    needed = sum(isinstance(action, act.BY_OPERATOR) for action in run)
    return f"{used} of the operator; the procedure takes {needed}"


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The documents' steps, ticked by the run."""
    dead = ever_dead(now)
    return tuple(
        CheckedStep(step.name, step.what.format(dead=dead), DONE[step.name](now))
        for step in OLD_STEPS
    )


def _all(holds: Callable[[ModeNode], bool]) -> Callable[[DrillMoment], bool]:
    """Whether something held of all live nodes at once."""
    return lambda now: any(
        all(holds(step.state.nodes[i]) for i in nodes_in(step.state.live)) for step in now.run
    )


def _each(action: Any, behind: Any = None) -> Callable[[DrillMoment], bool]:
    """Whether a step was done on every live node, after another one that was."""

    def done(now: DrillMoment) -> bool:
        actions = [step.action for step in now.run]
        starts = [at for at, each in enumerate(actions) if behind and isinstance(each, behind)]
        begun = (starts[-1] if starts else len(actions)) if behind else 0
        names = {each.node for each in actions[begun:] if isinstance(each, action)}
        return names >= {now.model.names[i] for i in nodes_in(now.state.live)}

    return done


def _compared(now: DrillMoment) -> bool:
    """Whether the versions were looked at in their place: what was equal before tells nothing."""
    steps = (step for step in now.run if isinstance(step.action, act.Compare))
    return COMPARED in now.marks or any(step.state.in_recovery_mode for step in steps)


DONE: dict[str, Callable[[DrillMoment], bool]] = {
    "isolate": lambda now: now.state.isolated,
    "enter": _each(act.SetRecovery),
    "rolling restart": _all(lambda node: node.mode == "recovery"),
    "check mode": lambda now: any(step.state.logs_read for step in now.run),
    "remove": lambda now: not now.state.dead,
    "truncate": _all(lambda n: n.discovery == n.history == 0 and n.group_id == NO_GROUP),
    "compare": _compared,
    "leave": _each(act.Unset),
    "restart again": _each(act.StartServer, behind=act.Unset),
    "upgrade": lambda now: now.state.is_whole,
}
