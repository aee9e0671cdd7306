"""The histogram of average tablet sizes: counts, thresholds, and the picture with its words."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from kit.protocols.tablets.spark.charts import FILLS, size_histogram
from kit.protocols.tablets.spark.sizes import (
    AVERAGES,
    PARTS,
    RESIZES,
    TabletCluster,
    counted,
    edges,
    tablets,
)
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


def test_the_picture_has_its_words_and_no_colour_alone() -> None:
    """The words count every table and are the alternative text; decisions differ in hatch, too."""
    cluster = tablets(None, **LARGE)
    picture = size_histogram(cluster)
    data, extra = picture._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG")
    assert extra["image/png"]["alt"] == data["text/plain"] == picture.words
    head, _, *lines = picture.words.splitlines()
    assert head == "Average tablet sizes of 60 tables (edition documents)"
    told = [part.split() for line in lines for part in line.split(": ")[1].split(", ")]
    assert [(int(count), decision) for count, decision in told] == [
        (row["tables"], row["decision"]) for row in cluster.histogram().to_pylist()
    ]
    assert lines[-1].startswith("not known: ")
    assert len({hatch for _, hatch in FILLS.values()}) == len(FILLS)


def test_buckets_meet_at_their_edges() -> None:
    """An average at an edge is above it, one byte less is below; also outside all edges, and where
    the target is so small that edges fall together.
    """
    for target in (1, 5 * 2**30):
        borders = edges(target)
        sizes = sorted({max(0, size + more) for size in borders for more in (-1, 0, 1)})
        row = dict.fromkeys(RESIZES.arrow.names)
        rows = [{**row, "average": size, "decision": "none", "tables": 1} for size in sizes]
        given = pa.Table.from_pylist(rows, RESIZES.arrow)
        found = counted(given, target)
        for bucket in found.to_pylist():
            least, below = bucket["least"], bucket["below"]
            inside = [s for s in sizes if s >= least and (below is None or s < below)]
            assert bucket["tables"] == len(inside) > 0
        assert sum(found["tables"].to_pylist()) == len(sizes)
