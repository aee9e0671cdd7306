"""Which resizes begin next, and whom a plan looks at: small clusters, worked out by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from kit.protocols.tablets.commands import tablets
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.report import resizes
from kit.protocols.tablets.dry_run.what_if import balance
from kit.protocols.tablets.lessons.dumps import rehearse
from kit.protocols.tablets.rules.maps import last_tokens

GIB = 2**30
MIB = 2**20
NODE, TABLE = "{:08}-0000-4000-8000-{:012}", "{:08}-0000-11f0-8000-000000000001"


class SmallTable(Struct, frozen=True):
    """Where each tablet has its replica (the number of a node), and how large it is in bytes."""

    name: str
    places: tuple[int, ...]
    size: int
    base: int = 0
    resize: str = "none"


def written(
    folder: Path,
    tables: tuple[SmallTable, ...],
    shards: tuple[int, ...],
    leaving: int = 0,
    ignored: int = 0,
    unknown: int = 0,
    options: str = "'min_tablet_count': '1'",
) -> dict[str, Any]:
    """The files of a cluster; replicas are on first shards. Sizes on node ``unknown`` are not."""
    rows: list[dict[str, object]] = []
    sizes: list[dict[str, object]] = []
    for number, table in enumerate(tables, 1):
        statics = {
            "table_id": TABLE.format(number),
            "keyspace_name": "ks",
            "table_name": table.name,
            "base_table": TABLE.format(table.base) if table.base else "",
        }
        places = tables[table.base - 1].places if table.base else table.places
        if table.base:
            rows.append(statics)
        for last, place in zip(last_tokens(len(places)), places, strict=True):
            host = NODE.format(place, place)
            if not table.base:
                own = {"last_token": last, "replicas": f"[({host}, 0)]", "stage": ""}
                counted = {"tablet_count": len(places), "resize_type": table.resize}
                rows.append({**statics, **own, **counted, "resize_seq_number": 1})
            known = f"{{{host}: {table.size}}}" if place != unknown else "{}"
            sizes.append({"table_id": statics["table_id"], "last_token": last, "replicas": known})
    hosts = [NODE.format(number, number) for number in range(1, len(shards) + 1)]
    gone = f"{{{hosts[ignored - 1]}}}" if ignored else ""
    topology = [
        {
            "host_id": host,
            "datacenter": "dc1",
            "rack": "r1",
            "node_state": "normal",
            "shard_count": count,
            "tokens": f"{{'{number}'}}",
            "ignore_nodes": gone,
            "topology_request": "leave" if number == leaving else "",
            "version": 5,
            "fence_version": 5,
            "transition_state": "",
        }
        for number, (host, count) in enumerate(zip(hosts, shards, strict=True), 1)
    ]
    replication = "{'class': 'NetworkTopologyStrategy', 'dc1': 1}"
    tablets = "tablets = {'enabled': true}"
    schema = [f"CREATE KEYSPACE ks WITH replication = {replication} AND {tablets};"]
    schema += [
        f"CREATE TABLE ks.{table.name} (id int PRIMARY KEY) WITH id = {TABLE.format(number)} "
        f"AND tablets = {{{options}}};"
        for number, table in enumerate(tables, 1)
    ]
    (folder / "schema.cql").write_text("\n".join(schema), "utf-8")
    for name, content in (("tablets", rows), ("sizes", sizes), ("topology", topology)):
        columns = dict.fromkeys(column for row in content for column in row)
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(columns))
            writer.writeheader()
            writer.writerows(content)
    given = {name: folder / f"{name}.csv" for name in ("topology", "sizes")}
    return {"dump": folder / "tablets.csv", **given, "schema": folder / "schema.cql"}


def opened(folder: Path, *tables: SmallTable, **given: Any) -> OpenedTablets:
    """The same, opened as the server has it."""
    return open_tablets(**written(folder, tables, **given))


def beginning(cluster: OpenedTablets) -> set[str]:
    """The tables whose resize begins in this round."""
    return {
        line.table
        for line in resizes(cluster)
        if line.decision not in ("none", line.was) and line.later is None
    }


def test_the_largest_tablet_of_one_table_is_the_most_urgent(tmp_path: Path) -> None:
    """Two co-located tables of 11 GiB each wait for a table of 12 GiB."""
    group = SmallTable("g", (1, 2), 11 * GIB), SmallTable("ga", (), 11 * GIB, base=1)
    cluster = opened(tmp_path, *group, SmallTable("z", (1, 2), 12 * GIB), shards=(1, 1))
    assert beginning(cluster) == {"ks.z"}


def test_a_revoked_resize_still_takes_shards_of_its_round(tmp_path: Path) -> None:
    """Of four shards its two replicas leave two, for the larger of two other tables."""
    tables = (
        SmallTable("a", (1, 2), 4 * GIB, resize="split"),
        SmallTable("y", (1, 2), 11 * GIB),
        SmallTable("z", (1, 2), 12 * GIB),
    )
    cluster = opened(tmp_path, *tables, shards=(2, 2))
    assert {line.table for line in resizes(cluster) if line.decision != line.was} == {
        *("ks.a", "ks.y", "ks.z")
    }
    assert beginning(cluster) == {"ks.z"}


@pytest.mark.parametrize(("leaving", "begins"), [(0, {"ks.y", "ks.z"}), (3, {"ks.y", "ks.z"})])
def test_shards_of_a_leaving_node_count_for_the_resizes_of_a_round(
    leaving: int, begins: set[str], tmp_path: Path
) -> None:
    """Without its eight shards one of the two tables would wait."""
    tables = SmallTable("y", (1, 2), 11 * GIB), SmallTable("z", (1, 2), 12 * GIB)
    cluster = opened(tmp_path, *tables, shards=(1, 1, 8), leaving=leaving)
    assert beginning(cluster) == begins


GROUP = (
    SmallTable("g", (1,) * 8, MIB),
    *(SmallTable(f"g{n}", (), MIB, base=1) for n in range(3)),
    SmallTable("z", (2,) * 16, MIB),
)
EMPTY = SmallTable("x", (1,) * 4, 0), SmallTable("y", (2, 2), GIB)


@pytest.mark.parametrize(
    ("tables", "moved", "source", "target"), [(GROUP, "ks.g", 1, 2), (EMPTY, "ks.y", 2, 1)]
)
def test_each_co_located_table_and_the_size_of_each_tablet_counts_in_balancing(
    tables: tuple[SmallTable, ...], moved: str, source: int, target: int, tmp_path: Path
) -> None:
    """Four small tables weigh like one of four times as many tablets, empty ones hardly anything.

    The rehearsal plays what the command answers.
    """
    files = written(tmp_path, tables, (1, 1))
    cluster = open_tablets(**files)
    moves = balance(cluster).moves
    ends = tuple(f"{number:08}" for number in (source, target))
    assert {(move.table, move.source.host[:8], move.target.host[:8]) for move in moves} == {
        (moved, *ends)
    }
    made = rehearse(files.pop("dump"), "balance", **files)
    model = made.timeline.model
    first = next(iter(model.plan(made.timeline.state)))
    assert model.place(first[0]) == (moved, moves[0].tablets[0])
    assert first[2:] == tuple(f"{end}:0" for end in ends)


def test_a_drain_stalls_where_the_servers_sizes_or_capacities_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file about either the command says that it is not known."""
    files = written(tmp_path, (SmallTable("x", (1, 2, 1, 2), GIB),), shards=(1, 1, 1), unknown=2)
    hosts = [NODE.format(number, number) for number in (1, 2, 3)]
    null = [f"{host},dc1,r1,{'' if host == hosts[1] else GIB},{GIB * 100}" for host in hosts]
    loads = "\n".join(["node,dc,rack,storage_load,storage_capacity", *null, ""])
    (tmp_path / "loads.csv").write_text(loads, "utf-8")
    given = [str(files["dump"]), "--topology", str(files["topology"])]
    waits = "00000002: the server lacks tablet sizes or the capacity, so the drain stalls."
    for more, status, said in (
        (["--sizes", str(files["sizes"])], 1, waits),
        (["--loads", str(tmp_path / "loads.csv")], 1, waits),
        ([], 0, "Not known: whether the server has all tablet sizes."),
    ):
        assert tablets([*given, *more, "drain", "00000001"]) == status, (more, status)
        assert said in capsys.readouterr().out, (more, status)
    assert tablets([*given, "--release", "2025.4", "drain", "00000001"]) == 0
    assert "Not known" not in capsys.readouterr().out, "no drain waits for sizes"
    assert tablets([*given, "--sizes", str(files["sizes"]), "balance"]) == 0
    assert "so the plan leaves it out" in capsys.readouterr().out


BY_RELEASE = """
resize         |                    | on master: the size of a table asks for as many
resize         | --release 2025.4   | on master: the size of a table asks for as many
resize         | --release 2026.2.1 | on master: the size of a table asks for as many
resize         | --release master   | on 2025.1 to 2026.3: the size of a table asks for twice
resize         | --edition documents | (edition documents)
balance        | --release 2026.1   | on 2025.1 to 2025.4: tablets are counted, whatever their size
balance        | --release 2025.4   | on 2026.1 to master: bytes are counted, and a node whose sizes
balance        | --release 2025.1.1 | tablet's lost replica is streamed from all that are left
drain 00000001 | --release 2025.4   | on 2026.1 to master: bytes are counted
show           | --release 2026.2   | (edition server 2026.2)
"""


@pytest.mark.parametrize("case", BY_RELEASE.strip().splitlines())
def test_the_answer_says_which_releases_decide_otherwise(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Resize, balance and drain are asked about, in several releases."""
    tables = (SmallTable("x", (1, 2), 320 * GIB),)
    if case.startswith("balance"):
        tables = (SmallTable("x", (1, 1, 1, 1), GIB), SmallTable("y", (2,), 4 * GIB))
    files = written(tmp_path, tables, shards=(1, 1))
    action, more, said = map(str.strip, case.split("|"))
    options = ["--topology", str(files["topology"]), "--sizes", str(files["sizes"])]
    tablets([str(files["dump"]), *options, *action.split(), *more.split()])
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert ("on master" in out) == said.startswith("on master")


@pytest.mark.parametrize(("ignored", "leaves"), [(0, {1}), (2, {1}), (1, set())])
def test_a_node_that_is_excluded_is_not_drained(
    ignored: int, leaves: set[int], tmp_path: Path
) -> None:
    """A warning says that its request is cancelled."""
    tables = (SmallTable("x", (1, 2, 1, 2), GIB),)
    cluster = opened(tmp_path, *tables, shards=(1, 1, 1), leaving=1, ignored=ignored)
    sources = {int(move.source.host[:8]) for move in balance(cluster).moves}
    assert sources & {1} == leaves
    assert any("cancels its request" in line for line in cluster.warnings) == (ignored == 1)
