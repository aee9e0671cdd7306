"""Down, excluded, left, joining, without tokens: what each means to the balancer."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.tablets.balance.clusters import GIB, DrawnCluster, table

# The role of A, which has four tablets, and of B, which has none, the datacenter of C and its role:
# does B get tablets of A? What is published: only excluded nodes are never targets; nodes that are
# down are skipped, but not while a node of the datacenter is to leave or to be removed.
BRANCHES: tuple[tuple[NodeRole, NodeRole, str, NodeRole, Edition, str], ...] = (
    ("leaving", "down", "dc1", "excluded", "server", "migration"),
    ("removing", "down", "dc1", "excluded", "server", "rebuild_v2"),
    ("left", "down", "dc1", "excluded", "server", "no place"),
    ("left", "down", "dc1", "leaving", "server", "rebuild_v2"),
    ("left", "down", "dc2", "leaving", "server", "no place"),
    ("leaving", "excluded", "dc1", "excluded", "server", "no place"),
    ("leaving", "joining", "dc1", "excluded", "server", "no place"),
    ("leaving", "zero-token", "dc1", "excluded", "server", "no place"),
    ("leaving", "normal", "dc1", "excluded", "server", "migration"),
    ("normal", "normal", "dc1", "excluded", "server", "migration"),
    ("normal", "down", "dc1", "excluded", "server", ""),
    ("normal", "excluded", "dc1", "excluded", "server", ""),
    ("normal", "down", "dc1", "leaving", "server", "migration"),
    ("normal", "down", "dc2", "leaving", "server", ""),
    ("down", "normal", "dc1", "excluded", "server", ""),
    ("excluded", "normal", "dc1", "excluded", "server", ""),
    ("leaving", "down", "dc1", "excluded", "documents", "no place"),
    ("removing", "excluded", "dc1", "excluded", "documents", "no place"),
    ("normal", "down", "dc1", "leaving", "documents", ""),
    ("leaving", "normal", "dc1", "excluded", "documents", "migration"),
)


def cluster(a: NodeRole, b: NodeRole, dc: str, c: NodeRole) -> DrawnCluster:
    """Three nodes with a shard each; all tablets are on A."""
    nodes = (
        BalancerNode("A", "dc1", "r1", 1, 2**40, a),
        BalancerNode("B", "dc1", "r1", 1, 2**40, b),
        BalancerNode("C", dc, "r1", 1, 2**40, c),
    )
    sets = [(TabletReplica("A", 0),)] * 4
    return DrawnCluster(nodes, {"ks.t": table("ks.t", *sets)}, {"ks.t": (5 * GIB,) * 4})


@pytest.mark.parametrize("branch", BRANCHES, ids=" ".join)
def test_who_gets_tablets(branch: tuple[NodeRole, NodeRole, str, NodeRole, Edition, str]) -> None:
    """The first plan moves to B, is stuck, or leaves things as they are."""
    a, b, dc, c, edition, wanted = branch
    step = plan(cluster(a, b, dc, c).input, edition)
    assert {move.target.host for move in step.moves} <= {"B"}
    said = "no place" if step.failures else next((move.kind for move in step.moves), "")
    assert said == wanted


def test_a_drain_in_the_model_goes_to_a_dead_node_and_stalls() -> None:
    """C dies while A is drained: a tablet goes to C, and no barrier passes until C is back."""
    given = {"nodes": 3, "tablets": ("A", "A"), "moves": 0, "operations": ("decommission A",)}
    timeline = Timeline(build("tablets", {**given, "edition": "server", "crashes": 1}))
    model = timeline.model
    for verb in (
        *("leave A", "migrate 0 A:0 B:0", "commit", "crash C"),
        *("migrate 1 A:0 C:0", "commit"),
    ):
        option = model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    option = model.find(timeline.state, "barrier")
    assert option is None or option[1] is not None
    timeline.forward()
    assert timeline.moments[-1].say.startswith("C comes back")
