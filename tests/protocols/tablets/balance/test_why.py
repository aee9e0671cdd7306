"""``why``: an answer for any tablet and any target, whose numbers are those of the input."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.balance.planner import WhyAnswer, plan, why
from kit.protocols.tablets.rules.balance.reasons import Reason
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.examples import examples
from tests.protocols.tablets.balance.clusters import TARGET, DrawnCluster, clusters, counts
from tests.protocols.tablets.balance.clusters import table as made


class Figures:
    """The loads of a cluster, added up from maps and sizes alone."""

    def __init__(self, cluster: DrawnCluster, edition: Edition) -> None:
        self.cluster, self.edition = cluster, edition
        self.nodes = {node.host: node for node in cluster.nodes}
        self.held: Counter[TabletReplica] = Counter()
        for name, table in cluster.maps.items():
            for number, tablet in enumerate(table.tablets):
                for replica in tablet.replicas:
                    self.held[replica] += self.weight(name, number)

    def weight(self, table: str, number: int) -> int:
        """What a tablet counts for."""
        size = self.cluster.sizes[table][number]
        return 1 if self.edition == "documents" else max(size, TARGET // 100)

    def moving(self, table: str, number: int, source: TabletReplica) -> int:
        """What moves: two siblings where a merge has brought both to the source."""
        one = self.cluster.maps[table]
        total = self.weight(table, number)
        if one.resize_type == "merge" and source in one.tablets[number ^ 1].replicas:
            total += self.weight(table, number ^ 1)
        return total

    def node(self, host: str, more: int = 0) -> float:
        """The utilisation of a node, with so many bytes more."""
        held = sum(size for replica, size in self.held.items() if replica.host == host)
        return (held + more) / self.nodes[host].capacity

    def shard(self, place: TabletReplica, more: int = 0) -> float:
        """The tablets of a shard, or its utilisation."""
        node = self.nodes[place.host]
        room = 1 if self.edition == "documents" else node.capacity / node.shards
        return (self.held[place] + more) / room

    def compared(
        self, source: TabletReplica, target: TabletReplica, moved: int
    ) -> tuple[float, ...]:
        """Loads of source and target, before and after."""
        if self.edition == "documents" or source.host == target.host:
            here, there = self.shard, self.shard
            return here(source), there(target), here(source, -moved), there(target, moved)
        a, b = source.host, target.host
        return self.node(a), self.node(b), self.node(a, -moved), self.node(b, moved)

    def extremes(self, source: TabletReplica, target: TabletReplica) -> tuple[float, float]:
        """The largest and the smallest of the loads that are to be even."""
        dc = self.nodes[target.host].datacenter
        inside = [n for n in self.nodes.values() if n.datacenter == dc and n.role == "normal"]
        if self.edition == "server" and source.host == target.host:
            inside = [self.nodes[source.host]]
        elif self.edition == "server":
            loads = [self.node(node.host) for node in inside]
            return max(loads), min(loads)
        loads = [
            self.shard(TabletReplica(node.host, shard))
            for node in inside
            for shard in range(node.shards)
        ]
        return max(loads), min(loads)


def expected(
    figures: Figures, answer: WhyAnswer, table: str, number: int, limit: int
) -> Reason | None:
    """The same reason, with all its numbers added up again; None: it has none to add up."""
    cluster, target, source = figures.cluster, answer.target, answer.source
    replicas = cluster.maps[table].tablets[number].replicas
    moved = figures.moving(table, number, source)
    full, empty, full_after, empty_after = figures.compared(source, target, moved)
    most, least = figures.extremes(source, target)
    role = figures.nodes[source.host].role
    match answer.reason:
        case reasons.EvensOut():
            return None  # of a load that the plan has changed already; its order is looked at below
        case reasons.GivesNone():
            return reasons.GivesNone(role)
        case reasons.TakesNone():
            return reasons.TakesNone(figures.nodes[target.host].role)
        case reasons.OtherDatacenter():
            dcs = (figures.nodes[place.host].datacenter for place in (source, target))
            return reasons.OtherDatacenter(*dcs)
        case reasons.Balanced():
            return reasons.Balanced(
                most, least, 1 if figures.edition == "documents" else pytest.approx(0.01 * most)
            )
        case reasons.NotEmptier():
            return reasons.NotEmptier(full, empty)
        case reasons.WouldInvert() | reasons.NoGain():
            return _too_large(figures.edition, full, full_after, empty_after)
        case reasons.OthersFirst():
            return reasons.OthersFirst(full, empty, most, least)
        case reasons.ReplicaThere(shard):
            held = replicas + _sibling(cluster, table, number, source)
            assert TabletReplica(target.host, shard) in held
        case reasons.RackSpread(rack, after, _):
            sets = (replicas, _sibling(cluster, table, number, source))
            assert (rack, after) in {_rack_after(figures, each, target) for each in sets if each}
        case reasons.StreamsFull(reads, streams, weight, allowed):
            place = source if reads else target
            step = plan(cluster.input, figures.edition)
            busy = [m for m in step.moves if place == (m.source if reads else m.target)]
            running = [m for m in busy if not reads or m.kind != "rebuild"]
            assert streams == sum(len(move.tablets) for move in running)
            assert streams + weight > allowed == limit
        case reasons.Drains():
            assert role in ("leaving", "removing")
    return None


def _too_large(edition: Edition, full: float, full_after: float, empty_after: float) -> Reason:
    """What there is to say of a tablet that is too large for the gap between two loads."""
    if edition == "documents":
        assert full_after < empty_after
        return reasons.WouldInvert(full_after, empty_after)
    assert full <= empty_after
    return reasons.NoGain(full, empty_after)


def _sibling(cluster: DrawnCluster, table: str, number: int, source: TabletReplica) -> Replicas:
    one = cluster.maps[table]
    if one.resize_type != "merge" or source not in one.tablets[number ^ 1].replicas:
        return ()
    return one.tablets[number ^ 1].replicas


def _rack_after(figures: Figures, replicas: Replicas, target: TabletReplica) -> tuple[str, int]:
    place = figures.nodes[target.host]
    there = [figures.nodes[replica.host] for replica in replicas]
    same = [n for n in there if (n.datacenter, n.rack) == (place.datacenter, place.rack)]
    return place.rack, len(same) + 1


@examples(150)
@given(clusters(("normal", "normal", "leaving", "excluded")), st.sampled_from(EDITIONS), st.data())
def test_each_number_is_the_inputs(
    cluster: DrawnCluster, edition: Edition, data: st.DataObject
) -> None:
    """For any tablet and any shard, whether it is moved there or not."""
    table = data.draw(st.sampled_from(sorted(cluster.maps)))
    number = data.draw(st.integers(0, cluster.maps[table].count - 1))
    target = data.draw(st.sampled_from(sorted(counts(cluster))))
    answer = why(cluster.input, table, number, target, edition=edition)
    again = expected(Figures(cluster, edition), answer, table, number, 2)
    if again is not None:
        fields = answer.reason.__struct_fields__
        for name in fields:
            value, other = getattr(answer.reason, name), getattr(again, name)
            assert value == (other if isinstance(value, str) else pytest.approx(other))


@given(clusters(), st.sampled_from(EDITIONS))
def test_what_is_planned_is_moved_for_its_reason(cluster: DrawnCluster, edition: Edition) -> None:
    """``why`` gives the plan's own reason; the first move compares the loads of the input."""
    moves = plan(cluster.input, edition).moves
    for move in moves[:3]:
        answer = why(cluster.input, move.table, move.tablets[0], move.target, edition=edition)
        assert answer == WhyAnswer(move.source, move.target, True, move.reason)
    if moves and isinstance(moves[0].reason, reasons.EvensOut):
        first, figures = moves[0], Figures(cluster, edition)
        moved = figures.moving(first.table, first.tablets[0], first.source)
        numbers = figures.compared(first.source, first.target, moved)
        reason = first.reason
        assert (
            reason.source,
            reason.target,
            reason.source_after,
            reason.target_after,
        ) == pytest.approx(numbers)


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


@pytest.mark.parametrize(
    ("host", "shard", "said"),
    [
        ("A", 0, ""),
        ("A", 1, ""),
        ("A", 2, "replica shard: got 2; allowed: a shard below 2, the shards of A"),
        ("B", 1, "replica shard: got 1; allowed: a shard below 1, the shards of B"),
        ("A", -1, "replica shard: got -1; allowed: a shard below 2, the shards of A"),
        ("C", 0, "replica: got 'C'; allowed: a host of the cluster"),
    ],
)
def test_a_replica_is_on_a_shard_that_its_node_has(host: str, shard: int, said: str) -> None:
    """The last one has the number of shards, less one."""
    nodes = (BalancerNode("A", "dc1", "r1", 2), BalancerNode("B", "dc1", "r1", 1))
    one = DrawnCluster(nodes, {"t": made("t", (TabletReplica(host, shard),))}, {"t": (1,)})
    if not said:
        assert one.input.rows.nodes.tolist() == [[0]]
        return
    with pytest.raises(BadInput) as raised:
        _ = one.input
    assert str(raised.value) == said


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
