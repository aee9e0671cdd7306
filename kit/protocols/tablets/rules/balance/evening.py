"""Even loads: what moves until the fullest and the emptiest place of a datacenter are near enough.

Edition ``documents`` counts tablets, from the fullest to the emptiest shard (Q-26). In the end each
shard has the mean, rounded up or down. A shard above that gives first, one below it takes first;
only when there is none does one at the mean give or take. So no tablet moves that need not: the
moves are as many as must leave overfull shards, or come to those that lack some. Where racks bind,
each rack has a mean of its own.

Edition ``server`` evens out the utilisation of storage, node by node, then shard by shard within
nodes. One plan fills one node of a datacenter, the least utilised one, from those that are utilised
most. Which tablet goes is a question of badness for the spread of its own table, which is ideal
where its bytes take the same part of every capacity: what moves the source below that or the target
above it is bad, by how far, in parts of the table. Source: the published tablet allocator, its
``migration_badness``.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from kit.protocols.tablets.rules.balance.cluster import NOBODY, Codes
from kit.protocols.tablets.rules.balance.loads import (
    Loads,
    Numbers,
    TabletMove,
    candidates,
    first_fits,
)
from kit.protocols.tablets.rules.balance.reasons import EvensOut, StreamsFull
from kit.ring.columns import NDArray, np
from kit.ring.topology import Mask

Places = NDArray[np.intp]  # numbers of shards within the scope

AT_ONCE = 256  # pairs of shards; what comes after one that does not fit is looked at again
LEAST_GAP = 2  # tablets: to move one between closer shards would only swap them


def even_counts(loads: Loads, datacenter: int) -> Iterator[TabletMove]:
    """Moves that even out tablet counts: within a datacenter (by its code), else in its racks."""
    inside = loads.dc == datacenter
    moves = list(_Evening(loads, inside).moves()) if _may_cross(loads, inside) else []
    yield from moves
    if moves:
        return
    for rack in dict.fromkeys(loads.rack[inside].tolist()):
        yield from _Evening(loads, loads.rack == rack).moves()


def _may_cross(loads: Loads, inside: Mask) -> bool:
    racks = len(set(loads.rack[inside].tolist()))
    nodes = loads.given.rows.nodes
    if not nodes.size:
        return False
    held, alike = loads.places.racks_of(nodes, inside[nodes])
    most = alike.max(1)
    full = (alike == most[:, None]).sum(1, where=held != NOBODY) // np.maximum(most, 1)
    return bool(((most > 0) & (full < racks)).any())


class _Evening:
    """Shards of one datacenter or rack whose counts are evened out."""

    def __init__(self, loads: Loads, nodes: Mask) -> None:
        self.loads = loads
        self.shards = np.flatnonzero((nodes & loads.takes)[loads.node_of])
        held = loads.held[self.shards]
        mean = held.mean() if len(held) else 0.0
        self.low, self.high = float(np.floor(mean)), float(np.ceil(mean))
        self.giving, self.taking = held.copy(), held.copy()
        self._look_again(np.arange(len(held)))
        self.over, self.under = int((held > self.high).sum()), int((held < self.low).sum())

    def moves(self) -> Iterator[TabletMove]:
        """Moves until counts are even, or streams are full: from all the fullest shards in turn to
        the emptiest ones, so that each pair has the same counts.
        """
        while len(self.shards):
            most, least = float(self.giving.max()), float(self.taking.min())
            if not most - least >= LEAST_GAP:
                return
            if (most <= self.high and self.over) or (least >= self.low and self.under):
                return  # it waits for streams
            sources = np.flatnonzero(self.giving == most)
            targets = np.flatnonzero(self.taking == least)
            pairs = min(len(sources), len(targets), AT_ONCE)
            yield from self._between(sources[:pairs], targets[:pairs])

    def _between(self, sources: Places, targets: Places) -> Iterator[TabletMove]:
        loads = self.loads
        rows, columns, fit = first_fits(loads, self.shards[sources], self.shards[targets])
        in_turn = int(np.append(fit, False).argmin())
        if not in_turn:
            yield from self._first_fit(int(sources[0]), int(targets[0]))
            return
        sources, targets = sources[:in_turn], targets[:in_turn]
        most, least = float(self.giving[sources[0]]), float(self.taking[targets[0]])
        reason = EvensOut(most, least, most - 1, least + 1)
        places = np.column_stack((rows, columns))[:in_turn].astype(np.int32)
        yield from loads.apply_all(places, self.shards[targets], reason)
        self._count(reason, in_turn)
        self._look_again(np.concatenate((sources, targets)))

    def _first_fit(self, source: int, target: int) -> Iterator[TabletMove]:
        held = list(self.loads.rows_on(int(self.shards[source])))
        waits = False
        for place in self._targets(source, target):
            taker = int(self.shards[place])
            for row, column in held:
                if (refusal := self.loads.refusal(row, column, taker)) is None:
                    # The target may have no more than the source: two siblings count twice.
                    reason = EvensOut(*self.loads.compared(row, column, taker))
                    if reason.source_after >= reason.target_after:
                        yield self.loads.apply(row, column, taker, reason)
                        self._count(reason, 1)
                        self._look_again(np.array([source, place]))
                        return
                waits = waits or isinstance(refusal, StreamsFull)
        if not waits and self.giving[source] > self.high:
            self.over -= 1
        self.giving[source] = -np.inf

    def _targets(self, source: int, target: int) -> Iterator[int]:
        yield target
        tried = {int(self.loads.node_of[self.shards[target]])}
        worth = self.giving[source] - LEAST_GAP
        for place in np.argsort(self.taking, kind="stable").tolist():
            if self.taking[place] > worth:
                return
            if (node := int(self.loads.node_of[self.shards[place]])) not in tried:
                tried.add(node)
                yield place

    def _count(self, reason: EvensOut, moves: int) -> None:
        self.over -= moves * (reason.source > self.high >= reason.source_after)
        self.under -= moves * (reason.target < self.low <= reason.target_after)

    def _look_again(self, places: Places) -> None:
        shards, given = self.shards[places], self.loads.given
        held = self.loads.held[shards]
        reads, writes = self.loads.reads[shards], self.loads.writes[shards]
        self.giving[places] = np.where(reads < given.streams_read, held, -np.inf)
        self.taking[places] = np.where(writes < given.streams_write, held, np.inf)


class TableSpread:
    """How much of each table the shards and nodes hold that a plan looks at. Ideal is what is so
    among the nodes ``inside``, whose loads are to be even: elsewhere a table may have other
    replicas, and disks may be larger.
    """

    def __init__(self, loads: Loads, inside: Mask) -> None:
        self.loads = loads
        # What a shard, and a node, holds of each table; counted up when it is asked for first.
        self._on_shard = cache(lambda shard: self._counted((shard,)))
        self._on_node = cache(lambda node: self._counted(loads.shards_of(node)))
        rows = loads.given.rows
        here = loads.present & inside[rows.nodes]
        held = np.bincount(rows.table, (loads.weight * here).sum(1), len(loads.given.tables))
        self._ideal = held / loads.node_room[inside].sum()

    def of(self, places: NDArray[np.int32], source: int, target: int) -> tuple[Numbers, Numbers]:
        """How bad it is to move replicas on one shard to another: for shards, and for nodes, which
        count first, as far as they are bad at all, and not within a node.
        """
        loads = self.loads
        rows = places[:, 0]
        tables = loads.given.rows.table[rows]
        weights = loads.weight[rows, places[:, 1]]
        ideal = self._ideal[tables]
        giver, taker = int(loads.node_of[source]), int(loads.node_of[target])
        shard = _badness(
            ideal,
            (_column_of(self._on_shard(source), tables) - weights) / loads.room[source],
            (_column_of(self._on_shard(target), tables) + weights) / loads.room[target],
        )
        if giver == taker:
            return shard, np.zeros(len(shard))
        node = _badness(
            ideal,
            (_column_of(self._on_node(giver), tables) - weights) / loads.node_room[giver],
            (_column_of(self._on_node(taker), tables) + weights) / loads.node_room[taker],
        )
        return shard, np.maximum(node, 0)

    def count_move(self, row: int, column: int, target: int) -> None:
        """Count a move; asked before the loads count it."""
        loads = self.loads
        table, weight = int(loads.given.rows.table[row]), float(loads.weight[row, column])
        source = int(loads.place[row, column])
        giver, taker = int(loads.node_of[source]), int(loads.node_of[target])
        changed = [(self._on_shard(source), -weight), (self._on_shard(target), weight)]
        if giver != taker:
            changed += [(self._on_node(giver), -weight), (self._on_node(taker), weight)]
        for held, change in changed:
            held[table] = held.get(table, 0.0) + change

    def _counted(self, shards: Iterable[int]) -> dict[int, float]:
        held: dict[int, float] = {}
        tables, weights = self.loads.given.rows.table, self.loads.weight
        for shard in shards:
            for row, column in self.loads.rows_on(shard):
                table = int(tables[row])
                held[table] = held.get(table, 0.0) + float(weights[row, column])
        return held


def _column_of(held: dict[int, float], tables: Codes) -> Numbers:
    return np.array([held.get(table, 0.0) for table in tables.tolist()])


def _badness(ideal: Numbers, source_after: Numbers, target_after: Numbers) -> Numbers:
    worst: Numbers = np.maximum(ideal - source_after, target_after - ideal) / ideal
    return worst


THRESHOLD = 0.01  # loads are even where they differ by less than this part of the largest one


def is_even(most: float, least: float, *, counts: bool = False) -> bool:
    """Whether the most and the least loaded place are near enough: alike, where tablets count."""
    return most == least or (not counts and (most - least) / most < THRESHOLD)


def even_utilisation(loads: Loads, scope: Mask, *, between: bool) -> Iterator[TabletMove]:
    """Moves to the least utilised of the nodes that are planned together, unless one of them is
    drained (``between`` nodes), then those within nodes.
    """
    inside = loads.takes & scope
    inside[list(loads.stalled)] = False
    if inside.any():
        spread = TableSpread(loads, inside)
        if between:
            yield from _between_nodes(loads, spread, inside)
        yield from _within_nodes(loads, spread, inside)


def _between_nodes(loads: Loads, spread: TableSpread, inside: Mask) -> Iterator[TabletMove]:
    target = int(np.where(inside, loads.node_load, np.inf).argmin())
    may_give = inside.copy()
    stuck = 0.0  # how full the fullest node is that has nothing to give
    while True:
        now = loads.node_load
        source = int(np.where(may_give, now, -np.inf).argmax())
        most, least = float(now[source]), float(now[target])
        if most <= least:
            return
        if is_even(
            max(most, stuck), least, counts=loads.given.counts
        ):  # published ``max_off_candidate_load``
            return
        move = _best(loads, spread, loads.by_load(source)[::-1], loads.by_load(target))
        if move is None:
            may_give[source], stuck = False, max(stuck, most)
        else:
            yield move


def _within_nodes(loads: Loads, spread: TableSpread, inside: Mask) -> Iterator[TabletMove]:
    load, starts = loads.shard_load, loads.first[:-1]
    most, least = np.maximum.reduceat(load, starts), np.minimum.reduceat(load, starts)
    counts = loads.given.counts
    uneven = inside & (most > least) & (counts | (most - least >= THRESHOLD * most))
    for node in np.flatnonzero(uneven).tolist():
        while True:
            *others, fullest = loads.by_load(node)
            ends = (fullest, others[0])
            ends_at = (float(loads.held[shard] / loads.room[shard]) for shard in ends)
            if is_even(*ends_at, counts=counts):
                break
            move = _best(loads, spread, (fullest,), others)
            if move is None:
                break
            yield move


def _best(
    loads: Loads, spread: TableSpread, sources: Iterable[int], targets: Iterable[int]
) -> TabletMove | None:
    limit = loads.given.streams_write
    target = next((shard for shard in targets if loads.writes[shard] < limit), None)
    if target is None:
        return None
    for source in sources:
        fit = candidates(loads, source, target)
        # The target is to be less full than the source is now, so that the fullest place gets
        # emptier with each move and plans come to an end; of nodes whose tablets are counted, no
        # fuller than the source is then (published ``check_convergence``,
        # ``check_intranode_convergence``).
        giver, taker, held, room = loads.judged(source, target)
        weights = loads.weight[fit[:, 0], fit[:, 1]]
        then = (held[taker] + weights) / room[taker]
        if loads.may_not_invert(source, target):
            fit = fit[then <= (held[giver] - weights) / room[giver]]
        else:
            fit = fit[then < held[giver] / room[giver]]
        if len(fit):
            bad = spread.of(fit, source, target)
            row, column = (int(place) for place in fit[np.lexsort(bad)[0]])
            reason = EvensOut(*loads.compared(row, column, target))
            spread.count_move(row, column, target)
            return loads.apply(row, column, target, reason)
    return None
