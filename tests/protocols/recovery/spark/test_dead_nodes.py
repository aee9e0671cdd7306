"""Every set of dead nodes: the same on Spark and without, and what the adviser says of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations, product
from typing import Any

import pytest

from kit import spark as ks
from kit.errors import BadInput
from kit.protocols.recovery import facts
from kit.protocols.recovery.dry_run import advise, parse_cluster
from kit.protocols.recovery.rules.availability import (
    FAILURES,
    ClusterLayout,
    FailureRow,
    after_deaths,
    judged_failure,
    outcome,
)
from kit.protocols.recovery.spark import DEAD_NODES, dead_nodes, layout_bounds, layouts
from kit.widgets.player import Player
from tests.saying import like

Row = dict[str, Any]
SMALL: Row = {"least": 1, "most": 4, "rf": (1, 3)}
FEW: Row = {**SMALL, "most": 3}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Every set of dead nodes of clusters of one to four nodes, made without Spark."""
    made = dead_nodes(None, **SMALL)
    assert made.schema.equals(DEAD_NODES.arrow)
    return list(made.to_pylist())


def by_cluster(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows that differ in level and datacenter only."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        of = tuple(row[name] for name in ("layout", "racks", "dead", "edition", "rf"))
        found.setdefault(of, []).append(row)
    yield from found.values()


def answers_as_the_engine(rows: list[Row]) -> int:
    """The rows are what the adviser says of each cluster; how many clusters they are of."""
    clusters = list(by_cluster(rows))
    for levels in clusters:
        row = levels[0]
        cluster = parse_cluster(ks.description(row))
        advice = advise(cluster, "a row", row["edition"])
        group0, [keyspace] = advice.group0, advice.keyspaces
        assert row["at_once"] is all(line.holds for line in group0)
        assert row["advice"] == advice.procedure
        assert row["missing"] == advice.restart
        told = [(each["level"], each["datacenter"], each["data"]) for each in levels]
        assert told == [(each.level, each.datacenter, each.standing) for each in keyspace.levels]
    return len(clusters)


@pytest.mark.spec("G-020", "H-020")
@pytest.mark.parametrize("sizes", [FEW, pytest.param(SMALL, marks=pytest.mark.deep)])
def test_spark_says_what_the_engine_says(spark: Any, sizes: Row) -> None:
    """Cut into three tasks, and without Spark, the rows are the adviser's answers."""
    rows = dead_nodes(None, **sizes).to_pylist()
    frame = dead_nodes(spark, tasks=3, **sizes)
    assert frame.columns == DEAD_NODES.arrow.names
    assert frame.toArrow().to_pylist() == rows
    sets = sum(1 << sum(layout.nodes) for layout in layouts(layout_bounds(sizes)))
    assert answers_as_the_engine(rows) == sets * 2 * len(sizes["rf"])


def test_orders_are_those_that_can_be_played(rows: list[Row]) -> None:
    """Whether schema is possible after deaths one by one: in each order, death by death."""
    for levels in by_cluster(rows):
        row, names = levels[0], "ABCD"
        layout = ClusterLayout(tuple(map(int, row["layout"].split("+"))), row["racks"])
        dying = [1 << names.index(name) for name in row["dead"].split()]
        ends = (
            after_deaths(row["edition"], layout.places, order).holds
            for order in permutations(dying)
        )
        assert row["in_turn"] == outcome(ends), row


@pytest.mark.parametrize("row", FAILURES[:5], ids=lambda row: f"{row.datacenters}-{row.most}")
def test_the_documents_tables_are_some_of_the_rows(row: FailureRow) -> None:
    """Over the sets that a row of the failure tables means, the table ends in the same."""
    size = 3 * row.datacenters
    layout = "+".join(["3"] * row.datacenters)
    found = dead_nodes(None, least=size, most=size, datacenters=row.datacenters, rf=(3,))
    names = "ABCDEF"[:size]
    meant = {
        " ".join(name for at, name in enumerate(names) if mask >> at & 1) for mask in row.failures()
    }
    rows = [each for each in found.to_pylist() if each["layout"] == layout]
    rows = [each for each in rows if each["dead"] in meant]
    truth = judged_failure(row)
    seed, code = (
        [each for each in rows if each["edition"] == edition] for edition in ("documents", "server")
    )
    assert outcome(each["at_once"] for each in seed) == truth.schema
    possible = (
        holds for each in code for holds in (each["at_once"], each["advice"] != "recovery leader")
    )
    assert outcome(possible) == truth.at_once
    in_turn = {each["in_turn"] for each in code}
    assert (in_turn.pop() if len(in_turn) == 1 else "sometimes") == truth.in_turn
    assert max(each["missing"] for each in seed) == truth.back


def test_layouts_are_all_ways_to_share_the_nodes() -> None:
    """Every number of nodes, in all datacenters, once but for their order."""
    bounds = layout_bounds({"least": 2, "most": 12, "datacenters": 4})
    found = Counter(layout.nodes for layout in layouts(bounds))
    wanted = {
        tuple(sorted((n for n in nodes if n), reverse=True))
        for nodes in product(range(13), repeat=4)
        if 2 <= sum(nodes) <= 12
    }
    assert set(found) == wanted
    assert set(found.values()) == {1}
    equal = layouts(layout_bounds({"least": 12, "most": 12, "datacenters": 3, "largest": 4}))
    assert [layout.nodes for layout in equal] == [(4, 4, 4)]


def test_a_row_leads_to_its_picture(rows: list[Row]) -> None:
    """A row of a lost majority opens in the Player as a recovery of that cluster."""
    row = next(r for r in rows if (r["layout"], r["dead"], r["edition"]) == ("4", "B D", "server"))
    run = ks.timeline(row)
    assert run.model.name == "recovery"
    assert run.model.names == ("A", "B", "C", "D")
    assert [run.model.names[at] for at, n in enumerate(run.state.nodes) if n.status == "dead"] == [
        "B",
        "D",
    ]
    assert Player(run).timeline is run


def test_every_row_leads_to_a_picture_that_says_the_same(rows: list[Row]) -> None:
    """A recovery is for a quorum that is lost; else the same nodes are down, and count the same."""
    for levels in by_cluster(rows):
        row = levels[0]
        run = ks.timeline(row)
        if run.model.name == "recovery":
            assert (row["at_once"], row["missing"] > 0) == (False, True), row
            assert run.model.given_up == tuple(row["dead"].split())
            continue
        if row["advice"] == "not known":  # the picture shows one of the choices
            continue
        assert run.state.has_majority == row["at_once"]
        missing = facts.voters_missing(run.state)
        assert missing == row["missing"] or (
            row["edition"] == "server" and missing < row["missing"]
        )
        assert " ".join(run.model.named(run.model.everybody & ~run.state.up)) == row["dead"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"most": 13}, "bounds.most | 13"),
        ({"rf": ()}, "bounds.rf"),
        ({"rf": (3, 3)}, "rf | [3, 3] | each factor once"),
        ({"node": 3}, "bounds | 'node' | least"),
        ({"least": 5, "most": 4}, "least | 5 | 4"),
        ({"most": "\ud800"}, "bounds | surrogates not allowed"),
        ({"tasks": 0}, "tasks | 0 | from 1"),
        ({"tasks": "x"}, "tasks | 'x' | from 1"),
    ],
    ids=str,
)
def test_bad_bounds_are_told_before_any_task(given: Row, said: str) -> None:
    """What is out of its limits is refused at once."""
    with pytest.raises(BadInput, match=like(said)):
        dead_nodes(object(), **given)


@pytest.mark.deep
def test_twelve_nodes_are_as_the_engine_says(spark: Any) -> None:
    """Three datacenters of four nodes: every one of 4,096 sets is what the adviser says."""
    frame = dead_nodes(spark, least=12, datacenters=3, most=12, largest=4, rf=(3,))
    assert answers_as_the_engine(frame.toArrow().to_pylist()) == 4096 * 2
