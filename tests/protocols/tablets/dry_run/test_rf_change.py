"""An RF change on a dump: what is said of it, and what a rehearsal does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.dry_run.what_if import balance, drain, rf_change
from kit.protocols.tablets.lessons.dumps import rehearse
from kit.protocols.tablets.rules.balance.reasons import RackNamed
from tests.commands.calling import call
from tests.protocols.tablets.dry_run.test_command import FIXTURES, TOPOLOGY
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, described

ITEMS = "00000002-0000-11f0-8000-0000000000aa"


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """The fixtures without the table whose tablets have a replica less."""
    lines = (FIXTURES / "tablets.csv").read_text("utf-8").splitlines()
    path = tmp_path / "orders.csv"
    path.write_text("".join(f"{line}\n" for line in lines if ITEMS not in line[:36]), "utf-8")
    return path


def opened(dump: Path, **files: Any) -> Any:
    """The dump with its topology."""
    return open_tablets(dump, topology=FILES["topology"], **files)


def racked(folder: Path, dump: Path) -> Path:
    """A schema with racks by name, and the dump in which each rack of r1 to r3 has a replica."""
    text = dump.read_text("utf-8").replace("(00000005-0000-4000-8000-000000000005, ", f"({HOST3}, ")
    dump.write_text(text, "utf-8")
    return described(folder, "'dc1': ['r1', 'r2', 'r3']")


HOST3, HOST4 = (f"0000000{at}-0000-4000-8000-00000000000{at}" for at in (3, 4))


def test_an_rf_change_by_one_adds_one_replica_to_each_tablet(orders: Path) -> None:
    """Each gets one on a host that has none, and the gains add up to the steps."""
    report = rf_change(opened(orders), "shop", ["dc1=4"])
    assert (report.refused, report.before, report.after) == ("", {"dc1": 3}, {"dc1": 4})
    assert [len(each.steps) for each in report.tablets] == [1] * 4
    for each in report.tablets:
        assert each.after == (*each.before, each.steps[0][1:])
        assert len({place.partition(":")[0] for place in each.after}) == 4
    assert sum(report.gains.values()) == 4
    assert report.losses == {}


def test_an_rf_change_copies_the_largest_replica_of_each_co_located_tablet(
    orders: Path, tmp_path: Path
) -> None:
    """Dropping a replica copies nothing."""
    text = (FIXTURES / "sizes.csv").read_text("utf-8")
    sizes = tmp_path / "sizes.csv"
    sizes.write_text(
        "".join(f"{line}\n" for line in text.splitlines() if ITEMS not in line), "utf-8"
    )
    cluster = opened(orders, sizes=sizes)
    shop = cluster.sizes
    largest = [
        sum(max(shop[table][tablet].values(), default=0) for table in shop) for tablet in range(4)
    ]
    assert rf_change(cluster, "shop", ["dc1=4"]).bytes == sum(largest)
    assert rf_change(cluster, "shop", ["dc1=2"]).bytes == 0


def test_an_rf_change_in_one_step_is_not_aborted_by_a_node_that_is_down(
    orders: Path, tmp_path: Path
) -> None:
    """Another node of the rack gets the replica."""
    status = tmp_path / "status.txt"
    rows = STATUS.splitlines(keepends=True)
    status.write_text("".join(f"D{row[1:]}" if HOST4 in row else row for row in rows), "utf-8")
    report = rf_change(opened(orders, status=status), "shop", ["dc1=4"])
    assert (HOST4 in report.gains, len(report.gains) > 0, report.aborted_by) == (False, True, ())


def test_an_rf_change_that_drops_a_rack_removes_the_replicas_there(
    orders: Path, tmp_path: Path
) -> None:
    """Every other rack keeps its own."""
    cluster = opened(orders, schema=racked(tmp_path, orders))
    report = rf_change(cluster, "shop", ["dc1=r1,r2"])
    assert report.losses == {HOST3: 4}
    assert report.gains == {}
    assert all(each.steps[0].startswith(f"-{HOST3}") for each in report.tablets)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["dc1=5"], "one replica at a time: dc1 from 3 to 5"),
        (["dc1=r1,r2"], "becomes a list of as many racks, and nothing"),
        (["dc1=r1,r2,r3"], "is a conversion, not modelled"),
    ],
)
def test_an_impossible_rf_change_is_refused_with_the_coordinators_reason(
    words: list[str], why: str, orders: Path
) -> None:
    """The command ends with status 1."""
    report = rf_change(opened(orders), "shop", words)
    assert why in report.refused
    assert report.tablets == ()
    answer = call("tablets", str(orders), "rf", "shop", *words, *TOPOLOGY)
    assert answer.status == 1
    assert "refused: " in answer.out


@pytest.mark.parametrize(
    ("keyspace", "words", "field"),
    [
        ("shops", ["dc1=3"], "KEYSPACE"),
        ("shop", ["dc1=x,x"], "DC=REPLICAS: .*each rack once"),
        ("shop", ["dc1=2", "dc1=3"], "DC=REPLICAS: .*each datacenter once"),
        ("shop", ["dc1"], "DC=REPLICAS"),
        ("shop", ["dc2=1"], "DC=REPLICAS: .*dc1"),
        ("shop", ["dc1=3", "dc9=0"], "DC=REPLICAS: .*dc1"),
        ("shop", ["dc1=r1,\x1b"], "DC=REPLICAS"),
        ("shop", [f"{'x' * 201}=1"], "DC=REPLICAS"),
    ],
)
def test_an_rf_change_refuses_an_unknown_keyspace_and_malformed_words(
    keyspace: str, words: list[str], field: str, orders: Path
) -> None:
    """The error names the field."""
    with pytest.raises(BadInput, match=rf"^{field}"):
        rf_change(opened(orders), keyspace, words)


def test_an_rf_change_needs_a_topology_and_tablets_of_one_factor(orders: Path) -> None:
    """Without either it is refused."""
    with pytest.raises(BadInput, match=r"^--topology:"):
        rf_change(open_tablets(orders), "shop", ["dc1=4"])
    with pytest.raises(BadInput, match=r"different replication factors"):
        rf_change(opened(FIXTURES / "tablets.csv"), "shop", ["dc1=4"])


def test_an_rf_change_to_zero_is_refused_by_the_documents_alone(orders: Path) -> None:
    """For the server the command says that all data goes, and ends with status 1."""
    text = re.sub(r"\[(\([^)]*\))[^]]*]", r"[\1]", orders.read_text("utf-8"))
    orders.write_text(text, "utf-8")
    answer = call("tablets", str(orders), "rf", "shop", "dc1=0", *TOPOLOGY)
    assert answer.status == 1
    assert "No server refuses it, and all data of the keyspace goes with it." in answer.out
    told = call("tablets", str(orders), "rf", "shop", "dc1=0", *TOPOLOGY, "--edition", "documents")
    assert "refused: no replica would be left" in told.out


@pytest.mark.parametrize("words", ["dc1=1", "dc1=2", "dc1=3", "dc1=4", "dc1=r1,r2,r3"])
@pytest.mark.parametrize(
    ("stated", "owners"),
    [
        ("", "dc1=2 in shop.items; dc1=3 in shop.orders"),
        ("'dc1': 3, 'dc2': 0", "dc1=3 in the schema, shop.orders; dc1=2 in shop.items"),
        ("'dc1': 2", "dc1=2 in the schema, shop.items; dc1=3 in shop.orders"),
        ("'dc1': 4", "dc1=4 in the schema; dc1=2 in shop.items; dc1=3 in shop.orders"),
        (
            "'dc1': ['r3', 'r1', 'r2']",
            (
                "dc1=r1,r2,r3 in the schema, shop.orders; dc1=r1,r3 in shop.items; "
                "dc1=r2,r3 in shop.items; dc1=r1,r2,r2 in shop.orders"
            ),
        ),
    ],
)
def test_an_rf_change_of_tables_that_differ_names_each_with_its_factor(
    stated: str, owners: str, words: str, tmp_path: Path
) -> None:
    """Whatever change is asked for, in the command and in a rehearsal."""
    files = {"schema": described(tmp_path, stated)} if stated else {}
    said = f"A change of it is under way, or was never completed: {owners}"
    dump = FIXTURES / "tablets.csv"
    with pytest.raises(BadInput, match=r"^keyspace shop: got 'different") as error:
        rf_change(opened(dump, **files), "shop", [words])
    assert str(error.value).endswith(said)
    with pytest.raises(BadInput, match="different") as error:
        rehearse(dump, f"rf shop {words}", topology=FILES["topology"], **files)
    assert str(error.value).endswith(said)


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(("words", "replicas"), [("dc1=4", 4), ("dc1=2", 2)])
def test_a_rehearsed_rf_change_ends_with_the_replicas_asked_for(
    edition: Any, words: str, replicas: int, orders: Path
) -> None:
    """No tablet is left in transition, and the keyspace has its new factor."""
    made = rehearse(orders, f"rf shop {words}", topology=FILES["topology"], edition=edition)
    timeline = made.timeline
    counts = [3]
    for _ in range(400):
        if timeline.forward() is None:
            break
        counts += [len(row.replicas) for row in timeline.state.tablets]
    assert {len(row.replicas) for row in timeline.state.tablets} == {replicas}
    assert set(counts) == {3, replicas}
    assert all(not row.transitions for row in timeline.state.tablets)
    assert timeline.state.control.topology.keyspaces == (("shop", (("dc1", replicas),)),)


def test_a_rehearsed_rf_change_by_rack_ends_on_the_named_racks(
    orders: Path, tmp_path: Path
) -> None:
    """The schema gives the racks before the change."""
    schema = racked(tmp_path, orders)
    made = rehearse(orders, "rf shop dc1=r1,r2", topology=FILES["topology"], schema=schema)
    timeline = made.timeline
    while timeline.forward() is not None:
        pass
    hosts = {each.host for row in timeline.state.tablets for each in row.replicas}
    assert hosts == {"00000001", "00000002", "00000004"}


def test_a_schema_with_racks_keeps_the_balancers_moves_within_each_rack(
    orders: Path, tmp_path: Path
) -> None:
    """A drain of a rack's last node is stuck for that reason."""
    schema = racked(tmp_path, orders)
    cluster = opened(orders, schema=schema)
    free = opened(orders)
    assert {dc for _, dc in cluster.input.rack_lists} == {"dc1"}
    assert free.input.rack_lists == frozenset()
    racks = {node.host: node.rack for node in cluster.nodes}
    for move in balance(cluster).moves:
        assert racks[move.source.host] == racks[move.target.host]
    alone = [host for host in racks if list(racks.values()).count(racks[host]) == 1]
    held = [host for host in alone if drain(cluster, host).replicas]
    assert held
    for host in held:
        stuck = drain(cluster, host).stuck
        assert stuck
        for each in stuck:
            assert RackNamed in {type(reason) for reason, _ in each.reasons}
    made = rehearse(orders, "balance", topology=FILES["topology"], schema=schema)
    assert made.timeline.model.dump.rack_lists == tuple(sorted(cluster.rack_lists()))


def test_the_last_node_of_a_named_rack_cannot_be_drained(orders: Path, tmp_path: Path) -> None:
    """Without racks by name it can."""
    cluster = opened(orders, schema=racked(tmp_path, orders))
    racks = {node.host: node.rack for node in cluster.nodes}
    for host, rack in racks.items():
        alone = [*racks.values()].count(rack) == 1
        assert bool(drain(cluster, host).refused) == alone
        assert drain(opened(orders), host).refused == ""
