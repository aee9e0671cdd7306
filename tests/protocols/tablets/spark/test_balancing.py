"""The balancer over seeds: rows of the planner's own plans, the same on Spark and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance.cluster import BalancerInput
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.maps import TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.spark.balancing import balancing, convergence_of, drawn_input, plans
from kit.protocols.tablets.spark.sizes import BALANCING, size_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.balance.clusters import DrawnCluster, after, counts, table
from tests.saying import like

SHAPE = {"nodes": 9, "shards": 2, "tables": 2, "tablets": 32, "empty": 2}


def as_maps(given: BalancerInput) -> DrawnCluster:
    """The same cluster as tablet maps and sizes."""
    rows = given.rows
    maps: dict[str, TabletMap] = {}
    sizes = {}
    for number, name in enumerate(given.tables):
        own = np.flatnonzero(rows.table == number)
        sets = [
            tuple(
                TabletReplica(given.nodes[node].host, shard)
                for node, shard in zip(rows.nodes[at], rows.shards[at].tolist(), strict=True)
            )
            for at in own
        ]
        assert len(sets) == len(last_tokens(len(own)))
        maps[name] = table(name, *sets)
        sizes[name] = tuple(rows.sizes[own, 0].tolist())
    return DrawnCluster(given.nodes, maps, sizes)


@pytest.mark.parametrize("edition", EDITIONS)
def test_plans_on_columns_are_those_of_the_planner_on_tablet_maps(edition: Edition) -> None:
    """Plan after plan, until nothing moves."""
    given = drawn_input(3, size_of(SHAPE))
    cluster = as_maps(given)
    steps = list(plans(given, edition))
    assert len(steps) > 1
    for reached, step in steps:
        expected = plan(cluster.input, edition)
        assert step.moves == expected.moves
        cluster = after(cluster, expected)
        assert as_maps(reached).maps == cluster.maps
    assert not plan(cluster.input, edition).moves


@pytest.mark.spec("H-018", "H-020")
def test_spark_balances_the_same_rows_as_one_process(spark: Any) -> None:
    """The figures of convergence are the same as well."""
    alone = balancing(None, range(3), **SHAPE)
    assert alone.schema.equals(BALANCING.arrow)
    made = balancing(spark, range(3), tasks=2, **SHAPE)
    assert sorted(made.toArrow().to_pylist(), key=str) == sorted(alone.to_pylist(), key=str)
    assert convergence_of(made).equals(convergence_of(alone))


def test_balancing_by_count_needs_the_fewest_moves() -> None:
    """In the end no two shards differ by more than one."""
    shape = {**SHAPE, "racks": 1, "replicas": 1}
    rows = balancing(None, range(5), edition="documents", equal=True, **shape)
    figures = convergence_of(rows)
    assert (figures["moves"] == figures["needed"]).all()
    assert (figures["needed"] > 0).all()
    for seed in range(5):
        *_, (last, _) = plans(drawn_input(seed, size_of(shape), equal=True), "documents")
        held = counts(as_maps(last)).values()
        assert max(held) - min(held) <= 1, seed


def test_convergence_has_a_line_for_each_cluster_of_several_shapes() -> None:
    """In each of them the fullest shard got emptier."""
    rows = [
        balancing(None, range(2), edition=edition, **{**SHAPE, "nodes": nodes})
        for edition in EDITIONS
        for nodes in (9, 12)
    ]
    figures = convergence_of(pa.concat_tables(rows))
    assert len(figures) == 8
    assert (figures["most_after"] < figures["most_before"]).all()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"seeds": [1, 2]}, "seeds"),
        ({"edition": "cod"}, "edition | 'cod'"),
        ({"nodes": 0}, "nodes"),
    ],
)
def test_balancing_refuses_wrong_seeds_editions_and_sizes(
    asked: dict[str, Any], words: str
) -> None:
    """They are judged before any task begins."""
    with pytest.raises(BadInput, match=like(words)):
        balancing(None, asked.pop("seeds", range(1)), **asked)
