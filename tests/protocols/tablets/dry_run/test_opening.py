"""Opening a cluster's tablets: roles of nodes, sizes, and contents that cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.commands import misfit_said
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.report import resizes, table_size, tablets_report
from kit.protocols.tablets.dry_run.what_if import balance, drain, lose, serving
from kit.protocols.tablets.lessons.dumps import rehearse
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.saying import says

ORDERS = "00000001-0000-11f0-8000-0000000000aa"
ORDERS_BY_DAY = "00000003-0000-11f0-8000-0000000000aa"
TWO_COME = f"[({host(4)}, 1), ({host(5)}, 1), ({host(3)}, 0)]"
FILES = {name: FIXTURES / f"{name}.csv" for name in ("topology", "sizes", "loads")}


def edited(folder: Path, name: str, where: int, **columns: object) -> Path:
    """A fixture with other values in a row, the first being 0; None takes the row away."""
    with (FIXTURES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, escapechar="\\"))
    for row in rows if "ignore_nodes" in columns else [rows[where]]:  # a static column
        row.update(columns)  # type: ignore[arg-type]  # written as text
    path = folder / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, names, escapechar="\\", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows if columns else rows[:where] + rows[where + 1 :])
    return path


def opened(**files: Path | str) -> OpenedTablets:
    """The fixtures, or other files in their place."""
    given = {**FILES, **files}
    dump = given.pop("tablets", FIXTURES / "tablets.csv")
    return open_tablets(dump, **given)  # type: ignore[arg-type]  # names of files


def test_an_opened_dump_has_capacities_tables_and_sizes_of_its_files() -> None:
    """A co-located table names its base, and sizes are those of all its replicas."""
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
        ({"node_state": "left", "tokens": ""}, "left"),
        ({"tokens": ""}, "zero-token"),
        ({"node_state": "none", "tokens": ""}, "joining"),
    ],
)
def test_a_nodes_state_in_the_topology_gives_its_role_in_balancing(
    columns: dict[str, str], role: str, tmp_path: Path
) -> None:
    """A node that leaves is drained. A node without tokens takes no tablets."""
    cluster = opened(topology=edited(tmp_path, "topology", 0, **columns))
    assert cluster.nodes[0].role == role


STATUS = (FIXTURES / "status.txt").read_text("utf-8")
IGNORES = f"{{{host(1)}}}"


@pytest.mark.parametrize(
    ("topology", "health", "load", "role", "down"),
    [
        ({}, "U", {}, "normal", False),
        ({}, "D", {}, "down", True),
        ({}, "X", {}, "excluded", True),
        ({}, "U", {"up": "False"}, "down", True),
        ({"ignore_nodes": IGNORES}, "D", {}, "excluded", True),
        ({"ignore_nodes": IGNORES}, "D", {"up": "False"}, "excluded", True),
        ({"topology_request": "leave"}, "D", {}, "leaving", True),
        ({"topology_request": "remove"}, "X", {}, "removing", True),
        ({"tokens": ""}, "D", {}, "zero-token", True),
        (None, "U", {}, "normal", False),
        (None, "D", {}, "down", True),
        (None, "X", {}, "excluded", True),
        (None, "", {"up": "False"}, "down", True),
        (None, "", {"up": "False", "excluded": "True"}, "excluded", True),
        (None, "", {"draining": "True"}, "leaving", False),
        (None, "", {"up": "False", "draining": "True", "excluded": "True"}, "removing", True),
    ],
)
def test_a_node_counts_as_down_or_excluded_by_the_files_that_say_so(
    topology: dict[str, str] | None,
    health: str,
    load: dict[str, str],
    role: str,
    down: bool,
    tmp_path: Path,
) -> None:
    """ignore_nodes, X in the status and the loads say excluded. D says down alone."""
    files: dict[str, Path] = {}
    if topology is not None:
        changed = edited(tmp_path, "topology", 0, **topology) if topology else FILES["topology"]
        files["topology"] = changed
    if health:
        files["status"] = tmp_path / "status.txt"
        lines = [health + line[1:] if host(1) in line else line for line in STATUS.splitlines()]
        files["status"].write_text("\n".join(lines) + "\n", "utf-8")
    if load or not health:
        files["loads"] = edited(tmp_path, "loads", 0, **load) if load else FILES["loads"]
    cluster = open_tablets(FIXTURES / "tablets.csv", **files)  # type: ignore[arg-type]  # files
    node = next(node for node in cluster.nodes if node.host == host(1))
    assert (node.role, host(1) in cluster.down) == (role, down)
    told = any("is excluded, but ignore_nodes does not" in each for each in cluster.warnings)
    assert told == (topology is not None and health == "X")


@pytest.mark.parametrize(
    ("name", "where", "columns", "said"),
    [
        ("tablets", 1, {}, "tablet_count | 4 | 3, the number of rows"),
        ("tablets", 6, {"base_table": ORDERS_BY_DAY}, "base_table | tablets of its own"),
        (
            "tablets",
            0,
            {"new_replicas": TWO_COME},
            "new_replicas | at most one added and at most one removed",
        ),
        ("tablets", 3, {}, "last_token | otherwise no tablet has the tokens"),
        ("tablets", 2, {"last_token": -1}, "last_token | -1 | each one once"),
        ("tablets", 1, {"replicas": f"[({host(9)}, 0)]"}, "line 3 replicas | a host that"),
        ("tablets", 1, {"replicas": f"[({host(1)}, 7)]"}, "replicas | 7 | a shard from 0 to 1"),
        ("tablets", 1, {"replicas": f"[({host(1)}, -1)]"}, "replicas | -1 | a shard from 0 to 1"),
        ("tablets", 1, {"replicas": ""}, "replicas | one or more replicas"),
        ("tablets", 0, {"stage": "streamin"}, "line 2 stage | 'streamin' | one of streaming"),
        ("tablets", 0, {"transition": "move"}, "line 2 transition | 'move' | one of"),
        ("tablets", 0, {"transition": ""}, "line 2 stage | 'streaming' | a stage in a transition"),
        ("tablets", 6, {"base_table": host(9)}, "base_table | a table of this dump"),
        ("tablets", 6, {"base_table": ""}, "last_token | no tablet | cover all"),
        ("tablets", 6, {"stage": "zzz"}, f"line 8 stage | 'zzz' | null | {ORDERS}"),
        ("tablets", 6, {"transition": "repair"}, "line 8 transition | 'repair' | null | own"),
        ("tablets", 6, {"session": host(9)}, f"line 8 session | '{host(9)}' | null | own"),
        ("tablets", 6, {"last_token": 5}, "line 8 last_token | 5 | null | own"),
        ("tablets", 6, {"replicas": f"[({host(1)}, 0)]"}, "line 8 replicas | null | own"),
        ("tablets", 6, {"tablet_count": 3}, "line 8 tablet_count | 3 | 4 | rows of its base"),
        ("tablets", 0, {"last_token": ""}, "line 2 last_token | None | which has new_replicas"),
        ("tablets", 0, {"new_replicas": ""}, "new_replicas | one replica added and one removed"),
        ("tablets", 0, {"transition": "restore"}, "line 2 stage | 'streaming' | restore"),
        (
            "tablets",
            0,
            {"transition": "restore", "stage": "restore"},
            "line 2 new_replicas | a restore moves none",
        ),
        (
            "topology",
            1,
            {"shard_count": 0},
            "topology.csv line 3 shard_count | 0 | from 1 to 65536",
        ),
        ("topology", 0, {"shard_count": -2}, "line 2 shard_count | -2 | from 1 to 65536"),
        ("topology", 4, {"shard_count": 2 * 10**9}, "line 6 shard_count | 2000000000 | to 65536"),
        ("sizes", 0, {"last_token": 7}, "sizes.csv last_token | 7 | the last token of a tablet"),
        ("sizes", 0, {"table_id": host(9)}, "sizes.csv table_id | a table of the dump"),
        ("sizes", 0, {"replicas": f"{{{host(9)}: 1}}"}, f"replicas | {host(9)} | one cluster?"),
        ("loads", 1, {"node": host(9)}, f"loads.csv node | {host(9)} | one cluster?"),
        ("loads", 1, {"rack": "r9"}, f"node {host(2)} rack | 'r9' | as in the other files"),
        ("loads", 0, {"dc": "dc9"}, f"node {host(1)} datacenter | 'dc9' | dc1, as in"),
        ("tablets", 1, {"new_replicas": TWO_COME}, "line 3 new_replicas | outside a transition"),
    ],
)
def test_a_file_with_impossible_contents_is_refused_at_its_line(
    name: str, where: int, columns: dict[str, object], said: str, tmp_path: Path
) -> None:
    """Gaps, overlaps, unknown hosts, missing shards, and files of another cluster."""
    with pytest.raises(BadInput) as error:
        opened(**{name: edited(tmp_path, name, where, **columns)})
    assert says(error.value, said), error.value


def test_a_status_with_other_datacenters_is_refused_as_another_clusters(tmp_path: Path) -> None:
    """Its hosts have the same ids, as after a restore from a copy."""
    path = tmp_path / "status.txt"
    path.write_text((FIXTURES / "status.txt").read_text("utf-8").replace("dc1", "dc9"), "utf-8")
    with pytest.raises(BadInput) as error:
        opened(status=path)
    assert says(error.value, f"status.txt node {host(1)} datacenter | 'dc9' | dc1, as in"), (
        error.value
    )


def test_sizes_of_replicas_that_the_dump_lacks_get_a_warning(tmp_path: Path) -> None:
    """The size of that table is then not known."""
    cluster = opened(sizes=edited(tmp_path, "sizes", 3, replicas=f"{{{host(5)}: 7}}"))
    missing, more = cluster.warnings
    assert "no size is known of replicas" in missing
    assert more == "sizes.csv has sizes for replicas that the dump does not have: 1"
    assert table_size(cluster, "shop.orders").bytes is None


SHOP = "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', %s}%s;"


def described(folder: Path, replication: str, more: str = "") -> Path:
    """A schema of the fixtures' one keyspace."""
    path = folder / "schema.cql"
    path.write_text(SHOP % (replication, more), "utf-8")
    return path


@pytest.mark.parametrize(
    ("replication", "said"),
    [
        ("'dc1': 3", ["items 0: dc1 has 2 of 3", "items 1: dc1 has 2 of 3"]),
        ("'replication_factor': 2", [f"orders {i}: dc1 has 3 of 2" for i in range(4)]),
        ("'dc1': 3, 'dc2': 0", ["items 0: dc1 has 2 of 3", "items 1: dc1 has 2 of 3"]),
        (
            "'dc1': ['r1', 'r2', 'r3']",
            [
                "items 0: dc1/r2 has 0 of 1",
                "items 1: dc1/r1 has 0 of 1",
                "orders 2: dc1/r2 has 2 of 1, dc1/r3 has 0 of 1",
            ],
        ),
    ],
)
def test_tablets_that_differ_from_the_schema_are_listed_by_datacenter_or_rack(
    replication: str, said: list[str], tmp_path: Path
) -> None:
    """Each is judged as it will be after its transition."""
    [shop] = tablets_report(opened(schema=described(tmp_path, replication))).keyspaces
    assert said == [
        f"{each.table.removeprefix('shop.')} {each.tablet}: "
        + ", ".join(map(misfit_said, each.misfits))
        for each in shop.differing
    ]


@pytest.mark.parametrize(
    ("replication", "factors"),
    [
        ("'dc1': 3", [("dc1", 3)]),
        ("'replication_factor': 2", [("dc1", 2)]),
        ("'dc3': 2, 'dc2': 1, 'dc1': 3", [("dc1", 3), ("dc2", 1), ("dc3", 2)]),
        ("'replication_factor': 2, 'dc0': 1", [("dc0", 1), ("dc1", 2)]),
        ("'replication_factor': 2, 'dc1': 1", [("dc1", 1)]),
    ],
)
def test_a_keyspaces_replication_is_a_factor_for_each_datacenter(
    replication: str, factors: list[tuple[str, int]], tmp_path: Path
) -> None:
    """The default factor holds for datacenters without one of their own."""
    cluster = opened(schema=described(tmp_path, replication))
    assert [*cluster.replication("shop").items()] == factors
    assert cluster.replication("nowhere") == {}


def test_a_schema_gives_views_tablet_options_and_a_warning_for_unknown_tables() -> None:
    """Its minimum and initial counts are rules of the resize; this server has no growing mode."""
    schema = FIXTURES / "schema.cql"
    cluster = opened(schema=schema)
    [shop] = tablets_report(cluster).keyspaces
    assert shop.views == {"shop.orders_by_day": "shop.orders"}
    rules = {line.table: line.target.rules for line in resizes(cluster) if line.target}
    assert rules["shop.orders"]["min_tablet_count"] == 8
    assert rules["shop.items"]["initial"] == 4
    assert not table_size(cluster, "shop.items").growing
    assert cluster.warnings == ("tables that schema.cql does not describe: 1, first shop.items",)


@pytest.mark.parametrize(
    ("replication", "more", "edition", "said"),
    [
        ("'dc1': 3", " AND tablets = {'enabled': false}", "server", "no tablets"),
        ("'dc1': ['r1']", "", "documents", "a number in edition documents"),
    ],
)
def test_a_schema_without_tablets_or_with_racks_in_the_documents_is_refused(
    replication: str, more: str, edition: str, said: str, tmp_path: Path
) -> None:
    """The error says which."""
    with pytest.raises(BadInput, match=said):
        opened(schema=described(tmp_path, replication, more), edition=edition)


def restoring(folder: Path) -> Path:
    """The dump with its first tablet in transition ``restore``, under the session of a request."""
    columns = {"transition": "restore", "stage": "restore", "new_replicas": ""}
    return edited(folder, "tablets", 0, **columns)


def test_a_tablet_in_restore_serves_as_before_and_is_not_moved(tmp_path: Path) -> None:
    """It has no stream of the balancer, and counts as in transition."""
    cluster = opened(tablets=restoring(tmp_path))
    [line] = [each for each in tablets_report(cluster).transitions if each.kind == "restore"]
    assert (line.stage, line.reads, line.writes) == ("restore", "old", "old")
    assert line.replicas == line.new_replicas
    assert cluster.input.rows.busy.sum() == 1
    assert int(cluster.input.reads.sum() + cluster.input.writes.sum()) == 0
    moved = [(move.table, number) for move in balance(cluster).moves for number in move.tablets]
    assert (line.table, line.tablet) not in moved
    assert drain(cluster, host(1)).in_transition == 1
    token = cluster.maps[line.table].tablets[0].last_token
    [served] = [each for each in serving(cluster, token) if each.table == line.table]
    assert all(each.writes == (each.reads,) for each in served.hosts)
    assert lose(cluster, [host(1), host(2)]).no_quorum > 0


def test_a_restore_is_refused_by_the_documents_and_by_a_rehearsal(tmp_path: Path) -> None:
    """The reason says so."""
    with pytest.raises(BadInput, match="restore exists only in edition server"):
        open_tablets(restoring(tmp_path), topology=FILES["topology"], edition="documents")
    with pytest.raises(BadInput, match="a Player does not model a restore"):
        rehearse(restoring(tmp_path), topology=FILES["topology"])


HIGHEST = 2**63 - 1


def odd_merge(folder: Path, alone: object, count: int = 3, resize: str = "merge") -> Path:
    """A table that is merged; the column tells which tablet stays as it is, None: it is null."""
    rows = [
        {
            "table_id": ORDERS_BY_DAY, "last_token": HIGHEST - (count - 1 - i) * 1000,
            "isolated_tablet_for_merge": alone, "keyspace_name": "shop", "table_name": "small",
            "tablet_count": count, "resize_type": resize, "resize_seq_number": 1,
            "replicas": [[host(1 + i % 2), 0]],
        }
        for i in range(count)
    ]  # fmt: skip
    path = folder / "odd.json"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.mark.parametrize(
    ("alone", "count", "resize", "pairs"),
    [
        (0, 3, "merge", ((1, 2),)),
        (2, 3, "merge", ((0, 1),)),
        (2, 5, "merge", ((0, 1), (3, 4))),
        (None, 3, "merge", ()),
        (0, 4, "merge", ((0, 1), (2, 3))),
        (0, 3, "none", ()),
    ],
)
def test_the_dump_says_which_tablet_a_merge_leaves_alone(
    tmp_path: Path, alone: object, count: int, resize: str, pairs: tuple[tuple[int, int], ...]
) -> None:
    """The others are siblings. An odd count without that number has none."""
    cluster = open_tablets(odd_merge(tmp_path, alone, count, resize), topology=FILES["topology"])
    assert cluster.maps["shop.small"].pairs == pairs

    assert [tuple(row % count for row in each) for each in cluster.input.pairs] == [*pairs]


@pytest.mark.parametrize("alone", [1, 3, 4, -2, 10**18])
def test_a_merge_refuses_an_isolated_tablet_of_odd_or_unknown_number(
    tmp_path: Path, alone: int
) -> None:
    """The error says which numbers are allowed."""
    with pytest.raises(BadInput) as error:
        open_tablets(odd_merge(tmp_path, alone), topology=FILES["topology"])
    assert says(error.value, f"isolated_tablet_for_merge | {alone} | an even number below 3")
