"""What the coordinator does with its decision: pieces of work, their failures, commands.

Between decision and commit others may change group 0: a command carries the state id that it was
decided on, and does nothing on another one. Sources: Raft in Scylla, "Using Group 0 to perform
schema changes"; Topology over Raft, "Topology guards"; published coordinator, the global token
metadata barrier.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.guard import Guard, command_of
from kit.protocols.group0.rules.history import takes_effect
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    difference,
    mutated,
)
from kit.protocols.topology.rules.decide import Decision, decide, outcome
from kit.protocols.topology.rules.effects import finished
from kit.protocols.topology.rules.machines import EdgeRow, WorkRow
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.work import (
    ADDS,
    CLOSES,
    DROP_LEFT,
    LEAVES,
    MARKS_DONE,
    REMOVES,
    TopologyOperation,
    addressees,
    failure,
    state_of,
    still_to_do,
    under_way,
)
from kit.protocols.topology.state import (
    NOTHING_DONE,
    Attempted,
    ControlState,
    caught_up,
    with_topology,
    without_coordinator,
)

TABLETS_WORK = ("drain_tablets", "finish_tablets")
"""Work that ends when tablets do: their own transitions are commands of the same coordinator."""


class CoordinatorTask(Struct, frozen=True, cache_hash=True):
    """What the coordinator is at: its decision, the piece of work that comes next, whom it needs.

    ``work`` is None where nothing is to be worked on, or all of it is done; ``step`` is its place.
    """

    decision: Decision
    work: WorkRow | None = None
    step: int = 0
    needs: int = 0


def decision_of(s: ControlState, setting: Setting) -> Decision:
    """What the coordinator decides, by the tables and by who is reachable."""
    return _decision(s.topology, s.reachable, s.heir, setting)


def _decision(topology: ClusterTopology, alive: int, heir: bool, setting: Setting) -> Decision:
    """S-53: with the safeguard off it goes on only with what it began itself."""
    if heir and not setting.safeguards.continue_from_tables and under_way(topology):
        return Decision("wait", "nothing tells this coordinator what is under way")
    return decide(topology, alive, setting)


def task_of(s: ControlState, setting: Setting) -> CoordinatorTask:
    """What the coordinator is at in this state."""
    return _task(s.topology, s.reachable, s.heir, s.attempted.step, setting)


# A search asks several times in each state, and many states have the same task.
@lru_cache(maxsize=1 << 16)
def _task(
    topology: ClusterTopology, alive: int, heir: bool, done: int, setting: Setting
) -> CoordinatorTask:
    decision = _decision(topology, alive, heir, setting)
    if decision.kind != "work":
        return CoordinatorTask(decision)
    operation = decision.operation
    if operation is None:
        return CoordinatorTask(decision, DROP_LEFT)
    step = still_to_do(topology, operation, setting, done)
    work = state_of(operation, setting).work
    if step == len(work):
        return CoordinatorTask(decision, None, step)
    return CoordinatorTask(decision, work[step], step, addressees(topology, operation, work[step]))


def barrier_left(s: ControlState, task: CoordinatorTask) -> int:
    """The nodes whose answer to the barrier is still missing (a mask)."""
    return task.needs & ~s.attempted.answered


def drains(s: ControlState, task: CoordinatorTask) -> bool:
    """Whether the barrier that runs drains requests, or is the plain one."""
    return task.work is not None and task.work.barrier == "global" and not s.attempted.commands


def fence_is_due(s: ControlState, task: CoordinatorTask) -> bool:
    """Whether the barrier's fence is to be committed next: all answered, or the drain failed."""
    if task.work is None or task.work.barrier != "global" or s.attempted.failed:
        return False
    if s.topology.fence_version == s.topology.version:
        return False
    return s.attempted.commands or not barrier_left(s, task)


def due(s: ControlState, setting: Setting) -> ClusterTopology | None:
    """The topology that the command which is due now would make; None when no command is.

    A new coordinator's first command is its start marker, which changes nothing but the state id.
    """
    topology = s.topology
    if not s.started:
        return topology
    task = task_of(s, setting)
    decision, work = task.decision, task.work
    if decision.kind in ("wait", "rest"):
        return None
    if decision.kind != "work" or work is None:
        return outcome(topology, decision, decision.edge, s.state_id + 1)
    if s.attempted.failed:
        edge = failing_edge(decision.operation, work, setting)
        return None if edge is None else outcome(topology, decision, edge, s.state_id + 1)
    if work.name == MARKS_DONE:
        assert decision.operation is not None
        return finished(topology, decision.operation.node)
    if work.name == CLOSES:
        return replace(topology, session=0)
    if fence_is_due(s, task):
        return replace(topology, fence_version=topology.version)
    return None


def failing_edge(
    operation: TopologyOperation | None, work: WorkRow, setting: Setting
) -> EdgeRow | None:
    """The edge that a failed piece of work takes, if it takes one."""
    return None if operation is None else failure(operation, work, setting)


def decided(s: ControlState, setting: Setting, creator: str) -> ControlState:
    """The state once the coordinator has read the tables and made the command that is due.

    Taking the guard is a read barrier: the coordinator's node has applied all by then. Its state
    id is the next one: creators differ, and none sees the other's before it is committed.
    """
    after = due(s, setting)
    assert after is not None, "no command is due"
    command = command_of(
        Guard(s.state_id, s.state_id + 1),
        difference(s.topology, after),
        creator,
        setting.safeguards.group0,
    )
    s = caught_up(s, 1 << s.coordinator)
    return replace(s, attempted=replace(s.attempted, command=command))


def committed(s: ControlState, command: Command, setting: Setting) -> ControlState:
    """The state once a command is in the log: with its effect, or with none on another state."""
    if not takes_effect(s.state_id, command, setting.safeguards.group0):
        return s
    before = under_way(s.topology), s.topology.session
    s = with_topology(s, mutated(s.topology, command.change))
    if (under_way(s.topology), s.topology.session) != before:
        # Another state, or session, has other work; what was decided meanwhile is stale anyway.
        s = replace(s, attempted=replace(NOTHING_DONE, command=s.attempted.command))
    return s


def decision_committed(s: ControlState, setting: Setting) -> ControlState:
    """The state once the coordinator's own command is committed and applied by its node."""
    command = s.attempted.command
    assert command is not None
    effective = takes_effect(s.state_id, command, setting.safeguards.group0)
    s = replace(s, attempted=replace(s.attempted, command=None))
    s = caught_up(committed(s, command, setting), 1 << s.coordinator)
    if effective and not s.started:
        return replace(s, started=True)
    return advanced(s, setting)


def advanced(s: ControlState, setting: Setting) -> ControlState:
    """The state with a barrier behind it that all have answered and whose fence is committed."""
    task = task_of(s, setting)
    if task.work is None or not task.work.barrier or s.attempted.failed:
        return s
    if barrier_left(s, task) or fence_is_due(s, task):
        return s
    sealed = s.leftover not in (0, s.topology.session)
    return next_step(replace(s, sealed=s.sealed or sealed), task)


def next_step(s: ControlState, task: CoordinatorTask) -> ControlState:
    """The state once a piece of work is behind the coordinator."""
    return replace(s, attempted=Attempted(step=task.step + 1))


def worked(s: ControlState, setting: Setting) -> ControlState:
    """The state once the next piece of work, that is no barrier, is done (a stream: begun)."""
    task = task_of(s, setting)
    work, operation = task.work, task.decision.operation
    assert work is not None
    if work.name == "stream" and not s.attempted.streaming:
        s = caught_up(s, task.needs)
        return replace(s, attempted=replace(s.attempted, streaming=True))
    node = NOBODY if operation is None else operation.node
    members = s.topology.members
    if work is DROP_LEFT:
        left = (i for i, entry in enumerate(s.topology.nodes) if entry.state == "left")
        return _configured(s, members & ~sum(1 << i for i in left))
    if work.name == ADDS:
        s = _configured(s, members | 1 << node)
    elif work.name == LEAVES:
        s = _configured(s, members & ~(1 << node))
    elif work.name == REMOVES:
        s = _configured(s, members & ~(1 << s.topology.nodes[node].replaced))
    elif work.name == "shut_down":
        s = shut_down(s, node)
    return s if s.coordinator == NOBODY else next_step(s, task)


def _configured(s: ControlState, members: int) -> ControlState:
    """The state with another configuration of group 0; who joins gets a snapshot."""
    joins = members & ~s.topology.members
    return caught_up(replace(s, topology=replace(s.topology, members=members)), joins)


def shut_down(s: ControlState, node: int) -> ControlState:
    """The state once a node has stopped for good; a coordinator on it has stopped, too."""
    s = replace(s, up=s.up & ~(1 << node))
    return without_coordinator(s) if s.coordinator == node else s


def elected(s: ControlState, node: int, setting: Setting) -> ControlState:
    """The state with a new coordinator, which knows what the tables say and no more.

    S-58: with the safeguard off it begins without a command of its own.
    """
    s = without_coordinator(s)
    started = not setting.safeguards.start_marker
    heir = not setting.safeguards.continue_from_tables
    return replace(s, coordinator=node, started=started, heir=heir)
