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


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_source_is_a_replica_of_the_targets_rack(edition: Edition) -> None:
    """With a replica in each rack, not the one on the fullest node of another rack would move."""
    nodes = tuple(BalancerNode(name, "dc1", rack, 1) for name, rack in ("Ax", "Bx", "Cy"))
    a, c = (TabletReplica(name, 0) for name in "AC")
    one = DrawnCluster(
        nodes, {"t": made("t", (a, c), (a, c)), "u": made("u", (c,), (c,))},
        {"t": (1, 1), "u": (1, 1)},
    )  # fmt: skip
    answer = why(one.input, "t", 0, TabletReplica("B", 0), edition=edition)
    assert answer.source == a


def test_a_move_from_a_place_without_the_tablet_is_refused() -> None:
    """The place that is named as its source holds no replica of it."""
    nodes = (BalancerNode("A", "dc1", "r1", 1), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", *[(TabletReplica("A", 0),)] * 4)}, {"t": (1,) * 4})
    there = TabletReplica("B", 0)
    assert why(one.input, "t", 0, there, source=TabletReplica("A", 0)).target == there
    with pytest.raises(BadInput, match=r"^source: .*a replica of the tablet"):
        why(one.input, "t", 0, there, source=there)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        *((0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (1023, "1,023 bytes")),
        *((2**10, "1.0 KiB"), (3 * 2**9, "1.5 KiB"), (2**20 - 1, "1,024.0 KiB")),
        *((2**20, "1.0 MiB"), (2**30 - 2**29, "512.0 MiB"), (2**30, "1.0 GiB")),
        *((7.5 * 2**30, "7.5 GiB"), (2**40, "1.0 TiB"), (2**50, "1,024.0 TiB")),
    ],
)
def test_sizes_in_words(size: float, said: str) -> None:
    """In the largest unit that there is one of; beyond the last one by thousands."""
    assert reasons.bytes_said(size) == said


@pytest.mark.parametrize(
    ("edition", "load", "said"),
    [
        *(("documents", 3.0, "3"), ("documents", 0.5, "0.5"), ("documents", 12.3456, "12.35")),
        *(("server", 0.5, "50.00%"), ("server", 9_999.0, "999,900.00%")),
        *(("server", 10_000.0, "1.00e+06%"), ("server", 25_000.0, "2.50e+06%")),
    ],
)
def test_loads_in_words(edition: Edition, load: float, said: str) -> None:
    """Tablets a shard, or percent of a capacity; from ten thousand capacities on a power of ten."""
    assert reasons.load_said(load, edition) == said


@pytest.mark.parametrize(
    ("edition", "loads", "said"),
    [
        ("documents", (2.0, 2.0), ("2", "2")),
        ("documents", (1.23456, 1.23457), ("1.23456", "1.23457")),
        ("server", (0.5, 0.25), ("50.00%", "25.00%")),
        ("server", (0.5, 0.50001), ("50.000%", "50.001%")),
        ("server", (0.5, 0.5 + 1e-11), ("50.000000000%", "50.000000001%")),
        ("server", (0.5, 0.5 + 1e-12), ("50.00%", "50.00%")),
        ("server", (0.1 + 0.2, 0.3, 0.5), ("30.00%", "30.00%", "50.00%")),
    ],
)
def test_different_loads_look_different(
    edition: Edition, loads: tuple[float, ...], said: tuple[str, ...]
) -> None:
    """With as many digits as that takes, nine at most; rounding alone makes no difference."""
    assert reasons.loads_said(edition, *loads) == said


def test_different_sizes_look_different() -> None:
    """The same of bytes: a part in a thousand takes three digits."""
    assert reasons.sizes_said(2**30, 2**30 + 2**20) == ("1.000 GiB", "1.001 GiB")
    assert reasons.sizes_said(2**30, 2**31) == ("1.0 GiB", "2.0 GiB")
