"""Whether group 0 has its quorum after deaths, by who votes.

Nodes are numbers from 0; sets of them are bit masks. In edition ``documents`` every member votes.
In edition ``server`` at most five do, and group 0 chooses them again after each death that it
survives: so it matters who died at once and who one after another. Sources: manual on Raft,
"Handling Failures"; published code, ``group0_voter_handler``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain, islice

from msgspec import Struct

from kit.protocols.group0.rules.voters import (
    MOST_VOTERS,
    chosen_voters,
    is_majority,
    majority,
    nodes_in,
)
from kit.protocols.topology.rules.machines import Edition

Place = tuple[str, str]
"""The datacenter and the rack of a node."""


class Quorum(Struct, frozen=True):
    """Who votes, and which of them live (masks)."""

    voters: int
    live: int

    @property
    def needed(self) -> int:
        """How many voters are a majority."""
        return majority(self.voters.bit_count())

    @property
    def missing(self) -> int:
        """How many voters have to come back before there is a majority again."""
        return max(0, self.needed - self.live.bit_count())

    @property
    def holds(self) -> bool:
        """Whether a majority of the voters lives."""
        return not self.missing


def after_deaths(edition: Edition, places: Sequence[Place], deaths: Iterable[int]) -> Quorum:
    """The quorum after these deaths; the nodes of each mask die at once.

    Whoever votes is chosen again after each of them, by edition ``server``, as long as a majority
    of the voters lives: a group without one changes nothing, its voters neither.
    """
    up = everybody = (1 << len(places)) - 1
    if edition == "documents":
        for dead in deaths:
            up &= ~dead
        return Quorum(everybody, up)
    voters = limited(places, up, 0)
    for dead in deaths:
        voted = dead & voters
        up &= ~dead
        if Quorum(voters, voters & up).holds and (voted or _is_trimmed(places, voters)):
            voters = limited(places, up, voters)
    return Quorum(voters, voters & up)


def within(able: Sequence[int], mask: int) -> int:
    """A mask of nodes as one of places in a list of them."""
    return sum(1 << at for at, node in enumerate(able) if mask >> node & 1)


def among(able: Sequence[int], mask: int) -> int:
    """The other way round: places in a list of nodes as a mask of nodes."""
    return sum(1 << able[at] for at in nodes_in(mask))


def after_deaths_among(
    edition: Edition, places: Sequence[Place], members: int, deaths: Iterable[int]
) -> Quorum:
    """The same where not all nodes may vote; all of it are masks of nodes."""
    able = list(nodes_in(members))
    there = [places[node] for node in able]
    quorum = after_deaths(edition, there, (within(able, dead) for dead in deaths))
    return Quorum(among(able, quorum.voters), among(able, quorum.live))


def limited(places: Sequence[Place], up: int, voters: int) -> int:
    """Who is to vote of these nodes (published code); the first voter that is up leads.

    Of a rack's nodes only as many can be chosen as there are voters, so that no others are asked.
    """
    leader = next(nodes_in(voters & up), -1)
    leads = 1 << leader if leader >= 0 else 0
    by_place = _masks(tuple(places))
    ranked = (up & leads, up & voters & ~leads, up & ~voters, voters & ~up, ~up & ~voters)
    able = sorted(
        node
        for mask in by_place.values()
        for node in islice(chain.from_iterable(nodes_in(mask & of) for of in ranked), MOST_VOTERS)
    )
    dcs = {dc: i for i, dc in enumerate(dict.fromkeys(dc for dc, _ in by_place))}
    racks = {place: i for i, place in enumerate(by_place)}
    chosen = chosen_voters(
        [dcs[places[node][0]] for node in able],
        within(able, up),
        able.index(leader) if leader in able else -1,
        within(able, voters),
        [racks[places[node]] for node in able],
    )
    return among(able, chosen)


def limited_among(places: Sequence[Place], members: int, up: int, voters: int) -> int:
    """The same where not all nodes are members; all three are masks of nodes."""
    able = list(nodes_in(members))
    chosen = limited([places[node] for node in able], within(able, up), within(able, voters))
    return among(able, chosen)


@lru_cache(maxsize=1 << 16)
def chosen_again(
    places: tuple[Place, ...], members: int, voters: int, sides: tuple[int, ...]
) -> int:
    """Who votes once the first side that has a majority of the voters has chosen again.

    ``sides`` are the members that reach one another (masks). Nobody takes the majority from itself.
    """
    for side in sides:
        if is_majority(side, voters):
            after = limited_among(places, members, side, voters)
            return after if is_majority(side, after) else voters
    return voters


def voters_of_groups(
    places: tuple[Place, ...],
    groups: Sequence[int],
    voters: Sequence[int],
    sides: Callable[[int], tuple[int, ...]],
) -> tuple[int, ...]:
    """Who votes in each group (masks) once each has chosen again; a new group begins with all.

    ``sides`` tells of a group which of its members reach one another.
    """
    chosen = []
    for group, members in enumerate(groups):
        before = (voters[group] & members if group < len(voters) else 0) or members
        chosen.append(chosen_again(places, members, before, sides(group)))
    return tuple(chosen)


@lru_cache(maxsize=1 << 8)
def _masks(places: tuple[Place, ...]) -> dict[Place, int]:
    masks: dict[Place, int] = {}
    for node, place in enumerate(places):
        masks[place] = masks.get(place, 0) | 1 << node
    return masks


def _is_trimmed(places: Sequence[Place], voters: int) -> bool:
    """Whether fewer vote than could: then the death of one that does not vote may matter."""
    return voters.bit_count() < min(MOST_VOTERS, len(places))


def orders_of_deaths(places: Sequence[Place]) -> Callable[[int], tuple[bool, bool]]:
    """What tells of dead nodes (a mask) whether group 0 keeps its quorum in the orders of deaths.

    It answers for single deaths by edition ``server``: whether in some order, and whether in every
    order; in edition ``documents`` the order makes no difference. It looks at every set of those
    dead and keeps what it found: all sets of a dozen nodes take seconds.
    """
    everybody = (1 << len(places)) - 1

    @cache
    def chosen(up: int, voters: int) -> int:
        changed = voters & ~up or _is_trimmed(places, voters)
        return limited(places, up, voters) if changed else voters

    @cache
    def voters_after(gone: int) -> tuple[frozenset[int], bool]:
        """Who may vote after orders in which the quorum lasted; whether it did in all."""
        if not gone:
            return frozenset((chosen(everybody, 0),)), True
        up = everybody & ~gone
        before = [voters_after(gone & ~(1 << node)) for node in nodes_in(gone)]
        voting = frozenset[int]().union(*(voters for voters, _ in before))
        holding = [voters for voters in voting if Quorum(voters, voters & up).holds]
        every = all(lasted for _, lasted in before) and len(holding) == len(voting)
        return frozenset(chosen(up, voters) for voters in holding), every

    def answered(dead: int) -> tuple[bool, bool]:
        voters, every = voters_after(dead)
        return bool(voters), every

    return answered
