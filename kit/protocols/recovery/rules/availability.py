"""Whether data can be read and written with nodes down: by range and consistency level.

Data need a quorum of their own, of a range's replicas, whatever becomes of group 0. A level counts
the replication factor: where a datacenter has fewer nodes, the replicas that it lacks are counted
and never answer. Where no tokens are known a range may have any replicas that the strategy allows:
one rack each as far as racks go. Sources: manual on Raft, "Handling Failures" and the note on
RECOVERY mode; "Consistency Guarantees"; published code, how many answers a level waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.rules.quorum import Place
from kit.protocols.storage.rules.levels import LEVELS, Level, enough, quotas

Standing = Literal["available", "of some ranges", "unavailable"]
"""Of data at a level: of every range, of some, of none."""

Factors = Mapping[str, int]
"""The replication factor of each datacenter."""

LOCAL: tuple[Level, ...] = ("LOCAL_QUORUM",)


class LiveReplicas(Struct, frozen=True):
    """Of a range in a datacenter: its factor, how many replicas live at least, and at most."""

    factor: int
    least: int
    most: int


Bounds = tuple[tuple[str, LiveReplicas], ...]
"""The live replicas of a range in each datacenter."""


class LevelStanding(Struct, frozen=True):
    """How data stand at a level, asked for in ``datacenter`` where that matters (else empty)."""

    level: Level
    datacenter: str
    standing: Standing


@lru_cache(maxsize=1 << 10)
def live_replicas(racks: tuple[str, ...], dead: int, factor: int) -> LiveReplicas:
    """The bounds for a datacenter whose nodes stand in ``racks``, with ``dead`` ones (a mask).

    Replicas stand in different racks as long as there are more racks; then any nodes follow. There
    are no more of them than nodes.
    """
    replicas = min(factor, len(racks))
    gone = Counter(racks[node] for node in nodes_in(dead))
    lives = Counter(racks) - gone
    extra = max(0, replicas - len(set(racks)))

    def most(nodes: Counter[str]) -> int:
        return min(replicas, len(nodes)) + min(extra, nodes.total() - len(nodes))

    return LiveReplicas(factor, replicas - most(gone), most(lives))


def standings(places: Sequence[Place], dead: int, factors: Factors) -> tuple[LevelStanding, ...]:
    """How a keyspace's data stand at every level with nodes ``dead`` (a mask).

    A level that is counted within the coordinator's datacenter is told for each that has replicas.
    """
    bounds = {dc: _bounds(places, dead, dc, factor) for dc, factor in factors.items() if factor}
    everywhere = tuple(bounds.items())
    return tuple(
        LevelStanding(level, dc, _standing(level, ((dc, bounds[dc]),) if dc else everywhere, dc))
        for level in LEVELS
        for dc in (bounds if level in LOCAL else ("",))
    )


def lost_ranges(places: Sequence[Place], lost: int, factors: Factors) -> Standing:
    """Of which ranges a replica is left when ``lost`` nodes (a mask) do not come back."""
    bounds = [_bounds(places, lost, dc, factor) for dc, factor in factors.items() if factor]
    if any(each.least for each in bounds):
        return "available"
    return "of some ranges" if any(each.most for each in bounds) else "unavailable"


def _bounds(places: Sequence[Place], dead: int, dc: str, factor: int) -> LiveReplicas:
    there = [node for node, (name, _) in enumerate(places) if name == dc]
    gone = sum(1 << at for at, node in enumerate(there) if dead >> node & 1)
    return live_replicas(tuple(places[node][1] for node in there), gone, factor)


@lru_cache(maxsize=1 << 12)
def _standing(level: Level, bounds: Bounds, home: str) -> Standing:
    if answers(level, {dc: (each.factor, each.least) for dc, each in bounds}, home):
        return "available"
    if answers(level, {dc: (each.factor, each.most) for dc, each in bounds}, home):
        return "of some ranges"
    return "unavailable"


def answers(level: Level, replicas: Mapping[str, tuple[int, int]], home: str) -> bool:
    """Whether a level is met: for each datacenter (its factor, replicas of a range that live).

    The factor is what a quorum is of, and ``ALL``; it is the only rule on a factor that is larger
    than the datacenter.
    """
    masks: list[int] = []
    live = size = 0
    for factor, living in replicas.values():
        masks.append((1 << factor) - 1 << size)
        live |= (1 << living) - 1 << size
        size += factor
    at = list(replicas).index(home) if home in replicas else 0
    return bool(masks) and enough(quotas(level, (1 << size) - 1, tuple(masks), at), live)
