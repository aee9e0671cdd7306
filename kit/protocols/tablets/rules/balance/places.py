"""Where nodes stand, and which of them may take a tablet from another one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.cluster import (
    NOBODY,
    BalancerInput,
    Codes,
    NodeRole,
    TabletRows,
)

DRAINED: frozenset[NodeRole] = frozenset(("leaving", "removing"))


class NodePlaces:
    """The datacenter and rack of each node as codes, whether it takes tablets.

    ``named`` says for each table and node whether racks of its datacenter have replicas by name.
    """

    def __init__(self, given: BalancerInput) -> None:
        nodes = given.nodes
        self.dc = _codes([node.datacenter for node in nodes])
        self.rack = _codes([(node.datacenter, node.rack) for node in nodes])
        self.takes = np.array([node.role == "normal" for node in nodes], np.bool_)
        self.drained = np.array([node.role in DRAINED for node in nodes], np.bool_)
        self.named = _named(given)

    def fit(self, rows: TabletRows, tablets: Sequence[int], giver: int) -> NDArray[np.bool_]:
        """The nodes that replicas on one node may go to, those of all these rows together."""
        fit: NDArray[np.bool_] = self.takes & (self.dc == self.dc[giver])
        for row in tablets:
            there = rows.nodes[row]
            there = there[there != NOBODY]
            fit[there] = False
            local = self.rack[there[self.dc[there] == self.dc[giver]]]
            held = np.bincount(local, minlength=int(self.rack.max()) + 1)
            named = bool(self.named[rows.table[row], giver])
            spread = (held[self.rack] + 1 <= held.max()) & (not named)
            fit &= (self.rack == self.rack[giver]) | spread
        return fit

    def parted(self, rows: TabletRows) -> TabletRows:
        """The rows with siblings apart that are on a node to drain and have no common target.

        To empty the node comes before the merge that brought them together.
        """
        pairs = np.argwhere(rows.together == 2)
        pairs = pairs[self.drained[rows.nodes[pairs[:, 0], pairs[:, 1]]]]
        if not len(pairs):
            return rows
        together = rows.together.copy()
        for even, column in pairs.tolist():
            giver = int(rows.nodes[even, column])
            if not self.fit(rows, (even, even + 1), giver).any():
                other = int((rows.nodes[even + 1] == giver).argmax())
                together[even, column] = together[even + 1, other] = 1
        return replace(rows, together=together)


def _named(given: BalancerInput) -> NDArray[np.bool_]:
    named = np.zeros((len(given.tables), len(given.nodes)), np.bool_)
    numbers = {name: number for number, name in enumerate(given.tables)}
    datacenters = np.array([node.datacenter for node in given.nodes])
    for table, datacenter in given.rack_lists:
        if table in numbers:
            named[numbers[table]] |= datacenters == datacenter
    return named


def _codes(values: Sequence[object]) -> Codes:
    """Each distinct value as a number."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
