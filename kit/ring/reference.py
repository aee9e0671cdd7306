"""Natural replicas in the simplest readable form, one token at a time.

The oracle for ``kit.ring.natural`` and the text to read aloud: it uses nothing of the columns. It
also does the work where Python has no numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Protocol

from kit.ring import replication as strategies
from kit.ring.replication import Replication
from kit.ring.tokens import TokenSpace


class _Owner(Protocol):
    """What this page needs to know of a node; its rack is a name within the datacenter."""

    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> tuple[int, ...]: ...
    @property
    def dc(self) -> str: ...
    @property
    def rack(self) -> str: ...


def replicas_reference(
    nodes: Sequence[_Owner], replication: Replication, token: int, space: TokenSpace
) -> tuple[str, ...]:
    """Names of the nodes that replicate the range which owns ``token``, in walk order."""
    space.check(token)
    line = _clockwise(nodes, token)
    match replication:
        case strategies.LocalStrategy():
            return ()
        case strategies.EverywhereStrategy():
            return _distinct(line)
        case strategies.SimpleStrategy(replication_factor=factor):
            return _distinct(line)[:factor]
        case strategies.NetworkTopologyStrategy(factors=factors):
            taken = [place for dc, factor in factors for place in _in_datacenter(line, dc, factor)]
            return tuple(name for _, name in sorted(taken))


def _clockwise(nodes: Sequence[_Owner], token: int) -> list[_Owner]:
    """The owner of every token of the ring, once round, from the first token >= ``token``."""
    ring = [(owned < token, owned, node) for node in nodes for owned in node.tokens]
    return [node for *_, node in sorted(ring, key=itemgetter(0, 1))]


def _distinct(line: Sequence[_Owner]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.name for node in line))


def _in_datacenter(line: Sequence[_Owner], dc: str, factor: int) -> list[tuple[int, str]]:
    """The datacenter's replicas as (step at which it was taken, name).

    A rack may come again as often as there are more replicas than racks, and wherever it does.
    """
    repeats = factor - len({node.rack for node in line if node.dc == dc})
    racks: set[str] = set()
    taken: dict[str, int] = {}
    for step, node in enumerate(line):
        if len(taken) == factor:
            break
        if node.dc != dc or node.name in taken:
            continue
        if node.rack in racks:
            if repeats <= 0:
                continue
            repeats -= 1
        racks.add(node.rack)
        taken[node.name] = step
    return [(step, name) for name, step in taken.items()]
