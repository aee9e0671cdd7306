"""Why a tablet is moved, and why it is not: a closed set, with the numbers that were compared.

Loads are tablets per shard in edition ``documents``; in ``server`` they are utilisations: bytes by
capacity, of nodes where a tablet would leave its node, of shards where it would stay.
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.tablets.rules.balance.cluster import NodeRole


class EvensOut(Struct, frozen=True, tag=True):
    """Moved from a fuller place to an emptier one: the loads of both, before and after."""

    source: float
    target: float
    source_after: float
    target_after: float


class Drains(Struct, frozen=True, tag=True):
    """Moved because its node is to be empty; ``load`` is that of the least loaded fit place."""

    role: NodeRole
    load: float


class JoinsSibling(Struct, frozen=True, tag=True):
    """Moved to where the even sibling, tablet ``even``, has a replica: both will be one."""

    even: int


class InTransition(Struct, frozen=True, tag=True):
    """The tablet has a transition already, or is in the plan: one at a time."""


class TakesNone(Struct, frozen=True, tag=True):
    """The target's node takes no tablets."""

    role: NodeRole


class GivesNone(Struct, frozen=True, tag=True):
    """The replica's node is left alone: nothing can be read from it."""

    role: NodeRole


class OtherDatacenter(Struct, frozen=True, tag=True):
    """A replica stays in its datacenter."""

    source: str
    target: str


class ReplicaThere(Struct, frozen=True, tag=True):
    """The target's node has a replica of the tablet, on this shard: one on a node."""

    shard: int


class RackSpread(Struct, frozen=True, tag=True):
    """The target's rack would hold more replicas of the tablet than any rack does now."""

    rack: str
    after: int
    most: int


class RackNamed(Struct, frozen=True, tag=True):
    """The keyspace names the racks that have a replica: one stays in its rack."""

    source: str
    target: str


class StreamsFull(Struct, frozen=True, tag=True):
    """A shard has as many streams as it may have: it ``reads`` for some, or takes them."""

    reads: bool
    streams: int
    weight: int
    limit: int


class Balanced(Struct, frozen=True, tag=True):
    """Loads are even enough: the most loaded, the least loaded, and by how much they may differ."""

    most: float
    least: float
    allowed: float


class NotEmptier(Struct, frozen=True, tag=True):
    """The target is as full as the source."""

    source: float
    target: float


class WouldInvert(Struct, frozen=True, tag=True):
    """The target would then be fuller than the source: the tablet would come back."""

    source_after: float
    target_after: float


class NoGain(Struct, frozen=True, tag=True):
    """The target would then be as full as the source is now: the fullest place would be no emptier.

    With less than that a move is worth it in edition ``server``, though the target may then be
    fuller than what is left of the source.
    """

    source: float
    target_after: float


class EvenByRack(Struct, frozen=True, tag=True):
    """Loads are evened out within each rack, for some keyspace names racks in the datacenter."""

    source: str
    target: str


class MovesElsewhere(Struct, frozen=True, tag=True):
    """The plan moves this tablet to another place."""

    host: str
    shard: int


class OthersFirst(Struct, frozen=True, tag=True):
    """Nothing forbids it, but a plan is an increment: fuller sources or emptier targets go first,
    and of one source the tablet that is least bad for the spread of its table.

    ``source`` and ``target`` are the loads of these, ``most`` and ``least`` those of the extremes.
    """

    source: float
    target: float
    most: float
    least: float


class DrainsFirst(Struct, frozen=True, tag=True):
    """A node of the datacenter is to be emptied: loads are evened out once it is."""

    host: str


class Disabled(Struct, frozen=True, tag=True):
    """Balancing is switched off; nodes are drained all the same."""


MoveReason = EvensOut | Drains | JoinsSibling
Misplaced = TakesNone | OtherDatacenter | ReplicaThere | RackSpread | RackNamed
Refused = InTransition | GivesNone | Misplaced | StreamsFull
Obstacle = (
    Refused
    | Balanced
    | NotEmptier
    | WouldInvert
    | NoGain
    | EvenByRack
    | MovesElsewhere
    | OthersFirst
    | DrainsFirst
    | Disabled
)
Reason = MoveReason | Obstacle
