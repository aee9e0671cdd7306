"""Who votes in group 0, and how many of them it takes.

Nodes are numbers from 0; sets of them are bit masks. Source: "Quorum requirement"; published code,
``service/raft/group0_voter_handler.cc`` (``calc_voters_max``, ``calc_voters_max_per_dc``, the
orders of nodes, racks and datacenters, ``update_nodes``).
"""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, zip_longest

from msgspec import Struct

from kit.errors import BadInput, check_among
from kit.masks import majority, mask_of, nodes_in
from kit.protocols.group0.rules.releases import NEWEST, RELEASES, Release, has

MOST_VOTERS = 5


class VoterRules(Struct, frozen=True):
    """How a server chooses voters: its release, and how many it allows.

    The limit is a default of the published code, which has no option for it.
    """

    release: Release = NEWEST
    limit: int = MOST_VOTERS

    def __post_init__(self) -> None:
        check_among("release", self.release, RELEASES)
        if self.limit < 1:
            raise BadInput("limit of voters", self.limit, "1 or more")

    @property
    def knows_recovery_leader(self) -> bool:
        """Whether the server has the option of that name: it came with 2025.2."""
        return has("recovery-leader", self.release)

    @property
    def limits(self) -> bool:
        """Whether it limits voters at all: releases before 2025.2 do not."""
        return has("few-voters", self.release)

    def size(self, candidates: Sequence[int]) -> int:
        """How many are to vote, of so many candidates in each datacenter."""
        count = min(self.limit, sum(candidates)) if self.limits else sum(candidates)
        if count % 2 or not count or not self.limits:
            return count
        if not has("odd-voters", self.release):
            return count - (count != 2 and len(candidates) == 2 and len(set(candidates)) == 1)
        return count - 1

    def most_of_one(self, candidates: Sequence[int]) -> int:
        """How many may vote in one datacenter: with three or more none has half of the votes."""
        size = self.size(candidates)
        if len(candidates) < 3 or not self.limits:
            return size
        return max(1, min(sum(candidates) - max(candidates) - 1, (size - 1) // 2))


@cache
def majorities_with(leader: int, nodes: int, voters: int) -> tuple[int, ...]:
    """The smallest majorities of ``voters`` within ``nodes`` that the leader, a voter, is one of.

    They come by the numbers of their nodes. None: ``nodes`` are too few.
    """
    others = [i for i in nodes_in(nodes & voters) if i != leader]
    needed = majority(voters.bit_count()) - 1
    sets = combinations(others, needed)
    return tuple(1 << leader | mask_of(chosen) for chosen in sets)


NEWEST_RULES = VoterRules()


def chosen_voters(
    dcs: Sequence[int],
    up: int,
    leader: int,
    voters: int,
    racks: Sequence[int] = (),
    rules: VoterRules = NEWEST_RULES,
    *,
    members: int = -1,
    leaving: bool = False,
) -> int:
    """The nodes that are to vote (a mask), of those in these datacenters and racks (without
    ``racks`` each has one): a number for each node. ``up`` and ``voters``, those that vote already,
    are masks; -1 is no ``leader``.

    Candidates are nodes that are ``up`` and those that vote already. A vote goes to the datacenter
    that has fewest, then to that of a leader that is up, of more voters that are up and not chosen
    yet, of more racks. Within it, it goes to the rack that has fewest; then likewise, of more nodes
    that are up, of more voters that are down. Within that, to a node that is up, the leader, a
    voter. Servers break ties by a hash that nobody can know from outside: here a node that is up
    wins, then the first number.

    ``members`` are those of group 0's configuration: from 2026.1 on no others are asked. With
    ``leaving`` the leader has announced its shutdown and is not among its own live nodes. Servers
    after 2026.3 count it all the same; others leave its vote as it is, and choose without it.
    """
    if not rules.limits:
        return (1 << len(dcs)) - 1
    leads = 1 << leader if leader >= 0 else 0
    able, stays = up | voters, 0
    if has("members-vote", rules.release):
        able &= members
    if leaving and has("leader-counts", rules.release):
        up |= leads
    elif leaving:
        able, stays = able & ~leads, leads & voters
    tiers = (up & leads, up & voters, up, ~up & leads, ~up)
    racks_of: dict[int, dict[int, int]] = {}
    for node in nodes_in(able):
        of = racks_of.setdefault(dcs[node], {})
        rack = racks[node] if racks else 0
        of[rack] = of.get(rack, 0) | 1 << node
    of_dc = {dc: sum(of.values()) for dc, of in racks_of.items()}
    candidates = [nodes.bit_count() for nodes in of_dc.values()]
    size, most = rules.size(candidates), rules.most_of_one(candidates)
    chosen = 0

    def next_of(nodes: int) -> int:
        waiting = nodes & ~chosen
        return next(nodes_in(next(waiting & tier for tier in tiers if waiting & tier)))

    def order(nodes: int, others: Sequence[int]) -> tuple[int, ...]:
        live = nodes & ~chosen & up
        fewest = (nodes & chosen).bit_count(), not live & leads, -(live & voters).bit_count()
        best = next_of(nodes)
        return *fewest, *others, not up >> best & 1, best

    def order_of_dc(dc: int) -> tuple[int, ...]:
        return order(of_dc[dc], [-sum(1 for each in racks_of[dc].values() if each & ~chosen)])

    def order_of_rack(nodes: int) -> tuple[int, ...]:
        waiting = nodes & ~chosen
        return order(nodes, (-(waiting & up).bit_count(), -(waiting & ~up).bit_count()))

    while chosen.bit_count() < size:
        waiting = [
            dc
            for dc, nodes in of_dc.items()
            if nodes & ~chosen and (nodes & chosen).bit_count() < most
        ]
        if not waiting:
            break
        of = racks_of[min(waiting, key=order_of_dc)]
        rack = min((nodes for nodes in of.values() if nodes & ~chosen), key=order_of_rack)
        chosen |= 1 << next_of(rack)
    return chosen | stays


def surest_voters(
    dcs: Sequence[int], racks: Sequence[int], ranks: Sequence[int], rules: VoterRules
) -> int:
    """The voters if ties favour nodes of low ``ranks`` and all nodes were up when they were chosen.

    It breaks each tie as far as the published order leaves it open, whoever led or voted before:
    so no set of voters has a smaller sum of ranks.
    """
    places: dict[int, dict[int, list[int]]] = {}
    for node in sorted(range(len(dcs)), key=lambda node: ranks[node]):
        places.setdefault(dcs[node], {}).setdefault(racks[node], []).append(node)
    candidates = [sum(map(len, of.values())) for of in places.values()]
    most = rules.most_of_one(candidates)
    # The order in which each datacenter would give its votes, a round of its racks at a time.
    turns = [_in_rounds(of.values(), ranks)[:most] for of in places.values()]
    given = _in_rounds(turns, ranks)[: rules.size(candidates)]
    return mask_of(given)


def _in_rounds(parts: Iterable[Sequence[int]], ranks: Sequence[int]) -> list[int]:
    rounds = zip_longest(*parts)
    return [
        node
        for turn in rounds
        for node in sorted((n for n in turn if n is not None), key=lambda node: ranks[node])
    ]
