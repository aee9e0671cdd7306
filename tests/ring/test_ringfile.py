"""Ring files: what is read, and one clear line for everything else."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.ringfile import parse_ring, read_ring
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node
from tests.saying import says

GOOD: dict[str, Any] = {
    "epoch": 7,
    "nodes": [
        {"name": "n1", "tokens": [100, "-9223372036854775808"], "dc": "east", "rack": "a"},
        {"name": "n2", "tokens": ["200"]},
    ],
    "keyspaces": [
        {"name": "ks", "replication": {"class": "SimpleStrategy", "replication_factor": 3}},
        {"name": "net", "replication": {"class": "NetworkTopologyStrategy", "east": "1"}},
    ],
}


def test_a_file_is_read(tmp_path: Path) -> None:
    """Epoch, nodes with defaults, tokens as numbers or texts, keyspaces with factors above."""
    path = tmp_path / "ring.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    read = read_ring(path)
    assert read.epoch == 7
    assert read.ring.nodes == (
        Node("n1", (100, MURMUR3.low), "east", "a"),
        Node("n2", (200,), "dc1", "r1"),
    )
    assert read.keyspaces == (
        Keyspace("ks", SimpleStrategy(3)),
        Keyspace("net", NetworkTopologyStrategy((("east", 1),))),
    )


def test_partitioners() -> None:
    """Murmur3 is the default; a small space is given by its ends."""
    given_small = {**GOOD, "partitioner": {"low": 0, "high": 400}}
    given_small["nodes"] = [{"name": "<img src=x onerror=alert(1)>", "tokens": [0, 400]}]
    given_small["keyspaces"] = []
    ring = parse_ring(json.dumps(given_small)).ring
    assert ring.space == small(400)
    assert ring.names == ("<img src=x onerror=alert(1)>",)
    assert parse_ring(json.dumps({**GOOD, "partitioner": "murmur3"})).ring.space == MURMUR3


def changed(path: str, value: object) -> str:
    """The good file with one place changed; the path is keys and indices between dots."""
    data = json.loads(json.dumps(GOOD))
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    place = data
    for part in way:
        place = place[part]
    place[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("more", 1, "ring file: unknown key | 'more' | nodes, keyspaces, epoch"),
        ("nodes.0.token", 1, "nodes[0]: unknown key | 'token'"),
        ("keyspaces.0.rf", 1, "keyspaces[0]: unknown key | 'rf'"),
        ("epoch", -1, "epoch | -1"),
        ("epoch", "7", "epoch | '7'"),
        ("epoch", True, "epoch | True"),
        ("nodes", [], "nodes | [] | least | 1"),
        ("nodes", {}, "nodes | {}"),
        ("nodes.1", 3, "nodes[1] | 3 | object | name | tokens"),
        ("nodes.1.name", "n1", "nodes[1].name | 'n1'"),
        ("nodes.1.name", "", "nodes[1].name | ''"),
        ("nodes.1.name", "a\nb", "nodes[1].name"),
        ("nodes.1.name", "\ud800", "nodes[1].name"),
        ("nodes.1.name", "x" * 9999, "nodes[1].name"),
        ("nodes.1.dc", None, "nodes[1].dc | None"),
        ("nodes.1.rack", 4, "nodes[1].rack | 4"),
        ("nodes.1.tokens", [], "nodes[1].tokens | []"),
        ("nodes.1.tokens", 5, "nodes[1].tokens | 5"),
        ("nodes.1.tokens.0", 100, "nodes[1].tokens[0] | 100 | tokens with one owner"),
        ("nodes.1.tokens.0", "100", "nodes[1].tokens[0] | 100"),
        ("nodes.1.tokens.0", True, "nodes[1].tokens[0] | True"),
        ("nodes.1.tokens.0", 1.0, "nodes[1].tokens[0] | 1.0"),
        ("nodes.1.tokens.0", "1e3", "nodes[1].tokens[0] | '1e3'"),
        ("nodes.1.tokens.0", 2**63, "nodes[1].tokens[0] | 9223372036854775808"),
        ("nodes.1.tokens.0", str(2**63), "nodes[1].tokens[0] | 9223372036854775808"),
        ("nodes.1.tokens.0", "9" * 9999, "nodes[1].tokens[0] | '999"),
        ("partitioner", "random", "partitioner | 'random'"),
        ("partitioner", {"low": 0, "high": 50}, "nodes[0].tokens[0] | 100 | integer"),
        ("partitioner", {"low": 5, "high": 5}, "partitioner.high | 5"),
        ("partitioner", {"low": 0}, "partitioner: missing key | 'high'"),
        ("partitioner", [], "partitioner | []"),
        ("keyspaces", None, "keyspaces | None"),
        ("keyspaces.1.name", "ks", "keyspaces[1].name | 'ks'"),
        ("keyspaces.0.replication", {}, "keyspaces[0].replication.class"),
        ("keyspaces.0.replication.replication_factor", 0, "replication_factor | 0"),
        ("keyspaces.1.replication.we\nst", 1, "keyspaces[1].replication: datacenter | 'we"),
    ],
)
def test_bad_values(path: str, value: object, said: str) -> None:
    """Each wrong value is named with its field and what would be allowed, in one short line."""
    with pytest.raises(BadInput) as caught:
        parse_ring(changed(path, value))
    text = str(caught.value)
    assert says(text, said)
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize("key", ["nodes", "keyspaces"])
def test_missing_parts(key: str) -> None:
    """Nodes and keyspaces must be there."""
    with pytest.raises(BadInput, match=f"missing key: got '{key}'"):
        parse_ring(json.dumps({k: v for k, v in GOOD.items() if k != key}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the end of the text"),
        ('{"nodes": [', "the end of the text"),
        ('{"epoch": 1, "epoch": 2}', " | 'epoch' | each | key | once"),
        ('{"epoch": NaN}', " | 'NaN'"),
        ('{"epoch": ' + "9" * 5000 + "}", "integers of at most 20 digits"),
        ("[" * 100_000, "ring file"),
        ("[]", "ring file | []"),
        ("null", "ring file | None"),
    ],
)
def test_bad_text(text: str, said: str) -> None:
    """Truncated text, repeated keys, numbers without end and deep nesting are refused in a line."""
    with pytest.raises(BadInput) as caught:
        parse_ring(text)
    assert says(caught.value, said)
    assert "\n" not in str(caught.value)


@given(st.integers(0, 200))
def test_truncated_anywhere(length: int) -> None:
    """A file cut off anywhere is bad input, never another error."""
    text = json.dumps(GOOD)
    with pytest.raises(BadInput):
        parse_ring(text[: min(length, len(text) - 1)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("name", "tokens", "replication", "class")), inner)
    ),
    max_leaves=6,
)


@given(st.sampled_from(("epoch", "nodes", "nodes.0", "nodes.0.tokens.0", "keyspaces.0")), JSON)
def test_any_value_anywhere(path: str, value: object) -> None:
    """Whatever stands in a place, the answer is a ring file or bad input."""
    text = changed(path, value)
    with suppress(BadInput):
        parse_ring(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text are bad input."""
    noise = tmp_path / "noise.json"
    noise.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.json", tmp_path, noise, Path("a\0b")):
        with pytest.raises(BadInput, match="ring file"):
            read_ring(path)
