"""Parts of the pictures by key, and which of them a broken promise names.

Whatever shows a node or a range carries its key, so that all of them can be lit together.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import keyspaces, rows
from kit.protocols.tcm.rules.quorums import quorums_apart

_WORD = re.compile(r"[^\s,;:{}()]+")


class Missed(Struct, frozen=True):
    """A read majority and a write majority of one range that share no node, with their epochs."""

    token: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    read_epoch: int
    write_epoch: int


def range_key(left: int, right: int) -> str:
    """The key of a range; that of a node is its name."""
    return f"range:{left}:{right}"


def about(m: TcmCluster, s: Any, witness: str) -> frozenset[str]:
    """The keys of the nodes and ranges that a witness names."""
    words = {word.rstrip(".") for word in _WORD.findall(witness)}
    nodes = (name for name in m.names if name in words)
    ranges = (
        range_key(row.left, row.right)
        for name in keyspaces(m)
        for row in rows(m, s, name)
        if row.label in witness
    )
    return frozenset((*nodes, *ranges))


def missed(m: TcmCluster, s: Any) -> Missed | None:
    """The first majorities that miss each other now, or across this epoch and the one before."""
    if not m.tcm.missed(s.tcm.events):  # a verdict that is kept; the search below is not
        return None
    apart = quorums_apart(*m.tcm.neighbours(s.tcm.events))
    if apart is None:
        return None
    reads, writes = (tuple(m.names[code] for code in side) for side in (apart.reads, apart.writes))
    epochs = apart.reader.metadata.epoch, apart.writer.metadata.epoch
    return Missed(apart.token, reads, writes, *epochs)
