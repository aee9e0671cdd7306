"""Tablet maps drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica

HOSTS, SHARDS = "ABCDE", 3


@st.composite
def replica_sets(draw: st.DrawFn, size: int = 3) -> Replicas:
    """Replicas on distinct hosts."""
    hosts = draw(st.permutations(HOSTS))[:size]
    return tuple(TabletReplica(host, draw(st.integers(0, SHARDS - 1))) for host in hosts)


@st.composite
def maps(draw: st.DrawFn, most: int = 4) -> TabletMap:
    """A map of a power of two of tablets, none in transition."""
    lasts = last_tokens(2 ** draw(st.integers(0, most)))
    return TabletMap("ks.t", tuple(Tablet(last, draw(replica_sets())) for last in lasts))


def moved(replicas: Replicas, source: TabletReplica, target: TabletReplica) -> Replicas:
    """The replicas with the target in the source's place, which no other one's host is."""
    assert target.host not in [each.host for each in replicas if each != source]
    assert source in replicas
    return tuple(target if replica == source else replica for replica in replicas)
