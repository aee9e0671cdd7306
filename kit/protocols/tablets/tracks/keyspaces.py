"""The keyspaces whose RF is to be changed, with the replication that they have before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kit.errors import BadInput
from kit.protocols.tablets.rules.maps import keyspace_of
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.replication import Place, misfits
from kit.protocols.tablets.tracks.parameters import TracksParameters
from kit.protocols.topology.request_plan import RequestPlan
from kit.protocols.topology.rules.cluster import Replication
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.replication import factor_text, replication_in


def keyspaces_of(
    given: TracksParameters, settled: Sequence[Replicas], plan: RequestPlan
) -> tuple[str, ...]:
    """The keyspaces with the replication that they have, where their RF is to be changed.

    ``settled`` are the replicas of each tablet, outside transitions.

    Raises:
        BadInput: for a request on another keyspace or table, or tablets that differ in replicas.
    """
    tables = _tables(given)
    known = sorted({keyspace_of(table) for table in tables})
    stated = dict(map(_stated, given.keyspaces))
    for name in stated:
        if name not in known:
            raise BadInput("keyspaces", name, "one of " + ", ".join(known))
    for request in plan.requests:
        if request.keyspace not in ("", *known):
            raise BadInput("operations", request.keyspace, "the keyspace " + ", ".join(known))
        if request.table not in ("", *tables):
            allowed = "one of the tables " + ", ".join(tables)
            raise BadInput("operations", request.table, allowed)
    place = {name: place_of(rack) for name, rack in zip(plan.names, plan.racks, strict=True)}
    texts = []
    for name in dict.fromkeys(each.keyspace for each in plan.requests if each.keyspace):
        own = _own(given, settled, name)
        places = [[place[each.host] for each in replicas] for replicas in own]
        texts.append(
            " ".join([name, *_factors(replication_before(places, stated.get(name), name))])
        )
    return tuple(texts)


def _stated(text: str) -> tuple[str, Replication]:
    name, *factors = text.split() or [""]
    return name, replication_in(factors, "keyspaces")


def _tables(given: TracksParameters) -> tuple[str, ...]:
    if given.dump is None:
        return given.tables
    return tuple(name for table in given.dump.tables for name in (table.name, *table.colocated))


def _own(given: TracksParameters, settled: Sequence[Replicas], keyspace: str) -> list[Replicas]:
    """The replicas of the keyspace's tablets."""
    if given.dump is None:
        return list(settled)
    return [settled[tablet] for tablet in given.dump.tablets_of(keyspace)]


def replication_before(
    places: Sequence[Sequence[Place]], stated: Replication | None, keyspace: str
) -> Replication:
    """What a keyspace asks for: as stated, else as many replicas as all its tablets have.

    ``places`` are the datacenters and racks of each tablet's replicas.

    Raises:
        BadInput: where a tablet's replicas are not these.
    """
    before = _counted(places[0]) if stated is None else stated
    for each in places:
        if next(misfits(each, dict(before)), None) is not None:
            has, wants = (" ".join(_factors(either)) for either in (_counted(each), before))
            allowed = f"{wants} for each tablet of {keyspace}, since its RF is to be changed"
            raise BadInput("tablets", has, allowed)
    return before


def _counted(places: Sequence[Place]) -> Replication:
    return tuple(sorted(Counter(datacenter for datacenter, _ in places).items()))


def _factors(replication: Replication) -> Iterator[str]:
    return (f"{name}={factor_text(factor)}" for name, factor in replication)
