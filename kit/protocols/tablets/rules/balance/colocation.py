"""Bringing siblings together for a merge: the odd one's replicas follow the even one's.

Source: Topology over Raft, "Tablet merging": low priority, and within a node by an intra-node
migration.
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tablets.rules.balance.cluster import NOBODY
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.reasons import JoinsSibling


def brought_together(loads: Loads, datacenter: int) -> Iterator[TabletMove]:
    """A move of each odd sibling that is apart in a datacenter and that streams allow."""
    for even, odd in loads.given.pairs:
        if loads.busy[even] or loads.busy[odd]:
            continue
        for column, target in _steps(loads, even, odd):
            if loads.dc[loads.node_of[target]] != datacenter:
                continue
            if loads.refusal(odd, column, target) is None:
                reason = JoinsSibling(int(loads.given.rows.number[even]))
                yield loads.apply(odd, column, target, reason)
                break


def _steps(loads: Loads, even: int, odd: int) -> Iterator[tuple[int, int]]:
    """Columns of the odd sibling and where each should go: nearest pairs first."""
    wanted = _places(loads, even)
    held = _places(loads, odd)
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
    """The shard of each replica, by its column."""
    nodes = loads.given.rows.nodes[row].tolist()
    return {
        column: int(loads.place[row, column]) for column, node in enumerate(nodes) if node != NOBODY
    }
