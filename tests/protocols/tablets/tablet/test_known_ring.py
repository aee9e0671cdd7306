"""The ring that a client's driver is shown of a tablet's cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.errors import Refused
from kit.protocols.tablets.facts.tablet import SERVERS
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.tokens import MURMUR3


def moment(nodes: int, *, sharded: bool = False) -> Any:
    """Any moment of a model of so many nodes."""
    history = SimpleNamespace(sharded=sharded, dcs=("dc1",) * nodes)
    return SimpleNamespace(model=SimpleNamespace(history=history, replicas=nodes, rf=nodes))


@pytest.mark.parametrize(
    ("nodes", "tokens"),
    [
        (1, [2**63 - 1]),
        (3, [-(2**63) + (2**64 - 1) // 3, -(2**63) + (2**64 - 1) // 3 * 2, 2**63 - 1]),
        (5, [-(2**63) + (2**64 - 1) // 5 * n for n in range(1, 6)]),
    ],
)
def test_each_node_has_a_token(nodes: int, tokens: list[int]) -> None:
    """They are evenly apart, and none is the minimum, which belongs to nobody."""
    assert SERVERS.known_ring(moment(nodes), 0).tokens == {n: (t,) for n, t in enumerate(tokens)}
    assert SERVERS.known_ring(moment(nodes), 0).space is SERVERS.space(moment(nodes)) is MURMUR3
    assert [SERVERS.is_member(moment(nodes), at) for at in (0, nodes - 1, nodes)] == [
        True, True, False,
    ]  # fmt: skip


def test_within_a_node_there_are_no_programs() -> None:
    """Where the tablet moves between shards nobody can connect, and why is said."""
    with pytest.raises(Refused, match="between shards of one node"):
        SERVERS.known_ring(moment(3, sharded=True), 0)


@pytest.mark.parametrize("nodes", [1, 3])
def test_the_keyspace_has_its_replicas_in_the_datacenter_of_the_nodes(nodes: int) -> None:
    """Be it of a single node."""
    [keyspace] = SERVERS.keyspaces(moment(nodes))
    assert keyspace.replication == NetworkTopologyStrategy((("dc1", nodes),))
