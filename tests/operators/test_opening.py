"""Opening files of any form, alone and together; what does not fit together is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.nodetool import bytes_of
from kit.operators.importers.opening import Imported, import_texts, open_ring
from kit.operators.importers.ringfile import RingFile, parse_ring
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from tests.operators.printing import Host, host_id, ring_text, rows_of, select_json, status_text
from tests.operators.samples import (
    CASSANDRA,
    DUMPS,
    NETWORK,
    SCYLLA,
    SIMPLE,
    one_line,
    opened,
    refused,
)
from tests.saying import like, says

RING, STATUS = CASSANDRA / "ring.txt", CASSANDRA / "status.txt"
FILE = """{"epoch": 41, "nodes": [
{"name": "10.0.0.1", "tokens": [7, -5], "dc": "dc1", "rack": "r1"},
{"name": "10.0.0.2", "tokens": ["90"], "dc": "dc1", "rack": "r2"}], "keyspaces": [
{"name": "ks", "replication": {"class": "SimpleStrategy", "replication_factor": 2}}]}"""
HOSTS = [
    Host("10.0.0.1", (-5, 7), rack="r1", host_id=host_id(1)),
    Host("10.0.0.2", (90, 95), rack="r2", host_id=host_id(2)),
    Host("10.0.0.3", (20, 60), "dc2", "r1", load="?", host_id=host_id(3)),
]


def together(
    ring: list[Host], status: list[Host], keyspaces: tuple[str, ...] = (SIMPLE,)
) -> Imported:
    """The two outputs of nodetool read as one ring."""
    return import_texts([("r.txt", ring_text(ring)), ("s.txt", status_text(status))], keyspaces)


def test_all_outputs_of_cassandra() -> None:
    """Ring, status and describering give one ring file with loads, host ids and operations."""
    found = opened(RING, STATUS, CASSANDRA / "describering.txt", keyspaces=(NETWORK,))
    assert isinstance(found, RingFile)
    assert found.epoch == 0
    assert found.keyspaces == (
        Keyspace("shop", NetworkTopologyStrategy((("amsterdam", 2), ("bergen", 2)))),
    )
    assert found.ring.names == (
        *("10.1.0.1", "10.1.0.2", "10.1.0.3"),
        *("10.2.0.1", "10.2.0.2", "10.2.0.3"),
    )
    assert {len(node.tokens) for node in found.ring.nodes} == {3}
    assert found.loads["10.1.0.4"] == bytes_of("96.5 MiB")
    assert "10.2.0.3" not in found.loads
    assert found.host_ids["10.2.0.3"] == host_id(7)
    assert found.down == ("10.1.0.2", "10.2.0.3")


def test_all_outputs_of_scylla() -> None:
    """IPv6, an excluded node, one without tokens, one that joins while it is down."""
    files = (SCYLLA / "status.txt", SCYLLA / "ring.txt", SCYLLA / "describering.txt")
    found = opened(*files, keyspaces=(SIMPLE,))
    assert found.ring.names == (
        *("2001:db8:0:1::11", "2001:db8:0:1::12", "2001:db8:0:1::13", "2001:db8:0:2::22"),
    )
    assert found.down == ("2001:db8:0:1::13", "2001:db8:0:2::21", "2001:db8:0:2::22")
    assert [(one.kind, one.health) for one in found.in_flight] == [
        ("bootstrap", "down"),
        ("move", "down"),
    ]
    assert found.loads["2001:db8:0:2::29"] == bytes_of("12.01 KB")
    assert any("2001:db8:0:2::29 owns no tokens" in line for line in found.warnings)


def test_a_ring_file_is_itself() -> None:
    """A ring file is opened as it is, with its epoch; keyspaces and status may be added."""
    plain = parse_ring(FILE)
    found = import_texts([("ring.json", FILE)])
    assert (found.epoch, found.keyspaces) == (41, plain.keyspaces)
    assert found.ring == plain.ring
    assert found.ring.nodes[0].tokens == (7, -5)
    assert found.warnings == ()
    hosts = [HOSTS[0], replace(HOSTS[1], tokens=(90,))]
    more = import_texts([("ring.json", FILE), ("s.txt", status_text(hosts))], [SIMPLE])
    assert more.ring == plain.ring
    assert [keyspace.name for keyspace in more.keyspaces] == ["events", "ks"]
    assert more.loads == dict.fromkeys(plain.ring.names, 3 * 2**29)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"address": "10.0.0.8"}, "r.txt: node | '10.0.0.1' | node | also in s.txt"),
        ({"tokens": (-5,)}, "s.txt: number of tokens of 10.0.0.1 | 1 | 2 | other"),
        ({"dc": "dc9"}, "s.txt: datacenter of 10.0.0.1 | 'dc9' | dc1 | r.txt"),
        ({"rack": "r9"}, "s.txt: rack of 10.0.0.1 | 'r9' | r1 | r.txt"),
        ({"state": "Leaving"}, "s.txt: state of 10.0.0.1 | 'leaving' | normal"),
        ({"host_id": host_id(2)}, "host id of 10.0.0.2 | '00000002-"),
    ],
)
def test_outputs_that_do_not_fit(changes: dict[str, object], said: str) -> None:
    """A node, place, state or number that differs between two files is named with both."""
    with pytest.raises(BadInput) as caught:
        together(HOSTS, [replace(HOSTS[0], **changes), *HOSTS[1:]])
    assert says(one_line(caught.value), said)


def test_a_node_that_one_output_lacks() -> None:
    """A node that the ring has and status has not, or the other way round, is named."""
    for ring, status, said in (
        (HOSTS, HOSTS[:2], "r.txt: node | '10.0.0.3' | node | also in s.txt"),
        (HOSTS[:2], HOSTS, "s.txt: node | '10.0.0.3' | node | also in r.txt"),
    ):
        with pytest.raises(BadInput) as caught:
            together(ring, status)
        assert says(one_line(caught.value), said)


def test_status_alone_is_no_ring() -> None:
    """Status says how many tokens a node owns, not which: the message says what is missing."""
    said = refused((STATUS,))
    assert says(said, "status.txt | 'no tokens' | files | say | tokens")
    assert "nodetool ring or describering" in said
    assert says(refused((DUMPS / "keyspaces.json",)), " | 'no tokens'")
    peers = [("s.txt", status_text(HOSTS)), ("peers", select_json(rows_of(HOSTS)[1:]))]
    with pytest.raises(BadInput, match=like("number of tokens of 10.0.0.1 | 2")):
        import_texts(peers)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x line 1 | '' | ring | file"),
        ("hello\n", "x line 1 | 'hello'"),
        ("\n\n  10.0.0.1 rack1\n", "x line 3 | '10.0.0.1 rack1'"),
        (" peer | data_center\n------+----\n", "x line 1 | 'peer"),
        ("5", "x line 1 | '5'"),
        ("{", "ring file | 'the end of the text'"),
        ('{"nodes": []}', "ring file: missing key | 'keyspaces'"),
        ("Status=Up/Down\nDatacenter: dc1", "x line 1 | 'Status=Up/Down'"),
        ("<html>" * 10_000, "x line 1 | '<html>"),
    ],
)
def test_unknown_forms(text: str, said: str) -> None:
    """A text of no known form is named by its first line, with the forms there are."""
    with pytest.raises(BadInput) as caught:
        import_texts([("x", text)])
    assert says(one_line(caught.value), said)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder, bytes that are no text, no file and a file twice are bad input."""
    noise = tmp_path / "noise"
    noise.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing", tmp_path, noise):
        with pytest.raises(BadInput, match=r"a readable file|text in UTF-8"):
            open_ring(path)
    assert "one or more, each once" in refused(())
    assert "one or more, each once" in refused((RING, RING))
