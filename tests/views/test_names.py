"""Names as short as tells them apart: a shared beginning goes, no two become alike."""

from __future__ import annotations

import random

import pytest

from kit.views.labels import apart, beginning, brief, tags


@pytest.mark.parametrize(
    ("names", "short", "shared"),
    [
        (["10.20.0.1", "10.20.0.12"], [".1", ".12"], "10.20.0"),
        (["10.20.0.1", "10.30.0.1"], [".20.0.1", ".30.0.1"], "10"),
        (["2001:db8::1", "2001:db8::2"], [":1", ":2"], "2001:db8:"),
        (["cass-east-1", "cass-east-2"], ["-1", "-2"], "cass-east"),
        (["A", "B", "X"], ["A", "B", "X"], ""),
        (["n1", "n10"], ["n1", "n10"], ""),
        (["10.20.0.1", "X"], ["10.20.0.1", "X"], ""),
        (["a.", "a.b"], ["a.", "a.b"], ""),
        (["10.0.0.1"], ["10.0.0.1"], ""),
        ([], [], ""),
    ],
)
def test_what_all_begin_with_is_left_out(names: list[str], short: list[str], shared: str) -> None:
    """Up to the last joint that all share; never within a word, never all of a name."""
    assert list(apart(names).values()) == short
    assert beginning(names) == shared


def test_no_two_names_become_alike() -> None:
    """Whatever the addresses, there are as many short names as names, each the end of its own."""
    chance = random.Random(5)
    for _ in range(300):
        parts = [str(chance.randint(0, 3)) for _ in range(4)]
        names = {
            ".".join([*parts[:2], *(str(chance.randint(0, 25)) for _ in "ab")]) for _ in "abcde"
        }
        short = apart(sorted(names))
        assert len(set(short.values())) == len(names)
        assert all(name.endswith(end) and end for name, end in short.items())


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("A", "B", "X"), ("A", "B", "X")),
        (("n1", "n10", "n100", "n101"), ("n1", "n10", "100", "101")),
        (("10.20.0.1", "10.20.0.2", "10.20.0.10"), ("1", "2", "10")),
        (("10.20.0.1", "10.20.0.2", "10.30.0.1"), ("20.1", "20.2", "30.1")),
        (("10.20.0.1:7000", "10.20.0.2:7000"), ("1", "2")),
        (("node-1", "node-2"), ("e-1", "e-2")),
        (("node-1000", "node-2000"), ("node-1000", "node-2000")),
        (("fd00::1:a", "fd00::2:a"), ("1", "2")),
    ],
)
def test_names_are_told_apart(names: tuple[str, ...], short: tuple[str, ...]) -> None:
    """The beginning, the end, or the parts of an address that differ."""
    assert tuple(tags(names).values()) == short


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("(min, -8400832415006769670]", "(min, -840…670]"),
        ("(100, 150]", "(100, 150]"),
        ("range 3000000000000000001", "range 300…001"),
    ],
)
def test_long_numbers_are_said_by_their_ends(text: str, short: str) -> None:
    """Tokens of 64 bits would not fit a heading; short ones stay whole."""
    assert brief(text) == short
