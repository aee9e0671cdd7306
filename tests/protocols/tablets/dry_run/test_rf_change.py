"""An RF change on a dump: what is said of it, and what a rehearsal does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.dry_run.player import rehearse
from kit.protocols.tablets.dry_run.what_if import balance, drain, rf_change
from kit.protocols.tablets.rules.balance.reasons import RackNamed
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.topology.control import with_topology
from tests.commands.calling import call
from tests.protocols.tablets.dry_run.test_command import FIXTURES, TOPOLOGY
from tests.protocols.tablets.dry_run.test_opening import FILES, described, edited

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


HOST3 = "00000003-0000-4000-8000-000000000003"


def test_one_replica_of_each_tablet_comes_to_the_emptiest_shard(orders: Path) -> None:
    """Each way has one step; what is told by host is the sum of the steps."""
    report = rf_change(opened(orders), "shop", ["dc1=4"])
    assert (report.refused, report.before, report.after) == ("", {"dc1": 3}, {"dc1": 4})
    assert [len(each.steps) for each in report.tablets] == [1] * 4
    for each in report.tablets:
        assert each.after == (*each.before, each.steps[0][1:])
        assert len({place.partition(":")[0] for place in each.after}) == 4
    assert sum(report.gains.values()) == 4
    assert report.losses == {}


def test_what_is_copied(orders: Path, tmp_path: Path) -> None:
    """As much for a new replica as the tablet's largest one has, of all co-located tables."""
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


ORDERS, COLOCATED = ITEMS.replace("2-0000", "1-0000", 1), ITEMS.replace("2-0000", "3-0000", 1)


@pytest.mark.parametrize(
    ("without", "gigabytes"),
    [
        ((), 20),  # 1.5 + 3 + 4.5 + 6, and a third of that of the co-located table
        ((f"{ORDERS},-1,",), 17),
        ((f"{ORDERS},-1,", f"{COLOCATED},-1,"), 16),
        ((f"{COLOCATED},",), 15),
        ((f"{ORDERS},", f"{COLOCATED},-1,"), 4),
    ],
)
def test_a_tablet_of_which_no_size_is_known_adds_nothing(
    without: tuple[str, ...], gigabytes: int, orders: Path, tmp_path: Path
) -> None:
    """Of one table or of both; what is known of others counts."""
    sizes = tmp_path / "sizes.csv"
    lines = (FIXTURES / "sizes.csv").read_text("utf-8").splitlines()
    kept = (line for line in lines if not line.startswith((f"{ITEMS},", *without)))
    sizes.write_text("".join(f"{line}\n" for line in kept), "utf-8")
    report = rf_change(opened(orders, sizes=sizes), "shop", ["dc1=4"])
    assert report.bytes == gigabytes << 30


def test_a_rack_that_is_dropped_loses_its_replica(orders: Path, tmp_path: Path) -> None:
    """The schema tells that racks are meant by name; every other rack keeps its own."""
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
def test_it_is_refused_with_its_reason(words: list[str], why: str, orders: Path) -> None:
    """As the coordinator would; the command ends with 1."""
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
def test_what_is_no_change(keyspace: str, words: list[str], field: str, orders: Path) -> None:
    """Another keyspace, words that are no replication."""
    with pytest.raises(BadInput, match=rf"^{field}"):
        rf_change(opened(orders), keyspace, words)


def test_racks_have_to_be_known_and_tablets_alike(orders: Path) -> None:
    """Without a topology, or with tablets that differ, nothing is said."""
    with pytest.raises(BadInput, match=r"^--topology:"):
        rf_change(open_tablets(orders), "shop", ["dc1=4"])
    with pytest.raises(BadInput, match=r"different replication factors"):
        rf_change(opened(FIXTURES / "tablets.csv"), "shop", ["dc1=4"])


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
def test_tables_that_differ_are_named(stated: str, owners: str, words: str, tmp_path: Path) -> None:
    """Each with what it has, whatever change is asked for; a rehearsal says the same."""
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
def test_a_rehearsal_ends_with_the_replicas_asked_for(
    edition: Any, words: str, replicas: int, orders: Path
) -> None:
    """Replica by replica from the dump's own transition on."""
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


@pytest.mark.parametrize("words", ["dc1=4", "dc1=2"])
def test_a_change_that_came_back_begins_again_before_loads_are_evened(
    words: str, orders: Path
) -> None:
    """Of a tablet that is at rest without the change: one replica more, or one less."""
    timeline = rehearse(orders, f"rf shop {words}", topology=FILES["topology"]).timeline
    model = timeline.model
    while not timeline.state.in_transition or any(map(model.free, timeline.state.tablets)):
        assert timeline.forward() is not None
    state = timeline.state
    assert list(model.completing(state)) == []
    rows = list(state.tablets)
    for number, row in enumerate(rows):
        back = (*rows[:number], row.but(transitions=()), *rows[number + 1 :])
        after = state.but(tablets=back)
        [(tablet, kind, removed, added)] = model.completing(after)
        assert (tablet, kind) == (number, "rebuild_v2")
        held = [str(each) for each in row.replicas]
        if words == "dc1=4":
            assert removed == ""
            assert added.partition(":")[0] not in {each.host for each in row.replicas}
        else:
            assert added == ""
            assert removed in held
        assert list(model.plan(after)) == [(tablet, kind, removed, added)]


@pytest.mark.parametrize(
    ("lines", "wanted", "said"),
    [
        ("balance", None, "moved"),
        ("balance", 3, "moved"),  # as many as there are
        ("balance", 4, "added"),
        ("balance", 2, "removed"),
        ("", 4, "added"),
        ("", None, ""),
        ("decommission 00000004", 4, "moved"),  # off that node
    ],
)
def test_what_an_rf_change_lacks_comes_before_loads_are_evened_out(
    lines: str, wanted: int | None, said: str, orders: Path
) -> None:
    """The keyspace's tablets get or lose a replica each; only a drain goes before that."""
    timeline = rehearse(orders, lines, topology=FILES["topology"]).timeline
    model, drains = timeline.model, lines.startswith("decommission")
    while drains and not any(model.drain_moves(timeline.state)):
        timeline.forward()
    s = timeline.state
    if wanted is not None:
        changed = replace(s.control.topology, keyspaces=(("shop", (("dc1", wanted),)),))
        s = s.but(control=with_topology(s.control, changed))
    begins = tuple(model.plan(s))
    words = {(True, True): "moved", (False, True): "added", (True, False): "removed"}
    assert {words[bool(old), bool(new)] for _, _, old, new in begins} == {*said.split()}
    if said in ("added", "removed"):
        free = [at for at in model.tablets_of("shop") if not s.tablets[at].transitions]
        assert [at for at, *_ in begins] == free
    if drains:
        assert {old[:8] for _, _, old, _ in begins} == {"00000004"}


def test_each_node_has_the_shards_of_its_own(orders: Path, tmp_path: Path) -> None:
    """A node with more shards than the others gets replicas on those that are empty."""
    topology = edited(tmp_path, "topology", 0, shard_count=8)
    made = rehearse(orders, "rf shop dc1=4", topology=topology)
    while made.timeline.forward() is not None:
        pass
    tablets = made.timeline.state.tablets
    most = {node.host[:8]: node.shards for node in made.opened.nodes}
    assert all(each.shard < most[each.host] for row in tablets for each in row.replicas)
    assert any(each.shard > 1 for row in tablets for each in row.replicas)


def test_a_rehearsal_with_racks_by_name(orders: Path, tmp_path: Path) -> None:
    """The schema's racks are the keyspace's before the change."""
    schema = racked(tmp_path, orders)
    made = rehearse(orders, "rf shop dc1=r1,r2", topology=FILES["topology"], schema=schema)
    timeline = made.timeline
    while timeline.forward() is not None:
        pass
    hosts = {each.host for row in timeline.state.tablets for each in row.replicas}
    assert hosts == {"00000001", "00000002", "00000004"}


@pytest.mark.parametrize(
    ("line", "said"),
    [("rf shop", "rf KEYSPACE"), ("rf x dc1=2", "shop"), ("rf shop dc1=,", "dc1=")],
)
def test_a_line_that_is_no_change(line: str, said: str, orders: Path) -> None:
    """Named as an operation."""
    with pytest.raises(BadInput, match=r"^operation:") as error:
        rehearse(orders, line, topology=FILES["topology"])
    assert said in str(error.value)


def test_a_schema_with_racks_binds_the_balancer(orders: Path, tmp_path: Path) -> None:
    """No move leaves its rack, in the command and in the rehearsal; a drain says what it lacks."""
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


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("dc1=0", ""),
        ("dc1=2", ""),
        ("dc1=3", "one replica at a time: dc1 from 1 to 3"),
        ("dc1=r2", ""),
        ("dc1=r1,r2", "a list of as many racks, and nothing else may change"),
    ],
)
def test_a_keyspace_without_tables(words: str, refused: str, orders: Path, tmp_path: Path) -> None:
    """The schema tells of it; its last replica may go, as no tablet would have to follow."""
    path = described(tmp_path, "'dc1': 3")
    text = path.read_text("utf-8")
    statement = next(line for line in text.splitlines() if "CREATE KEYSPACE" in line)
    empty = statement.replace("shop", "empty").replace("'dc1': 3", "'dc1': 1")
    path.write_text(f"{empty}\n{text}", "utf-8")
    report = rf_change(opened(orders, schema=path), "empty", [words])
    assert report.refused.endswith(refused)
    assert bool(report.refused) == bool(refused)
    assert report.tablets == ()


def test_the_last_node_of_a_named_rack_may_not_leave(orders: Path, tmp_path: Path) -> None:
    """The request is refused at once; of a rack with two nodes one may go."""
    cluster = opened(orders, schema=racked(tmp_path, orders))
    racks = {node.host: node.rack for node in cluster.nodes}
    for host, rack in racks.items():
        alone = [*racks.values()].count(rack) == 1
        assert bool(drain(cluster, host).refused) == alone
        assert drain(opened(orders), host).refused == ""


@pytest.mark.parametrize(
    ("enabled", "named"), [("", True), ("true", True), ("false", False)], ids=str
)
def test_racks_that_are_named_bind_tablets_alone(
    enabled: str, named: bool, orders: Path, tmp_path: Path
) -> None:
    """Of a keyspace without tablets, which the schema has besides, they keep nobody here."""
    path = described(tmp_path, "'dc1': 3")
    text = path.read_text("utf-8")
    made = "CREATE KEYSPACE bare WITH replication = {'class': 'NetworkTopologyStrategy', "
    made += "'dc1': ['r1', 'r2', 'r3']}"
    made += f" AND tablets = {{'enabled': {enabled}}}" * bool(enabled)
    path.write_text(f"{made};\n{text}", "utf-8")
    cluster = opened(orders, schema=path)
    said = "bare names rack r3 of dc1, which would have no node" if named else ""
    assert drain(cluster, HOST3).refused == said


def test_who_leaves_already_is_no_other_node_of_the_rack(orders: Path, tmp_path: Path) -> None:
    """Of the two nodes of a rack one leaves: the other one has to stay, then."""
    cluster = opened(orders, schema=racked(tmp_path, orders))
    first = cluster.nodes[0]
    [second] = (node for node in cluster.nodes[1:] if node.rack == first.rack)
    assert drain(cluster, first.host).refused == drain(cluster, second.host).refused == ""
    nodes = tuple(
        replace(node, role="leaving") if node == second else node for node in cluster.nodes
    )
    assert f"names rack {first.rack} " in drain(replace(cluster, nodes=nodes), first.host).refused


def test_a_datacenter_without_nodes_can_be_named_where_the_keyspace_has_it(
    orders: Path, tmp_path: Path
) -> None:
    """What it asks for there may be given up."""
    path = described(tmp_path, "'dc1': 3")
    empty = "CREATE KEYSPACE empty WITH replication = {'class': 'NetworkTopologyStrategy', "
    path.write_text(f"{empty}'dc1': 1, 'dc2': 1}};\n{path.read_text('utf-8')}", "utf-8")
    cluster = opened(orders, schema=path)
    report = rf_change(cluster, "empty", ["dc2=0"])
    assert (report.before, report.after) == ({"dc1": 1, "dc2": 1}, {"dc1": 1, "dc2": 0})
    for keyspace, words in (("empty", "dc3=0"), ("shop", "dc2=0")):
        with pytest.raises(BadInput, match="DC=REPLICAS"):
            rf_change(cluster, keyspace, [words])


def test_a_datacenter_of_two_racks_comes_in_two_steps(orders: Path, tmp_path: Path) -> None:
    """The last two nodes, which hold nothing, are in it: each tablet goes there twice."""
    schema = racked(tmp_path, orders)
    cluster = opened(orders, schema=schema)
    maps = {
        name: replace(table, tablets=tuple(Tablet(t.last_token, t.replicas) for t in table.tablets))
        for name, table in cluster.maps.items()
    }
    nodes = tuple(
        replace(node, datacenter="dc2") if node.host > HOST3 else node for node in cluster.nodes
    )
    report = rf_change(replace(cluster, nodes=nodes, maps=maps), "shop", ["dc1=3", "dc2=r1,r2"])
    assert report.refused == ""
    to = [host.host for host in nodes[3:]]
    for each in report.tablets:
        assert sorted(step[1:].partition(":")[0] for step in each.steps) == to
        assert each.lacks == ()
    assert (report.gains, report.losses) == (dict.fromkeys(to, 4), {})
    # Before 2026.2 it is refused; since then a node that is down in one of the racks aborts it.
    cluster = replace(cluster, nodes=nodes, maps=maps)
    before = rf_change(replace(cluster, release="2026.1"), "shop", ["dc1=3", "dc2=r1,r2"])
    assert before.refused.startswith("a tablet gains or loses one replica at a time")
    for down, aborts in (({to[0]}, True), ({HOST3}, False)):
        hurt = rf_change(replace(cluster, down=frozenset(down)), "shop", ["dc1=3", "dc2=r1,r2"])
        assert hurt.aborted_by == tuple(down) * aborts


@pytest.mark.parametrize(
    ("words", "gains", "losses"), [("dc1=4", [3, 4, 5], []), ("dc1=2", [], [1, 2])]
)
def test_hosts_are_told_in_their_order(
    words: str, gains: list[int], losses: list[int], orders: Path
) -> None:
    """Whoever the first tablet comes to, or leaves."""
    report = rf_change(opened(orders, edition="documents"), "shop", [words])
    first = report.tablets[0].steps[0][1:].partition(":")[0]
    assert first not in [*report.gains, *report.losses][:1]
    told = [[int(host[:8]) for host in hosts] for hosts in (report.gains, report.losses)]
    assert told == [gains, losses]
