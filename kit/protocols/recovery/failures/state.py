"""The state of a cluster in which nodes fail, and what can happen in it."""

from __future__ import annotations

from msgspec import Struct


class FailuresState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Who runs, who serves, who is cut off, who votes (masks), and what schema each node knows.

    Of the nodes that run (``up``) those in ``serving`` answer clients; the others have started and
    do not yet. ``apart`` are the nodes on the far side of a cut; a node that is down is on a side,
    too. ``schemas`` holds for each node the entries that it has stored (masks), ``entries`` counts
    those acknowledged, ``changes`` those that may still come.
    """

    up: int
    serving: int
    voters: int
    schemas: tuple[int, ...]
    apart: int = 0
    entries: int = 0
    changes: int = 0


class AlterTable(Struct, frozen=True, tag="alter"):
    """A client adds a column, at a node."""

    node: str


class CatchUpSchema(Struct, frozen=True, tag="catch-up"):
    """A node fetches the newest schema from a majority, and serves."""

    node: str


class ServeAlone(Struct, frozen=True, tag="serve"):
    """A node that reaches no majority serves data by the schema that it has stored."""

    node: str


class StartFailed(Struct, frozen=True, tag="start"):
    """A node that is down starts."""

    node: str


class StartDatacenter(Struct, frozen=True, tag="start-all"):
    """All nodes of a datacenter that are down start at once."""

    datacenter: str


class EndCut(Struct, frozen=True, tag="rejoin"):
    """The sides of a cut reach each other again."""


class StopNode(Struct, frozen=True, tag="stop"):
    """A node fails: it is down, and what it has stored stays."""

    node: str


class StopTogether(Struct, frozen=True, tag="stop-together"):
    """Several nodes fail at once: no voters are chosen in between."""

    nodes: tuple[str, ...]


class LoseDatacenter(Struct, frozen=True, tag="lose"):
    """All nodes of a datacenter fail at once."""

    datacenter: str


class CutPlace(Struct, frozen=True, tag="cut"):
    """The network separates a node, or a datacenter, from the others."""

    place: str


FailuresAction = (
    AlterTable
    | CatchUpSchema
    | ServeAlone
    | StartFailed
    | StartDatacenter
    | EndCut
    | StopNode
    | StopTogether
    | LoseDatacenter
    | CutPlace
)
