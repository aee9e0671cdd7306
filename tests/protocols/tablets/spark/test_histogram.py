"""The histogram of average tablet sizes: counts by threshold, from Spark and without it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kit.protocols.tablets.spark.charts import size_histogram
from kit.protocols.tablets.spark.sizes import AVERAGES, PARTS, TabletCluster, tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.spark.test_sizes import by_the_engine

LARGE = {"nodes": 3000, "tables": 60, "tablets": 128, "colocated": 20, "unknown": 10}


def one_by_one(cluster: TabletCluster, edition: Edition) -> dict[tuple[int | None, str], int]:
    """The tables by bucket and decision, each judged by the engine alone."""
    found: Counter[tuple[int | None, str]] = Counter()
    for row in by_the_engine(cluster, edition):
        size = row["average"]
        bucket = None if size is None else sum(1 for part in PARTS if part * 5 * 2**30 <= size)
        found[bucket, row["decision"]] += row["tables"]
    return dict(found)


@pytest.mark.spec("H-019")
def test_thousands_of_nodes_have_the_engines_histogram(spark: Any) -> None:
    """Decisions and counts from Spark are those of one process and of counting one by one; the
    picture is the same, and says the same in words.
    """
    ours, alone = tablets(spark, **LARGE), tablets(None, **LARGE)
    for edition in EDITIONS:
        assert ours.resizes(edition=edition).equals(alone.resizes(edition=edition))
        rows = ours.histogram(edition=edition)
        assert rows.schema.equals(AVERAGES.arrow)
        assert rows.equals(alone.histogram(edition=edition))
        counts = {(row["bucket"], row["decision"]): row["tables"] for row in rows.to_pylist()}
        assert counts == one_by_one(alone, edition)
        assert sum(counts.values()) == LARGE["tables"]
        picture, again = (size_histogram(each, edition=edition) for each in (ours, alone))
        assert (picture.png, picture.words) == (again.png, again.words)
    assert any(key[0] is None for key in counts)
