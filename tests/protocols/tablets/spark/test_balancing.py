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
def test_plans_are_the_planners(edition: Edition) -> None:
    """Plan after plan, moves on columns are those that the planner gives on tablet maps."""
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
def test_spark_balances_what_one_process_balances(spark: Any) -> None:
    """Cut into two tasks, and without Spark, the same seeds give the same rows and figures."""
    alone = balancing(None, range(3), **SHAPE)
    assert alone.schema.equals(BALANCING.arrow)
    made = balancing(spark, range(3), tasks=2, **SHAPE)
    assert sorted(made.toArrow().to_pylist(), key=str) == sorted(alone.to_pylist(), key=str)
    assert convergence_of(made).equals(convergence_of(alone))


def test_counts_get_even_with_the_least_moves() -> None:
    """By count, with equal sizes and no rack to bind: as many moves as any plan needs, and in the
    end no two shards differ by more than one.
    """
    shape = {**SHAPE, "racks": 1, "replicas": 1}
    rows = balancing(None, range(5), edition="documents", equal=True, **shape)
    figures = convergence_of(rows)
    assert (figures["moves"] == figures["needed"]).all()
    assert (figures["needed"] > 0).all()
    for seed in range(5):
        *_, (last, _) = plans(drawn_input(seed, size_of(shape), equal=True), "documents")
        held = counts(as_maps(last)).values()
        assert max(held) - min(held) <= 1


def test_shapes_stand_side_by_side() -> None:
    """Rows of several shapes and editions together: a line for each cluster."""
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
def test_what_cannot_be_balanced_is_refused(asked: dict[str, Any], words: str) -> None:
    """Seeds, editions and sizes are judged before any task begins."""
    with pytest.raises(BadInput, match=like(words)):
        balancing(None, asked.pop("seeds", range(1)), **asked)
