"""Lines that describe requests are read strictly."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage.rules.requests import (
    ClientRequest,
    parse_request,
    parse_workload,
    timestamp,
    tombstone,
    value,
    written,
)
from tests.protocols.storage.toys import epochs, toy
from tests.saying import says


def test_a_line_is_a_request() -> None:
    """Coordinator, kind, level; QUORUM when none is said; a datacenter behind @."""
    assert parse_request("K1 write ALL") == ClientRequest("K1", "write", "ALL")
    assert parse_request("K1 read") == ClientRequest("K1", "read", "QUORUM")
    assert parse_request("K2@dc2 delete LOCAL_QUORUM") == ClientRequest(
        "K2", "delete", "LOCAL_QUORUM", "dc2"
    )


def test_how_long_names_may_be() -> None:
    """Twenty letters of a coordinator, forty of a datacenter."""
    request = parse_request(f"{'K' * 20}@{'d' * 40}   read  ONE")
    assert request == ClientRequest("K" * 20, "read", "ONE", "d" * 40)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("write",), "requests | 'write' | COORDINATOR"),
        (("K" * 21 + " read",), "requests | COORDINATOR"),
        (("K1@" + "d" * 41 + " read",), "requests | COORDINATOR"),
        (("K1 update QUORUM",), "requests | 'update' | write, delete, read"),
        (("K1 read MOST",), "requests | 'MOST' | ONE, TWO"),
        (("K1 read quorum",), "requests | 'quorum'"),
        ((), "requests | 0 | 1 | 6 | lines"),
        (("K1 read",) * 61, "requests | 61 | 1 | 60 | lines"),
        (("K1@a read", "K1@b read"), "requests | 'K1' | datacenter | coordinator"),
    ],
)
def test_other_lines_are_refused(lines: tuple[str, ...], said: str) -> None:
    """One clear error names the field, the value and what is allowed."""
    with pytest.raises(BadInput) as error:
        parse_workload(lines)
    assert says(error.value, said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("K1@dc1 read", ""),
        ("K1@dc2 read", ""),
        ("K1@dc3 read", "requests | 'dc3' | a datacenter of the range: dc1, dc2"),
        ("A read", "requests | 'A' | not one of the replicas A, X"),
        ("X@dc1 read", "requests | 'X' | not one of the replicas A, X"),
    ],
)
def test_a_coordinator_is_of_a_datacenter_of_the_range(line: str, said: str) -> None:
    """And no replica; the datacenters are named in order, whatever order the replicas have."""
    moves = replace(epochs(), dcs=("dc2", "dc1"))
    if not said:
        assert toy(moves, (line,)).workload == (parse_request(line),)
        return
    with pytest.raises(BadInput) as error:
        toy(moves, (line,))
    assert says(error.value, said)


def test_a_workload_has_one_request_to_sixty() -> None:
    """Each is read, in order; several coordinators may be of several datacenters."""
    for count in (1, 2, 59, 60):
        assert parse_workload(("K1 read",) * count) == (parse_request("K1 read"),) * count
    lines = ("K1@a read", "K2@b write", "K1@a delete")
    assert parse_workload(lines) == tuple(map(parse_request, lines))


def test_the_last_write_wins() -> None:
    """Of two cells the later stays, a tombstone like any other; a deleted value is no value."""
    assert max(written(1), tombstone(2)) == tombstone(2)
    assert max(written(3), tombstone(2)) == written(3)
    assert (timestamp(tombstone(2)), value(tombstone(2)), value(written(2))) == (2, 0, 2)
