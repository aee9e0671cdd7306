"""A cluster that has a coordinator: what is given of it, its state, and what follows every step.

What a coordinator only remembers is *volatile*; all else is stored, or is a fact of the cluster. A
node's lag counts only commands that change what steers its requests and streams: the views. Below
stand clients' requests by a version, and RPCs of a session that are left behind.
"""

from collections.abc import Iterator
from functools import lru_cache, partial, reduce
from operator import and_
from typing import Any, TypeAlias

from kit.errors import BadInput, Refusal
from kit.masks import is_majority, mask_of, nodes_in
from kit.model import declared
from kit.model.declared import Node, State, Travel, action, parameter, purpose, refused, safeguard
from kit.model.model import KeptAnyhow, switched_off
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.group0.state import VotingModel
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.requests import MOST_NODES, features, plan_of
from kit.protocols.topology.rules.work import TRUNCATES, limited_voters, state_of, under_way, voters

MOST_FAULTS = 9

hidden = partial(parameter, hidden=True)
written = partial(parameter, written=True)
faults = partial(declared.budget, 0, le=MOST_FAULTS)
NO_MAJORITY = refused("group 0 has no majority")


class Attempted(State, frozen=True, cache_hash=True):
    """The memory of a coordinator that another one would not have.

    ``step`` counts the pieces of the state's work that it did. Of a barrier: ``answered`` (a mask);
    ``commands`` once the drain failed and it goes on without. ``failed``: the piece of work failed.
    ``streaming``: the stream was begun. ``command`` is what it decided and has not committed yet.
    """

    step: int = 0
    answered: int = 0
    commands: bool = False
    failed: bool = False
    streaming: bool = False
    command: Command | None = None


NOTHING_DONE = Attempted()


class FaultBudget(State, frozen=True, cache_hash=True):
    """How often each fault may still happen, and how many clients still come."""

    crashes: int = 0
    changes: int = 0
    failures: int = 0
    cuts: int = 0
    late: int = 0
    addresses: int = 0
    configurations: int = 0
    exclusions: int = 0
    clients: int = 0
    tablets: int = 0
    resizes: int = 0


class ControlState(State, frozen=True, cache_hash=True, kw_only=True):
    """A cluster while its coordinator works.

    ``state_id`` is that of the newest command that took effect. ``views`` are what of the
    topology some node still goes by, the newest last; ``applied[i]`` is the place of node
    ``i``'s among them. ``up`` and ``cut`` (cut off) are masks, and so is ``chosen``: who votes,
    where fewer do than could (0: all). ``coordinator`` is ``NOBODY`` while there is none;
    ``started``: it has committed its start marker; ``heir``: it did not begin what is under
    way. ``attempted`` is volatile. ``deposed`` is a command that an earlier coordinator decided
    on and that is still on its way. ``made`` counts the requests that were made. A client's
    request runs at ``client`` by ``client_version``. ``leftover`` is the session of a stream
    that was left behind (0: none), at ``leftover_at`` (``NOBODY``: on its way); ``sealed``: a
    barrier has passed since its session was closed. ``fence_before`` is the fence version of before
    the last fence. ``addresses[i]`` counts the addresses that node ``i`` had before its own of now
    (empty: nobody ever changed); ``unheard`` are those whose address of now the others have not
    heard of (a mask). No table of group 0 holds an address: they know nodes by host ids.
    """

    topology: cluster.ClusterTopology
    state_id: int
    views: tuple[cluster.LocalView, ...]
    applied: tuple[int, ...]
    up: int
    cut: int = 0
    chosen: int = 0
    coordinator: int = 0
    started: bool = True
    heir: bool = False
    attempted: Attempted = NOTHING_DONE
    deposed: Command | None = None
    made: int = 0
    client: int = cluster.NOBODY
    client_version: int = 0
    leftover: int = 0
    leftover_at: int = cluster.NOBODY
    sealed: bool = False
    fence_before: int = 1
    addresses: tuple[int, ...] = ()
    unheard: int = 0
    faults: FaultBudget = FaultBudget()

    @property
    def reachable(self) -> int:
        """The nodes that are up, not cut off, and where the others look for them (a mask)."""
        return self.up & ~self.apart

    @property
    def apart(self) -> int:
        """The nodes that the others do not hear, dead or not: cut off, or at an unknown address."""
        return self.cut | self.unheard


def voting(s: ControlState) -> int:
    """The voters of group 0 (a mask)."""
    able = voters(s.topology)
    return s.chosen & able or able


def has_majority(s: ControlState) -> bool:
    """Whether a majority of group 0 is up and connected, so that commands can be committed."""
    return is_majority(s.reachable, voting(s))


def has_living_majority(s: ControlState) -> bool:
    """Whether a majority of group 0 is alive: without it progress is the recovery's affair."""
    return is_majority(s.up, voting(s))


def majority_refusal(s: ControlState) -> Refusal | None:
    """Why nothing can be committed now: group 0 has no majority."""
    return None if has_majority(s) else NO_MAJORITY


def reconfigured(before: ControlState, s: ControlState, rules: VoterRules) -> ControlState:
    """The state with the voters that the published server chooses, if a majority can commit it.

    It looks at them after every command, and whenever a node dies or is back: until then nobody
    gets a vote. Who was to be removed or replaced, and is not, never votes again: it is banned.
    """
    able = voters(s.topology)
    votes = voting(before) & able or able
    if s.coordinator != cluster.NOBODY and is_majority(s.reachable, votes):
        votes = limited_voters(s.topology, s.reachable, s.coordinator, votes, rules) or able
    chosen = votes if votes != able else 0
    return s.but(chosen=chosen) if chosen != s.chosen else s


def view_of(s: ControlState, node: int) -> cluster.LocalView:
    """The view of a node."""
    return s.views[s.applied[node]]


def caught_up(s: ControlState, nodes: int) -> ControlState:
    """The state once these nodes (a mask) have applied all there is."""
    newest = len(s.views) - 1
    if not (behind := [i for i in nodes_in(nodes) if s.applied[i] != newest]):
        return s
    applied = list(s.applied)
    for i in behind:
        applied[i] = newest
    return s.but(applied=tuple(applied))


@lru_cache(maxsize=1 << 16)
def _first_made(topology: cluster.ClusterTopology) -> cluster.ClusterTopology:
    return topology


def with_topology(s: ControlState, topology: cluster.ClusterTopology) -> ControlState:
    """The state with a topology that a command of group 0 made; nobody has applied it yet."""
    topology = _first_made(topology)
    view = cluster.local_view(topology)
    views = s.views if view == s.views[-1] else (*s.views, view)
    if topology.fence_version > s.topology.fence_version:
        s = s.but(fence_before=s.topology.fence_version)
    return s.but(topology=topology, state_id=s.state_id + 1, views=views)


def without_coordinator(s: ControlState) -> ControlState:
    """The state once the coordinator is gone: what it remembered is lost, its command may come."""
    deposed = s.attempted.command or s.deposed
    return s.but(coordinator=cluster.NOBODY, attempted=NOTHING_DONE, deposed=deposed)


def settled(s: ControlState) -> ControlState:
    """The same state without what no longer matters: views that nobody goes by, ghosts of clients.

    Who is no member goes by nothing; such nodes count as having applied all. A coordinator that
    became a non-voter steps down.
    """
    if s.coordinator != cluster.NOBODY and not voting(s) >> s.coordinator & 1:
        s = without_coordinator(s)
    if len(s.views) > 1:
        s = caught_up(s, (1 << len(s.applied)) - 1 & ~s.topology.members)
        if 0 not in s.applied:
            oldest = min(s.applied)
            s = s.but(views=s.views[oldest:], applied=tuple(i - oldest for i in s.applied))
    if s.client != cluster.NOBODY and not s.up >> s.client & 1:
        s = s.but(client=cluster.NOBODY, client_version=0)
    if s.leftover_at != cluster.NOBODY and not s.up >> s.leftover_at & 1:
        s = s.but(leftover=0, leftover_at=cluster.NOBODY, sealed=False)
    return s


Next: TypeAlias = ControlState | Refusal | None
Travels: TypeAlias = Iterator[Travel]


class Control(VotingModel[ControlState]):
    """The base of all parts of the model: the cluster that is given, and its first state."""

    State = ControlState

    edition: Edition = parameter("documents", "the documents, or the published server")
    nodes: int = parameter(3, "how many members there are at the start", ge=1, le=MOST_NODES)
    names: tuple[str, ...] = hidden((), "the names of the members (default: A, B, C)")
    operations: tuple[str, ...] = written(
        ("join D",),
        "requests, in this order: join D (or bootstrap), replace D C, "
        "leave C (or decommission), remove C (or removenode), rebuild C, cleanup, "
        "new_cdc_generation, keyspace_rf_change ks dc1=3, truncate_table ks.t, balancing off, lock",
    )
    down: tuple[str, ...] | None = hidden(
        None, "nodes that are down at the start (default: those that are removed or replaced)"
    )
    ignored: tuple[str, ...] = written((), "the nodes to ignore")
    zero_tokens: tuple[str, ...] = written(
        (), "the members that own no tokens", title="without tokens"
    )
    racks: tuple[str, ...] = written(
        (), "the rack of each node, members first: dc1/r1 dc1/r2 dc2/r1 (default: dc1/r1)"
    )
    rf: int = parameter(
        0,
        "replicas in each datacenter of a keyspace that must stay RF-rack-valid (0: no such "
        "keyspace)",
        title="replicas",
        ge=0,
        le=MOST_NODES,
    )
    keyspaces: tuple[str, ...] = written(
        (), "the keyspaces with tablets and their replicas: ks dc1=3 dc2=1"
    )
    newer: tuple[str, ...] = written(
        (), "the nodes with a newer release, which supports one more cluster feature"
    )
    crashes: int = faults("how many times a node can crash")
    changes: int = faults(
        "how many times a coordinator that is up can be deposed", title="coordinator changes"
    )
    failures: int = faults(
        "how many times a piece of work can fail on its own", title="failures of work"
    )
    cuts: int = faults("how many times a node can be cut off")
    late: int = faults("how many streams can be left behind", title="streams left behind")
    addresses: int = faults(
        "how many times a node can be restarted with another address", title="address changes"
    )
    configurations: int = faults(
        "how many times a node can be restarted with more shards", title="configuration changes"
    )
    exclusions: int = faults("how many times an operator can exclude a dead node")
    clients: int = faults("how many clients can make a request", title="client requests")
    tablets: int = faults(
        "how many times the balancer can find something to move", title="tablet plans"
    )
    resizes: int = faults(
        "how many tables can become ready for a resize", title="resizes of tables"
    )
    on_tablets: tuple[str, ...] = written(
        (), "the nodes that have tablets", title="nodes with tablets"
    )
    placing: bool = hidden(False, "whether tablets can be on any nodes after a move")
    publishing: bool = parameter(False, "CDC generations are published in separate steps")
    lag: bool = parameter(True, "nodes apply commands in separate steps, not immediately")

    fencing: bool = safeguard(
        "S-20",
        "A replica refuses requests below its fence version",
        ("INV-FENCE", "INV-STREAM"),
        smallest={"edition": "server", "nodes": 2, "failures": 1, "clients": 1},
        wider={"INV-FENCE": {"operations": ("leave B",)}},
    )
    barrier_drains: bool = safeguard(
        "S-21",
        "A barrier waits for requests at older versions",
        ("INV-STREAM", "INV-FENCE"),
        smallest={"nodes": 2, "clients": 1},
        wider={"INV-FENCE": {"operations": ("leave B",)}},
    )
    sessions: bool = safeguard(
        "S-24",
        "Work of an operation runs only under its session",
        ("INV-SESSION",),
        smallest={"nodes": 1, "late": 1},
    )
    tablet_track_excludes: bool = safeguard(
        "S-26",
        "No node operation begins while tablets move (on the server, a join may)",
        ("INV-EXCL",),
        smallest={"edition": "server", "nodes": 2, "operations": ("leave B",), "tablets": 1},
    )
    drain_before_leaving: bool = safeguard(
        "S-28",
        "A node is shut down only when no node writes to it",
        ("INV-AVAIL",),
        smallest={"nodes": 3, "operations": ("leave C",)},
    )
    refuse_live_removal: bool = safeguard(
        "S-40",
        "A node that is up is not removed",
        ("INV-MEMBER",),
        smallest={"nodes": 2, "operations": ("remove B",), "down": ()},
    )
    cleanup_first: bool = safeguard(
        "S-41",
        "Nodes clean up before a change that gives ranges back",
        ("INV-NORES",),
        smallest={"nodes": 2, "operations": ("join D", "leave D")},
    )
    continue_from_tables: bool = safeguard(
        "S-53",
        "A new coordinator continues from the tables",
        ("INV-PROGRESS",),
        smallest={"nodes": 2, "changes": 1},
    )
    refuse_left: bool = safeguard(
        "S-56",
        "A host id that has left cannot join again",
        ("INV-MEMBER",),
        smallest={"nodes": 2, "operations": ("leave B", "join B")},
    )
    start_marker: bool = safeguard(
        "S-58",
        "A new coordinator begins with a command of its own",
        (),
        smallest={"changes": 1},
        kept=(
            KeptAnyhow(
                "INV-ONCE",
                {"changes": 1},
                4415,
                "of two commands built on the same state, only one takes effect (S-59)",
            ),
        ),
    )
    commit_with_guard: bool = safeguard(
        "S-59",
        "A command names the state that it was based on",
        ("INV-ONCE", "INV-EXCL"),
        smallest={"nodes": 2, "changes": 1},
    )
    no_rollback_after_switch: bool = safeguard(
        "S-60",
        "No rollback once reads use the new replicas",
        ("INV-STREAM",),
        smallest={"edition": "documents", "nodes": 1, "failures": 1},
    )

    def set_up(self) -> None:
        """Read the requests; the names are those of all nodes, newcomers last."""
        self.setting = cluster.Setting(
            self.edition, switched_off(cluster.TopologySafeguards, self.off), self.release
        )
        self.plan = plan_of(self.parameters)
        self.names = self.plan.names
        self.limited = self.edition == "server"
        # Who is down at first: as given, else who is to be removed or replaced.
        gone = {asks.node for asks in self.plan.requests if asks.kind == "remove"}
        gone |= {asks.replaced for asks in self.plan.requests if asks.kind == "replace"}
        dead = mask_of(gone)
        self.start_down = dead if self.down is None else self.plan.mask(self.down, "down")
        for name in self.zero_tokens:
            if name not in self.names[: self.nodes]:
                raise BadInput(
                    "zero_tokens", name, "members: " + ", ".join(self.names[: self.nodes])
                )

    def newest_epoch(self, s: ControlState) -> int:
        """The topology version."""
        return s.topology.version

    def start(self) -> ControlState:
        """Every member is normal and knows all; the newcomers have no row yet."""
        members, zero = self.plan.members, self.plan.mask(self.zero_tokens, "zero_tokens")
        self.plan.mask(self.newer, "newer")  # only names of nodes
        supported = [features(self.parameters, name) for name in self.names]
        nodes = (
            cluster.NodeEntry(
                state="normal",
                supported=able,
                tokens=not zero >> i & 1,
                zero_token=bool(zero >> i & 1),
                rack=rack,
            )
            if members >> i & 1
            else cluster.NodeEntry(rack=rack)
            for i, (able, rack) in enumerate(zip(supported, self.plan.racks, strict=True))
        )
        topology = cluster.ClusterTopology(
            nodes=tuple(nodes),
            members=members,
            ignored=self.plan.mask(self.ignored, "ignored"),
            tablets_on=self.plan.mask(self.on_tablets, "on_tablets"),
            rf=self.rf,
            keyspaces=self.plan.keyspaces,
            enabled=reduce(and_, supported[: self.nodes]),
        )
        up = (1 << len(self.names)) - 1 & ~self.start_down
        start = ControlState(
            topology=topology,
            state_id=1,
            views=(cluster.local_view(topology),),
            applied=(0,) * len(self.names),
            up=up,
            coordinator=next(nodes_in(up & members), cluster.NOBODY),
            faults=FaultBudget(
                **{name: getattr(self, name) for name in FaultBudget.__struct_fields__}
            ),
        )
        return reconfigured(start, start, self.voter_rules) if self.limited else start

    def settled(self, before: ControlState, after: ControlState) -> ControlState:
        """No step leaves ghosts in the state; voters are chosen again where nodes have changed."""
        if (
            before.topology is after.topology
            and before.up == after.up
            and before.apart == after.apart
            and before.coordinator == after.coordinator
        ):
            if before.applied is after.applied:  # then it is as settled as it was
                return after
        elif self.limited:
            after = reconfigured(before, after, self.voter_rules)
        return settled(after if self.lag else caught_up(after, after.reachable))


NETWORK = "network"
SERVING_STATES = ("normal", "decommissioning", "removing", "rebuilding")
"""The states in which a node takes requests of clients."""


def serving(s: ControlState) -> int:
    """The nodes that take requests of clients (a mask)."""
    return cluster.in_state(s.topology, *SERVING_STATES) & s.up


def drain_refusal(s: ControlState, node: int, setting: cluster.Setting) -> Refusal | None:
    """Why a node does not answer a barrier yet: older requests, or work of a closed session."""
    view = cluster.local_view(s.topology)
    if s.client == node and not cluster.is_drained(s.client_version, view, setting.safeguards):
        return refused("a request at an older version still runs here")
    if s.leftover_at == node and not cluster.is_open(s.leftover, view, setting.safeguards):
        return refused("work from a closed session is still running here")
    return None


def served(s: ControlState, replica: int, setting: cluster.Setting) -> bool:
    """Whether the replica serves the client's request, or finds it below its fence."""
    return cluster.is_served(s.client_version, view_of(s, replica), setting.safeguards)


def permit(session: int) -> tuple[str, str]:
    """The tag of an RPC that carries a permit, and what is said of it; nothing without a session.

    Source: Topology over Raft, "Topology guards".
    """
    if not session:
        return "", ""
    return f", session {session}", f", with a frozen_topology_guard of session {session}"


def let_in(s: ControlState, node: int, setting: cluster.Setting) -> bool:
    """Whether a node lets in what was left behind, by the permit of its session."""
    return cluster.is_open(s.leftover, view_of(s, node), setting.safeguards)


def is_truncating(s: ControlState, setting: cluster.Setting) -> bool:
    """Whether the coordinator's next piece of work is to send the RPCs of a truncate."""
    operation = under_way(s.topology)
    if operation is None or s.coordinator == cluster.NOBODY or not s.topology.session:
        return False
    step = s.attempted.step
    work = state_of(operation, setting).work[step : step + 1]
    return any(row.name == TRUNCATES for row in work)


class Serving(Control):
    """What nodes do beside the coordinator: a client's request, and what a session left behind."""

    @action(
        kind="client",
        tag="begin",
        each=lambda m, s: serving(s) if s.client == cluster.NOBODY else 0,  # one runs at a time
        spends="faults.clients",
        unasked=True,
    )
    @purpose("A node routes by its own topology version, old or new.")
    def begin_request(self, s: ControlState, node: Node) -> Next:
        """A client's request begins at {node}, at the version that the node uses."""
        return s.but(client=node, client_version=view_of(s, node).version)

    def replicas(self, s: ControlState) -> int:
        """The nodes that the client's request may reach (a mask)."""
        return s.topology.members & s.up if s.client != cluster.NOBODY else 0

    def _serve_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        ok = served(before, self.number(action.replica), self.setting)
        said = "serves" if ok else "refuses"
        return f"{action.replica} {said} a request at version {before.client_version}."

    def _request_served(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        name, version = self.names[before.client], before.client_version
        there, back = self.spot(name), self.spot(action.replica)
        label = f"version {version}"
        said = f"{name} → {action.replica}: a request at {label}"
        yield Travel("request", there, back, label, said, stays=True)
        ok = served(before, self.number(action.replica), self.setting)
        word = "done" if ok else "stale"
        said = f"{action.replica} → {name}: {word}{'' if ok else ' version'}"
        way = back, there, word, said
        yield Travel("answer" if ok else "refusal", *way, leg=1, stays=True)

    @action(
        kind="client",
        tag="serve",
        each=replicas,
        unasked=True,
        says=_serve_words,
        travels=_request_served,
    )
    @purpose("A replica refuses any request with a version below its fence.")
    def serve_request(self, s: ControlState, replica: Node) -> Next:
        """The request reaches a replica and ends there: the replica serves it or finds it stale."""
        if replica != s.client and s.apart & (1 << s.client | 1 << replica):
            return refused("one of the two nodes is cut off")
        return s.but(client=cluster.NOBODY, client_version=0)

    @action(
        kind="late fault",
        verb="leave behind",
        label="the RPC is late and is left behind",
        spends="faults.late",
        fault=True,
        says=lambda m, before, action, after: (
            "The coordinator stops waiting for an RPC of the TRUNCATE, which is left behind."
            if is_truncating(before, m.setting)
            else "Part of the stream is left behind in the network."
        ),
    )
    @purpose("A slow message can arrive long after its operation is over.")
    def leave_behind(self, s: ControlState) -> Next:
        """Part of the running stream, or an RPC of a TRUNCATE, is left behind in the network."""
        if not (s.attempted.streaming or is_truncating(s, self.setting)):
            return None
        if s.leftover:
            return refused("an RPC of a session has already been left behind")
        return s.but(leftover=s.topology.session, leftover_at=cluster.NOBODY)

    def arrivals(self, s: ControlState) -> int:
        """The nodes where the part that was left behind may arrive (a mask)."""
        on_its_way = s.leftover and s.leftover_at == cluster.NOBODY
        sent_to = s.topology.members & ~s.topology.ignored  # to who is ignored nothing is sent
        return sent_to & s.reachable if on_its_way else 0

    def _late_work(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        label = f"session {before.leftover}"
        ok = let_in(before, self.number(action.node), self.setting)
        said = f"network → {action.node}: late work from {label}{'' if ok else ' (refused)'}"
        yield Travel("data", NETWORK, self.spot(action.node), label, said)

    @action(
        tag="late",
        each=arrivals,
        says=lambda m, before, action, after: (
            f"Late work from session {before.leftover} reaches {action.node}, which "
            + (
                "accepts it."
                if let_in(before, m.number(action.node), m.setting)
                else "refuses the work, because it does not know that session."
            )
        ),
        travels=_late_work,
    )
    @purpose("The permit of its session decides whether late work may still act.")
    def late_arrival(self, s: ControlState, node: Node) -> Next:
        """Work that was left behind reaches a node, with the permit of its session."""
        if let_in(s, node, self.setting):
            return s.but(leftover_at=node)
        return s.but(leftover=0, sealed=False)

    @action(kind="late", tag="end-late", verb="end leftover")
    @purpose("Once finished, late work can no longer change anything.")
    def end_leftover(self, s: ControlState) -> Next:
        """The late work that was let in has finished."""
        if s.leftover_at == cluster.NOBODY:
            return None
        return s.but(leftover=0, leftover_at=cluster.NOBODY, sealed=False)
