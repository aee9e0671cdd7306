"""``ring`` and ``plan`` on what a cluster's own tools print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import call

SAMPLES = Path(__file__).parents[1] / "fixtures" / "nodetool"
KS = 'ks={"class": "SimpleStrategy", "replication_factor": 2}'
ONE_TOKEN = str(SAMPLES / "cassandra/ring-one-token.txt")


def test_ring_text_needs_only_its_replication() -> None:
    """The text of ``nodetool ring`` and one --keyspace give the same rows as a ring file would."""
    answer = call("ring", ONE_TOKEN, "--keyspace", KS, "--json")
    assert answer.status == 0
    assert answer.json == {
        "keyspaces": {
            "ks": [
                [None, -3074457345618258603, ["10.9.0.2", "10.9.0.3"]],
                [-3074457345618258603, 3074457345618258602, ["10.9.0.3", "10.9.0.1"]],
                [3074457345618258602, None, ["10.9.0.1", "10.9.0.2"]],
            ]
        }
    }


def test_a_plan_on_ring_text_tells_bytes_from_the_loads() -> None:
    """Without a sizes file the loads that nodetool printed say how much is copied, about."""
    words = ("decommission", "10.9.0.2", "--force", "--keyspace", KS, "--json")
    answer = call("plan", ONE_TOKEN, *words)
    assert answer.status == 0
    streams = [stream for step in answer.json["steps"] for stream in step["streams"]]
    assert streams
    assert all(stream["bytes"] is not None for stream in streams)
    assert any(line.startswith("bytes are estimates") for line in answer.json["warnings"])
    bare = call("plan", ONE_TOKEN, "assassinate", "10.9.0.2", "--keyspace", KS, "--json")
    assert not any("estimates" in line for line in bare.json["warnings"])


def test_operations_that_the_tools_show_are_in_flight() -> None:
    """A joining node is no replica yet, and its join cannot begin once more."""
    files = [str(SAMPLES / "scylla" / name) for name in ("ring.txt", "status.txt")]
    options = ("--with", files[1], "--keyspace", KS)
    answer = call("ring", files[0], *options, "--json")
    assert answer.status == 0
    nodes = {name for row in answer.json["keyspaces"]["ks"] for name in row[2]}
    text = Path(files[0]).read_text("utf-8")
    joining = [line.split()[0] for line in text.splitlines() if " Joining " in line]
    assert joining
    assert not nodes & set(joining)
    refused = call("plan", files[0], "bootstrap", joining[0], "--tokens", "7", *options, "--json")
    assert refused.status == 1
    assert joining[0] in json.loads(refused.out)["reason"]


EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "example"


def planned(operation: str, *options: str, rf: int = 3) -> Any:
    """The plan of an operation on the example, of which one node is down."""
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {rf}}}'
    files = (str(EXAMPLE / "ring.txt"), *operation.split())
    told = ("--with", str(EXAMPLE / "status.txt"), "--keyspace", keyspace, "--json")
    return call("plan", *files, *told, *options)


@pytest.mark.parametrize(
    ("operation", "edition", "why"),
    [
        ("removenode 10.0.0.1", "server", "10.0.0.1 is up: decommission it"),
        ("removenode 10.0.0.1", "documents", None),
        ("replace 10.0.0.1 x", "server", "10.0.0.1 is up: stop it first"),
        ("decommission 10.0.0.3", "server", "10.0.0.3 is down: only 10.0.0.3 can drive"),
        ("decommission 10.0.0.3", "documents", "10.0.0.3 is down: only 10.0.0.3 can drive"),
        (
            "move 10.0.0.3 --tokens 7",
            "server",
            "10.0.0.3 is down: only 10.0.0.3 can drive its move",
        ),
        ("removenode 10.0.0.3", "server", None),
        ("replace 10.0.0.3 x", "server", None),
        ("assassinate 10.0.0.3", "server", None),
    ],
)
def test_who_is_up_decides_what_may_begin(operation: str, edition: str, why: str | None) -> None:
    """The server removes and replaces only the dead; who leaves or moves does so itself."""
    answer = planned(operation, "--edition", edition)
    assert answer.json["accepted"] == (why is None)
    assert answer.status == bool(answer.json["reason"])
    assert (answer.json["reason"] or "").startswith(why or "")


HALTS = {
    "decommission 10.0.0.1": "10.0.0.3 is down and cannot receive data",
    "bootstrap x --tokens 5": "10.0.0.3 is down and would hand over ranges: on the server the "
    "bootstrap ends with an error, unless cassandra.consistent.rangemovement is off",
}


@pytest.mark.parametrize("operation", HALTS)
def test_a_plan_halts_before_the_switch(operation: str) -> None:
    """It says why, what has happened by then, and what would have to be copied."""
    answer = planned(operation)
    assert (answer.status, answer.json["accepted"]) == (1, True)
    assert answer.json["reason"].endswith(HALTS[operation])
    assert [step["name"] for step in answer.json["steps"]] == ["prepare", "start"]
    assert answer.json["pending"]
    keyspace = ("--keyspace", 'ks={"class": "SimpleStrategy", "replication_factor": 3}')
    files = (str(EXAMPLE / "ring.txt"), *operation.split(), "--with", str(EXAMPLE / "status.txt"))
    said = call("plan", *files, *keyspace).out
    assert "halts after 2 events" in said
    assert "before the next step this has to be copied" in said
    assert "nothing is copied" not in said


def test_a_node_with_several_tokens_is_not_moved_by_the_server(tmp_path: Path) -> None:
    """The documents give it as many new ones."""
    nodes = [{"name": f"n{at}", "tokens": [at, at + 500]} for at in (1, 2, 3)]
    keyspaces = [
        {"name": "ks", "replication": {"class": "SimpleStrategy", "replication_factor": 2}}
    ]
    path = tmp_path / "vnodes.json"
    path.write_text(json.dumps({"nodes": nodes, "keyspaces": keyspaces}), "utf-8")
    words = ("plan", str(path), "move", "n1", "--tokens", "150,650", "--json")
    refused = call(*words)
    assert (refused.status, refused.json["reason"][:21]) == (1, "n1 has several tokens")
    assert call(*words, "--edition", "documents").status == 0
