"""What goes wrong: work that fails, coordinators that change, nodes that die or are cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.queue import queue
from kit.protocols.topology.rules.tablets import tablets_failed
from kit.protocols.topology.rules.work import gaining_racks
from kit.protocols.topology.state import (
    ControlState,
    with_topology,
)

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


def unreached(s: ControlState, task: work.CoordinatorTask) -> int:
    """The nodes that the work still needs and that do not hear it (a mask)."""
    barrier = task.work is not None and task.work.barrier
    needs = work.barrier_left(s, task) if barrier else task.needs
    return needs & ~s.reachable


def fails_by_itself(s: ControlState, task: work.CoordinatorTask, model: Topology) -> bool:
    """Whether the work cannot succeed as things are: nobody needs to make it fail."""
    if task.work is not None and task.work.name == "check_drained":
        operation = task.decision.operation
        return operation is not None and bool(s.topology.tablets_on >> operation.node & 1)
    return bool(unreached(s, task) or racks_against(s, task, model))


def racks_against(s: ControlState, task: work.CoordinatorTask, model: Topology) -> str:
    """Why the tokens that are to be assigned next cannot be; empty: they can."""
    pieces = () if task.work is None else (task.work,)
    return gaining_racks(s.topology, task.decision.operation, pieces, model.setting.edition)


def racks_fail(s: ControlState, model: Topology) -> bool:
    """Whether the coordinator is at work that cannot but fail, for racks."""
    return model.busy(s) is None and bool(racks_against(s, work.task_of(s, model.setting), model))


def leads_somewhere(s: ControlState, task: work.CoordinatorTask, model: Topology) -> bool:
    """Whether a failure of the work changes anything; what is tried again for ever does not."""
    assert task.work is not None
    if task.work.name in work.TABLETS_WORK:
        return s.topology.tablets == "moving"
    if task.work.name == "shut_down":
        return bool(unreached(s, task))
    without_drain = model.setting.edition == "server" and work.drains(s, task)
    edge = work.failing_edge(task.decision.operation, task.work, model.setting)
    return without_drain or edge is not None or task.work.on_failure == "proceed"


def failed(s: ControlState, task: work.CoordinatorTask, model: Topology) -> ControlState:
    """The state once the work failed.

    Edition ``server`` goes on without the drain: the fence is committed all the same.
    """
    assert task.work is not None
    if task.work.name in work.TABLETS_WORK and task.work.on_failure == "retry":
        entries = queue(s.topology, s.reachable, model.setting)
        paused = [entry.number for entry in entries if entry.standing == "paused"]
        return with_topology(s, tablets_failed(s.topology, tuple(paused)))
    if model.setting.edition == "server" and work.drains(s, task):
        return replace(s, attempted=replace(s.attempted, commands=True, answered=0))
    if task.work.name == "shut_down":
        return work.next_step(s, task)
    return replace(s, attempted=replace(s.attempted, failed=True, streaming=False))


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """Failures of work, and what follows them without a change of state."""
    placing = model.parameters.placing
    failures = (act.FailWork(), *(act.FailWork(placeless=True),) * placing)
    return (
        model.rule(
            act.FindImbalance,
            "tablets found",
            lambda s: (act.FindImbalance(),) * (s.faults.tablets > 0),
            lambda s, a: None if s.topology.tablets == "even" else Refusal("it is uneven already"),
            _imbalance,
        ),
        model.rule(
            act.PauseWork,
            "work",
            lambda s: _pauses(s, model),
            lambda s, a: _may_pause(s, model),
            lambda s, a: work.advanced(
                work.next_step(s, work.task_of(s, model.setting)), model.setting
            ),
        ),
        model.rule(
            act.FailWork,
            "fault",
            lambda s: failures,
            lambda s, a: _may_fail(s, a, model),
            lambda s, a: _fail(s, a, model),
        ),
    )


def _imbalance(s: ControlState, action: act.FindImbalance) -> ControlState:
    left = replace(s.faults, tablets=s.faults.tablets - 1)
    return replace(s, topology=replace(s.topology, tablets="uneven"), faults=left)


def _may_fail(s: ControlState, action: act.FailWork, model: Topology) -> Refusal | None:
    blocked = model.busy(s)
    if blocked is not None:
        return blocked
    task = work.task_of(s, model.setting)
    if task.work is None or not leads_somewhere(s, task, model):
        return Refusal("there is no work that could fail to any effect")
    if action.placeless:
        is_open = model.parameters.placing and task.work.name in work.TABLETS_WORK
        return None if is_open else Refusal("there is a place for every tablet")
    if s.faults.failures or fails_by_itself(s, task, model):
        return None
    return Refusal("no work may fail by itself any more")


def _fail(s: ControlState, action: act.FailWork, model: Topology) -> ControlState:
    task = work.task_of(s, model.setting)
    if not action.placeless and not fails_by_itself(s, task, model):
        s = replace(s, faults=replace(s.faults, failures=s.faults.failures - 1))
    return work.advanced(failed(s, task, model), model.setting)


def _pauses(s: ControlState, model: Topology) -> tuple[act.PauseWork, ...]:
    """A pause follows a failure behind which the coordinator goes on all the same."""
    if not s.attempted.failed or s.coordinator == NOBODY:
        return ()
    task = work.task_of(s, model.setting)
    return (act.PauseWork(),) if task.work and task.work.on_failure == "proceed" else ()


def _may_pause(s: ControlState, model: Topology) -> Refusal | None:
    newest = len(s.views) - 1
    behind = [i for i in nodes_in(s.reachable) if s.applied[i] < newest]
    if behind:
        names = tuple(model.names[i] for i in behind)
        return Refusal("a pause lasts until everyone has applied", missing=names)
    older = s.client != NOBODY and s.client_version < s.topology.version
    return Refusal("a pause lasts until older requests are over") if older else None
