"""What would happen: who is emptied and how, what a loss costs, what an RF change may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.dry_run.what_if import drain, lose, rf_change
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, described, edited
from tests.protocols.tablets.dry_run.test_rf_change import ITEMS

DUMP = FIXTURES / "tablets.csv"


def of_hosts(*numbers: int) -> tuple[str, ...]:
    """Host ids of the fixtures."""
    return tuple(map(host, numbers))


@pytest.mark.parametrize(
    ("columns", "kinds"),
    [
        ({}, {"migration"}),
        ({"topology_request": "leave"}, {"migration"}),
        ({"topology_request": "remove"}, {"rebuild_v2"}),
        ({"ignore_nodes": f"{{{host(1)}}}"}, {"rebuild_v2"}),
    ],
)
def test_a_node_that_is_removed_or_ignored_sends_no_tablets(
    columns: dict[str, str], kinds: set[str], tmp_path: Path
) -> None:
    """They are rebuilt from others, also where no file says that the node is down."""
    topology = edited(tmp_path, "topology", 0, **columns) if columns else FILES["topology"]
    cluster = open_tablets(DUMP, topology=topology)
    assert cluster.down == frozenset()
    assert {move.kind for move in drain(cluster, host(1)).moves} == kinds


@pytest.mark.parametrize(
    ("columns", "number", "waits"),
    [
        ({"topology_request": "leave"}, 1, (1, 5)),
        ({"topology_request": "remove"}, 1, (5,)),
        ({}, 1, (5,)),
        ({}, 5, (1,)),
        ({}, 2, (1, 5)),
    ],
)
def test_a_drain_waits_for_every_down_node_but_the_one_that_is_removed(
    columns: dict[str, str], number: int, waits: tuple[int, ...], tmp_path: Path
) -> None:
    """A node that must send its tablets itself is waited for."""
    status = tmp_path / "status.txt"
    rows = [
        f"D{line[1:]}" if host(1) in line or host(5) in line else line
        for line in STATUS.splitlines()
    ]
    status.write_text("\n".join([*rows, ""]), "utf-8")
    topology = edited(tmp_path, "topology", 0, **columns) if columns else FILES["topology"]
    cluster = open_tablets(DUMP, topology=topology, status=status)
    assert drain(cluster, host(number)).stalled_by == of_hosts(*waits)


BOTH = ("reads", "writes")


@pytest.mark.parametrize(
    ("lost", "orders", "counts"),
    [
        ((3,), {0: ((), ("dc2",)), 1: ((), ("dc2",)), 3: ((), ("dc2",))}, {"dc2": 5}),
        ((5,), {}, {}),
        ((2, 5), {**dict.fromkeys((0, 1, 3), ((), ("dc1",))), 2: (BOTH, ("dc1",))}, {"dc1": 5}),
    ],
)
def test_a_loss_in_a_small_datacenter_takes_its_local_quorum_first(
    lost: tuple[int, ...],
    orders: dict[int, tuple[tuple[str, ...], tuple[str, ...]]],
    counts: dict[str, int],
    tmp_path: Path,
) -> None:
    """Host 3 is alone in dc2. Two of three replicas are still enough for QUORUM."""
    topology = edited(tmp_path, "topology", 2, datacenter="dc2")
    report = lose(open_tablets(DUMP, topology=topology), of_hosts(*lost))
    assert orders == {
        each.tablet: (each.without_quorum, each.datacenters)
        for each in report.lost
        if each.table == "shop.orders"
    }
    assert report.no_local_quorum == counts
    assert report.no_quorum == sum(bool(each.without_quorum) for each in report.lost)


def test_a_factor_without_its_replicas_takes_the_quorum_at_the_first_loss(tmp_path: Path) -> None:
    """The schema asks for three replicas in dc2, which has none."""
    schema = described(tmp_path, "'dc1': 3, 'dc2': 3")
    cluster = open_tablets(DUMP, topology=FILES["topology"], schema=schema)
    [lost] = lose(cluster, of_hosts(5)).lost
    assert (lost.table, lost.tablet) == ("shop.orders", 2)
    assert (lost.without_quorum, lost.datacenters) == (BOTH, ())


# -- a change of a keyspace's replication ----------------------------------------------------------


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """The dump without the table whose tablets have a replica less."""
    lines = DUMP.read_text("utf-8").splitlines()
    path = tmp_path / "orders.csv"
    path.write_text("".join(f"{line}\n" for line in lines if ITEMS not in line[:36]), "utf-8")
    return path


def asked_to_leave(folder: Path, *numbers: int) -> Path:
    """The topology where some nodes wait to leave."""
    text = FILES["topology"].read_text("utf-8")
    for number in numbers:
        text = text.replace(f"{{'{number}000'}},,", f"{{'{number}000'}},leave,")
    path = folder / "topology.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("edition", "leave", "refused", "invalid", "gains"),
    [
        ("documents", (), "", "", of_hosts(3, 4, 5)),
        ("documents", (4,), "", "", of_hosts(3, 5)),
        ("documents", (4, 5), "dc1 has 3 nodes for 4 replicas", "", ()),
        ("server", (), "", "dc1 has 3 racks for 4 replicas", of_hosts(1, 3, 5)),
        ("server", (5,), "", "dc1 has 3 racks for 4 replicas", of_hosts(1, 3, 4)),
        ("server", (4, 5), "dc1 has 3 nodes for 4 replicas", "", ()),
    ],
)
def test_an_rf_change_gives_no_replica_to_a_node_that_is_to_leave(
    edition: Edition,
    leave: tuple[int, ...],
    refused: str,
    invalid: str,
    gains: tuple[str, ...],
    orders: Path,
    tmp_path: Path,
) -> None:
    """Nor does it count that node. Only the server refuses by racks."""
    cluster = open_tablets(orders, topology=asked_to_leave(tmp_path, *leave), edition=edition)
    report = rf_change(cluster, "shop", ["dc1=4"])
    assert (report.refused, report.invalid) == (refused, invalid)
    assert tuple(report.gains) == gains
    assert bool(report.tablets) == (not refused)
