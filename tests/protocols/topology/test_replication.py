"""What an operator says of a keyspace's replication: how it is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.group0.rules.releases import SUPPORTED
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry, RequestEntry, Setting
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import (
    altered,
    factor_text,
    refused_change,
    replication_in,
    with_replication,
)

READ: dict[str, Any] = {
    "dc1=3": (("dc1", 3),),
    "dc2=0 dc1=12": (("dc1", 12), ("dc2", 0)),
    "dc1=r1": (("dc1", ("r1",)),),
    "dc1=r2,r1": (("dc1", ("r2", "r1")),),
    "dc1=7,": (("dc1", ("7",)),),
    "dc1=7,8": (("dc1", ("7", "8")),),
    "dc1=999999999": (("dc1", 999_999_999),),
}
UNREAD = {
    "": "replicas in at least one datacenter",
    "=3": "a datacenter and its number of replicas",
    "dc1": "a datacenter and its number of replicas",
    "dc1=": "a datacenter and its number of replicas",
    "dc1=,": "a datacenter and its number of replicas",
    "dc1=3 dc1=2": "each datacenter once",
    "dc1=r1,r1": "each rack once",
    "dc1=-1": "a number of at most 9 digits",
    "dc1=+1": "a number of at most 9 digits",
    "dc1=3x": "a number of at most 9 digits",
    "dc1=3/1": "transient replicas are not modelled",
    "dc1=٣": "a number of at most 9 digits",
    "dc1=1000000000": "a number of at most 9 digits",
}
RACKS = ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r3", "dc2/r1")
Change = tuple[str, str, Edition, int, str]
CHANGES: tuple[Change, ...] = (
    ("dc1=2", "dc1=3", "server", 3, ""),
    ("dc1=2", "dc1=3", "documents", 0, ""),
    ("dc1=2", "dc1=1", "server", 3, ""),
    ("dc1=2", "dc1=2", "server", 0, ""),
    # What is RF-rack-invalid already may stay so; what is valid may not become it.
    ("dc1=2", "dc1=2", "server", 3, ""),
    ("dc1=2 dc2=1", "dc2=0", "server", 3, ""),
    ("dc1=4", "dc1=3", "server", 3, ""),
    ("dc1=3", "dc1=2", "server", 3, "dc1 has 3 racks for 2 replicas"),
    ("dc1=1", "dc1=2", "server", 3, "dc1 has 3 racks for 2 replicas"),
    ("dc1=2", "dc1=1", "documents", 3, ""),
    ("dc1=r1,r9", "dc1=r1,r2,r9", "server", 3, ""),
    ("dc1=r1,r9", "dc1=r1", "server", 3, ""),
    ("dc1=2", "dc1=2", "documents", 3, ""),
    ("dc1=3", "dc1=4", "server", 3, "dc1 has 3 racks for 4 replicas"),
    ("dc1=3", "dc1=4", "server", 0, ""),
    ("dc1=4", "dc1=5", "server", 0, "dc1 has 4 nodes for 5 replicas"),
    ("dc1=3", "dc1=5", "server", 0, "one replica at a time: dc1 from 3 to 5"),
    ("dc1=2 dc2=1", "dc1=4", "server", 0, "one replica at a time: dc1 from 2 to 4"),
    (
        "dc1=2",
        "dc1=1 dc2=1",
        "server",
        0,
        "one replica at a time: dc1 from 2 to 1, dc2 from 0 to 1",
    ),
    ("dc1=1", "dc1=0", "server", 0, "no replica would be left"),
    ("dc1=1 dc2=1", "dc1=0", "server", 0, ""),
    ("", "dc1=1", "server", 0, "there is no keyspace ks"),
    ("dc1=1", "dc9=1", "server", 0, "dc9 has 0 nodes for 1 replica"),
    ("dc1=1", "dc2=r1", "documents", 0, "the documents edition does not know rack names"),
    ("dc1=1", "dc2=r1", "server", 0, ""),
    ("dc1=1", "dc1=r1", "server", 0, "a list of racks is a separate conversion, not modelled"),
    ("dc1=2", "dc1=r1", "server", 0, "must name as many racks as there are replicas, 2"),
    ("dc1=r1", "dc1=1", "server", 0, ""),
    ("dc1=r1", "dc1=2", "server", 0, "list of racks cannot become a number of replicas"),
    # The sum of all changes counts, unless all replicas are by racks and each is 0 to N or N to 0.
    ("dc1=r1,r2", "dc2=r1", "server", 0, ""),
    ("dc1=r1,r2,r3", "dc1=0 dc2=r1", "server", 0, ""),
    ("dc1=r1,r2", "dc1=r1 dc2=r1", "server", 0, "dc1 from r1,r2 to r1, dc2 from 0 to r1"),
    ("dc1=r1,r2 dc2=r1", "dc1=r1,r2,r3 dc2=0", "server", 0, "r1,r2 to r1,r2,r3, dc2 from r1 to 0"),
    ("dc2=1", "dc1=r1,r2", "server", 0, "dc1 from 0 to r1,r2"),
    ("dc1=r1,r2 dc2=1", "dc1=0", "server", 0, "dc1 from r1,r2 to 0"),
    ("dc1=2 dc2=r1", "dc1=3 dc2=0", "server", 0, "dc1 from 2 to 3, dc2 from r1 to 0"),
    ("dc1=2", "dc2=r1", "server", 0, ""),
    ("dc1=r1", "dc1=r1,r2", "server", 0, ""),
    ("dc1=r1", "dc1=r2", "server", 0, "one replica at a time: dc1 from r1 to r2"),
    ("dc1=r1", "dc1=r1,r9", "server", 0, "dc1 has no node in rack r9"),
    ("dc1=r1", "dc1=r1,r2,r3", "server", 0, "dc1 from r1 to r1,r2,r3"),
    ("dc2=r1", "dc1=r1,r2", "server", 0, ""),
)


@pytest.mark.parametrize("words", READ)
def test_it_is_read_and_written(words: str) -> None:
    """Numbers and racks, by datacenter; what is written is read as the same again."""
    found = replication_in(words.split(), "operations")
    assert found == READ[words]
    again = [f"{datacenter}={factor_text(factor)}" for datacenter, factor in found]
    assert replication_in(again, "operations") == found
    assert " ".join(again) == " ".join(sorted(words.split()))


@pytest.mark.parametrize("words", UNREAD)
def test_what_cannot_be_read_is_told(words: str) -> None:
    """The field, and what would be allowed."""
    with pytest.raises(BadInput, match=f"^given: .*{UNREAD[words]}"):
        replication_in(words.split(), "given")


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_is_refused_with_its_reason(change: Change) -> None:
    """Four normal nodes in three racks of dc1 and one in dc2; other nodes count for nothing."""
    before, words, edition, rf, why = change
    nodes = [NodeEntry(state="normal", tokens=True, rack=rack) for rack in RACKS]
    nodes += [NodeEntry(state="normal", rack="dc9/r1"), NodeEntry(state="left", rack="dc1/r9")]
    name = "ks" if before else "other"
    known = ((name, replication_in((before or "dc1=1").split(), "")),)
    topology = ClusterTopology(nodes=tuple(nodes), rf=rf, keyspaces=known)
    request = RequestEntry(
        "keyspace_rf_change", -1, keyspace="ks", replication=replication_in(words.split(), "")
    )
    said = refused_change(topology, request, Setting(edition=edition))
    assert (said == "") == (why == "")
    assert said.endswith(why)
    after = with_replication(topology, request)
    assert dict(after.keyspaces)["ks"] == altered(topology, request)
    held: dict[str, Any] = dict(known[0][1]) if before else {}
    asked = dict(request.replication)
    counted = {dc for dc, each in asked.items() if held.get(dc) and each == len_of(held[dc])}
    expected = {**held, **{dc: each for dc, each in asked.items() if dc not in counted}}
    assert dict(altered(topology, request)) == expected
    unknown = replace(topology, keyspaces=())
    assert "at a time" not in refused_change(unknown, request, Setting(edition=edition))


SEVERAL_AT_ONCE = """
dc1=r1,r2       | dc2=r1        | one step
dc1=r1          | dc1=r1,r2     | one step
dc1=2           | dc1=3         | one step
dc2=r1          | dc1=r1,r2     | several
dc2=r1          | dc1=r1,r2,r3  | several
dc1=r1,r2 dc2=r1 | dc1=0        | several
dc1=r1,r2,r3    | dc1=0 dc2=r1  | several
dc1=r1          | dc1=r1,r2,r3  | never
dc2=1           | dc1=r1,r2     | never
"""


@pytest.mark.parametrize("case", SEVERAL_AT_ONCE.strip().splitlines())
def test_several_replicas_at_once_by_release(case: str) -> None:
    """Whole datacenters by racks come and go from 2026.2 (``ongoing_rf_changes``), not before."""
    before, words, how = map(str.strip, case.split("|"))
    nodes = tuple(NodeEntry(state="normal", tokens=True, rack=rack) for rack in RACKS)
    known = (("ks", replication_in(before.split(), "")),)
    topology = ClusterTopology(nodes=nodes, keyspaces=known)
    asked = replication_in(words.split(), "")
    request = RequestEntry("keyspace_rf_change", -1, keyspace="ks", replication=asked)
    for release in SUPPORTED:
        said = refused_change(topology, request, Setting("server", release=release))
        allowed = how == "one step" or (how == "several" and release >= "2026.2")
        assert (said == "") == allowed
        assert allowed or "one replica at a time" in said


@pytest.mark.parametrize(("factor", "said"), [(3, ""), (5, "dc1 has 2 nodes for 5 replicas")])
def test_nodes_are_counted_where_replicas_come(factor: int, said: str) -> None:
    """Four replicas on two nodes: one may go, though three have no place either."""
    nodes = (NodeEntry(state="normal", tokens=True, rack="dc1/r1"),) * 2
    topology = ClusterTopology(nodes=nodes, keyspaces=(("ks", (("dc1", 4),)),))
    request = RequestEntry("keyspace_rf_change", -1, keyspace="ks", replication=(("dc1", factor),))
    assert refused_change(topology, request, Setting("server")) == said


def len_of(factor: int | tuple[str, ...]) -> int:
    """How many replicas a factor asks for."""
    return factor if isinstance(factor, int) else len(factor)


@pytest.mark.parametrize(
    ("before", "words", "why"),
    [
        ("dc1=1", "dc1=0", ""),
        ("dc1=r1", "dc1=0", ""),
        ("dc1=r1,r2", "dc1=0", ""),
        ("dc1=2", "dc1=0", "one replica at a time: dc1 from 2 to 0"),
        ("dc1=2", "dc1=r1,r2", ""),
        ("dc1=r1", "dc1=r1,r2 dc2=r1", ""),
        ("dc1=r1", "dc1=r2", "one replica at a time: dc1 from r1 to r2"),
    ],
)
def test_without_tables_nothing_has_to_follow(before: str, words: str, why: str) -> None:
    """The last replica may go; what the statement itself refuses is refused."""
    nodes = tuple(NodeEntry(state="normal", tokens=True, rack=rack) for rack in RACKS)
    topology = ClusterTopology(
        nodes=nodes, keyspaces=(("ks", replication_in([*before.split()], "")),)
    )
    request = RequestEntry(
        "keyspace_rf_change", -1, keyspace="ks", replication=replication_in(words.split(), "")
    )
    assert refused_change(topology, request, Setting(), tables=False).endswith(why)
    assert bool(refused_change(topology, request, Setting(), tables=False)) == bool(why)
