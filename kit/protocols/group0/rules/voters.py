"""Who votes in group 0, and how many of them it takes.

Nodes are numbers from 0; sets of them are bit masks. Source: "Quorum requirement"; published code,
``service/raft/group0_voter_handler`` (at most five voters).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

MOST_VOTERS = 5


def majority(count: int) -> int:
    """More than half of ``count``."""
    return count // 2 + 1


def is_majority(nodes: int, voters: int) -> bool:
    """Whether more than half of ``voters`` are among ``nodes``."""
    return (nodes & voters).bit_count() >= majority(voters.bit_count())


def nodes_in(mask: int) -> Iterator[int]:
    """The numbers of the nodes in a set, in order; the first is there at once, however large."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@cache
def majorities_with(leader: int, nodes: int, voters: int) -> tuple[int, ...]:
    """The smallest majorities of ``voters`` within ``nodes`` that the leader, a voter, is one of.

    They come by the numbers of their nodes. None: ``nodes`` are too few.
    """
    others = [i for i in nodes_in(nodes & voters) if i != leader]
    needed = majority(voters.bit_count()) - 1
    sets = combinations(others, needed)
    return tuple(1 << leader | sum(1 << i for i in chosen) for chosen in sets)


def chosen_voters(
    dcs: Sequence[int], up: int, leader: int, voters: int, racks: Sequence[int] = ()
) -> int:
    """Who is to vote, of nodes in these datacenters and racks (published code): at most five.

    They are spread over the datacenters, and within one over its racks (without ``racks`` each has
    one). Within a rack a node that is up comes before one that is not, then the leader, then who
    votes already; so do datacenters and racks with as many voters. With two datacenters, or two
    racks in one alone, their number is odd; with three or more no datacenter has half of them.
    """
    places = list(zip(dcs, racks or (0,) * len(dcs), strict=True))
    size = min(MOST_VOTERS, len(dcs))
    size -= 2 in (len(set(dcs)), len(set(places))) and len(set(dcs)) < 3 and size % 2 == 0
    order = sorted(
        range(len(dcs)),
        key=lambda node: (not up >> node & 1, node != leader, not voters >> node & 1),
    )
    waiting: dict[tuple[int, int], list[int]] = {}
    for rank in reversed(range(len(order))):
        waiting.setdefault(places[order[rank]], []).append(rank)
    in_dc, in_place = dict.fromkeys(dcs, 0), dict.fromkeys(waiting, 0)
    chosen: list[int] = []
    while len(chosen) < size:
        place = min(waiting, key=lambda each: (in_dc[each[0]], in_place[each], waiting[each][-1]))
        chosen.append(order[waiting[place].pop()])
        in_dc[place[0]] += 1
        in_place[place] += 1
        if not waiting[place]:
            del waiting[place]
    while len(set(dcs)) > 2 and (most := _half(dcs, chosen)) is not None:
        chosen.remove(most)
    return sum(1 << node for node in chosen)


def are_limited(dcs: Sequence[int], racks: Sequence[int] = ()) -> bool:
    """Whether fewer of these nodes vote than could, whoever is up: else all of them do."""
    if len(dcs) > MOST_VOTERS:
        return True
    everybody = (1 << len(dcs)) - 1
    return chosen_voters(dcs, everybody, -1, everybody, racks) != everybody


def _half(dcs: Sequence[int], chosen: Sequence[int]) -> int | None:
    """The voter chosen last in a datacenter that has half of them or more."""
    for node in reversed(chosen):
        if 2 * sum(dcs[other] == dcs[node] for other in chosen) >= len(chosen) > 1:
            return node
    return None
