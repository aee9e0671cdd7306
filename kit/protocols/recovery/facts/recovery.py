"""One state of a recovery as people ask of it: nodes, groups, gossip, data, causality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from msgspec import Struct

from kit.protocols.group0.rules.voters import is_majority, majority, nodes_in
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.rules.availability import answers
from kit.protocols.recovery.rules.gossip import is_accepted
from kit.protocols.recovery.rules.placing import placed_ranges
from kit.protocols.recovery.rules.quorum import Place
from kit.protocols.storage.rules.levels import Level

SHOWN: tuple[Level, ...] = ("ONE", "QUORUM", "ALL")
"""Levels that one datacenter tells apart; each stands for those between it and the next."""
HOME: Place = ("dc1", "r1")
"""Where all nodes are of which nothing is said."""


class PersistedRow(Struct, frozen=True):
    """A node: the group that it runs in, its persisted group id, commit index and option."""

    name: str
    status: str
    group: str
    group_id: str
    index: int
    option: str
    data: tuple[int, ...]
    dangling: tuple[int, ...]
    has_old_rows: bool
    leads: bool


class GroupRow(Struct, frozen=True):
    """A group 0: its members, who of them votes and runs in it, how many are a majority."""

    name: str
    members: tuple[str, ...]
    voters: tuple[str, ...]
    running: tuple[str, ...]
    needed: int
    can_commit: bool
    is_abandoned: bool


class GossipRow(Struct, frozen=True):
    """Two nodes that are up, whether they take each other's gossip, and why."""

    first: str
    second: str
    accepted: bool
    why: str


class DataRangeRow(Struct, frozen=True):
    """A range of the ring: its replicas, which of them are up, the levels that are met."""

    label: str
    replicas: tuple[str, ...]
    live: tuple[str, ...]
    levels: tuple[Level, ...]


class EffectRow(Struct, frozen=True):
    """Data of a node in a column: whether the entry that they depend on is in its state."""

    node: str
    column: int
    is_known: bool
    group: str


def nodes(m: Recovery, s: RecoveryState) -> tuple[PersistedRow, ...]:
    """Every node that is not removed."""
    return tuple(
        PersistedRow(
            name,
            node.status,
            m.group_name(node.group) if node.group != NO_GROUP else "",
            m.group_name(node.group_id) if node.group_id != NO_GROUP else "",
            node.index,
            m.names[node.option] if node.option != NOBODY else "",
            tuple(i + 1 for i in nodes_in(node.data)),
            tuple(i + 1 for i in nodes_in(node.data & ~node.columns)),
            node.old_rows,
            s.leader == number,
        )
        for number, (name, node) in enumerate(zip(m.names, s.nodes, strict=True))
        if node.status != "removed"
    )


def memberships(m: Recovery, s: RecoveryState) -> tuple[GroupRow, ...]:
    """Every group that there ever was, the old one first."""
    rows = []
    for group, members in enumerate(s.groups):
        sides = [s.running(group, side) for side in (False, True)]
        running, voters = sides[0] | sides[1], s.voters_of(group)
        rows.append(
            GroupRow(
                m.group_name(group),
                tuple(m.names[i] for i in nodes_in(members)),
                tuple(m.names[i] for i in nodes_in(voters)),
                tuple(m.names[i] for i in nodes_in(running)),
                majority(voters.bit_count()),
                any(is_majority(side, voters) for side in sides),
                group <= s.abandoned and (group > OLD or s.leader != NOBODY),
            )
        )
    return tuple(rows)


def gossip(m: Recovery, s: RecoveryState) -> Iterator[GossipRow]:
    """Every pair of nodes that are up."""
    up = [i for i, node in enumerate(s.nodes) if node.group != NO_GROUP]
    for at, first in enumerate(up):
        for second in up[at + 1 :]:
            a, b = (s.digest_of(s.nodes[i]) for i in (first, second))
            if a.walled_off != b.walled_off:
                why = "a firewall is between them"
            elif a.group == b.group:
                why = "one group id"
            elif a.recovery_leader or b.recovery_leader:
                why = "the ids differ, and recovery_leader is set"
            else:
                why = "the ids differ"
            yield GossipRow(m.names[first], m.names[second], is_accepted(a, b), why)


def ranges(m: Recovery, s: RecoveryState) -> tuple[DataRangeRow, ...]:
    """The ranges of a ring in which every node that is not removed owns one token."""
    there = [i for i, node in enumerate(s.nodes) if node.status != "removed"]
    up = {m.names[i] for i in there if s.nodes[i].status == "up"}
    places = [m.places[i] for i in there] if m.racks else ()
    return data_ranges([m.names[i] for i in there], up, m.rf, places)


def data_ranges(
    names: Sequence[str], up: Set[str], rf: int, places: Sequence[Place] = ()
) -> tuple[DataRangeRow, ...]:
    """The ranges of nodes that own a token each, of which these are ``up``.

    Each datacenter has ``rf`` replicas. Without ``places`` all stand in one rack.
    """
    rows = []
    stand = tuple(places) or (HOME,) * len(names)
    dc_of = {name: dc for name, (dc, _) in zip(names, stand, strict=True)}
    for label, held in placed_ranges(tuple(names), stand, rf):
        live = tuple(name for name in held if name in up)
        there = Counter(dc_of[name] for name in live)
        counts = {dc: (rf, there[dc]) for dc in dict.fromkeys(dc_of.values())}
        met = tuple(level for level in SHOWN if answers(level, counts, stand[0][0]))
        rows.append(DataRangeRow(label, held, live, met))
    return tuple(rows)


def can_change_schema(s: RecoveryState) -> bool:
    """Whether a group that nodes which are counted on run in has a majority."""
    return any(s.may_commit(group) for group in {n.group for n in s.nodes if n.takes_part})


def effects(m: Recovery, s: RecoveryState) -> Iterator[EffectRow]:
    """Every column in which a node stores data, and the entry that it needs."""
    for row in nodes(m, s):
        for column in row.data:
            yield EffectRow(row.name, column, column not in row.dangling, row.group)
