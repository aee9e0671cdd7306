"""``why``: an answer for any tablet and any target, whose numbers are those of the input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.balance.planner import WhyAnswer, plan, why
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.balance.clusters import DrawnCluster, clusters
from tests.protocols.tablets.balance.clusters import table as made


@given(clusters(), st.sampled_from(EDITIONS))
def test_what_is_planned_is_moved_for_its_reason(cluster: DrawnCluster, edition: Edition) -> None:
    """``why`` gives the plan's own reason."""
    moves = plan(cluster.input, edition).moves
    for move in moves[:3]:
        answer = why(cluster.input, move.table, move.tablets[0], move.target, edition=edition)
        assert answer == WhyAnswer(move.source, move.target, True, move.reason)


@pytest.mark.spec("E-030")
def test_balancing_that_is_off_moves_nothing_but_drains() -> None:
    """The reason says so; a node that leaves is emptied all the same."""
    here = TabletReplica("A", 0)
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(here,)] * 4)}, {"t": (1,) * 4})
    off = replace(one.input, enabled=False)
    assert not plan(off, "documents").moves
    there = TabletReplica("B", 0)
    assert why(off, "t", 0, there, edition="documents").reason == reasons.Disabled()
    leaving = replace(one, nodes=(replace(nodes[0], role="leaving"), nodes[1]))
    assert plan(replace(leaving.input, enabled=False), "documents").moves


@pytest.mark.parametrize(
    ("table", "tablet", "target", "said"),
    [
        ("u", 0, ("A", 0), "a base table of the cluster"),
        ("t", 4, ("A", 0), "a tablet of t: 0 to 3"),
        ("t", -1, ("A", 0), "a tablet of t: 0 to 3"),
        ("t", 0, ("A", -1), "a host of the cluster and one of its shards"),
        ("t", 0, ("A", 1), "a host of the cluster and one of its shards"),
        ("t", 0, ("C", 0), "a host of the cluster and one of its shards"),
    ],
)
def test_what_is_not_there_is_refused(
    table: str, tablet: int, target: tuple[str, int], said: str
) -> None:
    """By the name of what was asked for."""
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(TabletReplica("A", 0),)] * 4)}, {"t": (1,) * 4})
    with pytest.raises(BadInput, match=said):
        why(one.input, table, tablet, TabletReplica(*target))


def test_a_move_from_a_place_without_the_tablet_is_refused() -> None:
    """The place that is named as its source holds no replica of it."""
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(TabletReplica("A", 0),)] * 4)}, {"t": (1,) * 4})
    there = TabletReplica("B", 0)
    assert why(one.input, "t", 0, there, source=TabletReplica("A", 0)).target == there
    with pytest.raises(BadInput, match=r"^source: .*a replica of the tablet"):
        why(one.input, "t", 0, there, source=there)
