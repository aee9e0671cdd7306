"""Walks over whole clusters: drawn from seeds, the same on Spark and without, open to anybody."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.tcm.spark.simulating import violations
from kit.protocols.topology.spark import (
    CLUSTERS,
    ClusterSize,
    clusters,
    coverage_of,
    drawn_cluster,
    steps_of,
)
from kit.protocols.topology.topology import TopologyParameters
from kit.spark.rows import timeline as timeline_of
from tests.saying import like

SEEDS = range(4)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """The rows in the order of their seeds, as plain data."""
    rows = [row.asDict() for row in frame.collect()] if hasattr(frame, "collect") else None
    return sorted(rows if rows is not None else frame.to_pylist(), key=lambda row: row["seed"])


def test_drawn_clusters_have_all_sizes_and_operations_within_their_bounds() -> None:
    """The same seed draws the same cluster."""
    size = ClusterSize(least=5, most=9, requests=6, faults=1)
    drawn = [drawn_cluster(seed, size) for seed in range(60)]
    assert drawn == [drawn_cluster(seed, size) for seed in range(60)]
    counts = {len(build("topology", as_given(one)).names) for one in drawn}
    assert counts == {5, 6, 7, 8, 9}
    kinds = {words.split()[0] for one in drawn for words in one.operations}
    assert kinds == {
        *("join", "replace", "leave", "remove", "rebuild"),
        "cleanup",
        "new_cdc_generation",
    }
    assert {one.crashes for one in drawn} == {0, 1}


def as_given(parameters: TopologyParameters) -> dict[str, Any]:
    """The parameters by name."""
    return {name: getattr(parameters, name) for name in parameters.__struct_fields__}


@pytest.mark.spec("H-017", "H-018")
def test_spark_and_a_single_process_give_the_same_walks(spark: Any) -> None:
    """The same rows and reports, from two tasks and without Spark."""
    plain = clusters(None, SEEDS)
    assert plain.schema.equals(CLUSTERS.arrow)
    rows = rows_of(plain)
    assert [row["seed"] for row in rows] == list(SEEDS)
    frame = clusters(spark, SEEDS, tasks=2)
    assert rows_of(frame) == rows
    assert coverage_of(frame).equals(coverage_of(plain))
    assert steps_of(frame).equals(steps_of(plain))


def test_the_reports_on_walks_add_up() -> None:
    """Edges that no walk took count 0; each kind of operation has its requests and most steps."""
    table = clusters(None, SEEDS)
    rows = rows_of(table)
    assert coverage_of(rows).equals(coverage_of(table.to_pandas()))
    covered = coverage_of(table).set_index("transition")["walks"]
    for name, count in covered.items():
        assert count == sum(name in row["coverage"] for row in rows), name
    assert 0 in set(covered)
    kinds = steps_of(table).set_index("operation")
    for kind, report in kinds.iterrows():
        asked = [
            (outcome, took)
            for row in rows
            for words, outcome, took in zip(
                row["operations"], row["outcomes"], row["took"], strict=True
            )
            if words.split()[0] == kind and outcome != "not asked"
        ]
        assert report["asked"] == len(asked), kind
        ended = [took for _, took in asked if took is not None]
        assert not ended or report["most"] == max(ended), kind


def test_walks_without_the_state_id_break_a_promise() -> None:
    """The row is a violation, and its run is made small."""
    table = clusters(None, range(4), off=("S-59",))
    broken = [row for row in rows_of(table) if row["verdict"] != "clean"]
    assert [row["verdict"] for row in violations(table).to_pylist()] == [
        row["verdict"] for row in broken
    ]
    assert broken[0]["verdict"] == "guarded"
    small = timeline_of(broken[0], small=True)
    assert len(small.path()) <= broken[0]["steps"]
    assert [v.name for v in small.verdicts() if not v.ok] == ["guarded"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": [1, 2]}, "seeds | '[1, 2]' | range"),
        ({"off": ("S-99",)}, "safeguard | 'S-99'"),
        ({"most": 99}, "size.most | 99"),
        ({"least": 9, "most": 8}, "least | 9 | 8"),
        ({"node": 2}, "size | 'node'"),
    ],
    ids=str,
)
def test_an_impossible_sweep_is_refused_before_any_task(given: dict[str, Any], said: str) -> None:
    """The error names the parameter and its value."""
    words: dict[str, Any] = {"seeds": range(3), **given}
    with pytest.raises(BadInput, match=like(said)):
        clusters(object(), words.pop("seeds"), **words)


@pytest.mark.parametrize(
    ("report", "column", "value", "said"),
    [
        (coverage_of, "edition", "1999.1", "rows | '1999.1' | an edition | documents, server"),
        (coverage_of, "coverage", ["node: a → b"], "rows | node: a | edges from the tables"),
        (steps_of, "outcomes", [], "rows | 0 | as many operations as outcomes"),
    ],
    ids=["edition", "edge", "lists"],
)
def test_a_report_refuses_impossible_rows(report: Any, column: str, value: Any, said: str) -> None:
    """An unknown edition or edge, lists of unequal length."""
    rows = rows_of(clusters(None, range(1)))
    with pytest.raises(BadInput, match=like(said)):
        report([{**rows[0], column: value}])


def test_a_report_refuses_another_table() -> None:
    """Only rows of clusters have what it adds up."""
    for report in (coverage_of, steps_of):
        with pytest.raises(BadInput, match=like("rows | | a table of clusters")):
            report(object())
