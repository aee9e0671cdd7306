"""Figures of opened dumps that rules alone do not give."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit.protocols.tablets.dry_run.report import resizes, tablets_report
from kit.protocols.tablets.rules.resize import BelowMerge, StillGrowing
from tests.protocols.tablets.dry_run.test_command import FIXTURES
from tests.protocols.tablets.dry_run.test_opening import opened


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
    """Edition ``seed``: four small tablets, four at first, are not merged."""
    cluster = opened(edition="seed", schema=FIXTURES / "schema.cql")
    small = replace(cluster, target_size=20 * 2**30)
    orders = next(line for line in resizes(small) if line.table == "shop.orders")
    assert (orders.decision, orders.reason) == ("none", StillGrowing(4, 4))
    beyond = replace(small, schema=None)
    orders = next(line for line in resizes(beyond) if line.table == "shop.orders")
    assert orders.decision == "merge"
    assert isinstance(orders.reason, BelowMerge)
