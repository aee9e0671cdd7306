"""Which change of a keyspace's replication the coordinator refuses.

Sources: Topology over Raft, ``keyspace_rf_change``; published coordinator, its handler of that
request, and ``check_rf_rack_valid``. A keyspace of which nothing is known is not judged by what it
has.
"""

from __future__ import annotations

from itertools import starmap

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import ClusterTopology, Factor, RequestEntry
from kit.protocols.topology.rules.effects import owners
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.replication import altered, factor_text, number_of
from kit.protocols.topology.rules.safeguards import Setting


def refused_change(topology: ClusterTopology, request: RequestEntry, setting: Setting) -> str:
    """Why a keyspace may not have the replication that a request asks for; empty: it may.

    A tablet's next replica comes or goes when the one before has: so a request changes one, but
    for a whole datacenter that is added or dropped with a rack list.
    """
    after = dict(altered(topology, request))
    before = dict(topology.keyspaces).get(request.keyspace)
    if before is None and topology.keyspaces:
        return f"there is no keyspace {request.keyspace}"
    if not sum(map(number_of, after.values())):
        return "no replica would be left"
    if setting.edition == "documents" and not all(isinstance(each, int) for each in after.values()):
        return "racks by name are not known to edition documents"
    if before is not None:
        had = dict(before)
        changed = {dc: (had.get(dc, 0), factor) for dc, factor in after.items()}
        converted = next(filter(None, starmap(_conversion, changed.values())), "")
        if converted:
            return converted
        if sum(starmap(_steps, changed.values())) > 1:
            pairs = ((dc, *map(factor_text, each)) for dc, each in changed.items())
            said = ", ".join(f"{dc} from {a} to {b}" for dc, a, b in pairs if a != b)
            return f"a tablet gains or loses one replica at a time: {said}"
    reasons = (_without_place(topology, each, setting) for each in after.items())
    return next(filter(None, reasons), "")


def _conversion(old: Factor, new: Factor) -> str:
    """What stands against a number in the place of racks, and racks in that of a number."""
    if number_of(old) == 0 or number_of(new) == 0 or type(old) is type(new):
        return ""
    if isinstance(old, int):
        return "a number of replicas becomes a list of racks by a conversion of its own"
    return "a list of racks does not become a number of replicas again"


def _steps(old: Factor, new: Factor) -> int:
    """How many replicas of a tablet come or go, as far as a request is limited in them."""
    if isinstance(old, int) and isinstance(new, int):
        return abs(new - old)
    if isinstance(old, int) or isinstance(new, int):
        return 0
    return len(set(old) ^ set(new))


def _without_place(topology: ClusterTopology, wanted: tuple[str, Factor], setting: Setting) -> str:
    """Why a datacenter cannot hold these replicas; empty: it can."""
    datacenter, factor = wanted
    places = [place_of(topology.nodes[node].rack) for node in nodes_in(owners(topology))]
    racks = [rack for name, rack in places if name == datacenter]
    if not isinstance(factor, int):
        missing = [rack for rack in factor if rack not in racks]
        return f"{datacenter} has no node in rack {missing[0]}" if missing else ""
    if len(racks) < factor:
        return f"{datacenter} has {len(racks)} nodes for {factor} replicas"
    has_to_be_valid = topology.rf and setting.edition == "server" and factor > 1
    if has_to_be_valid and len(set(racks)) != factor:
        return f"{datacenter} has {len(set(racks))} racks for {factor} replicas"
    return ""
