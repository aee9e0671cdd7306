"""Sizes, resize decisions and losses of many tables: Spark says what the engine says."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.resize import blocked
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, group, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import (
    TARGET_SIZE,
    THRESHOLDS,
    CountOptions,
    ResizeDecision,
    TableSize,
    decide_by_count,
    group_bytes,
    target_counts,
)
from kit.protocols.tablets.spark.resize_rows import size_spread
from kit.protocols.tablets.spark.sizes import (
    AVERAGES,
    PARTS,
    RESIZES,
    TABLETS,
    TabletCluster,
    availability,
    size_histogram,
    tablets,
)
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.spark.traces import PlainTraces, Traces, as_tables, drawn, schema, store
from tests.saying import like

SMALL = {"nodes": 12, "shards": 4, "tables": 14, "tablets": 48, "colocated": 30, "unknown": 20}


def maps_of(cluster: TabletCluster) -> dict[str, TabletMap]:
    """The tables as maps of ``system.tablets``."""
    rows = cluster.tablets.to_pylist()
    lasts = last_tokens(cluster.size.tablets)
    maps = {}
    for table in cluster.tables:
        if table.base != table.number:
            maps[str(table.number)] = TabletMap(str(table.number), base_table=str(table.base))
            continue
        own = [row for row in rows if row["table"] == table.number]
        assert [row["tablet"] for row in own] == list(range(len(lasts)))
        every = tuple(
            Tablet(last, tuple(map(TabletReplica, map(str, row["nodes"]), row["shards"])))
            for last, row in zip(lasts, own, strict=True)
        )
        kind, number = table.resize_type, table.resize_seq_number
        maps[str(table.number)] = TabletMap(str(table.number), every, "", kind, number)
    return maps


def by_the_engine(cluster: TabletCluster, edition: Edition) -> list[dict[str, Any]]:
    """Every group judged by the engine alone, replica by replica."""
    maps, rows = maps_of(cluster), cluster.tablets.to_pylist()
    given = cluster.size
    racks = Counter(f"r{node % given.racks}" for node in range(given.nodes))
    shards = {"dc1": {rack: nodes * given.shards for rack, nodes in racks.items()}}
    sizes: dict[str, TableSize] = {}
    for table in cluster.tables:
        own = maps[str(table.number)]
        if own.base_table:
            continue
        names = group(own.table, maps)
        known = group_bytes(
            None if size < 0 else size
            for row in rows
            if str(row["table"]) in names
            for size in row["bytes"]
        )
        size = TableSize(
            own.table,
            own.count,
            len(own.tablets[0].replicas),
            known,
            own.resize_type,
            own.resize_seq_number,
            table.initial,
            table.growing and edition == "documents",
            len(names),
        )
        sizes[own.table] = size
    asked = {str(table.number): CountOptions(initial=table.initial) for table in cluster.tables}
    factors = {name: {"dc1": size.replicas} for name, size in sizes.items()}
    limits = THRESHOLDS[edition]
    targets = target_counts(sizes, asked, factors, shards, limits) if edition == "server" else {}
    return [
        _line(size, decide_by_count(size, limits, targets.get(name)))
        for name, size in sizes.items()
    ]


def _line(size: TableSize, decision: ResizeDecision) -> dict[str, Any]:
    return {
        "table": int(size.table),
        "tables": size.tables,
        "tablets": size.count,
        "replicas": 3,
        "bytes": size.bytes,
        "average": size.average_tablet,
        "before": size.resize_type,
        "decision": decision.resize_type,
        "resize_seq_number": decision.resize_seq_number,
        "reason": type(decision.reason).__name__,
    }


@pytest.mark.spec("H-019", "H-020")
def test_sparks_resize_decisions_are_those_of_the_rule_functions(spark: Any) -> None:
    """Averages and reasons are the same as well, in both editions."""
    ours, alone = tablets(spark, **SMALL), tablets(None, **SMALL)
    stored = pa.Table.from_batches(alone.tablets.to_batches())
    for edition in EDITIONS:
        wanted = by_the_engine(alone, edition)
        assert alone.resizes(edition=edition).to_pylist() == wanted, edition
        assert ours.resizes(edition=edition).to_pylist() == wanted, edition
        assert ours.resizes(spark.createDataFrame(stored), edition).to_pylist() == wanted, edition
        assert {row["decision"] for row in wanted} == {"none", "split", "merge"}, edition
    assert {row["tables"] for row in wanted} > {1}
    assert "SizesUnknown" in {row["reason"] for row in wanted}
    assert alone.resizes().schema.equals(RESIZES.arrow)


def test_spark_and_one_process_decide_the_same_resizes_for_three_thousand_nodes(spark: Any) -> None:
    """Tables of 70,000 tablets are cut into tasks."""
    large = {"nodes": 3000, "tables": 6, "tablets": 70_000}
    ours, alone = tablets(spark, **large), tablets(None, **large)
    assert ours.resizes().equals(alone.resizes())
    assert ours.tablets.count() == 6 * 70_000


def test_sums_of_written_tablets_are_those_of_their_rows(spark: Any, tmp_path: Path) -> None:
    """A folder is not overwritten."""
    ours, alone = tablets(spark, **SMALL), tablets(None, **SMALL)
    wanted = {
        table: (len(sizes), None if -1 in sizes else sum(sizes))
        for table, sizes in sizes_by_table(alone.tablets.to_pylist()).items()
    }
    assert any(known is None for _, known in wanted.values())
    drawn = ours.sums()
    for cluster, name in ((ours, "ours"), (alone, "alone")):
        folder = cluster.write(tmp_path / name)
        for sums in (cluster.sums(), cluster.sums(cluster.tablets), drawn):
            assert {table: (sum_.replicas, sum_.bytes) for table, sum_ in sums.items()} == wanted
        with pytest.raises(BadInput, match=like("folder")):
            cluster.write(folder)
    assert ours.tablets.count() == alone.tablets.num_rows


def sizes_by_table(rows: list[dict[str, Any]]) -> dict[int, list[int]]:
    """The sizes of all replicas of each table."""
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["table"], []).extend(row["bytes"])
    return found


@pytest.mark.spec("H-018")
@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 5])
def test_losses_agree_with_trying_every_loss_of_one_or_two_nodes(spark: Any, replicas: int) -> None:
    """The summary counts them."""
    size = {**SMALL, "tables": 2, "tablets": 20, "nodes": 9, "racks": 5, "replicas": replicas}
    alone, ours = tablets(None, **size), tablets(spark, **size)
    assert alone.tablets.schema.equals(TABLETS.arrow)
    sets = [set(row["nodes"]) for row in alone.tablets.to_pylist()]
    nodes = range(9)

    def without(*gone: int) -> set[int]:
        left = ((at, len(each - set(gone)), len(each)) for at, each in enumerate(sets))
        return {at for at, alive, every in left if alive < every // 2 + 1}

    wanted: dict[tuple[int, int | None], int] = {(n, None): len(without(n)) for n in nodes}
    pairs = list(combinations(nodes, 2))
    wanted |= {(a, b): len(without(a, b) - without(a) - without(b)) for a, b in pairs}
    wanted = {loss: count for loss, count in wanted.items() if count}
    for cluster in (alone, ours):
        losses = cluster.losses()
        rows = (losses if isinstance(losses, pa.Table) else losses.toArrow()).to_pylist()
        assert {(row["first"], row["second"]): row["tablets"] for row in rows} == wanted
        summary = availability(losses, len(nodes))
        assert summary.singles == sum(bool(without(n)) for n in nodes)
        assert (summary.pairs, summary.doubles) == (36, sum(bool(without(*p)) for p in pairs))
        assert summary.worst[1] == max(wanted.values(), default=0)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"racks": 2}, "racks | 2 | at least 3"),
        ({"nodes": 4, "empty": 2}, "nodes | 4 | at least 3"),
        ({"tablet": 5}, "size | 'tablet'"),
        ({"nodes": "many"}, "nodes"),
    ],
)
def test_a_tablet_cluster_refuses_sizes_that_do_not_fit(sizes: dict[str, Any], words: str) -> None:
    """The error names the size, its value and what is allowed."""
    with pytest.raises(BadInput, match=like(words)):
        tablets(None, **sizes)


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
def test_sparks_histogram_of_sizes_agrees_with_judging_each_table(spark: Any) -> None:
    """Picture and words are those of one process."""
    ours, alone = tablets(spark, **LARGE), tablets(None, **LARGE)
    for edition in EDITIONS:
        assert ours.resizes(edition=edition).equals(alone.resizes(edition=edition)), edition
        rows = ours.histogram(edition=edition)
        assert rows.schema.equals(AVERAGES.arrow), edition
        assert rows.equals(alone.histogram(edition=edition)), edition
        counts = {(row["bucket"], row["decision"]): row["tables"] for row in rows.to_pylist()}
        assert counts == one_by_one(alone, edition), edition
        assert sum(counts.values()) == LARGE["tables"], edition
        picture, again = (size_histogram(each, edition=edition) for each in (ours, alone))
        assert (picture.png, picture.words) == (again.png, again.words), edition
    assert any(key[0] is None for key in counts)


def run_of(seed: int) -> Timeline:
    """A table that grows and shrinks by chance."""
    return drawn(seed, model="resize", most=120, tablets=("A B", "B C"), grows=2, shrinks=1)


def test_the_rows_of_a_resize_run_agree_with_its_facts() -> None:
    """Each replica has its part of a copy, and decisions are those of the model."""
    timeline = run_of(3)
    model: Any = timeline.model
    states = [timeline.moments[moment].state for moment in timeline.path()]
    tables = {name: found.to_pylist() for name, found in as_tables(timeline).items()}
    assert len({s.map.count for s in states}) > 1
    assert {(r["step"], r["tablet"], r["node"], r["bytes"]) for r in tables["tablet_sizes"]} == {
        (step, number, replica.host, TARGET_SIZE * s.size // 100 // s.map.count)
        for step, s in enumerate(states)
        for number, tablet in enumerate(s.map.tablets)
        for replica in tablet.replicas
    }
    decided = [(r["asks"], r["decided"], r["waits"]) for r in tables["resize_decisions"]]
    waits = [blocked(model, s) for s in states]
    assert decided == [
        (model.decision(s).resize_type, s.map.resize_type, why.reason if why else "")
        for why, s in zip(waits, states, strict=True)
    ]
    assert {"split", "none"} <= {s.map.resize_type for s in states}
    assert [r["epoch"] for r in tables["events"]] == [s.map.resize_seq_number for s in states]


@pytest.mark.spec("H-018", "H-020")
def test_spark_and_one_process_add_up_the_same_sizes_of_many_runs(
    spark: Any, tmp_path: Path
) -> None:
    """The tables have the columns of the fixed schema."""
    runs = [as_tables(run_of(seed), f"seed-{seed}") for seed in range(6)]
    ours, theirs = Traces(spark, store(tmp_path / "runs", *runs)), PlainTraces(*runs)
    mine, other = size_spread(ours), size_spread(theirs)
    pd.testing.assert_frame_equal(mine, other, check_exact=True)
    assert len(mine) > 1
    of_one = [row["bytes"] for run in runs for row in run["tablet_sizes"].to_pylist()]
    assert (mine["least"].min(), mine["most"].max()) == (min(of_one), max(of_one))
    for name in ("tablet_sizes", "resize_decisions"):
        frame = ours.table(name)
        assert frame.columns == [column.name for column in schema(name).columns], name
        assert frame.count() == len(theirs.table(name)) > 0, name
    assert "bytes    bigint  the size of the replica" in str(schema("tablet_sizes"))
