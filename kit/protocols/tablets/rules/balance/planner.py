"""The plan: what the balancer would begin now, and why for any tablet and any target.

A plan is an increment: as much as streams allow. The balancer keeps nothing; it is asked again once
tablets have moved on. In each datacenter nodes are drained first, whether loads get even by that or
not, then loads evened out, and only where there is nothing else to do siblings are brought together
for a merge (Topology over Raft, "Tablet merging": low priority). A tablet that no node may take is
a failure of the drain, which is reported; the published coordinator then cancels the request.
"""

from collections.abc import Iterator

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance import evening, reasons
from kit.protocols.tablets.rules.balance.cluster import DRAINED, NOBODY, BalancerInput
from kit.protocols.tablets.rules.balance.loads import Loads, Numbers, TabletMove
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import Edition
from kit.ring.columns import np
from kit.ring.topology import Mask


class DrainFailure(Struct, frozen=True):
    """A replica on a node that is to be empty, and that no node may take."""

    table: str
    tablets: tuple[int, ...]
    source: TabletReplica


def drained(loads: Loads, only: str = "") -> Iterator[TabletMove | DrainFailure]:
    """Moves off all nodes to drain, or off ``only`` one of them, as far as streams allow, and what
    cannot be moved.
    """
    rows = loads.given.rows
    leaving = [
        (node, shard, entry.role)
        for node, entry in enumerate(loads.given.nodes)
        if entry.role in DRAINED and only in ("", entry.host) and node not in loads.stalled
        for shard in loads.shards_of(node)
    ]
    for node, shard, role in leaving:
        for row, column in loads.rows_on(shard):
            if loads.under_way(row, column):
                continue
            moving = loads.moving(row, column)
            nodes = loads.places.fit(rows, moving, node)
            if not nodes.any():
                tablets = tuple(rows.number[moving.start : moving.stop].tolist())
                table = loads.given.tables[int(rows.table[row])]
                yield DrainFailure(table, tablets, loads.replica(shard))
            elif (target := _least_loaded(loads, row, column, nodes)) is not None:
                reason = reasons.Drains(role, float(loads.shard_load[target]))
                yield loads.apply(row, column, target, reason)


def to_drain(loads: Loads, scope: Mask) -> list[int]:
    """Those of some nodes that are to be empty and are not."""
    nodes, held = loads.given.nodes, loads.given.rows.nodes
    left = np.zeros(len(nodes), np.bool_)
    left[held[held != NOBODY]] = True
    left &= scope
    return [node for node in np.flatnonzero(left).tolist() if nodes[node].role in DRAINED]


def _least_loaded(loads: Loads, row: int, column: int, nodes: Mask) -> int | None:
    order = np.flatnonzero(nodes)
    order = order[np.argsort(loads.node_load[order], kind="stable")]
    for shard in (shard for node in order.tolist() for shard in loads.by_load(node)):
        full = loads.full(row, column, shard)
        if full is None or full.reads:
            return shard if full is None else None
    return None


def brought_together(loads: Loads, scope: Mask) -> Iterator[TabletMove]:
    """A move of each odd sibling that is apart on some nodes, of which none of these two is
    drained, and that streams allow.

    While the even one is in transition it is not known where it will be; the odd one can begin none
    while it is in one, that of this plan included.
    """
    for even, odd in loads.given.pairs:
        if loads.busy[even]:
            continue
        for column, target in _steps(loads, even, odd):
            places = loads.node_of[[int(loads.place[odd, column]), target]]
            inside = scope[places].all() and not loads.places.drained[places].any()
            if inside and loads.refusal(odd, column, target) is None:
                reason = reasons.JoinsSibling(int(loads.given.rows.number[even]))
                yield loads.apply(odd, column, target, reason)


def _steps(loads: Loads, even: int, odd: int) -> Iterator[tuple[int, int]]:
    wanted, held = _places(loads, even), _places(loads, odd)
    missing = [shard for shard in wanted.values() if shard not in held.values()]
    extra = {column: shard for column, shard in held.items() if shard not in wanted.values()}
    for near in (loads.node_of, loads.rack[loads.node_of], loads.dc[loads.node_of]):
        for column, shard in list(extra.items()):
            target = next((other for other in missing if near[other] == near[shard]), None)
            if target is not None:
                yield column, target
                missing.remove(target)
                del extra[column]


def _places(loads: Loads, row: int) -> dict[int, int]:
    nodes = loads.given.rows.nodes[row].tolist()
    return {
        column: int(loads.place[row, column]) for column, node in enumerate(nodes) if node != NOBODY
    }


class BalancePlan(Struct, frozen=True):
    """The transitions to begin, and which replicas on nodes to drain can go nowhere; without sizes,
    the nodes that a drain ``waits_for``, and those ``left_out``, which neither give nor take.
    """

    moves: tuple[TabletMove, ...]
    failures: tuple[DrainFailure, ...] = ()
    waits_for: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """How much is copied."""
        return sum(move.bytes for move in self.moves)


def plan(given: BalancerInput, edition: Edition = "server") -> BalancePlan:
    """The next moves of a cluster as ``balancer_input`` gives it, for a release of the server; no
    moves: it is balanced, or all streams are taken.
    """
    return planned(Loads(given, edition))


def planned(loads: Loads) -> BalancePlan:
    """The plan, with which ``loads`` then counts.

    Each datacenter (rack, where racks are named) is looked at for itself. While it has a node to
    drain, nothing else moves there, even if that cannot go on; only in edition ``server`` loads are
    evened out within its other nodes, and siblings come together where nothing else begins.
    """
    steps = list(drained(loads))
    moves = [step for step in steps if isinstance(step, TabletMove)]
    places = [loads.node_of[loads.shard_number(step.source)] for step in steps]
    for datacenter in dict.fromkeys(loads.dc.tolist() if loads.given.enabled else ()):
        for scope in loads.scopes(datacenter):
            drains = bool(to_drain(loads, scope))
            if loads.edition == "server":
                evened = list(evening.even_utilisation(loads, scope, between=not drains))
            else:
                evened = [] if drains else list(evening.even_counts(loads, datacenter))
            idle = not scope[places].any() and not (drains and loads.edition == "documents")
            moves += evened or (brought_together(loads, scope) if idle else ())
    failures = tuple(step for step in steps if isinstance(step, DrainFailure))
    waits_for = dict.fromkeys(host for hosts in loads.stalled.values() for host in hosts)
    left_out = tuple(loads.given.nodes[node].host for node in sorted(loads.left_out))
    return BalancePlan(tuple(moves), failures, tuple(waits_for), left_out)


class WhyAnswer(Struct, frozen=True):
    """Which replica was asked about, whether the plan moves it to the target, and the reason."""

    source: TabletReplica
    target: TabletReplica
    moves: bool
    reason: reasons.Reason


def why(
    given: BalancerInput,
    table: str,
    tablet: int,
    target: TabletReplica,
    *,
    source: TabletReplica | None = None,
    edition: Edition = "server",
) -> WhyAnswer:
    """Why the plan moves a tablet to a shard, or why not.

    ``source`` is the replica that would leave; without it the one that the plan moves there, else
    the one on the target's host, else one on a node that is drained, else the most loaded one of
    the target's rack, or else of its datacenter. BadInput for a tablet, a shard or a replica that
    is not there.
    """
    before, after = Loads(given, edition), Loads(given, edition)
    row = _row(given, table, tablet)
    try:
        place = before.shard_number(target)
    except KeyError:
        allowed = "a host of the cluster and one of its shards"
        raise BadInput("target", str(target), allowed) from None
    moves = {
        move.source: move
        for move in planned(after).moves
        if move.table == table and tablet in move.tablets
    }
    if source is None:
        source = next((leaves for leaves, move in moves.items() if move.target == target), None)
    column = _column(before, row, place, source)
    if not before.given.rows.together[
        row, column
    ]:  # it moves with the even sibling that it is with
        row, shard = row - 1, before.place[row, column]
        column = before.place[row].tolist().index(shard)
    leaves = before.replica(int(before.place[row, column]))
    if (move := moves.get(leaves)) is not None and move.target == target:
        return WhyAnswer(leaves, target, True, move.reason)
    elsewhere = None if move is None else reasons.MovesElsewhere(*move.target)
    reason = elsewhere or next(_obstacles(before, after, row, column, place))
    return WhyAnswer(leaves, target, False, reason)


def _row(given: BalancerInput, table: str, tablet: int) -> int:
    if table not in given.tables:
        raise BadInput("table", table, "a base table of the cluster")
    rows = np.flatnonzero(given.rows.table == given.tables.index(table))
    if not 0 <= tablet < len(rows):
        raise BadInput("tablet", tablet, f"a tablet of {table}: 0 to {len(rows) - 1}")
    return int(rows[tablet])


def _column(loads: Loads, row: int, place: int, source: TabletReplica | None) -> int:
    places = _places(loads, row)
    if source is not None:
        held = {loads.replica(shard): column for column, shard in places.items()}
        if source not in held:
            raise BadInput("source", str(source), "a replica of the tablet")
        return held[source]
    taker, load = int(loads.node_of[place]), loads.shard_load

    def nearness(column: int) -> tuple[bool, bool, bool, bool, float]:
        node = int(loads.node_of[places[column]])
        drains = loads.given.nodes[node].role in DRAINED
        near, same = (bool(code[node] == code[taker]) for code in (loads.dc, loads.rack))
        return node == taker, drains, near, same, load[places[column]]

    return max(places, key=nearness)


def _obstacles(
    before: Loads, after: Loads, row: int, column: int, target: int
) -> Iterator[reasons.Reason]:
    source = int(before.place[row, column])
    if (refusal := before.refusal(row, column, target)) is not None:
        yield refusal
    full = after.full(row, column, target)
    if before.given.nodes[int(before.node_of[source])].role not in DRAINED:
        if not before.given.enabled:
            yield reasons.Disabled()
        inside = before.node_of[source] == before.node_of[target]
        if before.edition == "documents" or not inside:
            for node in to_drain(before, before.scope_of(target)):
                yield reasons.DrainsFirst(before.given.nodes[node].host)
        yield from _uneven_enough(before, row, column, target)
    if full is not None:
        yield full
    loads, pair = _scope(before, source, target), before.compared(row, column, target)[:2]
    yield reasons.OthersFirst(*pair, float(loads.max()), float(loads.min()))


def _uneven_enough(loads: Loads, row: int, column: int, target: int) -> Iterator[reasons.Reason]:
    source = int(loads.place[row, column])
    nodes = [loads.given.nodes[loads.node_of[shard]] for shard in (source, target)]
    if loads.edition == "server" and not loads.scope_of(target)[loads.node_of[source]]:
        yield reasons.EvenByRack(nodes[0].rack, nodes[1].rack)
    scope = _scope(loads, source, target)
    most, least = float(scope.max()), float(scope.min())
    allowed: float = 0 if loads.given.counts else evening.THRESHOLD * most
    even = evening.is_even(most, least, counts=loads.given.counts)
    if loads.edition == "documents":
        allowed = evening.LEAST_GAP - 1
        even = most - least <= allowed
    if even:
        yield reasons.Balanced(most, least, allowed)
    full, empty, full_after, empty_after = loads.compared(row, column, target)
    if full <= empty:
        yield reasons.NotEmptier(full, empty)
    elif loads.may_not_invert(source, target):
        if full_after < empty_after:
            yield reasons.WouldInvert(full_after, empty_after)
    elif full <= empty_after:
        yield reasons.NoGain(full, empty_after)


def _scope(loads: Loads, source: int, target: int) -> Numbers:
    """The loads that are to be even: in ``documents`` of a datacenter's shards, in ``server`` of
    nodes (of a rack, where racks are named), or of the shards of one.
    """
    giver, taker = int(loads.node_of[source]), int(loads.node_of[target])
    scope: Numbers = loads.node_load[loads.takes & loads.scope_of(target)]
    if loads.edition == "documents":
        inside = loads.takes & (loads.dc == loads.dc[taker])
        scope = loads.held[inside[loads.node_of]]
    elif giver == taker:
        scope = loads.shard_load[loads.first[giver] : loads.first[giver + 1]]
    return scope
