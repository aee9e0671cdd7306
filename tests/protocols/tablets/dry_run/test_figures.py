"""Figures of opened dumps that rules alone do not give."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.report import resizes, tablets_report
from kit.protocols.tablets.dry_run.what_if import drain
from kit.protocols.tablets.rules.resize import BelowMerge, StillGrowing
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import edited, opened


def test_bytes_are_those_of_the_dump(tmp_path: Path) -> None:
    """Tablets of a byte each: the balancer counts them for more, a report does not."""
    with (FIXTURES / "sizes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[1:]:
        hosts = [part.split(":")[0] for part in row[3].strip("{}").split(", ")]
        row[3] = "{" + ", ".join(f"{host}: 1" for host in hosts) + "}"
    with (tmp_path / "sizes.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    cluster = opened(sizes=tmp_path / "sizes.csv")
    per_node = [node.bytes for node in tablets_report(cluster).nodes]
    assert per_node == [7, 9, 8, 2, 2]  # shop.orders has a view, shop.items has none
    assert cluster.sizes is not None
    untold = replace(cluster, sizes={"shop.items": cluster.sizes["shop.items"]})
    assert [node.bytes for node in tablets_report(untold).nodes] == [1, 1, 2, 0, 0]


@pytest.mark.spec("E-049")
def test_a_schema_tells_that_a_table_grows() -> None:
    """Edition ``documents``: four small tablets, four at first, are not merged."""
    cluster = opened(edition="documents", schema=FIXTURES / "schema.cql")
    small = replace(cluster, target_size=20 * 2**30)
    orders = next(line for line in resizes(small) if line.table == "shop.orders")
    assert (orders.decision, orders.reason) == ("none", StillGrowing(4, 4))
    beyond = replace(small, schema=None)
    orders = next(line for line in resizes(beyond) if line.table == "shop.orders")
    assert orders.decision == "merge"
    assert isinstance(orders.reason, BelowMerge)


def test_a_drain_beside_another_one_leaves_nothing_out(tmp_path: Path) -> None:
    """Tablets with replicas on both nodes that leave are in the answer of each."""
    alone = drain(opened(), host(2))
    leaving = edited(tmp_path, "topology", 0, topology_request="leave")
    beside = drain(opened(topology=leaving), host(2))
    assert alone.replicas == beside.replicas == 5
    moved = sum(len(move.tablets) for move in beside.moves)
    assert moved + sum(len(each.tablets) for each in beside.stuck) == 5
    assert host(1) not in beside.targets


@pytest.mark.spec("E-002")
@pytest.mark.spec("E-009")
@pytest.mark.parametrize(
    ("kind", "stage", "new", "said"),
    [
        ("repair", "repair", (4, 2, 3), "a repair moves none"),
        ("intranode_migration", "streaming", (4, 2, 3), "another shard of its host"),
        ("migration", "streaming", (1, 2, 3), "another host"),
        ("rebuild", "streaming", (1, 2, 3), "another host"),
    ],
)
def test_new_replicas_are_those_of_the_kind(
    kind: str, stage: str, new: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    """What no transition of a kind does is no dump of one cluster; A's shard 0 becomes 1."""
    places = ", ".join(
        f"({host(number)}, {shard})" for number, shard in zip(new, (1, 1, 0), strict=True)
    )
    columns = {"transition": kind, "stage": stage, "new_replicas": f"[{places}]"}
    with pytest.raises(BadInput, match=said):
        opened(tablets=edited(tmp_path, "tablets", 0, **columns))
