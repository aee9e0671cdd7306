"""Why a tablet goes to a place, or why it does not: an answer for any tablet and any target."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance.cluster import NOBODY, BalancerInput
from kit.protocols.tablets.rules.balance.counting import LEAST_GAP
from kit.protocols.tablets.rules.balance.draining import to_drain
from kit.protocols.tablets.rules.balance.loads import Loads, Numbers
from kit.protocols.tablets.rules.balance.places import DRAINED
from kit.protocols.tablets.rules.balance.planner import planned
from kit.protocols.tablets.rules.balance.reasons import (
    Balanced,
    Disabled,
    DrainsFirst,
    EvenByRack,
    MovesElsewhere,
    NoGain,
    NotEmptier,
    OthersFirst,
    Reason,
    WouldInvert,
)
from kit.protocols.tablets.rules.balance.utilisation import THRESHOLD, is_even
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import Edition


class WhyAnswer(Struct, frozen=True):
    """Which replica was asked about, whether the plan moves it to the target, and the reason."""

    source: TabletReplica
    target: TabletReplica
    moves: bool
    reason: Reason


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
    the target's datacenter.

    Raises:
        BadInput: for a tablet, a shard or a replica that is not there.
    """
    before, after = Loads(given, edition), Loads(given, edition)
    row = _row(given, table, tablet)
    place = _shard(before, target)
    moves = {
        move.source: move
        for move in planned(after).moves
        if move.table == table and tablet in move.tablets
    }
    if source is None:
        source = next((leaves for leaves, move in moves.items() if move.target == target), None)
    row, column = _moving_with(before, row, _column(before, row, place, source))
    leaves = before.replica(int(before.place[row, column]))
    move = moves.get(leaves)
    if move is not None:
        is_there = move.target == target
        return WhyAnswer(
            leaves, target, is_there, move.reason if is_there else MovesElsewhere(*move.target)
        )
    reasons = _obstacles(before, after, row, column, place)
    return WhyAnswer(leaves, target, False, next(reasons))


def _row(given: BalancerInput, table: str, tablet: int) -> int:
    """The row of a tablet."""
    rows = given.rows
    if table not in given.tables:
        raise BadInput("table", table, "a base table of the cluster")
    inside = rows.table == given.tables.index(table)
    fits = inside & (rows.number == tablet)
    if not fits.any():
        raise BadInput("tablet", tablet, f"a tablet of {table}: 0 to {int(inside.sum()) - 1}")
    return int(fits.argmax())


def _shard(loads: Loads, target: TabletReplica) -> int:
    try:
        return loads.shard_number(target)
    except KeyError:
        allowed = "a host of the cluster and one of its shards"
        raise BadInput("target", str(target), allowed) from None


def _column(loads: Loads, row: int, place: int, source: TabletReplica | None) -> int:
    """Which replica of a tablet is asked about."""
    places = {
        column: int(shard)
        for column, shard in enumerate(loads.place[row])
        if loads.given.rows.nodes[row, column] != NOBODY
    }
    if source is not None:
        for column, shard in places.items():
            if loads.replica(shard) == source:
                return column
        raise BadInput("source", str(source), "a replica of the tablet")
    taker = int(loads.node_of[place])
    load = loads.shard_load

    def nearness(column: int) -> tuple[bool, bool, bool, float]:
        shard = places[column]
        node = int(loads.node_of[shard])
        role = loads.given.nodes[node].role
        return node == taker, role in DRAINED, bool(loads.dc[node] == loads.dc[taker]), load[shard]

    return max(places, key=nearness)


def _moving_with(loads: Loads, row: int, column: int) -> tuple[int, int]:
    """The replica that a replica moves with: itself, or the even sibling's that it is with."""
    if loads.given.rows.together[row, column]:
        return row, column
    return row - 1, loads.place[row - 1].tolist().index(loads.place[row, column])


def _obstacles(before: Loads, after: Loads, row: int, column: int, target: int) -> Iterator[Reason]:
    """All that keeps a replica from a shard, first what forbids it, then what else goes first."""
    source = int(before.place[row, column])
    refusal = before.refusal(row, column, target)
    if refusal is not None:
        yield refusal
    is_drained = before.given.nodes[int(before.node_of[source])].role in DRAINED
    full = after.full(row, column, target)
    if not is_drained:
        if not before.given.enabled:
            yield Disabled()
        for node in to_drain(before, int(before.dc[before.node_of[target]])):
            yield DrainsFirst(before.given.nodes[node].host)
        yield from _uneven_enough(before, row, column, target)
    if full is not None:
        yield full
    loads = _scope(before, source, target)
    yield OthersFirst(
        *before.compared(row, column, target)[:2], float(loads.max()), float(loads.min())
    )


def _uneven_enough(loads: Loads, row: int, column: int, target: int) -> Iterator[Reason]:
    """Whether the loads ask for the move at all."""
    source = int(loads.place[row, column])
    nodes = [loads.given.nodes[loads.node_of[shard]] for shard in (source, target)]
    if loads.edition == "server" and not loads.scope_of(target)[loads.node_of[source]]:
        yield EvenByRack(nodes[0].rack, nodes[1].rack)
    scope = _scope(loads, source, target)
    most, least = float(scope.max()), float(scope.min())
    counts = loads.edition == "documents"
    if most - least < LEAST_GAP if counts else is_even(most, least):
        yield Balanced(most, least, LEAST_GAP - 1 if counts else THRESHOLD * most)
    full, empty, full_after, empty_after = loads.compared(row, column, target)
    if full <= empty:
        yield NotEmptier(full, empty)
    elif not counts and full <= empty_after:
        yield NoGain(full, empty_after)
    elif counts and full_after < empty_after:
        yield WouldInvert(full_after, empty_after)


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
