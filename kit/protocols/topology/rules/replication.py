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


Keyspaces = Sequence[tuple[str, Replication]]
RACK_INVALID = "its removal would make some existing keyspace RF-rack-invalid"
"""Why a node may neither leave nor be removed. Source: published ``validate_removing_node``."""


def invalid_racks(topology: ClusterTopology, *, joins: int = 0, leaves: int = 0) -> str:
    """The first datacenter or rack that would no longer fit a keyspace, and why; empty: none.

    ``joins`` and ``leaves`` are masks of nodes that become, and that are no more, owners of tokens.
    Another node that is to leave or to be removed is no owner any more, whatever it still holds.
    A keyspace that is RF-rack-invalid already may stay so, and none has replicas in a datacenter
    that was without nodes. One that names its racks needs a node in each. With ``rf``, the racks of
    a datacenter are as many as its replicas, and nothing is refused once that is no longer so.
    Without it, whether servers enforce that (``rf_rack_valid_keyspaces``) is not known, and numbers
    need only as many nodes. Sources: published ``check_rf_rack_validity_with_topology_change``,
    ``is_normal_token_owner``; the manual on rack lists.
    """
    own, passing = _token_owners(topology, leaves)
    keyspaces, enforced = topology.keyspaces, topology.rf > 0
    if enforced:  # no keyspace names a datacenter without nodes
        known = sorted({datacenter for datacenter, _ in _racks(topology, own | passing)})
        keyspaces = (("", tuple((name, topology.rf) for name in known)), *keyspaces)
    fit = [each for each in keyspaces if not _misfit(topology, [each], own, passing)]
    if enforced and len(fit) < len(keyspaces):
        return ""
    own, passing = own & ~leaves | joins, passing & ~(joins | leaves)
    return _misfit(topology, fit, own, passing, by_racks=enforced)


def _token_owners(topology: ClusterTopology, judged: int = 0) -> tuple[int, int]:
    """Who owns tokens for good, and who comes or goes with some (masks).

    Whoever has a request to go drains, except the ``judged`` (a mask).
    """
    go = {"decommissioning", "removing"}
    back = go if topology.transition == "rollback_to_normal" else set()
    stay = {"normal", "rebuilding", *back}
    with_tokens = [(1 << i, entry) for i, entry in enumerate(topology.nodes) if entry.tokens]
    going = sum(node for node, entry in with_tokens if entry.request in ("leave", "remove"))
    own = sum(node for node, entry in with_tokens if entry.state in stay)
    passing = sum(node for node, entry in with_tokens if entry.state in go | {"bootstrapping"})
    drains = going & ~judged
    return own & ~drains, passing & ~own | drains


def _misfit(
    topology: ClusterTopology, keyspaces: Keyspaces, own: int, passing: int, by_racks: bool = True
) -> str:
    racks = _racks(topology, own)
    nodes = [place_of(topology.nodes[node].rack) for node in nodes_in(own)]
    unsure = {datacenter for datacenter, _ in _racks(topology, passing) - racks}
    counts = Counter(datacenter for datacenter, _ in (racks if by_racks else nodes))
    for keyspace, replication in keyspaces:
        for name, factor in replication:
            number, count = number_of(factor), counts[name]
            if not isinstance(factor, int):
                if missing := sorted(rack for rack in factor if (name, rack) not in racks):
                    return f"{keyspace} names rack {missing[0]} of {name}, which would have no node"
            elif count < number or (by_racks and number > 1 and (count > number or name in unsure)):
                has = counted(count, "rack" if by_racks else "node")
                return f"{name} would have {has} for {counted(number, 'replica')}"
    return ""


def _racks(topology: ClusterTopology, nodes: int) -> set[tuple[str, str]]:
    return {place_of(topology.nodes[node].rack) for node in nodes_in(nodes)}


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
        by_racks &= setting.has("rf-changes")
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
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(set(old) ^ set(new))
    return abs(number_of(new) - number_of(old))


def newly_invalid(
    topology: ClusterTopology, before: Mapping[str, Factor], after: Mapping[str, Factor]
) -> str:
    """The first datacenter that would have other racks than replicas; empty: none, or the keyspace
    is RF-rack-invalid already, and may stay so.
    """
    owners = _token_owners(topology)
    ways = ([("", tuple(factors.items()))] for factors in (before, after))
    was, becomes = (_misfit(topology, way, *owners) for way in ways)
    return "" if was else becomes.replace("would have", "has")


def _without_place(topology: ClusterTopology, datacenter: str, old: Factor, factor: Factor) -> str:
    places = [place_of(topology.nodes[node].rack) for node in nodes_in(_token_owners(topology)[0])]
    racks = [rack for name, rack in places if name == datacenter]
    if not isinstance(factor, int):
        had = () if isinstance(old, int) else old
        missing = [rack for rack in factor if rack not in racks and rack not in had]
        return f"{datacenter} has no node in rack {missing[0]}" if missing else ""
    if factor > number_of(old) and len(racks) < factor:
        return f"{datacenter} has {counted(len(racks), 'node')} for {counted(factor, 'replica')}"
    return ""
