"""What files tell of nodes, sizes and schemas, and what is assumed where they lack something."""

from __future__ import annotations

from pathlib import Path

import pytest

import kit
from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.report import parse_size, resizes
from kit.protocols.tablets.dry_run.what_if import drain
from tests.commands.calling import call
from tests.operators.test_snapshots import FIRST, SECOND, copied, text_of
from tests.protocols.tablets.dry_run.test_command import FIXTURES, SIZES, TOPOLOGY, host
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, edited, opened
from tests.protocols.tablets.dry_run.test_player import joined_by


def told(cluster: OpenedTablets, *words: str) -> list[str]:
    """The warnings that have all of these words."""
    return [line for line in cluster.warnings if all(word in line for word in words)]


# -- nodes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "loads", "place"),
    [
        ({}, {"dc": "", "rack": ""}, ("dc1", "r1")),
        ({"datacenter": "", "rack": ""}, {}, ("dc1", "r1")),
        ({"datacenter": "", "rack": ""}, {"dc": "", "rack": ""}, ("unknown", "unknown")),
        ({"rack": ""}, {"dc": ""}, ("dc1", "r1")),
    ],
)
def test_a_nodes_datacenter_and_rack_come_from_any_file_that_has_them(
    topology: dict[str, str], loads: dict[str, str], place: tuple[str, str], tmp_path: Path
) -> None:
    """A null in one file contradicts no other. Where no file has them a warning says so."""
    edits = {"topology": topology, "loads": loads}
    files = {name: edited(tmp_path, name, 0, **each) for name, each in edits.items() if each}
    cluster = opened(**files)
    assert cluster.places[host(1)] == place
    untold = told(cluster, "no file gives the datacenter and rack of", host(1))
    assert bool(untold) == ("unknown" in place)


def test_an_address_without_a_host_id_names_no_node(tmp_path: Path) -> None:
    """A warning says so once. Without a topology its node is unknown."""
    status = tmp_path / "status.txt"
    status.write_text(STATUS.replace(host(1), "null"), "utf-8")
    cluster = opened(status=status)
    assert told(cluster, "10.0.0.1") == ["status.txt does not give the host id of 10.0.0.1"]
    assert sorted(cluster.addresses) == [f"10.0.0.{number}" for number in range(2, 6)]
    assert host(1) in cluster.places
    with pytest.raises(BadInput, match="are all files from one cluster"):
        open_tablets(FIXTURES / "tablets.csv", status=status)


def test_a_status_with_a_host_that_the_topology_lacks_is_refused(tmp_path: Path) -> None:
    """It would be of another cluster."""
    status = tmp_path / "status.txt"
    status.write_text(STATUS.replace(host(1), host(9)), "utf-8")
    with pytest.raises(BadInput, match="host id of 10"):
        opened(status=status)


# -- tablets and schemas ---------------------------------------------------------------------------


def test_files_with_rows_in_any_order_open_as_the_same_cluster(tmp_path: Path) -> None:
    """Tables and warnings are in the order of names."""
    dump = (FIXTURES / "tablets.csv").read_text("utf-8").splitlines()
    head, *rows = [f"{dump[0]},repair_time", *(f"{line}," for line in dump[1:])]
    rows[1] += "2026-01-31 12:00:00.000+0000"
    topology = FILES["topology"].read_text("utf-8").splitlines()
    topology = [topology[0], *(line.replace(",r1,", ",,") for line in topology[1:])]
    loads = FILES["loads"].read_text("utf-8").splitlines()
    loads = [loads[0], *(",".join([line[:36], "", "", *line.split(",")[3:]]) for line in loads[1:])]
    loads = [line.replace("1099511627776", "") for line in loads]
    clusters = []
    for turn in (1, -1):
        files = {}
        texts = {"tablets": [head, *rows], "topology": topology, "loads": loads}
        for name, (first, *lines) in texts.items():
            files[name] = tmp_path / f"{name}.csv"
            files[name].write_text("\n".join([first, *lines[::turn], ""]), "utf-8")
        clusters.append(opened(**files))
    one, other = clusters
    assert (one.nodes, one.warnings, one.sizes) == (other.nodes, other.warnings, other.sizes)
    assert [*one.maps] == [*other.maps] == sorted(one.maps)
    assert one.repairs == other.repairs
    assert [*one.repairs["shop.orders"]] == [1]
    assert [line for line in one.warnings if "capacity of" in line or "rack of" in line]


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("1", 1),
        ("1023", 1023),
        ("1K", 1024),
        ("1KiB", 1024),
        ("2.5M", 2_621_440),
        ("5G", 5_368_709_120),
        ("5368709120", 5_368_709_120),
        ("4194304T", 2**62),
        (str(2**62), 2**62),
    ],
)
def test_a_size_is_read_with_a_unit_or_a_fraction(given: str, size: int) -> None:
    """The largest is 2**62 bytes."""
    assert parse_size("--target", given) == size


@pytest.mark.parametrize("given", ["0", "0.4", "", "-1", "G", "1.5.1G", "1P", "4194305T", "1e3"])
def test_a_malformed_size_is_refused(given: str) -> None:
    """So are nothing, less than a byte, and more than the largest."""
    with pytest.raises(BadInput, match=r"--target: .*a size in bytes above 0"):
        parse_size("--target", given)


def test_a_drain_beside_another_drain_answers_for_every_replica(tmp_path: Path) -> None:
    """The other leaving node gets none of them."""
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
def test_new_replicas_that_no_transition_of_the_kind_has_are_refused(
    kind: str, stage: str, new: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    """The error says where the new replica may be."""
    places = ", ".join(
        f"({host(number)}, {shard})" for number, shard in zip(new, (1, 1, 0), strict=True)
    )
    columns = {"transition": kind, "stage": stage, "new_replicas": f"[{places}]"}
    with pytest.raises(BadInput, match=said):
        opened(tablets=edited(tmp_path, "tablets", 0, **columns))


def test_a_resize_without_shards_left_waits_for_a_later_round(tmp_path: Path) -> None:
    """The answer counts them. The documents have no rounds."""
    dump = tmp_path / "tablets.csv"
    text = (FIXTURES / "tablets.csv").read_text("utf-8").replace(",5,merge,", ",5,none,")
    dump.write_text(text, "utf-8")
    lines = {line.table: line for line in resizes(opened(tablets=dump))}
    assert {line.decision for line in lines.values()} == {"split"}
    assert lines["shop.orders"].later is None
    waits = lines["shop.items"].later
    assert waits is not None
    assert (waits.waits_for, waits.taken, waits.needs, waits.limit) == ("shards", 12, 4, 10)
    answer = call("tablets", str(dump), "resize", *TOPOLOGY, *SIZES)
    said = "begins in a later round: this round already resizes 12 replicas, this table has 4, and "
    assert f"{said}there are 10 shards" in " ".join(answer.out.split())
    joins = joined_by(tmp_path, node_state="none", tokens="")  # it owns no tokens yet
    joining = {line.table: line for line in resizes(opened(tablets=dump, topology=joins))}
    assert joining["shop.items"].later == waits
    as_written = resizes(opened(tablets=dump, edition="documents"))
    assert [(line.later, line.target) for line in as_written] == [(None, None)] * len(lines)


def test_tablets_without_sizes_count_as_one_target_each_with_a_warning(tmp_path: Path) -> None:
    """With sizes no such warning is given."""
    folder = copied(FIRST, tmp_path / "snap")
    (folder / "system_tablet_sizes.csv").unlink()
    told = [each for each in open_tablets(folder).warnings if "sizes" in each]
    assert told == ["no file gives the sizes of tablets: each counts as 5.0 GiB"]
    assert not any("counts as" in each for each in open_tablets(FIRST).warnings)


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("-9999;", "-9999;", ["bakery.cakes", "bakery.loaves"]),
        ("a1b2c3d0-", "a1b2c3df-", ["bakery.cakes"]),  # an unknown table
        (";4611686018427387903;", ";7;", ["bakery.cakes"]),  # other tablets
        ("a1b2c3d2-", "a1b2c3df-", ["bakery.loaves"]),
    ],
)
def test_sizes_of_an_unknown_table_do_not_hide_those_of_other_tables(
    old: str, new: str, known: list[str], tmp_path: Path
) -> None:
    """Nor do sizes of other tablets than the dump has."""
    sizes = text_of(FIRST, "sizes").replace(old, new)
    opened = open_tablets(copied(FIRST, tmp_path / FIRST.name, sizes=sizes))
    assert sorted(opened.sizes or ()) == known


def test_a_table_that_one_moment_lacks_is_left_out_by_name(tmp_path: Path) -> None:
    """The other tables are explained."""
    dump = text_of(SECOND, "dump")
    kept = "\n".join(line for line in dump.split("\n") if "cakes" not in line)
    assert kept != dump
    fewer = copied(SECOND, tmp_path / SECOND.name, dump=kept)
    (fewer / "system_tablet_sizes.csv").unlink()
    said = kit.explain([FIRST, fewer])
    assert any("not every moment has it" in line and "cakes" in line for line in said.about)
