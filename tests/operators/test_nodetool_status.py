"""The text of ``nodetool status``: both layouts of both tools, and what may be wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.nodetool import bytes_of, parse_status_text
from tests.operators.printing import Host, host_id, status_text
from tests.operators.samples import CASSANDRA, SCYLLA, clusters, one_line, text_of
from tests.saying import says

STATUS = text_of(CASSANDRA / "status.txt")


def test_a_sample_of_cassandra() -> None:
    """Every state, a load that is not known, counts of tokens, host ids."""
    nodes = parse_status_text(STATUS, "status.txt").nodes
    assert [(n.name, n.dc, n.rack, n.count, n.health, n.state) for n in nodes] == [
        ("10.1.0.1", "amsterdam", "r1", 3, "up", "normal"),
        ("10.1.0.2", "amsterdam", "r2", 3, "down", "normal"),
        ("10.1.0.3", "amsterdam", "r3", 3, "up", "leaving"),
        ("10.1.0.4", "amsterdam", "r1", 3, "up", "joining"),
        ("10.2.0.1", "bergen", "availability-a", 3, "up", "normal"),
        ("10.2.0.2", "bergen", "availability-b", 3, "up", "moving"),
        ("10.2.0.3", "bergen", "availability-c", 3, "down", "leaving"),
    ]
    assert [node.host_id for node in nodes] == [host_id(at) for at in range(1, 8)]
    assert {node.tokens for node in nodes} == {None}
    assert (nodes[0].load, nodes[-1].load) == (bytes_of("812.4 GiB"), None)


def test_a_sample_of_scylla() -> None:
    """Single spaces, an excluded node, one without tokens, one whose host id is not known yet."""
    nodes = parse_status_text(text_of(SCYLLA / "status.txt"), "status.txt").nodes
    assert [(n.name, n.count, n.health, n.state) for n in nodes] == [
        ("2001:db8:0:1::11", 2, "up", "normal"),
        ("2001:db8:0:1::12", 2, "up", "normal"),
        ("2001:db8:0:1::13", 2, "excluded", "normal"),
        ("2001:db8:0:2::21", 2, "down", "joining"),
        ("2001:db8:0:2::22", 2, "down", "moving"),
        ("2001:db8:0:2::29", 0, "up", "normal"),
    ]
    assert nodes[3].host_id is None


def test_one_token_a_node() -> None:
    """Where each node owns one token the table holds it instead of a count."""
    nodes = parse_status_text(text_of(CASSANDRA / "status-one-token.txt"), "status.txt").nodes
    assert [node.tokens for node in nodes] == [
        (-(2**63),),
        (-3074457345618258603,),
        (3074457345618258602,),
    ]


@given(clusters(), st.booleans(), st.sampled_from(("?", "33.3%", "33,3%", "100.0%")))
def test_any_cluster_is_read_back(hosts: list[Host], scylla: bool, owns: str) -> None:
    """What is printed of a cluster is read back."""
    listing = parse_status_text(status_text(hosts, scylla=scylla, owns=owns), "status.txt")
    assert {
        (n.name, n.dc, n.rack, n.health, n.state, n.load, n.count, n.host_id) for n in listing.nodes
    } == {
        (
            *(h.address, h.dc, h.rack, h.health.lower(), h.state.lower()),
            *(bytes_of(h.load), len(h.tokens), h.host_id),
        )
        for h in hosts
    }


@given(st.integers(0, len(STATUS)))
def test_cut_off_anywhere(length: int) -> None:
    """Status that ends early is refused, or read as far as it goes, never differently."""
    whole = parse_status_text(STATUS, "status.txt").nodes
    try:
        nodes = parse_status_text(STATUS[:length], "status.txt").nodes
    except BadInput as error:
        one_line(error)
    else:
        # A rack that was cut is noticed beside the ring only.
        assert [node.name for node in nodes] == [node.name for node in whole[: len(nodes)]]
        assert nodes[:-1] == whole[: len(nodes) - 1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Datacenter: amsterdam", "Datacentre: amsterdam", "line 1 | 'Datacentre"),
        ("Datacenter: bergen", "Datacenter: amsterdam", "line 11 | 'Datacenter: amsterdam'"),
        ("Datacenter: bergen", "Datacenter:", "line 11 | 'Datacenter:'"),
        ("=====================", "", "line 2 | '' | line"),
        ("Status=Up/Down", "Status=Up", "line 3 | 'Status=Up'"),
        ("|/ State=Normal", "|/ State=Good", "line 4: got"),
        ("Tokens  Owns", "Tokens  Own", "line 5: got"),
        ("Tokens  Owns", "Owns", "line 5 | '-- Address Load Owns (effective) Host ID Rack'"),
        ("UN  10.1.0.1", "XY  10.1.0.1", "line 6 | 'XY 10.1.0.1"),
        ("UN  10.1.0.1", "UN  10.1.0", "line 6 | '10.1.0' | IPv4"),
        ("UN  10.1.0.1", "UN  10.1.0.2", "line 7 | 'DN 10.1.0.2"),
        ("812.4 GiB", "812.4 GB/s", "line 6 | 'UN 10.1.0.1 812.4 GB/s"),
        ("57.1%", "half", "line 6 | 'UN 10.1.0.1"),
        ("00000001-0000-4000", "00000001-4000", "line 6 | 'UN 10.1.0.1"),
        ("DN  10.1.0.2", "?!\nDN  10.1.0.2", "line 7 | '?!'"),
        ("UN  10.1.0.1", "UN " + "x" * 10_000, "line 6 | 'UN xxx"),
    ],
)
def test_bad_lines(old: str, new: str, said: str) -> None:
    """Each line that does not belong is named with its number and content, in one line."""
    assert old in STATUS
    with pytest.raises(BadInput) as caught:
        parse_status_text(STATUS.replace(old, new, 1), "status.txt")
    assert says(one_line(caught.value), said)


@pytest.mark.parametrize("text", ["", "Datacenter: dc1\n", "\n".join(STATUS.split("\n")[:5])])
def test_no_rows(text: str) -> None:
    """Nothing, or headings alone, are no status."""
    with pytest.raises(BadInput, match=r"status\.txt"):
        parse_status_text(text, "status.txt")
