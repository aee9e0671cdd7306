"""Whether group 0 has its quorum after deaths, by who votes.

Nodes are numbers from 0; sets of them are bit masks. In edition ``documents`` every member votes.
In edition ``server`` a few do, by the rules of its release, and group 0 chooses them again after
each death that it survives: so it matters who died at once and who one after another. Sources:
manual on Raft, "Handling Failures"; published code, ``group0_voter_handler``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from kit.masks import among, is_majority, majority, mask_of, nodes_in, within
from kit.protocols.group0.rules.voters import NEWEST_RULES, VoterRules, chosen_voters, surest_voters
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


def after_deaths(
    edition: Edition,
    places: Sequence[Place],
    deaths: Iterable[int],
    rules: VoterRules = NEWEST_RULES,
) -> Quorum:
    """The quorum after these deaths; the nodes of each mask die at once.

    Whoever votes is chosen again after each of them, by edition ``server``, as long as a majority
    of the voters lives: a group without one changes nothing, its voters neither.
    """
    up = everybody = (1 << len(places)) - 1
    if edition == "documents":
        for dead in deaths:
            up &= ~dead
        return Quorum(everybody, up)
    voters = limited(places, up, 0, rules)
    for dead in deaths:
        up &= ~dead
        voters = chosen_again(tuple(places), everybody, voters, (up,), rules)
    return Quorum(voters, voters & up)


def extremes(
    places: Sequence[Place],
    members: int,
    down: int,
    lost: int,
    rules: VoterRules,
    *,
    together: bool = False,
) -> tuple[Quorum, Quorum]:
    """What a group 0 of which nothing tells who votes can do: at worst, and at best.

    ``members`` could vote; of them those ``down`` may be restarted, those ``lost`` may not (all
    masks). The published choice leaves ties to a hash, and depends on who led and who voted before.
    So every set of voters counts that it may have made while all were up. Where nodes may have died
    one after another (not ``together``), votes may have moved to any that live.
    """
    able = list(nodes_in(members))
    dcs, racks = _numbered(tuple(places[node] for node in able))
    standing = [(down >> node & 1) + 2 * (lost >> node & 1) for node in able]  # 0: it lives
    many = len(able) + 1
    sums: list[tuple[int, int, int]] = [(many, 1, 0), (many + 1, many, 0)]  # of live, down, lost
    every = [[of[each] for each in standing] for of in sums]
    sets = [surest_voters(dcs, racks, ranks, rules) for ranks in every]
    fewest = [[-rank for rank in ranks] for ranks in every]
    sets += (surest_voters(dcs, racks, ranks, rules) for ranks in fewest)
    if not together and rules.limits:
        most = rules.most_of_one([dcs.count(dc) for dc in set(dcs)])
        for ranks in fewest:
            picked: list[int] = []
            of_dc: Counter[int] = Counter()
            for node in sorted(range(len(able)), key=ranks.__getitem__):
                if of_dc[dcs[node]] < most:
                    picked.append(node)
                    of_dc[dcs[node]] += 1
            sets.append(mask_of(picked[: sets[0].bit_count()]))
    quorums = [Quorum(among(able, each), among(able, each) & ~(down | lost)) for each in sets]

    def able_to(quorum: Quorum) -> tuple[bool, bool, int]:
        back = Quorum(quorum.voters, quorum.voters & ~lost)
        return quorum.holds, back.holds, quorum.live.bit_count()

    return min(quorums, key=able_to), max(quorums, key=able_to)


def limited(places: Sequence[Place], up: int, voters: int, rules: VoterRules) -> int:
    """Who is to vote of these nodes (published code).

    Nothing here says who leads: it is the first voter that is up.
    """
    dcs, racks = _numbered(tuple(places))
    return chosen_voters(dcs, up, next(nodes_in(voters & up), -1), voters, racks, rules)


def limited_among(
    places: Sequence[Place], members: int, up: int, voters: int, rules: VoterRules
) -> int:
    """The same where not all nodes are members; all three are masks of nodes."""
    able = list(nodes_in(members))
    there = [places[node] for node in able]
    return among(able, limited(there, within(able, up), within(able, voters), rules))


@lru_cache(maxsize=1 << 16)
def chosen_again(
    places: tuple[Place, ...],
    members: int,
    voters: int,
    sides: tuple[int, ...],
    rules: VoterRules = NEWEST_RULES,
) -> int:
    """Who votes once the first side that has a majority of the voters has chosen again.

    ``sides`` are the members that reach one another (masks). Nobody takes the majority from itself.
    """
    for side in sides:
        if is_majority(side, voters):
            after = limited_among(places, members, side, voters, rules)
            return after if is_majority(side, after) else voters
    return voters


def voters_of_groups(
    places: tuple[Place, ...],
    groups: Sequence[int],
    voters: Sequence[int],
    sides: Callable[[int], tuple[int, ...]],
    rules: VoterRules = NEWEST_RULES,
) -> tuple[int, ...]:
    """Who votes in each group (masks) once each has chosen again; a new group begins with all.

    ``sides`` tells of a group which of its members reach one another.
    """
    chosen = []
    for group, members in enumerate(groups):
        before = (voters[group] & members if group < len(voters) else 0) or members
        chosen.append(chosen_again(places, members, before, sides(group), rules))
    return tuple(chosen)


@lru_cache(maxsize=1 << 8)
def _numbered(places: tuple[Place, ...]) -> tuple[list[int], list[int]]:
    """The datacenters and the racks of nodes as numbers; racks of other datacenters are others."""
    dcs = {dc: at for at, dc in enumerate(dict.fromkeys(dc for dc, _ in places))}
    racks = {place: at for at, place in enumerate(dict.fromkeys(places))}
    return [dcs[dc] for dc, _ in places], [racks[place] for place in places]


def orders_of_deaths(
    places: Sequence[Place], rules: VoterRules = NEWEST_RULES
) -> Callable[[int], tuple[bool, bool]]:
    """What tells of dead nodes (a mask) whether group 0 keeps its quorum in the orders of deaths.

    It answers for single deaths by edition ``server``: whether in some order, and whether in every
    order; in edition ``documents`` the order makes no difference. It looks at every set of those
    dead and keeps what it found: all sets of a dozen nodes take seconds.
    """
    everybody, there = (1 << len(places)) - 1, tuple(places)

    @cache
    def voters_after(gone: int) -> tuple[frozenset[int], bool]:
        """Who may vote after orders in which the quorum lasted; whether it did in all."""
        if not gone:
            return frozenset((limited(places, everybody, 0, rules),)), True
        up = everybody & ~gone
        before = [voters_after(gone & ~(1 << node)) for node in nodes_in(gone)]
        voting = frozenset[int]().union(*(voters for voters, _ in before))
        holding = [voters for voters in voting if Quorum(voters, voters & up).holds]
        every = all(lasted for _, lasted in before) and len(holding) == len(voting)
        again = (chosen_again(there, everybody, voters, (up,), rules) for voters in holding)
        return frozenset(again), every

    def answered(dead: int) -> tuple[bool, bool]:
        voters, every = voters_after(dead)
        return bool(voters), every

    return answered
