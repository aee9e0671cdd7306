"""The balancer of a cluster that was read from a dump: the planner, asked on a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, gathered
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.planner import BalancePlan, planned
from kit.protocols.tablets.rules.balance.reasons import Drains
from kit.protocols.tablets.rules.layout import last_tokens
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, keyspace_of
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tracks import planning
from kit.protocols.tablets.tracks.actions import BeginTransition
from kit.protocols.tablets.tracks.dump import DumpedTable, TabletDump
from kit.protocols.tablets.tracks.state import TabletRow, TracksState

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

Rows = tuple[TabletRow, ...]


class StatePlan(Struct, frozen=True):
    """What the balancer would begin in a state: all of it, what of that drains, what is stuck.

    ``step`` is the plan itself, with its reasons.
    """

    begins: tuple[BeginTransition, ...]
    drains: tuple[BeginTransition, ...]
    stuck: tuple[TabletReplica, ...]
    step: BalancePlan


class TrackPlanner:
    """The planner on the tablets of a model; the same state is planned once."""

    def __init__(self, model: Tracks, dump: TabletDump) -> None:
        self._model, self._dump = model, dump
        firsts = dump.firsts
        self._first = {
            table.name: first for table, first in zip(dump.tables, firsts[:-1], strict=True)
        }
        self._lasts = [last for table in dump.tables for last in _lasts(table)]
        self._sizes = tuple(_sizes(dump, model.rows))
        self._plan = lru_cache(4)(self._planned)

    def plan(self, s: TracksState) -> StatePlan:
        """The next plan; it evens out loads while balancing is on and moves are left."""
        enabled = bool(s.moves) and self._model.parameters.balancing
        return self._plan(s.tablets, self._roles(s), enabled, frozenset(self._rack_lists(s)))

    def _rack_lists(self, s: TracksState) -> Iterator[tuple[str, str]]:
        """The tables and datacenters of which racks are named, RF changes so far included."""
        changed = dict(s.control.topology.keyspaces)
        for table, datacenter in self._dump.rack_lists:
            if keyspace_of(table) not in changed:
                yield table, datacenter
        for each in self._dump.tables:
            for datacenter, factor in changed.get(keyspace_of(each.name), ()):
                if not isinstance(factor, int):
                    yield each.name, datacenter

    def _roles(self, s: TracksState) -> tuple[NodeRole, ...]:
        topology, model = s.control.topology, self._model
        leaving = planning.leaving_nodes(topology, paused=model.paused) * model.drains_first
        removed, able = planning.removed_nodes(topology), planning.targets(s)

        def role(node: int) -> NodeRole:
            if leaving & removed & 1 << node:
                return "removing"
            if leaving >> node & 1 and s.control.reachable >> node & 1:
                return "leaving"
            return "normal" if able >> node & 1 else "excluded"

        return tuple(map(role, range(len(model.names))))

    def _planned(
        self,
        rows: Rows,
        roles: tuple[NodeRole, ...],
        enabled: bool,
        rack_lists: frozenset[tuple[str, str]],
    ) -> StatePlan:
        given = gathered(
            tuple(self._nodes(roles)),
            dict(self._maps(rows)),
            self._stored(rows) if self._sizes else None,
            target_size=self._dump.target_size,
            enabled=enabled,
            rack_lists=rack_lists,
        )
        step = planned(Loads(given, self._model.parameters.edition))
        begins = [(move, begin) for move in step.moves for begin in self._begins(move)]
        return StatePlan(
            tuple(begin for _, begin in begins),
            tuple(begin for move, begin in begins if isinstance(move.reason, Drains)),
            tuple(failure.source for failure in step.failures),
            step,
        )

    def _nodes(self, roles: tuple[NodeRole, ...]) -> Iterator[BalancerNode]:
        """Every node; one that is not in the dump is like the first one that is."""
        dump = self._dump
        for code, (name, role) in enumerate(zip(self._model.names, roles, strict=True)):
            datacenter, _, rack = self._model.rack(name).partition("/")
            like = code if code < len(dump.shards) else 0
            capacity = dump.capacities[like] if dump.capacities else 0
            yield BalancerNode(name, datacenter, rack, dump.shards[like], capacity, role)

    def _maps(self, rows: Rows) -> Iterator[tuple[str, TabletMap]]:
        for table in self._dump.tables:
            first = self._first[table.name]
            own = range(first, first + table.tablets)
            tablets = tuple(_tablet(rows[tablet], self._lasts[tablet]) for tablet in own)
            yield table.name, TabletMap(table.name, tablets, resize_type=table.resize_type)

    def _stored(self, rows: Rows) -> dict[str, list[Mapping[str, int]]]:
        """The bytes of replicas; one that came is as large as the largest of its tablet."""
        return {
            table.name: [
                self._of_tablet(tablet, rows[tablet])
                for tablet in range(first, first + table.tablets)
            ]
            for table in self._dump.tables
            for first in (self._first[table.name],)
        }

    def _of_tablet(self, tablet: int, row: TabletRow) -> Mapping[str, int]:
        known = self._sizes[tablet]
        if row is self._model.rows[tablet] or not known:
            return known
        usual = max(known.values())
        return {each.host: known.get(each.host, usual) for each in row.replicas}

    def _begins(self, move: TabletMove) -> Iterator[BeginTransition]:
        kind = self._model.parameters.rebuild if move.kind == "rebuild" else move.kind
        for number in move.tablets:
            tablet = self._first[move.table] + number
            yield BeginTransition(tablet, kind, str(move.source), str(move.target))


def _lasts(table: DumpedTable) -> tuple[int, ...]:
    return table.lasts or last_tokens(table.tablets)


def _tablet(row: TabletRow, last: int) -> Tablet:
    if not row.transitions:
        return Tablet(last, row.replicas)
    way = row.transitions[0]
    return Tablet(last, row.replicas, way.new, way.stage, way.kind)


def _sizes(dump: TabletDump, rows: Rows) -> Iterator[Mapping[str, int]]:
    """For each tablet the bytes of its replicas by host, as far as they are known."""
    for row, sizes in zip(rows, dump.sizes, strict=False):
        pairs = zip(row.replicas, sizes, strict=False)
        yield {place.host: size for place, size in pairs if size >= 0}
