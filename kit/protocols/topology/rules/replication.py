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
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.cluster import ClusterTopology, Factor, Replication, RequestEntry
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


def expanded(
    topology: ClusterTopology, keyspace: str, wanted: Replication, setting: cluster.Setting
) -> Replication:
    """The replication that a statement asks for, with the racks that its numbers stand for.

    Where a server enforces racks (``rf``), a number for a datacenter in which the keyspace has no
    replica becomes as many racks there, if there are so many. Servers draw them from those with a
    node that owns tokens and does not drain; here they are the first by name. Source: published
    ``expand_to_racks``, ``get_allowed_racks``.
    """
    known = dict(topology.keyspaces)
    if not topology.rf or keyspace not in known or not setting.has("rack-lists"):
        return wanted
    held, there = dict(known[keyspace]), sorted(_racks(topology, _token_owners(topology)[0]))
    factors = dict(wanted)
    for datacenter, factor in wanted:
        racks = tuple(rack for name, rack in there if name == datacenter)
        if isinstance(factor, int) and factor <= len(racks) and not held.get(datacenter):
            factors[datacenter] = racks[:factor] or 0
    return tuple(factors.items())


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
    With an ``rf``, which stands for a keyspace with so many replicas in each datacenter, servers
    have ``rf_rack_valid_keyspaces``: racks must be as many as replicas (of two or more), a keyspace
    that names racks needs a node in each, and nothing is refused once a keyspace is invalid
    already. Without one, a number needs only as many nodes. No keyspace has replicas in a
    datacenter that was without nodes. Servers before 2026.1 do not ask. Sources: published
    ``check_rf_rack_validity_with_topology_change``, ``is_normal_token_owner``; the manual on rack
    lists.
    """
    own, passing = _token_owners(topology, leaves)
    keyspaces, by_racks = topology.keyspaces, topology.rf > 0
    if topology.rf:  # no keyspace names a datacenter without nodes
        known = sorted({datacenter for datacenter, _ in _racks(topology, own | passing)})
        keyspaces = (("", tuple((name, topology.rf) for name in known)), *keyspaces)
    fit = [each for each in keyspaces if not _misfit(topology, [each], own, passing)]
    if by_racks and len(fit) < len(keyspaces):
        return ""
    own, passing = own & ~leaves | joins, passing & ~(joins | leaves)
    return _misfit(topology, fit, own, passing, by_racks=by_racks)


def _token_owners(topology: ClusterTopology, judged: int = 0) -> tuple[int, int]:
    """The owners of tokens for good, and those that come or go with some (masks).

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
    topology: ClusterTopology,
    request: RequestEntry,
    setting: cluster.Setting,
    *,
    tables: bool = True,
) -> str:
    """Why ALTER KEYSPACE may not give a keyspace the replication of a request; empty: it may.

    ``request`` has the keyspace and what the statement asks for (``expanded``), ``topology`` the
    nodes and the ``keyspaces`` (empty: they are not known). With ``rf`` in it, RF-rack-validity is
    enforced. All datacenters together gain or lose one replica; only where all replicas are by
    racks, whole datacenters may come and go. Servers let the last replica go, too. Without
    ``tables`` no tablet has to find a place. Sources: published ``prepare_options``,
    ``alter_keyspace_statement::validate``, ``reallocate_tablets``,
    ``network_topology_strategy::validate_options``.
    """
    known, wanted = dict(topology.keyspaces), dict(request.replication)
    if known and request.keyspace not in known:
        return f"there is no keyspace {request.keyspace}"
    held = dict(known.get(request.keyspace, ()))
    after = dict(altered(topology, request))
    if not setting.has("rack-lists") and not all(isinstance(each, int) for each in after.values()):
        whose = f"server {setting.release}" if setting.edition == "server" else "documents edition"
        return f"the {whose} does not know rack names"
    left_out = sorted(dc for dc, each in held.items() if number_of(each) and dc not in wanted)
    if left_out and setting.has("left-out"):
        return f"{left_out[0]} has replicas, so it must be named (with 0 if they are to go)"
    if tables and setting.edition == "documents" and not sum(map(number_of, after.values())):
        return "no replica would be left"
    enforced = topology.rf > 0 and setting.edition == "server"
    if request.keyspace in known:
        changed = {dc: (held.get(dc, 0), each) for dc, each in after.items()}
        expands = enforced and setting.has("rack-lists")
        if reason := _conversion(changed, expands=expands) or _too_many(changed, setting, tables):
            return reason
    reasons = (_without_place(topology, *each, held, tables=tables) for each in after.items())
    named = {dc: each for dc, each in after.items() if dc in wanted}
    invalid = misfit(topology, named) if enforced else ""
    return next(filter(None, reasons), invalid)


def not_played(topology: ClusterTopology, request: RequestEntry) -> str:
    """Why models do not play a change that servers allow; empty: they do."""
    before = dict(dict(topology.keyspaces).get(request.keyspace, ()))
    after = altered(topology, request)
    if not sum(number_of(each) for _, each in after):
        return "no replica would be left, and with the last one all data goes: not modelled"
    if any(_converts(before.get(dc, 0), each) for dc, each in after):
        return "changing a number of replicas to a list of racks is a conversion, not modelled"
    return ""


def _converts(old: Factor, new: Factor) -> bool:
    return isinstance(old, int) and old > 0 and isinstance(new, tuple)


Changes = Mapping[str, tuple[Factor, Factor]]  # what a datacenter has, and what it is to have


def _conversion(changed: Changes, *, expands: bool) -> str:
    counts = any(number_of(old) != number_of(new) for old, new in changed.values())
    if counts and any(_converts(*each) for each in changed.values()):
        return "a number of replicas becomes a list of as many racks, and nothing else may change"
    for datacenter, (old, new) in changed.items():
        if isinstance(new, int) and old and new and old != new and isinstance(old, tuple):
            return "a list of racks cannot become a number of replicas"
        if isinstance(new, int) and old and new and old != new and expands:
            return f"{datacenter} has a number of replicas, and that may only become racks"
    return ""


def _too_many(changed: Changes, setting: cluster.Setting, tables: bool) -> str:
    """A tablet's next replica comes or goes when the one before has, unless all goes by racks."""
    steps = {dc: _steps(*each, tables=tables) for dc, each in changed.items()}
    by_racks = all(isinstance(each, tuple) for pair in changed.values() for each in pair if each)
    whole = all(not steps[dc] or 0 in map(number_of, each) for dc, each in changed.items())
    if sum(steps.values()) < 2 or (by_racks and whole and setting.has("rf-changes")):
        return ""
    pairs = ((dc, *map(factor_text, each)) for dc, each in changed.items() if steps[dc])
    said = ", ".join(f"{dc} from {old or 0} to {new or 0}" for dc, old, new in pairs)
    return f"a tablet gains or loses one replica at a time: {said}"


def _steps(old: Factor, new: Factor, *, tables: bool) -> int:
    if tables and isinstance(old, tuple) and isinstance(new, tuple):
        return len(set(old) ^ set(new))
    return abs(number_of(new) - number_of(old))


def misfit(topology: ClusterTopology, replication: Mapping[str, Factor]) -> str:
    """The first datacenter that has other racks than these replicas ask for; empty: none."""
    keyspaces = [("", tuple(replication.items()))]
    reason = _misfit(topology, keyspaces, *_token_owners(topology))
    return reason.replace("would have", "has")


def _without_place(
    topology: ClusterTopology,
    datacenter: str,
    factor: Factor,
    held: Mapping[str, Factor],
    *,
    tables: bool,
) -> str:
    owners = _token_owners(topology)[0] if tables else cluster.in_state(topology, "normal")
    places = [place_of(topology.nodes[node].rack) for node in nodes_in(owners)]
    racks, old = [rack for name, rack in places if name == datacenter], held.get(datacenter, 0)
    if not isinstance(factor, int):
        had = () if isinstance(old, int) else old
        missing = [rack for rack in factor if rack not in racks and rack not in had]
        return f"{datacenter} has no node in rack {missing[0]}" if missing else ""
    needed = factor if tables else min(factor, 1)
    if factor > number_of(old) and len(racks) < needed:
        return f"{datacenter} has {counted(len(racks), 'node')} for {counted(factor, 'replica')}"
    return ""
