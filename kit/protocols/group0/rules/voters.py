"""Who votes in group 0, and how many of them it takes.

Nodes are numbers from 0; sets of them are bit masks. Source: "Quorum requirement"; published code,
``service/raft/group0_voter_handler`` (at most five voters).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations


def majority(count: int) -> int:
    """More than half of ``count``."""
    return count // 2 + 1


def is_majority(nodes: int, voters: int) -> bool:
    """Whether more than half of ``voters`` are among ``nodes``."""
    return (nodes & voters).bit_count() >= majority(voters.bit_count())


@cache
def majorities_with(leader: int, nodes: int, voters: int) -> tuple[int, ...]:
    """The smallest majorities of ``voters`` within ``nodes`` that the leader, a voter, is one of.

    They come by the numbers of their nodes. None: ``nodes`` are too few.
    """
    others = [i for i in range(voters.bit_length()) if (nodes & voters) >> i & 1 and i != leader]
    needed = majority(voters.bit_count()) - 1
    sets = combinations(others, needed)
    return tuple(1 << leader | sum(1 << i for i in chosen) for chosen in sets)
