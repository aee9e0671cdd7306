"""Short names of nodes: no two alike where the names differ."""

from __future__ import annotations

import pytest

from kit.protocols.tcm.panels.short_names import tags


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
