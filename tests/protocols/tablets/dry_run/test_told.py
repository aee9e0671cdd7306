"""What files tell of nodes, sizes and schemas, and what is said where they contradict it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, edited, opened


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
def test_a_place_is_known_by_whichever_file_tells(
    topology: dict[str, str], loads: dict[str, str], place: tuple[str, str], tmp_path: Path
) -> None:
    """A null in one file contradicts no other one."""
    edits = {"topology": topology, "loads": loads}
    files = {name: edited(tmp_path, name, 0, **each) for name, each in edits.items() if each}
    cluster = opened(**files)
    assert cluster.places[host(1)] == place
    untold = told(cluster, "no file gives the datacenter and rack of", host(1))
    assert bool(untold) == ("unknown" in place)


def test_an_address_without_a_host_id(tmp_path: Path) -> None:
    """It is told once, and nobody goes by it; its node is unknown where no topology has it."""
    status = tmp_path / "status.txt"
    status.write_text(STATUS.replace(host(1), "null"), "utf-8")
    cluster = opened(status=status)
    assert told(cluster, "10.0.0.1") == ["status.txt does not give the host id of 10.0.0.1"]
    assert sorted(cluster.addresses) == [f"10.0.0.{number}" for number in range(2, 6)]
    assert host(1) in cluster.places
    with pytest.raises(BadInput, match="are all files from one cluster"):
        open_tablets(FIXTURES / "tablets.csv", status=status)


def test_a_status_names_no_node_that_a_topology_lacks(tmp_path: Path) -> None:
    """Its host would be of another cluster."""
    status = tmp_path / "status.txt"
    status.write_text(STATUS.replace(host(1), host(9)), "utf-8")
    with pytest.raises(BadInput, match="host id of 10"):
        opened(status=status)


# -- tablets and schemas ---------------------------------------------------------------------------


def test_rows_in_any_order_are_the_same_cluster(tmp_path: Path) -> None:
    """All that is listed stands by name: tables, nodes, and whom the lines name."""
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
