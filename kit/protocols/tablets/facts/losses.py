"""What lives of each tablet, what one more loss costs, what a repair of primary ranges passes over.

Sources: Topology over Raft, "Node replace with tablets", "Impact on repair".
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.facts.tracks import tablet_map
from kit.protocols.tablets.rules.availability import (
    availability,
    lost_with,
    primary_replica,
    skipped_by_primary_repair,
    unrepaired_in_time,
)
from kit.protocols.tablets.rules.maps import first_token
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.cluster import mask_of

GRACE = 10
"""The default ``gc_grace_seconds`` in days; a step of a run is taken for a day."""


class TabletLosses(Struct, frozen=True):
    """A tablet: the hosts of its replicas in force, those of them that are lost, what is to spare.

    ``comes`` are the hosts where a replica is being made.
    """

    tablet: int
    hosts: tuple[str, ...]
    lost: tuple[str, ...]
    comes: tuple[str, ...]
    spare: int


class HostLoss(Struct, frozen=True):
    """What the loss of a host that lives would cost: the tablets without a quorum then."""

    host: str
    tablets: tuple[int, ...]


class RepairedRange(Struct, frozen=True):
    """A tablet's range: whether a primary-range repair on all nodes would mark it as repaired.

    The range is the tokens after ``first`` up to ``last``. ``repaired`` is the day of its last
    repair in this run, which began on day 0 with all repaired; ``late`` says that it is not
    repaired within the grace.
    """

    tablet: int
    first: int
    last: int
    primary: TabletReplica
    skipped: bool
    repaired: int
    late: bool


def left_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are no part of the topology any more."""
    return m.hosts(mask_of(s.control.topology, "left"))


def lost_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are dead or have left."""
    return left_hosts(m, s) | {m.names[i] for i in range(len(m.names)) if not _lives(s, i)}


def _lives(s: TabletsState, node: int) -> bool:
    return bool(s.control.up >> node & 1)


def losses(m: Tablets, s: TabletsState) -> tuple[TabletLosses, ...]:
    """Each tablet by the replicas in force."""
    given, lost = tablet_map(m, s), lost_hosts(m, s)
    return tuple(
        TabletLosses(
            each.tablet,
            tuple(replica.host for replica in tablet.replicas),
            tuple(replica.host for replica in tablet.replicas if replica.host in lost),
            tuple(replica.host for replica in tablet.sets.pending if tablet.transition),
            each.spare,
        )
        for each, tablet in zip(availability(given, lost), given.tablets, strict=True)
    )


def one_more(m: Tablets, s: TabletsState) -> tuple[HostLoss, ...]:
    """What each further loss costs."""
    given, lost = tablet_map(m, s), lost_hosts(m, s)
    hosts = [m.names[i] for i in nodes_in(s.control.up) if m.names[i] not in lost]
    return tuple(HostLoss(*each) for each in lost_with(given, lost, hosts).items())


def repair_map(
    m: Tablets, s: TabletsState, steps: Sequence[PassedStep]
) -> tuple[RepairedRange, ...]:
    """Each tablet's range, as if all nodes ran a primary-range repair now."""
    given, places = tablet_map(m, s), {name: _place(m.rack(name)) for name in m.names}
    lasts = given.last_tokens
    skipped = frozenset(skipped_by_primary_repair(given, left_hosts(m, s), places))
    repaired = last_repairs(s, steps)
    late = frozenset(unrepaired_in_time(given, repaired, len(steps), GRACE))
    return tuple(
        RepairedRange(
            *(number, first_token(number, lasts), lasts[number]),
            primary_replica(given, number, places),
            number in skipped,
            repaired[number],
            number in late,
        )
        for number in range(given.count)
    )


def last_repairs(s: TabletsState, steps: Sequence[PassedStep]) -> dict[int, int]:
    """The step in which each tablet's last repair ended; 0 where none did."""
    repaired = dict.fromkeys(range(len(s.tablets)), 0)
    for day, step in enumerate(steps, 1):
        if step.before.tablets is step.after.tablets:
            continue
        for number, (was, now) in enumerate(
            zip(step.before.tablets, step.after.tablets, strict=True)
        ):
            ended = was.transitions and not now.transitions
            if ended and was.transitions[0].kind == "repair":
                repaired[number] = day
    return repaired


def _place(rack: str) -> tuple[str, str]:
    datacenter, _, name = rack.partition("/")
    return datacenter, name
