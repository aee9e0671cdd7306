"""What an operator says of a keyspace's replication: how it is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.group0.rules.releases import SUPPORTED, Supported, has
from kit.protocols.topology.rules.cluster import (
    ClusterTopology,
    NodeEntry,
    Replication,
    RequestEntry,
    Setting,
)
from kit.protocols.topology.rules.columns import (
    SystemTopology,
    SystemTopologyRequest,
    SystemTopologyRow,
    load,
)
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import (
    altered,
    expanded,
    factor_text,
    not_played,
    refused_change,
    replication_in,
    with_replication,
)
from kit.protocols.topology.rules.requests import OperationRequest, refusal, requested
from tests.protocols.topology.test_racks import read_cases

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
    ("dc1=2", "dc1=3", "server", 0, ""),
    ("dc1=2", "dc1=3", "documents", 0, ""),
    ("dc1=2", "dc1=1", "documents", 3, ""),
    ("dc1=2", "dc1=2", "server", 0, ""),
    ("dc1=2", "dc1=2", "server", 3, "dc1 has 3 racks for 2 replicas"),
    ("dc1=2", "dc1=3", "server", 3, "dc1 has a number of replicas, and that may only become racks"),
    ("dc1=2 dc2=1", "dc2=0", "server", 0, "dc1 has replicas, so it must be named (with 0 if they"),
    ("dc1=2 dc2=1", "dc2=0", "documents", 0, ""),
    ("dc1=3", "dc1=4", "server", 0, ""),
    ("dc1=4", "dc1=5", "server", 0, "dc1 has 4 nodes for 5 replicas"),
    ("dc1=3", "dc1=5", "server", 0, "one replica at a time: dc1 from 3 to 5"),
    ("dc1=2", "dc1=1 dc2=1", "server", 0, "one replica at a time: dc1 from 2 to 1, dc2 from 0 to"),
    ("dc1=1", "dc1=0", "documents", 0, "no replica would be left"),
    ("", "dc1=1", "server", 0, "there is no keyspace ks"),
    ("dc1=1", "dc1=1 dc9=1", "server", 0, "dc9 has 0 nodes for 1 replica"),
    ("dc1=1", "dc2=r1", "documents", 0, "the documents edition does not know rack names"),
    ("dc1=1", "dc1=1 dc2=r1", "server", 0, ""),
    ("dc1=2", "dc1=r1", "server", 0, "becomes a list of as many racks, and nothing else may"),
    ("dc1=r1", "dc1=2", "server", 0, "list of racks cannot become a number of replicas"),
    ("dc1=r1,r2", "dc1=r1 dc2=r1", "server", 0, "dc1 from r1,r2 to r1, dc2 from 0 to r1"),
    ("dc1=r1", "dc1=r2", "server", 0, "one replica at a time: dc1 from r1 to r2"),
    ("dc1=r1", "dc1=r1,r9", "server", 0, "dc1 has no node in rack r9"),
)


@pytest.mark.parametrize("words", READ)
def test_a_replication_is_read_and_written_as_the_same(words: str) -> None:
    """Numbers and racks, by datacenter."""
    found = replication_in(words.split(), "operations")
    assert found == READ[words]
    again = [f"{datacenter}={factor_text(factor)}" for datacenter, factor in found]
    assert replication_in(again, "operations") == found
    assert " ".join(again) == " ".join(sorted(words.split()))


@pytest.mark.parametrize("words", UNREAD)
def test_a_malformed_replication_is_refused_with_what_is_allowed(words: str) -> None:
    """The error names the field."""
    with pytest.raises(BadInput, match=f"^given: .*{UNREAD[words]}"):
        replication_in(words.split(), "given")


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_of_replication_is_refused_by_racks_and_nodes(change: Change) -> None:
    """Four normal nodes in three racks of dc1 and one in dc2; other nodes do not count."""
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
    assert why in said
    after = with_replication(topology, request)
    assert dict(after.keyspaces)["ks"] == altered(topology, request)
    held: dict[str, Any] = dict(known[0][1]) if before else {}
    asked = dict(request.replication)
    counted = {dc for dc, each in asked.items() if held.get(dc) and each == len_of(held[dc])}
    expected = {**held, **{dc: each for dc, each in asked.items() if dc not in counted}}
    assert dict(altered(topology, request)) == expected
    unknown = replace(topology, keyspaces=())
    assert "at a time" not in refused_change(unknown, request, Setting(edition=edition))


CASES = read_cases(Path(__file__).parent / "published" / "alter_keyspace.txt")


def replicas_of(words: str) -> Any:
    """The replicas of each datacenter; ``[]`` is an empty list of racks."""
    split = [word.partition("=") for word in words.split()]
    empty = [(dc, ()) for dc, _, racks in split if racks == "[]"]
    named = [word for word in words.split() if not word.endswith("[]")]
    return tuple(sorted([*empty, *(replication_in(named, "") if named else ())]))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("release", SUPPORTED)
def test_each_release_accepts_the_published_statements(name: str, release: Supported) -> None:
    """Those that the table names for it, and no others."""
    there, *rows = CASES[name]
    said = dict(part.partition(" ")[::2] for part in there.split("; "))
    nodes = [NodeEntry(state="normal", tokens=True, rack=rack) for rack in said["nodes"].split()]
    zero = said.get("zero-token", "").split()
    nodes += [NodeEntry(state="normal", zero_token=True, rack=rack) for rack in zero]
    for row in rows:
        before, words, accepted = map(str.strip, row.split("|"))
        keyspace = ("ks", replicas_of(before)) if before != "none" else ("other", (("dc1", 1),))
        topology = ClusterTopology(
            nodes=tuple(nodes), rf=int("enforced" in said), keyspaces=(keyspace,)
        )
        setting = Setting(release=release)
        asked = expanded(topology, "ks", replicas_of(words), setting)
        request = RequestEntry("keyspace_rf_change", -1, keyspace="ks", replication=asked)
        refused = refused_change(topology, request, setting, tables="no" not in said)
        when, _, line = accepted.partition(" ")
        newer = bool(line) and release >= line
        accepts = {"all": True, "none": False, "from": newer, "before": not newer}[when]
        assert (not refused) == accepts, (row, refused)


def len_of(factor: int | tuple[str, ...]) -> int:
    """How many replicas a factor asks for."""
    return factor if isinstance(factor, int) else len(factor)


def test_a_conversion_to_racks_is_allowed_and_not_played() -> None:
    """Servers move replicas to the racks first, which models do not."""
    nodes = tuple(NodeEntry(state="normal", tokens=True, rack=rack) for rack in RACKS)
    topology = ClusterTopology(nodes=nodes, keyspaces=(("ks", (("dc1", 2),)),))
    for words, played in (("dc1=r1,r2", False), ("dc1=3", True)):
        request = RequestEntry(
            "keyspace_rf_change", -1, keyspace="ks", replication=replicas_of(words)
        )
        assert refused_change(topology, request, Setting()) == "", words
        assert (not_played(topology, request) == "") == played, words


@pytest.mark.parametrize("release", SUPPORTED)
def test_a_second_change_is_refused_beside_a_pending_change(release: Supported) -> None:
    """Of the same keyspace from 2026.1 on; before 2025.3 of anything."""
    nodes = tuple(NodeEntry(state="normal", tokens=True, rack=rack) for rack in RACKS)
    first = OperationRequest("keyspace_rf_change", keyspace="ks", replication=(("dc1", 2),))
    topology = requested(ClusterTopology(nodes=nodes), first)
    others = {
        "the same": first,
        "another": OperationRequest("keyspace_rf_change", keyspace="kt", replication=(("dc1", 2),)),
        "truncate": OperationRequest("truncate_table", table="ks.t"),
    }
    setting = Setting(release=release)
    refused = {name for name, asks in others.items() if refusal(topology, asks, 0b11111, setting)}
    anything = release < "2025.3"
    since = {"the same"} if release >= "2026.1" else set()
    assert refused == ({*others} if anything else since)
    assert refusal(ClusterTopology(nodes=nodes), first, 0b11111, setting) is None


def test_unknown_requests_editions_releases_and_changes_are_refused() -> None:
    """Patch releases are compared as numbers."""
    with pytest.raises(BadInput, match=r"kind: got 'decommission'; allowed: one of .*leave"):
        OperationRequest("decommission", 1)
    with pytest.raises(BadInput, match="edition: got 'servers'"):
        Setting("servers")  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(BadInput, match=r"release: got '2026\.9'"):
        Setting(release="2026.9")  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(BadInput, match=r"change: got 'excluding'; allowed: one of .*excludenode"):
        has("excluding", "2026.1")
    assert [has("last-node", each) for each in ("2026.1.9", "2026.1.10", "2026.1")] == [0, 1, 1]


ROW = SystemTopologyRow(host_id="a")


@pytest.mark.parametrize(
    ("options", "replication"),
    [
        ((), ()),
        ((("dc1", "3"),), (("dc1", 3),)),
        ((("class", "NetworkTopologyStrategy"), ("dc1", "0")), (("dc1", 0),)),
        ((("dc1:0", "r1"), ("dc1:1", "r2")), (("dc1", ("r1", "r2")),)),
        # ``:`` follows the digits: the options of dc1 stand behind those of dc10.
        ((("dc10", "1"), ("dc1:0", "r1")), (("dc1", ("r1",)), ("dc10", 1))),
        # Names that look like places of a list, or have a colon.
        ((("3", "2"),), (("3", 2),)),
        ((("a:b", "2"),), (("a:b", 2),)),
    ],
)
def test_a_change_is_loaded_from_the_options_of_a_keyspace(
    options: tuple[tuple[str, str], ...], replication: Replication
) -> None:
    """A number for each datacenter, or its racks one by one."""
    request = SystemTopologyRequest(id="1", new_keyspace_rf_change_data=options)
    topology, _ = load(SystemTopology(rows=(ROW,)), (request,))
    assert topology.requests[0].replication == replication
