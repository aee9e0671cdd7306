"""How many replicas a keyspace has in each datacenter, before a request and after it.

Source: seed 000, the columns ``new_keyspace_rf_change_ks_name`` and
``new_keyspace_rf_change_data``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.topology.rules.cluster import ClusterTopology, Replication, RequestEntry


def replication_in(words: Sequence[str], field: str) -> Replication:
    """The replicas that ``dc1=3 dc2=1`` says, ascending by datacenter.

    Raises:
        BadInput: for none, a datacenter twice, or what is no number.
    """
    counts: dict[str, int] = {}
    for word in words:
        datacenter, _, count = word.partition("=")
        if not datacenter or datacenter in counts or not (count.isascii() and count.isdecimal()):
            raise BadInput(field, word, "a datacenter and its replicas, each once, as in dc1=3")
        counts[datacenter] = int(count)
    if not counts:
        raise BadInput(field, "", "the replicas in at least one datacenter, as in dc1=3")
    return tuple(sorted(counts.items()))


def altered(topology: ClusterTopology, request: RequestEntry) -> Replication:
    """The keyspace's replication after a request: a datacenter that it does not name keeps its."""
    before = dict(topology.keyspaces).get(request.keyspace, ())
    return tuple(sorted({**dict(before), **dict(request.replication)}.items()))


def with_replication(topology: ClusterTopology, request: RequestEntry) -> ClusterTopology:
    """The topology in which the keyspace has the replication that the request asks for."""
    keyspaces = {**dict(topology.keyspaces), request.keyspace: altered(topology, request)}
    return replace(topology, keyspaces=tuple(sorted(keyspaces.items())))
