"""The library: three interfaces around the core, groups by UUID, a registry on every shard."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput, Refused
from kit.protocols.raft import core, messages
from kit.protocols.raft.library import (
    Commands,
    GroupRegistry,
    Network,
    Persistence,
    RaftServer,
    Rpc,
    StateMachine,
)
from kit.protocols.raft.panels.raft import graphs
from kit.protocols.raft.rules.configuration import Configuration, Member
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.state import Leader, Options, Stored, Written
from kit.protocols.raft.tables import Group, RaftRow, RaftTables, raft_rows, rows_of
from kit.views.diagrams import FOLDERS, digest, digest_in

SCHEMA, DATA = (str(uuid5(UUID(int=0), name)) for name in ("schema", "data"))
UNTIMED = Options(timers=False)
MEMBERS = (Member("A", "10.0.0.1"), Member("B", "[::1]:7000"), Member("C", "rack-2/node c"))


def rows(tables: RaftTables, group: Group) -> tuple[RaftRow, ...]:
    """The rows of ``raft`` of a node."""
    stored = tables.load(group)
    assert stored is not None
    return raft_rows(group, stored)


class Cluster:
    """Nodes with a registry, tables and a state machine each, which all their groups share."""

    def __init__(self, groups: dict[Group, Options], members: tuple[Member, ...] = MEMBERS) -> None:
        self.network = Network()
        self.tables = {m.id: RaftTables() for m in members}
        self.machines = {m.id: Commands() for m in members}
        self.network.nodes = {m.id: GroupRegistry(shards=2) for m in members}
        self.members, self.groups = members, groups
        for member in members:
            self.start(member.id)

    def start(self, name: str) -> None:
        """A node starts, with what is in its tables."""
        for group, options in self.groups.items():
            self.network.nodes[name].add(
                RaftServer(
                    group, name, self.tables[name], self.network, self.machines[name],
                    options, self.members,
                )
            )  # fmt: skip

    def at(self, name: str, group: Group) -> RaftServer:
        """A server."""
        return self.network.nodes[name].find(group)

    def run(self) -> None:
        """Deliver everything."""
        while self.network.in_flight:
            self.network.deliver()

    def elect(self, name: str, group: Group) -> None:
        """A node leads a group."""
        self.at(name, group).do(core.campaign)
        self.run()
        assert isinstance(self.at(name, group).server.role, Leader)

    def write(self, name: str, group: Group, command: str) -> None:
        """A command is committed and applied everywhere."""
        self.at(name, group).do(core.submit, command, request=command)
        self.run()
        self.at(name, group).do(core.remind)
        self.run()


@pytest.mark.spec("C-001")
def test_a_command_is_stored_and_run_on_each_node_through_the_interfaces() -> None:
    """The tables and the state machine of each node have the command."""
    cluster = Cluster({SCHEMA: UNTIMED})
    cluster.elect("A", SCHEMA)
    cluster.write("A", SCHEMA, "create table t")
    for name in "ABC":
        assert cluster.machines[name].lines[SCHEMA] == ["create table t"]
        assert [row.data for row in rows(cluster.tables[name], SCHEMA)] == [None, "create table t"]
    assert cluster.at("A", SCHEMA).answers["create table t"].outcome == "committed"


class Trace:
    """All three interfaces in one, which notes each call, and whose disk may break."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_broken = False

    def store(self, group: Group, written: Written, stored: Stored) -> None:
        """Note it, or fail."""
        if self.is_broken:
            raise OSError("no space left on the disk")
        self.calls.append("store")

    def load(self, group: Group) -> Stored | None:
        """Nothing is there."""
        return None

    def send(self, group: Group, source: str, target: Member, message: Any) -> None:
        """Note it."""
        self.calls.append(f"send to {target.address}")

    def apply(self, group: Group, commands: Any) -> None:
        """Note it."""
        self.calls.append(f"apply {' '.join(commands)}")

    def take_snapshot(self, group: Group) -> str:
        """A text."""
        return "state"

    def load_snapshot(self, group: Group, state: str) -> None:
        """Note it."""
        self.calls.append(f"load {state}")


def test_a_server_stores_before_sending_and_applies_last() -> None:
    """A server that cannot store sends nothing."""
    trace = Trace()
    server = RaftServer(SCHEMA, "A", trace, trace, trace, UNTIMED, MEMBERS[:2])
    server.do(core.campaign)
    server.receive("B", messages.VoteReply(1, True, True))
    trace.calls.clear()
    server.receive("B", messages.VoteReply(1, True))
    assert trace.calls[:2] == ["store", "send to [::1]:7000"]
    server.receive("B", messages.Accepted(1, 0, 1))
    trace.calls.clear()
    server.do(core.submit, "x")
    server.receive("B", messages.Accepted(1, 1, 2))
    assert trace.calls[0] == "store"
    assert trace.calls[-1] == "apply x"
    trace.calls.clear()
    trace.is_broken = True
    with pytest.raises(OSError, match="no space"):
        server.do(core.submit, "y")
    assert trace.calls == []


def test_a_refusal_of_the_core_is_raised() -> None:
    """A follower that knows no leader takes no command."""
    cluster = Cluster({SCHEMA: UNTIMED})
    with pytest.raises(Refused, match="knows no leader"):
        cluster.at("A", SCHEMA).do(core.submit, "x")


def test_two_groups_on_the_same_disks_keep_their_logs_and_options_apart() -> None:
    """And have leaders of their own."""
    cluster = Cluster({SCHEMA: UNTIMED, DATA: Options(timers=False, edition="documents")})
    cluster.elect("A", SCHEMA)
    cluster.elect("B", DATA)
    cluster.write("A", SCHEMA, "create table t")
    cluster.write("B", DATA, "insert 1")
    assert cluster.machines["C"].lines == {SCHEMA: ["create table t"], DATA: ["insert 1"]}
    assert [cluster.at("C", g).options.edition for g in (SCHEMA, DATA)] == ["server", "documents"]
    for group in (SCHEMA, DATA):
        assert {row.group_id for row in rows(cluster.tables["C"], group)} == {group}


@pytest.mark.spec("C-004")
def test_a_message_arrives_only_at_the_server_of_its_group() -> None:
    """Other groups of the same node see nothing of it."""
    cluster = Cluster({SCHEMA: UNTIMED, DATA: UNTIMED})
    cluster.at("A", DATA).do(core.campaign)
    before = cluster.at("B", SCHEMA).server
    routed = cluster.network.deliver()
    assert (routed.group, routed.target) == (DATA, MEMBERS[1])
    assert cluster.at("B", SCHEMA).server is before
    assert {each.group for each in cluster.network.in_flight} == {DATA}


def test_the_registry_finds_a_server_on_any_shard() -> None:
    """An unknown group is refused."""
    cluster = Cluster({SCHEMA: UNTIMED, DATA: UNTIMED})
    registry = cluster.network.nodes["A"]
    for group in (SCHEMA, DATA):
        assert registry.find(group, shard=1) is registry.find(group)
        assert registry.find(group).group == group
    with pytest.raises(BadInput, match="group"):
        registry.find(str(UUID(int=7)), shard=1)


def test_an_unknown_shard_and_an_empty_network_are_refused() -> None:
    """In one line each."""
    for shard in (-1, 2):
        with pytest.raises(BadInput, match=f"^shard: got {shard}; allowed: a number from 0 to 1"):
            GroupRegistry(2).find(uuid5(UUID(int=0), "group"), shard)
    with pytest.raises(Refused, match=r"^no message is on its way"):
        Network().deliver()


def test_a_restarted_node_goes_on_from_its_tables() -> None:
    """Term, vote, log and snapshot are back, and the machine runs what follows."""
    cluster = Cluster({SCHEMA: UNTIMED})
    cluster.elect("A", SCHEMA)
    cluster.write("A", SCHEMA, "one")
    cluster.at("B", SCHEMA).take_snapshot()
    cluster.write("A", SCHEMA, "two")
    stored = cluster.at("B", SCHEMA).server.stored
    cluster.machines["B"] = Commands()
    cluster.start("B")
    assert cluster.at("B", SCHEMA).server.stored == stored
    assert cluster.machines["B"].lines[SCHEMA] == ["one", "two"]
    assert cluster.tables["B"].raft_snapshots[SCHEMA].idx == 2
    cluster.write("A", SCHEMA, "three")
    assert cluster.machines["B"].lines[SCHEMA] == ["one", "two", "three"]


def test_a_restarted_node_has_the_members_of_its_log_and_not_of_its_snapshot() -> None:
    """The log behind the snapshot removed C."""
    cluster = Cluster({SCHEMA: UNTIMED})
    cluster.elect("A", SCHEMA)
    cluster.write("A", SCHEMA, "one")
    cluster.at("A", SCHEMA).take_snapshot()
    cluster.at("A", SCHEMA).do(core.configure, MEMBERS[:2])
    cluster.run()
    rows = cluster.tables["A"].raft_snapshot_config[SCHEMA]
    assert [row.server_id for row in rows] == ["A", "B", "C"]
    cluster.start("A")
    assert cluster.at("A", SCHEMA).server.configuration == Configuration(MEMBERS[:2])


def test_an_address_is_stored_beside_its_member_as_given() -> None:
    """In any format."""
    members = rows_of("raft_snapshot_config", SCHEMA, core.first_stored(MEMBERS))
    assert [(row.server_id, row.address) for row in members] == [(m.id, m.address) for m in MEMBERS]


def test_snapshots_of_groups_that_share_tables_stay_apart() -> None:
    """An id is as long as a UUID."""
    kept = {
        group: Stored(9, "", Log(Snapshot(index, term, Configuration(MEMBERS), state)), index)
        for group, index, term, state in ((SCHEMA, 5, 2, "tables"), (DATA, 5, 2, "rows"))
    }
    tables = RaftTables()
    for group, held in kept.items():
        tables.store(group, Written(snapshot=held.log.snapshot), held)
    assert {group: tables.load(group) for group in kept} == kept
    named = tables.raft_snapshots[SCHEMA].snapshot_id
    assert (named, len(named)) == (f"{SCHEMA[:24]}000200000005", len(SCHEMA))


NAMES = st.text("ABCD", min_size=1, max_size=2)
GROUPS = st.lists(st.builds(Member, NAMES, st.text(), st.booleans()), max_size=4).map(tuple)
CONFIGURATIONS = st.builds(Configuration, GROUPS, GROUPS)


@st.composite
def stored(draw: st.DrawFn) -> Stored:
    """Anything that a server may have stored."""
    index = draw(st.integers(0, 70))
    log = Log(Snapshot(index, draw(st.integers(0, 2)), draw(CONFIGURATIONS), draw(st.text())))
    for data in draw(st.lists(st.one_of(st.none(), st.text(), CONFIGURATIONS), max_size=9)):
        log = log.appended(Entry(draw(st.integers(3, 4)), log.last_index + 1, data))
    return Stored(draw(st.integers(0, 9)), draw(NAMES), log, draw(st.integers(index, index + 9)))


@given(stored())
def test_the_tables_give_back_all_that_a_server_has_stored(given_stored: Stored) -> None:
    """From the rows of its three tables."""
    tables, log = RaftTables(), given_stored.log
    tables.store(DATA, Written(snapshot=log.snapshot, entries=tuple(log)), given_stored)
    assert tables.load(DATA) == given_stored


@pytest.mark.spec("C-001")
def test_the_drawing_of_the_library_has_each_interface_with_its_methods() -> None:
    """And it is up to date."""
    drawn = dict(graphs())["raft-library"]
    text = (FOLDERS[0] / "raft-library.svg").read_text("utf-8")
    assert digest_in(text) == digest(drawn)
    for kind in (Persistence, Rpc, StateMachine):
        assert f">{kind.__name__}</text>" in text
        for name in vars(kind).keys() & {"store", "load", "send", "apply", "take_snapshot"}:
            assert f">{name}(" in text
    assert ">core</text>" in text


@given(stored(), stored(), st.data())
def test_a_cut_log_comes_back_from_the_tables_as_it_is_now(
    before: Stored, other: Stored, data: st.DataObject
) -> None:
    """Cut anywhere, and continued with a shorter or longer log."""
    tables, log = RaftTables(), before.log
    tables.store(DATA, Written(snapshot=log.snapshot, entries=tuple(log)), before)
    cut = data.draw(st.integers(log.snapshot.index + 1, log.last_index + 1))
    kept = Log(log.snapshot)
    for entry in log:
        kept = kept.appended(entry) if entry.index < cut else kept
    new = [Entry(9, cut + at, entry.data) for at, entry in enumerate(other.log)]
    for entry in new:
        kept = kept.appended(entry)
    after = replace(before, log=kept)
    tables.store(DATA, Written(cut=cut, entries=tuple(new)), after)
    assert tables.load(DATA) == after
