"""Sizes as people write them."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.report import parse_size


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("1", 1),
        ("1023", 1023),
        ("1K", 1024),
        ("1KiB", 1024),
        ("2.5M", 2_621_440),
        ("5G", 5_368_709_120),
        ("5368709120", 5_368_709_120),
        ("4194304T", 2**62),
        (str(2**62), 2**62),
    ],
)
def test_a_size_in_bytes(given: str, size: int) -> None:
    """With a unit, a fraction or neither, up to the most that there is."""
    assert parse_size("--target", given) == size


@pytest.mark.parametrize("given", ["0", "0.4", "", "-1", "G", "1.5.1G", "1P", "4194305T", "1e3"])
def test_what_is_no_size(given: str) -> None:
    """Nothing, less than a byte, more than the most, and what has no such unit."""
    with pytest.raises(BadInput, match=r"--target: .*a size in bytes above 0"):
        parse_size("--target", given)
