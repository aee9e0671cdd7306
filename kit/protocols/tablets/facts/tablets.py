"""One state of the control model as people ask of it: grid, table, stages, the barrier, sharders.

Sources: Topology over Raft, "Tablet transitions", "Sharding with tablets", "Tablet replica
placement vs sharding".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise, zip_longest
from typing import Any

from msgspec import Struct

from kit.console.drill import DrillMoment
from kit.console.server import NOT_MODELLED, KnownRing
from kit.errors import Refused
from kit.model.flows import as_timeuuid
from kit.model.timeline import PassedStep
from kit.protocols.storage.clients import KEYSPACE, StorageServers
from kit.protocols.tablets.cluster import TabletsState, TabletTransition, excluded_nodes, standing
from kit.protocols.tablets.rules import availability, replica_sets
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid
from kit.protocols.tablets.rules.maps import (
    TabletMap,
    has_replica,
    last_tokens,
    shard_on,
    tablet_of,
)
from kit.protocols.tablets.rules.stages import STREAM, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import WITHIN_NODE
from kit.protocols.tablets.stage_work import barrier_nodes
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.facts import ClusterServers, NodeFacts, nodes
from kit.protocols.topology.rules.cluster import in_state
from kit.protocols.topology.rules.machines import StateRow
from kit.protocols.topology.topology import CommitDeposed
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.tokens import MURMUR3, TokenSpace, murmur3_token


def grid(m: Tablets, s: TabletsState) -> TabletGrid:
    """The tablets of each node; a node is there as soon as it has a row."""
    hosts = (_host(m, node) for node in nodes(m.control, s.control))
    tablets = (m.placed(s, tablet) for tablet in range(len(s.tablets)))
    return TabletGrid(tuple(hosts), tuple(tablets))


def _host(m: Tablets, node: NodeFacts) -> GridHost:
    row = node.row
    state = "" if row.state == "normal" else row.state
    excluded = "excluded" if node.is_ignored else ""
    zero = "" if row.tokens else "no tokens"
    left = state if state == "left" else ""  # it is down as well, for good
    note = excluded or left or node.health or NOTES.get(state) or NOTES.get(row.request) or zero
    tag = f"v{node.view.version}" if node.view else ""
    shards, rack = m.shards_of(node.name), m.rack(node.name)
    is_banned = node.is_ignored or row.state == "left"
    return GridHost(node.name, shards, rack, note, node.is_coordinator, tag, node.how, is_banned)


NOTES = {
    "none": "new",
    "bootstrapping": "joins",
    "replacing": "joins",
    "replace": "joins",
    "decommissioning": "leaves",
    "leave": "leaves",
    "removing": "goes",
    "remove": "goes",
    "rebuilding": "rebuilds",
}
"""Short words below a node: its column has room for few letters."""


def tablet_map(m: Tablets, s: TabletsState) -> TabletMap:
    """The map that group 0 holds; of a tablet in two transitions with the first one."""
    return m.maps(s.tablets)[m.tables[0]]


def versions(m: Tablets, s: TabletsState, steps: Sequence[PassedStep]) -> tuple[TabletMap, ...]:
    """Each version of the map on the way, the newest last."""
    states = [*(each.before for each in steps), s]
    other = (after for before, after in pairwise(states) if before.tablets is not after.tablets)
    maps = (tablet_map(m, each) for each in (states[0], *other))
    return tuple(given for given, _ in groupby(maps))


def table_row(m: Tablets, s: TabletsState, tablet: int) -> dict[str, str]:
    """A tablet's row of ``system.tablets``: a text for each column, empty where it is null; of a
    tablet in two transitions both are told.

    ``endpoints`` is no column of it: the replicas as who asks for addresses gets them. A node that
    has left stays in ``replicas``, by its host id, and has no address any more (Topology over
    Raft).
    """

    def of_each(texts: Iterable[str]) -> str:
        return " and ".join(filter(None, texts))

    row, ways = s.tablets[tablet], s.tablets[tablet].transitions
    left = m.hosts(in_state(s.control.topology, "left"))
    table, number = m.place(tablet)
    return {
        "table": table,
        "tablet": str(number),
        "last_token": str(m.last_token(tablet)),
        "replicas": replica_sets.words(row.replicas),
        "new_replicas": of_each(replica_sets.words(t.new) for t in ways),
        "stage": of_each(t.stage for t in ways),
        "transition": of_each(t.kind for t in ways),
        "session": of_each(as_timeuuid(t.session) if t.session else "" for t in ways),
        "endpoints": replica_sets.words(each for each in row.replicas if each.host not in left),
    }


class StageFacts(Struct, frozen=True):
    """A tablet in transition: its stage, how each piece of the work there stands (*done*, *failed*,
    *next* or *later*), and the choice that a failure would make.
    """

    tablet: int
    way: TabletTransition
    stage: StateRow
    work: tuple[tuple[str, str], ...]
    choice: replica_sets.StageChoice | None


def stages(m: Tablets, s: TabletsState) -> tuple[StageFacts, ...]:
    """Every transition, by tablet."""
    return tuple(
        StageFacts(
            number,
            way,
            m.table(way).state(way.stage),
            tuple(_work(m, way)),
            replica_sets.choice_of(m.table(way), way.stage, way.sets, m.lost(s)),
        )
        for number, row in enumerate(s.tablets)
        for way in row.transitions
    )


def _work(m: Tablets, way: TabletTransition) -> Iterator[tuple[str, str]]:
    for place, (each, table) in enumerate(m.work(way.kind, way.stage)):
        of = f" {table}" if table and len(m.tables) > 1 else ""
        yield f"{each.name}{of}", standing(way, place)


class StageWay(Struct, frozen=True):
    """A transition of a tablet with its stages so far, the numbers of those that it left because
    work had failed, and whether it is over (``ended``).
    """

    kind: TransitionKind
    stages: tuple[str, ...]
    ended: bool
    failures: frozenset[int]


def way_of(steps: Sequence[PassedStep]) -> StageWay | None:
    """The transition that moved last, or is the first of those under way; None before any."""
    ways: dict[tuple[int, int], StageWay] = {}
    last: StageWay | None = None
    for step in (each for each in steps if each.before.tablets is not each.after.tablets):
        failed = _left_by_failure(step)
        pairs = zip(step.before.tablets, step.after.tablets, strict=True)
        for number, (was, now) in enumerate(pairs):
            if was is now:
                continue
            for place, (old, new) in enumerate(zip_longest(was.transitions, now.transitions)):
                if (old and old.stage) == (new and new.stage):
                    continue
                way = ways.get((number, place)) if old else None
                passed = way.stages if way else (old.stage,) if old else ()
                failures = way.failures if way else frozenset[int]()
                if (number, place) in failed:
                    failures |= {len(passed) - 1}
                reached = () if new is None else (new.stage,)
                last = StageWay((new or old).kind, (*passed, *reached), new is None, failures)
                ways[number, place] = last
    return last


def _left_by_failure(step: PassedStep) -> set[tuple[int, int]]:
    late = isinstance(step.action, CommitDeposed)
    command = step.before.deposed if late else step.before.command
    changes = command.changes if command else ()
    return {(each.tablet, each.place) for each in changes if each.kind != "happy"}


def barrier(m: Tablets, s: TabletsState) -> dict[str, str]:
    """How each host stands in the barrier that tablets wait for (empty: none waits): it has
    *answered*, is *asked*, *unheard* (it does not hear it) or *passed over* (it is ignored, or will
    not come back).
    """
    if not m.barriers(s):
        return {}
    needed, topology = barrier_nodes(s), s.control.topology
    roles = {
        "answered": needed & s.answered,
        "asked": needed & s.control.reachable,
        "unheard": needed,
        "passed over": topology.members & excluded_nodes(topology),
    }
    return {
        name: role
        for i, name in enumerate(m.names)
        for role in [each for each, mask in roles.items() if mask >> i & 1][:1]
    }


def copies(m: Tablets, steps: Sequence[PassedStep]) -> tuple[int, int]:
    """How many copies of tablets a run has made by hard links to the target shard within a node,
    and how many were streamed between nodes; of co-located tables each counts.
    """
    kinds = [
        piece.transition.kind
        for step in steps
        if isinstance(step.action, (Tablets.work_on, Tablets.work_on_all))
        for piece in m.done_pieces(step.before, step.after)
        if piece.work.name == STREAM and piece.transition.sets.pending
    ]
    linked = kinds.count(WITHIN_NODE)
    return linked, len(kinds) - linked


# -- what hosts are told of keys: by the map, by a sharder, and under static sharding --------------

MOST_KEYS = 8
KINDS: tuple[availability.SharderKind, ...] = ("holding", "auto_refreshing")


class KeyToken(Struct, frozen=True):
    """A key of a table, its token and the tablet that it is in."""

    key: str
    token: int
    tablet: int


@lru_cache(32)
def keys(count: int) -> tuple[KeyToken, ...]:
    """The keys that are asked about, K1 and those after it, by token."""
    lasts = last_tokens(count)
    tokens = ((f"K{n}", murmur3_token(f"K{n}".encode())) for n in range(1, MOST_KEYS + 1))
    named = (KeyToken(key, token, tablet_of(token, lasts)) for key, token in tokens)
    return tuple(sorted(named, key=lambda each: each.token))


def answers(m: Tablets, given: TabletMap, host: str) -> list[tuple[Any, ...]]:
    """The answers to a host about every key by a version of the map: the key, its tablet, the
    shards with a replica by ``has_replica()``, the sharder's answers for reads and for writes, the
    key's shard if tables were sharded statically.
    """
    sharder = availability.Sharder(host, "auto_refreshing", 0, given, m.edition)
    places = [replica_sets.TabletReplica(host, shard) for shard in range(m.shards)]
    return [
        (
            *(each.key, each.tablet),
            tuple(at.shard for at in places if has_replica(given.of(each.token), at)),
            sharder.shard_for_reads(each.token),
            sharder.shard_for_writes(each.token),
            availability.static_shard_of(each.token, m.shards),
        )
        for each in keys(given.count)
    ]


def stage_shards(m: Tablets, given: TabletMap, host: str) -> list[tuple[Any, ...]]:
    """Every stage of the first transition in which a host takes part: whether it is now, what the
    sharder says for reads and for writes, and the shards that hold the tablet.
    """
    for tablet in given.tablets:
        if tablet.transition and shard_on(tablet.sets.both, host) is not None:
            return [
                (
                    row.name,
                    row.name == tablet.stage,
                    availability.shard_for_reads(tablet, host, row.reads),
                    availability.shard_for_writes(tablet, host, row.writes),
                    tuple(r.shard for r in tablet.sets.both if r.host == host),
                )
                for row in TRANSITIONS[m.edition][tablet.transition].states
            ]
    return []


def asked_about(given: TabletMap, before: TabletMap) -> KeyToken:
    """The first key of a tablet that the newest version changed; else the first of all."""
    changed = {n for n in range(given.count) if given.tablets[n] != before.tablets[n]}
    every = keys(given.count)
    return next((each for each in every if each.tablet in changed), every[0])


def both_kinds(m: Tablets, maps: Sequence[TabletMap], host: str) -> list[availability.Sharder]:
    """A sharder of each kind that a request made under the version before the newest one."""
    newest = len(maps)
    made = (availability.Sharder(host, kind, newest - 1, maps[-2], m.edition) for kind in KINDS)
    return [each.refreshed(newest, maps[-1]) for each in made]


SERVERS = ClusterServers()
"""What ``nodetool`` and ``cqlsh`` answer of a cluster with tablets: of its nodes."""


class TabletServers(StorageServers):
    """Nodes with a replica of the one tablet, or without, and the coordinators of requests: what
    programs hear from them while it is in transition. Every key is in this tablet.
    """

    def space(self, now: DrillMoment) -> TokenSpace:
        """Tokens are hashes of keys."""
        return MURMUR3

    def keyspaces(self, now: DrillMoment) -> tuple[Keyspace, ...]:
        """The one keyspace, in the one datacenter."""
        (datacenter,) = set(now.model.history.dcs)
        return (Keyspace(KEYSPACE, NetworkTopologyStrategy(((datacenter, now.model.rf),))),)

    def known_ring(self, now: DrillMoment, at: int) -> KnownRing:
        """A token a node: with tablets, tokens do not say who holds a row. Refused where the tablet
        moves between shards of one node.
        """
        if now.model.history.sharded:
            why = "programs connect to nodes, and here a tablet moves between shards of one node"
            raise Refused(f"{NOT_MODELLED}{why}")
        nodes = now.model.replicas
        apart = (MURMUR3.high - MURMUR3.low) // nodes
        return KnownRing(MURMUR3, {n: (MURMUR3.low + (n + 1) * apart,) for n in range(nodes)})

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Coordinators have no tokens, so tools do not tell of them."""
        return at < int(now.model.replicas)

    def tokens(self, now: DrillMoment, at: int) -> str:
        """One."""
        return "1"

    def key(self, now: DrillMoment) -> int:
        """Any key."""
        return 1


TABLET_SERVERS = TabletServers()
