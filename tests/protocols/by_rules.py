"""What exercises ask for, by the rules of the kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kit.masks import majority, mask_of, nodes_in
from kit.protocols.cms.migration import MigratingNode, Migration
from kit.protocols.cms.rules import members as cms
from kit.protocols.cms.rules.events import Metadata, enact, objection
from kit.protocols.cms.rules.log import Entry
from kit.protocols.paxos.rules import Slot, promise
from kit.protocols.tablets.lessons.balancing import decision_on
from kit.protocols.tablets.lessons.rebuilding import TABLETS
from kit.protocols.tablets.rules.availability import availability, unrepaired_in_time
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, balancer_input
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.maps import RESIZE_TYPES, Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.tcm.rules.barrier import Barrier
from kit.protocols.topology import handshake
from kit.protocols.topology.handshake import CHECKS, JoinRow
from kit.protocols.topology.lessons.coordinator import NAMES
from kit.protocols.topology.lessons.joining import OF_CLUSTER
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import refused_change
from kit.protocols.upgrade import rules
from kit.ring.ranges import Range


def promises(ballots: list[int]) -> list[bool]:
    """Of ballots in the order in which an acceptor is asked: whether it promises each."""
    slot, answers = Slot[str](1), []
    for ballot in ballots:
        answers.append(ballot >= slot.promised)
        slot = promise(slot, ballot)
    return answers


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """Whether an event can be committed by the nodes that answer."""
    able, *groups = (
        sum(1 << cms.NAMES.index(n) for n in names) for names in (up, readers, writers)
    )
    return cms.decides(cms.Members(readers=groups[0], writers=groups[1]), able)


def accepted(events: list[str]) -> list[bool]:
    """Of events in the order of the log, which is empty at first: whether each is accepted."""
    metadata, answers = Metadata(), []
    for epoch, event in enumerate(events, 1):
        answers.append(objection(metadata, event) is None)
        if answers[-1]:
            metadata = enact(metadata, Entry(epoch, event, ""))
    return answers


def log_may_begin(nodes: list[tuple[str, bool, list[int]]]) -> bool:
    """Whether the first of these nodes may begin the log: the model's own rule."""
    model = Migration(Migration.Parameters(nodes=len(nodes)))
    cluster = [
        MigratingNode(is_new=version == "new", frozen=switch, facts=sum(1 << each for each in has))
        for version, switch, has in nodes
    ]
    heard = [place for place, node in enumerate(cluster) if node.is_new]
    unlike = [place for place in heard if cluster[place].facts != cluster[0].facts]
    answered, differ = (sum(1 << place for place in some) for some in (heard, unlike))
    cluster[0] = cluster[0].but(initiator=0, answered=answered, unlike=differ)
    s = model.start().but(nodes=tuple(cluster))
    return model.refusal(s, Migration.begin_log("A")) is None


def may_begin(kind: str, node: str, other: str, down: list[str], ignored: list[str]) -> bool:
    """Whether a request may begin with these nodes down, in a cluster of A to E.

    ``other`` is the node that is replaced. The truth is the coordinator's own queue.
    """
    names = [*NAMES, "X"]
    joins = kind in ("join", "replace")
    subject = names.index("X") if joins else names.index(node)
    request = cluster.NodeEntry(
        state="none" if joins else "normal",
        tokens=not joins,
        request=kind,
        request_id=1,
        replaced=names.index(other) if kind == "replace" else -1,
    )
    nodes = [cluster.NodeEntry(state="normal", tokens=True)] * len(NAMES) + [cluster.NodeEntry()]
    nodes[subject] = request
    topology = cluster.ClusterTopology(
        nodes=tuple(nodes),
        ignored=mask_of(names.index(name) for name in ignored),
        requests=(cluster.RequestEntry(kind, subject),),
        members=(1 << len(NAMES)) - 1,
    )
    alive = (1 << len(names)) - 1 & ~mask_of(names.index(name) for name in down)
    (entry,) = queue(topology, alive, cluster.Setting("server"))
    return not any(nodes_in(entry.waits_for)) and entry.standing == "next"


def where_back(operation: str, state: str) -> str:
    """The state to which failed work of a state leads, by the documents; empty: there is none."""
    edge = MACHINES["documents"][operation].edge(state, "rollback")
    return "" if edge is None else edge.target


def turned_away(cluster: str, features: list[str], enabled: list[str], row: str) -> str:
    """Who turns a joiner away, in one word; empty: it is accepted. The truth is the checks'."""
    host = "N1"
    rows = (JoinRow(host, row),) if row else ()
    tables = handshake.JoinTables(rows, (), tuple(enabled))
    place = "r1", False
    own = handshake.SNITCH, tuple(features), (), ()
    asks = handshake.JoinNodeRequest(host, 1, cluster, *own, *place)
    failing = (each for each in CHECKS if each.fails(tables, asks, ()))
    order = {"receiver": "member", "placing": "member", "coordinator": "coordinator"}
    return next((order[each.by] for each in failing), "")


def queue_order(edition: Edition, kinds: list[str]) -> list[str]:
    """Requests of several kinds, given as they were made, in the order in which they are taken.

    All nodes are up, no tablet is in the way, and no node owes a cleanup. The truth is the
    coordinator's own queue.
    """
    nodes = [cluster.NodeEntry(state="normal", tokens=True)] * 3
    requests = []
    for number, kind in enumerate(kinds, start=1):
        node = cluster.NOBODY if kind in OF_CLUSTER else len(nodes)
        requests.append(cluster.RequestEntry(kind, node))
        if node != cluster.NOBODY:
            state = "none" if kind == "join" else "normal"
            nodes.append(cluster.NodeEntry(state=state, request=kind, request_id=number))
    topology = cluster.ClusterTopology(
        nodes=tuple(nodes),
        requests=tuple(requests),
        queue=tuple(i for i, kind in enumerate(kinds, start=1) if kind in OF_CLUSTER),
    )
    everybody = (1 << len(nodes)) - 1
    return [entry.kind for entry in queue(topology, everybody, cluster.Setting(edition))]


def replicas_used(stage: str, write: bool, old: list[str], new: list[str]) -> list[str]:
    """The hosts that a request is for in a stage, sorted. The truth is the table of stages."""
    sets = ReplicaSets(*(tuple(map(TabletReplica, hosts)) for hosts in (old, new)))
    tables = TRANSITIONS["documents"].values()
    row = next(row for table in tables for row in table.states if row.name == stage)
    return sorted(each.host for each in sets.chosen(row.writes if write else row.reads))


def resize_decided(average: int, under_way: str, count: int, initial: int) -> str:
    """The decision on a table: the truth is the planner's rule."""
    kind = next(each for each in RESIZE_TYPES if each == under_way)
    return decision_on(average, kind, count, initial).resize_type


def map_of(tablets: Sequence[Sequence[str]]) -> TabletMap:
    """A table's map from the hosts of each tablet."""
    replicas = (tuple(map(TabletReplica, hosts)) for hosts in tablets)
    return TabletMap("ks.t", tuple(map(Tablet, last_tokens(len(tablets)), replicas)))


def homes(host: str, replicas: list[str], racks: Mapping[str, str], closed: list[str]) -> list[str]:
    """The nodes that may take the replica on a host, sorted: the planner's own rule."""

    def role(name: str) -> NodeRole:
        if name == host:
            return "leaving"
        return "excluded" if name in closed else "normal"

    names = sorted(racks)
    nodes = [BalancerNode(name, "dc1", racks[name], 1, role=role(name)) for name in names]
    loads = Loads(balancer_input(nodes, {"ks.t": map_of([replicas])}), "server")
    fit = loads.places.fit(loads.given.rows, [0], names.index(host))
    return [name for name, fits in zip(names, fit.tolist(), strict=True) if fits]


def without_majority(tablets: list[list[str]], down: list[str]) -> list[int]:
    """The numbers of the tablets that have no majority with these nodes down."""
    return [each.tablet for each in availability(map_of(tablets), down) if each.spare < 0]


def may_alter(now: int, wanted: int, nodes: int) -> bool:
    """Whether a keyspace may get so many replicas in its datacenter: the coordinator's check."""
    rows = (cluster.NodeEntry(state="normal", tokens=True),) * nodes
    topology = cluster.ClusterTopology(nodes=rows, keyspaces=(("ks", (("dc1", now),)),))
    asks = cluster.RequestEntry(
        "keyspace_rf_change", cluster.NOBODY, keyspace="ks", replication=(("dc1", wanted),)
    )
    return not refused_change(topology, asks, cluster.Setting("documents"))


def to_be_warned_of(mode: str, repaired: Mapping[str, int], today: int, grace: int) -> list[int]:
    """The tablets whose deleted rows may come back, by the mode in which tombstones are collected
    and the day of each one's last repair, if there was any (``repaired``).
    """
    given = {int(tablet): day for tablet, day in repaired.items()}
    tablets = TabletMap("ks.t", tuple(Tablet(last, ()) for last in range(TABLETS)))
    return [*unrepaired_in_time(tablets, given, today, grace)] if mode == "timeout" else []


def is_open(world: str, ranges: list[dict[str, list[str]]], members: list[str],
            answered: list[str]) -> bool:  # fmt: skip
    """Whether a barrier is open: the truth is the rule of epochs, and that of members."""
    if world == "topology":
        return not set(members) - set(answered)
    codes = {name: code for code, name in enumerate(members)}
    applied = [int(name in answered) for name in members]
    quotas = (
        Barrier(0, Range(0, 1), dc, tuple(codes[n] for n in there), majority(len(there)), 1)
        for replicas in ranges
        for dc, there in replicas.items()
    )
    return all(each.met(applied) for each in quotas)


RULES: dict[str, Callable[..., Any]] = {
    "promises": promises,
    "decides": decides,
    "accepted": accepted,
    "log-may-begin": log_may_begin,
    "may-begin": may_begin,
    "where-back": where_back,
    "who-turns-away": turned_away,
    "queue-order": queue_order,
    "replicas-used": replicas_used,
    "resize-decided": resize_decided,
    "homes": homes,
    "without-majority": without_majority,
    "may-alter": may_alter,
    "to-be-warned-of": to_be_warned_of,
    "state-at-start": rules.state_at_start,
    "is-it-open": is_open,
}
