"""Which replicas a keyspace has in each datacenter, before a request and after it.

Source: Topology over Raft, the columns ``new_keyspace_rf_change_ks_name`` and
``new_keyspace_rf_change_data``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.topology.rules.cluster import ClusterTopology, Factor, Replication, RequestEntry

DIGITS = 9


def number_of(factor: Factor) -> int:
    """How many replicas a factor asks for."""
    return factor if isinstance(factor, int) else len(factor)


def factor_text(factor: Factor) -> str:
    """``3``, or racks as ``r1,r2``; what ``replication_in`` reads."""
    if isinstance(factor, int):
        return str(factor)
    return ",".join(factor) + "," * (len(factor) == 1 and factor[0].isdecimal())


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
        factors[datacenter] = _number(text, word, field) if _is_number(text) else racks
    if not factors:
        raise BadInput(field, "", "the replicas in at least one datacenter, as in dc1=3")
    return tuple(sorted(factors.items()))


def _is_number(text: str) -> bool:
    return text[:1] in "-+" or (text[:1].isdecimal() and "," not in text)


def _number(text: str, word: str, field: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS):
        raise BadInput(field, word, f"a number of at most {DIGITS} digits, or racks: dc1=r1,r2")
    return int(text)


def altered(topology: ClusterTopology, request: RequestEntry) -> Replication:
    """The keyspace's replication after a request: a datacenter that it does not name keeps its."""
    before = dict(topology.keyspaces).get(request.keyspace, ())
    return tuple(sorted({**dict(before), **dict(request.replication)}.items()))


def with_replication(topology: ClusterTopology, request: RequestEntry) -> ClusterTopology:
    """The topology in which the keyspace has the replication that the request asks for."""
    keyspaces = {**dict(topology.keyspaces), request.keyspace: altered(topology, request)}
    return replace(topology, keyspaces=tuple(sorted(keyspaces.items())))
