"""Who votes in group 0 of edition ``server``: at most five, spread over datacenters and racks."""

from __future__ import annotations

import pytest

from kit.protocols.group0.rules.voters import are_limited, chosen_voters

EVERYBODY = 0b1111111
# datacenters of the nodes, who is up, who leads, who votes already -> who is to vote
CHOSEN = [
    ((0, 0, 0, 0), EVERYBODY, 0, 0b1, 0b1111),
    ((0, 0, 0, 0, 1, 1, 1), EVERYBODY, 0, 0b1, 0b110111),
    ((0, 0, 0, 0, 0, 1), EVERYBODY, 0, 0b1, 0b101111),
    ((0, 1, 2, 0, 1, 2, 0), EVERYBODY, 0, 0b1, 0b11111),
    ((0, 0, 0, 0, 0, 0, 0), 0b1111100, 6, 0b11, 0b1111100),
    ((0, 0, 0, 0, 0, 0, 0), EVERYBODY, 6, 0b111100, 0b1111100),
    ((0, 0, 0, 1), EVERYBODY, 0, 0b1, 0b1011),
]


@pytest.mark.parametrize(("dcs", "up", "leader", "voters", "chosen"), CHOSEN)
def test_who_is_to_vote(
    dcs: tuple[int, ...], up: int, leader: int, voters: int, chosen: int
) -> None:
    """Datacenters take turns; in each who is up comes first, the leader, who votes already."""
    assert bin(chosen_voters(dcs, up, leader, voters)) == bin(chosen)


@pytest.mark.parametrize("sizes", [(3, 3, 3), (5, 1, 1), (1, 1, 4), (2, 2)])
def test_no_datacenter_of_three_has_half(sizes: tuple[int, ...]) -> None:
    """With two datacenters the number is odd; with more the loss of one leaves a majority."""
    dcs = tuple(dc for dc, size in enumerate(sizes) for _ in range(size))
    chosen = chosen_voters(dcs, (1 << len(dcs)) - 1, 0, 1)
    votes = [
        sum(chosen >> i & 1 for i, dc in enumerate(dcs) if dc == at) for at in range(len(sizes))
    ]
    if len(sizes) == 2:
        assert sum(votes) % 2 == 1
    else:
        assert 2 * max(votes) < sum(votes)


# racks of the nodes of one datacenter, who is up -> who is to vote
OF_RACKS = [
    ((0, 0, 0, 1, 1, 2), EVERYBODY, 0b111011),
    ((0, 0, 0, 0, 0, 1, 2), EVERYBODY, 0b1100111),
    ((0, 0, 1, 1), EVERYBODY, 0b111),
    ((0, 0, 1), EVERYBODY, 0b111),
    ((0, 0, 0, 0, 1, 1), 0b111101, 0b111101),
]


@pytest.mark.parametrize(("racks", "up", "chosen"), OF_RACKS)
def test_racks_take_turns(racks: tuple[int, ...], up: int, chosen: int) -> None:
    """Within a datacenter each rack gives as many as the others, as far as it has nodes; of two
    racks alone an odd number votes.
    """
    dcs = (0,) * len(racks)
    assert bin(chosen_voters(dcs, up, 0, 1, racks)) == bin(chosen)


def test_a_rack_is_told_by_its_datacenter() -> None:
    """Rack 0 of one datacenter is not rack 0 of another."""
    assert chosen_voters((0, 0, 1), 0b111, 0, 1, (0, 0, 0)) == 0b111
    assert chosen_voters((0, 0, 1, 1), 0b1111, 0, 1, (0, 1, 0, 1)) == 0b111


@pytest.mark.parametrize(
    ("dcs", "racks", "limited"),
    [((0, 0), (), False), ((0, 1), (), True), ((0, 0), (0, 1), True), ((0,) * 6, (), True)],
)
def test_when_fewer_vote_than_could(
    dcs: tuple[int, ...], racks: tuple[int, ...], limited: bool
) -> None:
    """More than five, or an even number of two datacenters, or of two racks."""
    assert are_limited(dcs, racks) == limited
