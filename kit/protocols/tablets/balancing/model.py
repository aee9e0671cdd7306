"""The model of a cluster whose tablets move until loads are even: by hand, or as the planner says.

A migration is one step; what its stages are for is seen in the model ``tablets``. What forbids a
move are the planner's own rules, and the step that is suggested is the first one of its plan.
Sources: Topology over Raft, "Load balancing"; the published allocator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from msgspec import Struct

from kit.engine.model import Model, always, goal, sometimes, step
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.errors import BadInput, Refusal
from kit.protocols.tablets.balancing import wording
from kit.protocols.tablets.balancing.parameters import (
    BalanceParameters,
    given_tablet,
    whole_number,
)
from kit.protocols.tablets.rules.balance.cluster import (
    BalancerInput,
    BalancerNode,
    NodeRole,
    gathered,
)
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.rules.balance.reasons import Refused
from kit.protocols.tablets.rules.balance.why import WhyAnswer, why
from kit.protocols.tablets.rules.layout import last_tokens
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, faults
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.resize import TARGET_SIZE

ROOM_A_SHARD = 4  # tablets of the target size
PLACE = "dc1/r1"
KEPT = 1 << 12  # placements that are looked at more than once


class MoveAtOnce(Struct, frozen=True, tag="move"):
    """A replica of a tablet goes to another shard; both are written ``A:0``."""

    tablet: int
    source: str
    target: str


class BalanceState(Struct, frozen=True, cache_hash=True):
    """The replicas of every tablet."""

    replicas: tuple[Replicas, ...]


class Balance(Model[BalanceState, Any]):
    """The tablets of ``parameters`` while they move.

    ``tables`` gives each tablet its table and its number there, ``percents`` its size; ``labels``
    are what chips and verbs call it: the number, of several tables behind the table's letter.
    """

    name = "balance"
    title = "Tablets move until loads are even"
    State = BalanceState
    Action = MoveAtOnce

    def __init__(
        self, parameters: BalanceParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model; there is nothing to switch ``off``.

        Raises:
            BadInput: for a parameter out of its limits, or words that do not fit each other.
        """
        self.parameters: BalanceParameters = parameters or BalanceParameters()
        self.off = off
        given = self.parameters
        check_limits(given)
        if not given.tablets:
            raise BadInput("tablets", "none", "at least one")
        self.names = tuple(ascii_uppercase[: given.nodes])
        tablets = [given_tablet(text) for text in given.tablets]
        self.first = tuple(each.replicas for each in tablets)
        self.percents = tuple(each.percent for each in tablets)
        self.tables = _numbered([each.table for each in tablets])
        self.nodes = self._nodes()
        known = list(dict.fromkeys(table for table, _ in self.tables))
        letters = ascii_uppercase.lower() if len(known) > 1 else ""
        if len(known) > len(ascii_uppercase):
            raise BadInput("tablets", f"{len(known)} tables", f"at most {len(ascii_uppercase)}")
        self.labels = tuple(
            f"{letters[known.index(table)] if letters else ''}{number}"
            for table, number in self.tables
        )
        self._given = lru_cache(KEPT)(self._gathered)
        self._plan = lru_cache(KEPT)(lambda s: plan(self._given(s), given.edition))
        self._loads = lru_cache(KEPT)(lambda s: Loads(self._given(s), given.edition))
        self.given(self.start())
        self.rules = (paired(MoveAtOnce, "move", self._moves, self._forbidden, self._moved),)
        self.properties = (
            always("whole-map", "One replica of a tablet on a node", self._fault, "INV-MAP"),
            step("racks", "Replicas stay spread over racks", self._crowded),
            sometimes("even", "Some run evens the loads out", self.is_even),
            goal("ends", "Loads can still be evened out", self.is_even, "INV-PROGRESS"),
        )

    def _nodes(self) -> tuple[BalancerNode, ...]:
        given = self.parameters
        for field, words in (("room", given.room), ("racks", given.racks)):
            if words and len(words) != given.nodes:
                raise BadInput(field, len(words), f"{given.nodes}, one for each node")
        roles: dict[str, NodeRole] = {}
        listed: tuple[tuple[str, NodeRole, tuple[str, ...]], ...] = (
            ("leaving", "leaving", given.leaving),
            ("excluded", "excluded", given.excluded),
        )
        for field, role, hosts in listed:
            for host in hosts:
                if host not in self.names:
                    raise BadInput(field, host, "nodes among " + ", ".join(self.names))
                roles[host] = role
        room = [whole_number("room", text) for text in given.room]
        usual = ROOM_A_SHARD * given.shards
        nodes = []
        for i, name in enumerate(self.names):
            datacenter, _, rack = (given.racks[i] if given.racks else PLACE).partition("/")
            capacity = (room[i] if room else usual) * TARGET_SIZE
            role = roles.get(name, "normal")
            nodes.append(BalancerNode(name, datacenter, rack, given.shards, capacity, role))
        return tuple(nodes)

    def start(self) -> BalanceState:
        """Every tablet where the parameters have it."""
        return BalanceState(self.first)

    def maps(self, s: BalanceState) -> dict[str, TabletMap]:
        """The map of each table."""
        held: dict[str, list[Replicas]] = {}
        for (table, _), replicas in zip(self.tables, s.replicas, strict=True):
            held.setdefault(table, []).append(replicas)
        return {
            table: TabletMap(table, tuple(map(Tablet, last_tokens(len(rows)), rows)))
            for table, rows in held.items()
        }

    def bytes_of(self, tablet: int) -> int:
        """The size of each replica of a tablet."""
        return self.percents[tablet] * TARGET_SIZE // 100

    def given(self, s: BalanceState) -> BalancerInput:
        """What the planner looks at."""
        given: BalancerInput = self._given(s)
        return given

    def _gathered(self, s: BalanceState) -> BalancerInput:
        sizes: dict[str, list[dict[str, int]]] = {}
        for i, ((table, _), replicas) in enumerate(zip(self.tables, s.replicas, strict=True)):
            size = self.bytes_of(i)
            sizes.setdefault(table, []).append({each.host: size for each in replicas})
        return gathered(self.nodes, self.maps(s), sizes)

    def plan(self, s: BalanceState) -> BalancePlan:
        """What the planner would do now."""
        moves: BalancePlan = self._plan(s)
        return moves

    def loads(self, s: BalanceState) -> Loads:
        """The loads as they are now; not to be changed."""
        loads: Loads = self._loads(s)
        return loads

    def why(self, s: BalanceState, action: MoveAtOnce) -> WhyAnswer:
        """What the planner says of a move."""
        table, number = self.tables[action.tablet]
        source, target = replica_of(action.source), replica_of(action.target)
        edition = self.parameters.edition
        return why(self.given(s), table, number, target, source=source, edition=edition)

    def is_even(self, s: BalanceState) -> bool:
        """Whether the planner has nothing to do."""
        return not self.plan(s).moves

    def _moves(self, s: BalanceState) -> Iterator[MoveAtOnce]:
        places = [str(TabletReplica(n.host, i)) for n in self.nodes for i in range(n.shards)]
        for tablet, replicas in enumerate(s.replicas):
            for source in map(str, replicas):
                for target in places:
                    if target != source:
                        yield MoveAtOnce(tablet, source, target)

    def place(self, s: BalanceState, action: MoveAtOnce) -> tuple[int, int, int]:
        """Row and column of the replica that moves, and the number of the shard that it goes to."""
        table, number = self.tables[action.tablet]
        given = self.given(s)
        first = int((given.rows.table == given.tables.index(table)).argmax())
        column = s.replicas[action.tablet].index(replica_of(action.source))
        return first + number, column, self.loads(s).shard_number(replica_of(action.target))

    def _forbidden(self, s: BalanceState, action: MoveAtOnce) -> Refusal | None:
        refused: Refused | None = self.loads(s).refusal(*self.place(s, action))
        if refused is None:
            return None
        return Refusal(wording.reason(refused, self.parameters.edition))

    def _moved(self, s: BalanceState, action: MoveAtOnce) -> BalanceState:
        source, target = replica_of(action.source), replica_of(action.target)
        rows = list(s.replicas)
        rows[action.tablet] = tuple(
            target if each == source else each for each in rows[action.tablet]
        )
        return BalanceState(tuple(rows))

    def _fault(self, s: BalanceState) -> str | None:
        every = ((table, fault) for table, given in self.maps(s).items() for fault in faults(given))
        return next((f"{table}, tablet {f.tablet}: {f.value} twice" for table, f in every), None)

    def _crowded(self, before: BalanceState, action: MoveAtOnce, after: BalanceState) -> str | None:
        was, now = (self._most_in_a_rack(s.replicas[action.tablet]) for s in (before, after))
        if now <= was:
            return None
        return f"a rack has {now} replicas of tablet {self.labels[action.tablet]}, where {was} were"

    def _most_in_a_rack(self, replicas: Replicas) -> int:
        places = {node.host: (node.datacenter, node.rack) for node in self.nodes}
        racks = [places[each.host] for each in replicas]
        return max(map(racks.count, racks))

    def suggest(self, s: BalanceState) -> Any | None:
        """The first move of the planner's plan."""
        moves = self.plan(s).moves
        if not moves:
            return None
        numbers = {place: i for i, place in enumerate(self.tables)}
        move = moves[0]
        tablet = numbers[move.table, move.tablets[0]]
        return MoveAtOnce(tablet, str(move.source), str(move.target))

    def verb(self, action: Any) -> str:
        """``move 3 A:0 C:1``."""
        return f"move {self.labels[action.tablet]} {action.source} {action.target}"

    def milestone(self, before: BalanceState, action: Any, after: BalanceState) -> str | None:
        """The moment from which on the planner has nothing to do."""
        return "no move left" if self.is_even(after) and not self.is_even(before) else None

    def describe(self, before: BalanceState, action: Any, after: BalanceState) -> str:
        """What the move did to the loads, and what the planner says of it."""
        return wording.describe(self, before, action)

    def readable(self, s: BalanceState) -> dict[str, str]:
        """Each tablet's replicas, each node's load."""
        return wording.readable(self, s)


def _numbered(tables: list[str]) -> tuple[tuple[str, int], ...]:
    """Each tablet's table with its number there."""
    return tuple((table, tables[:i].count(table)) for i, table in enumerate(tables))


def replica_of(text: str) -> TabletReplica:
    """The replica that ``A:0`` names."""
    host, _, shard = text.partition(":")
    return TabletReplica(host, int(shard))
