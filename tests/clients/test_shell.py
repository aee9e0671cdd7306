"""The published cqlsh, as a process of its own, against a cluster of the kit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from kit import serve
from kit.clients.server import Served
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A cluster that has moved a range."""
    with serve("dataplane") as cluster:
        yield cluster


def shell(served: Served, node: str, text: str) -> str:
    """What cqlsh prints; nothing goes wrong."""
    told = subprocess.run(
        [sys.executable, "-m", "cqlshlib", served.addresses[node], str(served.port), "-e", text],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_it_reads_its_node(served: Served) -> None:
    """``system.local`` is a row of the node that is asked."""
    told = shell(served, "A", "SELECT key, data_center, rpc_address FROM system.local")
    assert "local |         dc1 |   127.0.0.1" in told
    assert "(1 rows)" in told


def test_it_reads_virtual_tables(served: Served) -> None:
    """The directory of the nodes has their states."""
    text = "SELECT node_id, state FROM system_views.cluster_metadata_directory WHERE node_id = 4"
    assert "4 | REGISTERED" in shell(served, "B", text)


def test_it_writes_and_reads(served: Served) -> None:
    """A write at QUORUM is found by another node's client."""
    key = served.model.history.right
    write = f"CONSISTENCY QUORUM; INSERT INTO ks.items (key, value) VALUES ({key}, 'by hand')"
    assert "Consistency level set to QUORUM." in shell(served, "K1", write)
    assert "by hand" in shell(served, "K2", "USE ks; SELECT * FROM items")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("DESCRIBE KEYSPACE ks", "CREATE TABLE ks.items (\n    key bigint,\n    value text,"),
        ("DESCRIBE TABLE ks.items", "PRIMARY KEY (key)"),
        ("DESCRIBE KEYSPACES", "system_views"),
        ("USE ks; DESCRIBE TABLES", "items"),
        ("DESCRIBE SCHEMA", "CREATE KEYSPACE ks WITH replication"),
        ("DESCRIBE CLUSTER", "ByteOrderedPartitioner"),
        ("DESCRIBE system_views.gossip_info", "CREATE TABLE system_views.gossip_info"),
    ],
)
def test_it_describes(served: Served, text: str, wanted: str) -> None:
    """The schema is told as statements."""
    assert wanted in shell(served, "A", text)
