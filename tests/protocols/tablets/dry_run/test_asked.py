"""What would happen: who is emptied and how, what a loss costs, what an RF change may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.dry_run.what_if import drain, joined, lose, rf_change
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, described, edited
from tests.protocols.tablets.dry_run.test_rf_change import ITEMS
from tests.saying import says

DUMP = FIXTURES / "tablets.csv"


def of_hosts(*numbers: int) -> tuple[str, ...]:
    """Host ids of the fixtures."""
    return tuple(map(host, numbers))


@pytest.mark.parametrize(
    ("columns", "kinds"),
    [
        ({}, {"migration"}),
        ({"topology_request": "leave"}, {"migration"}),
        ({"topology_request": "remove"}, {"rebuild"}),
        ({"ignore_nodes": f"{{{host(1)}}}"}, {"rebuild"}),
    ],
)
def test_what_an_operator_has_given_up_sends_nothing(
    columns: dict[str, str], kinds: set[str], tmp_path: Path
) -> None:
    """Its tablets are rebuilt from others, also where no file says that it is down."""
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
def test_whose_answer_a_drain_waits_for(
    columns: dict[str, str], number: int, waits: tuple[int, ...], tmp_path: Path
) -> None:
    """Hosts 1 and 5 are down: of others, and of the one that is to send its tablets itself; not of
    one that is removed.
    """
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
        (
            (2, 5),
            {
                **dict.fromkeys((0, 1, 3), ((), ("dc1",))),
                2: (BOTH, ("dc1",)),
            },
            {"dc1": 5},
        ),
    ],
)
def test_a_local_quorum_is_lost_before_that_of_all(
    lost: tuple[int, ...],
    orders: dict[int, tuple[tuple[str, ...], tuple[str, ...]]],
    counts: dict[str, int],
    tmp_path: Path,
) -> None:
    """Host 3 is alone in dc2: two of three replicas are enough for QUORUM, not for it."""
    topology = edited(tmp_path, "topology", 2, datacenter="dc2")
    report = lose(open_tablets(DUMP, topology=topology), of_hosts(*lost))
    assert orders == {
        each.tablet: (each.without_quorum, each.datacenters)
        for each in report.lost
        if each.table == "shop.orders"
    }
    assert report.no_local_quorum == counts
    assert report.no_quorum == sum(bool(each.without_quorum) for each in report.lost)


def test_datacenters_are_counted_by_name(tmp_path: Path) -> None:
    """Whichever loses a tablet first."""
    topology = edited(tmp_path, "topology", 2, datacenter="dc2")
    report = lose(open_tablets(DUMP, topology=topology), of_hosts(2, 3))
    assert report.lost[0].datacenters == ("dc2",)
    assert [*report.no_local_quorum] == ["dc1", "dc2"]


def test_a_quorum_of_replicas_that_were_never_made_is_lost(tmp_path: Path) -> None:
    """The schema asks for three in dc2, which has none: QUORUM needs four, LOCAL_QUORUM two."""
    schema = described(tmp_path, "'dc1': 3, 'dc2': 3")
    cluster = open_tablets(DUMP, topology=FILES["topology"], schema=schema)
    [lost] = lose(cluster, of_hosts(5)).lost
    assert (lost.table, lost.tablet) == ("shop.orders", 2)
    assert (lost.without_quorum, lost.datacenters) == (BOTH, ())


def test_who_joins_is_new() -> None:
    """And like a node that is there."""
    cluster = open_tablets(DUMP, topology=FILES["topology"])
    for name, like in ((host(1), host(2)), ("new", "nobody")):
        with pytest.raises(BadInput):
            joined(cluster, name, like)
    assert joined(cluster, "new", host(2)).places["new"] == ("dc1", "r2")


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
def test_who_is_to_leave_gets_no_replica(  # a case of the table
    edition: Edition,
    leave: tuple[int, ...],
    refused: str,
    invalid: str,
    gains: tuple[str, ...],
    orders: Path,
    tmp_path: Path,
) -> None:
    """Nor is it counted; only edition ``server`` speaks of racks, of a change that may be."""
    cluster = open_tablets(orders, topology=asked_to_leave(tmp_path, *leave), edition=edition)
    report = rf_change(cluster, "shop", ["dc1=4"])
    assert (report.refused, report.invalid) == (refused, invalid)
    assert tuple(report.gains) == gains
    assert bool(report.tablets) == (not refused)


def test_a_tablet_that_stays_as_it_is_has_no_way(orders: Path) -> None:
    """All have three replicas already."""
    cluster = open_tablets(orders, topology=FILES["topology"])
    assert rf_change(cluster, "shop", ["dc1=3"]).tablets == ()
    assert len(rf_change(cluster, "shop", ["dc1=4"]).tablets) == 4


def test_what_no_node_can_take_is_told(orders: Path, tmp_path: Path) -> None:
    """Hosts 4 and 5 count, but are down: of tablets on the other three nothing comes."""
    rows = [
        f"D{line[1:]}" if host(4) in line or host(5) in line else line
        for line in STATUS.splitlines()
    ]
    status = tmp_path / "status.txt"
    status.write_text("\n".join([*rows, ""]), "utf-8")
    cluster = open_tablets(orders, topology=FILES["topology"], status=status)
    stay = {each.tablet: each for each in rf_change(cluster, "shop", ["dc1=4"]).tablets}[1]
    assert (stay.steps, stay.before) == ((), stay.after)
    assert [(each.datacenter, each.rack, each.has, each.wants) for each in stay.lacks] == [
        ("dc1", "", 3, 4)
    ]


@pytest.mark.parametrize(("enabled", "is_one"), [("true", True), ("false", False)])
def test_a_keyspace_without_tablets_has_no_tablets_to_change(
    enabled: str, is_one: bool, orders: Path, tmp_path: Path
) -> None:
    """One that only the schema has may be empty so far."""
    path = described(tmp_path, "'dc1': 3")
    statement = path.read_text("utf-8").splitlines()[0]
    plain = statement.replace("shop", "plain").rstrip(";")
    tablets = f" AND tablets = {{'enabled': {enabled}}};"
    path.write_text(f"{plain}{tablets}\n{statement}\n", "utf-8")
    cluster = open_tablets(orders, topology=FILES["topology"], schema=path)
    if is_one:
        assert rf_change(cluster, "plain", ["dc1=2"]).after == {"dc1": 2}
        return
    with pytest.raises(BadInput) as error:
        rf_change(cluster, "plain", ["dc1=2"])
    assert says(error.value, "KEYSPACE | plain | shop")


@pytest.mark.parametrize(("size", "gigabytes"), [(3 << 29, 20), (7, 20), (5 << 29, 21)])
def test_a_new_replica_is_as_large_as_the_largest(
    size: int, gigabytes: int, orders: Path, tmp_path: Path
) -> None:
    """Another size of one replica counts where it is larger: of 1.5 GiB or of 2.5 GiB."""
    sizes = tmp_path / "sizes.csv"
    lines = (FIXTURES / "sizes.csv").read_text("utf-8").splitlines()
    text = "".join(f"{line}\n" for line in lines if not line.startswith(ITEMS))
    one = f"{host(1)}: 1610612736"
    sizes.write_text(text.replace(one, f"{host(1)}: {size}", 1), "utf-8")
    cluster = open_tablets(orders, topology=FILES["topology"], sizes=sizes)
    assert rf_change(cluster, "shop", ["dc1=4"]).bytes == gigabytes << 30
