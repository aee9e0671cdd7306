"""The text of ``nodetool describering``: ranges, owners, and the replicas that it lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.nodetool import owned_tokens, parse_describering_text
from kit.operators.importers.opening import import_texts
from kit.ring.replication import EverywhereStrategy, Keyspace, Replication, SimpleStrategy
from tests.operators.printing import Host, describering_text, ring_of, ring_text
from tests.operators.samples import CASSANDRA, clusters, one_line, opened, text_of
from tests.saying import says

LOW = -(2**63)
RANGES = text_of(CASSANDRA / "describering.txt")
FIRST = RANGES.split("\n")[2]


def test_a_sample_of_cassandra() -> None:
    """Ranges in no order, the first replica of each as the owner of its end, places of replicas."""
    listing = parse_describering_text(RANGES, "d.txt")
    assert len(listing.ranges) == 18
    assert listing.ranges[0].right == -3881023613069443411
    assert listing.ranges[0].replicas == ("10.1.0.3", "10.2.0.2", "10.2.0.1", "10.1.0.2")
    assert {(n.name, n.dc, n.rack) for n in listing.nodes} == {
        *(("10.1.0.1", "amsterdam", "r1"), ("10.1.0.2", "amsterdam", "r2")),
        *(("10.1.0.3", "amsterdam", "r3"), ("10.2.0.1", "bergen", "availability-a")),
        *(("10.2.0.2", "bergen", "availability-b"), ("10.2.0.3", "bergen", "availability-c")),
    }
    ring = opened(CASSANDRA / "ring.txt").ring
    owners = dict(zip(ring.tokens.tolist(), (ring.names[c] for c in ring.owners), strict=True))
    assert owned_tokens(listing.ranges) == owners


REPLICATIONS = st.sampled_from((SimpleStrategy(1), SimpleStrategy(3), EverywhereStrategy()))


@given(clusters(), REPLICATIONS, st.booleans(), st.booleans())
def test_any_ring_is_read_back(
    hosts: list[Host], replication: Replication, scylla: bool, unwrapped: bool
) -> None:
    """Ranges of any ring give its tokens and owners, also where no range goes around."""
    hosts = [replace(host, tokens=tuple(t for t in host.tokens if t != LOW)) for host in hosts]
    hosts[0] = replace(hosts[0], tokens=hosts[0].tokens or (7,))
    ring = ring_of(hosts)
    text = describering_text(hosts, replication, scylla=scylla, unwrapped=unwrapped)
    found = import_texts([("d.txt", text)], [Keyspace("ks", replication)])
    assert found.ring.tokens.tolist() == ring.tokens.tolist()
    assert {n.name: n.tokens for n in found.ring.nodes} == {n.name: n.tokens for n in ring.nodes}
    beside = [("ring.txt", ring_text(hosts)), ("d.txt", text)]
    again = import_texts(beside, [Keyspace("ks", replication)])
    assert again.ring == found.ring
    assert not [x for x in (*found.warnings, *again.warnings) if "differ" in x]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("TokenRange(start_token:-4720586066214327776", "TokenRange(start:5", "line 3: got"),
        ("start_token:-4720586066214327776", "start_token:x", "line 3 | 'TokenRange(start_to"),
        ("end_token:-3881023613069443411", "end_token:9" + "0" * 20, "line 3: got"),
        (
            "end_token:-3881023613069443411",
            "end_token:-3881023613069443410",
            "where the one before",
        ),
        ("end_token:-3881023613069443411", "end_token:2784249659845191438", "each range once"),
        ("endpoints:[10.1.0.3, ", "endpoints:[", "matching endpoints and details"),
        ("host:10.1.0.3, datacenter:amsterdam, rack:r3", "host:10.1.0.3", "line 3: got"),
        (
            "datacenter:amsterdam, rack:r3",
            "datacenter:amsterdam, rack:r2",
            "where other lines have",
        ),
        ("])])\n".replace("])])", ")])"), "\n", "line 3: got"),
        (FIRST + "\n", "", "is a line missing"),
        (FIRST, FIRST + "\n" + FIRST, "each range once, but line 3 also ends there"),
        (FIRST, FIRST + "\nTokenRange: ", "line 4 | 'TokenRange:'"),
        (FIRST, FIRST + "\nerror: gone", "line 4 | 'error: gone'"),
    ],
)
def test_bad_lines(old: str, new: str, said: str) -> None:
    """A line of no known form, a missing range and one given twice are named."""
    assert old in RANGES
    with pytest.raises(BadInput) as caught:
        parse_describering_text(RANGES.replace(old, new, 1), "d.txt")
    assert says(one_line(caught.value), said)


@given(st.integers(0, len(RANGES) - 2))
def test_cut_off_anywhere(length: int) -> None:
    """Ranges that end early leave a part of the ring out, which is refused."""
    with pytest.raises(BadInput) as caught:
        parse_describering_text(RANGES[:length], "d.txt")
    one_line(caught.value)
