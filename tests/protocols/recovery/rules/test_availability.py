"""Data availability by level: what is computed from counts is what rings of every order show."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import pytest

from kit.protocols.group0.rules.quorum import Place
from kit.protocols.recovery.rules.availability import (
    ClusterLayout,
    answers,
    live_replicas,
    lost_ranges,
    standings,
)
from kit.protocols.recovery.rules.procedure import leaders, only_on, regressing
from kit.ring.natural import replicas
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

SIX: tuple[Place, ...] = tuple((f"dc{n // 3 + 1}", f"r{n % 3 + 1}") for n in range(6))


def seen_live(racks: tuple[str, ...], dead: int, factor: int) -> set[int]:
    """How many replicas of a range live, over all ranges of rings in every order of nodes."""
    strategy = NetworkTopologyStrategy((("dc1", factor),))
    found = set()
    for order in permutations(range(len(racks))):
        nodes = tuple(
            Node(f"n{node}", (10 * at,), "dc1", racks[node]) for at, node in enumerate(order)
        )
        ring = Ring.of(nodes, small(100))
        rights = np.array([10 * at for at in range(len(racks))])
        names = ring.names
        for row in replicas(ring, strategy, rights):
            held = [int(names[code][1:]) for code in row.tolist() if code >= 0]
            found.add(sum(not dead >> node & 1 for node in held))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_what_rings_show(seed: int) -> None:
    """The fewest and the most live replicas of a range, over rings in every order of the nodes."""
    random = Random(seed)
    size = random.randint(1, 5)
    racks = tuple(f"r{random.randint(1, 3)}" for _ in range(size))
    dead, factor = random.getrandbits(size), random.randint(1, size)
    bounds = live_replicas(racks, dead, factor)
    found = seen_live(racks, dead, factor)
    assert (bounds.least, bounds.most) == (min(found), max(found))


def test_a_factor_above_the_nodes_counts_in_full() -> None:
    """RF 3 on two nodes: one lives, and a quorum is of three."""
    bounds = live_replicas(("r1", "r1"), 0b01, 3)
    assert (bounds.factor, bounds.least, bounds.most) == (3, 1, 1)
    assert not answers("QUORUM", {"dc1": (3, 1)}, "dc1")
    assert answers("QUORUM", {"dc1": (3, 2)}, "dc1")
    assert not answers("ALL", {"dc1": (3, 2)}, "dc1")


@pytest.mark.parametrize(
    ("racks", "dead", "standing"),
    [
        ("a a b b", 0b0011, "available"),
        ("a a b b", 0b0101, "of some ranges"),
        ("a a a a", 0b0011, "of some ranges"),
        ("a a b b", 0b1111, "unavailable"),
    ],
)
def test_replicas_stand_in_different_racks(racks: str, dead: int, standing: str) -> None:
    """With RF 2 and two racks one of them may be lost."""
    places = tuple(("dc1", rack) for rack in racks.split())
    by_level = {cell.level: cell.standing for cell in standings(places, dead, {"dc1": 2})}
    assert by_level["ONE"] == standing


def test_a_level_may_be_met_in_some_ranges_only() -> None:
    """RF 2 of three nodes, one dead: a range of it has no quorum, that of the other two has."""
    places = SIX[:3]
    by_level = {cell.level: cell.standing for cell in standings(places, 0b1, {"dc1": 2})}
    assert by_level["ONE"] == "available"
    assert by_level["QUORUM"] == "of some ranges"
    assert by_level["THREE"] == "unavailable"


def test_ranges_without_a_replica() -> None:
    """Two of three lost at RF 2: some ranges are gone; at RF 3 none is; all lost: every one is."""
    places = SIX[:3]
    assert lost_ranges(places, 0b011, {"dc1": 2}) == "of some ranges"
    assert lost_ranges(places, 0b011, {"dc1": 3}) == "available"
    assert lost_ranges(places, 0b111, {"dc1": 3}) == "unavailable"
    assert lost_ranges(SIX, 0b000111, {"dc1": 3, "dc2": 3}) == "available"
    assert lost_ranges(SIX, 0b011111, {"dc1": 3, "dc2": 1}) == "of some ranges"


def test_who_may_lead() -> None:
    """Only the latest commit index; another choice takes the nodes beyond it back."""
    indexes = {"A": 10, "B": 11, "C": 11}
    assert leaders(indexes) == ("B", "C")
    assert leaders({}) == ()
    assert regressing(indexes, "A") == {"B": 1, "C": 1}
    assert regressing(indexes, "B") == {}


def test_who_alone_can_hold_a_committed_entry() -> None:
    """A majority of the voters can; half of them cannot, for somebody else stores it, too."""
    assert only_on(0b00111, 0b11111, 3)
    assert not only_on(0b000111, 0b111111, 4)
    assert not only_on(0b00111, 0b11110, 3)


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
