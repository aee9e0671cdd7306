"""Whether group 0 has its quorum after deaths, by who votes.

Nodes are numbers from 0; sets of them are bit masks. In edition ``documents`` every member votes.
In edition ``server`` a few do, by the rules of its release, and group 0 chooses them again after
each death that it survives: so it matters who died at once and who one after another. Sources:
manual on Raft, "Handling Failures"; published code, ``group0_voter_handler``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from kit.masks import among, is_majority, nodes_in, within
from kit.protocols.group0.rules.quorum import Place, Quorum, numbered
from kit.protocols.group0.rules.voters import NEWEST_RULES, VoterRules, chosen_voters
from kit.protocols.topology.rules.machines import Edition


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
    voters = limited(places, up, up, 0, rules)
    for dead in deaths:
        up &= ~dead
        voters = chosen_again(tuple(places), everybody, voters, (up,), rules)
    return Quorum(voters, voters & up)


def limited(places: Sequence[Place], members: int, up: int, voters: int, rules: VoterRules) -> int:
    """Who is to vote of the members that are up (published code); all three are masks of nodes.

    Nothing here says who leads: it is the first voter that is up.
    """
    able = list(nodes_in(members))
    there, voting = within(able, up), within(able, voters)
    dcs, racks = numbered(tuple(places[node] for node in able))
    leader = next(nodes_in(voting & there), -1)
    return among(able, chosen_voters(dcs, there, leader, voting, racks, rules))


@lru_cache(maxsize=1 << 16)
def chosen_again(
    places: tuple[Place, ...],
    members: int,
    voters: int,
    sides: tuple[int, ...],
    rules: VoterRules = NEWEST_RULES,
) -> int:
    """The voters once the first side that has a majority of the voters has chosen again.

    ``sides`` are the members that reach one another (masks). Nobody takes the majority from itself.
    """
    for side in sides:
        if is_majority(side, voters):
            after = limited(places, members, side, voters, rules)
            return after if is_majority(side, after) else voters
    return voters


def voters_of_groups(
    places: tuple[Place, ...],
    groups: Sequence[int],
    voters: Sequence[int],
    sides: Callable[[int], tuple[int, ...]],
    rules: VoterRules = NEWEST_RULES,
) -> tuple[int, ...]:
    """The voters of each group (masks) once each has chosen again; a new group begins with all.

    ``sides`` tells of a group which of its members reach one another.
    """
    chosen = []
    for group, members in enumerate(groups):
        before = voters[group] & members if group < len(voters) else members
        chosen.append(chosen_again(places, members, before or members, sides(group), rules))
    return tuple(chosen)


def orders_of_deaths(
    places: Sequence[Place], rules: VoterRules = NEWEST_RULES
) -> Callable[[int], tuple[bool, bool]]:
    """The function that tells of dead nodes (a mask) whether group 0 keeps its quorum by order of
    death.

    It answers for single deaths by edition ``server``: whether in some order, and whether in every
    order; in edition ``documents`` the order makes no difference. It looks at every set of those
    dead and keeps what it found: all sets of a dozen nodes take seconds.
    """
    everybody, there = (1 << len(places)) - 1, tuple(places)

    @cache
    def voters_after(gone: int) -> tuple[set[int], bool]:
        """Who may vote after orders in which the quorum lasted; whether it did in all."""
        if not gone:
            return {after_deaths("server", places, (), rules).voters}, True
        up = everybody & ~gone
        before = [voters_after(gone & ~(1 << node)) for node in nodes_in(gone)]
        voting = set[int]().union(*(voters for voters, _ in before))
        holding = [voters for voters in voting if Quorum(voters, voters & up).holds]
        every = all(lasted for _, lasted in before) and len(holding) == len(voting)
        return {chosen_again(there, everybody, each, (up,), rules) for each in holding}, every

    def answered(dead: int) -> tuple[bool, bool]:
        voters, every = voters_after(dead)
        return bool(voters), every

    return answered
