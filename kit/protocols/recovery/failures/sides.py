"""Questions about a state of failures: which nodes reach each other, which sides can commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.protocols.group0.rules.voters import is_majority, nodes_in
from kit.protocols.recovery.failures.state import FailuresState
from kit.protocols.recovery.rules.quorum import Place, limited
from kit.protocols.topology.rules.machines import Edition


def sides(s: FailuresState) -> Iterator[int]:
    """The nodes that run on each side of the cut (masks) where some do; one side without a cut."""
    near, far = s.up & ~s.apart, s.up & s.apart
    if near or not far:
        yield near
    if far:
        yield far


def side_of(s: FailuresState, node: int) -> int:
    """The nodes that run and that a node reaches (a mask)."""
    return s.up & (s.apart if s.apart >> node & 1 else ~s.apart)


def may_commit(s: FailuresState, side: int) -> bool:
    """Whether a majority of the voters is among the nodes of a side."""
    return is_majority(side, s.voters)


def newest(s: FailuresState, side: int) -> int:
    """The longest schema that a node of a side has stored (a mask of entries).

    Only who has it can be elected by a majority, so that it is the schema of the leader.
    """
    return max((s.schemas[i] for i in nodes_in(side)), key=int.bit_count, default=0)


def voters_now(edition: Edition, places: Sequence[Place], s: FailuresState) -> tuple[int, int]:
    """Who votes after a node has failed, started or was cut off, and the side that chose them.

    In edition ``server`` a side with a majority of the voters chooses again, and the new voters
    take over when a majority of them, too, is on that side. Nothing changes otherwise (side 0).
    """
    if edition == "server":
        for side in sides(s):
            if may_commit(s, side):
                chosen = limited(places, side, s.voters)
                if is_majority(side, chosen) and chosen != s.voters:
                    return chosen, side
    return s.voters, 0
