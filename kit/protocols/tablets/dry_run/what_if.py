"""What would happen: the next plan, an emptied node, lost nodes, where a token is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import text
from kit.errors import BadInput
from kit.model.registry import one_of
from kit.operators.importers.ringfile import place_name
from kit.protocols.group0.rules.releases import has
from kit.protocols.tablets.cluster import replication_before
from kit.protocols.tablets.dry_run.opening import SOMEWHERE, OpenedTablets
from kit.protocols.tablets.rules import availability, maps
from kit.protocols.tablets.rules.balance.cluster import DRAINED, STAYING, NodeRole, TabletSizes
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.planner import DrainFailure, drained, planned
from kit.protocols.tablets.rules.balance.reasons import Misplaced
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.replication import Misfit, RfPlanner, misfits, steps
from kit.protocols.tablets.rules.stages import TRANSITIONS, ends_well
from kit.protocols.topology.rules import cluster, replication
from kit.protocols.topology.rules.replication import invalid_racks, refused_change
from kit.ring.columns import np

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
    """The balancer's next plan: loads before and after it, and what is copied, in bytes.
    ``waits_for`` and ``left_out`` are as in ``BalancePlan``.
    """

    moves: tuple[TabletMove, ...]
    bytes: int
    before: LoadSpread
    after: LoadSpread
    nodes: Mapping[str, tuple[float, float]]
    stuck: tuple[StuckTablet, ...]
    stalled_by: tuple[str, ...]
    waits_for: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class DrainReport(Struct, frozen=True):
    """An emptied node: who takes how many of its replicas, what cannot go, and what is copied.

    The nodes it is ``stalled_by`` have to answer, or to be excluded. ``refused`` says why the
    request would be turned away. The moves are those once the server knows all sizes on the nodes
    that the drain ``waits_for`` (None: no file tells whether it does).
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
    stalled_by: tuple[str, ...]
    refused: str = ""
    waits_for: tuple[str, ...] | None = ()


class LostTablet(Struct, frozen=True):
    """A tablet that some requests at QUORUM cannot use, or at LOCAL_QUORUM in ``datacenters``.

    ``replicas`` are those that requests use at its ``stage`` (none: outside a transition), as
    ``rules.availability`` counts; ``without_quorum`` are reads, writes or both.
    """

    table: str
    tablet: int
    replicas: int
    alive: int
    without_quorum: tuple[availability.RequestKind, ...]
    datacenters: tuple[str, ...]
    stage: str = ""


class LossReport(Struct, frozen=True):
    """The loss with some nodes, those included that are down already, or have left.

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
    """The hosts that serve a token of a table: its tablet, and for each host of it the shards."""

    table: str
    tablet: int
    after: int
    up_to: int
    stage: str
    hosts: tuple[ServingHost, ...]


class ServingHost(Struct, frozen=True):
    """A host with a replica: its shards for reads (None: none go there now) and for writes (empty:
    none do), and that of static sharding.
    """

    host: str
    reads: int | None
    writes: tuple[int, ...]
    static: int


def balance(opened: OpenedTablets) -> BalanceReport:
    """The next plan of the balancer."""
    loads = Loads(opened.input, opened.edition)
    before, nodes = _spread(loads), loads.node_load.tolist()
    step = planned(loads)
    hosts = [node.host for node in opened.nodes]
    pairs = zip(nodes, loads.node_load.tolist(), strict=True)
    after = _spread(loads), dict(zip(hosts, pairs, strict=True))
    stuck = _stuck(loads, step.failures)
    waits = stalled_by(opened), step.waits_for, step.left_out
    return BalanceReport(step.moves, step.bytes, before, *after, stuck, *waits)


def stalled_by(opened: OpenedTablets) -> tuple[str, ...]:
    """The nodes that are down and not excluded: barriers wait for them. Source: published
    coordinator, the barrier of the tablet track, which only ignored nodes need not answer.
    """
    out = ("excluded", "removing", "left")
    roles = {node.host: node.role for node in opened.nodes}
    return tuple(sorted(host for host in opened.down if roles.get(host, "left") not in out))


def _spread(loads: Loads) -> LoadSpread:
    takes = loads.takes
    values = loads.node_load[takes]
    if loads.edition == "documents":
        values = loads.held[takes[loads.node_of]]
    if not len(values):
        return LoadSpread(0.0, 0.0, 0.0)
    return LoadSpread(float(values.max()), float(values.min()), float(values.mean()))


def drain(opened: OpenedTablets, host: str) -> DrainReport:
    """All that would leave a node that is decommissioned (removed, if it is gone), and what not."""
    now = next(node.role for node in opened.nodes if node.host == host)
    is_gone = host in opened.gone or now == "excluded"
    role: NodeRole = now if now in DRAINED else "removing" if is_gone else "leaving"
    given = _with_role(_on_their_way(opened), host, role).input
    idle = replace(given.rows, busy=np.zeros_like(given.rows.busy))
    free = replace(given, rows=idle, streams_read=ANY_NUMBER, streams_write=ANY_NUMBER)
    loads = Loads(replace(free, enabled=False, incomplete=frozenset()), opened.edition)
    code = [node.host for node in opened.nodes].index(host)
    waits_for = Loads(given, opened.edition).stalled.get(code, ())
    is_known = opened.incomplete is not None or not has("complete-statistics", opened.release)
    is_known |= opened.maps.keys() <= (opened.sizes or {}).keys()
    steps = list(drained(loads, host))
    moves = tuple(step for step in steps if isinstance(step, TabletMove))
    failures = [step for step in steps if isinstance(step, DrainFailure)]
    targets = Counter(move.target.host for move in moves for _ in move.tablets)
    left = sum(len(failure.tablets) for failure in failures)
    in_transition = sum(
        tablet.transition != "" and any(replica.host == host for replica in tablet.sets.both)
        for table in opened.maps.values()
        for tablet in table.tablets
    )
    return DrainReport(
        *(host, targets.total() + left, in_transition, dict(sorted(targets.items()))),
        *(sum(move.bytes for move in moves), moves, _stuck(loads, failures)),
        tuple(each for each in stalled_by(opened) if role == "leaving" or each != host),
        _refused(opened, host),
        waits_for if waits_for or is_known or opened.edition == "documents" else None,
    )


def _refused(opened: OpenedTablets, host: str) -> str:
    described = {} if opened.schema is None else opened.schema.keyspaces
    own = (name for name, each in described.items() if each.tablets is not False)
    keyspaces = tuple((name, tuple(opened.replication(name).items())) for name in own)
    hosts = [node.host for node in opened.nodes if node.role in STAYING or node.host == host]
    given = cluster.ClusterTopology(nodes=_entries(opened, hosts), keyspaces=keyspaces)
    return invalid_racks(given, leaves=1 << hosts.index(host))


def _entries(opened: OpenedTablets, hosts: Sequence[str]) -> tuple[cluster.NodeEntry, ...]:
    racks = map("/".join, map(opened.places.__getitem__, hosts))
    return tuple(cluster.NodeEntry(state="normal", tokens=True, rack=rack) for rack in racks)


def _on_their_way(opened: OpenedTablets) -> OpenedTablets:
    tables = TRANSITIONS[opened.edition]

    def towards(tablet: maps.Tablet) -> maps.Tablet:
        if not tablet.transition or ends_well(tables[tablet.transition], tablet.stage):
            return tablet
        return replace(tablet, new_replicas=tablet.replicas)

    tables_then = {
        name: replace(table, tablets=tuple(map(towards, table.tablets)))
        for name, table in opened.maps.items()
    }
    return replace(opened, maps=tables_then)


def _with_role(opened: OpenedTablets, host: str, role: NodeRole) -> OpenedTablets:
    nodes = (replace(node, role=role) if node.host == host else node for node in opened.nodes)
    return replace(opened, nodes=tuple(nodes))


def _stuck(loads: Loads, failures: Sequence[DrainFailure]) -> tuple[StuckTablet, ...]:
    if not failures:
        return ()
    stuck, given = [], loads.given
    tables = {name: code for code, name in enumerate(given.tables)}
    numbers = zip(given.rows.table.tolist(), given.rows.number.tolist(), strict=True)
    rows = {place: row for row, place in enumerate(numbers)}
    for failure in failures:
        row = rows[tables[failure.table], failure.tablets[0]]
        column = loads.place[row].tolist().index(loads.shard_number(failure.source))
        reasons: dict[Misplaced, list[str]] = {}
        for code, node in enumerate(given.nodes):
            misplaced = loads.misplaced(row, column, int(loads.first[code]))
            if misplaced is not None and node.host != failure.source.host:
                reasons.setdefault(misplaced, []).append(node.host)
        why = tuple((reason, tuple(hosts)) for reason, hosts in reasons.items())
        stuck.append(StuckTablet(failure.table, failure.tablets, str(failure.source), why))
    return tuple(stuck)


def lose(opened: OpenedTablets, hosts: Sequence[str]) -> LossReport:
    """Which tablets lose their quorum without some nodes, besides those that are gone already."""
    down = frozenset(hosts) | opened.gone
    places = {node.host: node.datacenter for node in opened.nodes}
    lost = []
    for name, table in opened.maps.items():
        named = opened.replication(maps.keyspace_of(name)).items()
        factors = {dc: replication.number_of(factor) for dc, factor in named} or None
        for number, tablet in enumerate(table.tablets):
            if down.isdisjoint(replica.host for replica in tablet.sets.both):
                continue
            left = availability.served(tablet, opened.edition, down, places, factors)
            if left.without_quorum or left.datacenters:
                counts = len(left.hosts), len(left.alive)
                refused = left.without_quorum, left.datacenters
                lost.append(LostTablet(name, number, *counts, *refused, tablet.stage))
    local = Counter(datacenter for tablet in lost for datacenter in tablet.datacenters)
    return LossReport(
        tuple(sorted(down)),
        sum(table.count for table in opened.maps.values()),
        sum(bool(tablet.without_quorum) for tablet in lost),
        dict(sorted(local.items())),
        sum(not tablet.alive for tablet in lost),
        tuple(lost),
    )


def serving(opened: OpenedTablets, token: int) -> tuple[ServedToken, ...]:
    """The hosts that serve a token, for each table. BadInput for what is no token."""
    shards = {node.host: node.shards for node in opened.nodes}
    answers = []
    for name in opened.maps:
        table = maps.complete(name, opened.maps)
        lasts = table.last_tokens
        number = maps.tablet_of(token, lasts)
        tablet = table.tablets[number]
        reads, writes = availability.selectors(tablet, opened.edition)
        read, written = (
            {replica.host for replica in tablet.sets.chosen(each)} for each in (reads, writes)
        )
        hosts = tuple(
            ServingHost(
                host,
                availability.shard_for_reads(tablet, host, reads) if host in read else None,
                availability.shard_for_writes(tablet, host, writes) if host in written else (),
                availability.static_shard_of(
                    token, shards[host], opened.ignore_msb.get(host, IGNORE_MSB)
                ),
            )
            for host in dict.fromkeys(replica.host for replica in tablet.sets.both)
        )
        tokens = maps.first_token(number, lasts), lasts[number]
        answers.append(ServedToken(name, number, *tokens, tablet.stage, hosts))
    return tuple(answers)


def up_again(opened: OpenedTablets, host: str) -> OpenedTablets:
    """The same cluster once a node that is down is back."""
    return replace(_with_role(opened, host, "normal"), down=opened.down - {host})


def given_up(opened: OpenedTablets, host: str) -> OpenedTablets:
    """The same cluster once an operator has excluded a node that is down."""
    return _with_role(opened, host, "excluded")


def joined(opened: OpenedTablets, host: str, like: str) -> OpenedTablets:
    """The same cluster with one more node, empty, in the rack of another and of its kind. BadInput
    for a node ``host`` that is there, or a node ``like`` that is not.
    """
    if any(node.host == host for node in opened.nodes):
        raise BadInput("host", host, "a node that is not in the cluster yet")
    alike = opened.host(like, "like")
    model = next(node for node in opened.nodes if node.host == alike)
    newcomer = replace(model, host=text("host", host), role="normal")
    return replace(opened, nodes=(*opened.nodes, newcomer))


# -- what repairs leave out ------------------------------------------------------------------------

GRACE = 864_000  # seconds: ``gc_grace_seconds`` of a table of which the schema says nothing


class RepairLine(Struct, frozen=True):
    """A table, or one of a group of co-located ones, as a repair finds it.

    ``skipped`` are the tablets that a primary-range repair on all nodes passes over, since their
    primary replica is on a node that has left. ``never`` counts the tablets that were not repaired
    yet, ``late`` are those to be warned of: in mode ``timeout`` their tombstones go after
    ``gc_grace_seconds``, repaired or not. ``gc_mode`` is empty where nothing tells, and then judged
    as ``timeout``.
    """

    table: str
    tablets: int
    skipped: tuple[int, ...]
    gc_mode: str
    gc_grace_seconds: int
    never: int
    late: tuple[int, ...]


class RepairReport(Struct, frozen=True):
    """The tables at a moment, and the nodes that have left but still have replicas."""

    at: str
    left: tuple[str, ...]
    tables: tuple[RepairLine, ...]


def repair_plan(opened: OpenedTablets, at: datetime) -> RepairReport:
    """The tablets that a primary-range repair would leave out, and the late ones at a moment."""
    left = opened.left
    tables = []
    for base, given in opened.bases.items():
        skipped = availability.skipped_by_primary_repair(given, left, opened.places)
        repairs = opened.repairs.get(base, {})  # those of the base table's tablets
        repaired = {tablet: int(when.timestamp()) for tablet, when in repairs.items()}
        for table in maps.group(base, opened.maps):
            described = opened.schema and opened.schema.tables.get(table)
            mode, seconds = "", None
            if described:
                mode, seconds = described.gc_mode, described.gc_grace_seconds
            grace = GRACE if seconds is None else seconds
            late = availability.unrepaired_in_time(given, repaired, int(at.timestamp()), grace)
            line = RepairLine(
                *(table, given.count, skipped, mode, grace, given.count - len(repaired)),
                late if mode in ("timeout", "") else (),
            )
            tables.append(line)
    return RepairReport(at.isoformat(timespec="seconds"), tuple(sorted(left)), tuple(tables))


# -- a change of a keyspace's replication ----------------------------------------------------------

COMES, GOES = "+-"  # before the place of a replica that a step adds, or takes away


class ChangedTablet(Struct, frozen=True):
    """A tablet's way: its replicas before and after, one of them more or less in each step, and
    what no node can take (``lacks``).
    """

    table: str
    tablet: int
    before: tuple[str, ...]
    steps: tuple[str, ...]
    after: tuple[str, ...]
    lacks: tuple[Misfit, ...] = ()


class RfReport(Struct, frozen=True):
    """A change of a keyspace's replication.

    ``refused`` says why the coordinator turns it away; then there are no changes. ``invalid`` says
    why the keyspace would be RF-rack-valid no more: refused where that is enforced. ``gains`` and
    ``losses`` are replicas by host, ``bytes`` what is copied (None: sizes are not known). A change
    in several steps is ``aborted_by`` nodes that are down in a rack where replicas come. Numbers
    may stand for ``racks`` where these are enforced; there the change is ``refused_by_racks``.
    """

    keyspace: str
    before: Mapping[str, cluster.Factor]
    after: Mapping[str, cluster.Factor]
    refused: str
    invalid: str
    gains: Mapping[str, int]
    losses: Mapping[str, int]
    bytes: int | None
    tablets: tuple[ChangedTablet, ...]
    aborted_by: tuple[str, ...] = ()
    racks: Mapping[str, cluster.Factor] = {}
    refused_by_racks: str = ""


def rf_change(opened: OpenedTablets, keyspace: str, words: Sequence[str]) -> RfReport:
    """The future of a keyspace's tablets; ``words`` are as in ``dc1=3 dc2=r1,r2``. BadInput
    for another keyspace, words that are no replication, tablets that differ from what the keyspace
    has, or where nothing tells of racks.
    """
    wanted = replication.replication_in(words, "DC=REPLICAS")
    for datacenter, factor in wanted:
        for name in (datacenter, *(factor if isinstance(factor, tuple) else ())):
            place_name(name, "DC=REPLICAS")
    tablets = {
        (name, number): tablet.sets.new
        for name, table in opened.bases.items()
        if maps.keyspace_of(name) == keyspace
        for number, tablet in enumerate(table.tablets)
    }
    described = {} if opened.schema is None else opened.schema.keyspaces
    if not tablets and (keyspace not in described or described[keyspace].tablets is False):
        known = [*dict.fromkeys(map(maps.keyspace_of, opened.maps))]
        raise BadInput("KEYSPACE", keyspace, one_of(keyspace, known))
    places = opened.places
    if SOMEWHERE in {place for each in places.values() for place in each}:
        raise BadInput("--topology", None, "a dump of system.topology: racks must be known")
    there = {datacenter for datacenter, _ in places.values()}
    stated = tuple(opened.replication(keyspace).items()) if keyspace in described else None
    held = [
        (table, [places[each.host] for each in replicas])
        for (table, _), replicas in tablets.items()
    ]
    for datacenter, _ in wanted:
        if datacenter not in there | dict(stated or ()).keys():
            raise BadInput("DC=REPLICAS", datacenter, one_of(datacenter, sorted(there)))
    before = replication_before(held, stated, f"keyspace {keyspace}")
    nodes = _entries(opened, [node.host for node in opened.nodes if node.role in STAYING])
    # As much of the topology as the refusals read.
    topology = cluster.ClusterTopology(nodes=nodes, keyspaces=((keyspace, before),))
    request = cluster.RequestEntry(
        "keyspace_rf_change", cluster.NOBODY, keyspace=keyspace, replication=wanted
    )
    after = replication.altered(topology, request)
    setting = cluster.Setting(opened.edition, release=opened.release)
    strict = replace(topology, rf=1)  # whatever it is: racks are enforced
    racks = replication.expanded(strict, keyspace, wanted, setting)
    refused, by_racks = (
        refused_change(each, replace(request, replication=factors), setting, tables=bool(tablets))
        for each, factors in ((topology, wanted), (strict, racks))
    )
    if tablets and any(replication.number_of(each) for _, each in after):
        refused = refused or replication.not_played(topology, request)
    changed = () if refused else tuple(_changed(opened, tablets, dict(after)))
    unfit = not refused and opened.edition == "server"
    invalid = replication.misfit(topology, dict(after)) if unfit else ""
    sizes = opened.sizes
    moved = Counter(step.rpartition(":")[0] for each in changed for step in each.steps)
    comes_to = {places[host[1:]] for host in moved if host[0] == COMES}
    several = opened.edition == "server" and any(len(each.steps) > 1 for each in changed)
    return RfReport(
        *(keyspace, dict(before), dict(after), refused, invalid),
        {host[1:]: count for host, count in sorted(moved.items()) if host[0] == COMES},
        {host[1:]: count for host, count in sorted(moved.items()) if host[0] == GOES},
        None if sizes is None else sum(_bytes(sizes, opened.maps, each) for each in changed),
        changed,
        tuple(h for h in sorted(opened.down) if several and places.get(h) in comes_to),
        *((dict(racks), by_racks) if racks != wanted else ()),
    )


def _changed(
    opened: OpenedTablets,
    tablets: Mapping[tuple[str, int], Replicas],
    wanted: Mapping[str, cluster.Factor],
) -> Iterator[ChangedTablet]:
    places = opened.places
    able = [node.host for node in opened.nodes if node.role == "normal"]
    every = (tablet for table in opened.maps.values() for tablet in table.tablets)
    planner = RfPlanner(
        {node.host: node.shards for node in opened.nodes},
        partial(steps, replication=wanted, places=places, able=able, edition=opened.edition),
        (each for tablet in every for each in tablet.sets.new),
    )
    now = dict(tablets)
    ways: dict[tuple[str, int], list[str]] = {place: [] for place in tablets}
    going = list(tablets)
    while going:
        left = []
        for place in going:
            if (change := planner.next(place[1], now[place])) is not None:
                now[place] = change.on(now[place])
                step = f"{COMES}{change.added}" if change.added else f"{GOES}{change.removed}"
                ways[place].append(step)
                left.append(place)
        going = left
    for place, way in ways.items():
        lacks = tuple(misfits([places[each.host] for each in now[place]], wanted))
        if way or lacks:
            old, new = (tuple(map(str, replicas)) for replicas in (tablets[place], now[place]))
            yield ChangedTablet(*place, old, tuple(way), new, lacks)


def _bytes(sizes: TabletSizes, tables: Mapping[str, maps.TabletMap], changed: ChangedTablet) -> int:
    columns = [sizes.get(name, ()) for name in maps.group(changed.table, tables)]
    rows = [column[changed.tablet] for column in columns if changed.tablet < len(column)]
    largest = sum(max(row.values(), default=0) for row in rows)
    return largest * sum(step.startswith(COMES) for step in changed.steps)
