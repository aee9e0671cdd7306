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


def chosen_voters(dcs: Sequence[int], up: int, leader: int, voters: int) -> int:
    """Who is to vote, of nodes in these datacenters (published code): at most five.

    They are spread over the datacenters. Within one a node that is up comes before one that is not,
    then the leader, then who votes already. With two datacenters their number is odd; with three or
    more no datacenter has half of them.
    """
    size = min(MOST_VOTERS, len(dcs))
    size -= len(set(dcs)) == 2 and size % 2 == 0
    chosen: list[int] = []

    def rank(node: int) -> tuple[int, bool, bool, bool]:
        there = sum(dcs[other] == dcs[node] for other in chosen)
        return there, not up >> node & 1, node != leader, not voters >> node & 1

    while len(chosen) < size:
        chosen.append(min((i for i in range(len(dcs)) if i not in chosen), key=rank))
    while len(set(dcs)) > 2 and (most := _half(dcs, chosen)) is not None:
        chosen.remove(most)
    return sum(1 << node for node in chosen)


def _half(dcs: Sequence[int], chosen: Sequence[int]) -> int | None:
    """The voter chosen last in a datacenter that has half of them or more."""
    for node in reversed(chosen):
        if 2 * sum(dcs[other] == dcs[node] for other in chosen) >= len(chosen) > 1:
            return node
    return None
