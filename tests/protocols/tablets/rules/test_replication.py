"""Where the replicas of a tablet are not those that its keyspace asks for."""

from __future__ import annotations

from collections import Counter

import pytest

from kit.protocols.tablets.rules.replication import Misfit, Place, Replication, misfits

PLACES: tuple[tuple[Place, ...], ...] = (
    (),
    (("dc1", "r1"),),
    (("dc1", "r1"), ("dc1", "r1"), ("dc1", "r2")),
    (("dc1", "r1"), ("dc2", "r1"), ("dc2", "r3")),
    (("dc2", "r2"), ("dc3", "r9")),
)
ASKED: tuple[Replication, ...] = (
    {},
    {"dc1": 0},
    {"dc1": 1},
    {"dc1": 3, "dc2": 2},
    {"dc1": ("r1",)},
    {"dc1": ("r1", "r2"), "dc2": 1},
    {"dc2": ("r3", "r1")},
    {"dc1": ("r9",), "dc3": ()},
)


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("places", PLACES, ids=str)
def test_a_misfit_is_a_difference_in_number(places: tuple[Place, ...], asked: Replication) -> None:
    """By datacenter for a number, rack by rack for a list; of others nothing is wanted."""
    expected = []
    for datacenter in ("dc1", "dc2", "dc3"):
        here = Counter(rack for dc, rack in places if dc == datacenter)
        factor = asked.get(datacenter)
        if isinstance(factor, tuple):
            wanted = Counter(factor)
            found = [(rack, here[rack], wanted[rack]) for rack in ("r1", "r2", "r3", "r9")]
        else:
            found = [("", here.total(), factor or 0)]
        expected += [Misfit(datacenter, *each) for each in found if each[1] != each[2]]
    assert list(misfits(places, asked)) == expected
