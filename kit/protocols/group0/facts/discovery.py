"""One moment of discovery as rows: what each node has stored, and whom it still waits for."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.actors import ActorState
from kit.protocols.group0.discovery import Discovery, groups
from kit.protocols.group0.rules.discovery import Names, boot, makes_one_group


class PeersRow(Struct, frozen=True):
    """A node: its tables ``discovery`` and ``scylla_local``, and what it waits for.

    ``lowest`` is the lowest Raft id that it knows, ``boot`` what it would do at its next start.
    """

    name: str
    known: Names
    unanswered: Names
    group: str
    lowest: str
    boot: str


def rows(s: ActorState) -> tuple[PeersRow, ...]:
    """A row for each node."""
    return tuple(
        PeersRow(p.name, p.known, p.unanswered, p.group, min(p.known), boot(p)) for p in s.nodes
    )


def founded(s: ActorState) -> Names:
    """The groups that there are."""
    return groups(s)


def lowest(m: Discovery) -> str:
    """The node with the lowest Raft id of all."""
    return min(m.contact_points)


def warning(m: Discovery) -> str | None:
    """What is wrong with the contact points, if anything."""
    if makes_one_group(m.contact_points):
        return None
    return "no node is reachable from every node along these seeds: two groups may be founded"
