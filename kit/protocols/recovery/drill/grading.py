"""A drill of a recovery, graded by its run, and the checklist that the run ticks.

Judged: whether the cluster is whole, one group, nothing lost that need not be. Told: how many steps
it took beside the procedure's own order, and how long clients were worse off than at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.engine.drill import CheckedStep, DrillMoment, Grade, GradeRow, judged
from kit.engine.timeline import Timeline
from kit.protocols.recovery import recovery as act
from kit.protocols.recovery.drill.judging import (
    data_unavailable,
    died_with,
    ever_dead,
    kept,
    missing_entries,
    one_group,
)
from kit.protocols.recovery.drill.tables import noted_id, seen_in_log
from kit.protocols.recovery.facts import recovery as facts
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.recovering_cluster import RecoveryNode, RecoveryState
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.rules.hosts import group_uuid
from kit.protocols.recovery.rules.steps import NEW_STEPS

ENDS_ALL = "every node that lives runs in one new group, and nothing of the old one is left"


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    well = kept(_died(now) & ~_known(now.state), "entry and datum")
    return Grade(
        (
            judged("cluster whole", list(_unfinished(now)), ENDS_ALL),
            one_group(now),
            judged("nothing lost", list(_lost(now)), well),
            GradeRow("steps", None, _steps(now)),
            data_unavailable(now, facts.ranges),
            *_looked_at(now),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """What the recovery still lacks; nothing where the model says that it is done."""
    m: Recovery = now.model
    s: RecoveryState = now.state
    if m.is_recovered(s):
        return
    new = s.new_group
    if new == NO_GROUP:
        yield "no recovery leader runs in a new group"
    others = m.named(s.where(lambda n: n.takes_part and n.group != new))
    if others:
        yield f"not in the new group: {', '.join(others)}"
    if s.operation == "under way":
        yield "the topology operation is still under way"
    dead = m.named(s.dead)
    if dead:
        yield f"dead, and neither removed nor replaced: {', '.join(dead)}"
    with_option = m.named(s.where(lambda n: n.takes_part and n.option != NOBODY))
    if m.edition == "server" and with_option:
        yield f"recovery_leader is still set: {', '.join(with_option)}"
    rows = m.named(s.where(lambda n: n.takes_part and n.old_rows))
    if rows:
        yield f"Raft rows of the old group are left: {', '.join(rows)}"


def _lost(now: DrillMoment) -> Iterator[str]:
    """Entries that a live node had at the start, and data that point at nothing."""
    m: Recovery = now.model
    start, s = now.run[0].state, now.state
    had = _known(start)
    for heard in s.acknowledged[OLD + 1 :]:
        had |= heard
    yield from missing_entries(had & ~_died(now), _known(s))
    for row in facts.effects(m, s):
        if not row.is_known and row.group:
            yield f"{row.node} has data in column {row.column}, which its group does not know"


def _died(now: DrillMoment) -> int:
    return died_with(now, act.Die, _known)


def _known(s: RecoveryState) -> int:
    """The entries that nodes which are counted on know (a mask)."""
    known = 0
    for node in s.nodes:
        known |= node.columns if node.takes_part else 0
    return known


def _looked_at(now: DrillMoment) -> Iterator[GradeRow]:
    """The steps that only look. Whoever leaves them out breaks nothing, and does not know it."""
    looking = [step.name for step in NEW_STEPS[now.model.edition] if step.name in LOOKING]
    left_out = [name for name in looking if not _done(now, name)]
    looked = "the old group's id, and the new one in each log"
    if looking:
        said = f"left out: {', '.join(left_out)}" if left_out else looked
        yield GradeRow("looked at", None, said)


def _steps(now: DrillMoment) -> str:
    used = sum(1 for step in now.run if isinstance(step.action, OPERATORS))
    return f"{used}; the procedure takes {procedure_length(now.model)}"


OPERATORS = (*Recovery(edition="server").procedure, act.Replace, act.Crash)
"""Steps of an operator; who stops a node is told apart from a crash by nothing in the model."""


def procedure_length(m: Recovery) -> int:
    """How many steps the procedure has in its order, with a stop before each restart."""
    timeline = Timeline(Recovery(replace(m.parameters, choose_again=False)))
    stops = 0
    while (action := timeline.suggest()) is not None:
        up = isinstance(action, act.Restart)
        stops += up and timeline.state.nodes[m.number(action.node)].status == "up"
        timeline.do(action)
    return len(timeline.path()) - 1 + stops


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The steps of the edition; those that leave nothing behind by the marks of who looked."""
    m: Recovery = now.model
    leader = m.names[now.state.leader] if now.state.leader != NOBODY else "the recovery leader"
    words = {"dead": ever_dead(now), "leader": leader, "order": "in any order"}
    return tuple(
        CheckedStep(step.name, step.what.format(**words), _done(now, step.name))
        for step in NEW_STEPS[m.edition]
    )


def _done(now: DrillMoment, name: str) -> bool:
    return DONE[name](now.model, now.state, now)


def _each(holds: Callable[[RecoveryNode, RecoveryState], bool]) -> Callable[..., bool]:
    """Whether something holds of all nodes that are counted on, once the recovery goes on."""
    return lambda m, s, now: all(holds(n, s) for n in s.nodes if n.takes_part)


def _ever(holds: Callable[[Recovery, RecoveryState], bool]) -> Callable[..., bool]:
    """Whether something held in some state of the run."""
    return lambda m, s, now: any(holds(m, step.state) for step in now.run)


DONE: dict[str, Callable[[Any, RecoveryState, DrillMoment], bool]] = {
    "isolate": lambda m, s, now: s.isolated,
    "rolling restart": lambda m, s, now: _restarted_first(now),
    "note id": lambda m, s, now: noted_id(group_uuid(s.abandoned)) in now.marks,
    "read": lambda m, s, now: s.indexes_read,
    "delete": _each(lambda n, s: not OLD <= n.group_id <= s.abandoned),
    "choose": lambda m, s, now: s.leader != NOBODY,
    "set": _each(lambda n, s: n.option == s.leader != NOBODY or n.group > s.abandoned),
    "restart leader": _ever(lambda m, s: s.new_group != NO_GROUP),
    "restart others": _ever(lambda m, s: s.is_together),
    "check": lambda m, s, now: _checked(now),
    "replace": lambda m, s, now: not s.dead,
    "unset": lambda m, s, now: (
        _ever(lambda m, s: s.is_together)(m, s, now) and all(n.option == NOBODY for n in s.nodes)
    ),
    "clean": _each(lambda n, s: not n.old_rows),
}


LOOKING = ("note id", "check")
"""Steps that leave no trace in the cluster."""


def _checked(now: DrillMoment) -> bool:
    """Whether the new group's id was seen in the log of each node that was restarted into it.

    A new node in the place of a dead one was not.
    """
    s: RecoveryState = now.state
    new = s.new_group
    fresh = {step.action.node for step in now.run if isinstance(step.action, act.Replace)}
    restarted = now.model.named(s.where(lambda node: node.takes_part))
    wanted = {seen_in_log(now.model.number(name), new) for name in restarted if name not in fresh}
    return new != NO_GROUP and wanted <= now.marks


def _restarted_first(now: DrillMoment) -> bool:
    """Whether each live node was started in the run while all of them had the old group's id."""
    started: set[str] = set()
    for step in now.run:
        if isinstance(step.action, act.Restart):
            started.add(step.action.node)
        if isinstance(step.action, act.DeleteId):
            break
    m, s = now.model, now.run[0].state
    return {*m.named(s.where(lambda n: n.takes_part))} <= started
