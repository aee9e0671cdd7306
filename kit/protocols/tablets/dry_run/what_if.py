"""What would happen: the next plan, an emptied node, lost nodes, where a token is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import text
from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.rules.availability import (
    RequestKind,
    selectors,
    served,
    shard_for_reads,
    shard_for_writes,
    static_shard_of,
)
from kit.protocols.tablets.rules.balance.cluster import NodeRole
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.planner import DrainFailure, drained, planned
from kit.protocols.tablets.rules.balance.reasons import Misplaced
from kit.protocols.tablets.rules.maps import Tablet, complete, first_token, tablet_of
from kit.protocols.tablets.rules.stages import TRANSITIONS, ends_well

ANY_NUMBER = 2**30  # of streams: all moves of a drain at once
IGNORE_MSB = 12  # of static sharding, where nothing tells


class LoadSpread(Struct, frozen=True):
    """How even loads are: of shards in edition ``documents`` (tablets), of nodes in ``server``."""

    most: float
    least: float
    mean: float


class StuckTablet(Struct, frozen=True):
    """A replica that no node may take: for each reason the nodes that it keeps away."""

    table: str
    tablets: tuple[int, ...]
    source: str
    reasons: tuple[tuple[Misplaced, tuple[str, ...]], ...]


class BalanceReport(Struct, frozen=True):
    """The balancer's next plan: loads before and after it, and what is copied, in bytes."""

    moves: tuple[TabletMove, ...]
    bytes: int
    before: LoadSpread
    after: LoadSpread
    nodes: Mapping[str, tuple[float, float]]
    stuck: tuple[StuckTablet, ...]


class DrainReport(Struct, frozen=True):
    """An emptied node: who takes how many of its replicas, what cannot go, and what is copied.

    Of ``in_transition`` tablets with a replica there the drain waits for the end: ``replicas`` and
    ``moves`` are those once that has come, by the way that each is on.
    """

    host: str
    replicas: int
    in_transition: int
    targets: Mapping[str, int]
    bytes: int
    moves: tuple[TabletMove, ...]
    stuck: tuple[StuckTablet, ...]


class LostTablet(Struct, frozen=True):
    """A tablet that some requests at QUORUM cannot use, or at LOCAL_QUORUM in ``datacenters``.

    ``replicas`` are those that requests use at its ``stage`` (none: outside a transition), as
    ``rules.availability`` counts; ``without_quorum`` are reads, writes or both.
    """

    table: str
    tablet: int
    replicas: int
    alive: int
    without_quorum: tuple[RequestKind, ...]
    datacenters: tuple[str, ...]
    stage: str = ""


class LossReport(Struct, frozen=True):
    """What is lost with some nodes, those included that are down already, or have left.

    ``no_quorum`` counts tablets with requests that QUORUM refuses, ``no_local_quorum`` those
    with some that LOCAL_QUORUM refuses in a datacenter, ``no_replica`` those without any replica.
    """

    down: tuple[str, ...]
    tablets: int
    no_quorum: int
    no_local_quorum: Mapping[str, int]
    no_replica: int
    lost: tuple[LostTablet, ...]


class ServedToken(Struct, frozen=True):
    """Where a token of a table is served: its tablet, and for each host of it the shards.

    ``static`` is the shard that static sharding would give on that host.
    """

    table: str
    tablet: int
    after: int
    up_to: int
    stage: str
    hosts: tuple[ServingHost, ...]


class ServingHost(Struct, frozen=True):
    """A host with a replica: its shards for reads and writes, and that of static sharding."""

    host: str
    reads: int
    writes: tuple[int, ...]
    static: int


def balance(opened: OpenedTablets) -> BalanceReport:
    """The next plan of the balancer."""
    loads = Loads(opened.input, opened.edition)
    before, nodes = _spread(loads), loads.node_load.tolist()
    step = planned(loads)
    hosts = [node.host for node in opened.nodes]
    pairs = zip(nodes, loads.node_load.tolist(), strict=True)
    return BalanceReport(
        step.moves,
        step.bytes,
        before,
        _spread(loads),
        dict(zip(hosts, pairs, strict=True)),
        _stuck(loads, step.failures),
    )


def _spread(loads: Loads) -> LoadSpread:
    """The loads of the places that take tablets."""
    takes = loads.takes
    values = loads.node_load[takes]
    if loads.edition == "documents":
        values = loads.held[takes[loads.node_of]]
    if not len(values):
        return LoadSpread(0.0, 0.0, 0.0)
    return LoadSpread(float(values.max()), float(values.min()), float(values.mean()))


def drain(opened: OpenedTablets, host: str) -> DrainReport:
    """All that would leave a node that is decommissioned (removed, if it is gone), and what not."""
    role: NodeRole = "removing" if host in opened.gone else "leaving"
    given = _with_role(_on_their_way(opened), host, role).input
    idle = replace(given.rows, busy=np.zeros_like(given.rows.busy))
    loads = Loads(
        replace(given, rows=idle, streams_read=ANY_NUMBER, streams_write=ANY_NUMBER, enabled=False),
        opened.edition,
    )
    steps = list(drained(loads, host))
    moves = tuple(step for step in steps if isinstance(step, TabletMove))
    failures = tuple(step for step in steps if isinstance(step, DrainFailure))
    targets = Counter[str]()
    for move in moves:
        targets[move.target.host] += len(move.tablets)
    left = sum(len(failure.tablets) for failure in failures)
    return DrainReport(
        host,
        targets.total() + left,
        _in_transition(opened, host),
        dict(sorted(targets.items())),
        sum(move.bytes for move in moves),
        moves,
        _stuck(loads, failures),
    )


def _in_transition(opened: OpenedTablets, host: str) -> int:
    """How many tablets in transition have a replica on a host before or after it."""
    tablets = (tablet for table in opened.maps.values() for tablet in table.tablets)
    moving = (tablet.sets.both for tablet in tablets if tablet.transition)
    return sum(any(replica.host == host for replica in replicas) for replicas in moving)


def _on_their_way(opened: OpenedTablets) -> OpenedTablets:
    """The same cluster, where a tablet on its way back has its old replicas for new ones."""
    tables = TRANSITIONS[opened.edition]

    def towards(tablet: Tablet) -> Tablet:
        if not tablet.transition or ends_well(tables[tablet.transition], tablet.stage):
            return tablet
        return replace(tablet, new_replicas=tablet.replicas)

    maps = {
        name: replace(table, tablets=tuple(map(towards, table.tablets)))
        for name, table in opened.maps.items()
    }
    return replace(opened, maps=maps)


def _with_role(opened: OpenedTablets, host: str, role: NodeRole) -> OpenedTablets:
    """The same cluster with a node in another role."""
    nodes = (replace(node, role=role) if node.host == host else node for node in opened.nodes)
    return replace(opened, nodes=tuple(nodes))


def _stuck(loads: Loads, failures: Sequence[DrainFailure]) -> tuple[StuckTablet, ...]:
    """Each failure with the nodes that may not take it, by reason; asked of a shard of each."""
    stuck = []
    tables = {name: code for code, name in enumerate(loads.given.tables)}
    rows = (
        {
            (int(table), int(number)): row
            for row, (table, number) in enumerate(
                zip(loads.given.rows.table, loads.given.rows.number, strict=True)
            )
        }
        if failures
        else {}
    )
    for failure in failures:
        row = rows[tables[failure.table], failure.tablets[0]]
        column = loads.place[row].tolist().index(loads.shard_number(failure.source))
        reasons: dict[Misplaced, list[str]] = {}
        for code, node in enumerate(loads.given.nodes):
            misplaced = loads.misplaced(row, column, int(loads.first[code]))
            if misplaced is not None and node.host != failure.source.host:
                reasons.setdefault(misplaced, []).append(node.host)
        stuck.append(
            StuckTablet(
                failure.table,
                failure.tablets,
                str(failure.source),
                tuple((reason, tuple(hosts)) for reason, hosts in reasons.items()),
            )
        )
    return tuple(stuck)


def lose(opened: OpenedTablets, hosts: Sequence[str]) -> LossReport:
    """Which tablets lose their quorum without some nodes, besides those that are gone already."""
    down = frozenset(hosts) | opened.gone
    places = {node.host: node.datacenter for node in opened.nodes}
    lost = tuple(_lost(opened, down, places))
    local: Counter[str] = Counter()
    for tablet in lost:
        local.update(tablet.datacenters)
    return LossReport(
        tuple(sorted(down)),
        sum(table.count for table in opened.maps.values()),
        sum(1 for tablet in lost if tablet.without_quorum),
        dict(sorted(local.items())),
        sum(1 for tablet in lost if not tablet.alive),
        lost,
    )


def _lost(
    opened: OpenedTablets, down: frozenset[str], places: Mapping[str, str]
) -> Iterator[LostTablet]:
    for name, table in opened.maps.items():
        for number, tablet in enumerate(table.tablets):
            if down.isdisjoint(replica.host for replica in tablet.sets.both):
                continue
            left = served(tablet, opened.edition, down, places)
            if left.without_quorum or left.datacenters:
                yield LostTablet(
                    *(name, number, len(left.hosts), len(left.alive)),
                    left.without_quorum,
                    left.datacenters,
                    tablet.stage,
                )


def serving(opened: OpenedTablets, token: int) -> tuple[ServedToken, ...]:
    """Where a token is served, for each table.

    Raises:
        BadInput: for what is no token.
    """
    shards = {node.host: node.shards for node in opened.nodes}
    answers = []
    for name in opened.maps:
        table = complete(name, opened.maps)
        lasts = table.last_tokens
        number = tablet_of(token, lasts)
        tablet = table.tablets[number]
        reads, writes = selectors(tablet, opened.edition)
        hosts = tuple(
            ServingHost(
                host,
                shard_for_reads(tablet, host, reads),
                shard_for_writes(tablet, host, writes),
                static_shard_of(token, shards[host], opened.ignore_msb.get(host, IGNORE_MSB)),
            )
            for host in dict.fromkeys(replica.host for replica in tablet.sets.both)
        )
        answers.append(
            ServedToken(
                name, number, first_token(number, lasts), lasts[number], tablet.stage, hosts
            )
        )
    return tuple(answers)


def up_again(opened: OpenedTablets, host: str) -> OpenedTablets:
    """The same cluster once a node that is down is back."""
    back = _with_role(opened, host, "normal")
    return replace(back, down=opened.down - {host})


def joined(opened: OpenedTablets, host: str, like: str) -> OpenedTablets:
    """The same cluster with one more node, empty, in the rack of another and of its kind.

    Raises:
        BadInput: for a node ``host`` that is there, or a node ``like`` that is not.
    """
    if any(node.host == host for node in opened.nodes):
        raise BadInput("host", host, "a node that is not in the cluster yet")
    alike = opened.host(like, "like")
    model = next(node for node in opened.nodes if node.host == alike)
    newcomer = replace(model, host=text("host", host), role="normal")
    return replace(opened, nodes=(*opened.nodes, newcomer))
