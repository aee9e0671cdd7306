"""The commands of group 0 that a run committed, and what the coordinator's server logged of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, ClusterTopology
from kit.protocols.topology.rules.states import TRANSITION_STATE
from kit.protocols.topology.rules.work import excluded
from kit.protocols.topology.topology import Topology

START_MARKER = "start of a new coordinator"
NULL = "null"

COMMITS = (
    act.MakeRequest,
    act.CommitDecision,
    act.CommitDeposed,
    act.MoveTablets,
    act.ReportClean,
    act.PublishGeneration,
    act.UnlockTopology,
)
"""The types of action that commit a command."""


NODES_OWN = (act.ApplyTopology, act.AnswerBarrier)
"""The types of action of one node alone."""


class HistoryLine(Struct, frozen=True):
    """A command in the log: the state id that it made (0: none, a no-op), by whom, what it says."""

    step: int
    state_id: int
    creator: str
    description: str

    @property
    def is_no_op(self) -> bool:
        """Whether it was decided on a state that was no longer the newest."""
        return self.state_id == 0


def history(m: Topology, steps: Sequence[PassedStep]) -> tuple[HistoryLine, ...]:
    """The commands that were committed, in their order."""
    lines = []
    for number, step in enumerate(steps):
        if not isinstance(step.action, COMMITS):
            continue
        before, after = step.before, step.after
        effective = before.state_id != after.state_id
        changed = change_words(m, before.topology, after.topology) or START_MARKER
        lines.append(
            HistoryLine(
                number,
                after.state_id if effective else 0,
                _creator(m, before, step.action),
                changed if effective else "no-op: another command came first",
            )
        )
    return tuple(lines)


class RunIds(Struct, frozen=True):
    """State ids of a run, by number: those of the commands that made each request, as its id, and
    those that committed each CDC generation, as its time. What is older than the run has none.
    """

    requests: tuple[tuple[int, int], ...] = ()
    generations: tuple[tuple[int, int], ...] = ()


def run_ids(steps: Sequence[PassedStep]) -> RunIds:
    """The ids that requests and generations got in a run."""
    requests, generations = [], []
    for step in steps:
        before, after = step.before.topology, step.after.topology
        if len(after.requests) > len(before.requests):
            requests.append((len(after.requests), step.after.state_id))
        if after.generations > before.generations:
            generations.append((after.generations, step.after.state_id))
    return RunIds(tuple(requests), tuple(generations))


def _creator(m: Topology, before: ControlState, action: Any) -> str:
    """Who made the command, as far as it is a node."""
    if isinstance(action, act.CommitDeposed):
        return "" if before.deposed is None else before.deposed.creator
    if isinstance(action, act.ReportClean):
        return str(action.node)
    coordinator = before.coordinator
    by_coordinator = isinstance(action, act.CommitDecision | act.MoveTablets)
    return m.names[coordinator] if by_coordinator and coordinator != NOBODY else ""


class LoggedLine(Struct, frozen=True):
    """A line of the coordinator's journal: the step, the host that wrote it, what it says."""

    step: int
    host: str
    words: str


def log_lines(m: Topology, steps: Sequence[PassedStep]) -> Iterator[LoggedLine]:
    """What the coordinators' servers logged, in the server's wording."""
    for number, step in enumerate(steps):
        after = step.after
        host = m.names[after.coordinator] if after.coordinator != NOBODY else ""
        for words in journal(m, step.before, step.action, after):
            yield LoggedLine(number, host, words)


def journal(m: Topology, before: ControlState, action: Any, after: ControlState) -> Iterator[str]:
    """What the coordinator's server would log of a step."""
    commits = isinstance(action, act.CommitDecision | act.CommitDeposed)
    if commits and before.state_id != after.state_id:
        changed = change_words(m, before.topology, after.topology)
        yield f"updating topology state: {changed or START_MARKER}"
    entered = after.topology.transition
    handles = after.started and after.coordinator != NOBODY
    again = handles and not (before.started and before.coordinator == after.coordinator)
    if entered and (entered != before.topology.transition or again):
        yield f"entered `{TRANSITION_STATE[entered].stored}` transition state"
    if isinstance(action, NODES_OWN) and before.attempted.step == after.attempted.step:
        return  # what one node applies or answers changes nothing of what is sent
    command = _sent(m, after)
    if command and command != _sent(m, before):
        yield command


def _sent(m: Topology, s: ControlState) -> str:
    """The command to all nodes that is on its way; empty when none is."""
    task = work.task_of(s, m.setting)
    runs = s.coordinator != NOBODY and s.started and s.attempted.command is None
    if task.work is None or not task.work.barrier or not runs or work.fence_is_due(s, task):
        return ""
    operation = task.decision.operation
    node = NOBODY if operation is None else operation.node
    without = ", ".join(m.named(excluded(s.topology, node)))
    command = "barrier_and_drain" if work.drains(s, task) else "barrier"
    return f"executing global topology command {command}, excluded nodes: {{{without}}}"


def change_words(m: Topology, before: ClusterTopology, after: ClusterTopology) -> str:
    """What a command changed, in one line; empty when nothing."""
    return "; ".join((*_changed_nodes(m, before, after), *_changed(before, after)))


def _changed_nodes(m: Topology, before: ClusterTopology, after: ClusterTopology) -> Iterator[str]:
    for i, (old, new) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        name = m.names[i]
        if old.state != new.state:
            came_from = f"{old.state} → " if old.state != NO_ROW else ""
            yield f"{name}: {came_from}{new.state}"
        if new.request and old.request != new.request:
            yield f"{name} asks for {new.request}"
        if old.cleanup != new.cleanup:
            yield f"{name}: cleanup {new.cleanup}"


def _changed(before: ClusterTopology, after: ClusterTopology) -> Iterator[str]:
    if before.transition != after.transition:
        yield f"{before.transition or NULL} → {after.transition or NULL}"
    if before.version != after.version:
        yield f"version {after.version}"
    if before.fence_version != after.fence_version:
        yield f"advance fence version to {after.fence_version}"
    if after.generations > before.generations:
        yield "a CDC generation is committed"
    if after.unpublished < before.unpublished:
        yield "a CDC generation is published"
    if before.enabled != after.enabled:
        yield "features are enabled"
    for number, entry in enumerate(after.requests, 1):
        known = number <= len(before.requests)
        if entry.done and known and not before.requests[number - 1].done:
            yield f"request {number} {'fails' if entry.error else 'is done'}"
        elif not known and entry.node == NOBODY:
            yield f"request {entry.kind}"
