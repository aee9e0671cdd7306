"""Addresses, loads and tokens as nodetool prints them."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.operators.importers.nodetool import bytes_of, node_name, token_of


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
