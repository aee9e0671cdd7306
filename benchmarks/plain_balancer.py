"""The balancer of edition ``documents`` once more, with heaps and lists in plain Python.

The peer of ``kit.protocols.tablets.rules.balance``: the same rules in the same order, so that both
make the same plan. One datacenter, no node to drain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import ceil, floor

Place = tuple[int, int]
"""A node and a shard of it, by number."""
Move = tuple[int, Place, Place]
LEAST_GAP = 2


class PlainBalancer:
    """Nodes by rack and shards, tablets by their places."""

    def __init__(self, racks: Sequence[int], shards: Sequence[int], limit: int = 2) -> None:
        self.racks, self.shards, self.limit = racks, shards, limit

    def plan(self, tablets: Sequence[Sequence[Place]]) -> list[Move]:
        """The next moves: which tablet, from where, to where."""
        self.tablets = tablets
        self.held: dict[Place, list[int]] = {
            (node, shard): [] for node, count in enumerate(self.shards) for shard in range(count)
        }
        for number, places in enumerate(tablets):
            for place in places:
                self.held[place].append(number)
        self.count = {place: len(numbers) for place, numbers in self.held.items()}
        self.reads: Counter[Place] = Counter()
        self.writes: Counter[Place] = Counter()
        self.busy = [False] * len(tablets)
        if self._may_cross():
            moves = list(self._evened(list(self.held)))
            if moves:
                return moves
        return [
            move
            for rack in dict.fromkeys(self.racks)
            for move in self._evened([p for p in self.held if self.racks[p[0]] == rack])
        ]

    def _may_cross(self) -> bool:
        number = len(set(self.racks))
        if number == 1:
            return True
        for places in self.tablets:
            used = Counter(self.racks[node] for node, _ in places)
            most = max(used.values())
            if sum(count == most for count in used.values()) < number:
                return True
        return False

    def _evened(self, scope: list[Place]) -> Iterator[Move]:
        mean = sum(self.count[place] for place in scope) / len(scope)
        low, high = floor(mean), ceil(mean)
        over = sum(self.count[place] > high for place in scope)
        under = sum(self.count[place] < low for place in scope)
        full = [(-self.count[place], place) for place in scope]
        empty = [(self.count[place], place) for place in scope]
        heapify(full)
        heapify(empty)
        stuck: set[Place] = set()
        while True:
            source = self._top(full, -1, stuck, self.reads)
            target = self._top(empty, 1, set(), self.writes)
            if source is None or target is None:
                return
            most, least = self.count[source], self.count[target]
            if most - least < LEAST_GAP or (most <= high and over) or (least >= low and under):
                return
            move = self._first_fit(source, target, scope)
            if move is None:
                stuck.add(source)
                over -= most > high
                continue
            number, _, taker = move
            self.busy[number] = True
            over -= self.count[source] > high >= self.count[source] - 1
            under -= self.count[taker] < low <= self.count[taker] + 1
            self.count[source] -= 1
            self.count[taker] += 1
            self.reads[source] += 1
            self.writes[taker] += 1
            for place in (source, taker):
                heappush(full, (-self.count[place], place))
                heappush(empty, (self.count[place], place))
            yield move

    def _top(
        self, heap: list[tuple[int, Place]], sign: int, stuck: set[Place], streams: Counter[Place]
    ) -> Place | None:
        """The first place of a heap whose count is still true and whose streams are not full."""
        while heap:
            count, place = heap[0]
            if (
                count * sign == self.count[place]
                and place not in stuck
                and streams[place] < self.limit
            ):
                return place
            heappop(heap)
        return None

    def _first_fit(self, source: Place, target: Place, scope: list[Place]) -> Move | None:
        numbers = [number for number in self.held[source] if not self.busy[number]]
        for place in self._targets(source, target, scope):
            for number in numbers:
                if self._fits(number, source, place):
                    return number, source, place
        return None

    def _targets(self, source: Place, target: Place, scope: list[Place]) -> Iterator[Place]:
        yield target
        tried = {target[0]}
        worth = self.count[source] - LEAST_GAP
        open_places = [place for place in scope if self.writes[place] < self.limit]
        for place in sorted(open_places, key=self.count.__getitem__):
            if self.count[place] > worth:
                return
            if place[0] not in tried:
                tried.add(place[0])
                yield place

    def _fits(self, number: int, source: Place, target: Place) -> bool:
        nodes = [node for node, _ in self.tablets[number]]
        if target[0] in nodes and (target[0] != source[0] or source == target):
            return False
        rack, other = self.racks[source[0]], self.racks[target[0]]
        if rack == other:
            return True
        used = Counter(self.racks[node] for node in nodes)
        return used[other] + 1 <= max(used.values())
