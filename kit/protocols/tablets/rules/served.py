"""What requests of one tablet can still have with some hosts down, also while it is in transition.

The sets that count are those of the stage's selectors; a write to old and new replicas needs what
its edition asks for (Q-48), so that a transition may cost a quorum that both sets have by
themselves, and a replica that leaves may be missed by nobody any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from kit.protocols.storage.rules.levels import AnswerQuota, Level, enough, read_quotas, write_quotas
from kit.protocols.storage.rules.view import AnyAcknowledgement, View
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.sharder import selectors
from kit.protocols.topology.rules.machines import Edition

ACKNOWLEDGEMENT: dict[Edition, AnyAcknowledgement] = {
    "documents": "joint",
    "server": "quorum-plus-pending",
}
"""What acknowledges a write while a replica is pending, by edition (Q-48)."""

RequestKind = Literal["reads", "writes"]


class ServedTablet(Struct, frozen=True):
    """A tablet with some hosts down.

    ``hosts`` are those that requests use at its stage, ``alive`` those of them that are up.
    ``without_quorum`` are the requests that QUORUM refuses, ``datacenters`` those where
    LOCAL_QUORUM refuses some.
    """

    hosts: tuple[str, ...]
    alive: tuple[str, ...]
    without_quorum: tuple[RequestKind, ...]
    datacenters: tuple[str, ...]


def served(
    tablet: Tablet, edition: Edition, down: Collection[str], datacenters: Mapping[str, str]
) -> ServedTablet:
    """What is left of a tablet; ``datacenters`` are by host.

    Raises:
        KeyError: for a replica on a host without a datacenter.
    """
    hosts = tuple(dict.fromkeys(replica.host for replica in tablet.sets.both))
    view = _view(tablet, edition, hosts)
    used = [h for bit, h in enumerate(hosts) if (view.reads | view.writes) >> bit & 1]
    places = tuple(dict.fromkeys(datacenters[host] for host in hosts))
    dcs = tuple(_mask(hosts, [h for h in hosts if datacenters[h] == dc]) for dc in places)
    up = _mask(hosts, [host for host in hosts if host not in down])

    def refused(level: Level, home: int = 0) -> tuple[RequestKind, ...]:
        wanted = _wanted(level, view, dcs, home, edition)
        return tuple(kind for kind, quotas in wanted.items() if not enough(quotas, up))

    return ServedTablet(
        tuple(used),
        tuple(host for host in used if host not in down),
        refused("QUORUM"),
        tuple(sorted(dc for home, dc in enumerate(places) if refused("LOCAL_QUORUM", home))),
    )


def _view(tablet: Tablet, edition: Edition, hosts: Sequence[str]) -> View:
    sets, (reads, writes) = tablet.sets, selectors(tablet, edition)
    read, written, old, new = (
        _mask(hosts, [replica.host for replica in replicas])
        for replicas in (sets.chosen(reads), sets.chosen(writes), sets.old, sets.new)
    )
    return View(read, written, *((read, read) if reads == writes else (old, new)))


def _wanted(
    level: Level, view: View, dcs: tuple[int, ...], home: int, edition: Edition
) -> Mapping[RequestKind, tuple[AnswerQuota, ...]]:
    """The answers that each kind of request needs; none of a datacenter without replicas."""
    wanted: Mapping[RequestKind, tuple[AnswerQuota, ...]] = {
        "reads": read_quotas(level, view, dcs, home),
        "writes": write_quotas(level, view, dcs, home, ACKNOWLEDGEMENT[edition]),
    }
    return {kind: tuple(q for q in quotas if q.replicas) for kind, quotas in wanted.items()}


def _mask(hosts: Sequence[str], some: Collection[str]) -> int:
    return sum(1 << bit for bit, host in enumerate(hosts) if host in some)
