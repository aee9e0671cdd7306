"""Which transitions of tablets may begin: draining first, then RF changes, then even loads.

Any legal one may, not only what a balancer would choose; in a cluster that was read from a dump
those that its balancer, the planner, would begin. Sources: Topology over Raft, "Load balancing",
"Node replace with tablets", ``keyspace_rf_change``; published balancer, its node sets; published
coordinator, what stops new plans, and its handler of RF changes. That a tablet whose transition
went back, or that needs more than one step, begins another one is said by no document.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import nodes_in
from kit.protocols.tablets import cluster
from kit.protocols.tablets.dump import TabletDump
from kit.protocols.tablets.rules.balance.cluster import (
    BalancerNode,
    NodeRole,
    TabletSizes,
    balancer_input,
)
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.planner import BalancePlan, planned
from kit.protocols.tablets.rules.balance.reasons import Drains
from kit.protocols.tablets.rules.maps import TabletMap, keyspace_of, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica, replica_of
from kit.protocols.tablets.rules.replication import ReplicaChange, RfPlanner, Steps, steps
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.cluster import Replication, RequestEntry, in_state
from kit.protocols.topology.rules.decide import pending
from kit.protocols.topology.rules.replication import altered

EVENING = ("migration", "intranode_migration")
"""The kinds that even out loads; a repair moves nothing."""
Begin: TypeAlias = tuple[int, TransitionKind, str, str]
"""A transition that may begin: tablet, kind, and from where to where, as in ``A:0``, if given."""


class StatePlan(Struct, frozen=True):
    """The balancer's begins in a state, its drains, what is stuck, the plan."""

    begins: tuple[Begin, ...]
    drains: tuple[Begin, ...]
    stuck: tuple[TabletReplica, ...]
    step: BalancePlan


class Plans(cluster.TabletCluster):
    """The actions that may begin in a state, and those that have to."""

    def set_up(self) -> None:
        """With a dump the planner decides what begins."""
        super().set_up()
        self.planner = None if self.dump is None else DumpPlanner(self, self.dump)
        self.rf_steps = lru_cache(1 << 14)(self._rf_steps)

    def free(self, row: cluster.TabletRow) -> bool:
        """Whether the tablet may begin a transition (S-25)."""
        return not row.transitions or (not self.one_transition and len(row.transitions) < 2)

    def plan(self, s: cluster.TabletsState) -> Iterator[Begin]:
        """What may begin: drains, else RF changes; others while no request waits."""
        if self.planner is not None:
            step = self.planner.plan(s)
            changes = () if step.drains else tuple(self.completing(s))
            yield from changes or step.begins
            return
        first = list(self.drain_moves(s)) or list(self.completions(s))
        evens = not first and not pending(s.control.topology)
        yield from self.balance_moves(s) if evens else first

    def unfinished(self, s: cluster.TabletsState) -> bool:
        """Whether the track may not end yet: replicas can be drained, or keep a node from leaving,
        or an RF change can go on.
        """
        if any(self.drain_moves(s)) or any(self.completions(s)):
            return True
        left = in_state(s.control.topology, "left")
        return any(not left >> self.number(each.host) & 1 for _, each in self.drains(s))

    def roles(self, s: cluster.TabletsState) -> tuple[NodeRole, ...]:
        """The role of each node for the balancer."""
        topology = s.control.topology
        leaving = self.leaving(topology) * self.drain_tablets_first
        heard = s.control.reachable if self.edition == "documents" else self.everybody
        masks: tuple[tuple[NodeRole, int], ...] = (
            ("left", leaving & in_state(topology, "left")),
            ("removing", leaving & cluster.removed_nodes(topology)),
            ("leaving", leaving & heard & ~topology.ignored & ~s.given_up),
            ("excluded", leaving | topology.ignored),
            ("normal", cluster.targets(s)),
            ("down", cluster.staying_nodes(topology)),
            ("zero-token", in_state(topology, "normal")),
        )

        def role(node: int) -> NodeRole:
            return next((role for role, mask in masks if mask >> node & 1), "joining")

        return tuple(map(role, range(len(self.names))))

    def maps(self, rows: Sequence[cluster.TabletRow]) -> dict[str, TabletMap]:
        """The map of each table, by the rows of all tablets."""
        maps = {}
        for table, first in zip(self.layout.tables, self.layout.firsts, strict=False):
            own = rows[first : first + table.tablets]
            lasts = table.lasts or last_tokens(table.tablets)
            stored = tuple(row.as_stored(last) for row, last in zip(own, lasts, strict=True))
            maps[table.name] = TabletMap(table.name, stored, resize_type=table.resize_type)
        return maps

    def balancer_nodes(self, roles: Iterable[NodeRole]) -> Iterator[BalancerNode]:
        """Every node as the balancer sees it; one that a dump does not show is like its first."""
        sizes = self.layout.capacities
        for code, (name, role) in enumerate(zip(self.names, roles, strict=True)):
            size = sizes[code if code < len(sizes) else 0] if sizes else 0
            yield BalancerNode(name, *self.places[name], self.shards_of(name), size, role)

    # Draining

    def drains(self, s: cluster.TabletsState) -> Iterator[tuple[int, TabletReplica]]:
        """The replicas that have to go elsewhere, tablet by tablet."""
        leaving = self.leaving(s.control.topology)
        if not leaving or not self.drain_tablets_first:
            return
        for tablet, row in enumerate(s.tablets):
            if self.free(row):
                for replica in row.replicas:
                    if leaving >> self.number(replica.host) & 1:
                        yield tablet, replica

    def drain_moves(self, s: cluster.TabletsState) -> Iterator[Begin]:
        """The transitions that empty the nodes that are to leave, or that have left."""
        if self.planner is not None:
            yield from self.planner.plan(s).drains
            return
        removed = cluster.removed_nodes(s.control.topology)
        for tablet, source in self.drains(s):
            gone = removed >> self.number(source.host) & 1
            kind: TransitionKind = self.rebuild if gone else "migration"
            for target in self.drain_targets(s, tablet, source):
                yield tablet, kind, str(source), str(target)

    def drain_targets(
        self, s: cluster.TabletsState, tablet: int, source: TabletReplica
    ) -> Iterator[TabletReplica]:
        """The places for a replica that has to go; none where a dead node should send it, or, in
        ``documents``, where no node is left to make it again from.
        """
        topology, node = s.control.topology, self.number(source.host)
        dead = topology.ignored & ~cluster.removed_nodes(topology)
        if (dead | s.given_up) >> node & 1:
            return iter(())
        if self.edition == "documents" and self.is_lost(s, tablet):
            return iter(())
        return self.to_hosts(s.tablets[tablet], source, self.drain_able(s, source))

    def is_lost(self, s: cluster.TabletsState, tablet: int) -> bool:
        """Whether all replicas of a tablet are on nodes that count as dead for good."""
        held = self.nodes_of(s.tablets[tablet].replicas)
        return not held & ~cluster.excluded_nodes(s.control.topology)

    def drain_able(self, s: cluster.TabletsState, source: TabletReplica) -> int:
        """The nodes that a drain chooses among (a mask): in ``server`` those that are down, too,
        while a node of the datacenter is to leave; what has left already does not count.
        """
        if self.edition == "documents":
            return cluster.targets(s)
        topology, home = s.control.topology, self.places[source.host][0]
        going = self.leaving(topology) & ~in_state(topology, "left")
        draining = any(self.places[name][0] == home for name in self.named(going))
        return cluster.staying_nodes(topology) if draining else cluster.targets(s)

    def to_hosts(
        self, row: cluster.TabletRow, source: TabletReplica, able: int
    ) -> Iterator[TabletReplica]:
        """The places on other hosts for a replica: no second one on a host, in the same rack."""
        taken, rack = {each.host for each in row.replicas}, self.rack(source.host)
        for host in self.named(able):
            if host not in taken and self.rack(host) == rack:
                for shard in range(self.shards_of(host)):
                    yield TabletReplica(host, shard)

    def without_target(self, s: cluster.TabletsState) -> tuple[TabletReplica, ...]:
        """The replicas that cannot be drained: there is no place for them, or it has failed."""
        if self.planner is not None:
            drains = self.drains(s) if s.given_up else ()
            failed = (each for _, each in drains if s.given_up >> self.number(each.host) & 1)
            return (*self.planner.plan(s).stuck, *failed)
        return tuple(
            source
            for tablet, source in self.drains(s)
            if next(self.drain_targets(s, tablet, source), None) is None
        )

    # Even loads, and what operators ask for

    def balance_moves(self, s: cluster.TabletsState, *, later: bool = False) -> Iterator[Begin]:
        """The transitions that a balancer, or a repair, may begin now.

        ``later``: those of tablets that are in transition and have to come to its end first. With
        balancing disabled none evens out loads.
        """
        kinds = [kind for kind in self.kinds if self.balancing or kind not in EVENING]
        for tablet, row in enumerate(s.tablets) if s.moves else ():
            if self.free(row) != later:
                for kind in kinds:
                    yield from self.moves_of(s, tablet, kind)

    def moves_of(
        self, s: cluster.TabletsState, tablet: int, kind: cluster.BalancingKind
    ) -> Iterator[Begin]:
        """The transitions of one kind that a tablet may begin."""
        row, able = s.tablets[tablet], cluster.targets(s)
        if kind == "repair":
            yield tablet, "repair", "", ""
        elif kind == cluster.ADDITION:
            yield from self.additions(
                tablet, sorted(self.hosts(able) - {r.host for r in row.replicas})
            )
        else:
            for source in row.replicas:
                if able >> self.number(source.host) & 1:
                    places = self.to_hosts(row, source, able)
                    if kind == "intranode_migration":
                        every = range(self.shards_of(source.host))
                        others = (shard for shard in every if shard != source.shard)
                        places = (TabletReplica(source.host, shard) for shard in others)
                    yield from ((tablet, kind, str(source), str(target)) for target in places)

    def additions(self, tablet: int, hosts: Iterable[str]) -> Iterator[Begin]:
        """The transitions that give a tablet one more replica, on a shard of one of some hosts."""
        for host in hosts:
            for shard in range(self.shards_of(host)):
                yield tablet, self.rebuild, "", f"{host}:{shard}"

    # RF changes

    def completions(self, s: cluster.TabletsState) -> Iterator[Begin]:
        """The transitions that bring a tablet nearer to its keyspace's replicas."""
        able = cluster.targets(s)
        for keyspace, wanted in s.control.topology.keyspaces:
            for tablet, row in self.free_of(s, keyspace):
                held = tuple(each.host for each in row.replicas)
                coming, going = self.rf_steps(tablet, held, wanted, able)
                yield from self.additions(tablet, coming)
                for each in row.replicas:
                    if each.host in going:
                        yield tablet, self.rebuild, str(each), ""

    def completing(self, s: cluster.TabletsState) -> Iterator[Begin]:
        """Of those one for each tablet, the next ones of a planner that looks at all shards."""
        for keyspace, wanted in s.control.topology.keyspaces:
            for tablet, change in self.rf_changes(s, keyspace, wanted):
                removed, added = (str(each or "") for each in (change.removed, change.added))
                yield tablet, self.rebuild, removed, added

    def rf_begins(
        self, s: cluster.TabletsState, request: RequestEntry
    ) -> tuple[tuple[int, cluster.TabletTransition], ...]:
        """The begins of an RF change's command: a transition of each tablet of the keyspace."""
        after = altered(s.control.topology, request)
        return tuple(
            (tablet, cluster.TabletTransition(self.rebuild, "", old, change.on(old)))
            for tablet, change in self.rf_changes(s, request.keyspace, after)
            for old in (s.tablets[tablet].replicas,)
        )

    def rf_changes(
        self, s: cluster.TabletsState, keyspace: str, wanted: Replication
    ) -> Iterator[tuple[int, ReplicaChange]]:
        """The next step of each tablet of a keyspace towards the replicas that it is to have."""
        able = cluster.targets(s)
        planner = RfPlanner(
            {name: self.shards_of(name) for name in self.names},
            lambda tablet, held: self.rf_steps(tablet, held, wanted, able),
            (replica for row in s.tablets for replica in row.replicas),
        )
        for tablet, row in self.free_of(s, keyspace):
            if (change := planner.next(tablet, row.replicas)) is not None:
                yield tablet, change

    def free_of(
        self, s: cluster.TabletsState, keyspace: str
    ) -> Iterator[tuple[int, cluster.TabletRow]]:
        """The tablets of a keyspace that may begin a transition."""
        for tablet in self.tablets_of(keyspace):
            if self.free(s.tablets[tablet]):
                yield tablet, s.tablets[tablet]

    def _rf_steps(
        self, tablet: int, held: tuple[str, ...], wanted: Replication, able: int
    ) -> Steps:
        names = [self.names[node] for node in nodes_in(able)]
        number = self.place(tablet)[1]
        return steps(number, held, dict(wanted), self.places, names, self.edition)


def replicas_after(row: cluster.TabletRow, source: str, target: str) -> Replicas:
    """The row's replicas with the target in the source's place, where these are given."""
    if not source:
        return (*row.replicas, replica_of(target)) if target else row.replicas
    come = (replica_of(target),) if target else ()
    place = row.replicas.index(replica_of(source))
    return (*row.replicas[:place], *come, *row.replicas[place + 1 :])


class DumpPlanner:
    """The balancer of a cluster that was read from a dump; the same state is planned once."""

    def __init__(self, model: Plans, dump: TabletDump) -> None:
        self._model, self._dump = model, dump
        pairs = zip(dump.tables, dump.firsts, strict=False)
        self._spans = {each.name: slice(first, first + each.tablets) for each, first in pairs}
        self._sizes, self._weights = map(self._by_host, (dump.sizes, dump.weights))
        self._plan = lru_cache(4)(self._planned)

    def _by_host(self, columns: tuple[tuple[int, ...], ...]) -> list[Mapping[str, int]]:
        return [
            {place.host: b for place, b in zip(row.replicas, known, strict=False) if b >= 0}
            for row, known in zip(self._model.rows, columns, strict=False)
        ]

    def _today(
        self, columns: list[Mapping[str, int]], rows: tuple[cluster.TabletRow, ...]
    ) -> TabletSizes | None:
        now = [
            known
            if row is first or not known
            else {r.host: known.get(r.host, max(known.values())) for r in row.replicas}
            for known, row, first in zip(columns, rows, self._model.rows, strict=False)
        ]
        return {name: now[span] for name, span in self._spans.items()} if now else None

    def plan(self, s: cluster.TabletsState) -> StatePlan:
        """The next plan; it evens out loads while balancing is on and moves are left."""
        enabled = bool(s.moves) and self._model.balancing
        return self._plan(s.tablets, self._model.roles(s), enabled, frozenset(self._rack_lists(s)))

    def _rack_lists(self, s: cluster.TabletsState) -> Iterator[tuple[str, str]]:
        changed = dict(s.control.topology.keyspaces)
        for table, datacenter in self._dump.rack_lists:
            if keyspace_of(table) not in changed:
                yield table, datacenter
        for each in self._dump.tables:
            for datacenter, factor in changed.get(keyspace_of(each.name), ()):
                if not isinstance(factor, int):
                    yield each.name, datacenter

    def _planned(
        self,
        rows: tuple[cluster.TabletRow, ...],
        roles: tuple[NodeRole, ...],
        enabled: bool,
        rack_lists: frozenset[tuple[str, str]],
    ) -> StatePlan:
        given = balancer_input(
            tuple(self._model.balancer_nodes(roles)),
            self._model.maps(rows),
            self._today(self._sizes, rows),
            weights=self._today(self._weights, rows),
            target_size=self._dump.target_size,
            enabled=enabled,
            rack_lists=rack_lists,
            release=self._model.release,
        )
        # In a Player nobody reports sizes: it plays on as if all were known.
        given = replace(given, incomplete=frozenset(), rebuild=self._model.rebuild)
        step = planned(Loads(given, self._model.edition))
        begins = [(move, begin) for move in step.moves for begin in self._begins(move)]
        return StatePlan(
            tuple(begin for _, begin in begins),
            tuple(begin for move, begin in begins if isinstance(move.reason, Drains)),
            tuple(failure.source for failure in step.failures),
            step,
        )

    def _begins(self, move: TabletMove) -> Iterator[Begin]:
        kind = self._model.rebuild if move.kind.startswith("rebuild") else move.kind
        for number in move.tablets:
            yield self._spans[move.table].start + number, kind, str(move.source), str(move.target)
