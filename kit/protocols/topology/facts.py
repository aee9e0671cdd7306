"""One state as people ask of it, and what a run committed and logged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from kit.console.drill import DrillMoment
from kit.console.server import NodeTable, Row, Servers
from kit.masks import nodes_in
from kit.model.flows import ServerHost, host_id, token_of
from kit.model.timeline import PassedStep
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState, drain_refusal, view_of
from kit.protocols.topology.outages import address_of
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, ClusterTopology, changed_requests
from kit.protocols.topology.rules.columns import changed_cells
from kit.protocols.topology.rules.decide import QueueEntry, queue
from kit.protocols.topology.rules.machines import TRANSITION_STATE
from kit.protocols.topology.rules.replication import replication_words
from kit.protocols.topology.rules.work import TopologyOperation, excluded
from kit.protocols.topology.topology import Topology

COMING = ("bootstrapping", "replacing", "none")
"""The states of a node that is not a member yet."""


class NodeFacts(Struct, frozen=True):
    """A node: its row, what it goes by as a member (else None), and what no table tells.

    ``health`` is empty while it is up and heard; ``address`` is the one that it moved to, empty
    while it has its first one.
    """

    name: str
    row: cluster.NodeEntry
    view: cluster.LocalView | None
    replaced: str
    health: str
    address: str
    is_coordinator: bool
    is_ignored: bool
    is_behind: bool

    @property
    def how(self) -> Literal["up", "down", "gone", "joining"]:
        """How it is drawn in any cast."""
        if self.row.state == "left":
            return "gone"
        if self.health == "down":
            return "down"
        return "joining" if self.row.state in COMING else "up"


def nodes(m: Topology, s: ControlState) -> tuple[NodeFacts, ...]:
    """Every node that has a row, in the order of names."""
    facts = []
    for i, row in enumerate(s.topology.nodes):
        if row.state == NO_ROW:
            continue
        bit, member = 1 << i, bool(s.topology.members >> i & 1)
        unheard = "not reached at its new address" if s.unheard & bit else ""
        node = NodeFacts(
            m.names[i],
            row,
            view_of(s, i) if member else None,
            m.names[row.replaced] if row.replaced != NOBODY else "",
            "down" if not s.up & bit else "cut off" if s.cut & bit else unheard,
            address_of(s, i) if s.addresses and s.addresses[i] else "",
            is_coordinator=s.coordinator == i,
            is_ignored=bool(s.topology.ignored & bit),
            is_behind=s.applied[i] < len(s.views) - 1,  # who is no member counts as up to date
        )
        facts.append(node)
    return tuple(facts)


class BarrierFacts(Struct, frozen=True):
    """A barrier that runs: what is sent, whom it needs, who has answered, why others do not.

    A reason is empty where nothing keeps a node from its answer.
    """

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
    refused = []
    for node in nodes_in(left):
        refusal = drain_refusal(s, node, m.setting) if drains else None
        why = refusal.reason if refusal else ""
        hears = s.reachable >> node & 1
        refused.append((m.names[node], why if hears else "the node does not receive the barrier"))
    answered = m.named(task.needs & ~left)
    return BarrierFacts(command_sent(drains), m.named(task.needs), answered, tuple(refused))


def command_sent(drains: bool) -> str:
    """The message of the coordinator for a barrier."""
    return "barrier_and_drain" if drains else "barrier"


def entries(m: Topology, s: ControlState) -> tuple[QueueEntry, ...]:
    """The requests that are not done, in their order, each with why it stands where it stands."""
    return queue(s.topology, s.reachable, m.setting)


def title(m: Topology, entry: QueueEntry) -> str:
    """A request as people speak of it: ``join D``."""
    return entry.kind if entry.node == NOBODY else f"{entry.kind} {m.names[entry.node]}"


def parameter(m: Topology, s: ControlState, entry: QueueEntry) -> str:
    """The rest of a request: whom it replaces, that it owns no tokens; the keyspace, or table."""
    if entry.node == NOBODY:
        asks = s.topology.requests[entry.number - 1]
        return asks.table or " ".join([asks.keyspace, *replication_words(asks.replication)])
    row = s.topology.nodes[entry.node]
    joins = entry.kind in ("join", "replace")
    words = [f"replaces {m.names[row.replaced]}"] if entry.kind == "replace" else []
    return ", ".join(words + ["join_ring=false, no tokens"] * (joins and row.zero_token))


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
    """The operation under way: ``bootstrapping D``."""
    what = operation.machine.replace("_zero_token", " without tokens")
    return what if operation.node == NOBODY else f"{what} {m.names[operation.node]}"


START_MARKER = "start of a new coordinator"
TABLETS = "tablet transitions"  # of which these tables tell nothing
NULL = "null"

COMMITS = (
    *(act.MakeRequest, act.CommitDecision, act.CommitDeposed, act.MoveTablets),
    *(act.ReportClean, act.PublishGeneration, act.UnlockTopology),
)
"""The types of action that commit a command."""


NODES_OWN = (act.ApplyTopology, act.AnswerBarrier)
"""The types of action of one node alone."""


class HistoryLine(Struct, frozen=True):
    """A command in the log: the state id that it made (0: none, since it was decided on a state
    that was no longer the newest), by whom, what it says.
    """

    step: int
    state_id: int
    creator: str
    description: str


def history(m: Topology, steps: Sequence[PassedStep]) -> tuple[HistoryLine, ...]:
    """The commands that were committed, in their order."""
    lines = []
    for number, step in enumerate(steps):
        if not isinstance(step.action, COMMITS):
            continue
        before, after = step.before, step.after
        creator = ""
        if isinstance(step.action, act.CommitDeposed):
            creator = before.deposed.creator if before.deposed else ""
        elif isinstance(step.action, act.ReportClean):
            creator = str(step.action.node)
        elif isinstance(step.action, act.CommitDecision | act.MoveTablets):
            creator = m.leader(before)
        made, said = 0, "no-op: another command came first"
        if before.state_id != after.state_id:
            made = after.state_id
            said = command_words(m, before, after)
        lines.append(HistoryLine(number, made, creator, said))
    return tuple(lines)


RunIds = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
"""State ids of a run, by number: of the commands that made each request, as its id; and of those
that committed each CDC generation, as its time. What is older than the run has none.
"""


def run_ids(steps: Sequence[PassedStep]) -> RunIds:
    """The ids that requests and generations got in a run."""
    requests, generations = [], []
    for step in steps:
        before, after = step.before.topology, step.after.topology
        if len(after.requests) > len(before.requests):
            requests.append((len(after.requests), step.after.state_id))
        if after.generations > before.generations:
            generations.append((after.generations, step.after.state_id))
    return tuple(requests), tuple(generations)


def ends_of(steps: Sequence[PassedStep]) -> dict[int, int]:
    """The state ids of the commands that ended requests of a run, by the requests' numbers."""
    ends: dict[int, int] = {}
    for step in steps:
        for number, was, now in changed_requests(step.before.topology, step.after.topology):
            if now.done and not (was and was.done):
                ends[number] = step.after.state_id
    return ends


def journal(m: Topology, before: ControlState, action: Any, after: ControlState) -> Iterator[str]:
    """The log lines of the coordinator's server about a step, in the server's wording."""
    commits = isinstance(action, act.CommitDecision | act.CommitDeposed)
    if commits and before.state_id != after.state_id:
        yield f"updating topology state: {command_words(m, before, after)}"
    entered = after.topology.transition
    handles = after.started and after.coordinator != NOBODY
    again = handles and not (before.started and before.coordinator == after.coordinator)
    if entered and (entered != before.topology.transition or again):
        yield f"entered `{TRANSITION_STATE[entered].stored}` transition state"
    if isinstance(action, NODES_OWN) and before.attempted.step == after.attempted.step:
        return  # what one node applies or answers changes nothing of what is sent
    if (command := _sent(m, after)) and command != _sent(m, before):
        yield command


def _sent(m: Topology, s: ControlState) -> str:
    task = work.task_of(s, m.setting)
    runs = s.coordinator != NOBODY and s.started and s.attempted.command is None
    if task.work is None or not task.work.barrier or not runs or work.fence_is_due(s, task):
        return ""
    without = ", ".join(m.named(excluded(s.topology, task.node)))
    command = command_sent(work.drains(s, task))
    return f"executing global topology command {command}, excluded nodes: {{{without}}}"


def command_words(m: Topology, before: ControlState, after: ControlState) -> str:
    """What an effective command did, in one line: a new coordinator's first one changes nothing."""
    tables = before.topology, after.topology
    changed = "; ".join((*_node_changes(m, *tables), *_static_changes(*tables)))
    changed = changed or ", ".join(changed_cells(*tables, m.names))
    return changed or (TABLETS if before.started else START_MARKER)


def _node_changes(m: Topology, before: ClusterTopology, after: ClusterTopology) -> Iterator[str]:
    for name, old, new in zip(m.names, before.nodes, after.nodes, strict=True):
        if old.state != new.state:
            came_from = f"{old.state} → " if old.state != NO_ROW else ""
            yield f"{name}: {came_from}{new.state}"
        if new.request and old.request != new.request:
            yield f"{name} asks for {new.request}"
        if old.cleanup != new.cleanup:
            yield f"{name}: cleanup {new.cleanup}"


def _static_changes(before: ClusterTopology, after: ClusterTopology) -> Iterator[str]:
    if before.transition != after.transition:
        yield f"{before.transition or NULL} → {after.transition or NULL}"
    if before.version != after.version:
        yield f"version {after.version}"
    if before.fence_version != after.fence_version:
        yield f"advance fence version to {after.fence_version}"
    if after.resizes < before.resizes:
        yield "new maps of tablets"
    if after.generations > before.generations:
        yield "a CDC generation is committed"
    if after.unpublished < before.unpublished:
        yield "a CDC generation is published"
    if before.enabled != after.enabled:
        yield "features are enabled"
    if before.balancing != after.balancing:
        yield f"tablet balancing is {'on' if after.balancing else 'off'}"
    for number, old, new in changed_requests(before, after):
        if old is None and new.node == NOBODY:
            yield f"request {new.kind}"
        elif old is not None and new.done and not old.done:
            yield f"request {number} {'fails' if new.error else 'is done'}"


# -- what ``nodetool`` answers ---------------------------------------------------------------------


TABLE = (
    "key text, host_id uuid; datacenter text, rack text, node_state text, tokens set<text>, "
    "topology_request text, replaced_id uuid, transition_state text static, version bigint static, "
    "fence_version bigint static"
)
LETTERS = {"normal": "N", "rebuilding": "N", "decommissioning": "L", "removing": "L"}


class ClusterServers(Servers):
    """The servers of a cluster, asked for its nodes."""

    does: Mapping[str, str] = {"nodetool decommission": "leave {here}"}
    lacks: Mapping[str, str] = {"nodetool describecluster": "there is no schema", **Servers.lacks}

    def __init__(self) -> None:
        self.tables = (NodeTable("topology", TABLE, self.rows),)

    def control(self, now: DrillMoment) -> ControlState:
        """The cluster, also of a model that is more."""
        state: ControlState = getattr(now.state, "control", now.state)
        return state

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine, at the last address that the one that is asked has heard of."""
        s, here = self.control(now), now.here
        behind = [at != here and s.unheard >> at & 1 for at in range(len(now.model.names))]
        where = (address_of(s, at, behind=late) for at, late in enumerate(behind))
        racks = (node.rack.split("/") if node.rack else () for node in s.topology.nodes)
        return [
            ServerHost(address, host_id(at), *rack)
            for at, (address, rack) in enumerate(zip(where, racks, strict=True))
        ]

    def rows(self, now: DrillMoment, number: int) -> Iterator[Row]:
        """The rows of ``system.topology``: who replaces a node has its token."""
        topology, hosts = self.control(now).topology, self.hosts(now)
        state = TRANSITION_STATE.get(topology.transition)
        for at, node in enumerate(topology.nodes):
            if node.state == NO_ROW:
                continue
            owner = node.replaced if node.state == "replacing" else at
            token = topology.nodes[owner].tokens_string or token_of(owner)
            yield {
                "key": "topology",
                "host_id": hosts[at].host_id,
                "datacenter": hosts[at].dc,
                "rack": hosts[at].rack,
                "node_state": node.state,
                "tokens": [token] if node.tokens else None,
                "topology_request": node.request or None,
                "replaced_id": None if node.replaced == NOBODY else host_id(node.replaced),
                "transition_state": state.spelled(now.model.edition) if state else None,
                "version": topology.version,
                "fence_version": topology.fence_version,
            }

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return bool(self.control(now).up >> at & 1)

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether it has a row, and has not left."""
        return self.control(now).topology.nodes[at].state not in (NO_ROW, "left")

    def letter(self, now: DrillMoment, at: int) -> str:
        """Normal, leaving, or joining."""
        return LETTERS.get(self.control(now).topology.nodes[at].state, "J")


SERVERS = ClusterServers()
