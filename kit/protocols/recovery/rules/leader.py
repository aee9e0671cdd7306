"""Who may lead a recovery, and what a choice costs. Source: Topology over Raft, "Choosing the
recovery leader", "Loss of committed entries".
"""

from __future__ import annotations

from collections.abc import Mapping


def leaders(commit_indexes: Mapping[str, int]) -> tuple[str, ...]:
    """The live nodes with the latest commit index: each of them may lead; none of no nodes."""
    latest = max(commit_indexes.values(), default=0)
    return tuple(name for name, index in commit_indexes.items() if index == latest)


def regressing(commit_indexes: Mapping[str, int], leader: str) -> dict[str, int]:
    """By how many entries the state of each node would go back if ``leader`` led.

    Its state reaches the others as a snapshot, whatever they have applied.
    """
    at = commit_indexes[leader]
    return {name: index - at for name, index in commit_indexes.items() if index > at}


def only_on(holders: int, voters: int, majority: int) -> bool:
    """Whether a committed entry may be on ``holders`` alone (masks): they hold a majority."""
    return (holders & voters).bit_count() >= majority
