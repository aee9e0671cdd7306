"""Tablet maps: what ``system.tablets`` says of a table, where its tablets lie, how they are split.

A table's tablets are its partition's rows, ascending by last token: each covers the tokens after
its predecessor's last one up to its own; the first begins at the lowest token, the last ends at the
highest. Split and merge pair tablets by number. A table that is
co-located with another one has no rows: it names its base table, whose map is the complete one.
Source: Topology over Raft, "Tablet transitions", "Tablet resize", "Tablet splitting", "Tablet
merging", "Co-located tables"; for the tokens themselves the published ``tablet_map``.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.ring.tokens import INT64_HIGH, INT64_LOW

WIDTH = 2**64 - 1  # tokens between the two ends


def last_token(index: int, count: int) -> int:
    """The last token of tablet ``index`` of ``count`` that are as equal as tokens allow."""
    return (index + 1) * WIDTH // count + INT64_LOW


def last_tokens(count: int) -> tuple[int, ...]:
    """The last tokens of ``count`` tablets, up to the highest token. BadInput below one."""
    if count < 1:
        raise BadInput("tablet_count", count, "a number from 1 up")
    return tuple(last_token(index, count) for index in range(count))


def tablet_of(token: int, lasts: Sequence[int]) -> int:
    """The number of the tablet that covers a token, by last tokens. BadInput for no token."""
    if type(token) is not int or not INT64_LOW <= token <= INT64_HIGH:
        raise BadInput("token", token, f"an integer from {INT64_LOW} to {INT64_HIGH}")
    return bisect_left(lasts, token)


def first_token(index: int, lasts: Sequence[int]) -> int:
    """The token after which tablet ``index`` begins: its predecessor's last, or the lowest."""
    return lasts[index - 1] if index else INT64_LOW


def split_tokens(lasts: Sequence[int]) -> Iterator[int]:
    """The last tokens once each tablet is two: of ``2 ** k`` equal ones, those of twice as many."""
    for index, last in enumerate(lasts):
        first = first_token(index, lasts)
        yield first + (last - first) // 2
        yield last


def is_power_of_two(count: int) -> bool:
    """Whether ``count`` tablets can be paired as siblings again and again."""
    return count > 0 and count & (count - 1) == 0


def siblings(count: int, isolated: int | None = None) -> tuple[tuple[int, int], ...]:
    """The pairs that a merge makes one: (0, 1), (2, 3) and so on.

    Of an odd count one tablet stays as it is, the ``isolated`` one; those after it are paired
    afresh. Source: published ``make_merge_decision``. BadInput for one tablet, an odd count of
    which no tablet of even number is isolated.
    """
    if count < 2:
        raise BadInput("tablet_count", count, "a number from 2 up")
    if count % 2 and isolated not in range(0, count, 2):
        raise BadInput("isolated tablet", isolated, f"an even number below {count}")
    paired = [number for number in range(count) if count % 2 == 0 or number != isolated]
    return tuple(zip(paired[::2], paired[1::2], strict=True))


ResizeType = Literal["none", "split", "merge"]
RESIZE_TYPES: tuple[ResizeType, ...] = get_args(ResizeType)


class Tablet(Struct, frozen=True, cache_hash=True):
    """A row of ``system.tablets``: a tablet's replicas, and its transition if there is one.

    ``replicas`` are the old ones, also outside a transition; ``new_replicas`` become current after
    it. ``transition`` is its kind and ``stage`` where it is; both empty: there is none.
    ``session`` is the number of the session that its stage has open; 0: none is.
    """

    last_token: int
    replicas: Replicas
    new_replicas: Replicas = ()
    stage: str = ""
    transition: TransitionKind | Literal[""] = ""
    session: int = 0

    @property
    def sets(self) -> ReplicaSets:
        """The replicas before and after the transition; the same ones where there is none."""
        return ReplicaSets(self.replicas, self.new_replicas if self.transition else self.replicas)


class TabletMap(Struct, frozen=True, cache_hash=True):
    """A table's partition of ``system.tablets``, or only the name of its ``base_table``. A merge of
    an odd count leaves the ``isolated`` tablet as it is.
    """

    table: str
    tablets: tuple[Tablet, ...] = ()
    base_table: str = ""
    resize_type: ResizeType = "none"
    resize_seq_number: int = 0
    isolated: int | None = None

    @property
    def count(self) -> int:
        """How many tablets there are; none where a base table is named."""
        return len(self.tablets)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The siblings that a merge under way brings together."""
        chosen = self.count % 2 == 0 or self.isolated is not None
        merges = self.resize_type == "merge" and self.count > 1 and chosen
        return siblings(self.count, self.isolated) if merges else ()

    @property
    def last_tokens(self) -> tuple[int, ...]:
        """The last token of each tablet."""
        return tuple(tablet.last_token for tablet in self.tablets)

    def of(self, token: int) -> Tablet:
        """The tablet that covers a token. BadInput for what is no token."""
        return self.tablets[tablet_of(token, self.last_tokens)]


class MapFault(Struct, frozen=True):
    """The fault of a map: which tablet (None: the whole), the column, its value, what may be."""

    tablet: int | None
    column: str
    value: object
    allowed: str


def has_replica(tablet: Tablet, replica: TabletReplica) -> bool:
    """Whether a shard holds a replica, be it pending or leaving; the sharder does not tell."""
    return replica in tablet.replicas or replica in tablet.new_replicas


def shard_on(replicas: Iterable[TabletReplica], host: str) -> int | None:
    """The shard of the replica on a host; None without one."""
    return next((replica.shard for replica in replicas if replica.host == host), None)


ALTERNATOR = "alternator_"
"""How keyspaces of Alternator's tables begin. Source: published ``alternator/executor``."""


def keyspace_of(table: str) -> str:
    """The keyspace of a table that goes by ``keyspace.table``; else nothing. Names of Alternator's
    tables may have dots; there the keyspace is called after the table.
    """
    dots = [at for at, each in enumerate(table) if each == "."]
    own = len(ALTERNATOR)
    if table.startswith(ALTERNATOR):
        dots = [at for at in dots if table.startswith(table[own:at], at + 1)][-1:] or dots
    return table[: dots[0]] if dots else ""


def complete(table: str, maps: Mapping[str, TabletMap]) -> TabletMap:
    """The map that holds a table's tablets: its own, or its base table's."""
    own = maps[table]
    return maps[own.base_table] if own.base_table else own


def group(base: str, maps: Mapping[str, TabletMap]) -> tuple[str, ...]:
    """The tables that are co-located, the base table first, the others by name."""
    return (base, *sorted(name for name, table in maps.items() if table.base_table == base))


def faults(given: TabletMap) -> Iterator[MapFault]:
    """Every fault of a map: tokens that no tablet covers or two do, two replicas on one host."""
    if given.base_table:
        if given.tablets:
            yield MapFault(
                None, "base_table", given.base_table, "a table that has no rows of its own"
            )
        return
    if not given.tablets:
        yield MapFault(None, "last_token", "no tablet", "tablets that cover all tokens")
        return
    yield from _token_faults(given.last_tokens)
    for index, tablet in enumerate(given.tablets):
        yield from _replica_faults(index, "replicas", tablet.replicas)
        yield from _replica_faults(index, "new_replicas", tablet.new_replicas)
        sets = tablet.sets
        if max(len(sets.pending), len(sets.leaving)) > 1:
            said = "replicas with at most one added and at most one removed"
            yield MapFault(index, "new_replicas", " ".join(map(str, sets.new)), said)
        if bool(tablet.transition) != bool(tablet.stage):
            allowed = "a stage in a transition, and none outside"
            yield MapFault(index, "stage", tablet.stage or None, allowed)
        elif tablet.new_replicas and not tablet.transition:
            said = "no new replicas outside a transition"
            yield MapFault(index, "new_replicas", " ".join(map(str, tablet.new_replicas)), said)
        elif kind_fault := _kind_fault(tablet.transition, sets):
            yield MapFault(index, "new_replicas", " ".join(map(str, sets.new)), kind_fault)


def _kind_fault(kind: str, sets: ReplicaSets) -> str:
    come, go = ({place.host for place in each} for each in (sets.pending, sets.leaving))
    if kind == "migration" and not (come and go):
        return "one replica added and one removed, because the kind is migration"
    if kind in ("repair", "restore") and (come or go):
        return f"the same replicas as now, because a {kind} moves none"
    if kind == "intranode_migration" and not come == go != set():
        return "a replica on another shard of its host, because the kind is intranode_migration"
    if kind not in ("", "intranode_migration") and come == go != set():
        return f"a replica on another host; within a host the kind cannot be {kind}"
    return ""


def _token_faults(lasts: Sequence[int]) -> Iterator[MapFault]:
    if lasts[0] <= INT64_LOW:
        yield MapFault(0, "last_token", lasts[0], f"a token above {INT64_LOW}")
    for index, (token, other) in enumerate(pairwise(lasts), 1):
        if other <= token:
            yield MapFault(index, "last_token", other, f"a token above {token}, each one once")
    if lasts[-1] != INT64_HIGH:
        allowed = (
            f"{INT64_HIGH} as the last token, because otherwise no tablet has the tokens above it"
        )
        yield MapFault(len(lasts) - 1, "last_token", lasts[-1], allowed)


def _replica_faults(index: int, column: str, replicas: Replicas) -> Iterator[MapFault]:
    hosts = [replica.host for replica in replicas]
    again = next((host for place, host in enumerate(hosts) if host in hosts[:place]), None)
    if again is not None:
        yield MapFault(index, column, again, "each host once")
    if column == "replicas" and not replicas:
        yield MapFault(index, column, "no replica", "at least one replica")


class ApartPair(Struct, frozen=True):
    """Siblings whose replicas are not in the same places; ``moves`` bring the odd one's there."""

    even: int
    odd: int
    moves: tuple[tuple[TabletReplica, TabletReplica], ...]


def split(given: TabletMap) -> TabletMap:
    """The map with each tablet as two. BadInput for no tablet, or a transition under way."""
    _check(given, least=1)
    parts = iter(split_tokens(given.last_tokens))
    halves = (replace(tablet, last_token=next(parts)) for tablet in given.tablets for _ in range(2))
    return replace(given, tablets=tuple(halves))


def merged(given: TabletMap) -> TabletMap:
    """The map with each two siblings as one, with the even one's replicas. BadInput for a map that
    cannot be merged now: a single tablet, a transition under way, siblings in different places.
    """
    _check(given, least=2)
    for pair in apart(given):
        allowed = f"the replicas of tablet {pair.even}"
        raise BadInput(f"tablet {pair.odd}", "other replicas", allowed)
    gone = dict(siblings(given.count, given.isolated))
    ones = (
        replace(tablet, last_token=given.tablets[gone.get(number, number)].last_token)
        for number, tablet in enumerate(given.tablets)
        if number not in gone.values()
    )
    return replace(given, tablets=tuple(ones), isolated=None)


def apart(given: TabletMap) -> Iterator[ApartPair]:
    """The pairs of siblings that are not co-located yet, the order of replicas aside."""
    for even, odd in siblings(given.count, given.isolated):
        if moves := colocating(given.tablets[even], given.tablets[odd]):
            yield ApartPair(even, odd, moves)


def colocating(even: Tablet, odd: Tablet) -> tuple[tuple[TabletReplica, TabletReplica], ...]:
    """What moves (from, to) of the odd tablet's replicas put them where the even one's are: one on
    the right host changes its shard, the others are paired in their order.
    """
    if even.replicas == odd.replicas:
        return ()
    wanted = {replica.host: replica for replica in even.replicas if replica not in odd.replicas}
    held = [replica for replica in odd.replicas if replica not in even.replicas]
    here = [(replica, wanted.pop(replica.host)) for replica in held if replica.host in wanted]
    settled = dict(here)
    others = (replica for replica in held if replica not in settled)
    return (*here, *zip(others, wanted.values(), strict=False))


def _check(given: TabletMap, least: int) -> None:
    if given.count < least:
        allowed = f"a number from {least} up"
        raise BadInput(f"{given.table} tablet_count", given.count, allowed)
    for index, tablet in enumerate(given.tablets):
        if tablet.transition:
            field = f"{given.table} tablet {index} transition"
            raise BadInput(field, tablet.transition, "no transition under way")
