"""Keys of ranges: a token itself, or a small key whose hash is in the range."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.storage import clients
from kit.protocols.storage.clients import key_of
from kit.ring.tokens import INT64_HIGH, INT64_LOW, MURMUR3, TokenSpace

TOKENS = 2945182322382062539, 6292367497774912474, -8218881827949364593
"""What the keys 0, 1 and 2, of eight bytes, are hashed to."""


@pytest.mark.parametrize(
    ("left", "right", "key"),
    [
        (INT64_LOW, INT64_HIGH, 0),
        (TOKENS[0] - 1, TOKENS[0], 0),
        (TOKENS[0], INT64_HIGH, 1),
        (TOKENS[1] - 1, TOKENS[1], 1),
        (INT64_LOW, TOKENS[0] - 1, 2),
        (TOKENS[2] - 1, TOKENS[2], 2),
    ],
)
def test_the_smallest_key_in_a_range(left: int, right: int, key: int) -> None:
    """A range has its right end, not its left one."""
    assert key_of(MURMUR3, left, right) == key


@pytest.mark.parametrize(("left", "right"), [(TOKENS[1], INT64_HIGH), (TOKENS[2], TOKENS[0] - 1)])
def test_a_range_may_have_no_small_key(
    left: int, right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the three keys that are tried is in it, which is told; nor is the third of two."""
    monkeypatch.setattr(clients, "MOST_KEYS", 3)
    with pytest.raises(BadInput, match="allowed: a range that contains a key below 3") as caught:
        key_of(MURMUR3, left, right)
    assert f"({left}, {right}]" in str(caught.value)
    monkeypatch.setattr(clients, "MOST_KEYS", 2)
    with pytest.raises(BadInput, match="a key below 2"):
        key_of(MURMUR3, TOKENS[2] - 1, TOKENS[2])


def test_where_tokens_are_no_hashes_the_right_end_is_a_key() -> None:
    """On a small line a key is its own token."""
    assert key_of(TokenSpace("small", 0, 1000), 100, 200) == 200
