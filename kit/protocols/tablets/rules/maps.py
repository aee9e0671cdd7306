"""Tablet maps: what ``system.tablets`` says of a table.

A table's tablets are its partition's rows, ascending by last token. A table that is co-located with
another one has no rows: it names its base table, whose map is the complete one. Source: Topology
over Raft, "Tablet transitions", "Tablet resize", "Co-located tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.layout import tablet_of
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.ring.tokens import INT64_HIGH, INT64_LOW

ResizeType = Literal["none", "split", "merge"]


class Tablet(Struct, frozen=True):
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


class TabletMap(Struct, frozen=True):
    """A table's partition of ``system.tablets``; ``base_table`` is set where it only names one."""

    table: str
    tablets: tuple[Tablet, ...] = ()
    base_table: str = ""
    resize_type: ResizeType = "none"
    resize_seq_number: int = 0

    @property
    def count(self) -> int:
        """How many tablets there are; none where a base table is named."""
        return len(self.tablets)

    @property
    def last_tokens(self) -> tuple[int, ...]:
        """The last token of each tablet."""
        return tuple(tablet.last_token for tablet in self.tablets)

    def of(self, token: int) -> Tablet:
        """The tablet that covers a token.

        Raises:
            BadInput: for what is no token.
        """
        return self.tablets[tablet_of(token, self.last_tokens)]


class MapFault(Struct, frozen=True):
    """What no map can hold: which tablet (None: the whole), the column, its value, what may be."""

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


def moved(replicas: Replicas, source: TabletReplica, target: TabletReplica) -> Replicas:
    """The replica set with the target in the source's place.

    Raises:
        BadInput: where the source holds no replica, or the target's host another one.
    """
    if source not in replicas:
        raise BadInput("source", source, "a replica of the tablet")
    others = [replica.host for replica in replicas if replica != source]
    if target.host in others:
        raise BadInput("target", target, "a host without another replica of the tablet")
    return tuple(target if replica == source else replica for replica in replicas)


def keyspace_of(table: str) -> str:
    """The keyspace of a table that goes by ``keyspace.table``; else nothing."""
    return table.rpartition(".")[0]


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
            yield MapFault(None, "base_table", given.base_table, "a table without rows of its own")
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
            said = "replicas of which one comes and one goes at most"
            yield MapFault(index, "new_replicas", " ".join(map(str, sets.new)), said)
        if bool(tablet.transition) != bool(tablet.stage):
            allowed = "a stage with each transition, and none without"
            yield MapFault(index, "stage", tablet.stage or None, allowed)
        elif tablet.new_replicas and not tablet.transition:
            said = "no new replicas outside a transition"
            yield MapFault(index, "new_replicas", " ".join(map(str, tablet.new_replicas)), said)
        elif kind_fault := _kind_fault(tablet.transition, sets):
            yield MapFault(index, "new_replicas", " ".join(map(str, sets.new)), kind_fault)


def _kind_fault(kind: str, sets: ReplicaSets) -> str:
    """What the new replicas may be by the kind of their transition; nothing where they are."""
    moved = {place.host for place in sets.pending}, {place.host for place in sets.leaving}
    if kind == "repair" and any(moved):
        return "the same replicas as now: a repair moves none"
    if kind == "intranode_migration" and moved[0] != moved[1]:
        return "a replica on another shard of its host: so says the kind, intranode_migration"
    if kind not in ("", "intranode_migration") and any(moved) and moved[0] == moved[1]:
        return f"a replica on another host: within one its kind is not {kind}"
    return ""


def _token_faults(lasts: Sequence[int]) -> Iterator[MapFault]:
    if lasts[0] <= INT64_LOW:
        yield MapFault(0, "last_token", lasts[0], f"a token above {INT64_LOW}")
    for index, (token, other) in enumerate(pairwise(lasts), 1):
        if other <= token:
            yield MapFault(index, "last_token", other, f"a token above {token}: each once")
    if lasts[-1] != INT64_HIGH:
        allowed = f"{INT64_HIGH} as the last token: the tokens after it are in no tablet"
        yield MapFault(len(lasts) - 1, "last_token", lasts[-1], allowed)


def _replica_faults(index: int, column: str, replicas: Replicas) -> Iterator[MapFault]:
    hosts = [replica.host for replica in replicas]
    again = next((host for place, host in enumerate(hosts) if host in hosts[:place]), None)
    if again is not None:
        yield MapFault(index, column, again, "each host once")
    if column == "replicas" and not replicas:
        yield MapFault(index, column, "no replica", "at least one replica")
