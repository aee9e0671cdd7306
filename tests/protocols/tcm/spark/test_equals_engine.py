"""What Spark computes part by part is what the engine of the class says, row for row."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from kit.protocols.tcm.spark import charts
from kit.protocols.tcm.spark.histories import History, history, sample
from kit.protocols.tcm.spark.pipelines import PlainPipeline, pipeline
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.spark import plainly

RING = Ring.of(
    (
        *(
            Node(name, (100 + 10 * i, 400 + 10 * i), f"dc{i % 2 + 1}", f"r{i // 2 % 3 + 1}")
            for i, name in enumerate("abcdefgh")
        ),
        Node("edge", (0, 900), "dc1", "r1"),
    ),
    small(1000),
)
KEYSPACES = (
    Keyspace("far", NetworkTopologyStrategy((("dc1", 3), ("dc2", 2)))),
    Keyspace("near", SimpleStrategy(3)),
    Keyspace("near-too", SimpleStrategy(3)),
)
OPERATIONS = (
    "bootstrap x --tokens 155,720,990 --dc dc2 --rack r2",
    "decommission d",
    "removenode a",
)
FIRST, LAST = 50, 995  # tokens inside the first and the last range
PARTS: tuple[Any, ...] = (1, (FIRST, LAST), (FIRST, 130, 133, 155, 425, 800, 950, LAST))


@pytest.fixture(scope="module")
def planned() -> History:
    """Three operations, one after the other, in two groups of keyspaces."""
    return history(RING, KEYSPACES, OPERATIONS)


@pytest.fixture(scope="module")
def truth() -> dict[str, list[list[plainly.Line]]]:
    """The engine's rows of each keyspace at every epoch."""
    model = plainly.engine(RING, KEYSPACES, *OPERATIONS)
    return {k.name: plainly.tables(model, k.name) for k in KEYSPACES}


def ordered(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame in an order of their own, lists as lists."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    plain = [
        {
            k: list(v) if hasattr(v, "__len__") and not isinstance(v, str) else v
            for k, v in row.items()
        }
        for row in rows
    ]
    return sorted(plain, key=repr)


@pytest.mark.spec("H-020")
@pytest.mark.parametrize("parts", PARTS, ids=("one part", "both ends", "many"))
def test_sparks_replicas_are_the_engines_rows_at_any_partition_count(
    spark: Any, planned: History, truth: dict[str, list[list[plainly.Line]]], parts: Any
) -> None:
    """Bounds inside the first and the last range are among the partitions."""
    made = pipeline(spark, planned, parts=parts)
    assert made.history.ring.rights[0] > FIRST
    rows = made.table("replicas").toArrow().to_pylist()
    for keyspace, group in planned.keyspaces:
        assert plainly.from_arrow(rows, planned.ring.names, group) == truth[keyspace]


@pytest.mark.spec("H-016", "H-020")
@pytest.mark.parametrize("parts", PARTS, ids=("one part", "both ends", "many"))
def test_sparks_reports_are_the_same_at_any_partition_count(
    spark: Any, planned: History, parts: Any
) -> None:
    """They equal those of one process without Spark."""
    alone = PlainPipeline(planned, 1, {"near": 10**9, "near-too": 1})
    made = pipeline(spark, planned, parts=parts, sizes={"near": 10**9, "near-too": 1})
    assert ordered(made.measures) == ordered(alone.measures)
    assert ordered(made.streams()) == ordered(alone.streams())
    ours, theirs = made.quorums(), alone.quorums()
    count = len(made.case.parts)
    assert set(ours["tasks"]) == {count}
    assert ordered(ours.drop(columns="tasks")) == ordered(theirs.drop(columns="tasks"))
    for name in ("tokens", "ranges"):
        assert ordered(made.table(name).toArrow().to_pandas()) == ordered(
            alone.table(name).to_pandas()
        )


@pytest.mark.spec("H-016")
def test_missed_quorums_by_columns_agree_with_the_rule_for_one_range(
    planned: History, truth: dict[str, list[list[plainly.Line]]]
) -> None:
    """Every pair of adjacent epochs is counted, and no range is missed."""
    report = PlainPipeline(planned, 3).quorums()
    for keyspace, names in (("far", "far"), ("near", "near, near-too")):
        steps = truth[keyspace]
        rows = report[report["keyspaces"] == names]
        found = {(r.reader, r.writer): (r.ranges, r.missed) for r in rows.itertuples()}
        wanted = {
            pair: plainly.missed(steps[pair[0]], steps[pair[1]])
            for pair in plainly.adjacent(len(steps))
        }
        assert found == wanted, (keyspace, names)
        assert set(rows["missed"]) == {0}, (keyspace, names)


@pytest.mark.spec("H-016")
def test_without_old_writer_stays_spark_counts_the_ranges_whose_quorums_miss(spark: Any) -> None:
    """It finds the pairs of epochs that the single-range rule finds, with a witness for each."""
    off = ("old-writer-stays",)
    keyspaces = (Keyspace("near", SimpleStrategy(3)),)
    planned = history(RING, keyspaces, ["move b --tokens 333,666"], off=off)
    report = pipeline(spark, planned, parts=(FIRST, 300, LAST)).quorums()
    model = plainly.engine(RING, keyspaces, "move b --tokens 333,666", off=off)
    steps = plainly.tables(model, "near")
    found = {(r.reader, r.writer): (r.ranges, r.missed) for r in report.itertuples()}
    assert found == {
        pair: plainly.missed(steps[pair[0]], steps[pair[1]])
        for pair in plainly.adjacent(len(steps))
    }
    bad = report[report["missed"] > 0]
    assert len(bad)
    assert bad["witness"].str.contains("reads {").all()


def test_ownership_shares_are_the_sums_of_the_engines_rows(
    planned: History, truth: dict[str, list[list[plainly.Line]]]
) -> None:
    """For each node, step and side."""
    alone = PlainPipeline(planned, 4)
    for group, keyspace in enumerate(("far", "near")):
        for step, lines in enumerate(truth[keyspace]):
            report = alone.ownership(step, group).set_index("node")
            for side, column in ((2, "reads_share"), (3, "writes_share")):
                wanted = plainly.shares(lines, side, 1000)
                found = {name: v for name, v in report[column].items() if v}
                assert found == pytest.approx(wanted, rel=1e-12), (keyspace, step, column)


def test_affected_ranges_are_counted_as_the_engines_rows_have_them(
    planned: History, truth: dict[str, list[list[plainly.Line]]]
) -> None:
    """Changed, moving and over-replicated ones, at each step."""
    report = PlainPipeline(planned, 3).affected(1)
    for step, lines in enumerate(truth["near"]):
        row = report.iloc[step]
        known = {
            (left, right, frozenset(reads), frozenset(writes))
            for left, right, reads, writes in truth["near"][max(step - 1, 0)]
        }
        changed = [x for x in lines if (x[0], x[1], frozenset(x[2]), frozenset(x[3])) not in known]
        assert (row["ranges"], row["changed"]) == (len(lines), len(changed))
        assert row["moving"] == sum(set(r) != set(w) for _, _, r, w in lines)
        assert row["extra"] == sum(max(len({*r, *w}) - 3, 0) for _, _, r, w in lines)


def test_locked_ranges_are_the_engines(planned: History) -> None:
    """A row is locked where the engine says which operation in flight holds it."""
    model = plainly.engine(RING, KEYSPACES, *OPERATIONS)
    state = plainly.to_rest(model)
    rows = PlainPipeline(planned, 3).table("replicas").to_pylist()
    for step in range(len(planned.stages)):
        held = {
            (row.left, row.right)
            for row in plainly.facts.rows(model, state, "near", step)
            if row.locked_by is not None
        }
        found = {
            (r["left"], r["right"])
            for r in rows
            if r["step"] == step and r["group"] == 1 and r["locked"]
        }
        assert found == held, step


def test_availability_names_the_worst_loss_that_trying_each_finds(
    planned: History, truth: dict[str, list[list[plainly.Line]]]
) -> None:
    """Nodes, racks and datacenters at every level, before the removed node counts as dead."""
    places = {n.name: (n.dc, n.rack) for n in (*RING.nodes, Node("x", (), "dc2", "r2"))}
    unit_of = {
        "node": {name: name for name in places},
        "rack": {name: "/".join(place) for name, place in places.items()},
        "dc": {name: dc for name, (dc, _) in places.items()},
    }
    report = PlainPipeline(planned, 5).availability(0)
    alive_steps = [s.step for s in planned.stages if "removenode" not in s.operation][:-1]
    report = report[report["step"].isin(alive_steps) & (report["loss"] != "none")]
    assert len(report) == len(alive_steps) * 4 * 2 * 3
    for row in report.itertuples():
        among = {
            n
            for n, (dc, _) in places.items()
            if row.level in ("ONE", "QUORUM") or dc == row.level.removeprefix("LOCAL_QUORUM ")
        }
        lines = truth["far"][row.step]
        side = 2 if row.side == "read" else 3
        costs = {
            unit: plainly.lost(lines, side, unit_of[row.loss], unit, among, row.level == "ONE")
            for unit in set(unit_of[row.loss].values())
        }
        harmful = {unit: cost for unit, cost in costs.items() if cost[0]}
        assert row.harmful == len(harmful)
        in_use = {name for *_, reads, writes in lines for name in (*reads, *writes)}
        assert row.units == len({unit_of[row.loss][name] for name in in_use})
        if harmful:
            assert (row.ranges, round(row.share * 1000)) == costs[row.worst]
            assert row.share * 1000 == max(width for _, width in harmful.values())


@pytest.mark.parametrize(
    ("replication", "step", "levels", "harmful"),
    [
        (SimpleStrategy(5), 0, ("QUORUM", "LOCAL_QUORUM dc1"), 2),
        (SimpleStrategy(2), 0, ("QUORUM", "LOCAL_QUORUM dc1"), 2),
        (NetworkTopologyStrategy((("dc1", 3),)), 0, ("QUORUM", "LOCAL_QUORUM dc1"), 2),
        (NetworkTopologyStrategy((("dc1", 3),)), 2, ("QUORUM", "LOCAL_QUORUM dc1"), 3),
    ],
)
def test_availability_counts_by_the_factor_where_nodes_are_few(
    replication: Any, step: int, levels: tuple[str, ...], harmful: int
) -> None:
    """With three replicas on two nodes, a write needs both and the joiner."""
    nodes = (Node("n1", (100,), "dc1"), Node("n2", (200,), "dc1"))
    few = history(
        Ring.of(nodes, small(1000)), [Keyspace("ks", replication)], ["bootstrap n4 --tokens 150"]
    )
    report = PlainPipeline(few, 1).availability()
    rows = report[(report["step"] == step) & (report["side"] == "write")]
    found = {(r.level, r.loss): (r.units, r.harmful) for r in rows.itertuples()}
    for level in levels:
        no_quorum = replication == SimpleStrategy(5)
        assert found[level, "node"] == (harmful, 0 if no_quorum else harmful)
        assert found[level, "none"][1] == no_quorum


def test_spark_and_one_process_report_the_same_for_two_thousand_nodes(spark: Any) -> None:
    """Shares, streams, histogram and words are compared."""
    town = sample(2000, 16)
    planned = history(town.ring, town.keyspaces, [town.bootstrap(), "decommission n7"])
    made, alone = (pipeline(one, planned, parts=6, sizes={"ks": 10**15}) for one in (spark, None))
    assert made.ownership().equals(alone.ownership())
    assert ordered(made.streams()) == ordered(alone.streams())
    ours, theirs = charts.ownership(made), charts.ownership(alone)
    assert (ours.png, ours.words) == (theirs.png, theirs.words)
    assert "after: 2000 nodes" in ours.words
