"""One state as people ask of it, and what a run committed and logged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState, view_of, voting
from kit.protocols.topology.outages import address_of
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, ClusterTopology
from kit.protocols.topology.rules.machines import BOUNDARY, TRANSITION_STATE, Machine
from kit.protocols.topology.rules.queue import QueueEntry, queue
from kit.protocols.topology.rules.replication import factor_text
from kit.protocols.topology.rules.work import TopologyOperation, excluded, machine_of, under_way
from kit.protocols.topology.serving import drain_refusal
from kit.protocols.topology.topology import Topology

COMMAND_OF = {"global": "barrier_and_drain", "command": "barrier"}
"""What the coordinator sends for each kind of barrier."""


class NodeFacts(Struct, frozen=True):
    """A node: its row, and what no table tells.

    ``version``, ``fence`` and ``session`` are those that it goes by; ``health`` is empty while it
    is up and heard; ``address`` is the one that it moved to, empty while it has its first one.
    """

    name: str
    state: str
    tokens: bool
    request: str
    replaced: str
    cleanup: str
    health: str
    version: int
    fence: int
    session: int
    is_coordinator: bool
    is_member: bool
    is_ignored: bool
    is_behind: bool
    rack: str
    votes: bool
    address: str


def nodes(m: Topology, s: ControlState) -> tuple[NodeFacts, ...]:
    """Every node that has a row, in the order of names."""
    return tuple(
        _node(m, s, i) for i, entry in enumerate(s.topology.nodes) if entry.state != NO_ROW
    )


def _node(m: Topology, s: ControlState, i: int) -> NodeFacts:
    entry, view, bit = s.topology.nodes[i], view_of(s, i), 1 << i
    goes_by = bool(s.topology.members & bit)
    return NodeFacts(
        m.names[i],
        entry.state,
        entry.tokens,
        entry.request,
        m.names[entry.replaced] if entry.replaced != NOBODY else "",
        entry.cleanup,
        _health(s, bit),
        view.version if goes_by else 0,
        view.fence_version if goes_by else 0,
        view.session if goes_by else 0,
        s.coordinator == i,
        goes_by,
        bool(s.topology.ignored & bit),
        goes_by and s.applied[i] < len(s.views) - 1,
        entry.rack,
        bool(voting(s) & bit),
        address_of(s, i) if s.addresses and s.addresses[i] else "",
    )


def _health(s: ControlState, bit: int) -> str:
    if not s.up & bit:
        return "down"
    if s.cut & bit:
        return "cut off"
    return "not heard at its new address" if s.unheard & bit else ""


class BarrierFacts(Struct, frozen=True):
    """A barrier that runs: what is sent, whom it needs, who has answered, why others do not."""

    command: str
    needs: tuple[str, ...]
    answered: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]


def barrier(m: Topology, s: ControlState) -> BarrierFacts | None:
    """The barrier that the coordinator's work is at; None while it is at other work."""
    task = work.task_of(s, m.setting)
    if task.work is None or not task.work.barrier or s.coordinator == NOBODY or not s.started:
        return None
    drains = work.drains(s, task)
    left = work.barrier_left(s, task)
    return BarrierFacts(
        COMMAND_OF["global" if drains else "command"],
        m.named(task.needs),
        m.named(task.needs & ~left),
        tuple((m.names[i], _refused(m, s, i, drains)) for i in nodes_in(left)),
    )


def _refused(m: Topology, s: ControlState, node: int, drains: bool) -> str:
    """Why a node does not answer; empty where it may."""
    if not s.reachable >> node & 1:
        return "it does not hear the barrier"
    refusal = drain_refusal(s, node, m.setting) if drains else None
    return refusal.reason if refusal else ""


def entries(m: Topology, s: ControlState) -> tuple[QueueEntry, ...]:
    """The requests that are not done, in their order, each with why it stands where it stands."""
    return queue(s.topology, s.reachable, m.setting)


def title(m: Topology, entry: QueueEntry) -> str:
    """A request as people speak of it: ``join D``."""
    return entry.kind if entry.node == NOBODY else f"{entry.kind} {m.names[entry.node]}"


def parameter(m: Topology, s: ControlState, entry: QueueEntry) -> str:
    """What a request says beside its kind and node: whom it replaces, that it owns no tokens; the
    keyspace with its replicas, or the table.
    """
    if entry.node == NOBODY:
        asks = s.topology.requests[entry.number - 1]
        counts = (f"{name}={factor_text(factor)}" for name, factor in asks.replication)
        return asks.table or " ".join([asks.keyspace, *counts])
    row = s.topology.nodes[entry.node]
    joins = entry.kind in ("join", "replace")
    words = [f"replaces {m.names[row.replaced]}"] if entry.kind == "replace" else []
    return ", ".join([*words, *(["no tokens"] if joins and row.zero_token else [])])


def guards(m: Topology, s: ControlState, node: int) -> tuple[tuple[int, int], ...]:
    """The topology guards that a node holds, as sessions with their numbers.

    Whoever streams for the coordinator got one with the permit of the open session; so did late
    work when it was let in. A guard keeps a barrier waiting until it is released.
    """
    held: dict[int, int] = {}
    if s.attempted.streaming and work.task_of(s, m.setting).needs >> node & 1:
        held[s.topology.session] = 1
    if s.leftover_at == node:
        held[s.leftover] = held.get(s.leftover, 0) + 1
    return tuple(held.items())


def operation_title(m: Topology, operation: TopologyOperation) -> str:
    """What is under way: ``bootstrapping D``."""
    what = operation.machine.replace("_zero_token", " without tokens")
    return what if operation.node == NOBODY else f"{what} {m.names[operation.node]}"


class MachineWay(Struct, frozen=True):
    """An operation with the states it went through; ``ended`` once nothing is under way of it."""

    operation: TopologyOperation
    machine: Machine
    states: tuple[str, ...]
    ended: bool


def way_of(m: Topology, start: ControlState, steps: Sequence[PassedStep]) -> MachineWay | None:
    """The last operation that was under way, with its states; None before the first one."""
    current: TopologyOperation | None = None
    states: list[str] = []
    ended = False
    for s in _states(start, steps):
        operation = under_way(s.topology)
        if operation is None:
            if current is not None and not ended:
                ended = True
                states.append(_end(s, current))
            continue
        same = current is not None and not ended and _same(operation, current)
        if not same:
            states = [BOUNDARY]
        if states[-1] != operation.state:
            states.append(operation.state)
        current, ended = operation, False
    if current is None:
        return None
    return MachineWay(current, machine_of(current, m.setting), tuple(states), ended)


def _states(start: ControlState, steps: Sequence[PassedStep]) -> Iterable[ControlState]:
    """The states whose tables are others than those of the step before."""
    yield start
    yield from (step.after for step in steps if step.after.topology is not step.before.topology)


def _same(operation: TopologyOperation, other: TopologyOperation) -> bool:
    return (operation.machine, operation.node) == (other.machine, other.node)


def _end(s: ControlState, operation: TopologyOperation) -> str:
    """What the node became, or the end of what has no node."""
    return BOUNDARY if operation.node == NOBODY else s.topology.nodes[operation.node].state


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
