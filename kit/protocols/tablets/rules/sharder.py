"""Which shard of a host serves a token: from the tablet map, and by static sharding beside it.

Outside a transition a host has at most one replica of a tablet. In one between hosts the former or
the next replica's shard answers at every stage, whatever the selectors say, since a coordinator may
be one stage off. Within a host the selectors choose. Sources: Topology over Raft, "Sharding with
tablets", "Shard assignment stability", "Tablet replica placement vs sharding".
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tablets.rules.maps import Tablet, TabletMap, shard_on
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import Edition, Selector
from kit.ring.tokens import INT64_LOW

SharderKind = Literal["holding", "auto_refreshing"]
NO_REPLICA_SHARD = 0
"""What is said of a host without a replica."""
_MASK = 2**64 - 1


def shard_for_reads(tablet: Tablet, host: str, reads: Selector) -> int:
    """The shard of a host that answers reads of a tablet."""
    return _owners(tablet, host, reads)[0]


def shard_for_writes(tablet: Tablet, host: str, writes: Selector) -> tuple[int, ...]:
    """The shards of a host that take writes of a tablet: two while both halves of a move do."""
    return _owners(tablet, host, writes)


def _owners(tablet: Tablet, host: str, selector: Selector) -> tuple[int, ...]:
    former, following = shard_on(tablet.replicas, host), shard_on(tablet.new_replicas, host)
    if former is None or following is None or former == following:
        owner = former if former is not None else following
        return (NO_REPLICA_SHARD if owner is None else owner,)
    chosen = {"old": (former,), "new": (following,), "both": (former, following)}
    return chosen[selector]


class Sharder(Struct, frozen=True):
    """What one host asks of one table's map.

    A *holding* one keeps to the version that it was made of, and a barrier waits for it. An
    *auto_refreshing* one goes on to each new version; nothing waits for it, so work that uses it
    needs a topology guard.
    """

    host: str
    kind: SharderKind
    version: int
    map: TabletMap
    edition: Edition = "server"

    @property
    def holds(self) -> int | None:
        """The version that barriers cannot pass while this is alive; None: they do not wait."""
        return self.version if self.kind == "holding" else None

    def refreshed(self, version: int, newest: TabletMap) -> Sharder:
        """The same sharder once the host applied another version."""
        return self if self.kind == "holding" else replace(self, version=version, map=newest)

    def shard_for_reads(self, token: int) -> int:
        """The shard of this host that answers reads of a token."""
        tablet = self.map.of(token)
        return shard_for_reads(tablet, self.host, selectors(tablet, self.edition)[0])

    def shard_for_writes(self, token: int) -> tuple[int, ...]:
        """The shards of this host that take writes of a token."""
        tablet = self.map.of(token)
        return shard_for_writes(tablet, self.host, selectors(tablet, self.edition)[1])


def selectors(tablet: Tablet, edition: Edition) -> tuple[Selector, Selector]:
    """The selectors of reads and of writes, by the stage alone; *old* outside a transition."""
    if not tablet.transition:
        return "old", "old"
    row = TRANSITIONS[edition][tablet.transition].state(tablet.stage)
    return row.reads, row.writes


def static_shard_of(token: int, shards: int, ignore_msb: int = 12) -> int:
    """The shard of a token under static sharding: the same on each host with as many shards.

    The line of tokens is cut into ``2 ** ignore_msb`` runs, each of which goes through all shards
    in turn (``ignore_msb`` of ``system.topology``; published ``zero_based_shard_of``).
    """
    unsigned = (token - INT64_LOW) << ignore_msb & _MASK
    return unsigned * shards >> 64
