"""What hosts are told of keys: by the tablet map, by its sharder, and under static sharding.

Sources: Topology over Raft, "Sharding with tablets", "Tablet replica placement vs sharding".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.facts.tracks import tablet_map
from kit.protocols.tablets.rules.availability import Sharder, SharderKind, static_shard_of
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, has_replica, last_tokens, tablet_of
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.ring.tokens import murmur3_token

MOST_KEYS = 8
MOST_HOSTS = 12
KINDS: tuple[SharderKind, ...] = ("holding", "auto_refreshing")


class KeyToken(Struct, frozen=True):
    """A key of a table, its token and the tablet that it is in."""

    key: str
    token: int
    tablet: int


class ShardAnswer(Struct, frozen=True):
    """What a host is told of a key.

    ``holds`` are its shards with a replica by ``has_replica()``; ``reads`` and ``writes`` are the
    sharder's answers; ``static`` is the key's shard if tables were sharded statically.
    """

    key: KeyToken
    holds: tuple[int, ...]
    reads: int
    writes: tuple[int, ...]
    static: int

    @property
    def differs(self) -> bool:
        """Whether the sharder names other shards than those that hold a replica."""
        return {self.reads, *self.writes} != {*self.holds}


class HeldVersion(Struct, frozen=True):
    """A sharder that was made a version ago: its kind, its version now, what it answers for a key.

    ``holds`` is the version that barriers cannot pass while it is alive; None: they do not wait.
    """

    kind: SharderKind
    version: int
    holds: int | None
    reads: int
    writes: tuple[int, ...]


@lru_cache(32)
def keys(count: int) -> tuple[KeyToken, ...]:
    """The keys that are asked about, K1 and those after it, by token."""
    lasts = last_tokens(count)
    tokens = ((f"K{n}", murmur3_token(f"K{n}".encode())) for n in range(1, MOST_KEYS + 1))
    named = (KeyToken(key, token, tablet_of(token, lasts)) for key, token in tokens)
    return tuple(sorted(named, key=lambda each: each.token))


def asked_hosts(m: Tablets) -> tuple[str, ...]:
    """The hosts that can be asked; of very many the first."""
    return m.names[:MOST_HOSTS]


def answers(m: Tablets, given: TabletMap, host: str) -> tuple[ShardAnswer, ...]:
    """What a host is told of every key by a version of the map."""
    sharder = Sharder(host, "auto_refreshing", 0, given, m.edition)
    return tuple(
        ShardAnswer(
            each,
            _holding(given.of(each.token), host, m.shards),
            sharder.shard_for_reads(each.token),
            sharder.shard_for_writes(each.token),
            static_shard_of(each.token, m.shards),
        )
        for each in keys(given.count)
    )


def _holding(tablet: Tablet, host: str, shards: int) -> tuple[int, ...]:
    places = (TabletReplica(host, shard) for shard in range(shards))
    return tuple(place.shard for place in places if has_replica(tablet, place))


def versions(m: Tablets, s: TabletsState, steps: Sequence[PassedStep]) -> tuple[TabletMap, ...]:
    """Each version of the map on the way, the newest last."""
    states = [*(each.before for each in steps), s]
    other = (after for before, after in pairwise(states) if before.tablets is not after.tablets)
    maps = (tablet_map(m, each) for each in (states[0], *other))
    return tuple(given for given, _ in groupby(maps))


def asked_about(given: TabletMap, before: TabletMap) -> KeyToken:
    """The first key of a tablet that the newest version changed; else the first of all."""
    changed = {n for n in range(given.count) if given.tablets[n] != before.tablets[n]}
    every = keys(given.count)
    return next((each for each in every if each.tablet in changed), every[0])


def both_kinds(
    m: Tablets, maps: Sequence[TabletMap], host: str, key: KeyToken
) -> tuple[HeldVersion, ...]:
    """A sharder of each kind that a request made under the version before the newest one."""
    newest = len(maps)
    made = (Sharder(host, kind, newest - 1, maps[-2], m.edition) for kind in KINDS)
    now = (each.refreshed(newest, maps[-1]) for each in made)
    return tuple(
        HeldVersion(
            *(each.kind, each.version, each.holds),
            *(each.shard_for_reads(key.token), each.shard_for_writes(key.token)),
        )
        for each in now
    )
