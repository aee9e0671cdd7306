"""Which replicas a keyspace has in each datacenter, and which of its changes are refused.

A keyspace that stays RF-rack-valid has as many racks in a datacenter as replicas: only then does
each rack hold one replica of everything, and a whole rack may be lost. One replica, or none, needs
no racks. Of a keyspace of which nothing is known it is not judged what it has. Sources: Topology
over Raft, ``keyspace_rf_change`` and its columns; published coordinator, its handler of that
request, its checks before a node leaves and while one joins, and ``check_rf_rack_valid``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kit.errors import BadInput, counted
from kit.masks import nodes_in
from kit.protocols.topology.rules.cluster import (
    ClusterTopology,
    Factor,
    Replication,
    RequestEntry,
    Setting,
    owners,
)
from kit.ring.replication import not_modelled

DIGITS = 9


def number_of(factor: Factor) -> int:
    """How many replicas a factor asks for."""
    return factor if isinstance(factor, int) else len(factor)


def factor_text(factor: Factor) -> str:
    """``3``, or racks as ``r1,r2``; what ``replication_in`` reads."""
    if isinstance(factor, int):
        return str(factor)
    return ",".join(factor) + "," * (len(factor) == 1 and factor[0].isdecimal())


def replication_words(replication: Replication) -> list[str]:
    """``dc1=3``, ``dc2=r1,r2``: as a request says it."""
    return [f"{name}={factor_text(factor)}" for name, factor in replication]


def replication_in(words: Sequence[str], field: str) -> Replication:
    """The replicas that ``dc1=3 dc2=r1,r2`` says, ascending by datacenter.

    Raises BadInput for none, a datacenter or a rack twice, or what is neither number nor racks.
    """
    factors: dict[str, Factor] = {}
    for word in words:
        datacenter, _, text = word.partition("=")
        racks = tuple(rack for rack in text.split(",") if rack)
        if not datacenter or not racks:
            allowed = (
                "a datacenter and its number of replicas (dc1=3), or its racks, with one replica "
                "each (dc1=r1,r2)"
            )
            raise BadInput(field, word, allowed)
        if datacenter in factors:
            raise BadInput(field, word, "each datacenter once")
        if len(set(racks)) < len(racks):
            raise BadInput(field, word, "each rack once")
        is_number = text[:1] in "-+" or (text[:1].isdecimal() and "," not in text)
        if is_number and not (text.isascii() and text.isdecimal() and len(text) <= DIGITS):
            allowed = f"a number of at most {DIGITS} digits, or racks: dc1=r1,r2"
            raise BadInput(field, word, allowed + not_modelled(text))
        factors[datacenter] = int(text) if is_number else racks
    if not factors:
        raise BadInput(field, "", "replicas in at least one datacenter, as in dc1=3")
    return tuple(sorted(factors.items()))


def altered(topology: ClusterTopology, request: RequestEntry) -> Replication:
    """The keyspace's replication after a request: a datacenter that it does not name keeps its.

    So does one whose racks it counts right (the manual on ALTER KEYSPACE).
    """
    before = dict(dict(topology.keyspaces).get(request.keyspace, ()))
    wanted = dict(request.replication)
    kept = {dc: each for dc, each in before.items() if wanted.get(dc) == number_of(each)}
    return tuple(sorted({**before, **wanted, **kept}.items()))


def with_replication(topology: ClusterTopology, request: RequestEntry) -> ClusterTopology:
    """The topology in which the keyspace has the replication that the request asks for."""
    keyspaces = {**dict(topology.keyspaces), request.keyspace: altered(topology, request)}
    return replace(topology, keyspaces=tuple(sorted(keyspaces.items())))


FIRST_RACK = "dc1/r1"
"""Where a node is of which nothing else is said."""


def place_of(rack: str) -> tuple[str, str]:
    """The datacenter and the rack of a node, of its cell (empty: nothing is said of it)."""
    datacenter, _, name = (rack or FIRST_RACK).partition("/")
    return datacenter, name


def invalid_racks(topology: ClusterTopology, *, joins: int = 0, leaves: int = 0) -> str:
    """The first datacenter or rack that would no longer fit a keyspace, and why; empty: none.

    ``joins`` and ``leaves`` are masks of nodes that become, and that are no more, owners of tokens.
    A keyspace that is RF-rack-invalid already may stay so, and none has replicas in a datacenter
    that was without nodes. One that names its racks needs a node in each. Sources: published
    ``check_rf_rack_validity_with_topology_change``, ``validate_removing_node``; the manual on rack
    lists.
    """
    now = owners(topology)
    racks, then = (_racks(topology, mask) for mask in (now, (now | joins) & ~leaves))
    if topology.rf > 1 and not _uneven(racks, topology.rf):
        known = {datacenter for datacenter, _ in racks}  # no keyspace names one without nodes
        for datacenter, count in _uneven({each for each in then if each[0] in known}, topology.rf):
            return f"{datacenter} would have {counted(count, 'rack')} for {topology.rf} replicas"
    for keyspace, replication in topology.keyspaces:
        lists = ((dc, each) for dc, each in replication if isinstance(each, tuple))
        named = {(dc, rack) for dc, each in lists for rack in each}
        if named <= racks:
            for datacenter, rack in sorted(named - then):
                return f"{keyspace} names rack {rack} of {datacenter}, which would have no node"
    return ""


def _racks(topology: ClusterTopology, nodes: int) -> set[tuple[str, str]]:
    return {place_of(topology.nodes[node].rack) for node in nodes_in(nodes)}


def _uneven(places: set[tuple[str, str]], rf: int) -> list[tuple[str, int]]:
    """The datacenters that have more racks, or fewer, than a keyspace has replicas."""
    counts = Counter(datacenter for datacenter, _ in places)
    return [(datacenter, count) for datacenter, count in sorted(counts.items()) if count != rf]


def refused_change(
    topology: ClusterTopology, request: RequestEntry, setting: Setting, *, tables: bool = True
) -> str:
    """Why a keyspace may not have the replication that a request asks for; empty: it may.

    A tablet's next replica comes or goes when the one before has: so a request changes one. But
    where all replicas are by racks, any datacenters may be added or dropped, if nothing else
    changes. Without ``tables`` there is no tablet that would have to follow. Sources: published
    ``alter_keyspace_statement::validate``, ``choose_keyspace_rf_change_kind``.
    """
    after = dict(altered(topology, request))
    before = dict(topology.keyspaces).get(request.keyspace)
    if before is None and topology.keyspaces:
        return f"there is no keyspace {request.keyspace}"
    if tables and not sum(map(number_of, after.values())):
        return "no replica would be left"
    if setting.edition == "documents" and not all(isinstance(each, int) for each in after.values()):
        return "the documents edition does not know rack names"
    if before is not None:
        had = dict(before)
        changed = {dc: (had.get(dc, 0), each) for dc, each in after.items() if had.get(dc) != each}
        converted = (_conversion(*each, tables=tables) for each in changed.values())
        if reason := next(filter(None, converted), ""):
            return reason
        steps = {dc: _steps(*each) for dc, each in changed.items()}
        whole = {dc for dc, each in changed.items() if 0 in map(number_of, each)}
        by_racks = all(isinstance(f, tuple) for f in (*had.values(), *after.values()) if f)
        single = all(steps[dc] < 2 for dc in changed.keys() - whole) and not tables
        if sum(steps.values()) > 1 and not (by_racks and (single or whole == changed.keys())):
            pairs = ((dc, *map(factor_text, each)) for dc, each in changed.items())
            said = ", ".join(f"{dc} from {a or 0} to {b or 0}" for dc, a, b in pairs)
            return f"a tablet gains or loses one replica at a time: {said}"
    held = dict(before or ())
    reasons = (_without_place(topology, dc, held.get(dc, 0), each) for dc, each in after.items())
    enforced = topology.rf and setting.edition == "server"
    invalid = newly_invalid(topology, held, after) if enforced else ""
    return next(filter(None, reasons), invalid)


def _conversion(old: Factor, new: Factor, *, tables: bool) -> str:
    """What stands against a number in the place of racks, and racks in that of a number."""
    if number_of(old) == 0 or number_of(new) == 0 or type(old) is type(new):
        return ""
    if not isinstance(old, int):
        return "a list of racks cannot become a number of replicas"
    if number_of(new) != old:
        return f"a list of racks must name as many racks as there are replicas, {old}"
    if not tables:
        return ""
    return "changing a number of replicas to a list of racks is a separate conversion, not modelled"


def _steps(old: Factor, new: Factor) -> int:
    """How many replicas of a tablet come or go."""
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(set(old) ^ set(new))
    return abs(number_of(new) - number_of(old))


def newly_invalid(
    topology: ClusterTopology, before: Mapping[str, Factor], after: Mapping[str, Factor]
) -> str:
    """The first datacenter that would have other racks than replicas; empty: none, or the keyspace
    is RF-rack-invalid already, and may stay so.
    """
    counts = Counter(datacenter for datacenter, _ in _racks(topology, owners(topology)))

    def invalid(replication: Mapping[str, Factor]) -> list[str]:
        numbers = {dc: each for dc, each in replication.items() if isinstance(each, int)}
        return [dc for dc, number in numbers.items() if number > 1 and counts[dc] != number]

    wrong = "" if invalid(before) else next(iter(invalid(after)), "")
    racks = counted(counts[wrong], "rack")
    return f"{wrong} has {racks} for {after[wrong]} replicas" if wrong else ""


def _without_place(topology: ClusterTopology, datacenter: str, old: Factor, factor: Factor) -> str:
    """Why a datacenter cannot hold the replicas that come; empty: it can."""
    places = [place_of(topology.nodes[node].rack) for node in nodes_in(owners(topology))]
    racks = [rack for name, rack in places if name == datacenter]
    if not isinstance(factor, int):
        had = () if isinstance(old, int) else old
        missing = [rack for rack in factor if rack not in racks and rack not in had]
        return f"{datacenter} has no node in rack {missing[0]}" if missing else ""
    if factor > number_of(old) and len(racks) < factor:
        return f"{datacenter} has {counted(len(racks), 'node')} for {counted(factor, 'replica')}"
    return ""
