"""When a node takes gossip of another: by the ids of their groups, and ``recovery_leader``.

Source: Topology over Raft, "Gossip during recovery".
"""

from __future__ import annotations

from msgspec import Struct


class GossipDigest(Struct, frozen=True):
    """What a node says of itself in each message: the group that it runs in, and its option.

    ``recovery_leader`` is whether the option is set; ``walled_off`` whether a firewall lies between
    this node and those that recover.
    """

    group: int
    recovery_leader: bool = False
    walled_off: bool = False


def is_accepted(sender: GossipDigest, receiver: GossipDigest) -> bool:
    """Whether the receiver takes the message: a mismatch is tolerated while either recovers."""
    if sender.walled_off != receiver.walled_off:
        return False
    return sender.group == receiver.group or sender.recovery_leader or receiver.recovery_leader
