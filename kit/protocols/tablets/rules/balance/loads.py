"""The loads of nodes and shards while a plan is made: arrays over all shards, counted up once.

A plan changes few of them. What it touches is looked at one by one; what it has to compare is kept
in columns.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import repeat

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import check_among
from kit.protocols.tablets.rules.balance import cluster, reasons
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica, stream_load
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.columns import NDArray, np
from kit.ring.topology import Mask

Numbers = NDArray[np.float64]
Shards = NDArray[np.intp]
KINDS: dict[bool, TransitionKind] = {True: "intranode_migration", False: "migration"}
"""A move's kind, by whether it stays in its node; off a node that is removed it is a rebuild."""


class TabletMove(Struct, frozen=True):
    """A transition of a plan: the tablets (two siblings, where they move together), why, and the
    ``bytes`` to copy, or where these are not known in each table of a group, what the load counts
    for it.
    """

    table: str
    tablets: tuple[int, ...]
    kind: TransitionKind
    source: TabletReplica
    target: TabletReplica
    bytes: int
    reason: reasons.MoveReason


class Loads:
    """The replicas, the load of every shard, and what the plan has done to that so far.

    Shards are counted through all nodes. A load is ``held`` by ``room``: tablets per shard in
    edition ``documents``, bytes by capacity in ``server``. BadInput for another edition.
    """

    def __init__(self, given: cluster.BalancerInput, edition: Edition) -> None:
        check_among("edition", edition, EDITIONS)
        places = cluster.NodePlaces(given, edition)
        rows, nodes = places.parted(given.rows), given.nodes
        self.given, self.edition = replace(given, rows=rows), edition
        self._codes = {node.host: code for code, node in enumerate(nodes)}
        self._unread = cluster.unread_hosts(nodes)
        self.first = np.array(cluster.first_shards(nodes), np.int32)
        shards = np.diff(self.first)
        self.node_of = np.repeat(np.arange(len(nodes), dtype=np.int32), shards)
        self.count = int(self.first[-1])
        self.present = rows.nodes != cluster.NOBODY
        self.place = np.where(self.present, self.first[rows.nodes] + rows.shards, self.count)
        counts = np.maximum(rows.together, 0)
        # Where the bytes of a replica are not known, those that its load counts.
        sizes = np.where(rows.sizes == cluster.UNKNOWN, rows.weights, rows.sizes)
        self._copied = self._of_both(sizes)
        self.room: Numbers = np.ones(self.count)
        if edition == "server":
            counts = np.where(rows.together > 0, self._of_both(rows.weights), 0)
            # With capacities unknown, all shards count alike.
            capacities = np.array([node.capacity for node in nodes], np.float64) / shards
            room = np.where(capacities > 0, capacities, float(given.target_size))
            self.room = np.repeat(room, shards)
        self.weight: Numbers = counts.astype(np.float64)
        self.node_room: Numbers = np.add.reduceat(self.room, self.first[:-1])
        held = np.bincount(self.place.ravel(), self.weight.ravel(), self.count)
        self.held: Numbers = held[: self.count].astype(np.float64)
        self.node_held: Numbers = np.add.reduceat(self.held, self.first[:-1])
        self.places, self.takes, self.scopes = places, places.takes, places.scopes
        self.dc, self.rack, self.named = places.dc, places.rack, places.named
        self.left_out: set[int] = set()
        self.stalled: dict[int, tuple[str, ...]] = {}
        if edition == "server" and given.incomplete:
            self._leave_out()
        self.busy = rows.busy.copy()
        self.reads, self.writes = given.reads.copy(), given.writes.copy()
        # The odd one of two siblings that are together moves with the even one.
        single = np.where(rows.together > 0, self.place, self.count).ravel()
        narrow = np.uint16 if self.count < 2**16 else np.int32  # numpy sorts 16 bits by radix
        self.slots = np.argsort(single.astype(narrow), kind="stable").astype(np.int32)
        counts = np.bincount(single, minlength=self.count)
        self.starts = np.concatenate(([0], np.cumsum(counts)))
        self.width = rows.nodes.shape[1]

    def _leave_out(self) -> None:
        """Leave incomplete nodes out, or hold up a whole scope while a node of it is drained: then
        all sizes must be known but those on nodes that are given up (published ``make_plan``).
        """
        nodes, held = self.given.nodes, set(self.given.rows.nodes[self.present].tolist())
        drained = {node for node in held if nodes[node].role in cluster.DRAINED}
        needs = {n for n in drained if nodes[n].role == "leaving"} | {*np.flatnonzero(self.takes)}
        needs = {n for n in needs if nodes[n].host in self.given.incomplete}
        for datacenter in dict.fromkeys(self.dc.tolist()):
            for scope in self.scopes(datacenter):
                inside = np.flatnonzero(scope).tolist()
                lacking = sorted(needs.intersection(inside))
                if drained.isdisjoint(inside):
                    self.left_out.update(lacking)
                elif lacking:
                    self.stalled |= dict.fromkeys(inside, tuple(nodes[n].host for n in lacking))
        self.takes[list(self.left_out)] = False

    def _of_both(self, sizes: cluster.Bytes) -> cluster.Bytes:
        rows = self.given.rows
        even, column = np.nonzero(rows.together == 2)
        if not len(even):
            return sizes
        total = sizes.copy()
        place = rows.nodes[even, column]
        odd = (rows.nodes[even + 1] == place[:, None]).argmax(1)
        total[even, column] += sizes[even + 1, odd]
        return total

    @property
    def shard_load(self) -> Numbers:
        """The load of every shard."""
        return self.held / self.room

    @property
    def node_load(self) -> Numbers:
        """The load of every node; in edition ``documents`` the mean of its shards."""
        return self.node_held / self.node_room

    def shards_of(self, node: int) -> range:
        """The numbers of a node's shards."""
        return range(int(self.first[node]), int(self.first[node + 1]))

    def by_load(self, node: int) -> list[int]:
        """The shards of a node, the least loaded first."""
        first, end = self.first[node], self.first[node + 1]
        order = np.argsort(self.held[first:end], kind="stable")  # they have equal room
        shards: list[int] = (first + order).tolist()
        return shards

    def rows_on(self, shard: int) -> Iterator[tuple[int, int]]:
        """The rows and columns of the replicas on a shard, ascending by row."""
        for slot in self.slots[self.starts[shard] : self.starts[shard + 1]].tolist():
            yield divmod(slot, self.width)

    def replica(self, shard: int) -> TabletReplica:
        """A shard by its host and its number there."""
        node = int(self.node_of[shard])
        return TabletReplica(self.given.nodes[node].host, shard - int(self.first[node]))

    def shard_number(self, replica: TabletReplica) -> int:
        """A shard's number among all. KeyError for a host that is no node, or a shard it lacks."""
        code = self._codes[replica.host]
        if not 0 <= replica.shard < self.given.nodes[code].shards:
            raise KeyError(replica)
        return int(self.first[code]) + replica.shard

    def scope_of(self, shard: int) -> Mask:
        """The nodes among which the load of a shard's node is to be even."""
        node = int(self.node_of[shard])
        return next(scope for scope in self.scopes(int(self.dc[node])) if scope[node])

    def moving(self, row: int, column: int) -> range:
        """The rows that move with a replica: its own, and the odd sibling that is with it."""
        return range(row, row + int(self.given.rows.together[row, column]))

    def under_way(self, row: int, column: int) -> bool:
        """Whether one of those rows is in transition: the odd one may be by a replica elsewhere."""
        return any(self.busy[each] for each in self.moving(row, column))

    def refusal(self, row: int, column: int, target: int) -> reasons.Refused | None:
        """The reason not to move a replica to a shard; None: there is none."""
        if self.under_way(row, column):
            return reasons.InTransition()
        giver = int(self.node_of[self.place[row, column]])
        if (role := self.given.nodes[giver].role) in cluster.NOT_MOVED:
            return reasons.GivesNone(role)
        if giver in self.stalled:
            return reasons.DrainWaits(self.stalled[giver][0])
        if giver in self.left_out:
            return reasons.SizesUnknown(self.given.nodes[giver].host)
        return self.misplaced(row, column, target) or self.full(row, column, target)

    def misplaced(self, row: int, column: int, target: int) -> reasons.Misplaced | None:
        """The reason against a shard as the place of a replica, whatever else goes on."""
        source = int(self.place[row, column])
        giver, taker = int(self.node_of[source]), int(self.node_of[target])
        nodes = self.given.nodes
        if taker in self.left_out:
            return reasons.SizesUnknown(nodes[taker].host)
        if not self.takes[taker]:
            return reasons.TakesNone(nodes[taker].role)
        if self.dc[giver] != self.dc[taker]:
            return reasons.OtherDatacenter(nodes[giver].datacenter, nodes[taker].datacenter)
        crowded = (self._crowded(each, source, target) for each in self.moving(row, column))
        return next((each for each in crowded if each is not None), None)

    def _crowded(self, row: int, source: int, target: int) -> reasons.Misplaced | None:
        giver, taker = int(self.node_of[source]), int(self.node_of[target])
        there = [node for node in self.given.rows.nodes[row].tolist() if node != cluster.NOBODY]
        if taker in there and (taker != giver or source == target):
            return reasons.ReplicaThere(int(self.given.rows.shards[row, there.index(taker)]))
        if self.rack[giver] != self.rack[taker]:
            if self.named[self.given.rows.table[row], giver]:
                return reasons.RackNamed(self.given.nodes[giver].rack, self.given.nodes[taker].rack)
            local = [int(self.rack[node]) for node in there if self.dc[node] == self.dc[giver]]
            most = max(map(local.count, local))
            if (after := local.count(int(self.rack[taker])) + 1) > most:
                return reasons.RackSpread(self.given.nodes[taker].rack, after, most)
        return None

    def kind(self, source: int, target: int) -> TransitionKind:
        """The kind of transition that moves a replica from a shard to another one."""
        giver = int(self.node_of[source])
        if self.given.nodes[giver].role in ("removing", "left"):
            return self.given.rebuild
        return KINDS[giver == int(self.node_of[target])]

    def streams(self, row: int, column: int, target: int) -> tuple[Counter[int], Counter[int]]:
        """The streams that a move would add, by shard: those that are read there, and taken."""
        source = int(self.place[row, column])
        kind, leaves, joins = self.kind(source, target), self.replica(source), self.replica(target)
        reads, writes = Counter[int](), Counter[int]()
        for each in self.moving(row, column):
            held = self.place[each][self.present[each]].tolist()
            old = tuple(map(self.replica, held))
            new = tuple(joins if place == leaves else place for place in old)
            load = stream_load(kind, ReplicaSets(old, new), self._unread)
            for streams, places in ((reads, load.reads), (writes, load.writes)):
                for place in places:
                    streams[self.shard_number(place)] += load.weight
        return reads, writes

    def full(self, row: int, column: int, target: int) -> reasons.StreamsFull | None:
        """Which shard has no stream left for a move from it or to it; an idle one takes any."""
        added, given = self.streams(row, column, target), self.given
        for is_read, running, limit in (
            (True, self.reads, given.streams_read),
            (False, self.writes, given.streams_write),
        ):
            for shard, weight in added[not is_read].items():
                if (streams := int(running[shard])) and streams + weight > limit:
                    return reasons.StreamsFull(is_read, streams, weight, limit)
        return None

    def judged(self, source: int, target: int) -> tuple[int, int, Numbers, Numbers]:
        """Whose loads are compared: those of nodes; of shards in one node, and in ``documents``."""
        giver, taker = int(self.node_of[source]), int(self.node_of[target])
        if giver == taker or self.edition == "documents":
            return source, target, self.held, self.room
        return giver, taker, self.node_held, self.node_room

    def may_not_invert(self, source: int, target: int) -> bool:
        """Whether a target may end up no fuller: by tablets of nodes, and in ``documents``."""
        inside = self.node_of[source] == self.node_of[target]
        return self.edition == "documents" or (self.given.counts and not inside)

    def compared(self, row: int, column: int, target: int) -> tuple[float, float, float, float]:
        """The loads of source and target, before a move and after it."""
        giver, taker, held, room = self.judged(int(self.place[row, column]), target)
        weight = float(self.weight[row, column])
        return (
            float(held[giver] / room[giver]),
            float(held[taker] / room[taker]),
            float((held[giver] - weight) / room[giver]),
            float((held[taker] + weight) / room[taker]),
        )

    def apply(self, row: int, column: int, target: int, reason: reasons.MoveReason) -> TabletMove:
        """Count a move as done, and its streams as running."""
        source = int(self.place[row, column])
        kind, (reads, writes) = self.kind(source, target), self.streams(row, column, target)
        weight = float(self.weight[row, column])
        giver, taker = self.node_of[source], self.node_of[target]
        self.held[source] -= weight
        self.held[target] += weight
        self.node_held[giver] -= weight
        self.node_held[taker] += weight
        rows = self.given.rows
        tablets = len(self.moving(row, column))
        for running, added in ((self.reads, reads), (self.writes, writes)):
            for shard, streams in added.items():
                running[shard] += streams
        self.busy[row : row + tablets] = True
        number = int(rows.number[row])
        return TabletMove(
            self.given.tables[int(rows.table[row])],
            tuple(range(number, number + tablets)),
            kind,
            self.replica(source),
            self.replica(target),
            int(self._copied[row, column]),
            reason,
        )

    def apply_all(
        self, places: NDArray[np.int32], targets: Shards, reason: reasons.MoveReason
    ) -> Iterator[TabletMove]:
        """``apply`` of single tablets, no two of which have a source or a target in common."""
        rows, columns = places[:, 0], places[:, 1]
        sources = self.place[rows, columns]
        weights = self.weight[rows, columns]
        left, right = self.node_of[sources], self.node_of[targets]
        self.held[sources] -= weights
        self.held[targets] += weights
        np.subtract.at(self.node_held, left, weights)
        np.add.at(self.node_held, right, weights)
        self.reads[sources] += 1
        self.writes[targets] += 1
        self.busy[rows] = True
        given = self.given
        tables = [given.tables[table] for table in given.rows.table[rows].tolist()]
        numbers = [(number,) for number in given.rows.number[rows].tolist()]
        kinds = [KINDS[inside] for inside in (left == right).tolist()]
        sizes = self._copied[rows, columns].tolist()
        places_of = map(self._replicas, (sources, targets))
        return map(TabletMove, tables, numbers, kinds, *places_of, sizes, repeat(reason))

    def _replicas(self, shards: Shards) -> Iterator[TabletReplica]:
        nodes = self.node_of[shards]
        hosts = [self.given.nodes[node].host for node in nodes.tolist()]
        return map(TabletReplica, hosts, (shards - self.first[nodes]).tolist())


FIRST_FEW = 8  # tablets of a shard that are looked at for many shards at once


def candidates(loads: Loads, source: int, target: int) -> NDArray[np.int32]:
    """``refusal`` of all replicas on a shard at once: rows and columns of those that may move."""
    slots = loads.slots[loads.starts[source] : loads.starts[source + 1]]
    rows, columns = slots // loads.width, slots % loads.width
    together = loads.given.rows.together[rows, columns]
    ends = loads.node_of[source], loads.node_of[target]

    def free(some: cluster.Codes) -> Mask:
        return ~loads.busy[some] & loads.places.open_to(loads.given.rows, some, *ends)

    fit = free(rows) & (loads.given.nodes[int(ends[0])].role not in cluster.NOT_MOVED)
    pairs = np.flatnonzero(together == 2)
    fit[pairs] &= free(rows[pairs] + 1)
    for streams, limit in (
        (loads.reads[source], loads.given.streams_read),
        (loads.writes[target], loads.given.streams_write),
    ):
        if streams:
            fit &= streams + together <= limit
    return np.column_stack((rows[fit], columns[fit]))


def first_fits(loads: Loads, sources: Shards, targets: Shards) -> tuple[Shards, Shards, Mask]:
    """For pairs of shards of one datacenter, in turn: the first tablet that may go and that no
    pair before has, and whether it is known: one of the first few, not two siblings.
    """
    rows_of = loads.given.rows
    at = loads.starts[sources][:, None] + np.arange(FIRST_FEW)
    inside = at < loads.starts[sources + 1][:, None]
    slots = loads.slots[np.minimum(at, len(loads.slots) - 1)]
    rows, columns = slots // loads.width, slots % loads.width
    giver, taker = loads.node_of[sources][:, None], loads.node_of[targets][:, None]
    fit = inside & ~loads.busy[rows] & loads.places.open_to(rows_of, rows, giver, taker)
    siblings = inside & (rows_of.together[rows, columns] == 2)
    left = fit | siblings
    pick = np.arange(len(rows)), _first_of_its_own(rows, left)
    return rows[pick], columns[pick], left[pick] & ~siblings[pick]


def _first_of_its_own(rows: Shards, fit: Mask) -> Shards:
    """For each line the place of the first row that fits and that no line before has taken."""
    lines = np.arange(len(rows))
    while True:
        first: Shards = fit.argmax(1)
        known = np.flatnonzero(fit[lines, first])
        taken = np.ones(len(known), np.bool_)
        taken[np.unique(rows[known, first[known]], return_index=True)[1]] = False
        again = known[taken]
        if not len(again):
            return first
        fit[again, first[again]] = False
