"""The text of ``nodetool ring``: every state and layout, and whatever may be wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.nodetool import bytes_of, node_name, parse_ring_text, token_of
from tests.operators.printing import Host, ring_text
from tests.operators.samples import CASSANDRA, SCYLLA, clusters, one_line, text_of
from tests.saying import says

RING = text_of(CASSANDRA / "ring.txt")


def test_a_sample_of_cassandra() -> None:
    """Two datacenters, three tokens per node, every state, racks that run into the next column."""
    listing = parse_ring_text(RING, "ring.txt")
    assert listing.warnings == ()
    assert [(n.name, n.dc, n.rack, n.health, n.state, n.load) for n in listing.nodes] == [
        ("10.1.0.1", "amsterdam", "r1", "up", "normal", bytes_of("812.4 GiB")),
        ("10.1.0.4", "amsterdam", "r1", "up", "joining", bytes_of("96.5 MiB")),
        ("10.1.0.3", "amsterdam", "r3", "up", "leaving", bytes_of("1.02 TiB")),
        ("10.1.0.2", "amsterdam", "r2", "down", "normal", bytes_of("798.33 GiB")),
        ("10.2.0.1", "bergen", "availability-a", "up", "normal", 640 * 2**30),
        ("10.2.0.2", "bergen", "availability-b", "up", "moving", bytes_of("655.9 GiB")),
        ("10.2.0.3", "bergen", "availability-c", "down", "leaving", None),
    ]
    assert listing.nodes[0].tokens == (
        -8531699129511414324,
        2784249659845191438,
        8261657684473197624,
    )


def test_a_sample_of_scylla() -> None:
    """IPv6 addresses, sizes in KB, a note at the end, an empty line before each datacenter."""
    listing = parse_ring_text(text_of(SCYLLA / "ring.txt"), "ring.txt")
    assert listing.warnings == ()
    assert [(n.name, n.state, n.load) for n in listing.nodes] == [
        ("2001:db8:0:1::13", "normal", 5 * 2**29),
        ("2001:db8:0:1::11", "normal", bytes_of("338.62 KB")),
        ("2001:db8:0:1::12", "normal", 5 * 2**18),
        ("2001:db8:0:2::21", "joining", None),
        ("2001:db8:0:2::22", "moving", 700),
    ]


@given(clusters(), st.booleans(), st.booleans())
def test_any_cluster_is_read_back(hosts: list[Host], scylla: bool, windows: bool) -> None:
    """What is printed of a cluster is read back, whichever tool and line ends."""
    text = ring_text(hosts, scylla=scylla)
    listing = parse_ring_text(text.replace("\n", "\r\n") if windows else text, "ring.txt")
    assert listing.warnings == ()
    assert {(n.name, n.dc, n.rack, n.health, n.state, n.load, n.tokens) for n in listing.nodes} == {
        (
            *(h.address, h.dc, h.rack, h.health.lower(), h.state.lower()),
            *(bytes_of(h.load), h.tokens),
        )
        for h in hosts
    }


@given(st.integers(0, len(RING)))
def test_cut_off_anywhere(length: int) -> None:
    """Output that ends early is refused, or read with a warning, or has lost no row at all."""
    whole = parse_ring_text(RING, "ring.txt")
    try:
        listing = parse_ring_text(RING[:length], "ring.txt")
    except BadInput as error:
        one_line(error)
    else:
        assert listing.nodes == whole.nodes or listing.warnings


def changed(old: str, new: str) -> str:
    """The sample with one place changed."""
    assert old in RING
    return RING.replace(old, new, 1)


JOINING = "10.1.0.4  r1          Up     Joining 96.5 MiB "
TOKEN = "-5757763313810287289"  # of the first row of the joining node, line 7


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Datacenter: bergen", "Datacenter:", "line 19 | 'Datacenter:'"),
        ("Datacenter: bergen", "Datacenter: amsterdam", "each once, from one output"),
        ("==========", "=====", "line 3 | '====='"),
        ("Address   Rack", "Address   DC   Rack", "line 4 | 'Address DC Rack"),
        (JOINING, JOINING.replace("Joining", "Sleeping"), "line 7 | '10.1.0.4 r1 Up Sleeping"),
        (JOINING, JOINING.replace("Up", "UN"), "line 7 | '10.1.0.4 r1 UN Joining"),
        (JOINING, JOINING.replace("MiB", "XiB"), "line 7 | '10.1.0.4 r1 Up Joining 96.5 XiB"),
        (JOINING, JOINING.replace("0.4", "0.444"), "line 7 | '10.1.0.444'"),
        (JOINING, JOINING.replace("r1", "r\x1b1"), r"line 7 | 'r\x1b1' | 1"),
        (JOINING, JOINING.replace("r1", "r" * 300), "line 7 | 'rrr"),
        ("Datacenter: bergen", "Datacenter: ber\u202egen", r"line 23 | 'ber\u202egen'"),
        (JOINING, JOINING.replace("r1", "r2"), "what other rows say about 10.1.0.4"),
        (TOKEN, TOKEN + "1", "line 7 | '10.1.0.4 r1 Up Joining"),
        (TOKEN, "0x57", "line 7 | '10.1.0.4 r1 Up Joining"),
        (TOKEN, "2784249659845191438", "each token once, but line 7 also has this one"),
        ("10.2.0.1 ", "10.1.0.1 ", "each node once, but it is also in amsterdam"),
        ("10.1.0.3  r3", "$ nodetool ring\n10.1.0.3  r3", "line 8 | '$ nodetool ring'"),
        ("  Warning:", "Killed\n  Warning:", "line 33 | 'Killed'"),
        ("10.1.0.3  r3", "\n10.1.0.3  r3", "the last token of amsterdam"),
        (JOINING, "x" * 100_000, "line 7 | 'xxx"),
        (JOINING, "x y " * 100_000, "line 7 | 'x y"),
        ("Note: Non", "Error: Non", 'line 37 | "Error: Non'),
    ],
)
def test_bad_lines(old: str, new: str, said: str) -> None:
    """Each line that does not belong is named with its number and content, in one line."""
    with pytest.raises(BadInput) as caught:
        parse_ring_text(changed(old, new), "ring.txt")
    line = one_line(caught.value)
    assert line.startswith("ring.txt")
    assert says(line, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", " | 'no datacenter'"),
        ("\n\n", " | 'no datacenter'"),
        ("Datacenter: dc1", "line 2 | '' | '=========='"),
        ("Connection refused\n" + RING, "line 1 | 'Connection refused'"),
        (RING + RING, "each once, from one output"),
        (text_of(CASSANDRA / "status.txt"), "line 2 | '===="),
    ],
)
def test_other_texts(text: str, said: str) -> None:
    """Nothing, too much, and what another command prints are refused."""
    with pytest.raises(BadInput) as caught:
        parse_ring_text(text, "ring.txt")
    assert says(one_line(caught.value), said)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:7000", "10.0.0.1:7000"),
        ("2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:0DB8::1", "2001:db8::1"),
        ("[2001:db8:0:0:0:0:0:1]:7000", "[2001:db8::1]:7000"),
        ("fe80:0:0:0:0:0:0:1%eth0", "fe80::1%eth0"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("[::ffff:10.0.0.1]:7000", "10.0.0.1:7000"),
        ("node-1.example.net", "node-1.example.net"),
        ("node-1:7000", "node-1:7000"),
    ],
)
def test_addresses_become_names(text: str, name: str) -> None:
    """An address is its own name, IPv6 in canonical form, with its port where one is printed."""
    assert node_name(text, "address") == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "10.0.0", "10.0.0.256", "10.0.0.1.2", "010.0.0.1", "::1::2", "12345::1"),
        *("10.0.0.1:99999", "[::1", "[::1]", "-node", "no de", "nöde", "a" * 300, "10.0.0.1/24"),
        *("fe80::1%", "fe80::1%a b", "fe80::1%" + "e" * 99, "fe80::1%\x1b[2J"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    """A cut-off or wrong address is named, never taken for a host name."""
    with pytest.raises(BadInput, match="address: got"):
        node_name(text, "address")


@pytest.mark.parametrize(
    ("load", "size"),
    [
        *(("0 bytes", 0), ("207670", 207670), ("1 KiB", 1024), ("1.5 KiB", 1536)),
        *(("306,77 KB", 314132), ("45.71 MiB", 47930409), ("1 GiB", 2**30), ("2.5 TB", 5 * 2**39)),
        ("?", None),
    ],
)
def test_loads(load: str, size: int | None) -> None:
    """Loads are bytes: units of 1024 under both spellings, a decimal comma, unknown ones."""
    assert bytes_of(load) == size


def test_tokens() -> None:
    """A token is a decimal number of signed 64 bits; nothing else that Python would read is."""
    assert token_of("-9223372036854775808") == -(2**63)
    assert token_of("9223372036854775807") == 2**63 - 1
    for text in ("9223372036854775808", "1_000", "+5", " 5", "٣", "1e3", "", "-", "9" * 5000):
        assert token_of(text) is None
