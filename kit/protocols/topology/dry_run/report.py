"""What the coordinator would do next on a cluster's own tables, and what it waits for.

``decide`` and ``queue`` alone say it. Where nothing tells who is up they are asked once for each
case that differs: with all nodes up, and with one node of a kind down.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cache
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from kit.edge.arguments import checked
from kit.edge.paths import Readable
from kit.errors import BadInput, counted
from kit.masks import nodes_in, where
from kit.protocols.group0.rules.quorum import Quorum, extremes
from kit.protocols.group0.rules.releases import GOSSIPED, NEWEST, SUPPORTED, Release, gossips
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.topology.dry_run.opening import UNTOLD, OpenedTopology, open_topology
from kit.protocols.topology.rules import machines
from kit.protocols.topology.rules import work as rules
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, Setting, in_state
from kit.protocols.topology.rules.columns import SystemTopology, SystemTopologyRow, load
from kit.protocols.topology.rules.decide import DecisionKind, QueueEntry, Standing, decide, queue
from kit.protocols.topology.rules.replication import place_of

NotModelled = Literal["not modelled"]
NOT_MODELLED: NotModelled = "not modelled"


def is_played(kind: str) -> bool:
    """Whether requests of this kind are played."""
    known = machines.GLOBAL_REQUEST.get(kind)
    return kind in machines.NODE_REQUESTS or (known is not None and known.played)


def not_modelled(opened: OpenedTopology) -> Iterator[str]:
    """States and requests that are known, and not played here."""
    yield from unplayed_states(opened.table)
    for request in opened.requests:
        kind = request.request_type or UNTOLD
        if not request.done and not is_played(kind) and kind != UNTOLD:
            yield f"request {kind}"


def unplayed_states(table: SystemTopology) -> Iterator[str]:
    """What has to end before anything begins: no request is served before the upgrade is done."""
    state = machines.transition_state(table.transition_state or "")
    if state is not None and not state.played:
        yield f"transition state {state.name}"
    if table.upgrade_state not in (None, "done"):
        yield f"upgrade state {table.upgrade_state}"


def untold(opened: OpenedTopology, setting: Setting, rf: int) -> Iterator[str]:
    """The answers that depend on tables that the dump does not hold: asked as an operation begins.

    In edition ``documents`` no racks are checked, and tablets are drained within the operation.
    """
    if setting.edition == "documents":
        return
    if gossips(setting.release, opened.table.upgrade_state) is None:
        yield GOSSIPED
    begins = [row for row in opened.table.rows if row.node_state in ("none", "normal")]
    asks = {"join", "leave", "remove"} & {row.topology_request for row in begins}
    # The rack of a node that bootstraps and has no tokens yet is checked before it gets any.
    state = machines.transition_state(opened.table.transition_state or "")
    if state is not None and state.name == "join_group0":
        asks |= {"join" for row in opened.table.rows if row.node_state == "bootstrapping"}
    racks = {(row.datacenter, row.rack) for row in opened.table.rows if row.rack}
    if asks and len(racks) > 1 and not rf and setting.has("rack-checks"):
        yield (
            "the dump does not say whether a keyspace must stay RF-rack-valid: --rf N checks the "
            f"racks before a {' or a '.join(sorted(asks))}"
        )
    for row in begins:
        if row.topology_request in ("leave", "remove") and setting.has("paused-drain"):
            held = None if opened.tablets is None else opened.tablets.get(row.host_id, 0)
            words = f"the dump does not say whether {row.host_id} has tablets"
            if held:
                words = f"{row.host_id} has {counted(held, 'replica')} of tablets"
            if held != 0:
                yield f"{words}: while it has any, its {row.topology_request} is paused"


MOST_REPLICAS = 1000  # of a datacenter
GOES_ON = "continues anyway"
STUCK: tuple[str, ...] = ("cancel", "reject", "refuse", "wait")
"""Decisions after which no operation goes on by itself."""


class NodeLine(Struct, frozen=True):
    """A node of the dump: how many tokens it owns; ``up`` is None where nothing tells."""

    host_id: str
    state: str
    tokens: int
    up: bool | None
    datacenter: str | None = None
    rack: str | None = None
    request: str | None = None
    cleanup: str | None = None
    ignored: bool = False


class StateLine(Struct, frozen=True):
    """A state of the machine that is under way.

    ``leads`` gives each kind of edge where it leads: another state, or what the node becomes.
    ``about`` explains it, where its name does not.
    """

    state: str
    current: bool
    reads: str
    writes: str
    work: tuple[str, ...]
    leads: Mapping[str, str]
    about: str = ""


class NextStep(Struct, frozen=True):
    """The next step of the coordinator in one case.

    ``request`` is the kind of the request that the decision is about, ``node`` whose it is (None:
    no request is, or one of the whole cluster).
    ``down``: any one of these nodes is down in this case; where it is known who is up, all of them
    are. ``work`` is what is left of the state, in order; ``leads_to`` is where the operation stands
    once it is done. ``waits_for`` are nodes that are down and that the decision needs, or the part
    of the work that ``fails``, the first for which somebody is missed; ``otherwise`` is what
    follows where that, or else the first part, fails.
    """

    down: tuple[str, ...]
    decision: DecisionKind | NotModelled
    reason: str
    request: str | None = None
    node: str | None = None
    work: tuple[str, ...] = ()
    leads_to: str = ""
    otherwise: str = ""
    needs: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    fails: str = ""


class QueueLine(Struct, frozen=True):
    """A request that is not done: where it stands and why, and whom it waits for.

    ``id`` is None where the files do not tell it. ``parameters`` are what a request of the whole
    cluster names in ``system.topology_requests``: a table, or a keyspace and its replicas.
    """

    id: str | None
    kind: str
    node: str | None
    standing: Standing
    reason: str
    waits_for: tuple[str, ...] = ()
    parameters: str = ""


class TopologyReport(Struct, frozen=True):
    """A dump as a state, and what its coordinator would do next.

    ``known`` says whether it is known who is up: then ``cases`` has one entry. Else the first is
    with all nodes up, and the others are those that differ; ``indifferent`` are nodes whose death
    would change nothing. The queue is that of the first case. ``elsewhere`` says what comes next on
    other supported releases of the server, where that differs.
    """

    source: str
    edition: str
    transition_state: str | None
    version: int
    fence_version: int
    session: str | None
    operation: str | None
    node: str | None
    known: bool
    nodes: tuple[NodeLine, ...]
    states: tuple[StateLine, ...]
    cases: tuple[NextStep, ...]
    indifferent: tuple[str, ...]
    queue: tuple[QueueLine, ...]
    release: str = ""
    elsewhere: Mapping[str, NextStep] = field(default_factory=dict)
    not_modelled: tuple[str, ...] = ()
    unknown_columns: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether, in the first case, something goes on or there is nothing to do."""
        first = self.cases[0]
        is_held = first.waits_for and first.otherwise != GOES_ON
        return first.decision not in STUCK and not is_held


@checked
def coordinator(
    dump: Readable,
    *,
    requests: Readable | None = None,
    status: Readable | None = None,
    down: str | Iterable[str] = (),
    rf: int = 0,
    edition: machines.Edition = "server",
    release: Release = NEWEST,
    anonymize: bool = False,
) -> TopologyReport:
    """Say what the coordinator would do next on a dump of ``system.topology``, and why it waits.

    ``dump`` may be a snapshot, as a folder or an archive; ``anonymize`` first replaces its names.

    ``requests`` is a dump of ``system.topology_requests``, and ``status`` the output of ``nodetool
    status``. ``down`` lists nodes that are down: by host id, its first letters, or an address in
    ``status``. Without ``status`` and ``down``, each case that differs gets its own answer. ``rf``
    is the number of replicas in each datacenter of a keyspace that must stay RF-rack-valid (0:
    there is no such keyspace); no column of the dump has it. ``release`` is the server's.

    Raises BadInput for a file that is not well formed, content that is impossible, a name that no
    node has, or an ``rf`` that no keyspace can have.
    """
    if not 0 <= rf <= MOST_REPLICAS:
        allowed = f"replicas in each datacenter, a number from 0 to {MOST_REPLICAS}"
        raise BadInput("rf", rf, allowed)
    names = (down,) if isinstance(down, str) else tuple(down)
    files = {"requests": requests, "status": status}
    opened = open_topology(dump, **files, down=names, edition=edition, anonymize=anonymize)
    kind = opened.table.global_topology_request
    if kind and not opened.table.global_topology_request_id:
        place = f"{opened.source} global_topology_request"
        raise BadInput(place, kind, "a dump that has global_topology_request_id, too")
    setting = Setting(edition, release=release)
    if _is_before(opened, setting):
        allowed = f"a state of release {release}; releases before 2026.1 have it (--release 2025.4)"
        raise BadInput(f"{opened.source} transition_state", opened.table.transition_state, allowed)
    return report(opened, setting, rf)


def _is_before(opened: OpenedTopology, setting: Setting) -> bool:
    state = machines.transition_state(opened.table.transition_state or "")
    whose = machines.tables_with([state.name if state else ""], setting.edition)
    return whose != setting.tables == "server"


def report(opened: OpenedTopology, setting: Setting, rf: int = 0) -> TopologyReport:
    """The report on what the coordinator of an opened cluster would do next."""
    ask = _Asking(opened, setting, rf)
    hosts = ask.hosts
    operation = None if ask.held_by else rules.under_way(ask.topology)
    table = opened.table
    assert table.version is not None
    assert table.fence_version is not None
    state = machines.transition_state(table.transition_state or "")
    return TopologyReport(
        opened.source,
        setting.edition,
        state.name if state else None,
        table.version,
        table.fence_version,
        table.session,
        operation.machine if operation else None,
        hosts[operation.node] if operation and operation.node != NOBODY else None,
        opened.down is not None,
        tuple(_node_line(row, opened) for row in table.rows),
        tuple(_states(operation, setting)) if operation else (),
        *ask.cases(),
        ask.queue_lines(),
        setting.release if setting.edition == "server" else "",
        dict(ask.elsewhere()),
        tuple(not_modelled(opened)),
        opened.unknown,
        (*opened.warnings, *ask.depends(), *untold(opened, setting, rf)),
    )


def _node_line(row: SystemTopologyRow, opened: OpenedTopology) -> NodeLine:
    is_told = opened.down is not None and row.node_state != "left"
    up = row.host_id not in (opened.down or ()) if is_told else None
    return NodeLine(
        row.host_id,
        row.node_state or NO_ROW,
        len(row.tokens),
        up,
        row.datacenter,
        row.rack,
        row.topology_request,
        row.cleanup_status,
        row.host_id in opened.table.ignore_nodes,
    )


class _Asking:
    """The tables with all that is needed to ask what comes next."""

    def __init__(self, opened: OpenedTopology, setting: Setting, rf: int) -> None:
        self.opened, self.setting = opened, setting
        topology, self.hosts = load(opened.table, opened.requests)
        self.topology = replace(topology, rf=rf)
        present = {row.host_id for row in opened.table.rows if row.node_state != "left"}
        self.all = where(host in present for host in self.hosts)
        dead = where(host in (opened.down or ()) for host in self.hosts)
        self.alive = self.all & ~dead
        self.excluded = where(host in opened.excluded for host in self.hosts)
        self.held_by = next(unplayed_states(opened.table), "")
        self.group0 = cache(self._group0)  # of each case it is asked several times
        self.places = tuple(place_of(entry.rack) for entry in topology.nodes)

    def named(self, mask: int) -> tuple[str, ...]:
        return tuple(self.hosts[i] for i in nodes_in(mask))

    def cases(self) -> tuple[tuple[NextStep, ...], tuple[str, ...]]:
        first = self.step(self.alive)
        if self.opened.down is not None:
            return (replace(first, down=self.named(self.all & ~self.alive)),), ()
        # By what comes next, and whether somebody is missed for it: the nodes (masks) of which any
        # one is down.
        differing: dict[tuple[NextStep, bool], int] = {}
        for alike in self._alike():
            first_bit = alike & -alike
            step = self.step(self.all & ~first_bit)
            case = replace(step, needs=first.needs, waits_for=()), bool(step.waits_for)
            differing[case] = differing.get(case, 0) | alike
        indifferent = self.named(differing.pop((first, False), 0))
        cases = [
            replace(step, down=self.named(nodes), waits_for=self.named(nodes) if is_missed else ())
            for (step, is_missed), nodes in differing.items()
        ]
        return (first, *cases), indifferent

    def _alike(self) -> Iterable[int]:
        named = {row.replaced_id for row in self.opened.table.rows}
        groups: dict[object, int] = {}
        for i in nodes_in(self.all):
            entry = self.topology.nodes[i]
            alone = entry.state in machines.IN_TRANSITION or entry.request or self.hosts[i] in named
            is_ignored = self.topology.ignored >> i & 1
            kind = i if alone else (entry.state, entry.cleanup, entry.tokens, is_ignored)
            groups[kind] = groups.get(kind, 0) | 1 << i
        return groups.values()

    def _group0(self, alive: int) -> tuple[Quorum, Quorum]:
        able, down = rules.voters(self.topology), self.all & ~alive
        if self.setting.edition == "documents":
            every = Quorum(able, able & ~down)
            return every, every
        return extremes(self.places, able, down & able, 0, VoterRules(self.setting.release))

    def no_majority(self, alive: int) -> str:
        """Why nothing can be committed, whoever votes; the empty text: something can."""
        _, best = self.group0(alive)
        if best.holds:
            return ""
        held, voters = best.live.bit_count(), best.voters.bit_count()
        return f"group 0 has no majority: {held} of {counted(voters, 'voter')} up"

    def depends(self) -> Iterator[str]:
        worst, best = self.group0(self.alive)
        if best.holds and not worst.holds:
            yield (
                "whether group 0 still has a majority depends on which nodes vote (see recover); "
                "without one, nothing of this happens"
            )

    def entries(self, alive: int) -> tuple[QueueEntry, ...]:
        """The queue; all of it waits for a state that is not played, or a majority of group 0."""
        entries, reason = queue(self.topology, alive, self.setting), self.no_majority(alive)
        if self.held_by:
            reason = f"{self.held_by} ({NOT_MODELLED}) must end first"
        if not reason:
            return entries
        return tuple(replace(e, standing="waits", reason=reason, waits_for=0) for e in entries)

    def _unplayed(self, alive: int) -> str:
        if self.held_by:
            return f"the {self.held_by} is {NOT_MODELLED}"
        for entry in self.entries(alive):
            if entry.standing == "next" and not is_played(entry.kind):
                return f"a request of type {entry.kind} comes next, which is {NOT_MODELLED}"
        return ""

    def step(self, alive: int) -> NextStep:
        if unplayed := self._unplayed(alive):
            return NextStep((), NOT_MODELLED, unplayed)
        if reason := self.no_majority(alive):
            gone = rules.voters(self.topology) & ~alive
            return NextStep((), "wait", reason, waits_for=self.named(gone))
        decision = decide(self.topology, alive, self.setting)
        operation, work = decision.operation, decision.work
        edge, reason = decision.edge, decision.reason
        racks = rules.gaining_racks(self.topology, operation, work, self.setting)
        if racks and operation:
            reason = f"{reason}; {rules.ASSIGNS} will fail: {racks}"
            edge = rules.machine_of(operation, self.setting).edge(operation.state, "rollback")
        request = self.topology.requests[decision.number - 1] if decision.number else None
        needs, missing, fails = decision.addressees, decision.missing, ""
        first = work[0] if work else None
        if operation is not None and not missing:
            for piece in work:  # what comes first may be done, and what follows it not
                whom = self.addressees(operation, piece)
                if whom & ~alive:
                    needs, missing, fails, first = whom, whom & ~alive, piece.name, piece
                    break
        otherwise = _otherwise(operation, first, self.setting) if first and operation else ""
        kind = request.kind if request else None
        host = None if request is None or request.node == NOBODY else self.hosts[request.node]
        pieces, leads = tuple(row.name for row in work), _target(edge) if edge else ""
        who, lacks = self.named(needs), self.named(missing)
        return NextStep(
            (), decision.kind, reason, kind, host, pieces, leads, otherwise, who, lacks, fails
        )

    def elsewhere(self) -> Iterator[tuple[str, NextStep]]:
        """The releases on which something else comes next, or waits, and what that is."""
        here, queue = self._compared()
        for release in SUPPORTED if self.setting.edition == "server" else ():
            there = copy(self)  # of the same tables, which are loaded once
            there.setting = replace(self.setting, release=release)
            there.group0 = cache(there._group0)
            if _is_before(self.opened, there.setting):
                continue
            step, lines = there._compared()
            if lines != queue and step == here:
                said = (f"{line.kind} {line.standing}: {line.reason}" for line in lines)
                step = replace(step, decision="wait", work=(), reason="; ".join(said))
            if step != here:
                yield release, step

    def _compared(self) -> tuple[NextStep, tuple[QueueLine, ...]]:
        step = self.step(self.alive)
        return replace(step, work=step.work[:1], needs=()), self.queue_lines()

    def addressees(self, operation: rules.TopologyOperation, piece: machines.WorkRow) -> int:
        """The nodes that work needs: tablets' own barriers wait for all that are not excluded."""
        if piece.name in (rules.FINISHES, "drain_tablets"):
            return in_state(self.topology, "normal") & ~self.excluded
        return rules.addressees(self.topology, operation, piece)

    def queue_lines(self) -> tuple[QueueLine, ...]:
        return tuple(map(self._queue_line, self.entries(self.alive)))

    def _queue_line(self, entry: QueueEntry) -> QueueLine:
        request = self.opened.requests[entry.number - 1]
        host = None if entry.node == NOBODY else self.hosts[entry.node]
        standing = entry.standing, entry.reason, self.named(entry.waits_for)
        return QueueLine(request.id or None, entry.kind, host, *standing, request.parameters)


def _states(operation: rules.TopologyOperation, setting: Setting) -> Iterator[StateLine]:
    machine = rules.machine_of(operation, setting)
    for row in machine.states:
        leads = dict[str, str]()
        for edge in machine.edges:
            if edge.source == row.name:
                first = f"{leads[edge.kind]}, or " if edge.kind in leads else ""
                why = f" ({edge.label})" if edge.when else ""
                leads[edge.kind] = f"{first}{_target(edge)}{why}"
        known, work = machines.TRANSITION_STATE.get(row.name), tuple(each.name for each in row.work)
        uses = row.name == operation.state, row.reads, row.writes
        yield StateLine(row.name, *uses, work, leads, known.about if known else "")


def _target(edge: machines.EdgeRow) -> str:
    if edge.target == machines.BOUNDARY:
        said = f"the node is {edge.becomes}" if edge.becomes else edge.label
        return f"the end: {said}" if said else "the end"
    return edge.target


def _otherwise(operation: rules.TopologyOperation, work: machines.WorkRow, setting: Setting) -> str:
    if (edge := rules.failure(operation, work, setting)) is not None:
        return f"{edge.kind}: {_target(edge)}"
    words = {"proceed": GOES_ON, "finish": "ends with an error"}
    return words.get(work.on_failure, "retries")
