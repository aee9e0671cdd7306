"""The balancer of edition ``server`` once more: dicts and loops, one replica after the other.

The peer of ``kit.protocols.tablets.rules.balance``, written from what is published of the allocator
(``make_internode_plan``, ``make_intranode_plan``, ``migration_badness``). Nothing is drained, and
no table is merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica

Move = tuple[str, int, TabletReplica, TabletReplica]
Key = tuple[str, int]
STREAMS, SMALLEST, EVEN = 2, 100, 0.01


class PlainServerBalancer:
    """Nodes by name, tablets by table and number; ``bytes`` are those of a tablet's replicas."""

    def __init__(
        self,
        nodes: Sequence[BalancerNode],
        maps: Mapping[str, TabletMap],
        sizes: Mapping[str, Sequence[int]],
        target_size: int,
        named: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.nodes, self.named = {node.host: node for node in nodes}, named
        self.replicas = {
            (name, number): set(tablet.replicas)
            for name, table in maps.items()
            for number, tablet in enumerate(table.tablets)
        }
        self.weight = {
            (name, number): max(sizes[name][number], target_size // SMALLEST)
            for name, number in self.replicas
        }
        known = all(node.capacity for node in nodes)
        self.room = {
            node.host: node.capacity / node.shards if known else float(target_size)
            for node in nodes
        }
        self.busy: set[Key] = set()
        self.reads, self.writes = Counter[TabletReplica](), Counter[TabletReplica]()

    def plan(self) -> list[Move]:
        """The next moves."""
        moves: list[Move] = []
        for datacenter in dict.fromkeys(node.datacenter for node in self.nodes.values()):
            inside = [node for node in self.nodes.values() if node.datacenter == datacenter]
            racks = {node.rack: 0 for node in inside}
            if not any(dc == datacenter for _, dc in self.named):
                moves += self.evened(inside)
            else:
                for rack in racks:
                    moves += self.evened([node for node in inside if node.rack == rack])
        return moves

    def evened(self, scope: Sequence[BalancerNode]) -> Iterator[Move]:
        """Moves to the least loaded node of a scope, then those within its nodes."""
        hosts = [node.host for node in scope if node.role == "normal"]
        if not hosts:
            return
        held = Counter[str]()
        for (name, number), places in self.replicas.items():
            held[name] += sum(place.host in hosts for place in places) * self.weight[name, number]
        total = sum(self.node_room(host) for host in hosts)
        self.ideal = {name: size / total for name, size in held.items()}
        target = min(hosts, key=self.node_load)
        tried, loads_then = {target}, dict[str, float]()
        while left := [host for host in hosts if host not in tried]:
            source = max(left, key=self.node_load)
            most, least = self.node_load(source), self.node_load(target)
            fullest_without = max((loads_then[host] for host in tried - {target}), default=0.0)
            if most <= least or self.is_even(max(most, fullest_without), least):
                break
            move = self.best(self.by_load(source)[::-1], self.by_load(target))
            if move is None:
                tried.add(source)
                loads_then[source] = most
            else:
                yield move
        for host in hosts:
            while True:
                shards = self.by_load(host)
                ends = self.load(shards[-1]), self.load(shards[0])
                if self.is_even(*ends):
                    break
                move = self.best(shards[-1:], shards[:-1])
                if move is None:
                    break
                yield move

    def best(
        self, sources: Sequence[TabletReplica], targets: Sequence[TabletReplica]
    ) -> Move | None:
        """The least bad candidate of the first shard that has any."""
        free = [shard for shard in targets if self.writes[shard] < STREAMS]
        for source in sources if free else ():
            target = free[0]
            found = [
                (self.badness(key, source, target), key)
                for key in self.replicas
                if self.may_go(key, source, target) and self.is_worth(key, source, target)
            ]
            if found:
                key = min(found, key=lambda each: each[0])[1]
                self.replicas[key] = self.replicas[key] - {source} | {target}
                self.busy.add(key)
                self.reads[source] += 1
                self.writes[target] += 1
                return *key, source, target
        return None

    def may_go(self, key: Key, source: TabletReplica, target: TabletReplica) -> bool:
        """One replica on a node; the fullest rack of a tablet gets no fuller; streams."""
        places = self.replicas[key]
        if source not in places or key in self.busy or self.reads[source] >= STREAMS:
            return False
        if source.host == target.host:
            return True
        if any(place.host == target.host for place in places):
            return False
        home, there = self.nodes[source.host], self.nodes[target.host]
        if home.rack == there.rack:
            return True
        local = [self.nodes[place.host] for place in places]
        racks = Counter(node.rack for node in local if node.datacenter == home.datacenter)
        named = (key[0], home.datacenter) in self.named
        return not named and racks[there.rack] + 1 <= max(racks.values())

    def is_worth(self, key: Key, source: TabletReplica, target: TabletReplica) -> bool:
        """The target is then less full than the source is now."""
        weight = self.weight[key]
        if source.host == target.host:
            room = self.room[target.host]
            return (self.held(target) + weight) / room < self.held(source) / room
        after = (self.node_held(target.host) + weight) / self.node_room(target.host)
        return after < self.node_load(source.host)

    def badness(
        self, key: Key, source: TabletReplica, target: TabletReplica
    ) -> tuple[float, float]:
        """That of nodes where it is bad, then that of shards; within a node only the second."""
        table, weight = key[0], self.weight[key]

        def worst(left: float, left_room: float, right: float, right_room: float) -> float:
            ideal = self.ideal[table]
            low, high = (left - weight) / left_room, (right + weight) / right_room
            return max(ideal - low, high - ideal) / ideal

        ends = (source, target)
        (left, right), (room, other) = (
            [self.held(each, table) for each in ends],
            [self.room[each.host] for each in ends],
        )
        shard = worst(left, room, right, other)
        if source.host == target.host:
            return 0.0, shard
        left, right = (self.node_held(each.host, table) for each in ends)
        rooms = [self.node_room(each.host) for each in ends]
        return max(worst(left, rooms[0], right, rooms[1]), 0.0), shard

    def held(self, shard: TabletReplica, table: str = "") -> float:
        """The bytes on a shard, of one table or of all."""
        return float(
            sum(
                self.weight[key]
                for key, places in self.replicas.items()
                if shard in places and table in ("", key[0])
            )
        )

    def node_held(self, host: str, table: str = "") -> float:
        """The bytes on a node."""
        return sum(self.held(shard, table) for shard in self.shards(host))

    def shards(self, host: str) -> list[TabletReplica]:
        """All shards of a node."""
        return [TabletReplica(host, number) for number in range(self.nodes[host].shards)]

    def load(self, shard: TabletReplica) -> float:
        """The part of a shard's room that is taken."""
        return self.held(shard) / self.room[shard.host]

    def node_room(self, host: str) -> float:
        """The room of all shards."""
        return sum(self.room[host] for _ in self.shards(host))

    def node_load(self, host: str) -> float:
        """The part of a node's room that is taken."""
        return self.node_held(host) / self.node_room(host)

    def by_load(self, host: str) -> list[TabletReplica]:
        """The shards of a node, the least loaded first."""
        return sorted(self.shards(host), key=self.load)

    def is_even(self, most: float, least: float) -> bool:
        """Near enough: within a hundredth of the fuller one."""
        return most == 0 or (most - least) / most < EVEN
