"""Data and group 0 with nodes down: at which levels data is available, who votes, who has a quorum.

Nodes are numbers from 0; sets of them are bit masks. In edition ``documents`` every member votes.
In edition ``server`` a few do, by the rules of its release, and group 0 chooses them again after
each death that it survives: so it matters who died at once and who one after another. Sources:
manual on Raft, "Handling Failures"; published code, ``group0_voter_handler``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations
from string import ascii_uppercase
from typing import Literal

from msgspec import Struct

from kit.errors import are, counted
from kit.masks import among, is_majority, mask_of, nodes_in, within
from kit.protocols.group0.rules.quorum import Place, Quorum, extremes, place_numbers
from kit.protocols.group0.rules.voters import NEWEST_RULES, VoterRules, chosen_voters
from kit.protocols.storage.rules.levels import LEVELS, Level, enough, quotas
from kit.protocols.topology.rules.machines import Edition
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

Standing = Literal["available", "of some ranges", "unavailable", "not known"]
"""Of data at a level: of every range, of some, of none; or it depends on where nodes are."""

Factors = Mapping[str, int]
"""The replication factor of each datacenter."""


class LiveReplicas(Struct, frozen=True):
    """Of a range in a datacenter: its factor, how many replicas live at least, and at most.

    These are ``sure`` bounds of its ranges, or of all places where nodes may be.
    """

    factor: int
    least: int
    most: int
    sure: bool = True


Bounds = tuple[tuple[str, LiveReplicas], ...]
"""The live replicas of a range in each datacenter."""


class LevelStanding(Struct, frozen=True):
    """How data stand at a level, asked for in ``datacenter`` where that matters (else empty)."""

    level: Level
    datacenter: str
    standing: Standing


@lru_cache(maxsize=1 << 10)
def live_replicas(racks: tuple[str, ...], dead: int, factor: int) -> LiveReplicas:
    """The bounds for a datacenter whose nodes stand in ``racks``, with ``dead`` ones (a mask).

    Replicas stand in different racks as long as there are more racks; then any nodes follow. There
    are no more of them than nodes.
    """
    replicas = min(factor, len(racks))
    gone = Counter(racks[node] for node in nodes_in(dead))
    lives = Counter(racks) - gone
    extra = max(0, replicas - len(set(racks)))

    def most(nodes: Counter[str]) -> int:
        return min(replicas, len(nodes)) + min(extra, nodes.total() - len(nodes))

    return LiveReplicas(factor, replicas - most(gone), most(lives))


def standings(places: Sequence[Place], dead: int, factors: Factors) -> tuple[LevelStanding, ...]:
    """How a keyspace's data stand at every level with nodes ``dead`` (a mask).

    A level that is counted within the coordinator's datacenter is told for each that has replicas.
    """
    bounds = {dc: _bounds(places, dead, dc, factor) for dc, factor in factors.items() if factor}
    everywhere = tuple(bounds.items())
    return tuple(
        LevelStanding(level, dc, _standing(level, ((dc, bounds[dc]),) if dc else everywhere, dc))
        for level in LEVELS
        for dc in (bounds if level == "LOCAL_QUORUM" else ("",))
    )


def lost_ranges(places: Sequence[Place], lost: int, factors: Factors) -> Standing:
    """Of which ranges a replica is left when ``lost`` nodes (a mask) do not come back."""
    bounds = [_bounds(places, lost, dc, factor) for dc, factor in factors.items()]
    if any(each.least for each in bounds):
        return "available"
    if not any(each.most for each in bounds):
        return "unavailable"
    return "of some ranges" if all(each.sure for each in bounds) else "not known"


def _bounds(places: Sequence[Place], dead: int, dc: str, factor: int) -> LiveReplicas:
    there = [node for node, (name, _) in enumerate(places) if name == dc]
    racks = tuple(places[node][1] for node in there)
    others = mask_of(node for node, (name, _) in enumerate(places) if not name)
    if not others and all(racks):
        return live_replicas(racks, within(there, dead), factor)
    # Any of the nodes that may be there has replicas. They are enough, as the factor has it.
    able = mask_of(there) | others
    least = min(factor, able.bit_count()) - (able & dead).bit_count()
    most = min(factor, (able & ~dead).bit_count())
    return LiveReplicas(factor, max(0, least), most, least == most)


@lru_cache(maxsize=1 << 12)
def _standing(level: Level, bounds: Bounds, home: str) -> Standing:
    if answers(level, {dc: (each.factor, each.least) for dc, each in bounds}, home):
        return "available"
    if answers(level, {dc: (each.factor, each.most) for dc, each in bounds}, home):
        return "of some ranges" if all(each.sure for _, each in bounds) else "not known"
    return "unavailable"


def answers(level: Level, replicas: Mapping[str, tuple[int, int]], home: str) -> bool:
    """Whether a level is met: for each datacenter (its factor, replicas of a range that live).

    The factor is what a quorum is of, and ``ALL``; it is the only rule on a factor that is larger
    than the datacenter.
    """
    masks: list[int] = []
    live = size = 0
    for factor, living in replicas.values():
        masks.append((1 << factor) - 1 << size)
        live |= (1 << living) - 1 << size
        size += factor
    at = [*replicas, home].index(home)  # a local level is asked for where there are replicas
    return bool(masks) and enough(quotas(level, (1 << size) - 1, tuple(masks), at), live)


class ClusterLayout(Struct, frozen=True, dict=True):
    """So many nodes in each datacenter, dealt to its racks in turn."""

    nodes: tuple[int, ...]
    racks: int

    @property
    def text(self) -> str:
        """Such as 3+3+2."""
        return "+".join(map(str, self.nodes))

    @cached_property
    def datacenters(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"dc{at + 1}" for at in range(len(self.nodes)))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The datacenter and the rack of each node; A is the first of the first datacenter."""
        return tuple(
            (dc, f"r{at % self.racks + 1}")
            for dc, nodes in zip(self.datacenters, self.nodes, strict=True)
            for at in range(nodes)
        )

    @cached_property
    def names(self) -> str:
        """The names of the nodes, a letter each."""
        return ascii_uppercase[: sum(self.nodes)]

    def factors(self, rf: int) -> Factors:
        """So many replicas in each datacenter."""
        return dict.fromkeys(self.datacenters, rf)


APART = 100  # tokens between two nodes

PlacedRange = tuple[str, tuple[str, ...]]
"""A range by its bounds, and the names of its replicas."""


def places_of(size: int, given: Sequence[str] = ()) -> tuple[Place, ...]:
    """The places of so many nodes, by ``given`` texts such as dc1/r1 where there are any.

    Else they stand in one datacenter, in three racks in turn.
    """
    if not given:
        return tuple(("dc1", f"r{number % 3 + 1}") for number in range(size))
    return tuple((dc, rack) for dc, _, rack in (text.partition("/") for text in given))


@lru_cache(maxsize=64)
def placed_ranges(
    names: tuple[str, ...], places: tuple[Place, ...], factor: int
) -> tuple[PlacedRange, ...]:
    """The ranges, with ``factor`` replicas in each datacenter, or as many as it has nodes.

    Nodes of different datacenters take turns round the ring, in the order of their names.
    """
    space = small(APART * len(names))
    count, turns = Counter[str](), []
    for at, (dc, _) in enumerate(places):
        count[dc] += 1
        turns.append((count[dc], dc, at))
    tokens = {at: APART * (turn + 1) for turn, (_, _, at) in enumerate(sorted(turns))}
    nodes = (Node(name, (tokens[at],), *places[at]) for at, name in enumerate(names))
    ring = Ring.of(tuple(nodes), space)
    factors = tuple((dc, min(factor, nodes_there)) for dc, nodes_there in count.items())
    ranges = []
    for at, codes in enumerate(replicas(ring, NetworkTopologyStrategy(factors))):
        left = int(ring.rights[at - 1]) if at else space.low
        held = tuple(ring.names[code] for code in codes.tolist())
        ranges.append((Range(left, int(ring.rights[at])).label(space), held))
    return tuple(ranges)


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
    voters = electors(places, up, up, 0, rules)
    for dead in deaths:
        up &= ~dead
        voters = chosen_again(tuple(places), everybody, voters, (up,), rules)
    return Quorum(voters, voters & up)


def electors(places: Sequence[Place], members: int, up: int, voters: int, rules: VoterRules) -> int:
    """Who is to vote of the members that are up (published code); all three are masks of nodes.

    Nothing here says who leads: it is the first voter that is up.
    """
    able = list(nodes_in(members))
    there, voting = within(able, up), within(able, voters)
    dcs, racks = place_numbers(tuple(places[node] for node in able))
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
            after = electors(places, members, side, voters, rules)
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


PER_DATACENTER = RF = 3
Outcome = Literal["always", "sometimes", "never"]
"""Of the failures that a row means: in all of them, in some, in none."""


class FailureRow(Struct, frozen=True):
    """A row: ``least`` to ``most`` nodes, or whole datacenters, of ``datacenters`` are down.

    ``schema`` and ``data`` are the documents' words on schema changes and on data (of a row with a
    quorum they are in the sentence before the tables, Q-53). ``back`` is how many nodes the
    documents want back for a quorum, which only two rows say.
    """

    datacenters: int
    failure: Literal["nodes", "datacenters"]
    least: int
    most: int
    schema: bool
    advice: str
    back: int | None = None
    data: bool = True

    @property
    def places(self) -> tuple[Place, ...]:
        """The nodes of the cluster: three in each datacenter, in a rack each."""
        return ClusterLayout((PER_DATACENTER,) * self.datacenters, PER_DATACENTER).places

    @property
    def units(self) -> tuple[int, ...]:
        """The units that fail as one: the nodes, or the datacenters (masks)."""
        size = 1 if self.failure == "nodes" else PER_DATACENTER
        return tuple((1 << size) - 1 << at for at in range(0, len(self.places), size))

    @property
    def said(self) -> str:
        """The documents' sentence on schema changes and data, and what to do."""
        back = f" until {counted(self.back, 'node')} {are(self.back)} back" if self.back else ""
        if self.schema:
            return f"schema changes possible and safe; {self.advice}"
        return f"data available, schema changes impossible{back}; {self.advice}"

    @property
    def words(self) -> str:
        """How much fails: ``1 to 2 nodes``."""
        many = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        return f"{many} {self.failure[:-1] if self.most == 1 else self.failure}"

    def failures(self) -> Iterator[int]:
        """Every set of dead nodes (a mask) that the row means."""
        for count in range(self.least, self.most + 1):
            yield from map(sum, combinations(self.units, count))

    def covers(self, dead: int) -> bool:
        """Whether the row means this set of dead nodes (a mask)."""
        units = [unit for unit in self.units if unit & dead == unit]
        return sum(units) == dead and self.least <= len(units) <= self.most


REPLACE = "try to restart them; replace each dead one by a new node"
ONE_OF_TWO = "restart at least 1 of the 2 for a quorum; if not even 1 comes back, recover by hand"
ONE_OF_THREE = "restart 1 of the 3 for a quorum; if not even 1 comes back, recover by hand"
IF_BACK = (
    "restart the nodes when the datacenter is back; if it does not come back and its nodes are "
    "lost, recover by hand"
)
NEW_REGION = (
    "try to restart its nodes in the cluster when the datacenter is back; if they are dead, add 3 "
    "new nodes in a new region"
)
BOTH_BACK = (
    "restart the nodes when both datacenters are back; if at least one does not come back and its "
    "nodes are lost, recover by hand"
)
FAILURES = (
    FailureRow(
        1, "nodes", 1, 1, True, "try to restart it; if it is dead, replace it by a new node"
    ),
    FailureRow(1, "nodes", 2, 2, False, ONE_OF_TWO, back=1),
    FailureRow(2, "nodes", 1, 2, True, REPLACE),
    FailureRow(2, "nodes", 3, 3, False, ONE_OF_THREE, back=1),
    FailureRow(2, "datacenters", 1, 1, False, IF_BACK),
    FailureRow(3, "nodes", 1, 4, True, REPLACE),
    FailureRow(3, "datacenters", 1, 1, True, NEW_REGION),
    FailureRow(3, "datacenters", 2, 2, False, BOTH_BACK),
)
"""The manual on Raft, "Handling Failures": its three tables, row by row."""


class JudgedFailure(Struct, frozen=True):
    """A row beside what is computed over all failures that it means.

    ``schema`` is edition ``documents``'s; ``at_once`` and ``in_turn`` are edition ``server``'s,
    where all of them die at once or one after another, in any order. ``back`` is the most nodes
    that have to come back for a quorum, a number of the kit's.
    """

    row: FailureRow
    schema: Outcome
    at_once: Outcome
    in_turn: Outcome
    back: int
    data: tuple[LevelStanding, ...]


def judged_failure(row: FailureRow, factor: int = RF) -> JudgedFailure:
    """The truth about a row, with ``factor`` replicas in each datacenter."""
    failures = list(row.failures())
    places = row.places
    in_orders, everybody = orders_of_deaths(places), (1 << len(places)) - 1
    quorums = [after_deaths("documents", places, [dead]) for dead in failures]
    factors = dict.fromkeys((dc for dc, _ in places), factor)
    tables = [standings(places, dead, factors) for dead in failures]
    ends = [extremes(places, everybody, 0, d, NEWEST_RULES, together=True) for d in failures]
    return JudgedFailure(
        row,
        schema=outcome(quorum.holds for quorum in quorums),
        at_once=outcome(end.holds for both in ends for end in both),
        in_turn=outcome(holds for dead in failures for holds in in_orders(dead)),
        back=max(quorum.missing for quorum in quorums),
        data=tuple(map(_worst, zip(*tables, strict=True))),
    )


def outcome(holds: Iterable[bool]) -> Outcome:
    """The part that several failures have in common."""
    seen = set(holds)
    if len(seen) == 2:
        return "sometimes"
    return "always" if True in seen else "never"


def _worst(cells: tuple[LevelStanding, ...]) -> LevelStanding:
    if len({cell.standing for cell in cells}) == 1:
        return cells[0]
    return LevelStanding(cells[0].level, cells[0].datacenter, "of some ranges")
