"""Which change of a keyspace's replication the coordinator refuses.

Sources: seed 000, ``keyspace_rf_change``; published coordinator, its handler of that request, and
``check_rf_rack_valid``. A keyspace of which nothing is known is not judged by what it has.
"""

from __future__ import annotations

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import ClusterTopology, RequestEntry
from kit.protocols.topology.rules.effects import owners
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.replication import altered
from kit.protocols.topology.rules.safeguards import Setting


def refused_change(topology: ClusterTopology, request: RequestEntry, setting: Setting) -> str:
    """Why a keyspace may not have the replication that a request asks for; empty: it may."""
    after = dict(altered(topology, request))
    before = dict(topology.keyspaces).get(request.keyspace)
    if before is None and topology.keyspaces:
        return f"there is no keyspace {request.keyspace}"
    if not sum(after.values()):
        return "no replica would be left"
    if before is not None:
        had = dict(before)
        changed = {dc: (had.get(dc, 0), count) for dc, count in after.items()}
        if sum(abs(new - old) for old, new in changed.values()) > 1:
            said = ", ".join(f"{dc} from {a} to {b}" for dc, (a, b) in changed.items() if a != b)
            return f"a tablet gains or loses one replica at a time: {said}"
    reasons = (_without_place(topology, each, setting) for each in after.items())
    return next(filter(None, reasons), "")


def _without_place(topology: ClusterTopology, wanted: tuple[str, int], setting: Setting) -> str:
    """Why a datacenter cannot hold so many replicas; empty: it can."""
    datacenter, count = wanted
    places = [place_of(topology.nodes[node].rack) for node in nodes_in(owners(topology))]
    racks = [rack for name, rack in places if name == datacenter]
    if len(racks) < count:
        return f"{datacenter} has {len(racks)} nodes for {count} replicas"
    has_to_be_valid = topology.rf and setting.edition == "code" and count > 1
    if has_to_be_valid and len(set(racks)) != count:
        return f"{datacenter} has {len(set(racks))} racks for {count} replicas"
    return ""
