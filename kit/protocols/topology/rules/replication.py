"""Which replicas a keyspace has in each datacenter, and which of its changes are refused.

A keyspace that stays RF-rack-valid has as many racks in a datacenter as replicas: only then does
each rack hold one replica of everything, and a whole rack may be lost. One replica, or none, needs
no racks. Of a keyspace of which nothing is known it is not judged what it has. Sources: Topology
over Raft, ``keyspace_rf_change`` and its columns; published coordinator, its handler of that
request, its checks before a node leaves and while one joins, and ``check_rf_rack_valid``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import starmap

from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import (
    ClusterTopology,
    Factor,
    Replication,
    RequestEntry,
    Setting,
    owners,
)

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

    Raises:
        BadInput: for none, a datacenter or a rack twice, or what is neither number nor racks.
    """
    factors: dict[str, Factor] = {}
    for word in words:
        datacenter, _, text = word.partition("=")
        racks = tuple(rack for rack in text.split(",") if rack)
        if not datacenter or not racks:
            allowed = "a datacenter and its replicas, or its racks with one each: dc1=3, dc1=r1,r2"
            raise BadInput(field, word, allowed)
        if datacenter in factors:
            raise BadInput(field, word, "each datacenter once")
        if len(set(racks)) < len(racks):
            raise BadInput(field, word, "each rack once")
        is_number = text[:1] in "-+" or (text[:1].isdecimal() and "," not in text)
        if is_number and not (text.isascii() and text.isdecimal() and len(text) <= DIGITS):
            raise BadInput(field, word, f"a number of at most {DIGITS} digits, or racks: dc1=r1,r2")
        factors[datacenter] = int(text) if is_number else racks
    if not factors:
        raise BadInput(field, "", "the replicas in at least one datacenter, as in dc1=3")
    return tuple(sorted(factors.items()))


def altered(topology: ClusterTopology, request: RequestEntry) -> Replication:
    """The keyspace's replication after a request: a datacenter that it does not name keeps its."""
    before = dict(topology.keyspaces).get(request.keyspace, ())
    return tuple(sorted({**dict(before), **dict(request.replication)}.items()))


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
    """The first datacenter that would have a wrong number of racks, and why; empty: none.

    ``joins`` and ``leaves`` are masks of nodes that become, and that are no more, owners of tokens.
    """
    if topology.rf < 2:
        return ""
    after = (owners(topology) | joins) & ~leaves
    places = {place_of(topology.nodes[node].rack) for node in nodes_in(after)}
    for datacenter, racks in sorted(Counter(dc for dc, _ in places).items()):
        if racks != topology.rf:
            return f"{datacenter} would have {racks} racks for {topology.rf} replicas"
    return ""


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
    reasons = (_without_place(topology, *each, setting) for each in after.items())
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


def _without_place(
    topology: ClusterTopology, datacenter: str, factor: Factor, setting: Setting
) -> str:
    """Why a datacenter cannot hold these replicas; empty: it can."""
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
