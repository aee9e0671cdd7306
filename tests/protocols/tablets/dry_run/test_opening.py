"""Opening a cluster's tablets: roles of nodes, sizes, and contents that cannot be."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.report import table_size
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.saying import says

FILES = {name: FIXTURES / f"{name}.csv" for name in ("topology", "sizes", "loads")}


def edited(folder: Path, name: str, where: int, **columns: object) -> Path:
    """A fixture with other values in a row, the first being 0; None takes the row away."""
    with (FIXTURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, escapechar="\\"))
    rows[where].update(columns)  # type: ignore[arg-type]  # written as text
    path = folder / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), escapechar="\\", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows if columns else rows[:where] + rows[where + 1 :])
    return path


def opened(**files: Path | str) -> OpenedTablets:
    """The fixtures, or other files in their place."""
    given = {**FILES, **files}
    dump = given.pop("tablets", FIXTURES / "tablets.csv")
    return open_tablets(dump, **given)  # type: ignore[arg-type]  # names of files


def test_what_the_files_tell() -> None:
    """Nodes with racks, shards and capacities, maps by name, a group of co-located tables."""
    cluster = opened()
    assert [node.capacity for node in cluster.nodes] == [2**40] * 4 + [2**41]
    assert list(cluster.maps) == ["shop.items", "shop.orders", "shop.orders_by_day"]
    assert cluster.maps["shop.orders_by_day"].base_table == "shop.orders"
    assert cluster.maps["shop.items"].resize_type == "merge"
    size = table_size(cluster, "shop.orders")
    assert size.bytes == sum((i + 1) * 4 * 2**29 * 3 for i in range(4))
    assert size.replicas == 3


@pytest.mark.parametrize(
    ("columns", "role"),
    [
        ({"topology_request": "leave"}, "leaving"),
        ({"topology_request": "remove"}, "removing"),
        ({"node_state": "left", "tokens": ""}, "removing"),
        ({"tokens": ""}, "excluded"),
    ],
)
def test_what_a_node_is_to_the_balancer(columns: dict[str, str], role: str, tmp_path: Path) -> None:
    """Who leaves is drained; who owns no tokens takes no tablets."""
    cluster = opened(topology=edited(tmp_path, "topology", 0, **columns))
    assert cluster.nodes[0].role == role


@pytest.mark.parametrize(
    ("name", "where", "columns", "said"),
    [
        ("tablets", 1, {}, "tablet_count | 4 | 3, as many as there are rows"),
        ("tablets", 3, {}, "last_token | are in no tablet"),
        ("tablets", 2, {"last_token": -1}, "last_token | -1 | each once"),
        (
            "tablets",
            1,
            {"replicas": f"[({host(9)}, 0)]"},
            "line 3 replicas | a host that",
        ),
        (
            "tablets",
            1,
            {"replicas": f"[({host(1)}, 7)]"},
            "replicas | 7 | a shard from 0 to 1",
        ),
        ("tablets", 1, {"replicas": f"[({host(1)}, -1)]"}, "replicas | -1 | a shard from 0 to 1"),
        ("tablets", 1, {"replicas": ""}, "replicas | no replica"),
        ("tablets", 0, {"stage": "streamin"}, "line 2 stage | 'streamin' | one of streaming"),
        ("tablets", 0, {"transition": "move"}, "line 2 transition | 'move' | one of"),
        ("tablets", 0, {"transition": ""}, "line 2 stage | 'streaming' | a stage with each"),
        ("tablets", 6, {"base_table": host(9)}, "base_table | a table of this dump"),
        ("sizes", 0, {"last_token": 7}, "sizes.csv last_token | 7 | the last token of a tablet"),
        ("sizes", 0, {"table_id": host(9)}, "sizes.csv table_id | a table of the dump"),
    ],
)
def test_what_cannot_be(
    name: str, where: int, columns: dict[str, object], said: str, tmp_path: Path
) -> None:
    """Gaps, overlaps, unknown hosts, shards that a node lacks, files of another cluster."""
    with pytest.raises(BadInput) as error:
        opened(**{name: edited(tmp_path, name, where, **columns)})
    assert says(error.value, said), error.value


def test_any_count_that_covers_the_tokens_is_taken(tmp_path: Path) -> None:
    """Three tablets of different widths: no power of two is asked for."""
    text = (FIXTURES / "tablets.csv").read_text("utf-8").split("\n")
    lines = [line.replace(",4,", ",3,") for line in (*text[:2], *text[3:5])]
    path = tmp_path / "tablets.csv"
    path.write_text("\n".join([*lines, ""]), "utf-8")
    cluster = open_tablets(path, topology=FILES["topology"])
    assert cluster.maps["shop.orders"].count == 3
