"""Importers take ten times as long for ten times as much, not a hundred times.

No clock: the calls of Python functions and the steps of generators are counted.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.clients.statements import parsed
from kit.edge.bundles import read_bundle
from kit.edge.json_text import parse_json
from kit.errors import BadInput
from kit.operators.importers.dumps import parse_csv_rows, parse_json_rows, rows_listing
from kit.operators.importers.opening import import_texts
from kit.operators.importers.ringfile import MOST_KEYSPACES, parse_ring
from kit.operators.importers.system_tables import parse_requests, parse_topology
from kit.operators.importers.topology_journals import parse_journals
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.replication import SimpleStrategy
from tests.commands.calling import ring_of
from tests.hostile.judging import answered
from tests.hostile.test_bundles import member, packed
from tests.hostile.working import Work, work_of
from tests.operators.printing import (
    Host,
    copy_csv,
    describering_text,
    host_id,
    ring_text,
    rows_of,
    select_json,
    status_text,
)
from tests.operators.topology_printing import as_csv, node, table, timeuuid


def hosts(count: int) -> list[Host]:
    """Nodes with a datacenter each: what looked for its like among all others was quadratic."""
    return [
        Host(f"10.{at >> 16}.{at >> 8 & 255}.{at & 255}", (at,), f"dc{at}", host_id=host_id(at))
        for at in range(count)
    ]


def journal(host: str, count: int) -> str:
    """A journal in which a host says that often what it is doing."""
    said = "[shard 0: gms] raft_topology - entered `join group0` transition state"
    return "\n".join(
        f"Feb 01 {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}.1 {host} scylla[1]:  {said}"
        for at in range(count)
    )


def tokens_row(count: int) -> str:
    """One row of a dump with so many tokens."""
    row = {"peer": "10.0.0.1", "data_center": "dc1", "rack": "r1", "tokens": list(range(count))}
    return json.dumps(row)


FORMS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "ring": (lambda n: [("r", ring_text(hosts(n)))], import_texts),
    "status": (lambda n: [("r", ring_text(hosts(n))), ("s", status_text(hosts(n)))], import_texts),
    "tokens of a row": (
        lambda n: tokens_row(10 * n),
        lambda text: rows_listing(parse_json_rows(text, "d"), "d"),
    ),
    "ring file": (
        lambda n: json.dumps(ring_of([{"name": f"n{at}", "tokens": [at]} for at in range(n)])),
        parse_ring,
    ),
    "describering": (
        lambda n: [("d", describering_text(hosts(n), SimpleStrategy(3)))],
        import_texts,
    ),
    "rows of JSON": (lambda n: [("j", select_json(rows_of(hosts(n))))], import_texts),
    "rows of CSV": (lambda n: [("c", copy_csv(rows_of(hosts(n))[1:]))], import_texts),
    "keyspaces": (
        lambda n: [
            f'k{at}={{"class": "SimpleStrategy", "replication_factor": 1}}' for at in range(n)
        ],
        lambda texts: import_texts([("r", ring_text(hosts(2)))], texts),
    ),
    "JSON text": (
        lambda n: [(at, at + 1, 1) for at in range(n)],
        lambda rows: parse_json(json.dumps({"ranges": {"ks": rows}}), "sizes file"),
    ),
    "topology": (
        lambda n: as_csv(table([node(at) for at in range(1, n)])),
        lambda text: parse_topology(text, "t"),
    ),
    "requests of the topology": (
        lambda n: as_csv(
            [{"id": timeuuid(at), "request_type": "join", "done": True} for at in range(n)]
        ),
        lambda text: parse_requests(text, "r"),
    ),
    "journals": (
        lambda n: [(f"{host}.log", journal(host, n)) for host in ("node-a", "node-b")],
        parse_journals,
    ),
    "operation": (
        lambda n: "bootstrap x --tokens " + ",".join(map(str, range(n))),
        parse_operation,
    ),
    "empty lines": (
        lambda n: "peer,rack\n" + "\n" * 10 * n,
        lambda text: parse_csv_rows(text, "c"),
    ),
}


def counted(call: Callable[[], Any]) -> int:
    """How many lines of Python a call runs."""
    lines = 0

    def trace(_frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(former)
    return lines


@pytest.mark.parametrize("name", FORMS)
def test_ten_times_as_much_is_about_ten_times_the_work(name: str) -> None:
    """No step of a reader goes through all that was read before."""
    written, read = FORMS[name]
    read(written(10))
    few, many = written(40), written(400)
    assert counted(lambda: read(many)) <= 12 * counted(lambda: read(few))


def repeated_headers(count: int) -> bytes:
    """An archive whose extended header has that many records."""
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    records = b"13 comment=a\n" * count
    info.size = len(records)
    head = info.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % tarfile.BLOCKSIZE)
    return head + packed(member("snap/x"), mode="w")


HOSTILE: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "records of a header": (1000, repeated_headers),
    "files": (100, lambda n: packed(*(member(f"snap/{at}") for at in range(n)), mode="w")),
    "long names": (100, lambda n: packed(*(member(f"{'d' * 150}/{at}") for at in range(n)))),
    "gzip streams": (400, lambda n: gzip.compress(b"") * n + gzip.compress(repeated_headers(1))),
    "bzip2 streams": (400, lambda n: bz2.compress(b"") * n + bz2.compress(repeated_headers(1))),
    "xz streams": (400, lambda n: lzma.compress(b"") * n + lzma.compress(repeated_headers(1))),
    "zeros at the end": (100, lambda n: gzip.compress(repeated_headers(1)) + bytes(1000 * n)),
}
"""What an archive may have much of, and how much of it is little."""
TEXTS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "conditions": (parsed, "SELECT * FROM ks.t WHERE a = 1", " AND b = 1"),
    "comments": (parsed, "SELECT * FROM ks.t ", "/* x */ "),
    "comments without end": (parsed, "", "/* "),
    "quotes": (parsed, "SELECT * FROM ks.t WHERE a = '", "''"),
    "brackets": (parsed, "INSERT INTO ks.t (a) VALUES (", "{1:("),
    "lists in JSON": (lambda text: parse_json(text, "x"), "", "["),
    "values in JSON": (lambda text: parse_json(text, "x"), "[", "1,"),
    "lines of a journal": (lambda text: parse_journals([("a", text)]), "", f"{journal('n', 1)}\n"),
    "words of a line": (lambda text: import_texts([("a", text)]), "Datacenter: dc1\n", "UN "),
    "columns of a dump": (lambda text: parse_csv_rows(f"{text}\n{text}", "c"), "a", ",b"),
}
"""A reader, how a text begins, and what it may have much of."""


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_archive_is_twice_the_work(name: str, tmp_path: Path) -> None:
    """Neither lines of Python nor bytes that are copied grow by more than the archive does."""
    count, made = HOSTILE[name]
    path = tmp_path / "snap.tar"

    def work(size: int) -> Work:
        path.write_bytes(made(size))
        return work_of(lambda: answered(lambda: read_bundle(path, "snapshot", ("x",))))

    work(count)
    few, many = work(count), work(2 * count)
    assert many.lines <= 2.2 * few.lines
    assert many.made <= 2.5 * few.made


@pytest.mark.parametrize("name", TEXTS)
def test_twice_the_text_is_twice_the_work(name: str) -> None:
    """The same of texts that hold one thing again and again, be they refused."""
    read, head, part = TEXTS[name]

    def work(count: int) -> Work:
        text = head + part * count
        return work_of(lambda: answered(lambda: read(text)))

    work(150)
    few, many = work(150), work(300)
    assert many.lines <= 2.2 * few.lines
    assert many.made <= 2.5 * few.made


def test_many_journals_are_put_together_in_one_go() -> None:
    """Twice as many hosts are twice the work: each year is looked for once."""

    def work(count: int) -> Work:
        texts = [(f"{at}.log", journal(f"n{at}", 2)) for at in range(count)]
        return work_of(lambda: parse_journals(texts))

    work(20)
    assert work(80).lines <= 2.2 * work(40).lines


def test_limits_are_said() -> None:
    """Too many keyspaces and too long an operation are refused by what is allowed."""
    many = {f"ks{at}": {"class": "LocalStrategy"} for at in range(MOST_KEYSPACES + 1)}
    with pytest.raises(BadInput, match=f"at most {MOST_KEYSPACES}"):
        parse_ring(json.dumps(ring_of(keyspaces=many)))
    with pytest.raises(BadInput, match="a line of at most 100000 characters"):
        parse_operation("bootstrap " + "x" * 4_000_000)


def test_a_row_of_many_tokens_twice(tmp_path: Path) -> None:
    """A token that a node has twice is found among 100,000 without comparing all with all."""
    row = json.loads(tokens_row(100_000))
    row["tokens"][-1] = 7
    with pytest.raises(BadInput, match="each token once"):
        rows_listing(parse_json_rows(json.dumps(row), "d"), "d")
