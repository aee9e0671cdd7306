"""Who takes part, and what their majorities say: votes, and the index up to which all is committed.

Sources: Raft paper, section 6; Ongaro's thesis, chapter 4; Scylla, Raft in Scylla.
"""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from kit.errors import BadInput
from kit.masks import majority

Tally: TypeAlias = Literal["won", "lost", "unknown"]


class Member(Struct, frozen=True, cache_hash=True):
    """A server of the group."""

    id: str
    address: str = ""  # where it is reached, in any format
    can_vote: bool = True  # one that cannot receives all entries and is counted nowhere


def in_order(members: Collection[Member]) -> tuple[Member, ...]:
    """Members by their ids. Raises BadInput for a server that is there twice."""
    ids = [each.id for each in members]
    if len({*ids}) < len(ids):
        raise BadInput("members", " ".join(ids), "each server once")
    return tuple(sorted(members, key=lambda each: each.id))


class Configuration(Struct, frozen=True, cache_hash=True, dict=True):
    """The members; while they change by joint consensus, the ``previous`` ones, too."""

    current: tuple[Member, ...] = ()
    previous: tuple[Member, ...] = ()

    @property
    def is_joint(self) -> bool:
        """Whether majorities of both groups are needed now."""
        return bool(self.previous)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The ids of all who receive entries, in order."""
        return tuple(sorted({each.id for each in (*self.current, *self.previous)}))

    @cached_property
    def voters(self) -> tuple[str, ...]:
        """The ids of all whose vote counts in a group, in order."""
        return tuple(sorted({*self.groups[0], *self.groups[-1]}))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The voters of each group that needs a majority: the previous one first."""
        groups = (self.previous, self.current) if self.previous else (self.current,)
        return tuple(tuple(m.id for m in group if m.can_vote) for group in groups)

    def votes(self, server: str) -> bool:
        """Whether a server votes in the current group."""
        return server in self.groups[-1]

    def changes(self, members: tuple[Member, ...]) -> int:
        """How many servers come, go, or get or lose their vote on the way to other members."""
        was, will = ({m.id: m.can_vote for m in each} for each in (self.current, members))
        return sum(was.get(each) != will.get(each) for each in {*was, *will})


def tally(of: Configuration, granted: Collection[str], refused: Collection[str] = ()) -> Tally:
    """The result of votes: won with a majority of each group, lost once one cannot have its own."""

    def win(some: Collection[str]) -> bool:
        return all(sum(v in some for v in group) >= majority(len(group)) for group in of.groups)

    if win(granted):
        return "won"
    return "unknown" if win({*of.voters} - {*refused}) else "lost"


def reached(
    of: Configuration, numbers: Mapping[str, int], former: int = 0, *, by_majority: bool = True
) -> int:
    """The greatest number that a majority of each group has reached; never less than ``former``.

    Numbers are indexes or read barriers. Without ``by_majority`` one voter is enough (wrong).
    """
    least = []
    for group in of.groups:
        sure = sorted([numbers.get(each, 0) for each in group], reverse=True)
        needed = majority(len(group)) if by_majority else 1
        least.append(sure[needed - 1] if sure else former)
    return max(former, min(least))
