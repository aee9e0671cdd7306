"""How nodes are dealt to datacenters and racks, and what they are called."""

from __future__ import annotations

import pytest

from kit.protocols.recovery.rules.availability import ClusterLayout

LAYOUTS = {
    ((3,), 3): ("3", "A:dc1/r1 B:dc1/r2 C:dc1/r3"),
    ((2,), 1): ("2", "A:dc1/r1 B:dc1/r1"),
    ((3, 2), 2): ("3+2", "A:dc1/r1 B:dc1/r2 C:dc1/r1 D:dc2/r1 E:dc2/r2"),
    ((1, 1, 1), 3): ("1+1+1", "A:dc1/r1 B:dc2/r1 C:dc3/r1"),
}


@pytest.mark.parametrize("given", LAYOUTS, ids=str)
def test_nodes_are_dealt_in_turn(given: tuple[tuple[int, ...], int]) -> None:
    """Names, places and the text of a layout; each datacenter gets the same number of replicas."""
    layout, (text, dealt) = ClusterLayout(*given), LAYOUTS[given]
    assert layout.text == text
    nodes = zip(layout.names, layout.places, strict=True)
    assert " ".join(f"{name}:{dc}/{rack}" for name, (dc, rack) in nodes) == dealt
    for rf in (0, 3):
        assert layout.factors(rf) == {f"dc{at + 1}": rf for at in range(len(given[0]))}
