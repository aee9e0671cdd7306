"""Nodes that take another's place and wait in their boot for the tablets of that one.

Source: Topology over Raft, "Node replace with tablets": the replace is over for whoever started the
node once availability is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.state import TabletRow, TracksState
from kit.protocols.topology.rules.cluster import NOBODY

WAITING = ("replacing", "normal")
"""The states of a node that boots: it is normal before its tablets are there."""


class Boot(Struct, frozen=True):
    """The boot of a node that replaces another: how many tablets it waits for, how many are there.

    ``over``: it is normal and has waited for all, so that the replace is reported as finished.
    """

    node: str
    replaced: str
    rebuilt: int
    total: int
    over: bool


def boots(m: Tracks, s: TracksState) -> Iterator[Boot]:
    """The boot of each node that replaces one, also when it is over."""
    for name, entry in zip(m.names, s.control.topology.nodes, strict=True):
        if entry.replaced == NOBODY or entry.state not in WAITING:
            continue
        replaced = m.names[entry.replaced]
        total, left = (sum(_is_on(row, replaced) for row in rows) for rows in (m.rows, s.tablets))
        yield Boot(name, replaced, total - left, total, entry.state == "normal" and not left)


def _is_on(row: TabletRow, host: str) -> bool:
    return any(replica.host == host for replica in row.replicas)
