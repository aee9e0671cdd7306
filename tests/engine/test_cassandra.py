"""What the tools of Cassandra print of nodes that stand here by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.cassandra import (
    GossipServers,
    ListedNode,
    Logged,
    MetadataServers,
    ServiceView,
    rendered,
    replication_params,
)
from kit.engine.drill import DrillMoment

LOG = tuple((epoch, "CUSTOM", f"event {epoch}", 70 + epoch) for epoch in (1, 2, 3))


class ByHand(MetadataServers):
    """Four nodes: A and B own tokens, C is registered, D is not listed; all but A are down."""

    def __init__(self, **listed: ListedNode) -> None:
        """Some of the nodes are listed otherwise."""
        super().__init__()
        known = {"A": ListedNode("JOINED", (5,)), "B": ListedNode("LEAVING", (7,)), **listed}
        self.known = {"ABCD".index(name): node for name, node in known.items()}

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Only A answers."""
        return at == 0

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """The CMS of A at epoch 3."""
        return ServiceView(3, (), (0,))

    def entries(self, now: DrillMoment) -> Iterable[Logged]:
        """Three entries."""
        return LOG

    def listed(self, now: DrillMoment, at: int) -> Mapping[int, ListedNode]:
        """What stands here."""
        return self.known


NOW: Any = SimpleNamespace(here=0, place="A", model=SimpleNamespace(names=tuple("ABCD")))
REGISTERED = ListedNode("REGISTERED")


def test_who_is_not_reached_is_told_of_members_only() -> None:
    """Neither of a node that the directory lacks nor of one that has not joined."""
    assert ByHand().versions(NOW)[1] == ["10.0.0.12"]
    assert ByHand(C=REGISTERED).versions(NOW)[1] == ["10.0.0.12"]
    assert ByHand(C=ListedNode("BOOTSTRAPPING")).versions(NOW)[1] == ["10.0.0.12", "10.0.0.13"]
    joined = ByHand(C=REGISTERED, D=ListedNode("JOINED")).versions(NOW)[1]
    assert joined == ["10.0.0.12", "10.0.0.14"]


def test_who_is_asked_tells_its_own_version_member_or_not() -> None:
    """A has only registered."""
    [reached] = ByHand(A=REGISTERED).versions(NOW)[0].values()
    assert reached == ["10.0.0.11"]


def test_who_is_registered_has_no_status_yet() -> None:
    """Its other states are there, each with the epoch of the node that is asked."""
    rows = {row["address"]: row for row in ByHand(C=REGISTERED).heard(NOW, 0)}
    assert [rows[f"10.0.0.{n}"].get("status") for n in (11, 12, 13)] == ["NORMAL", "LEAVING", None]
    assert rows["10.0.0.13"].get("status_version") is None
    assert {row["dc_version"] for row in rows.values()} == {3}


@pytest.mark.parametrize(
    ("nodes", "tokens"),
    [
        ({}, ["7", "5", "7"]),
        ({"C": ListedNode("JOINED", (9, -3))}, ["9", "-3", "5", "7", "9"]),
        ({"B": REGISTERED}, ["5"]),
    ],
)
def test_a_ring_begins_with_its_last_token(nodes: dict[str, ListedNode], tokens: list[str]) -> None:
    """As soon as there are two; nothing but the token is in that row."""
    [_, datacenter, _, head, *rows] = ByHand(**nodes).ring(NOW, {}).lines
    assert (datacenter, head.split()[-1]) == ("Datacenter: dc1", "Token")
    assert [row.split()[-1] for row in rows] == tokens
    assert [row.split() == [row.strip()] for row in rows] == [
        len(rows) > 1 and row == rows[0] for row in rows
    ]


@pytest.mark.parametrize(
    ("given", "shown"),
    [({}, [1, 2, 3]), ({"start": "2"}, [2, 3]), ({"end": "1"}, [1]), ({"start": "4"}, [])],
)
def test_a_part_of_the_log_is_dumped(given: dict[str, Any], shown: list[int]) -> None:
    """From the first entry to the last, unless one says otherwise."""
    lines = ByHand().dumplog(NOW, given).lines
    assert [line for line in lines if line.startswith("Epoch")] == [f"Epoch: {n}" for n in shown]


EVERY = {
    "B": ListedNode("MOVING", (7, 8), {"type": "MOVE", "next": "START"}),
    "C": ListedNode("BOOTSTRAPPING", (), joins_at=(9,)),
    "D": ListedNode("BOOT_REPLACING"),
}
"""A node of each kind beside A, which has joined: the tokens of D are not told."""


def fields(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Names and values of lines that stand in two columns."""
    return [(line[:24].strip(), line[24:]) for line in lines]


def test_an_entry_of_the_log_is_a_block() -> None:
    """Its columns are as wide as the longest name; it was made as many seconds after 1970."""
    assert ByHand().dumplog(NOW, {"start": "3"}).lines == (
        "Epoch: 3",
        "  kind           CUSTOM",
        "  transformation event 3",
        "  entry_id       73",
        "  entry_time     Thu Jan 01 00:00:03 UTC 1970",
    )


def test_a_node_of_the_directory_is_a_block() -> None:
    """What no model tells is a question mark; an operation is there while one is under way."""
    listed = ByHand(**EVERY)
    blocks = listed.dumpdirectory(NOW, {}).lines
    assert [line for line in blocks if line.startswith("Node")] == [
        f"NodeId: {number}" for number in (1, 2, 3, 4)
    ]
    names = [name for name, _ in fields(blocks)]
    assert names.count("multi_step_operation") == 1
    begins = blocks.index("NodeId: 2")
    assert fields(blocks[begins + 1 : begins + 14]) == [
        ("host_id", "0000000b-0000-4000-8000-00000000000b"),
        ("state", "MOVING"),
        ("cassandra_version", "?"),
        ("serialization_version", "?"),
        ("rack", "r1"),
        ("dc", "dc1"),
        ("broadcast_address", "/10.0.0.12"),
        ("broadcast_port", "7000"),
        ("local_address", "/10.0.0.12"),
        ("local_port", "7000"),
        ("native_address", "/10.0.0.12"),
        ("native_port", "9042"),
        ("multi_step_operation", "{type=MOVE, next=START}"),
    ]
    tokens = fields(listed.dumpdirectory_tokens(NOW, {}).lines)
    assert [value for name, value in tokens if name == "tokens"] == ["[5]", "[7, 8]", "[]"]


def test_the_service_is_described_by_the_node_that_is_asked() -> None:
    """A is its only member, and sees nothing that would have to change."""
    told = dict(line.split(": ", 1) for line in ByHand().describe_cms(NOW, {}).lines[1:])
    assert told == {
        "CMS Identifier": "?",
        "Members": "(nodeid=1,address=/10.0.0.11:7000)",
        "Needs reconfiguration": "false",
        "Is Member": "true",
        "Service State": "LOCAL",
        "Is Migrating": "false",
        "Epoch": "3",
        "Local Pending Count": "0",
        "Commits Paused": "false",
        "Replication factor": "?",
    }


def test_a_ring_has_who_joins_and_no_one_without_tokens() -> None:
    """A row a token; who joins is listed by the tokens that it is to have."""
    rows = [line.split() for line in ByHand(**EVERY).ring(NOW, {}).lines[5:]]
    assert rows == [
        ["10.0.0.11", "r1", "Up", "Normal", "?", "?", "5"],
        ["10.0.0.12", "r1", "Down", "Moving", "?", "?", "7"],
        ["10.0.0.12", "r1", "Down", "Moving", "?", "?", "8"],
        ["10.0.0.13", "r1", "Down", "Joining", "?", "?", "9"],
    ]


def test_a_status_counts_tokens_where_they_are_told() -> None:
    """Those of a node that joins, too; who has only registered is in no ring."""
    said = [line.split() for line in ByHand(**EVERY).status(NOW, {}).lines]
    counted = [(row[0], row[1][-2:], row[3]) for row in said if row[0] in ("UN", "DM", "DJ")]
    assert counted == [("UN", "11", "1"), ("DM", "12", "2"), ("DJ", "13", "1"), ("DJ", "14", "?")]
    assert "10.0.0.13" not in " ".join(ByHand(C=REGISTERED).status(NOW, {}).lines)


def test_gossip_tells_of_tokens_only_that_there_are_some() -> None:
    """Each node has been heard of, with the word of gossip for its state."""
    lines = [line.strip() for line in ByHand(**EVERY).gossipinfo(NOW, {}).lines]
    assert [line for line in lines if line.startswith("TOKENS")] == [
        *["TOKENS:3:<hidden>"] * 2,
        *["TOKENS: not present"] * 2,
    ]
    assert [line for line in lines if line.startswith("STATUS")] == [
        f"STATUS:3:{word}" for word in ("NORMAL", "MOVING", "BOOT", "BOOT_REPLACE")
    ]
    assert lines[8:11] == ["/10.0.0.12", "generation:?", "heartbeat:?"]


def test_who_has_no_service_cannot_describe_it() -> None:
    """What depends on who is in it is not known."""

    class Alone(ByHand):
        """The model tells of no members."""

        def service(self, now: DrillMoment, at: int) -> ServiceView:
            """At epoch 0."""
            return ServiceView(0, ())

    lines = Alone().describe_cms(NOW, {}).lines
    assert [line for line in lines if line.endswith("?")] == [
        f"{label}: ?"
        for label in (
            "CMS Identifier",
            "Members",
            "Needs reconfiguration",
            "Is Member",
            "Service State",
        )
    ]
    assert lines[-1] == "Replication factor:"


def test_the_directory_is_dumped_by_the_numbers_of_nodes() -> None:
    """In whichever order the node that is asked learned of them."""
    late = ByHand()
    late.known = dict(reversed(late.known.items()))
    lines = late.dumpdirectory(NOW, {}).lines
    assert [line for line in lines if line.startswith("Node")] == ["NodeId: 1", "NodeId: 2"]


def test_transformations_go_by_the_names_of_their_classes() -> None:
    """With their published fields; nodes are numbered from 1."""
    assert rendered("SCHEMA_CHANGE", "a table") == "AlterSchema{}: a table"
    joins = "PrepareJoin{id=NodeId{id=1}, tokens=[5, 7]}: A joins"
    assert rendered("PREPARE_JOIN", "A joins", 0, (5, 7)) == joins
    replaces = "PrepareReplace{replaced=NodeId{id=1}, replacement=NodeId{id=2}}: B for A"
    assert rendered("PREPARE_REPLACE", "B for A", 1, replaced=0) == replaces


def test_a_strategy_goes_by_its_full_name() -> None:
    """With how many each datacenter has; ? where that is not told."""
    assert replication_params({}) == "?"
    assert replication_params({"dc1": 3, "dc2": 1}) == (
        "ReplicationParams{class=org.apache.cassandra.locator.MetaStrategy, dc1=3, dc2=1}"
    )


def test_all_have_the_first_version_of_the_schema() -> None:
    """None of these events changes it."""
    assert ByHand().versions(NOW)[0] == {"00000000-0000-0000-0000-000000000000": ["10.0.0.11"]}


def test_the_tables_of_gossip_are_there_beside_those_of_the_log() -> None:
    """A server that follows a log gossips, too."""

    class Gossiping(GossipServers):
        """Nobody has heard anything."""

    own = {table.name for table in Gossiping().tables}
    assert own == {"gossip_info"}
    assert own < {table.name for table in ByHand().tables}


def test_datacenters_stand_in_the_order_of_their_names() -> None:
    """Whichever node is listed first."""

    class Apart(ByHand):
        """A is in the second of two datacenters."""

        def hosts(self, now: DrillMoment) -> Any:
            """As they are, but for that."""
            return [
                replace(host, dc=f"dc{2 - bool(at)}") for at, host in enumerate(super().hosts(now))
            ]

    for said in (Apart().status(NOW, {}), Apart().ring(NOW, {})):
        names = [line for line in said.lines if line.startswith("Datacenter: ")]
        assert names == ["Datacenter: dc1", "Datacenter: dc2"]
    away = Apart(B=REGISTERED, C=REGISTERED).ring(NOW, {}).lines
    assert [line for line in away if line.startswith("Datacenter: ")] == ["Datacenter: dc2"]
