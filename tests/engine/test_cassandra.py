"""What the tools of Cassandra print of nodes that stand here by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.cassandra import GossipServers, ListedNode, Logged, MetadataServers, ServiceView
from kit.engine.drill import DrillMoment

LOG = tuple((epoch, "CUSTOM", f"event {epoch}", epoch) for epoch in (1, 2, 3))


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
