"""``plan --json`` on many rings: several keyspaces, few nodes, datacenters, sizes, odd names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.calling import (
    ABC,
    SIMPLE_2,
    SIMPLE_3,
    TEN,
    Answer,
    call,
    names,
    plan,
    refused,
    ring_of,
    table,
    written,
)

LOCAL, EVERYWHERE = {"class": "LocalStrategy"}, {"class": "EverywhereStrategy"}


def test_several_keyspaces(tmp_path: Path) -> None:
    """Each has its own tables; equal replications have equal ones; local ones have none."""
    spaces = {"a": SIMPLE_3, "own": LOCAL, "b": SIMPLE_2, "all": EVERYWHERE, "c": SIMPLE_3}
    found = plan(written(tmp_path, ring_of(TEN[:4], spaces)), "bootstrap", "x", "--tokens", "250")
    for step in found["steps"]:
        assert list(step["keyspaces"]) == sorted(spaces)
        assert step["keyspaces"]["a"] == step["keyspaces"]["c"]
        assert step["keyspaces"]["own"] == {"reads": [], "writes": []}
    assert found["locks"]["own"] == []
    last = found["steps"][-1]["keyspaces"]["all"]["reads"]
    assert all(sorted(row[2]) == ["n1", "n2", "n3", "n4", "x"] for row in last)
    streams = [s for step in found["steps"] for s in step["streams"]]
    assert list(dict.fromkeys(s["keyspace"] for s in streams)) == ["a", "all", "b", "c"]
    # With a new node in an everywhere keyspace nobody is displaced: a quorum of all streams.
    everywhere = [s["from"] for s in streams if s["keyspace"] == "all"]
    assert {len(givers) for givers in everywhere} == {3}


QUORUM = (
    "a quorum streams where no live node hands its place over, as in the documents; the server "
    "copies from one live replica, so repair afterwards"
)


def test_too_few_nodes(tmp_path: Path) -> None:
    """With RF above the nodes a join is accepted with a warning, a leave refused."""
    path = written(tmp_path, ring_of(TEN[:2]))
    found = plan(path, "bootstrap", "x", "--tokens", "150")
    assert found["warnings"] == [
        "keyspace ks needs 3 replicas: 2 nodes now, enough afterwards",
        QUORUM,
    ]
    assert names(found) == ["prepare", "start", "mid", "finish"]
    assert "keeps 3 replicas" in refused(path, "decommission", "n1")["reason"]
    forced = plan(path, "decommission", "n1", "--force")
    assert forced["warnings"] == [
        "keyspace ks needs 3 replicas: 2 nodes now, 1 node afterwards",
        "forced: the replication check was skipped",
    ]


@pytest.mark.parametrize("kind", ["decommission", "removenode", "assassinate"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_last_node_stays(tmp_path: Path, kind: str, force: list[str]) -> None:
    """The last node cannot go, not even by force."""
    path = written(tmp_path, ring_of(TEN[:1], {"ks": EVERYWHERE}))
    assert "last node" in refused(path, kind, "n1", *force)["reason"]


def test_ring_of_one(tmp_path: Path) -> None:
    """A single node can be joined, moved and replaced."""
    path = written(tmp_path, ring_of(TEN[:1], {"ks": {**SIMPLE_3, "replication_factor": 1}}))
    assert names(plan(path, "bootstrap", "x", "--tokens", "50"))[-1] == "finish"
    assert names(plan(path, "move", "n1", "--tokens", "50")) == [
        "prepare",
        "start",
        "mid",
        "finish",
    ]
    found = plan(path, "replace", "n1", "x")
    assert found["warnings"] == [
        f"no live node holds ks {label}: its data is lost" for label in ("(min, 100]", "(100, max]")
    ]


def test_datacenter_and_rack(tmp_path: Path) -> None:
    """A replacement stands where the replaced node stood; a join where it is told to."""
    nodes = [
        {"name": f"n{i}", "tokens": [100 * i], "dc": f"dc{i % 2 + 1}", "rack": f"r{i % 3}"}
        for i in range(1, 9)
    ]
    network = {"class": "NetworkTopologyStrategy", "dc1": 2, "dc2": "1"}
    path = written(tmp_path, ring_of(nodes, {"ks": network}))
    found = plan(path, "replace", "n3", "x", "--edition", "server")
    before = call("ring", path, "--json").json["keyspaces"]["ks"]
    after = [[a, b, ["x" if n == "n3" else n for n in who]] for a, b, who in before]
    assert table(found["steps"][-1], "reads") == after
    waits = {(b["dc"], b["needed"]) for b in found["steps"][-1]["barriers"]}
    assert waits <= {("dc1", 1), ("dc1", 2), ("dc2", 1), ("dc2", 2)}
    joined = plan(path, "bootstrap", "x", "--tokens", "350", "--dc", "dc2", "--rack", "r9")
    own = [who for _, _, who in table(joined["steps"][-1], "reads") if "x" in who]
    assert own
    assert all(len([n for n in who if n in ("n1", "n3", "n5", "n7", "x")]) == 1 for who in own)


def test_order_from_left_to_right(tmp_path: Path) -> None:
    """Ranges that begin at 0 stand where they belong, after those that begin below."""
    nodes = [{"name": f"n{i}", "tokens": [100 * i - 300]} for i in range(1, 7)]
    found = plan(written(tmp_path, ring_of(nodes)), "decommission", "n4")
    for step in found["steps"]:
        for kind in ("streams", "barriers"):
            lefts = [entry["range"][0] for entry in step[kind]]
            assert lefts == sorted(lefts, key=lambda left: -(2**63) if left is None else left)


def test_bytes_of_ranges(tmp_path: Path) -> None:
    """A range's own bytes count first; a part of a range counts by its share of the tokens."""
    path = written(tmp_path, ring_of(ABC, {"ks": SIMPLE_2}))
    rows = [["200", 300, 7], [None, 100, 2**60 + 1], [100, "200", 1001]]
    sizes = written(tmp_path, {"ranges": {"ks": rows}}, "sizes.json")
    found = plan(path, "bootstrap", "X", "--tokens", "150", "--sizes", sizes)
    streams = next(step["streams"] for step in found["steps"] if step["streams"])
    assert [s["bytes"] for s in streams] == [2**60 + 1, 500, None]


def test_bytes_of_nodes(tmp_path: Path) -> None:
    """A node's bytes are spread over all it replicates: what it hands over adds up to them."""
    content = {**ring_of(TEN[:4]), "partitioner": {"low": 0, "high": 400}}
    sizes = written(tmp_path, {"nodes": {"n2": 9000}}, "sizes.json")
    found = plan(written(tmp_path, content), "decommission", "n2", "--sizes", sizes)
    streams = next(step["streams"] for step in found["steps"] if step["streams"])
    assert [s["from"] for s in streams] == [["n2"]] * len(streams)
    assert sum(s["bytes"] for s in streams) == 9000
    unknown = written(tmp_path, {"nodes": {"n1": 5}}, "sizes.json")
    found = plan(written(tmp_path, content), "decommission", "n2", "--sizes", unknown)
    assert all(s["bytes"] is None for step in found["steps"] for s in step["streams"])


def test_beside_a_forced_removal(tmp_path: Path) -> None:
    """Ranges that only lose a replica are locked too: nobody waits for one who is gone for good."""
    nodes = [
        {"name": "gone", "tokens": [11], "dc": "dc2"},
        *({"name": f"n{i}", "tokens": [i]} for i in (8, 9, 10, 12)),
    ]
    network = {"class": "NetworkTopologyStrategy", "dc1": 1, "dc2": 1}
    path = written(tmp_path, ring_of(nodes, {"ks": network}))
    found = refused(path, "decommission", "n9", "--while", "removenode gone --force")
    assert "is locked by an operation in flight, removenode gone" in found["reason"]


def test_odd_names(tmp_path: Path) -> None:
    """Names with blanks, quotes, markup, dashes or accents come back as they were given."""
    odd = ["a b", "'", '"', "<img src=x onerror=alert(1)>", "-n", "nö", "\N{SNOWMAN}", "𝄞"]
    nodes = [{"name": name, "tokens": [i], "rack": name} for i, name in enumerate(odd)]
    path = written(tmp_path, ring_of(nodes, {"k ö": SIMPLE_2}))
    for name in odd:
        found = plan(path, "decommission", name)
        assert all(name not in row[2] for row in table(found["steps"][-1], "reads", "k ö"))
    answer: Answer = call(
        "plan", path, "bootstrap", "ø x", "--tokens", "-7", "--rack", "𝄞", "--json"
    )
    assert answer.out.isascii()
    assert answer.json["operation"] == "bootstrap 'ø x' --tokens -7 --rack '𝄞'"
    assert any("ø x" in row[2] for row in table(answer.json["steps"][-1], "reads", "k ö"))
