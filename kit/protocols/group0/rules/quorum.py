"""Whether group 0 has its quorum, where some are down: for sure, or as it depends on who votes.

Nodes are numbers from 0; sets of them are bit masks. Sources: manual on Raft, "Handling Failures";
published code, ``group0_voter_handler``.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from kit.masks import among, majority, mask_of, nodes_in
from kit.protocols.group0.rules.voters import VoterRules, surest_voters

Place = tuple[str, str]
"""The datacenter and the rack of a node; an empty one is not known."""


class Quorum(Struct, frozen=True):
    """The voters, and those of them that live (masks)."""

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


def extremes(
    places: Sequence[Place],
    members: int,
    down: int,
    lost: int,
    rules: VoterRules,
    *,
    together: bool = False,
) -> tuple[Quorum, Quorum]:
    """The abilities of a group 0 whose voters are not known: at worst, and at best.

    ``members`` could vote; of them those ``down`` may be restarted, those ``lost`` may not (all
    masks). The published choice leaves ties to a hash, and depends on who led and who voted before.
    So every set of voters counts that it may have made while all were up. Where nodes may have died
    one after another (not ``together``), votes may have moved to any that live. Where a place is
    not known, every place counts.
    """
    able = list(nodes_in(members))
    there = [places[node] for node in able]
    vague = {dc for dc, rack in there if not (dc and rack)}
    dcs, racks = place_numbers(tuple((dc, "" if dc in vague else rack) for dc, rack in there))
    # 0: it lives, 1: it may be restarted, 2: it may not.
    standing = [((down | lost) >> node & 1) + (lost >> node & 1) for node in able]
    worst = surest_voters(dcs, racks, [-each for each in standing], rules)
    sets = [worst, surest_voters(dcs, racks, standing, rules)]
    if "" in vague:  # Nodes of one datacenter and rack may vote in any combination.
        ranked = sorted(range(len(able)), key=standing.__getitem__)
        sets = [
            mask_of(some)
            for count in _counts(len(able), rules)
            for some in (ranked[:count], ranked[-count:])
        ]
    elif not together:
        most = rules.most_of_one([dcs.count(dc) for dc in set(dcs)])
        picked: list[int] = []
        of_dc: Counter[int] = Counter()
        for node in sorted(range(len(able)), key=standing.__getitem__):
            if of_dc[dcs[node]] < most:
                picked.append(node)
                of_dc[dcs[node]] += 1
        sets.append(mask_of(picked[: worst.bit_count()]))
    quorums = [Quorum(among(able, each), among(able, each) & ~(down | lost)) for each in sets]

    def able_to(quorum: Quorum) -> tuple[bool, bool, int]:
        back = Quorum(quorum.voters, quorum.voters & ~lost)
        return quorum.holds, back.holds, quorum.live.bit_count()

    return min(quorums, key=able_to), max(quorums, key=able_to)


def _counts(nodes: int, rules: VoterRules) -> set[int]:
    """How many of so many nodes may vote, in whatever datacenters they are.

    The rules ask only whether there are two equal datacenters, and how many nodes are outside the
    largest: a node each in so many others stands for all of these.
    """
    shapes = [[nodes - more, *[1] * more] for more in range(min(nodes, rules.limit))]
    shapes.append([nodes // 2, nodes - nodes // 2])
    most = [(shape, rules.most_of_one(shape)) for shape in shapes if all(shape)]
    return {min(rules.size(shape), sum(min(n, each) for n in shape)) for shape, each in most}


@lru_cache(maxsize=1 << 8)
def place_numbers(places: tuple[Place, ...]) -> tuple[list[int], list[int]]:
    """The datacenters and the racks of nodes as numbers; racks of other datacenters are others."""
    dcs = {dc: at for at, dc in enumerate(dict.fromkeys(dc for dc, _ in places))}
    racks = {place: at for at, place in enumerate(dict.fromkeys(places))}
    return [dcs[dc] for dc, _ in places], [racks[place] for place in places]
