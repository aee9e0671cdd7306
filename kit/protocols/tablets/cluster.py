"""Tablets in a cluster with a coordinator: what is given, the state, what follows every step.

The cluster is the model ``topology``: a commit of a tablet's stage changes nothing in it but who
has tablets. What only a coordinator remembers is *volatile*.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.masks import mask_of
from kit.model.compose import Lifting
from kit.model.declared import State, action, budget, parameter, purpose, refused, safeguard
from kit.model.flows import Travels
from kit.protocols.group0.state import VotingModel
from kit.protocols.tablets.dump import DumpedTable, TabletDump, holders
from kit.protocols.tablets.hosts import LOG, NETWORK, Hosts, hidden, host_spot, written
from kit.protocols.tablets.rules import replica_sets
from kit.protocols.tablets.rules.maps import Tablet, keyspace_of
from kit.protocols.tablets.rules.replication import Place, misfits
from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind, tables_for
from kit.protocols.topology.control import MOST_FAULTS, ControlState
from kit.protocols.topology.control import NETWORK as THEIR_NETWORK
from kit.protocols.topology.coordinator import LOG as THEIR_LOG
from kit.protocols.topology.rules import cluster, machines
from kit.protocols.topology.rules.replication import factor_text, place_of, replication_in
from kit.protocols.topology.rules.requests import MOST_NODES, RequestPlan, plan_of
from kit.protocols.topology.topology import Topology, TopologyParameters

BalancingKind = Literal["migration", "intranode_migration", "repair", "add_tablet_replica"]
"""What begins without a request: a balancer's moves, a repair, a replica that an operator adds."""
ADDITION: Literal["add_tablet_replica"] = "add_tablet_replica"
TRACKS = ("tablet_migration", "tablet_draining")
NO_SESSION = 0
OUTSIDE = {THEIR_LOG: LOG, THEIR_NETWORK: NETWORK}
faults = partial(budget, 0, le=MOST_FAULTS)
faults_of_cluster = partial(faults, own=False)  # which it has as its own


class TabletTransition(State, frozen=True, cache_hash=True):
    """A transition of a tablet: its columns in ``system.tablets``, and how far its stage is.

    ``old`` are the replicas that it was planned on, ``session`` is ``NO_SESSION`` where none is
    open. Volatile: ``done`` counts the pieces of the stage's work that are done; ``failed``: the
    next one has failed; ``full``: because the target's disk is full.
    """

    kind: TransitionKind
    stage: str
    old: replica_sets.Replicas
    new: replica_sets.Replicas
    session: int = NO_SESSION
    done: int = 0
    failed: bool = False
    full: bool = False

    @property
    def sets(self) -> replica_sets.ReplicaSets:
        """The replicas before and after it."""
        return replica_sets.ReplicaSets(self.old, self.new)


def standing(transition: TabletTransition, place: int) -> str:
    """How a piece of the stage's work stands: *done*, *failed*, *next* or *later*."""
    if place == transition.done:
        return "failed" if transition.failed else "next"
    return "done" if place < transition.done else "later"


class TabletRow(State, frozen=True, cache_hash=True):
    """A tablet: its replicas, its transitions (at most one), and who holds all of its data
    (``whole``), or any (``some``).
    """

    replicas: replica_sets.Replicas
    transitions: tuple[TabletTransition, ...]
    whole: replica_sets.Replicas
    some: replica_sets.Replicas

    def way(self, place: int, transition: TabletTransition | None) -> TabletRow:
        """The row with another transition in that place, or without it."""
        kept = () if transition is None else (transition,)
        ways = self.transitions
        return self.but(transitions=(*ways[:place], *kept, *ways[place + 1 :]))

    def as_stored(self, last: int) -> Tablet:
        """Its row of ``system.tablets``, with its last token; of two transitions the first."""
        if (way := next(iter(self.transitions), None)) is None:
            return Tablet(last, self.replicas)
        return Tablet(last, self.replicas, way.new, way.stage, way.kind, way.session)

    def forgotten(self) -> TabletRow:
        """The row without what only a coordinator knew."""
        if not any(each.done or each.failed for each in self.transitions):
            return self
        ways = (each.but(done=0, failed=False, full=False) for each in self.transitions)
        return self.but(transitions=tuple(ways))


class StageChange(State, frozen=True, cache_hash=True):
    """What a command does to the transition at a ``place`` of a ``tablet``, decided in stage
    ``after``: it takes the edge of that kind.
    """

    tablet: int
    place: int
    after: str
    kind: machines.EdgeKind


class TabletCommand(State, frozen=True, cache_hash=True):
    """A command of group 0 that changes tablets: stages to enter, transitions to begin. ``joint``:
    it is one command with a change of the cluster's. ``stale``: group 0 changed after it was
    decided, so that its guard fails.
    """

    changes: tuple[StageChange, ...] = ()
    begins: tuple[tuple[int, TabletTransition], ...] = ()
    joint: bool = False
    stale: bool = False


class LateRpc(State, frozen=True, cache_hash=True):
    """An RPC of a stage that nobody waits for any more, with the ``stage`` and the ``session`` that
    it was sent in. ``runs``: a node let it in; ``sealed``: a barrier has passed since its stage was
    over.
    """

    tablet: int
    work: str
    targets: replica_sets.Replicas
    stage: str
    session: int
    runs: bool = False
    sealed: bool = False


SelectedReplicas = tuple[tuple[replica_sets.Replicas, replica_sets.Replicas], ...]
"""Of each tablet the replicas that requests read, and those that they write."""


class TabletsState(State, frozen=True, cache_hash=True, kw_only=True):
    """Tablets while the coordinator moves them.

    ``control`` is the cluster. ``command`` is what the coordinator decided of tablets and has not
    committed yet (volatile), ``deposed`` such a command of an earlier one. ``moves`` is how many
    transitions the balancer may still begin, ``lates`` how many RPCs may still be late,
    ``failures`` how much work on tablets may still fail by itself, ``full`` how often a disk may
    still be full. ``given_up`` are nodes (a mask) whose drain has failed: their requests to leave
    are about to end with an error.

    Where nodes answer one by one: ``views`` are the replicas that some node still goes by, the
    newest last, ``applied[i]`` is the place of node ``i``'s among them, and ``answered`` a mask of
    who has answered the barrier that runs (volatile).
    """

    control: ControlState
    tablets: tuple[TabletRow, ...]
    command: TabletCommand | None = None
    deposed: TabletCommand | None = None
    late: LateRpc | None = None
    moves: int = 0
    lates: int = 0
    failures: int = 0
    full: int = 0
    given_up: int = 0
    views: tuple[SelectedReplicas, ...] = ()
    applied: tuple[int, ...] = ()
    answered: int = 0

    @property
    def in_transition(self) -> bool:
        """Whether any tablet is in transition."""
        return any(row.transitions for row in self.tablets)

    @property
    def deposed_alone(self) -> bool:
        """Whether what an earlier coordinator decided last changes tablets, and nothing else."""
        return self.deposed is not None and not self.deposed.joint

    def with_rows(self, rows: Mapping[int, TabletRow]) -> TabletsState:
        """The state with other rows of these tablets."""
        if all(self.tablets[tablet] == row for tablet, row in rows.items()):
            return self
        tablets = list(self.tablets)
        for tablet, row in rows.items():
            tablets[tablet] = row
        return self.but(tablets=tuple(tablets))

    def sessions(self) -> set[int]:
        """The sessions that are open, or that some RPC still carries."""
        used = {each.session for row in self.tablets for each in row.transitions}
        return used | {self.late.session} if self.late else used

    def is_over(self, late: LateRpc) -> bool:
        """Whether the stage in which an RPC was sent is over."""
        ways = self.tablets[late.tablet].transitions
        return (late.stage, late.session) not in [(way.stage, way.session) for way in ways]

    def stored(self) -> tuple[Any, ...]:
        """The tablets' tables in group 0."""
        return tuple((row.replicas, row.forgotten().transitions) for row in self.tablets)


Next: TypeAlias = TabletsState | Refusal | None


NOT_HERE: tuple[Any, ...] = (
    *(Topology.apply_topology.struct, Topology.report_clean.struct, Topology.hear_address.struct),
    *(Topology.serve_request.struct, Topology.late_arrival.struct),
)
"""Steps of the cluster that no run here has: nodes apply at once, and serve no requests."""


class TabletCluster(Lifting[TabletsState], Hosts[TabletsState], VotingModel[TabletsState]):
    """The base of all parts of the model: the cluster, its tablets, and its first state."""

    State, of, part = TabletsState, Topology, "control"

    edition: machines.Edition = parameter("documents", "the documents, or the published server")
    nodes: int = parameter(4, "how many members there are at the start", ge=1, le=MOST_NODES)
    names: tuple[str, ...] = hidden((), "the names of the members (default: A, B, C)")
    tablets: tuple[str, ...] = written(
        ("A B C",), "the replicas of each tablet: A B C, or with shards A:0 B:1 C:0"
    )
    tables: tuple[str, ...] = written(
        ("ks.t",),
        "the co-located tables that these tablets belong to, the base table first",
        min_length=1,
    )
    keyspaces: tuple[str, ...] = written(
        (),
        "keyspaces with the racks that hold one replica each, as in ks dc1=r1,r2 (default: in each "
        "datacenter, as many replicas as its tablets have there)",
    )
    shards: int = parameter(1, "the shards of each node", ge=1, le=64)
    kinds: tuple[BalancingKind, ...] = written(
        ("migration",),
        "which transitions can begin: migration, intranode_migration, repair, add_tablet_replica",
    )
    rebuild: Literal["rebuild", "rebuild_v2"] = parameter(
        "rebuild_v2", "how a dead node's replica is rebuilt, and how a replica is added"
    )
    balancing: bool = parameter(True, "tablet_balancing_enabled: whether loads are evened out")
    moves: int = budget(
        1, "how many transitions the balancer can begin to even out the load", le=MOST_FAULTS
    )
    operations: tuple[str, ...] = written(
        (),
        "requests, in this order: bootstrap E, replace E C, decommission C, removenode C, "
        "keyspace_rf_change ks dc1=3 (or racks: dc1=r1,r2), truncate_table ks.t",
    )
    down: tuple[str, ...] | None = hidden(
        None, "nodes that are down at the start (default: those that are removed or replaced)"
    )
    ignored: tuple[str, ...] = written((), "the nodes to ignore")
    racks: tuple[str, ...] = written(
        (), "the rack of each node, members first: dc1/r1 dc1/r2 (default: all in one rack)"
    )
    answering: bool = parameter(False, "nodes apply stages and answer barriers one by one")
    crashes: int = faults_of_cluster("how many times a node may crash")
    changes: int = faults_of_cluster(
        "how many times a coordinator that is up may be deposed", title="coordinator changes"
    )
    failures: int = faults(
        "how many times a piece of tablet work may fail on its own", title="failures of work"
    )
    full: int = faults(
        "how many times the disk that a tablet is streamed to may be full", title="full disks"
    )
    undone: int = faults_of_cluster(
        "how many times other work of an operation may fail; "
        "a drain with no place to go always fails",
        title="failures of operations",
    )
    exclusions: int = faults_of_cluster("how many times an operator can exclude a dead node")
    late: int = faults_of_cluster(
        "how many stage RPCs may be late, and how many truncate RPCs", title="late RPCs"
    )
    dump: TabletDump | None = hidden(
        None, "what a cluster's own tables say besides its tablets; its balancer plans"
    )

    sessions: bool = safeguard(
        "S-24",
        "A stage's work runs only while its session is open, and every barrier waits for it",
        ("INV-SESSION", "INV-TABL-1", "INV-STREAM"),
        smallest={"nodes": 2, "tablets": ("A",), "moves": 1, "late": 1},
        wider={"INV-TABL-1": {"moves": 2}, "INV-STREAM": {"moves": 2}},
    )
    one_transition: bool = safeguard(
        "S-25",
        "A tablet has one transition at a time",
        ("INV-TABL-2", "INV-STREAM"),
        smallest={"nodes": 4, "tablets": ("A B",), "moves": 2},
    )
    tablet_track_excludes: bool = safeguard(
        "S-26",
        "No node operation begins while tablets move (on the server, a join may)",
        ("INV-EXCL", "INV-RF"),
        smallest={"nodes": 2, "tablets": ("A",), "moves": 1, "operations": ("decommission B",)}
        | {"edition": "server"},
    )
    drain_tablets_first: bool = safeguard(
        "S-27",
        "A node's tablets move away before it leaves",
        ("INV-RF", "INV-AVAIL"),
        smallest={"nodes": 2, "tablets": ("B",), "moves": 0, "operations": ("decommission B",)},
    )
    commit_with_guard: bool = safeguard(
        "S-59",
        "A command names the state that it is based on",
        ("INV-ONCE", "INV-EXCL"),
        smallest={"nodes": 2, "tablets": ("A",), "moves": 1, "changes": 1},
    )

    # What is given

    def newest_epoch(self, s: TabletsState) -> int:
        """The topology version."""
        return s.control.topology.version

    def set_up(self) -> None:
        """The tablets' first rows, and the cluster that they are in. BadInput for words that are no
        request or replica, or that do not fit each other.
        """
        placed = tuple(map(replica_sets.replicas_in, self.tablets))
        if len({*map(keyspace_of, self.tables)}) > 1 or len({*self.tables}) < len(self.tables):
            allowed = "co-located tables of one keyspace, each once"
            raise BadInput("tables", ", ".join(self.tables), allowed)
        table = DumpedTable(self.tables[0], len(placed), self.tables[1:])
        self.layout = self.dump or TabletDump((self.shards,) * self.nodes, (table,))
        given = self._given_of_cluster(placed)
        plan = plan_of(given)
        self.rows = tuple(self._first_rows(placed, plan.names[: self.nodes]))
        self.tablets_of = lru_cache(1 << 8)(self.layout.tablets_of)
        given = replace(given, keyspaces=self._keyspaces_before(plan))
        own = {each.name for each in Topology.safeguards}
        self.control = Topology(given, tuple(name for name in self.off if name in own))
        self.names, self.setting = self.control.names, self.control.setting
        # Servers drain nodes before their requests begin, from 2026.1 on.
        self.drains_first = self.setting.has("paused-drain")
        self.stage_tables = tables_for(self.edition, self.setting.release)
        self.places = dict(zip(self.names, map(place_of, self.control.plan.racks), strict=True))
        self._check_survivors()
        self.everybody = mask_of(range(len(self.names)))
        self.hosts = lru_cache(1 << 12)(lambda mask: frozenset(self.named(mask)))
        self.work = lru_cache(1 << 8)(self._work)

    def _check_survivors(self) -> None:
        """BadInput where no replica of a tablet is left, unless a dump shows the cluster so."""
        plan, down = self.control.plan, self.control.start_down
        given_up = [asks.node for asks in plan.requests if asks.kind == "remove"]
        given_up += [asks.replaced for asks in plan.requests if asks.kind == "replace"]
        lost = mask_of(given_up) & down | plan.mask(self.ignored, "ignored")
        for text, row in zip(self.tablets, self.rows, strict=True):
            if self.dump is None and not self.nodes_of(row.replicas) & ~lost:
                allowed = "a replica on another node, or a dead replica cannot be rebuilt"
                raise BadInput("tablets", text, allowed)

    def _given_of_cluster(self, placed: tuple[replica_sets.Replicas, ...]) -> Any:
        """The cluster's parameters; with S-27 off the coordinator knows of no tablets to drain."""
        hosts = {each.host for replicas in placed for each in replicas}
        replaces = sum(text.startswith("replace") for text in self.operations)
        truncates = any(text.startswith("truncate_table") for text in self.operations)
        own = (
            *("edition", "release", "most_voters", "nodes", "names", "operations", "down"),
            *("ignored", "racks", "crashes", "changes", "exclusions"),
        )
        return TopologyParameters(
            **{name: getattr(self, name) for name in own},
            failures=self.undone,
            late=self.late * truncates,
            tablets=self.moves + replaces,
            on_tablets=tuple(sorted(hosts)) if self.drain_tablets_first else (),
            placing=True,
            lag=False,
        )

    def _first_rows(
        self, placed: tuple[replica_sets.Replicas, ...], members: tuple[str, ...]
    ) -> Iterator[TabletRow]:
        """Each tablet as it begins: without a transition, all of its data on each of its replicas.
        BadInput for a host that is no member, a shard that its node lacks, or a dump that has not
        as many members and tablets.
        """
        self.layout.check(len(members), len(placed))
        shards = dict(zip(members, self.layout.shards, strict=True))
        for text, replicas in zip(self.tablets, placed, strict=True):
            for replica in replicas:
                if replica.host not in shards:
                    raise BadInput("tablets", text, "hosts among " + ", ".join(members))
                if replica.shard >= shards[replica.host]:
                    raise BadInput("tablets", text, f"shards below {shards[replica.host]}")
            yield TabletRow(replicas, (), tuple(sorted(replicas)), tuple(sorted(replicas)))

    def _keyspaces_before(self, plan: RequestPlan) -> tuple[str, ...]:
        """The keyspaces' replication, stated or as it is. BadInput for requests that don't fit."""
        tables = [name for t in self.layout.tables for name in (t.name, *t.colocated)]
        known = sorted({keyspace_of(table) for table in tables})
        words = [text.split() or [""] for text in self.keyspaces]
        stated = {name: replication_in(factors, "keyspaces") for name, *factors in words}
        for name in stated.keys() - known:
            raise BadInput("keyspaces", name, "one of " + ", ".join(known))
        for request in plan.requests:
            if request.keyspace not in ("", *known):
                raise BadInput("operations", request.keyspace, "the keyspace " + ", ".join(known))
            if request.table not in ("", *tables):
                allowed = "one of the tables " + ", ".join(tables)
                raise BadInput("operations", request.table, allowed)
        # Those of each tablet once the transitions that a dump shows are over.
        replicas = [row.replicas for row in self.rows]
        for each in self.layout.transitions:
            replicas[each.tablet] = replica_sets.replicas_in(each.new)
        place = {name: place_of(rack) for name, rack in zip(plan.names, plan.racks, strict=True)}
        texts = []
        changes = [each.keyspace for each in plan.requests if each.keyspace]
        for name in dict.fromkeys([*changes, *stated]):
            own = [
                (self.place(tablet)[0], [place[r.host] for r in replicas[tablet]])
                for tablet in self.tablets_of(name)
            ]
            before = replication_before(own, stated.get(name), "tablets")
            texts.append(" ".join([name, *_factors(before)]))
        return tuple(texts)

    @cached_property
    def flow_table(self) -> Mapping[type, Travels]:
        """The flows; not of steps that no run here has."""
        moving = super().flow_table.items()
        return {kind: travels for kind, travels in moving if kind not in NOT_HERE}

    def start(self) -> TabletsState:
        """The first state; with a dump's transitions on their track, in stages just begun."""
        control, rows = self.control.start(), [*self.rows]
        versions = {name: getattr(self.layout, name) for name in ("version", "fence_version")}
        for given in self.layout.transitions:
            old, new = rows[given.tablet].replicas, replica_sets.replicas_in(given.new)
            way = TabletTransition(given.kind, given.stage, old, new, given.session)
            whole, some = holders(self.table(way), given.stage, way.sets)
            rows[given.tablet] = TabletRow(old, (way,), tuple(sorted(whole)), tuple(sorted(some)))
        if self.layout.transitions:
            versions |= {"transition": "tablet_migration", "tablets": "moving"}
        topology = replace(control.topology, **versions)
        views, fence = (cluster.local_view(topology),), topology.fence_version
        control = control.but(topology=topology, views=views, fence_before=fence)
        counted = TabletsState(control=control, tablets=tuple(rows), moves=self.moves)
        return counted.but(lates=self.late, failures=self.failures, full=self.full)

    @property
    def begun(self) -> tuple[TransitionKind, ...]:
        """The kinds of transitions that ``kinds`` begin: one more replica is a rebuild."""
        return tuple(self.rebuild if kind == ADDITION else kind for kind in self.kinds)

    def place(self, tablet: int) -> tuple[str, int]:
        """The table of a tablet, and its number there; of co-located tables the base table."""
        table = bisect_right(self.layout.firsts, tablet) - 1
        return self.layout.tables[table].name, tablet - self.layout.firsts[table]

    def things(self, action: Any) -> tuple[str, ...]:
        """The tablet whose number an action has."""
        tablet = getattr(action, "tablet", None)
        return () if tablet is None else ("tablet {} {}".format(*self.place(tablet)),)

    def last_token(self, tablet: int) -> int:
        """The last token of a tablet."""
        name, number = self.place(tablet)
        return next(table for table in self.layout.tables if table.name == name).last_token(number)

    def tablet_words(self, tablet: int) -> str:
        """The name of a tablet: its number, and its table where there are several."""
        table, number = self.place(tablet)
        return f"tablet {number}" if self.dump is None else f"tablet {number} of {table}"

    def shards_of(self, host: str) -> int:
        """How many shards a node has; one that a dump does not show is like the first in it."""
        node = self.number(host)
        return self.layout.shards[node if node < len(self.layout.shards) else 0]

    def rack(self, host: str) -> str:
        """The rack of a host."""
        return self.control.plan.racks[self.number(host)]

    def table(self, transition: TabletTransition) -> machines.Machine:
        """The table of a transition's kind."""
        return TRANSITIONS[self.stage_tables][transition.kind]

    def why_here(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """A command is committed for the sake of the stage that it leads to."""
        reason = ""
        if self.kind(action) == "commit":
            for old, new in zip(before.tablets, after.tablets, strict=True):
                reason = reason or machines.reason_for(self._stage_row(old), self._stage_row(new))
        return reason or super().why_here(before, action, after)

    def _stage_row(self, tablet: TabletRow) -> machines.StateRow | None:
        way = next(iter(tablet.transitions), None)
        return None if way is None else self.table(way).state(way.stage)

    def _work(self, kind: TransitionKind, stage: str) -> tuple[tuple[machines.WorkRow, str], ...]:
        rows = TRANSITIONS[self.stage_tables][kind].state(stage).work
        return tuple(
            (row, table) for row in rows for table in (("",) if row.barrier else self.tables)
        )

    # Nodes by name, by place and in masks

    def nodes_of(self, replicas: Iterable[replica_sets.TabletReplica]) -> int:
        """The nodes of replicas (a mask)."""
        return mask_of(self.index[replica.host] for replica in replicas)

    def excluded(self, s: TabletsState) -> frozenset[str]:
        """The hosts that barriers and work of tablets pass over."""
        return self.hosts(excluded_nodes(s.control.topology))

    def lost(self, s: TabletsState) -> frozenset[str]:
        """The hosts that are gone where a stage fails: excluded, in ``documents`` also dead."""
        if self.edition == "server":
            return self.excluded(s)
        return self.excluded(s) | self.hosts(self.everybody & ~s.control.up)

    def owners(self, s: TabletsState) -> int:
        """The nodes that have tablets (a mask)."""
        return self.nodes_of(each for row in s.tablets for each in row.replicas)

    def leaving(self, topology: cluster.ClusterTopology) -> int:
        """The nodes whose tablets are to move to others (a mask)."""
        drained = topology.transition == "tablet_draining"
        states = ("decommissioning", "removing", "left") if drained else ("left",)
        requests = ("leave", "remove") if self.drains_first else ()
        pairs = enumerate(topology.nodes)
        return mask_of(i for i, e in pairs if e.state in states or e.request in requests)

    def here(self, key: str) -> str:
        """The place in the grid of something in the cluster's picture: nodes are rows here."""
        kind, _, name = key.partition(":")
        return host_spot(name) if kind == "n" else OUTSIDE.get(key, key)

    @action(
        when=lambda m: len(m.tables) > 1,
        kind="alter",
        verb="alter-co-location {table}",
        each=lambda m, s: m.tables[1:],
    )
    @purpose("Co-located tables keep their tablets in the same places.")
    def alter_base(self, s: TabletsState, table: str) -> Next:
        """A client changes which table another one is co-located with."""
        return refused("co-location is set when a table is created and cannot be altered")

    # What follows every step

    def settled(self, before: TabletsState, s: TabletsState) -> TabletsState:
        """The state after a step: a coordinator that is gone has forgotten, guards have failed."""
        if before.control.coordinator != s.control.coordinator:
            # Both halves of what is deposed are one coordinator's: a newer one's replaces both.
            empty_handed = s.command is None and before.control.attempted.command is None
            rows = tuple(row.forgotten() for row in s.tablets)
            s = s.but(command=None, deposed=s.deposed if empty_handed else s.command, tablets=rows)
        same = before.tablets is s.tablets or before.stored() == s.stored()
        if before.control.state_id != s.control.state_id or not same:
            # Any later command did that, a start marker too: what was sent cannot take effect now.
            s = s.but(command=stale(s.command), deposed=stale(s.deposed))
        if s.deposed is not None and s.deposed.stale and self.commit_with_guard:
            s = s.but(deposed=None)
        if s.given_up:
            pairs = enumerate(s.control.topology.nodes)
            leaving = mask_of(i for i, entry in pairs if entry.request == "leave")
            s = s.but(given_up=s.given_up & leaving)
        if s.late is not None and self.nodes_of(s.late.targets) & ~s.control.up:
            s = s.but(late=None)
        return s

    def is_judged(self, s: TabletsState, action: Any) -> bool:
        """An older command of the cluster's, which is not what comes late here, is not judged."""
        return not (s.deposed_alone and isinstance(action, Topology.commit_deposed))


def stale(command: TabletCommand | None) -> TabletCommand | None:
    """A command once group 0 has changed after it was decided."""
    return command if command is None or command.stale else command.but(stale=True)


# A search asks for these several times in each state, and many states have the same topology.
@lru_cache(1 << 10)
def removed_nodes(topology: cluster.ClusterTopology) -> int:
    """The nodes that will not come back: what they hold is made again from others (a mask)."""
    leaving = mask_of(i for i, entry in enumerate(topology.nodes) if entry.request == "remove")
    return leaving | cluster.in_state(topology, "removing", "left")


@lru_cache(1 << 10)
def gone_nodes(topology: cluster.ClusterTopology) -> int:
    """The nodes that have left without a successor: none has a replica any longer (a mask)."""
    succeeded = {entry.replaced for entry in topology.nodes} - {cluster.NOBODY}
    return cluster.in_state(topology, "left") & ~mask_of(succeeded)


def excluded_nodes(topology: cluster.ClusterTopology) -> int:
    """The nodes that barriers and work of tablets pass over (a mask)."""
    return topology.ignored | removed_nodes(topology)


@lru_cache(1 << 10)
def staying_nodes(topology: cluster.ClusterTopology) -> int:
    """The nodes that may get replicas if they are heard (a mask): normal ones, that are to stay."""
    pairs = enumerate(topology.nodes)
    going = mask_of(i for i, e in pairs if e.request in ("leave", "remove") or e.zero_token)
    return cluster.in_state(topology, "normal") & ~(going | topology.ignored)


def targets(s: TabletsState) -> int:
    """The nodes that may get a replica (a mask): normal, to stay, and heard."""
    return staying_nodes(s.control.topology) & s.control.reachable


def replication_before(
    places: Sequence[tuple[str, Sequence[Place]]], stated: cluster.Replication | None, field: str
) -> cluster.Replication:
    """The replication that a keyspace asks for: as stated, else as many replicas as its tables
    have.

    ``places`` are for each tablet its table, and the datacenters and racks of its replicas.
    BadInput of ``field`` where these differ, naming who has what.
    """
    before = _counted(places[0][1]) if stated is None else stated
    factors = dict(before)
    if all(next(misfits(held, factors), None) is None for _, held in places):
        return before
    factors_stated = (
        (name, factor if isinstance(factor, int) else tuple(sorted(factor)))
        for name, factor in stated or ()
        if factor
    )
    owners = {} if stated is None else {tuple(factors_stated): {"the schema": None}}
    for table, held in places:
        owners.setdefault(_counted(held, factors), {})[table] = None
    each = "; ".join(f"{' '.join(_factors(own))} in {', '.join(owners[own])}" for own in owners)
    allowed = "one for all tables. A change of it is under way, or was never completed"
    raise BadInput(field, "different replication factors", f"{allowed}: {each}")


def _counted(
    places: Sequence[Place], alike: Mapping[str, cluster.Factor] = MappingProxyType({})
) -> cluster.Replication:
    racks: dict[str, list[str]] = {}
    for datacenter, rack in sorted(places):
        racks.setdefault(datacenter, []).append(rack)
    return tuple(
        (name, tuple(held) if isinstance(alike.get(name), tuple) else len(held))
        for name, held in racks.items()
    )


def _factors(replication: cluster.Replication) -> Iterator[str]:
    return (f"{name}={factor_text(factor)}" for name, factor in replication)
